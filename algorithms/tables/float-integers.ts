import { i32, u32 } from '../../primitives/functors/functor.ts';
import { bitsToF32, bitsToI32, bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { neg64, type U64 } from '../../primitives/functors/standard/wide.ts';
import { mulU32 } from '../../primitives/functors/standard/wide-products.ts';
import type { I32, U32 } from '../../primitives/functors/value.ts';
import type { Bounds } from './bounds.ts';
import type { TableColumn } from './device-table.ts';
import type { FloatPart } from './floats.ts';
import type { IntegerPart, IntegerValue } from './integers.ts';
import { combineParts, constantPart } from './part.ts';

/** A column of f32 as integers: the value of a row is exactly `integer · 2^exponent`. */
export interface ScaledIntegers {
  readonly integers: IntegerPart;
  readonly exponent: number;
}

const FRACTION_BITS = 23;
const F32_BIAS = 127;
const INFINITY_KEY = 0x7f800000;
/** Number of bits of a magnitude in a signed 64-bit integer. */
const MAX_BITS = 63;

/**
 * The biased exponent in the bits of an f32 magnitude. Subnormal numbers get the exponent of the smallest normal
 * numbers.
 */
function exponentOf(magnitude: number): number {
  return Math.max(1, magnitude >>> FRACTION_BITS);
}

/**
 * Converts a column of f32 to fixed point. Each value fits in 64 bits if the largest magnitude is at most 2^39 times
 * the smallest magnitude above 0. Sums of the resulting integers are exact in any order. Returns undefined if a value
 * does not fit, is infinite or is NaN, and for an operand that is not just a column.
 */
export function scaledIntegers(
  { keys, validity }: FloatPart,
  column: TableColumn | undefined,
): ScaledIntegers | undefined {
  const smallest = column?.smallestMagnitude;
  if (keys === undefined || smallest === undefined) return undefined;
  const [min, max] = [Number(column!.bounds.min), Number(column!.bounds.max)];
  const largest = Math.max(max, min < 0 ? ~min & 0x7fffffff : 0);
  if (largest >= INFINITY_KEY) return undefined;
  const first = exponentOf(smallest);
  const bits = Math.max(1, FRACTION_BITS + 1 + exponentOf(largest) - first);
  if (bits > MAX_BITS) return undefined;
  const isNarrow = bits < 32;
  const part = combineParts<I32 | U32, IntegerValue>(
    isNarrow ? 'fixed 32' : 'fixed 64',
    [keys, constantPart('u32', first)],
    ([key, from]) => fixedPoint(key as I32, from as U32, isNarrow),
  );
  const bounds: Bounds = { min: min < 0 ? -(2n ** BigInt(bits)) : 0n, max: 2n ** BigInt(bits) - 1n };
  return { integers: { part, bounds, scale: 0, validity }, exponent: first - F32_BIAS - FRACTION_BITS };
}

/**
 * Emits the code that converts an f32, given by its key, to fixed point: the significand is shifted left by the
 * difference between the exponent and `first`, the smallest exponent of the column.
 */
function fixedPoint(key: I32, first: U32, isNarrow: boolean): IntegerValue {
  const sign = key.shr(31);
  const magnitude = bitsToU32(key.xor(sign)).and(0x7fffffff);
  const biased = magnitude.shr(FRACTION_BITS);
  const isNormal = biased.gt(0);
  const fraction = magnitude.and(2 ** FRACTION_BITS - 1);
  const significand = select(fraction, fraction.or(2 ** FRACTION_BITS), isNormal);
  // Zero may have an exponent below `first`. Its significand is 0, so any shift gives the right result.
  const shift = biased.max(first).sub(first);
  if (isNarrow) {
    const value = bitsToI32(significand.shl(shift));
    return { kind: 'i32', value: value.xor(sign).sub(sign) };
  }
  const wide = shiftedWide(significand, shift);
  return { kind: 'pair', value: select(wide, neg64({ a: wide }), sign.ne(i32(0))) };
}

/**
 * `value · 2^count` in 64 bits. Computed as a product, because the vectors of workers cannot shift each lane by a
 * different count.
 */
function shiftedWide(value: U32, count: U32): U64 {
  const power = u32(bitsToF32(bitsToI32(count.and(31).add(F32_BIAS).shl(FRACTION_BITS))));
  const { lo, hi } = mulU32({ a: value, b: power });
  return select({ lo, hi }, { lo: u32(0), hi: lo }, count.gt(31));
}
