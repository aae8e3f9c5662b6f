import { type Fraction, fractionOf, ratio } from '../exact-ratio.ts';
import { decimalOf } from './decimals.ts';
import type { CellValue } from './host-table.ts';

/**
 * A place between two neighbours among sorted values: `part` of the way from rank `low` to rank `high`, both from 0. If
 * the place is that of a value, both ranks are the same.
 */
export interface PlaceBetween {
  readonly low: number;
  readonly high: number;
  readonly part: Fraction;
}

/**
 * The place `fraction · (count − 1)` among `count` sorted values, computed exactly. The fraction is the decimal number
 * that JavaScript prints for it: 0.1 is exactly a tenth.
 */
export function placeBetween(fraction: number, count: number): PlaceBetween {
  const { numerator: units, denominator } = decimalFraction(fraction);
  const place = units * BigInt(count - 1);
  const whole = place / denominator;
  const numerator = place - whole * denominator;
  const low = Number(whole);
  return { low, high: numerator === 0n ? low : low + 1, part: { numerator, denominator } };
}

/**
 * The rank, from 0, of the smallest of `count` sorted values such that at least `fraction` of the values are at most as
 * large. The fraction is the decimal number that JavaScript prints for it: 7 of 100 values are 0.07 of them, although
 * `0.07 * 100` is more than 7. Returns a function of the count.
 */
export function rankAmong(fraction: number): (count: number) => number {
  const { numerator: units, denominator } = decimalFraction(fraction);
  const [few, whole] = [Number(units), Number(denominator)];
  return (count) => {
    // A quotient of integers below 2^53 is rounded to an integer only if it is one.
    const isExact = few * count <= Number.MAX_SAFE_INTEGER;
    const least = isExact
      ? Math.ceil((few * count) / whole)
      : Number((units * BigInt(count) + denominator - 1n) / denominator);
    return Math.max(0, least - 1);
  };
}

/** The decimal number that JavaScript prints for a share: 0.1 is exactly a tenth. */
export function decimalFraction(share: number): Fraction {
  const { units, scale } = decimalOf(share)!;
  return { numerator: units, denominator: 10n ** BigInt(scale) };
}

/** The ranks that a place needs. */
export function ranksOf({ low, high }: PlaceBetween): number[] {
  return low === high ? [low] : [low, high];
}

/**
 * The number that is `part` of the way from `low` to `high`, computed exactly and rounded once to f64. Between two
 * infinities of different signs, and below NaN, it is NaN.
 */
export function interpolated(low: CellValue, high: CellValue, { numerator, denominator }: Fraction): number {
  const [a, b] = [exactOf(low), exactOf(high)];
  if (typeof a === 'number' || typeof b === 'number') {
    if (numerator === 0n || Object.is(a, b)) return typeof a === 'number' ? a : ratio(a.numerator, a.denominator);
    return (typeof a === 'number' ? a : 0) + (typeof b === 'number' ? b : 0);
  }
  const sum = a.numerator * b.denominator * (denominator - numerator) + b.numerator * a.denominator * numerator;
  return ratio(sum, a.denominator * b.denominator * denominator);
}

/** A number as a fraction. Infinities and NaN are returned unchanged. */
function exactOf(cell: CellValue): Fraction | number {
  if (typeof cell === 'bigint') return { numerator: cell, denominator: 1n };
  if (typeof cell === 'number') return Number.isFinite(cell) ? fractionOf(cell) : cell;
  const { units, scale } = cell as { readonly units: bigint; readonly scale: number };
  return { numerator: units, denominator: 10n ** BigInt(scale) };
}
