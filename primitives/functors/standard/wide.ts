import { bool, type Functor, fn, i32, u32, u64 } from '../functor.ts';
import type { ValuesOf } from '../shapes.ts';
import { type Bool, type I32, requireOperand, type U32, type Value } from '../value.ts';
import { bitsToI32, bitsToU32 } from './bits.ts';
import { select } from './choose.ts';
import type { BoolShape, I32Shape, OneOperand, TwoOperands, U32Shape, U64Shape } from './shapes.ts';

/** The parameters of a shift. */
export type ShiftOperands = { readonly a: U64Shape; readonly count: U32Shape };

/**
 * A 64-bit integer inside a functor, as a pair of 32-bit words. The suffix of an operation's name says how the
 * operation reads the words: `U64` as an unsigned number, `I64` as a two's complement number. The suffix `64` alone
 * means that both readings give the same result. All operations wrap modulo 2⁶⁴ and are exact on every backend.
 */
export type U64 = ValuesOf<U64Shape>;

const two: TwoOperands<U64Shape> = { a: u64, b: u64 };
const one: OneOperand<U64Shape> = { a: u64 };
const shifted: ShiftOperands = { a: u64, count: u32 };

/**
 * Widens a u32 to 64 bits. The result has the same value as u64 and as i64.
 *
 * @example
 * const widen = fn({ a: u32 }, u64, ({ a }) => u64OfU32(a));
 * await ctx.read(map(widen, { a: ctx.column(Uint32Array.of(7)) })); // { lo: Uint32Array [7], hi: Uint32Array [0] }
 */
export function u64OfU32(a: U32): U64 {
  requireOperand('u64OfU32', 'a', a);
  return { lo: a, hi: u32(0) };
}

/**
 * Widens an i32 to a two's complement i64: the high word is filled with the sign bit.
 *
 * @example
 * const widen = fn({ a: i32 }, u64, ({ a }) => i64OfI32(a));
 * await ctx.read(map(widen, { a: ctx.column(Int32Array.of(-2)) }));
 * // { lo: Uint32Array [4294967294], hi: Uint32Array [4294967295] }
 */
export function i64OfI32(a: I32): U64 {
  requireOperand('i64OfI32', 'a', a);
  return { lo: bitsToU32(a), hi: bitsToU32(a.shr(31)) };
}

/**
 * a + b modulo 2⁶⁴. Law: associative and commutative, with identity 0.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(2n ** 32n - 1n));
 * const b = ctx.column64(BigUint64Array.of(2n));
 * await ctx.read(map(add64, { a, b })); // { lo: Uint32Array [1], hi: Uint32Array [1] }
 */
export const add64: Functor<TwoOperands<U64Shape>, U64Shape> = fn('add64', two, u64, ({ a, b }) => {
  const lo = a.lo.add(b.lo);
  return { lo, hi: a.hi.add(b.hi).add(u32(lo.lt(a.lo))) };
});

/**
 * a − b modulo 2⁶⁴. Law: (a + b) − b = a.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(2n ** 32n));
 * const b = ctx.column64(BigUint64Array.of(1n));
 * await ctx.read(map(sub64, { a, b })); // { lo: Uint32Array [4294967295], hi: Uint32Array [0] }
 */
export const sub64: Functor<TwoOperands<U64Shape>, U64Shape> = fn('sub64', two, u64, ({ a, b }) => ({
  lo: a.lo.sub(b.lo),
  hi: a.hi.sub(b.hi).sub(u32(a.lo.lt(b.lo))),
}));

/**
 * −a modulo 2⁶⁴. In two's complement, −(−2⁶³) = −2⁶³.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(1n));
 * await ctx.read(map(neg64, { a })); // { lo: Uint32Array [4294967295], hi: Uint32Array [4294967295] }
 */
export const neg64: Functor<OneOperand<U64Shape>, U64Shape> = fn('neg64', one, u64, ({ a }) => ({
  lo: a.lo.neg(),
  hi: a.hi.not().add(u32(a.lo.eq(0))),
}));

