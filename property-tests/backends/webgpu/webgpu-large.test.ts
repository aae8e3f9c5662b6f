import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { testAdapter } from '../../../backends/webgpu-node/node-gpu.ts';
import type { Column } from '../../../primitives/columns/column.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Limits } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { someOf } from '../../cases.ts';
import { openTestBackend, slow } from '../../support/webgpu-support.ts';

/**
 * Columns that are too large for the host, so a formula on the device checks the results. On hardware, the columns have
 * 2²⁸ + 1 elements, which need more than 65,535 workgroups of a map, or 2²⁹ + 1, which exceed one binding. Elsewhere,
 * columns and bindings are smaller.
 */
const cases: readonly (readonly [rows: number, bindings: string, limits: Partial<Limits>])[] =
  testAdapter() === 'hardware'
    ? [
        [2 ** 28 + 1, 'one binding', {}],
        [2 ** 29 + 1, 'several bindings', {}],
      ]
    : [
        [2 ** 16 + 1, 'one binding', {}],
        [2 ** 16 + 1, 'several bindings', { bindingBytes: 2 ** 16 }],
      ];
const { u32, bool } = q;

const isOdd = q.fn('isOdd', { x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const sixteenth = q.fn('sixteenth', { x: u32 }, u32, ({ x }) => x.shr(4));
const lowByte = q.fn('lowByte', { x: u32 }, u32, ({ x }) => x.and(255));
/** A bijection on all u32. */
const spread = q.fn('spread', { x: u32 }, u32, ({ x }) => x.mul(0x9e3779b1));
const differ = q.fn('differ', { x: u32, y: u32 }, u32, ({ x, y }) => u32(x.ne(y)));
const falls = q.fn('falls', { x: q.neighbours(u32) }, u32, ({ x }) => u32(x.at(-1).gt(x.at(0))));

/** The sum of the numbers below i, modulo 2³². */
const below = (i: q.U32): q.U32 => {
  const even = i.and(1).eq(0);
  return q.select(i, i.shr(1), even).mul(q.select(i.sub(1).shr(1), i.sub(1), even));
};
const sumBelow = q.fn('sumBelow', { i: u32 }, u32, ({ i }) => below(i));
const oddNumber = q.fn('oddNumber', { i: u32 }, u32, ({ i }) => i.mul(2).add(1));
const evenNumber = q.fn('evenNumber', { i: u32 }, u32, ({ i }) => i.mul(2));
const bothNumbers = q.fn('bothNumbers', { i: u32, rank: u32 }, u32, ({ i, rank }) => i.mul(2).add(rank));
const isHead = q.fn('isHead', { x: u32 }, bool, ({ x }) => x.and(15).eq(0));
const placeInSegment = q.fn('placeInSegment', { i: u32 }, u32, ({ i }) => i.and(15).add(1));
const sumOfRun = q.fn('sumOfRun', { i: u32, n: u32 }, u32, ({ i, n }) =>
  below(i.mul(16).add(16).min(n)).sub(below(i.mul(16))),
);

// By default, one random case is tried.
describe.each(someOf(cases, 1))('columns of %i elements in %s on WebGPU', (N, _, limits) => {
  let context: Context;
  let index: Column<'u32'>;
  beforeAll(async () => {
    context = new Context(createSpillingBackend(await openTestBackend({ limits })));
    index = context.materialize(q.sequence(N));
  }, 60_000);
  afterAll(() => context.close());

  const sum = async (view: Column<'u32'>): Promise<number> =>
    (await context.read(context.scope(() => q.reduce(view, q.plus(u32)))))[0]!;
  const expectEqual = async (got: Column<'u32'>, formula: Column<'u32'>): Promise<void> => {
    expect(await sum(q.map(differ, { x: got, y: formula }))).toBe(0);
  };

  test(
    'are summed',
    async () => {
      expect(await sum(index)).toBe(Number(((BigInt(N) * BigInt(N - 1)) / 2n) % 2n ** 32n));
    },
    slow,
  );

  test(
    'are scanned',
    async () => {
      const scanned = q.exclusiveScan(index, q.plus(u32));
      await expectEqual(scanned, q.map(sumBelow, { i: q.sequence(N) }));
      context.dispose(scanned);
    },
    slow,
  );

  test(
    'are compacted',
    async () => {
      const kept = q.copyIf(index, isOdd);
      expect(await context.count(kept)).toBe((N - 1) / 2);
      await expectEqual(kept, q.map(oddNumber, { i: q.sequence(kept.length) }));
      context.dispose(kept);
    },
    slow,
  );

  test(
    'are partitioned',
    async () => {
      const { selected, rejected } = q.partition(index, isOdd);
      await expectEqual(selected, q.map(oddNumber, { i: q.sequence(selected.length) }));
      await expectEqual(rejected, q.map(evenNumber, { i: q.sequence(rejected.length) }));
      expect(await context.count(rejected)).toBe((N + 1) / 2);
      context.dispose({ selected, rejected });
    },
    slow,
  );

  test(
    'are scanned in segments',
    async () => {
      const heads = q.map(isHead, { x: index });
      const places = q.segmentedScan(q.constant(u32, 1, N), heads, q.plus(u32));
      await expectEqual(places, q.map(placeInSegment, { i: q.sequence(N) }));
      context.dispose(places);
    },
    slow,
  );

  test(
    'are expanded from rows of two results each',
    async () => {
      const rows = context.materialize(q.sequence((N - 1) / 2));
      const made = q.expand({ i: rows }, 2, bothNumbers, { capacity: N });
      expect(await context.count(made)).toBe(N - 1);
      await expectEqual(made, q.sequence(made.length));
      context.dispose({ rows, made });
    },
    slow,
  );

  test(
    'are reduced by key',
    async () => {
      const runs = context.materialize(q.map(sixteenth, { x: index }));
      const { keys, values } = q.reduceByKey(runs, index, q.plus(u32));
      expect(await context.count(keys)).toBe(Math.ceil(N / 16));
      await expectEqual(keys, q.sequence(keys.length));
      await expectEqual(
        values,
        q.map(sumOfRun, { i: q.sequence(values.length), n: q.constant(u32, N, values.length) }),
      );
      context.dispose({ runs, keys, values });
    },
    slow,
  );

  test(
    'are counted in a histogram',
    async () => {
      const counts = await context.read(q.histogram(q.map(lowByte, { x: index }), 256));
      expect([...counts]).toEqual(Array.from({ length: 256 }, (_, bin) => Math.floor((N - 1 - bin) / 256) + 1));
    },
    slow,
  );

  test(
    'are sorted with their payload',
    async () => {
      const keys = context.materialize(q.map(spread, { x: index }));
      const sorted = q.sortByKey(keys, index);
      await expectEqual(sorted.keys, q.map(spread, { x: sorted.values }));
      expect(await sum(q.slice(q.stencil(falls, { x: sorted.keys }), 1))).toBe(0);
      const home = q.scatter(sorted.values, sorted.values, N);
      await expectEqual(home, q.sequence(N));
      context.dispose({ keys, sorted, home });
    },
    slow,
  );
});
