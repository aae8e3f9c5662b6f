import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Limits } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { dealToBackends, plainBackends } from '../../backends.ts';
import { costlyCaseCount, dealLaws, someOf } from '../../cases.ts';
import { createRun } from '../../laws/law.ts';
import { randomFloats, randomWords } from '../../support/webgpu-support.ts';

const { bool, f32, fn, i32, u32 } = q;

const SLOW = 120_000;
const KIB = 1024;

/**
 * Length and random seed of the input columns of a pipeline. The columns are u32, keys (neighbouring keys are often
 * equal), f32 of many magnitudes, and bytes.
 */
interface Input {
  readonly rows: number;
  readonly seed: number;
}

const columnsOf = (context: Context, { rows, seed }: Input) => ({
  x: context.column(randomWords(rows, seed)),
  key: context.column(randomWords(rows, seed + 1).map((word, i) => (word % 3 === 0 ? word % 16 : Math.floor(i / 5)))),
  f: context.column(new Float32Array(randomFloats(rows, seed + 2).buffer)),
  b: context.column(new Int8Array(randomWords(rows, seed + 3))),
});

type Columns = ReturnType<typeof columnsOf>;

const mixed = fn({ x: u32, f: f32, b: i32 }, { word: u32, real: f32 }, ({ x, f, b }) => ({
  word: x.add(u32(b)),
  real: f.mul(f32(b)),
}));
const scrambled = ({ x, key }: { x: q.U32; key: q.U32 }): q.U32 => x.xor(key).shr(17);
const ranked = fn({ x: u32, rank: u32 }, { x: u32, rank: u32 }, (row) => row);
const odd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const affine = q.monoid({
  of: { m: u32, c: u32 },
  identity: { m: 1, c: 0 },
  combine: ({ a, b }) => ({ m: a.m.mul(b.m), c: b.m.mul(a.c).add(b.c) }),
});
const mean = q.product({ sum: q.plus(f32), rows: q.plus(u32) });

/** Pipelines that must work even if their data exceed the backend's memory. */
const pipelines: Readonly<Record<string, (columns: Columns) => q.Table>> = {
  map: ({ x, f, b }) => q.map(mixed, { x, f, b }),
  'map of neighbours, backwards': ({ x }) => q.adjacentDifference(q.reverse(q.slice(x, 3))),
  'reduce, exact': ({ x, key }) => q.reduce({ m: x, c: key }, affine),
  'reduce, f32': ({ f, x }) => q.reduce({ sum: f, rows: x }, mean),
  'scan, exact': ({ x, key }) => q.inclusiveScan({ m: x, c: key }, affine),
  'scan, exclusive f32': ({ f }) => q.exclusiveScan(f, q.plus(f32)),
  'scan, inclusive f32 with counts': ({ f, x }) => q.inclusiveScan({ sum: f, rows: x }, mean),
  'segmented scan': ({ x, key }) => q.segmentedScan(x, q.runHeads(key), q.plus(u32)),
  'copyIf of records': ({ x, f, key }) => q.copyIf({ x, f, key }, q.map(odd, { x })),
  partition: ({ x }) => q.partition(x, odd),
  'reduceByKey, exact': ({ x, key }) => q.reduceByKey(key, x, q.plus(u32)),
  'reduceByKey, f32': ({ f, key }) => q.reduceByKey(key, f, q.plus(f32)),
  histogram: ({ x }) =>
    q.histogram(
      q.map(
        fn({ x: u32 }, u32, ({ x }) => x.shr(26)),
        { x },
      ),
      60,
    ),
  'histogram of runs': ({ x }) =>
    q.histogram(
      q.map(
        fn({ x: u32 }, u32, ({ x }) => x.and(3)),
        { x },
      ),
      3,
      { segment: 10 },
    ),
  'sort of keys': ({ f }) => q.sort(f, { descending: true }),
  'sort by some bits': ({ x, key }) => q.sortByKey(x, key, { bits: { from: 3, to: 9 } }),
  'sort of pairs': ({ key, f }) => q.sortByKey(key, f),
  'sort of records': ({ x, key, f }) => q.sortByKey(key, { x, f, key }),
  gather: ({ x, key, f, b }) => q.gather({ f, b }, q.map(fn({ x: u32, key: u32 }, u32, scrambled), { x, key })),
  'reduce of a gather': ({ x, f }) =>
    q.reduce(
      q.gather(
        f,
        q.map(
          fn({ x: u32 }, u32, ({ x }) => x.shr(18)),
          { x },
        ),
      ),
      q.plus(f32),
    ),
  'scan and sort of a gather': ({ x, key }) => {
    const found = q.gather(
      key,
      q.map(
        fn({ x: u32 }, u32, ({ x }) => x.shr(18)),
        { x },
      ),
    );
    return { scanned: q.exclusiveScan(found, q.plus(u32)), sorted: q.sort(found) };
  },
  expand: ({ x, key }) => {
    const counts = q.map(
      fn({ key: u32 }, u32, ({ key }) => key.rem(4)),
      { key },
    );
    return q.expand({ x }, counts, ranked, { capacity: 3 * x.capacity });
  },
  scatter: ({ x }) => q.scatter(x, q.reverse(q.sequence(x.length)), 20_000),
  'a chain with device counts': ({ x, key }) => {
    const kept = q.copyIf(
      { x, key },
      fn({ x: u32, key: u32 }, bool, ({ x }) => x.rem(3).ne(0)),
    );
    const sorted = q.sortByKey(kept.key, kept.x);
    const sums = q.reduceByKey(sorted.keys, sorted.values, q.plus(u32));
    return { sums: sums.values, before: q.exclusiveScan(sums.values, q.plus(u32)), last: q.reverse(sums.keys) };
  },
};