/**
 * Whether a = b.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(5n, 2n ** 40n));
 * const b = ctx.column64(BigUint64Array.of(5n, 2n ** 41n));
 * await ctx.read(map(eq64, { a, b })); // Uint8Array [1, 0]
 */
export const eq64: Functor<TwoOperands<U64Shape>, BoolShape> = fn('eq64', two, bool, ({ a, b }) =>
  a.lo.eq(b.lo).and(a.hi.eq(b.hi)),
);

/**
 * Whether a < b, where both are unsigned.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(1n, -1n));
 * const b = ctx.column64(BigUint64Array.of(2n, 1n));
 * await ctx.read(map(ltU64, { a, b })); // Uint8Array [1, 0]
 */
export const ltU64: Functor<TwoOperands<U64Shape>, BoolShape> = fn('ltU64', two, bool, ({ a, b }) =>
  lexicographic(a.hi, b.hi, a.lo, b.lo),
);

/**
 * Whether a < b, where both are two's complement.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(1n, -1n));
 * const b = ctx.column64(BigUint64Array.of(2n, 1n));
 * await ctx.read(map(ltI64, { a, b })); // Uint8Array [1, 1]
 */
export const ltI64: Functor<TwoOperands<U64Shape>, BoolShape> = fn('ltI64', two, bool, ({ a, b }) =>
  lexicographic(bitsToI32(a.hi), bitsToI32(b.hi), a.lo, b.lo),
);

function lexicographic<T extends 'u32' | 'i32'>(highA: Value<T>, highB: Value<T>, lowA: U32, lowB: U32): Bool {
  return highA.lt<T>(highB).or(highA.eq(highB as Value<T>).and(lowA.lt(lowB)));
}

/**
 * Compares two unsigned numbers: −1 if a < b, 0 if a = b, 1 if a > b.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(1n, 7n, -1n));
 * const b = ctx.column64(BigUint64Array.of(2n, 7n, 1n));
 * await ctx.read(map(compareU64, { a, b })); // Int32Array [-1, 0, 1]
 */
export const compareU64: Functor<TwoOperands<U64Shape>, I32Shape> = fn('compareU64', two, i32, ({ a, b }) =>
  i32(ltU64({ a: b, b: a })).sub(i32(ltU64({ a, b }))),
);

/**
 * Compares two two's complement numbers: −1 if a < b, 0 if a = b, 1 if a > b.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(1n, 7n, -1n));
 * const b = ctx.column64(BigUint64Array.of(2n, 7n, 1n));
 * await ctx.read(map(compareI64, { a, b })); // Int32Array [-1, 0, -1]
 */
export const compareI64: Functor<TwoOperands<U64Shape>, I32Shape> = fn('compareI64', two, i32, ({ a, b }) =>
  i32(ltI64({ a: b, b: a })).sub(i32(ltI64({ a, b }))),
);

/**
 * The sign of a two's complement number: −1, 0 or 1.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(-5n, 0n, 2n ** 40n));
 * await ctx.read(map(signI64, { a })); // Int32Array [-1, 0, 1]
 */
export const signI64: Functor<OneOperand<U64Shape>, I32Shape> = fn('signI64', one, i32, ({ a }) =>
  bitsToI32(a.hi)
    .shr(31)
    .or(i32(a.lo.or(a.hi).ne(0))),
);

/**
 * The absolute value of a two's complement number, as an unsigned number, so it is exact even for −2⁶³.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(-5n, 5n));
 * await ctx.read(map(absI64, { a })); // { lo: Uint32Array [5, 5], hi: Uint32Array [0, 0] }
 */
export const absI64: Functor<OneOperand<U64Shape>, U64Shape> = fn('absI64', one, u64, ({ a }) =>
  select(a, neg64({ a }), bitsToI32(a.hi).lt(0)),
);

/**
 * The smaller of two unsigned numbers.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(2n ** 40n));
 * const b = ctx.column64(BigUint64Array.of(3n));
 * await ctx.read(map(minU64, { a, b })); // { lo: Uint32Array [3], hi: Uint32Array [0] }
 */
