import { flawError } from './arguments.ts';
import { type FieldKinds, flawOfOptions } from './kinds.ts';

/**
 * Requires that all given options are known and have values of the right kind. Unknown options are an error, because a
 * misspelt option would otherwise be ignored silently. Every option may be omitted.
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
