import type { NarrowSample } from '../../../algorithms/geometry/raster.ts';

/**
 * The bits in which residuals of f32 are counted, whose order as unsigned words is that of the floats. −0 comes before 0,
 * and no two floats have the same bits.
 */
export function sortableBits(bits: number): number {
  return bits ^ ((bits >> 31) | 0x80000000);
}

/** The inverse of {@link sortableBits}. */
export function floatBits(sortable: number): number {
  return sortable ^ (~(sortable >> 31) | 0x80000000);
}

/** What the bits of a cell are combined with by exclusive or to give its ordered word. */
export const ORDER_FLIP: Readonly<Record<NarrowSample, number>> = {
  u8: 0,
  i8: 0x80,
  u16: 0,
  i16: 0x8000,
  u32: 0,
  i32: 0x80000000,
  f32: 0,
};