export const minU64: Functor<TwoOperands<U64Shape>, U64Shape> = fn('minU64', two, u64, ({ a, b }) =>
  select(a, b, ltU64({ a: b, b: a })),
);
/**
 * The larger of two unsigned numbers.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(2n ** 40n));
 * const b = ctx.column64(BigUint64Array.of(3n));
 * await ctx.read(map(maxU64, { a, b })); // { lo: Uint32Array [0], hi: Uint32Array [256] }
 */
export const maxU64: Functor<TwoOperands<U64Shape>, U64Shape> = fn('maxU64', two, u64, ({ a, b }) =>
  select(a, b, ltU64({ a, b })),
);
/**
 * The smaller of two two's complement numbers.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(-1n));
 * const b = ctx.column64(BigUint64Array.of(3n));
 * await ctx.read(map(minI64, { a, b })); // { lo: Uint32Array [4294967295], hi: Uint32Array [4294967295] }
 */
export const minI64: Functor<TwoOperands<U64Shape>, U64Shape> = fn('minI64', two, u64, ({ a, b }) =>
  select(a, b, ltI64({ a: b, b: a })),
);
/**
 * The larger of two two's complement numbers.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(-1n));
 * const b = ctx.column64(BigUint64Array.of(3n));
 * await ctx.read(map(maxI64, { a, b })); // { lo: Uint32Array [3], hi: Uint32Array [0] }
 */
export const maxI64: Functor<TwoOperands<U64Shape>, U64Shape> = fn('maxI64', two, u64, ({ a, b }) =>
  select(a, b, ltI64({ a, b })),
);

/**
 * Shifts left: a · 2^count modulo 2⁶⁴. The count is taken modulo 64.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(3n));
 * await ctx.read(map(shl64, { a, count: constant(u32, 33, 1) })); // { lo: Uint32Array [0], hi: Uint32Array [6] }
 */
export const shl64: Functor<ShiftOperands, U64Shape> = fn('shl64', shifted, u64, ({ a, count }) => {
  const lo = a.lo.shl(count);
  const carried = a.lo.shr(1).shr(count.not());
  return select({ lo, hi: a.hi.shl(count).or(carried) }, { lo: u32(0), hi: lo }, count.and(32).ne(0));
});

/**
 * Shifts an unsigned number right: ⌊a / 2^count⌋. The count is taken modulo 64.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(2n ** 40n));
 * await ctx.read(map(shrU64, { a, count: constant(u32, 36, 1) })); // { lo: Uint32Array [16], hi: Uint32Array [0] }
 */
export const shrU64: Functor<ShiftOperands, U64Shape> = fn('shrU64', shifted, u64, ({ a, count }) => {
  const hi = a.hi.shr(count);
  return select({ lo: lowShifted(a, count), hi }, { lo: hi, hi: u32(0) }, count.and(32).ne(0));
});

/**
 * Shifts a two's complement number right: ⌊a / 2^count⌋. The count is taken modulo 64.
 *
 * @example
 * const a = ctx.column64(BigUint64Array.of(-256n));
 * await ctx.read(map(shrI64, { a, count: constant(u32, 4, 1) }));
 * // { lo: Uint32Array [4294967280], hi: Uint32Array [4294967295] }
 */
export const shrI64: Functor<ShiftOperands, U64Shape> = fn('shrI64', shifted, u64, ({ a, count }) => {
  const signed = bitsToI32(a.hi);
  const hi = bitsToU32(signed.shr(count));
  const sign = bitsToU32(signed.shr(31));
  return select({ lo: lowShifted(a, count), hi }, { lo: hi, hi: sign }, count.and(32).ne(0));
});

/**
 * The low word of `a >> count`, for counts below 32. The high word is shifted left by 32 − count in two steps, because
 * a shift by 32 (for count 0) is not possible.
 */
function lowShifted(a: U64, count: U32): U32 {
  return a.lo.shr(count).or(a.hi.shl(1).shl(count.not()));
}
