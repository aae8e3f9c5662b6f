import { flawError } from './arguments.ts';
import { type FieldKinds, flawOfOptions } from './kinds.ts';

/**
 * Ends with an error at options that a call does not have, as a slip of the pen would ask for one thing and get another, and
 * at options that are not what they have to be. All of them may be left out.
 */
export function requireOptions<O extends object>(
  call: string,
  kinds: FieldKinds<O>,
  given: O | undefined,
  unknownCode?: string,
  argument = 'options',
): void {
  const flaw = given === undefined ? undefined : flawOfOptions(kinds, given, argument, new Map(), unknownCode);
  if (flaw !== undefined) throw flawError(call, flaw);
}
