import { bitsToU32, type F32, type Functor, f32, fn, round, type U32 } from '../../primitives/index.ts';

/**
 * Images and fields of windows are multiples of 2^-20 from 0 to 1, which f32 holds exactly. Their sums and differences
 * are exact on every device, so all devices stop at the same round.
 */
export const FIELD_BITS = 20;

/** Converts a value from 0 to 1 to units. */
export function inFieldUnits(value: F32): F32 {
  return round(value.mul(2 ** FIELD_BITS));
}

/** Converts an integer from 0 to 2^23 to u32. It is in the low bits of its sum with 2^23. */
export function wholeToU32(value: F32): U32 {
  return bitsToU32(value.add(2 ** 23)).and(2 ** 23 - 1);
}

/** Converts units to values from 0 to 1, exactly. */
export const fromFieldUnits: Functor<{ units: typeof f32 }, typeof f32> = fn(
  'fromFieldUnits',
  { units: f32 },
  f32,
  ({ units }) => units.mul(2 ** -FIELD_BITS),
);

/** Inverse of {@link fromFieldUnits}. Other values are clamped to 0 to 1 and rounded. */
export const toFieldUnits: Functor<{ value: typeof f32 }, typeof f32> = fn(
  'toFieldUnits',
  { value: f32 },
  f32,
  ({ value }) => inFieldUnits(value.max(0).min(1)),
);
