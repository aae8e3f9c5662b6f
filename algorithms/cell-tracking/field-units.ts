import { type F32, type Functor, f32, fn, type I32, i32, round } from '../../primitives/index.ts';

/**
 * Images and fields of windows are whole numbers of 2^-24, between 0 and 1. Their sums and differences are exact, so that all
 * devices agree on them without further operations, and stop at the same rounds.
 */
export const FIELD_BITS = 24;

/** A value between 0 and 1 in whole numbers. */
export function inFieldUnits(value: F32): I32 {
  return i32(round(value.mul(2 ** FIELD_BITS)));
}

/** Whole numbers as values between 0 and 1, exactly. */
export const fromFieldUnits: Functor<{ units: typeof i32 }, typeof f32> = fn(
  'fromFieldUnits',
  { units: i32 },
  f32,
  ({ units }) => f32(units).mul(2 ** -FIELD_BITS),
);

/** The whole numbers of values that {@link fromFieldUnits} gave; others are taken for the nearest ones between 0 and 1. */
export const toFieldUnits: Functor<{ value: typeof f32 }, typeof i32> = fn(
  'toFieldUnits',
  { value: f32 },
  i32,
  ({ value }) => inFieldUnits(value.max(0).min(1)),
);
