import type { Table } from '../../primitives/columns/column.ts';
import * as q from '../../primitives/index.ts';
import type { Case, HostColumn, HostColumns } from '../harness/experiment.ts';
import { indices, permutation, randomOf } from './inputs.ts';
import * as plain from './plain-composed.ts';
import type { Primitive } from './primitive.ts';

const u32: typeof q.u32 = q.u32;
const WORD = 4;
/** Number of sorted keys in which `lowerBound` searches. */
export const SEARCHED: number = 2 ** 16;

const isOdd = q.fn('isOdd', { x: u32 }, q.bool, ({ x }) => x.and(1).eq(1));
const isOddRow = q.fn('isOddRow', { x: u32, order: u32, keys: u32 }, q.bool, ({ x }) => x.and(1).eq(1));
type Cells = { readonly x: q.NeighboursParameter<typeof u32> };

/** Functor that tests whether a row starts a segment. Every segment has 16 rows. */
export const isHead: q.Functor<{ i: typeof u32 }, typeof q.bool> = q.fn('isHead', { i: u32 }, q.bool, ({ i }) =>
  i.and(15).eq(0),
);
export const around: q.Functor<Cells, typeof u32> = q.fn('around', { x: q.neighbours(u32) }, u32, ({ x }) =>
  x.at(-1).add(x.at(0)).add(x.at(1)),
);
export const box: q.Functor<Cells, typeof u32> = q.fn('box', { x: q.neighbours(u32) }, u32, ({ x }) =>
  [-1, 0, 1].map((dy) => x.at(-1, dy).add(x.at(0, dy)).add(x.at(1, dy))).reduce((sum, row) => sum.add(row)),
);
export const onByRank: q.Functor<{ x: typeof u32; rank: typeof u32 }, typeof u32> = q.fn(
  'onByRank',
  { x: u32, rank: u32 },
  u32,
  ({ x, rank }) => x.add(rank),
);
const affineMaps = q.monoid({
  of: { x: u32, order: u32 },
  identity: { x: 1, order: 0 },
  combine: ({ a, b }) => ({ x: a.x.mul(b.x), order: b.x.mul(a.order).add(b.order) }),
  name: 'affineMaps',
});

const words = (n: number): Uint32Array => new Uint32Array(n);
const random = (one: Case): { x: Uint32Array } => ({ x: randomOf(one) as Uint32Array });
const inRuns = ({ n }: Case): HostColumns => ({ keys: indices(n).map((i) => i >>> 4) });
const counted = (columns: readonly HostColumn[]): number => columns.reduce((sum, { length }) => sum + length, 0);
/**
 * Number of cells per row of the grid: the largest power of two that divides n, but at most `WIDTH`. So every row of
 * the grid is complete.
 */
const widthOf = (n: number): number => Math.min(plain.WIDTH, n & -n);

/** Lets `fill` write elements into a new array and return their number. Returns only these elements. */
const filled = (length: number, fill: (out: Uint32Array) => number): Uint32Array => {
  const out = words(length);
  return out.subarray(0, fill(out));
};

/**
 * Primitives over u32 that are built from other primitives. `bytes` is the minimum number of bytes that a primitive
 * reads and writes.
 */
