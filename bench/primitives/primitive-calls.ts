import type { Context } from '../../primitives/context/context.ts';
import * as q from '../../primitives/index.ts';
import { around, box, isHead, onByRank, SEARCHED } from '../experiments/composed.ts';
import { WIDTH } from '../experiments/plain-composed.ts';
import { highByte } from '../experiments/primitives.ts';

const u32: typeof q.u32 = q.u32;

const hash = q.fn('hash', { x: u32 }, u32, ({ x }) => {
  const first = x.xor(x.shr(16)).mul(0x7feb352d);
  const second = first.xor(first.shr(15)).mul(0x846ca68b);
  return second.xor(second.shr(16));
});
const unit = q.fn('unit', { x: u32 }, q.f32, ({ x }) => q.f32(x.shr(8)).mul(2 ** -24));
export const sixteenth: q.Functor<{ x: typeof u32 }, typeof u32> = q.fn('sixteenth', { x: u32 }, u32, ({ x }) =>
  x.shr(4),
);
const highBits = q.fn('highBits', { x: u32, shift: q.uniform(u32) }, u32, ({ x, shift }) => x.shr(shift));
const below8 = q.fn('below8', { x: u32 }, u32, ({ x }) => x.shr(29));

/**
 * The inputs of the measured primitives, with the same numbers as in `peers/primitives.cu` and `peers/primitives.cpp`.
 */
export interface PrimitiveInputs {
  /** Element i is a 32-bit hash of i. The elements of `floats` are numbers from 0 to 1, derived from the same hash. */
  readonly x: q.Column<'u32'>;
  readonly floats: q.Column<'f32'>;
  readonly index: q.Column<'u32'>;
  /** Keys of which 16 consecutive rows are equal. */
  readonly runs: q.Column<'u32'>;
  /** A random permutation. */
  readonly order: q.Column<'u32'>;
  /** `low` and `high` are the sorted halves of `x`. `keys` is a sorted column in which to search. */
  readonly low: q.Column<'u32'>;
  readonly high: q.Column<'u32'>;
  readonly keys: q.Column<'u32'>;
  /** `low` and `high` without their lowest bits, so that they share keys and have some twice. */
  readonly lowSet: q.Column<'u32'>;
  readonly highSet: q.Column<'u32'>;
  /** Numbers below 8, in a column of n/4 rows. `quarter` has the indices of these rows, from 0. */
  readonly counts: q.Column<'u32'>;
  readonly quarter: q.Column<'u32'>;
}

/** Makes the inputs with 2^`log2` rows on a context. */
export function primitiveInputs(context: Context, log2: number): PrimitiveInputs {
  const n = 2 ** log2;
  const x = context.materialize(q.map(hash, { x: q.sequence(n) }));
  const sortedPart = (from: number, to: number): q.Column<'u32'> => q.sort(context.materialize(q.slice(x, from, to)));
  const [low, high] = [sortedPart(0, n / 2), sortedPart(n / 2, n)];
  const setOf = (half: q.Column<'u32'>): q.Column<'u32'> =>
    context.materialize(q.map(highBits, { x: half, shift: 32 - log2 }));
  return {
    x,
    floats: context.materialize(q.map(unit, { x })),
    index: context.materialize(q.sequence(n)),
    runs: context.materialize(q.map(sixteenth, { x: q.sequence(n) })),
    order: context.materialize(q.map(permutationOf(log2), { x: q.sequence(n) })),
    low,
    high,
    lowSet: setOf(low),
    highSet: setOf(high),
    keys: sortedPart(0, Math.min(n, SEARCHED)),
    counts: context.materialize(q.map(below8, { x: q.slice(x, 0, n / 4) })),
    quarter: context.materialize(q.sequence(n / 4)),
  };
}

/** A pseudo-random permutation of the numbers below 2^`log2`, the same as in the C++ and CUDA programs in `peers`. */
function permutationOf(log2: number): q.Functor<{ x: typeof u32 }, typeof u32> {
  const half = (log2 + 1) >> 1;
  return q.fn('permuted', { x: u32 }, u32, ({ x }) =>
    [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35].reduce((i, factor) => {
      const moved = i
        .mul(factor)
        .add(0x7f4a7c15)
        .and(2 ** log2 - 1);
      return moved.xor(moved.shr(half));
    }, x),
  );
}

const identity = q.fn('identity', { x: u32 }, u32, ({ x }) => x);
export const affine: q.Functor<{ x: typeof u32 }, typeof u32> = q.fn('affine', { x: u32 }, u32, ({ x }) =>
  x.mul(2654435761).add(1),
);
const polynomial = q.fn('polynomial', { x: q.f32 }, q.f32, ({ x }) => x.mul(x).mul(0.5).add(x).sub(1.25));
export const odd: q.Functor<{ x: typeof u32 }, typeof q.bool> = q.fn('odd', { x: u32 }, q.bool, ({ x }) =>
  x.and(1).eq(1),
);
const oddOfThree = q.fn('oddOfThree', { x: u32, y: u32, z: u32 }, q.bool, ({ x }) => x.and(1).eq(1));
const high13 = q.fn('high13', { x: u32 }, u32, ({ x }) => x.shr(19));
const matrix = { a: u32, b: u32, c: u32, d: u32 };
const matrixProduct = q.monoid({
  of: matrix,
  identity: { a: 1, b: 0, c: 0, d: 1 },
  combine: ({ a: l, b: r }) => ({
    a: l.a.mul(r.a).add(l.b.mul(r.c)),
    b: l.a.mul(r.b).add(l.b.mul(r.d)),
    c: l.c.mul(r.a).add(l.d.mul(r.c)),
    d: l.c.mul(r.b).add(l.d.mul(r.d)),
  }),
  exact: true,
});

