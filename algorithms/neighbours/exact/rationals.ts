import { exponentOf, scaled } from '../../double-double.ts';
import type { Coordinates } from './coordinates.ts';

/** Whole numbers of any size, all in the same unit: a power of two. */
export interface Whole {
  readonly numbers: readonly (readonly bigint[])[];
  /** The unit is 2^exponent. */
  readonly exponent: number;
}

/** The coordinates of some points as whole multiples of one power of two, without any rounding. */
export function wholeOf(points: readonly (readonly [of: Coordinates, point: number])[]): Whole {
  let exponent = Number.POSITIVE_INFINITY;
  const lower = (x: number): void => {
    if (x !== 0) exponent = Math.min(exponent, exponentOf(Math.abs(x)) - 52);
  };
  for (const [{ dimensions, values, rests }, point] of points) {
    for (let i = point * dimensions; i < (point + 1) * dimensions; i++) {
      lower(values[i]!);
      if (rests !== undefined) lower(rests[i]!);
    }
  }
  if (exponent === Number.POSITIVE_INFINITY) exponent = 0;
  exponent = Math.max(exponent, MIN_EXPONENT);
  const numbers = points.map(([{ dimensions, values, rests }, point]) =>
    Array.from({ length: dimensions }, (_, d) => {
      const i = point * dimensions + d;
      const whole = wholeNumber(values[i]!, exponent);
      return rests === undefined ? whole : whole + wholeNumber(rests[i]!, exponent);
    }),
  );
  return { numbers, exponent };
}

/** The smallest positive f64 is 2^−1074. */
const MIN_EXPONENT = -1074;

function wholeNumber(x: number, unit: number): bigint {
  if (x === 0) return 0n;
  const exponent = Math.max(exponentOf(Math.abs(x)) - 52, MIN_EXPONENT);
  return BigInt(scaled(x, -exponent)) << BigInt(exponent - unit);
}

export const absolute = (x: bigint): bigint => (x < 0n ? -x : x);

export const signOf = (x: bigint): number => (x < 0n ? -1 : x > 0n ? 1 : 0);

export function dotOf(a: readonly bigint[], b: readonly bigint[]): bigint {
  return a.reduce((sum, x, d) => sum + x * b[d]!, 0n);
}

/** The number `whole · 2^exponent`, rounded to f64 once. Beyond the range of f64 it is infinite. */
export function numberOf(whole: bigint, exponent: number): number {
  const bits = absolute(whole).toString(16).length * 4;
  const cut = Math.max(0, bits - 64);
  if (cut === 0) return scaled(Number(whole), exponent);
  // A last bit of 1 stands for all bits that are cut off, so that the result is rounded as the whole number would be.
  const top = absolute(whole) >> BigInt(cut);
  const rounded = Number(top << BigInt(cut) === absolute(whole) ? top : top | 1n);
  return scaled(whole < 0n ? -rounded : rounded, cut + exponent);
}

/** The ratio of two whole numbers, with a relative error below 2^−51. */
export function ratioOf(a: bigint, b: bigint): number {
  const shift = b.toString(16).length * 4 - absolute(a).toString(16).length * 4 + 72;
  return numberOf(shift >= 0 ? (a << BigInt(shift)) / b : a / (b << BigInt(-shift)), -shift);
}
