import { afterAll, beforeAll, expect } from 'vitest';
import {
  array,
  Break,
  bool,
  type Column,
  type Context,
  copyIf,
  For,
  f32,
  fn,
  histogram,
  If,
  inclusiveScan,
  map,
  monoid,
  neighbours,
  open,
  partition,
  plus,
  rankHistogram,
  reduce,
  reduceByKey,
  select,
  sequence,
  sortByKey,
  stencil,
  u32,
  Var,
  weightedHistogram,
} from '../../../index.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { randomWords } from '../../support/workers-programs.ts';

/**
 * Commands over elements that vectors compute only row by row of a grid, or with masks: the elements are stored first,
 * in scratch memory.
 */

let reference: Context;
const contexts: { readonly name: string; readonly context: Context }[] = [];

beforeAll(async () => {
  reference = await open({ backend: 'reference' });
  const backend = 'workers';
  contexts.push({ name: 'one worker', context: await open({ backend, workers: 1 }) });
  contexts.push({ name: 'three workers', context: await open({ backend, workers: 3 }) });
  const limits = { memoryBytes: 2 ** 17 };
  contexts.push({ name: 'little memory', context: await open({ backend, workers: 2, limits }) });
});

afterAll(async () => {
  for (const { context } of [...contexts, { context: reference }]) await context.close();
});

const pair = fn({ z: neighbours(u32) }, u32, ({ z }) => z.at(0, 0).mul(8).add(z.at(1, -1)));
const rises = fn({ z: neighbours(u32) }, bool, ({ z }) => z.at(-1, 0).lt(z.at(0, 1)));
const half = fn({ z: neighbours(u32) }, f32, ({ z }) =>
  f32(z.at(0, 0))
    .mul(0.7)
    .add(f32(z.at(-1, 1)).div(3)),
);
const search = fn({ x: u32, table: array(u32) }, u32, ({ x, table }) => {
  const found = Var(u32(0));
  For(0, 16, (i) => {
    If(table.at(i).gt(x), () => Break());
    found.set(i);
  });
  return found;
});
const byRank = fn({ x: u32, rank: u32 }, { bin: u32, histogram: u32 }, ({ x, rank }) => ({
  bin: x.shr(rank.mul(3)).and(7),
  histogram: x.and(1),
}));
const isOdd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const wrap = fn({ value: u32 }, { value: u32, any: bool }, ({ value }) => ({ value, any: value.and(3).eq(1) }));
/** The last value that there is: exact, but the order of operands matters. */
const latest = monoid({
  of: { value: u32, any: bool },
  identity: { value: 0, any: false },
  combine: ({ a, b }) => ({ value: select(a.value, b.value, b.any), any: a.any.or(b.any) }),
});

type Boundary = 'clamp' | 'constant' | 'wrap' | 'reflect';

/** Everything that is computed of views that are stored first, by name. */
function results(z: Column<'u32'>, table: Column<'u32'>, boundary: Boundary) {
  const cells = stencil(pair, { z }, { boundary });
  const flags = stencil(rises, { z }, { boundary });
  const halves = stencil(half, { z }, { boundary });
  const places = map(search, { x: z, table });
  const chosen = copyIf(z, isOdd);
  const rows = { axis: 'rows' } as const;
  return {
    counts: histogram(cells, 100),
    countsOfRanks: rankHistogram({ active: flags, x: z }, byRank, { ranks: 4, bins: 8, histograms: 2 }),
    countsInSegments: histogram(cells, 50, { segment: 700 }),
    countsOfLoops: histogram(places, 16),
    countsOfSome: histogram(map(search, { x: chosen, table }), 16),
    weights: weightedHistogram(cells, 64, { z, places }),
    sums: inclusiveScan(cells, plus(u32)),
    sumsOfLoops: inclusiveScan(places, plus(u32)),
    sumsOfSome: inclusiveScan(map(search, { x: chosen, table }), plus(u32)),
    inRows: inclusiveScan(cells, plus(u32), rows),
    inColumns: inclusiveScan(cells, plus(u32), { axis: 'columns' }),
    reals: inclusiveScan(halves, plus(f32)),
    realsInRows: inclusiveScan(halves, plus(f32), rows),
    total: reduce(halves, plus(f32)),
    totalOfLoops: reduce(places, plus(u32)),
    latest: reduce(map(wrap, { value: cells }), latest),
    kept: copyIf({ i: sequence(z.length), z }, flags),
    parted: partition(z, flags),
    sorted: sortByKey(cells, sequence(z.length)),
    grouped: reduceByKey(places, cells, plus(u32)),
  };
}

const grids = fc.record({
  columns: fc.oneof(fc.integer({ min: 60, max: 300 }), fc.constantFrom(1, 5000)),
  cells: fc.integer({ min: 3900, max: 9000 }),
  boundary: fc.constantFrom<Boundary[]>('clamp', 'constant', 'wrap', 'reflect'),
  seed: fc.nat(),
});

test.prop([grids], { numRuns: caseCount(60) })(
  'elements that are stored first give the results of the reference',
  async ({ columns, cells, boundary, seed }) => {
    const grid = { rows: Math.ceil(cells / columns), columns };
    const words = randomWords(grid.rows * columns, seed).map((word) => word % 16);
    const of = async (context: Context, isPrepared = false) => {
      const [z, table] = [context.column(words, grid), context.column(Uint32Array.from({ length: 16 }, (_, i) => i))];
      const pipeline = () => results(z, table, boundary);
      const step = isPrepared ? context.prepare({}, pipeline) : undefined;
      const made = step === undefined ? context.scope(pipeline) : step({});
      const plain = await context.read(made);
      context.dispose(z, table, made);
      step?.dispose();
      return plain;
    };
    const expected = await of(reference);
    for (const { name, context } of contexts) {
      for (const isPrepared of [false, true]) {
        const got = await of(context, isPrepared);
        expect({ name, isPrepared, ...got }).toEqual({ name, isPrepared, ...expected });
      }
    }
  },
);
