import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSpillingBackend } from '../backends/spilling/index.ts';
import { createWorkersBackend } from '../backends/workers/index.ts';
import type { Backend } from '../primitives/backend.ts';
import { Context } from '../primitives/context.ts';
import { OutOfMemoryError } from '../primitives/errors.ts';
import * as q from '../primitives/index.ts';
import { slow } from './webgpu-support.ts';

const { fn, u32 } = q;
const memoryBytes = 64 * 1024;
const inverted = fn({ x: u32 }, u32, ({ x }) => x.not());

const open = (): Promise<Backend> =>
  createWorkersBackend({ workers: 2, inlineNanoseconds: 0, limits: { memoryBytes } });

/** The sum of the numbers from `first` on, modulo 2³². */
function sumFrom(first: number, length: number): number {
  let sum = 0;
  for (let i = 0; i < length; i++) sum = (sum + first + i) >>> 0;
  return sum;
}

/**
 * A column goes to the host and comes back into memory that commands under way still use. Which those are is a matter of
 * time: every round gives them another chance.
 */
async function roundTrips(context: Context, rows: number): Promise<void> {
  for (let round = 0; round < 20; round++) {
    const a = context.column(Uint32Array.from({ length: rows }, (_, i) => i + round));
    const b = context.materialize(q.map(inverted, { x: q.sequence(rows) }));
    await context.sync();
    const c = q.reduce(b, q.bitXor(u32));
    context.dispose(b);
    expect(await context.read(q.reduce(a, q.plus(u32)))).toEqual(Uint32Array.of(sumFrom(round, rows)));
    context.dispose([a, c]);
  }
}

test(
  'what comes back while commands are under way is what left',
  () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 8200, max: 16000 }), async (rows) => {
        const context = new Context(createSpillingBackend(await open()));
        await roundTrips(context, rows);
        expect(context.backend.counters.spilling!.restoredBytes).toBeGreaterThan(0);
        await context.close();
      }),
      { numRuns: 5 },
    ),
  slow,
);

test(
  'a column that takes the place of one that is still used needs no more room than it has',
  async () => {
    const context = new Context(await open());
    for (let round = 0; round < 20; round++) {
      const before = context.column(new Uint32Array(10_000));
      const c = q.reduce(before, q.bitXor(u32));
      context.dispose(before);
      const after = context.column(Uint32Array.from({ length: 10_000 }, (_, i) => i));
      expect(await context.read(q.reduce(after, q.plus(u32)))).toEqual(Uint32Array.of(49_995_000));
      context.dispose([after, c]);
    }
    await context.close();
  },
  slow,
);

test(
  'what cannot come back stays on the host, and comes back later',
  () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 4 }), async (first, times) => {
        const inner = await open();
        let writes = 0;
        const failing: Backend = {
          ...inner,
          counters: inner.counters,
          write(buffer, word, data) {
            writes++;
            if (writes >= first && writes < first + times) throw new OutOfMemoryError('memory/test', 'No room now.');
            inner.write(buffer, word, data);
          },
        };
        const context = new Context(createSpillingBackend(failing));
        await roundTrips(context, 12_000);
        expect(context.backend.counters.liveBytes).toBeLessThan(memoryBytes);
        await context.close();
      }),
      { numRuns: 10 },
    ),
  slow,
);

test(
  'room that a read still holds is waited for',
  async () => {
    // What is read and what takes its place do not fit together.
    const inner = await createWorkersBackend({ workers: 2, limits: { memoryBytes: 2e6 } });
    const context = new Context(createSpillingBackend(inner));
    const rows = 350_000;
    const sorted = Uint32Array.from({ length: 75_000 }, (_, i) => 2 * i);
    for (let round = 0; round < 3; round++) {
      const a = context.column(Uint32Array.from({ length: rows }, (_, i) => i + round));
      const read = context.read(a);
      context.dispose(a);
      const [x, y] = [context.column(sorted), context.column(sorted)];
      const merged = q.merge(x, y);
      context.dispose(x, y);
      const half = (await context.read(merged)).filter((_, i) => i % 2 === 1);
      expect(half).toEqual(sorted);
      const found = await read;
      expect([found.length, found[0], found.at(-1)]).toEqual([rows, round, rows - 1 + round]);
      context.dispose(merged);
    }
    expect(context.backend.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
    expect(inner.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
    await context.close();
  },
  slow,
);

test(
  'a column costs what its rows cost, however many it has room for',
  async () => {
    const context = new Context(createSpillingBackend(await open()));
    const rows = { x: context.column(Uint32Array.of(3, 1, 2)) };
    const ranked = fn({ x: u32, rank: u32 }, u32, ({ x, rank }) => x.mul(10).add(rank));
    const tens = fn({ x: u32 }, u32, ({ x }) => x.div(10));
    const odd = fn({ x: u32 }, q.bool, ({ x }) => x.and(1).eq(1));
    const halves = fn({ x: u32 }, q.f32, ({ x }) => q.f32(x).mul(0.5));
    const started = performance.now();
    const made = q.expand(rows, rows.x, ranked, { capacity: 4e9 });
    const key = q.map(tens, { x: made });
    const results = {
      made,
      stored: context.materialize(q.map(inverted, { x: q.map(inverted, { x: made }) })),
      backwards: q.sort(made, { descending: true }),
      pairs: q.sortByKey(q.map(inverted, { x: made }), made),
      sums: q.inclusiveScan(made, q.plus(u32)),
      floats: q.inclusiveScan(q.map(halves, { x: made }), q.plus(q.f32)),
      byKey: q.reduceByKey(key, made, q.plus(u32)),
      floatsByKey: q.reduceByKey(key, q.map(halves, { x: made }), q.plus(q.f32)),
      odd: q.copyIf(made, odd),
      unique: q.uniqueByKey(key, made),
      gathered: q.gather(made, q.reverse(q.sequence(made.length))),
      total: q.reduce(made, q.plus(u32)),
      counts: q.histogram(key, 5),
      again: q.expand({ x: made }, q.map(tens, { x: made }), ranked, { capacity: 4e9 }),
      third: q.selectKth(made, 2),
    };
    const found = await context.read(results);
    expect(performance.now() - started).toBeLessThan(10_000);
    const numbers = [30, 31, 32, 10, 20, 21];
    expect(found.made).toEqual(Uint32Array.from(numbers));
    expect(found.stored).toEqual(found.made);
    expect(found.backwards).toEqual(found.made.toSorted().reverse());
    expect(found.sums).toEqual(Uint32Array.of(30, 61, 93, 103, 123, 144));
    expect(found.floats).toEqual(Float32Array.of(15, 30.5, 46.5, 51.5, 61.5, 72));
    expect(found.byKey).toMatchObject({ keys: Uint32Array.of(3, 1, 2), values: Uint32Array.of(93, 10, 41) });
    expect(found.floatsByKey).toMatchObject({ values: Float32Array.of(46.5, 5, 20.5) });
    expect(found.odd).toEqual(Uint32Array.of(31, 21));
    expect(found.gathered).toEqual(found.made.toReversed());
    expect(found.total).toEqual(Uint32Array.of(144));
    expect(found.counts).toEqual(Uint32Array.of(0, 1, 2, 3, 0));
    expect(found.again).toEqual(
      Uint32Array.from(numbers.flatMap((x) => Array.from({ length: Math.floor(x / 10) }, (_, rank) => 10 * x + rank))),
    );
    expect(found.third).toEqual(Uint32Array.of(21));
    await context.close();
  },
  slow,
);