/** Returns functions, by name, that each call one primitive on inputs of n rows and store its result in new columns. */
export function primitiveCalls(
  context: Context,
  n: number,
  { x, floats, index, runs, order, low, high, lowSet, highSet, keys, counts, quarter }: PrimitiveInputs,
): { readonly [name: string]: () => q.Table } {
  const stored = (view: q.Column): q.Column => context.materialize(view);
  return {
    copy: () => stored(q.map(identity, { x })),
    fill: () => q.fill(context, u32, 7, n),
    sequence: () => stored(q.sequence(n)),
    map: () => stored(q.map(affine, { x })),
    'map f32': () => stored(q.map(polynomial, { x: floats })),
    reduce: () => q.reduce(x, q.plus(u32)),
    'reduce f32': () => q.reduce(floats, q.plus(q.f32)),
    scan: () => q.exclusiveScan(x, q.plus(u32)),
    'scan f32': () => q.exclusiveScan(floats, q.plus(q.f32)),
    'scan of 2 × 2': () => q.inclusiveScan({ a: x, b: index, c: runs, d: order }, matrixProduct),
    copyIf: () => q.copyIf(x, odd),
    'copyIf of 3': () => q.copyIf({ x, y: index, z: runs }, oddOfThree),
    gather: () => stored(q.gather(index, order)),
    scatter: () => q.scatter(index, order, n),
    reduceByKey: () => q.reduceByKey(runs, index, q.plus(u32)),
    histogram: () => q.histogram(q.map(highByte, { x }), 256),
    'histogram 8192': () => q.histogram(q.map(high13, { x }), 8192),
    sort: () => q.sort(x),
    sortByKey: () => q.sortByKey(x, index),
    reverse: () => stored(q.reverse(x)),
    count: () => q.count(x, odd),
    minElement: () => q.minElement(x),
    adjacentDifference: () => stored(q.adjacentDifference(x)),
    'stencil of 3': () => stored(q.stencil(around, { x })),
    'stencil of 3 × 3': () => stored(q.stencil(box, { x }, { width: Math.min(WIDTH, n) })),
    partition: () => q.partition(x, odd),
    unique: () => q.unique(runs),
    runLengthEncode: () => q.runLengthEncode(runs),
    segmentedScan: () => q.segmentedScan(x, q.map(isHead, { i: q.sequence(x.length) }), q.plus(u32)),
    expand: () => q.expand({ x: quarter }, counts, onByRank, { capacity: n }),
    merge: () => q.merge(low, high),
    setUnion: () => q.setUnion(lowSet, highSet),
    setIntersection: () => q.setIntersection(lowSet, highSet),
    setDifference: () => q.setDifference(lowSet, highSet),
    setSymmetricDifference: () => q.setSymmetricDifference(lowSet, highSet),
    lowerBound: () => stored(q.lowerBound(keys, x)),
    selectKth: () => q.selectKth(x, n / 2),
    'scatterReduce add': () => {
      const onto = q.fill(context, u32, 0, n);
      q.scatterReduce(index, order, 'add', onto);
      return onto;
    },
  };
}

/**
 * Prepares the call of one primitive for inputs of at most n rows. Returns undefined for the calls `fill` and
 * `scatterReduce add`, which create a column by `q.fill`.
 */
export function prepareCall(
  context: Context,
  n: number,
  inputs: PrimitiveInputs,
  name: string,
): { call(): q.Table; dispose(): void } | undefined {
  if (name === 'fill' || name === 'scatterReduce add') return undefined;
  const { x, floats, index, runs, order, low, high, lowSet, highSet, keys, counts, quarter } = inputs;
  const declared = {
    rows: q.input({ x: u32, floats: q.f32, index: u32, runs: u32, order: u32 }, n),
    halves: q.input({ low: u32, high: u32, lowSet: u32, highSet: u32 }, n / 2),
    keys: q.input(u32, Math.min(n, SEARCHED)),
    quarters: q.input({ counts: u32, quarter: u32 }, n / 4),
  };
  const prepared = context.prepare(declared, ({ rows, halves, keys, quarters }) =>
    primitiveCalls(context, n, { ...rows, ...halves, keys, ...quarters })[name]!(),
  );
  const halves = { low, high, lowSet, highSet };
  const given = { rows: { x, floats, index, runs, order }, halves, keys, quarters: { counts, quarter } };
  return { call: () => prepared(given), dispose: () => prepared.dispose() };
}
