import { flawError } from './arguments.ts';
import { type FieldKinds, flawOfOptions } from './kinds.ts';

/**
 * Throws for unknown options, because a misspelt one would silently be ignored, and for options of the wrong kind.
 * Every option may be omitted.
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
