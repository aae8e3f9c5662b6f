import {
  array,
  bitsToF32,
  bitsToU32,
  type Column,
  type ColumnOwner,
  type F32,
  f32,
  fn,
  i32,
  map,
  maximum,
  packHalves,
  reduce,
  u32,
} from '../../primitives/index.ts';
import { finite } from './finite.ts';
import type { Frame } from './frame.ts';
import { doubledGradients } from './gradients.ts';

/** Bits of a slope, without its sign. */
const SLOPE_BITS = 14;

/**
 * Packs the slopes of a frame along x (low half) and y (high half) as i16. A common factor scales the slopes so that
 * the largest has 14 bits.
 */
export function packSlopes(context: ColumnOwner, frame: Frame): Column<'u32'> {
  const slopes = doubledGradients(frame);
  const max = reduce(map(greaterSlope, slopes), maximum(f32));
  return context.materialize(map(packSlope, { ...slopes, max }));
}

const greaterSlope = fn('greaterSlope', { x: f32, y: f32 }, f32, ({ x, y }) => finite(x).abs().max(finite(y).abs()));

const packSlope = fn('packSlope', { x: f32, y: f32, max: array(f32) }, u32, ({ x, y, max }) => {
  const scale = powerOfTwo(max.at(0));
  const limit = 2 ** SLOPE_BITS;
  const whole = (slope: F32) => i32(finite(slope).mul(scale)).max(-limit).min(limit);
  return packHalves(whole(x), whole(y));
});

/** The power of two by which numbers up to `max` are multiplied to be below 2^SLOPE_BITS. */
function powerOfTwo(max: F32): F32 {
  const exponent = bitsToU32(max).shr(23);
  return bitsToF32(
    u32(2 * 127 + SLOPE_BITS - 1)
      .sub(exponent)
      .min(254)
      .shl(23),
  );
}
