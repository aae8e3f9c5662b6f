import { type Functor, f32, fn, i32, u32, u64 } from '../functor.ts';
import { bitsToF32, bitsToI32, bitsToU32 } from './bits.ts';
import { select } from './choose.ts';
import type { F32Shape, I32Shape, U32Shape, U64Shape } from './shapes.ts';

const signBit = 0x80000000;

/**
 * Maps the bits of an f32 to a u32 key. Keys have the order of the f32 values: −∞ … −0, +0 … +∞. NaNs come first if
 * their sign bit is set, and last otherwise. A device may flush f32 subnormals to zero; this functor keeps subnormals,
 * because it takes the bits as u32.
 *
 * Laws: x < y ⇒ key(x) < key(y); {@link sortableToF32Bits} is the inverse of this functor.
 *
 * @example
 * await ctx.read(map(f32BitsToSortable, { bits: ctx.column(Uint32Array.of(0x80000000, 0, 0x3f800000)) }));
 * // Uint32Array [2147483647, 2147483648, 3212836864]
 */
export const f32BitsToSortable: Functor<{ readonly bits: U32Shape }, U32Shape> = fn(
  'f32BitsToSortable',
  { bits: u32 },
  u32,
  ({ bits }) => bits.xor(bitsToU32(bitsToI32(bits).shr(31)).or(signBit)),
);

/**
 * The inverse of {@link f32BitsToSortable}.
 *
 * @example
 * await ctx.read(map(sortableToF32Bits, { key: ctx.column(Uint32Array.of(2 ** 31, 3212836864)) }));
 * // Uint32Array [0, 1065353216]
 */
export const sortableToF32Bits: Functor<{ readonly key: U32Shape }, U32Shape> = fn(
  'sortableToF32Bits',
  { key: u32 },
  u32,
  ({ key }) => key.xor(select(u32(0xffffffff), u32(signBit), key.ge(signBit))),
);

/**
 * Maps an f32 to a u32 key. Keys have the order of the f32 values; see {@link f32BitsToSortable}. The results for
 * subnormals and NaNs depend on the device.
 *
 * @example
 * await ctx.read(map(f32ToSortable, { x: ctx.column(Float32Array.of(-1, 0, 1)) }));
 * // Uint32Array [1082130431, 2147483648, 3212836864]
 */
export const f32ToSortable: Functor<{ readonly x: F32Shape }, U32Shape> = fn(
  'f32ToSortable',
  { x: f32 },
  u32,
  ({ x }) => f32BitsToSortable({ bits: bitsToU32(x) }),
);

/**
 * The inverse of {@link f32ToSortable}.
 *
 * @example
 * await ctx.read(map(sortableToF32, { key: ctx.column(Uint32Array.of(1082130431, 3212836864)) }));
 * // Float32Array [-1, 1]
 */
export const sortableToF32: Functor<{ readonly key: U32Shape }, F32Shape> = fn(
  'sortableToF32',
  { key: u32 },
  f32,
  ({ key }) => bitsToF32(sortableToF32Bits({ key })),
);

/**
 * Maps an i32 to a u32 key by inverting the sign bit, so that keys have the order of the i32 values.
 * {@link sortableToI32} is the inverse.
 *
 * @example
 * await ctx.read(map(i32ToSortable, { x: ctx.column(Int32Array.of(-1, 0)) })); // Uint32Array [2147483647, 2147483648]
 */
export const i32ToSortable: Functor<{ readonly x: I32Shape }, U32Shape> = fn(
  'i32ToSortable',
  { x: i32 },
  u32,
  ({ x }) => bitsToU32(x).xor(signBit),
);

/**
 * The inverse of {@link i32ToSortable}.
 *
 * @example
 * await ctx.read(map(sortableToI32, { key: ctx.column(Uint32Array.of(2 ** 31 - 1, 2 ** 31)) })); // Int32Array [-1, 0]
 */
export const sortableToI32: Functor<{ readonly key: U32Shape }, I32Shape> = fn(
  'sortableToI32',
  { key: u32 },
  i32,
  ({ key }) => bitsToI32(key.xor(signBit)),
);

/**
 * Maps a two's complement i64 to a u64 key by inverting the sign bit, so that keys have the order of the i64 values.
 * The functor is its own inverse.
 *
 * @example
 * const x = ctx.column64(BigUint64Array.of(-1n, 1n));
 * await ctx.read(map(i64ToSortable, { x }));
 * // { lo: Uint32Array [4294967295, 1], hi: Uint32Array [2147483647, 2147483648] }
 */
export const i64ToSortable: Functor<{ readonly x: U64Shape }, U64Shape> = fn(
  'i64ToSortable',
  { x: u64 },
  u64,
  ({ x }) => ({
    lo: x.lo,
    hi: x.hi.xor(signBit),
  }),
);
