import { describe, expect, test } from 'vitest';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { plainBackends } from '../../backends.ts';
import { someOf, THOROUGH } from '../../cases.ts';
import { randomWords } from '../../support/webgpu-support.ts';

const { bool, f32, fn, u32 } = q;

const SLOW = 120_000;
const ROWS = 20_000;

const odd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const hashed = fn({ x: u32 }, u32, ({ x }) => x.mul(2654435761).shr(8));

interface Columns {
  readonly x: q.Column<'u32'>;
  readonly f: q.Column<'f32'>;
  readonly key: q.Column<'u32'>;
  readonly small: q.Column<'u32'>;
}

/** Pipelines, each of which runs on the same columns in every iteration of a loop. */
const turns: Readonly<Record<string, (columns: Columns) => q.Table>> = {
  map: ({ x }) => q.map(hashed, { x }),
  'reduce, exact': ({ x }) => q.reduce(x, q.plus(u32)),
  'reduce, f32': ({ f }) => q.reduce(f, q.plus(f32)),
  'scan, exact': ({ x }) => q.inclusiveScan(x, q.plus(u32)),
  'scan, f32': ({ f }) => q.exclusiveScan(f, q.plus(f32)),
  segmentedScan: ({ x, key }) => q.segmentedScan(x, q.runHeads(key), q.maximum(u32)),
  copyIf: ({ x, f }) => q.copyIf({ x, f }, q.map(odd, { x })),
  partition: ({ x }) => q.partition(x, odd),
  reduceByKey: ({ x, key }) => q.reduceByKey(key, x, q.plus(u32)),
  uniqueByKey: ({ x, key }) => q.uniqueByKey(key, x),
  histogram: ({ small }) => q.histogram(small, 256),
  'histogram of runs': ({ small }) => q.histogram(small, 16, { segment: 1000 }),
  sort: ({ x }) => q.sort(x),
  'sort of pairs': ({ x, f }) => q.sortByKey(x, f),
  'sort of records': ({ x, f, key }) => q.sortByKey(x, { f, key }),
  gather: ({ x, small }) => q.gather(x, small),
  scatter: ({ x }) => q.scatter(x, q.sequence(ROWS), ROWS),
  scatterReduce: ({ x, small }) => {
    const sums = q.fill(x.context!, u32, 0, 256);
    q.scatterReduce(x, small, 'add', sums);
    return sums;
  },
  minElement: ({ f }) => q.minElement(f),
  merge: ({ key }) => q.merge(key, key),
  setUnion: ({ key }) => q.setUnion(key, key),
  selectKth: ({ x }) => q.selectKth(x, 1234),
  unfold: ({ small }) => q.unfold({ n: small }, counting, countDown, { capacity: 4 * ROWS }),
  search: ({ x, key }) => q.lowerBound(key, x),
  expand: ({ small }) =>
    q.expand(
      { s: small },
      q.map(
        fn({ s: u32 }, u32, ({ s }) => s.and(3)),
        { s: small },
      ),
      rank,
      { capacity: 2 * ROWS },
    ),
  concatenate: ({ x, key }) => q.concatenate([x, key]),
  'stencils of stencils': ({ x }) => [1, 2, 3, 4].reduce((cells) => q.stencil(five, { x: cells }), x),
  'gathers by themselves': ({ x }) => [1, 2, 3, 4, 5, 6].reduce((places) => q.gather(places, places), below(x)),
  adjacentDifference: ({ x }) => q.adjacentDifference(x),
  'a chain': ({ x, f }) => {
    const kept = q.copyIf(
      { key: q.map(hashed, { x }), f },
      fn({ key: u32, f: f32 }, bool, ({ key }) => key.and(1).eq(0)),
    );
    const sorted = q.sortByKey(kept.key, kept.f);
    const sums = q.reduceByKey(
      q.map(
        fn({ k: u32 }, u32, ({ k }) => k.shr(4)),
        { k: sorted.keys },
      ),
      sorted.values,
      q.plus(f32),
    );
    return { total: q.reduce(q.inclusiveScan(sums.values, q.plus(f32)), q.maximum(f32)), keys: sums.keys };
  },
};

const five = fn({ x: q.neighbours(u32) }, u32, ({ x }) =>
  [-2, -1, 1, 2].reduce((sum, dx) => sum.add(x.at(dx)), x.at(0).mul(3)),
);
const place = fn({ x: u32 }, u32, ({ x }) => x.rem(ROWS));
const below = (x: q.Column<'u32'>): q.Column<'u32'> => q.map(place, { x });
const counting = fn({ n: u32 }, { left: u32 }, ({ n }) => ({ left: n.and(3) }));
const countDown = fn({ left: u32 }, { more: bool, emits: bool, state: { left: u32 }, value: u32 }, ({ left }) => ({
  more: left.gt(0),
  emits: true,
  state: { left: left.sub(1) },
  value: left,
}));
const rank = fn({ s: u32, rank: u32 }, u32, ({ s, rank }) => s.add(rank));

/** Counters that must not grow in a loop. */
function made({ backend: { counters } }: Context): Record<string, number> {
  const { allocations, bindGroups, compilations } = counters;
  return { allocations, bindGroups, compilations };
}

describe.each(plainBackends.filter(({ name }) => name !== 'reference'))('a loop on $name', ({ open }) => {
  test.each(someOf(Object.entries(turns), Math.ceil(Object.keys(turns).length / 3)))(
    'of %s allocates nothing after its second round',
    async (_, turn) => {
      const context = new Context(createSpillingBackend(await open()));
      try {
        const columns = {
          x: context.column(randomWords(ROWS, 1)),
          f: context.column(Float32Array.from(randomWords(ROWS, 2), (word) => word / 2 ** 20)),
          key: context.column(Uint32Array.from({ length: ROWS }, (_, i) => i >> 3)),
          small: context.column(randomWords(ROWS, 3).map((word) => word >>> 24)),
        };
        const once = async (): Promise<void> => {
          const result = context.scope(() => context.materialize(turn(columns)));
          await context.read(result);
          context.dispose(result);
        };
        for (let i = 0; i < 2; i++) await once();
        const before = made(context);
        for (let i = 0; i < (THOROUGH ? 8 : 2); i++) await once();
        expect(made(context)).toEqual(before);
        expect(before.allocations).toBeGreaterThan(0);
      } finally {
        await context.close();
      }
    },
    SLOW,
  );
});
