import {
  type ArrayValue,
  add64,
  array,
  bitsToI32,
  type Column,
  type ColumnsOf,
  type Context,
  constant,
  fn,
  type I32,
  i64OfI32,
  map,
  mul64,
  mulI32,
  neg64,
  plus,
  reduceByKey,
  runHeads,
  scatter,
  segmentedScan,
  select,
  sequence,
  sortByKey,
  type U32,
  type U64,
  u32,
  u64,
  uniform,
} from '../../primitives/index.ts';
import { bitsUpTo } from '../order-rows.ts';
import { interleave, type NumberedPairs } from './pair-tables.ts';
import type { SignedCorners } from './signed-corners.ts';

/**
 * Computes ‖p∩q‖ = Σ s · t · (x − u)⁺ · (y − v)⁺ like {@link cornerSums64}, but for regions with too many corners to
 * combine each corner of p with each of q. Returns the areas of the pairs with numbers below `count`, modulo 2⁶⁴.
 *
 * The corners of both regions are sorted by x into one sequence. At each level the sequence is cut into blocks. Every
 * corner of p in the second half of a block adds the terms of the corners of q with v ≤ y in the first half. With the
 * block sorted by y, these terms are a prefix sum. The product expands to xy − uy − vx + uv, so four sums are enough:
 * of t, tu, tv and tuv.
 *
 * - Work O(n log² n) for n corners altogether, span O(log² n). Exact.
 *
 * Source: Bentley, Multidimensional divide-and-conquer, 1980; here level by level instead of recursively.
 */
export function cornerSweep(
  context: Context,
  pairs: NumberedPairs,
  p: SignedCorners,
  q: SignedCorners,
  count: number,
): ColumnsOf<typeof u64> {
  return context.scope(() => {
    const table = sweepTable(pairs, p, q);
    const length = table.row.length;
    const corners = cornersByX(context, table);
    const field = (at: number): Column<'u32'> =>
      map(fieldOf, { corner: sequence(length), corners, field: at }) as Column<'u32'>;
    const row = field(FIELDS.row);
    const byY = sortByKey({ lo: field(FIELDS.y), hi: row }, sequence(length), { bits: table.keyBits }).values;
    const bits = 32 - Math.clz32(length - 1);
    let sums = context.materialize({ lo: constant(u32, 0, length), hi: constant(u32, 0, length) });
    for (let level = 0; level < bits; level++) {
      const before = sums;
      sums = context.scope(() => addLevel(context, corners, byY, level, bits, before));
      context.dispose(before);
    }
    const areas = reduceByKey(row, sums, plus(u64));
    const numbers = map(pairAt, { row: areas.keys, pairs: context.column(pairs.pair) });
    return scatter(areas.values, numbers, count);
  });
}

/** Indices of the fields of a corner's record. Coordinates have 2³¹ added, so that they sort as unsigned numbers. */
const FIELDS = { row: 0, x: 1, y: 2, sign: 3, source: 4 } as const;
const STRIDE = 5;
const BIAS = 2 ** 31;

interface SweepTable {
  readonly row: Uint32Array;
  readonly x: Uint32Array;
  readonly y: Uint32Array;
  readonly sign: Uint32Array;
  readonly source: Uint32Array;
  /** The range of key bits to sort by. A key has a coordinate in the low 32 bits and a row above them. */
  readonly keyBits: { readonly from: number; readonly to: number };
}

/**
 * The corners of all pairs in one table. Corners of p are queries (`source` 0), those of q are sources (`source` 1).
 */
function sweepTable(pairs: NumberedPairs, p: SignedCorners, q: SignedCorners): SweepTable {
  const sides = [
    { regions: pairs.p, of: p, isSource: 0 },
    { regions: pairs.q, of: q, isSource: 1 },
  ];
  const cornersIn = (start: Uint32Array, region: number): number => start[region + 1]! - start[region]!;
  const length = sides.reduce(
    (sum, { regions, of }) => regions.reduce((all, region) => all + cornersIn(of.start, region), sum),
    0,
  );
  const column = (): Uint32Array => new Uint32Array(length);
  const keyBits = { from: 0, to: 32 + bitsUpTo(Math.max(0, pairs.p.length - 1)) };
  const table = { row: column(), x: column(), y: column(), sign: column(), source: column(), keyBits };
  let at = 0;
  for (const { regions, of, isSource } of sides) {
    for (const [row, region] of regions.entries()) {
      for (let corner = of.start[region]!; corner < of.start[region + 1]!; corner++, at++) {
        table.row[at] = row;
        table.x[at] = of.x[corner]! + BIAS;
        table.y[at] = of.y[corner]! + BIAS;
        table.sign[at] = of.sign[corner]!;
        table.source[at] = isSource;
      }
    }
  }
  return table;
}

const permuted = fn(
  'permuted',
  { word: u32, order: array(u32), corners: array(u32) },
  u32,
  ({ word, order, corners }) => {
    const corner = word.div(STRIDE);
    return corners.at(order.at(corner).sub(corner).mul(STRIDE).add(word));
  },
);

