import { type Functor, fn, u32, u64 } from '../functor.ts';
import type { OneOperand, U32Shape, U64Shape } from './shapes.ts';

/** The shape of a pair of numbers whose bits are interleaved in a Morton code. */
export type MortonPair = { readonly x: U32Shape; readonly y: U32Shape };

const pair: MortonPair = { x: u32, y: u32 };

/**
 * Puts a zero above each of the low 16 bits of `a`: bit i goes to bit 2i. The high 16 bits are dropped.
 *
 * @example
 * await ctx.read(map(spreadBits, { a: ctx.column(Uint32Array.of(1, 2, 3)) })); // Uint32Array [1, 4, 5]
 */
export const spreadBits: Functor<OneOperand<U32Shape>, U32Shape> = fn('spreadBits', { a: u32 }, u32, ({ a }) => {
  const low = a.and(0x0000ffff);
  const bytes = low.or(low.shl(8)).and(0x00ff00ff);
  const nibbles = bytes.or(bytes.shl(4)).and(0x0f0f0f0f);
  const pairs = nibbles.or(nibbles.shl(2)).and(0x33333333);
  return pairs.or(pairs.shl(1)).and(0x55555555);
});

/**
 * Gathers the even bits of `a`: bit 2i goes to bit i. The odd bits are dropped.
 *
 * @example
 * await ctx.read(map(squeezeBits, { a: ctx.column(Uint32Array.of(1, 4, 7)) })); // Uint32Array [1, 2, 3]
 */
export const squeezeBits: Functor<OneOperand<U32Shape>, U32Shape> = fn('squeezeBits', { a: u32 }, u32, ({ a }) => {
  const bits = a.and(0x55555555);
  const pairs = bits.or(bits.shr(1)).and(0x33333333);
  const nibbles = pairs.or(pairs.shr(2)).and(0x0f0f0f0f);
  const bytes = nibbles.or(nibbles.shr(4)).and(0x00ff00ff);
  return bytes.or(bytes.shr(8)).and(0x0000ffff);
});

/**
 * The Morton code (Z order; Morton 1966) of a pair of 16-bit numbers: bit i of x becomes bit 2i, and bit i of y
 * becomes bit 2i + 1. Higher bits of x and y are dropped.
 *
 * Laws: {@link mortonDecode} is the inverse for coordinates 0 … 2¹⁶−1; the code increases with x and with y.
 *
 * @example
 * const cells = { x: ctx.column(Uint32Array.of(1, 2, 3)), y: ctx.column(Uint32Array.of(0, 1, 3)) };
 * await ctx.read(map(mortonEncode, cells)); // Uint32Array [1, 6, 15]
 */
export const mortonEncode: Functor<MortonPair, U32Shape> = fn('mortonEncode', pair, u32, ({ x, y }) =>
  spreadBits({ a: x }).or(spreadBits({ a: y }).shl(1)),
);

/**
 * The pair of 16-bit numbers whose Morton code is `code`: the inverse of {@link mortonEncode}.
 *
 * @example
 * await ctx.read(map(mortonDecode, { code: ctx.column(Uint32Array.of(1, 6, 15)) }));
 * // { x: Uint32Array [1, 2, 3], y: Uint32Array [0, 1, 3] }
 */
export const mortonDecode: Functor<{ readonly code: U32Shape }, MortonPair> = fn(
  'mortonDecode',
  { code: u32 },
  pair,
  ({ code }) => ({ x: squeezeBits({ a: code }), y: squeezeBits({ a: code.shr(1) }) }),
);

/**
 * The Morton code of a pair of 32-bit numbers as u64: bit i of x becomes bit 2i, and bit i of y becomes bit 2i + 1.
 *
 * Laws: {@link mortonDecode64} is the inverse; the code increases with x and with y.
 *
 * @example
 * const points = { x: ctx.column(Uint32Array.of(1, 2 ** 31)), y: ctx.column(Uint32Array.of(1, 0)) };
 * await ctx.read(map(mortonEncode64, points)); // { lo: Uint32Array [3, 0], hi: Uint32Array [0, 1073741824] }
 */
export const mortonEncode64: Functor<MortonPair, U64Shape> = fn('mortonEncode64', pair, u64, ({ x, y }) => ({
  lo: mortonEncode({ x, y }),
  hi: mortonEncode({ x: x.shr(16), y: y.shr(16) }),
}));

/**
 * The pair of 32-bit numbers whose Morton code is `code`: the inverse of {@link mortonEncode64}.
 *
 * @example
 * const code = ctx.column64(BigUint64Array.of(3n, 2n ** 62n));
 * await ctx.read(map(mortonDecode64, { code })); // { x: Uint32Array [1, 2147483648], y: Uint32Array [1, 0] }
 */
export const mortonDecode64: Functor<{ readonly code: U64Shape }, MortonPair> = fn(
  'mortonDecode64',
  { code: u64 },
  pair,
  ({ code }) => {
    const low = mortonDecode({ code: code.lo });
    const high = mortonDecode({ code: code.hi });
    return { x: low.x.or(high.x.shl(16)), y: low.y.or(high.y.shl(16)) };
  },
);
