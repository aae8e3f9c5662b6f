export { bitsToF32, bitsToI32, bitsToU32, clz, ctz, mulhi, popcount, reverseBits } from './bits.ts';
export { clamp, max, min, select, type ValueTree } from './choose.ts';
export { dotOfHalves, packHalves } from './halves.ts';
export {
  type MortonPair,
  mortonDecode,
  mortonDecode64,
  mortonEncode,
  mortonEncode64,
  spreadBits,
  squeezeBits,
} from './morton.ts';
export {
  orientation32,
  orientation64,
  type Point32,
  type Point64,
  point32,
  point64,
  type ThreePoints,
} from './orientation.ts';
export { ceil, floor, round, sqrt, trunc } from './rounding.ts';
export {
  crossesRightOf32,
  crossesRightOf64,
  type EdgeAndPoint,
  edgeMeetsRow32,
  edgeMeetsRow64,
  type RowOperands,
  segmentsIntersect32,
  segmentsIntersect64,
  type TwoSegments,
} from './segments.ts';
export type { BoolShape, F32Shape, I32Shape, OneOperand, TwoOperands, U32Shape, U64Shape } from './shapes.ts';
export {
  f32BitsToSortable,
  f32ToSortable,
  i32ToSortable,
  i64ToSortable,
  sortableToF32,
  sortableToF32Bits,
  sortableToI32,
} from './sortable.ts';
export {
  absI64,
  add64,
  compareI64,
  compareU64,
  eq64,
  i64OfI32,
  ltI64,
  ltU64,
  maxI64,
  maxU64,
  minI64,
  minU64,
  neg64,
  type ShiftOperands,
  shl64,
  shrI64,
  shrU64,
  signI64,
  sub64,
  type U64,
  u64OfU32,
} from './wide.ts';
export { compareI128, mul64, mulI32, mulI64, mulU32, mulU64, type U128Shape, u128 } from './wide-products.ts';