/** The records of all corners, sorted by pair and then by x. */
function cornersByX(context: Context, { row, x, y, sign, source, keyBits }: SweepTable): Column<'u32'> {
  return context.scope(() => {
    const keys = { lo: context.column(x), hi: context.column(row) };
    const order = sortByKey(keys, sequence(row.length), { bits: keyBits }).values;
    const corners = context.column(interleave(row, x, y, sign, source));
    return context.materialize(map(permuted, { word: sequence(row.length * STRIDE), order, corners }));
  });
}

const fieldOf = fn('fieldOf', { corner: u32, corners: array(u32), field: uniform(u32) }, u32, (at) =>
  at.corners.at(at.corner.mul(STRIDE).add(at.field)),
);

const pairAt = fn('pairAt', { row: u32, pairs: array(u32) }, u32, ({ row, pairs }) => pairs.at(row));

const blockOf = fn('blockOf', { corner: u32, shift: uniform(u32) }, u32, ({ corner, shift }) =>
  // Two shifts, because WebGPU and WebAssembly take a shift by 32 as a shift by 0.
  corner.shr(1).shr(shift),
);

const facing = { corner: u32, corners: array(u32), level: uniform(u32) } as const;

interface CornerFields {
  readonly x: I32;
  readonly y: I32;
  readonly sign: I32;
  readonly isSource: U32;
}

function cornerAt(corners: ArrayValue<'u32'>, corner: U32): CornerFields {
  const at = corner.mul(STRIDE);
  const field = (offset: number): U32 => corners.at(at.add(offset));
  const coordinate = (offset: number): I32 => bitsToI32(field(offset).xor(BIAS));
  return {
    x: coordinate(FIELDS.x),
    y: coordinate(FIELDS.y),
    sign: bitsToI32(field(FIELDS.sign)),
    isSource: field(FIELDS.source),
  };
}

/**
 * The four terms of (x − u)(y − v). Each term is the sum of `ofSource` over corners of q, times `ofAsking` of the
 * corner of p.
 */
const PARTS: readonly {
  readonly name: string;
  ofSource(source: CornerFields): U64;
  ofAsking(asking: CornerFields): U64;
}[] = [
  { name: 'xy', ofSource: () => i64One(), ofAsking: ({ x, y }) => mulI32({ a: x, b: y }) },
  { name: 'uy', ofSource: ({ x }) => i64OfI32(x), ofAsking: ({ y }) => neg64({ a: i64OfI32(y) }) },
  { name: 'vx', ofSource: ({ y }) => i64OfI32(y), ofAsking: ({ x }) => neg64({ a: i64OfI32(x) }) },
  { name: 'uv', ofSource: ({ x, y }) => mulI32({ a: x, b: y }), ofAsking: () => i64One() },
];

function i64One(): U64 {
  return { lo: u32(1), hi: u32(0) };
}

const FUNCTORS = PARTS.map(({ name, ofSource, ofAsking }) => ({
  given: fn(`given${name}`, facing, u64, ({ corner, corners, level }) => {
    const source = cornerAt(corners, corner);
    const value = mul64({ a: ofSource(source), b: i64OfI32(source.sign) });
    const earlier = corner.shr(level).and(1).eq(0).and(source.isSource.eq(1));
    return { lo: select(u32(0), value.lo, earlier), hi: select(u32(0), value.hi, earlier) };
  }),
  taken: fn(`taken${name}`, { ...facing, sum: u64 }, u64, ({ corner, corners, level, sum }) => {
    const asking = cornerAt(corners, corner);
    const factor = mul64({ a: ofAsking(asking), b: i64OfI32(asking.sign) });
    const value = mul64({ a: sum, b: factor });
    const later = corner.shr(level).and(1).eq(1).and(asking.isSource.eq(0));
    return { lo: select(u32(0), value.lo, later), hi: select(u32(0), value.hi, later) };
  }),
}));

/**
 * Adds the contributions of one level to the sums `before`. The level cuts the corners into blocks of 2^(level + 1).
 * Corners of p in the second half of a block get the contributions of corners of q in the first half.
 */
function addLevel(
  context: Context,
  corners: Column<'u32'>,
  byY: Column<'u32'>,
  level: number,
  bits: number,
  before: ColumnsOf<typeof u64>,
): ColumnsOf<typeof u64> {
  const block = (corner: Column<'u32'>): Column<'u32'> => map(blockOf, { corner, shift: level }) as Column<'u32'>;
  const isTop = level + 1 === bits;
  const corner = isTop ? byY : sortByKey(block(byY), byY, { bits: { from: 0, to: bits - level - 1 } }).values;
  const row = map(fieldOf, { corner, corners, field: FIELDS.row }) as Column<'u32'>;
  const heads = context.materialize(runHeads({ block: block(corner), row }));
  let sums = before;
  for (const { given, taken } of FUNCTORS) {
    const sum = segmentedScan(map(given, { corner, corners, level }), heads, plus(u64));
    const part = scatter(context.materialize(map(taken, { corner, corners, level, sum })), corner, corner.length);
    sums = context.materialize(map(add64, { a: sums, b: part }));
  }
  return sums;
}