const manyWindows = pipelines['scan, inclusive f32 with counts']!;

/** By default, half of the pipelines. A software GPU gets few, because it takes long to compile their kernels. */
const pipelinesOn = dealToBackends(someOf(Object.entries(pipelines), 12), 1 / 3);

describe.each(plainBackends)('data larger than memory on $name', (backend) => {
  const { open, runs } = backend;
  const limits = [64 * KIB, 128 * KIB];
  let contexts: Context[];
  const reference = new Context(createReferenceBackend());
  beforeAll(async () => {
    contexts = await Promise.all(
      limits.map(async (memoryBytes) => new Context(createSpillingBackend(await open({ memoryBytes })))),
    );
  }, SLOW);
  afterAll(async () => {
    for (const context of [...contexts, reference]) await context.close();
  });

  test.each(pipelinesOn(backend))(
    '%s',
    async (_, pipeline) => {
      const input = fc.record({
        rows: fc.oneof(fc.nat(40), fc.nat(9000), fc.constantFrom(1024, 4096)),
        seed: fc.nat(),
      });
      await fc.assert(
        fc.asyncProperty(input, fc.nat(limits.length - 1), async (given, which) => {
          await createRun(contexts[which]!, reference)((context) => pipeline(columnsOf(context, given)));
        }),
        {
          numRuns: costlyCaseCount(limits.length + Math.ceil(runs / 3), limits.length),
          examples: limits.map((_, which) => [{ rows: 15_000, seed: which }, which] satisfies [Input, number]),
        },
      );
    },
    SLOW,
  );

  test('was spilled and restored, in windows', async () => {
    for (const context of contexts) {
      // The pipelines that were tried before are random, and may have needed few windows. This one needs many.
      await createRun(context, reference)((on) => manyWindows(columnsOf(on, { rows: 15_000, seed: 1 })));
      const { backend } = context;
      const { spilledBytes, restoredBytes, windows } = backend.counters.spilling!;
      expect(Math.min(spilledBytes, restoredBytes)).toBeGreaterThan(10 * KIB);
      expect(windows).toBeGreaterThan(20);
      expect(backend.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
    }
  });
});

/** By default, a sixth of the pipelines is tried, because a software GPU needs seconds to compile each. */
const ofBindings = dealLaws(someOf(Object.entries(pipelines), 4), [1, 1]);

describe.each<[string, Partial<Limits>, number]>([
  ['in bindings of 16 KiB', { bindingBytes: 16 * KIB }, 0],
  ['in bindings of 16 KiB, with less memory than the data', { bindingBytes: 16 * KIB, memoryBytes: 200 * KIB }, 1],
])('columns on WebGPU %s', (_, limits, variant) => {
  let context: Context;
  const reference = new Context(createReferenceBackend());
  beforeAll(async () => {
    context = new Context(createSpillingBackend(await plainBackends.at(-1)!.open(limits)));
  }, SLOW);
  afterAll(async () => {
    for (const each of [context, reference]) await each.close();
  });
  test.each(ofBindings[variant]!)(
    '%s',
    async (_, pipeline) => {
      for (const rows of someOf([4096, 4097, 15_000], 2)) {
        await createRun(context, reference)((on) => pipeline(columnsOf(on, { rows, seed: rows })));
      }
    },
    SLOW,
  );
});
