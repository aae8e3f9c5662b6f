import { operate } from '../recorder.ts';
import { type F32, Value } from '../value.ts';

/** The largest whole number that is not above x. */
export function floor(x: F32): F32 {
  return new Value<'f32'>(operate('floor', [x.operand]));
}

/** The smallest whole number that is not below x. */
export function ceil(x: F32): F32 {
  return new Value<'f32'>(operate('ceil', [x.operand]));
}

/** The whole number next to x in the direction of zero. */
export function trunc(x: F32): F32 {
  return new Value<'f32'>(operate('trunc', [x.operand]));
}

/** The whole number nearest to x; halves go to the even one: 0.5 → 0, 1.5 → 2, −0.5 → −0. */
export function round(x: F32): F32 {
  return new Value<'f32'>(operate('round', [x.operand]));
}

/** The square root, rounded to nearest; NaN below zero, and −0 of −0. */
export function sqrt(x: F32): F32 {
  return new Value<'f32'>(operate('sqrt', [x.operand]));
}
