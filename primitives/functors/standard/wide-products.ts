import { type Functor, fn, i32, u32, u64 } from '../functor.ts';
import { bitsToI32, bitsToU32, mulhi } from './bits.ts';
import { select } from './choose.ts';
import type { I32Shape, TwoOperands, U32Shape, U64Shape } from './shapes.ts';
import { add64, compareI64, compareU64, sub64, u64OfU32 } from './wide.ts';

/**
 * The shape type of a 128-bit integer: four 32-bit words, the low ones first. The integer is unsigned or two's
 * complement, depending on the functor.
 */
export type U128Shape = { readonly lo: U64Shape; readonly hi: U64Shape };
/** The shape of a 128-bit integer, for parameters of functors. */
export const u128: U128Shape = { lo: u64, hi: u64 };

const twoU32: TwoOperands<U32Shape> = { a: u32, b: u32 };
const twoI32: TwoOperands<I32Shape> = { a: i32, b: i32 };
const twoU64: TwoOperands<U64Shape> = { a: u64, b: u64 };
const twoU128: TwoOperands<U128Shape> = { a: u128, b: u128 };

/**
 * The exact product of two u32: at most (2³²−1)².
 *
 * @example
 * const a = ctx.column(Uint32Array.of(2 ** 31));
 * await ctx.read(map(mulU32, { a, b: constant(u32, 6, 1) })); // { lo: Uint32Array [0], hi: Uint32Array [3] }
 */
export const mulU32: Functor<TwoOperands<U32Shape>, U64Shape> = fn('mulU32', twoU32, u64, ({ a, b }) => ({
  lo: a.mul(b),
  hi: mulhi(a, b),
}));

/**
 * The exact product of two i32, as i64: magnitude at most 2⁶².
 *
 * @example
 * const a = ctx.column(Int32Array.of(-(2 ** 31)));
 * await ctx.read(map(mulI32, { a, b: constant(i32, -4, 1) })); // { lo: Uint32Array [0], hi: Uint32Array [2] }
 */
export const mulI32: Functor<TwoOperands<I32Shape>, U64Shape> = fn('mulI32', twoI32, u64, ({ a, b }) => {
  const x = bitsToU32(a);
  const y = bitsToU32(b);
  // If `a` is negative, its bits read as u32 give a + 2³², so the high word of the product is too large by b. Likewise,
  // if `b` is negative, the high word is too large by a.
  const excess = bitsToU32(a.shr(31))
    .and(y)
    .add(bitsToU32(b.shr(31)).and(x));
  return { lo: x.mul(y), hi: mulhi(x, y).sub(excess) };
});

/**
 * a · b modulo 2⁶⁴, for unsigned and two's complement numbers alike.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(2n ** 33n));
 * const b = ctx.column64(BigUint64Array.of(3n));
 * await ctx.read(map(mul64, { a, b })); // { lo: Uint32Array [0], hi: Uint32Array [6] }
 */
export const mul64: Functor<TwoOperands<U64Shape>, U64Shape> = fn('mul64', twoU64, u64, ({ a, b }) => {
  const low = mulU32({ a: a.lo, b: b.lo });
  return { lo: low.lo, hi: low.hi.add(a.lo.mul(b.hi)).add(a.hi.mul(b.lo)) };
});

/**
 * The exact product of two unsigned 64-bit numbers.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(2n ** 63n));
 * const b = ctx.column64(BigUint64Array.of(6n));
 * await ctx.read(map(mulU64, { a, b }));
 * // { lo: { lo: Uint32Array [0], hi: Uint32Array [0] }, hi: { lo: Uint32Array [3], hi: Uint32Array [0] } }
 */
export const mulU64: Functor<TwoOperands<U64Shape>, U128Shape> = fn('mulU64', twoU64, u128, ({ a, b }) => {
  const low = mulU32({ a: a.lo, b: b.lo });
  const high = mulU32({ a: a.hi, b: b.hi });
  // `middle` and `both` do not overflow: each is at most (2³²−1)² + 2³²−1, which is below 2⁶⁴ (Knuth, TAOCP 4.3.1,
  // algorithm M).
  const middle = add64({ a: mulU32({ a: a.lo, b: b.hi }), b: u64OfU32(low.hi) });
  const both = add64({ a: mulU32({ a: a.hi, b: b.lo }), b: u64OfU32(middle.lo) });
  const carried = add64({ a: u64OfU32(middle.hi), b: u64OfU32(both.hi) });
  return { lo: { lo: low.lo, hi: both.lo }, hi: add64({ a: high, b: carried }) };
});

/**
 * The exact product of two two's complement 64-bit numbers: magnitude at most 2¹²⁶.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(-(2n ** 63n)));
 * const b = ctx.column64(BigUint64Array.of(-6n));
 * await ctx.read(map(mulI64, { a, b }));
 * // { lo: { lo: Uint32Array [0], hi: Uint32Array [0] }, hi: { lo: Uint32Array [3], hi: Uint32Array [0] } }
 */
export const mulI64: Functor<TwoOperands<U64Shape>, U128Shape> = fn('mulI64', twoU64, u128, ({ a, b }) => {
  const product = mulU64({ a, b });
  const zero = u64OfU32(u32(0));
  const excessA = select(zero, b, bitsToI32(a.hi).lt(0));
  const excessB = select(zero, a, bitsToI32(b.hi).lt(0));
  return { lo: product.lo, hi: sub64({ a: product.hi, b: add64({ a: excessA, b: excessB }) }) };
});

/**
 * Compares two two's complement numbers: −1 if a < b, 0 if a = b, 1 if a > b.
 *
 * @example
 * const one = { lo: ctx.column64(BigUint64Array.of(1n)), hi: ctx.column64(BigUint64Array.of(0n)) };
 * const minusOne = { lo: ctx.column64(BigUint64Array.of(-1n)), hi: ctx.column64(BigUint64Array.of(-1n)) };
 * await ctx.read(map(compareI128, { a: minusOne, b: one })); // Int32Array [-1]
 */
export const compareI128: Functor<TwoOperands<U128Shape>, I32Shape> = fn('compareI128', twoU128, i32, ({ a, b }) => {
  const high = compareI64({ a: a.hi, b: b.hi });
  return select(high, compareU64({ a: a.lo, b: b.lo }), high.eq(0));
});
