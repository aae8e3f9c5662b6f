import { ArgumentError } from '../errors.ts';
import { describeGiven, isPromise } from '../given.ts';
import type { ScalarType } from '../ir/ir.ts';

/**
 * Requires a JavaScript number or boolean that a scalar type can represent; otherwise throws an error with the given
 * code and sentence.
 */
export function requireValue(
  type: ScalarType,
  given: unknown,
  code: string,
  sentence: string,
  remedy?: string,
): number | boolean {
  if (isValueOf(type, given)) return given;
  throw new ArgumentError(code, sentence, {
    expected: type === 'bool' ? 'a boolean' : type === 'f32' ? 'a number' : 'a whole number of 32 bits',
    got: describeGiven(given),
    remedy: isPromise(given) ? 'An await is missing: await the value before you pass it.' : remedy,
  });
}

/** Whether a scalar type can represent a JavaScript value. */
export function isValueOf(type: ScalarType, given: unknown): given is number | boolean {
  if (type === 'bool') return typeof given === 'boolean';
  if (typeof given !== 'number') return false;
  return type === 'f32' || (Number.isInteger(given) && given >= -(2 ** 31) && given < 2 ** 32);
}
