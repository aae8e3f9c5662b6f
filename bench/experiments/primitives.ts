import type { Table } from '../../primitives/columns/column.ts';
import * as q from '../../primitives/index.ts';
import type { Case, ElementType, Experiment, HostColumn, HostColumns } from '../harness/experiment.ts';
import { composedPrimitives } from './composed.ts';
import { indices, indicesOf, permutation, randomOf } from './inputs.ts';
import {
  plainAffine,
  plainCopy,
  plainCopyIf,
  plainGather,
  plainHistogram,
  plainMerge,
  plainReduceByKey,
  plainScan,
  plainScatter,
  plainSort,
  plainSortByKey,
  plainSum,
} from './plain.ts';
import type { Primitive } from './primitive.ts';

const { u32, i32, f32 } = q;
const NUMBERS: readonly ElementType[] = ['u32', 'i32', 'f32'];
const WORD = 4;
/** Relative tolerance for the f32 sums of peers (other libraries and programs), because peers add in another order. */
const F32_SUMS = 1e-4;

const same: Readonly<Record<ElementType, unknown>> = {
  u32: q.fn('same', { x: u32 }, u32, ({ x }) => x),
  i32: q.fn('same', { x: i32 }, i32, ({ x }) => x),
  f32: q.fn('same', { x: f32 }, f32, ({ x }) => x),
};
const affine: Readonly<Record<ElementType, unknown>> = {
  u32: q.fn('affine', { x: u32 }, u32, ({ x }) => x.mul(2654435761).add(1)),
  i32: q.fn('affine', { x: i32 }, i32, ({ x }) => x.mul(-1640531535).add(1)),
  f32: q.fn('affine', { x: f32 }, f32, ({ x }) => x.mul(1.5).add(0.25)),
};
const isKept: Readonly<Record<ElementType, unknown>> = {
  u32: q.fn('isOdd', { x: u32 }, q.bool, ({ x }) => x.and(1).eq(1)),
  i32: q.fn('isOdd', { x: i32 }, q.bool, ({ x }) => x.and(1).eq(1)),
  f32: q.fn('isBelowHalf', { x: f32 }, q.bool, ({ x }) => x.lt(0.5)),
};
const sums: Readonly<Record<ElementType, unknown>> = { u32: q.plus(u32), i32: q.plus(i32), f32: q.plus(f32) };
export const highByte: q.Functor<{ x: typeof q.u32 }, typeof q.u32> = q.fn('highByte', { x: u32 }, u32, ({ x }) =>
  x.shr(24),
);

const random = (one: Case): HostColumns => ({ x: randomOf(one) });
const wordsOf = (columns: readonly HostColumn[]): number => columns.reduce((sum, { length }) => sum + length, 0);

/**
 * Primitives that are compared with peers (other libraries and programs). `bytes` is the minimum number of bytes that a
 * primitive must read and write.
 */
const primitives: readonly Primitive[] = [
  {
    name: 'copy',
    types: NUMBERS,
    inputs: random,
    run: ({ x }, { context, type }) => context.materialize(q.map(same[type] as never, { x } as never)) as Table,
    plain: ({ x }) => plainCopy(x),
    bytes: ({ n }) => 2 * n * WORD,
  },
  {
    name: 'map',
    types: NUMBERS,
    inputs: random,
    run: ({ x }, { context, type }) => context.materialize(q.map(affine[type] as never, { x } as never)) as Table,
    plain: ({ x }) => plainAffine(x),
    bytes: ({ n }) => 2 * n * WORD,
  },
  {
    name: 'reduce',
    types: NUMBERS,
    inputs: random,
    run: ({ x }, { type }) => q.reduce(x, sums[type] as q.Monoid<typeof u32>),
    plain: ({ x }) => plainSum(x),
    bytes: ({ n }) => n * WORD,
    adds: true,
  },
  {
    name: 'scan',
    types: NUMBERS,
    inputs: random,
    run: ({ x }, { type }) => q.exclusiveScan(x, sums[type] as q.Monoid<typeof u32>),
    plain: ({ x }) => plainScan(x),
    bytes: ({ n }) => 2 * n * WORD,
    adds: true,
  },
  {
    name: 'copyIf',
    types: NUMBERS,
    inputs: random,
    run: ({ x }, { type }) => q.copyIf(x, isKept[type] as never),
    plain: ({ x }) => plainCopyIf(x),
    bytes: ({ n }, result) => (n + wordsOf(result)) * WORD,
  },
  {
    name: 'gather',
    types: NUMBERS,
    inputs: (one) => ({ x: indicesOf(one), order: permutation(one.n) }),
    run: ({ x, order }, { context }) => context.materialize(q.gather(x, order)),
    plain: ({ x, order }) => plainGather(x, order),
    bytes: ({ n }) => 3 * n * WORD,
  },
  {
    name: 'scatter',
    types: NUMBERS,
    inputs: (one) => ({ x: indicesOf(one), order: permutation(one.n) }),
    run: ({ x, order }, { n }) => q.scatter(x, order, n),
    plain: ({ x, order }) => plainScatter(x, order),
    bytes: ({ n }) => 3 * n * WORD,
  },
  {
    name: 'sort',
    types: NUMBERS,
    inputs: random,
    run: ({ x }) => q.sort(x),
    plain: ({ x }) => plainSort(x),
    bytes: ({ n }) => 2 * n * WORD,
  },
  {
    name: 'sortByKey',
    types: NUMBERS,
    inputs: (one) => ({ ...random(one), order: indices(one.n) }),
    run: ({ x, order }) => q.sortByKey(x, order),
    plain: ({ x, order }) => plainSortByKey(x, order),
    bytes: ({ n }) => 4 * n * WORD,
  },
  {
    name: 'reduceByKey',
    types: NUMBERS,
    inputs: (one) => ({ keys: indices(one.n).map((i) => i >>> 4), x: indicesOf(one) }),
    run: ({ keys, x }, { type }) => q.reduceByKey(keys, x, sums[type] as q.Monoid<typeof u32>),
    plain: ({ keys, x }) => plainReduceByKey(keys, x),
    bytes: ({ n }, result) => (2 * n + wordsOf(result)) * WORD,
    adds: true,
  },
  {
    name: 'histogram',
    inputs: random,
    run: ({ x }) => q.histogram(q.map(highByte, { x }), 256),
    plain: ({ x }) => plainHistogram(x),
    bytes: ({ n }) => n * WORD,
  },
  {
    name: 'merge',
    inputs: (one) => {
      const x = randomOf(one) as Uint32Array;
      return { x: x.slice(0, one.n >> 1).sort(), keys: x.slice(one.n >> 1).sort() };
    },
    run: ({ x, keys }) => q.merge(x, keys),
    plain: ({ x, keys }) => plainMerge(x, keys),
    bytes: ({ n }) => 2 * n * WORD,
  },
];

/** The built-in experiments, each over a single primitive. */
export const primitiveExperiments: readonly Experiment[] = [...primitives, ...composedPrimitives].map(
  ({ name, types, inputs, run, plain, bytes, adds = false }) => ({
    name,
    types,
    inputs,
    run: run as never,
    plain: plain as never,
    bytes,
    // Sums of f32 follow the library's canonical summation tree. The plain code does not, so the reference backend
    // computes the expected result.
    reference: (columns, one) => (adds && one.type === 'f32' ? undefined : plain(columns as never, one)),
    tolerance: ({ type }) => (adds && type === 'f32' ? F32_SUMS : 0),
  }),
);
