import { bitsToU32, type F32, type Functor, f32, fn, round, type U32 } from '../../primitives/index.ts';

/**
 * Number of binary places of the values of images and flow fields. The values are multiples of 2^-20 from 0 to 1, so
 * f32 represents them, their sums and their differences exactly. The flow therefore stops after the same round on all
 * devices.
 */
export const FIELD_BITS = 20;

/** Converts a value from 0 to 1 to units of 2^-20. */
export function inFieldUnits(value: F32): F32 {
  return round(value.mul(2 ** FIELD_BITS));
}

/** Converts an integer from 0 to 2^23 to u32. Adding 2^23 puts the integer into the low bits of the f32. */
export function wholeToU32(value: F32): U32 {
  return bitsToU32(value.add(2 ** 23)).and(2 ** 23 - 1);
}

/** Converts units of 2^-20 to values from 0 to 1, exactly. */
export const fromFieldUnits: Functor<{ units: typeof f32 }, typeof f32> = fn(
  'fromFieldUnits',
  { units: f32 },
  f32,
  ({ units }) => units.mul(2 ** -FIELD_BITS),
);

/** Inverse of {@link fromFieldUnits}: rounds to units. Values outside 0 to 1 are clamped first. */
export const toFieldUnits: Functor<{ value: typeof f32 }, typeof f32> = fn(
  'toFieldUnits',
  { value: f32 },
  f32,
  ({ value }) => inFieldUnits(value.max(0).min(1)),
);
