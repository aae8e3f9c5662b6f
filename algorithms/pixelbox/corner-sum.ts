import {
  type ArrayValue,
  add64,
  array,
  bitsToU32,
  type Column,
  type ColumnsOf,
  type Context,
  For,
  fn,
  type I32,
  i32,
  i64OfI32,
  map,
  mul64,
  mulU32,
  plus,
  reduceByKey,
  scatter,
  scatterReduce,
  select,
  type U32,
  u32,
  u64,
  Var,
} from '../../primitives/index.ts';
import { expandRows, interleave, type NumberedPairs } from './pair-tables.ts';
import type { SignedCorners } from './signed-corners.ts';

/** Signed corners on a device: x, y and sign of each corner, interleaved in `fields`. */
export interface DeviceSignedCorners {
  readonly start: Uint32Array;
  readonly fields: Column<'i32'>;
}

const STRIDE = 3;

/** Uploads signed corners. The index of each region's first corner stays on the host. */
export function uploadSignedCorners(context: Context, { start, x, y, sign }: SignedCorners): DeviceSignedCorners {
  return { start, fields: context.column(interleave(x, y, sign)) };
}

/** One row for each corner of p in each pair: the index of the pair in `pairs`, and the rank of the corner in p. */
interface Terms {
  readonly row: Column<'u32'>;
  readonly rank: Column<'u32'>;
  /**
   * Four numbers per pair: its index in the result, the index of the first corner of p, the index of the first corner
   * of q, and the end of the corners of q.
   */
  readonly pairs: Column<'u32'>;
}

const PAIR_STRIDE = 4;

function termsOf(context: Context, { pair, p, q }: NumberedPairs, pStart: Uint32Array, qStart: Uint32Array): Terms {
  const first = p.map((region) => pStart[region]!);
  const counts = p.map((region) => pStart[region + 1]! - pStart[region]!);
  const from = q.map((region) => qStart[region]!);
  const to = q.map((region) => qStart[region + 1]!);
  const capacity = counts.reduce((sum, count) => sum + count, 0);
  const pairs = context.column(interleave(pair, first, from, to));
  return { ...expandRows(context.column(counts), capacity), pairs };
}

const parameters = {
  row: u32,
  rank: u32,
  pairs: array(u32),
  ofP: array(i32),
  ofQ: array(i32),
} as const;

interface CornerFields {
  readonly x: I32;
  readonly y: I32;
  readonly sign: I32;
}

/**
 * Width and height of the rectangle that extends from a corner of q to a corner of p. A side is 0 if, along its axis,
 * the corner of p is not after the corner of q.
 */
function overlap(ofP: CornerFields, ofQ: CornerFields): { readonly width: U32; readonly height: U32 } {
  const length = (far: I32, near: I32): U32 => select(u32(0), bitsToU32(far.sub(near)), far.gt(near));
  return { width: length(ofP.x, ofQ.x), height: length(ofP.y, ofQ.y) };
}

function cornerAt(fields: ArrayValue<'i32'>, corner: U32): CornerFields {
  const at = corner.mul(STRIDE);
  return { x: fields.at(at), y: fields.at(at.add(1)), sign: fields.at(at.add(2)) };
}

/** Contribution of a corner of p to the area of its pair, modulo 2³². */
const cornerTerm32 = fn('cornerTerm32', parameters, { pair: u32, pixels: u32 }, ({ row, rank, pairs, ofP, ofQ }) => {
  const at = row.mul(PAIR_STRIDE);
  const corner = cornerAt(ofP, pairs.at(at.add(1)).add(rank));
  const sum = Var(u32(0));
  For(pairs.at(at.add(2)), pairs.at(at.add(3)), (other) => {
    const facing = cornerAt(ofQ, other);
    const { width, height } = overlap(corner, facing);
    sum.set(sum.add(width.mul(height).mul(bitsToU32(facing.sign))));
  });
  return { pair: pairs.at(at), pixels: sum.mul(bitsToU32(corner.sign)) };
});

/** Contribution of a corner of p to the area of its pair, modulo 2⁶⁴. */
const cornerTerm64 = fn('cornerTerm64', parameters, u64, ({ row, rank, pairs, ofP, ofQ }) => {
  const at = row.mul(PAIR_STRIDE);
  const corner = cornerAt(ofP, pairs.at(at.add(1)).add(rank));
  const lo = Var(u32(0));
  const hi = Var(u32(0));
  For(pairs.at(at.add(2)), pairs.at(at.add(3)), (other) => {
    const facing = cornerAt(ofQ, other);
    const { width, height } = overlap(corner, facing);
    const term = mul64({ a: mulU32({ a: width, b: height }), b: i64OfI32(facing.sign) });
    const sum = add64({ a: { lo, hi }, b: term });
    lo.set(sum.lo);
    hi.set(sum.hi);
  });
  return mul64({ a: { lo, hi }, b: i64OfI32(corner.sign) });
});

const pairOfRow = fn('pairOfRow', { row: u32, pairs: array(u32) }, u32, ({ row, pairs }) =>
  pairs.at(row.mul(PAIR_STRIDE)),
);

/**
 * Adds ‖p∩q‖ = Σ s · t · (x − u)⁺ · (y − v)⁺ to `areas`, summed over the signed corners (x, y, s) of p and (u, v, t) of
 * q. The boxes of p and q must share fewer than 2³² pixels. No pixels are examined, so the size of the regions does not
 * affect the time.
 *
 * p is the signed sum of the quarter planes before its corners (columns < x, rows < y). q is the signed sum of the
 * quarter planes after its corners (columns ≥ u, rows ≥ v). A quarter plane of p and one of q share a rectangle, whose
 * area is a term of the sum.
 *
 * - Work O(corners of p · corners of q) per pair, with one thread per corner of p. Exact: the sum is taken modulo 2³².
 */
export function addCornerSums(
  context: Context,
  pairs: NumberedPairs,
  p: DeviceSignedCorners,
  q: DeviceSignedCorners,
  areas: Column<'u32'>,
): void {
  context.scope(() => {
    const terms = termsOf(context, pairs, p.start, q.start);
    const { pair, pixels } = map(cornerTerm32, { ...terms, ofP: p.fields, ofQ: q.fields });
    scatterReduce(pixels, pair, 'add', areas);
  });
}

/**
 * Same as {@link addCornerSums} modulo 2⁶⁴, for boxes of any size. Returns the areas of the pairs with numbers below
 * `count`. Pair numbers must be ascending.
 */
export function cornerSums64(
  context: Context,
  pairs: NumberedPairs,
  p: DeviceSignedCorners,
  q: DeviceSignedCorners,
  count: number,
): ColumnsOf<typeof u64> {
  return context.scope(() => {
    const terms = termsOf(context, pairs, p.start, q.start);
    const pixels = context.materialize(map(cornerTerm64, { ...terms, ofP: p.fields, ofQ: q.fields }));
    const sums = reduceByKey(map(pairOfRow, { row: terms.row, pairs: terms.pairs }), pixels, plus(u64));
    return scatter(sums.values, sums.keys, count);
  });
}
