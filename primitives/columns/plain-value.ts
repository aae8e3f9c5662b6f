import { ArgumentError } from '../errors.ts';
import type { ScalarType } from '../functors/ir.ts';
import { describeGiven, isPromise } from '../given.ts';

/** A plain JavaScript value that a scalar of the type can have; throws an error of the given code and sentence if not. */
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
    remedy: isPromise(given) ? 'An await is missing: write await before what makes it.' : remedy,
  });
}

/** Whether a plain JavaScript value is one that a scalar of the type can have. */
export function isValueOf(type: ScalarType, given: unknown): given is number | boolean {
  if (type === 'bool') return typeof given === 'boolean';
  if (typeof given !== 'number') return false;
  return type === 'f32' || (Number.isInteger(given) && given >= -(2 ** 31) && given < 2 ** 32);
}
