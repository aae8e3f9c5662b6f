import { bitsToU32, type F32, type Functor, f32, fn, round, type U32 } from '../../primitives/index.ts';

/**
 * Images and fields of windows are whole numbers of 2^-20, from 0 to 1, that f32 holds: their sums and differences are exact on
 * every device, so that all stop at the same rounds, and none of them needs conversions.
 */
export const FIELD_BITS = 20;

/** A value from 0 to 1 in whole numbers. */
export function inFieldUnits(value: F32): F32 {
  return round(value.mul(2 ** FIELD_BITS));
}

/** A whole number from 0 to 2^23 as u32. It stands in the low bits of its sum with 2^23. */
export function wholeToU32(value: F32): U32 {
  return bitsToU32(value.add(2 ** 23)).and(2 ** 23 - 1);
}

/** Whole numbers as values from 0 to 1, exactly. */
export const fromFieldUnits: Functor<{ units: typeof f32 }, typeof f32> = fn(
  'fromFieldUnits',
  { units: f32 },
  f32,
  ({ units }) => units.mul(2 ** -FIELD_BITS),
);

/** The whole numbers of values that {@link fromFieldUnits} gave; others are taken for the nearest ones from 0 to 1. */
export const toFieldUnits: Functor<{ value: typeof f32 }, typeof f32> = fn(
  'toFieldUnits',
  { value: f32 },
  f32,
  ({ value }) => inFieldUnits(value.max(0).min(1)),
);
