import { type Functor, f32, fn, i32, u32, u64 } from '../functor.ts';
import { bitsToF32, bitsToI32, bitsToU32 } from './bits.ts';
import { select } from './choose.ts';
import type { F32Shape, I32Shape, U32Shape, U64Shape } from './shapes.ts';

const signBit = 0x80000000;

/**
 * The bits of an f32 as a u32 that sorts as the f32 does: −∞ … −0, +0 … +∞, with NaNs outside according to their sign.
 * Works on bits alone, so it keeps subnormals, which a device may flush when it touches them as f32: read f32 columns as
 * u32 where that matters.
 *
 * Laws: x < y ⇒ key(x) < key(y); {@link sortableToF32Bits} is its inverse.
 */
export const f32BitsToSortable: Functor<{ readonly bits: U32Shape }, U32Shape> = fn(
  'f32BitsToSortable',
  { bits: u32 },
  u32,
  ({ bits }) => bits.xor(bitsToU32(bitsToI32(bits).shr(31)).or(signBit)),
);

/** The inverse of {@link f32BitsToSortable}. */
export const sortableToF32Bits: Functor<{ readonly key: U32Shape }, U32Shape> = fn(
  'sortableToF32Bits',
  { key: u32 },
  u32,
  ({ key }) => key.xor(select(u32(0xffffffff), u32(signBit), key.ge(signBit))),
);

/** A u32 that sorts as the f32 does; see {@link f32BitsToSortable}. Subnormals and NaNs are the device's own. */
export const f32ToSortable: Functor<{ readonly x: F32Shape }, U32Shape> = fn(
  'f32ToSortable',
  { x: f32 },
  u32,
  ({ x }) => f32BitsToSortable({ bits: bitsToU32(x) }),
);

/** The inverse of {@link f32ToSortable}. */
export const sortableToF32: Functor<{ readonly key: U32Shape }, F32Shape> = fn(
  'sortableToF32',
  { key: u32 },
  f32,
  ({ key }) => bitsToF32(sortableToF32Bits({ key })),
);

/** A u32 that sorts as the i32 does: its sign bit turned over. {@link sortableToI32} is the inverse. */
export const i32ToSortable: Functor<{ readonly x: I32Shape }, U32Shape> = fn(
  'i32ToSortable',
  { x: i32 },
  u32,
  ({ x }) => bitsToU32(x).xor(signBit),
);

/** The inverse of {@link i32ToSortable}. */
export const sortableToI32: Functor<{ readonly key: U32Shape }, I32Shape> = fn(
  'sortableToI32',
  { key: u32 },
  i32,
  ({ key }) => bitsToI32(key.xor(signBit)),
);

/** A u64 that sorts as the two's complement i64 does, and back: the sign bit turned over is its own inverse. */
export const i64ToSortable: Functor<{ readonly x: U64Shape }, U64Shape> = fn(
  'i64ToSortable',
  { x: u64 },
  u64,
  ({ x }) => ({
    lo: x.lo,
    hi: x.hi.xor(signBit),
  }),
);