export const composedPrimitives: readonly Primitive[] = [
  {
    name: 'fill',
    inputs: () => ({}),
    run: (_, { n, context }) => q.fill(context, u32, 7, n),
    plain: (_, { n }) => words(n).fill(7),
    bytes: ({ n }) => n * WORD,
  },
  {
    name: 'sequence',
    inputs: () => ({}),
    run: (_, { n, context }) => context.materialize(q.sequence(n)),
    plain: (_, { n }) => indices(n),
    bytes: ({ n }) => n * WORD,
  },
  {
    name: 'reverse',
    inputs: random,
    run: ({ x }, { context }) => context.materialize(q.reverse(x)),
    plain: ({ x }, { n }) => filled(n, (out) => plain.reverse(x, out)),
    bytes: ({ n }) => 2 * n * WORD,
  },
  {
    name: 'count',
    inputs: random,
    run: ({ x }) => q.count(x, isOdd),
    plain: ({ x }) => filled(1, (out) => plain.count(x, out)),
    bytes: ({ n }) => n * WORD,
  },
  {
    name: 'minElement',
    inputs: random,
    run: ({ x }): Table => q.minElement(x),
    plain: ({ x }) => plain.minElement(x),
    bytes: ({ n }) => n * WORD,
  },
  {
    name: 'affineScan',
    inputs: (one) => ({ ...random(one), order: permutation(one.n) }),
    run: ({ x, order }) => q.inclusiveScan({ x, order }, affineMaps),
    plain: ({ x, order }) => plain.composeMaps(x, order),
    bytes: ({ n }) => 4 * n * WORD,
  },
  {
    name: 'copyIfRecords',
    inputs: (one) => ({ ...random(one), order: permutation(one.n), ...inRuns(one) }),
    run: ({ x, order, keys }) => q.copyIf({ x, order, keys }, isOddRow),
    plain: ({ x, order, keys }) => plain.copyRecordsIf([x, order, keys]),
    bytes: ({ n }, result) => (3 * n + counted(result)) * WORD,
  },
  {
    name: 'adjacentDifference',
    inputs: random,
    run: ({ x }, { context }) => context.materialize(q.adjacentDifference(x)),
    plain: ({ x }, { n }) => filled(n, (out) => plain.adjacentDifference(x, out)),
    bytes: ({ n }) => 2 * n * WORD,
  },
  {
    name: 'stencil',
    inputs: random,
    run: ({ x }, { context }) => context.materialize(q.stencil(around, { x })),
    plain: ({ x }, { n }) => filled(n, (out) => plain.stencil(x, out)),
    bytes: ({ n }) => 2 * n * WORD,
  },
  {
    name: 'gridStencil',
    inputs: random,
    run: ({ x }, { n, context }) => context.materialize(q.stencil(box, { x }, { width: widthOf(n) })),
    plain: ({ x }, { n }) => filled(n, (out) => plain.gridStencil(x, out, widthOf(n))),
    bytes: ({ n }) => 2 * n * WORD,
  },
  {
    name: 'partition',
    inputs: random,
    run: ({ x }): Table => q.partition(x, isOdd),
    plain: ({ x }, { n }) => {
      const [selected, rejected] = [words(n), words(n)];
      const kept = plain.partition(x, selected, rejected);
      return [selected.subarray(0, kept), rejected.subarray(0, n - kept)];
    },
    bytes: ({ n }) => 2 * n * WORD,
  },
  {
    name: 'unique',
    inputs: inRuns,
    run: ({ keys }) => q.unique(keys),
    plain: ({ keys }, { n }) => filled(n, (out) => plain.unique(keys, out)),
    bytes: ({ n }, result) => (n + counted(result)) * WORD,
  },
  {
    name: 'runLengthEncode',
    inputs: inRuns,
    run: ({ keys }): Table => q.runLengthEncode(keys),
    plain: ({ keys }, { n }) => {
      const [found, lengths] = [words(n), words(n)];
      const runs = plain.runLengthEncode(keys, found, lengths);
      return [found.subarray(0, runs), lengths.subarray(0, runs)];
    },
    bytes: ({ n }, result) => (n + counted(result)) * WORD,
  },
  {
    name: 'segmentedScan',
    inputs: random,
    run: ({ x }, { n }) => q.segmentedScan(x, q.map(isHead, { i: q.sequence(n) }), q.plus(u32)),
    plain: ({ x }, { n }) => filled(n, (out) => plain.segmentedScan(x, out)),
    bytes: ({ n }) => 2 * n * WORD,
  },
  {
    name: 'expand',
    inputs: ({ n }) => {
      const x = indices(n >> 2);
      return { x, order: (randomOf({ n: x.length, type: 'u32' }) as Uint32Array).map((word) => word >>> 29) };
    },
    run: ({ x, order }, { n }) => q.expand({ x }, order, onByRank, { capacity: 2 * n }),
    plain: ({ x, order }, { n }) => filled(2 * n, (out) => plain.expand(x, order, out)),
    bytes: ({ n }, result) => (2 * (n >> 2) + counted(result)) * WORD,
  },
  {
    name: 'lowerBound',
    inputs: (one) => {
      const { x } = random(one);
      return { x, keys: x.slice(0, SEARCHED).sort() };
    },
    run: ({ x, keys }, { context }) => context.materialize(q.lowerBound(keys, x)),
    plain: ({ x, keys }, { n }) => filled(n, (out) => plain.lowerBound(keys, x, out)),
    bytes: ({ n }) => 2 * n * WORD,
  },
  {
    name: 'selectKth',
    inputs: random,
    run: ({ x }, { n }) => q.selectKth(x, n >> 1),
    plain: ({ x }, { n }) => filled(n, (out) => plain.selectKth(x, n >> 1, out, words(n))),
    bytes: ({ n }) => n * WORD,
  },
  {
    name: 'scatterReduce',
    inputs: ({ n }) => ({ x: indices(n), order: permutation(n) }),
    run: ({ x, order }, { n, context }) => {
      const onto = q.fill(context, u32, 0, n);
      q.scatterReduce(x, order, 'add', onto);
      return onto;
    },
    plain: ({ x, order }, { n }) => filled(n, (out) => plain.scatterAdd(x, order, out)),
    bytes: ({ n }) => 3 * n * WORD,
  },
];
