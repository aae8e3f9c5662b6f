import { applied, type F32 } from '../value.ts';

/**
 * The largest whole number at or below x.
 *
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => floor(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(-1.5, 0.5, 2.5)) })); // Float32Array [-2, 0, 2]
 */
export function floor(x: F32): F32 {
  return applied('floor', { x });
}

/**
 * The smallest whole number at or above x.
 *
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => ceil(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(-1.5, 0.5, 2.5)) })); // Float32Array [-1, 1, 3]
 */
export function ceil(x: F32): F32 {
  return applied('ceil', { x });
}

/**
 * x rounded toward zero to a whole number.
 *
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => trunc(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(-1.5, 0.5, 2.5)) })); // Float32Array [-1, 0, 2]
 */
export function trunc(x: F32): F32 {
  return applied('trunc', { x });
}

/**
 * The whole number nearest to x; halves round to even: 0.5 → 0, 1.5 → 2, −0.5 → −0.
 *
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => round(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(-1.5, 0.5, 2.5)) })); // Float32Array [-2, 0, 2]
 */
export function round(x: F32): F32 {
  return applied('round', { x });
}

/**
 * The square root, rounded to nearest; NaN for numbers below zero, −0 for −0.
 *
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => sqrt(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(4, 0.25, -1)) })); // Float32Array [2, 0.5, NaN]
 */
export function sqrt(x: F32): F32 {
  return applied('sqrt', { x });
}
