import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { caseCount, THOROUGH } from '../../cases.ts';
import { slow } from '../../support/webgpu-support.ts';

const { fn, u32 } = q;
const memoryBytes = 64 * 1024;
const inverted = fn({ x: u32 }, u32, ({ x }) => x.not());

const open = (): Promise<Backend> =>
  createWorkersBackend({ workers: 2, inlineNanoseconds: 0, limits: { memoryBytes } });

/** The sum of `length` consecutive numbers that begin with `first`, modulo 2³². */
function sumFrom(first: number, length: number): number {
  let sum = 0;
  for (let i = 0; i < length; i++) sum = (sum + first + i) >>> 0;
  return sum;
}

/**
 * Spills a column to the host, and restores it into memory that running commands still use. Timing decides which
 * commands are still running, so several rounds are needed.
 */
async function roundTrips(context: Context, rows: number): Promise<void> {
  for (let round = 0; round < (THOROUGH ? 20 : 8); round++) {
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
  'columns restored while commands are running have the bytes that were spilled',
  () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 8200, max: 16000 }), async (rows) => {
        const context = new Context(createSpillingBackend(await open()));
        await roundTrips(context, rows);
        expect(context.backend.counters.spilling!.restoredBytes).toBeGreaterThan(0);
        await context.close();
      }),
      { numRuns: THOROUGH ? 5 : 3 },
    ),
  slow,
);

test(
  'a column that replaces one still in use needs no more than the available memory',
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
  'a column that cannot be restored stays on the host, and is restored later',
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
      { numRuns: caseCount(10) },
    ),
  slow,
);

test(
  'allocation waits for memory that a pending read still holds',
  async () => {
    // Memory does not have room for both the column that is being read and the new column.
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
  'a column takes memory by its rows, not by its capacity',
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

test(
  'walks take memory by the rows that they emit, not by their capacity',
  async () => {
    const inner = await open();
    const context = new Context(createSpillingBackend(inner));
    const rows = { n: context.column(Uint32Array.of(3, 1, 4, 0)) };
    const start = fn({ n: u32 }, { left: u32 }, ({ n }) => ({ left: n }));
    const countDown = fn(
      { n: u32, left: u32 },
      { more: q.bool, emits: q.bool, state: { left: u32 }, value: u32 },
      ({ n, left }) => ({
        more: left.gt(1),
        emits: left.gt(0),
        state: { left: left.sub(1) },
        value: n.mul(10).add(left),
      }),
    );
    const wide = { a: u32, b: u32, c: u32, d: u32, e: u32 } as const;
    const wideDown = fn(
      { n: u32, left: u32 },
      { more: q.bool, emits: q.bool, state: { left: u32 }, value: wide },
      ({ n, left }) => ({
        more: left.gt(1),
        emits: left.gt(0),
        state: { left: left.sub(1) },
        value: { a: n, b: left, c: n, d: left, e: n.mul(10).add(left) },
      }),
    );
    const started = performance.now();
    const made = q.unfold(rows, start, countDown, { capacity: 4e9 });
    const results = {
      made,
      wide: q.unfold(rows, start, wideDown, { capacity: 4e9 }).e,
      again: q.unfold(
        {
          n: q.map(
            fn({ x: u32 }, u32, ({ x }) => x.and(3)),
            { x: made },
          ),
        },
        start,
        countDown,
        { capacity: 4e9 },
      ),
      total: q.reduce(made, q.plus(u32)),
    };
    const found = await context.read(results);
    const numbers = [33, 32, 31, 11, 44, 43, 42, 41];
    expect(found.made).toEqual(Uint32Array.from(numbers));
    expect(found.wide).toEqual(found.made);
    expect(found.again).toEqual(
      Uint32Array.from(numbers.flatMap((x) => Array.from({ length: x & 3 }, (_, i) => 10 * (x & 3) + (x & 3) - i))),
    );
    expect(found.total).toEqual(Uint32Array.of(277));
    expect(performance.now() - started).toBeLessThan(10_000);
    await context.close();
  },
  slow,
);

/**
 * The start of a walk around a ring of elements. Each row walks `count` steps. Each step flips one bit of the element
 * that the walk visits.
 */
const ringStart = fn({ from: u32 }, { at: u32, left: u32 }, ({ from }) => ({ at: from, left: 0 }));
const ringStep = fn(
  { count: u32, by: u32, at: u32, left: u32, length: q.uniform(u32) },
  { more: q.bool, emits: q.bool, state: { at: u32, left: u32 }, value: { index: u32, value: u32 } },
  ({ count, by, at, left, length }) => ({
    more: left.add(1).lt(count),
    emits: left.lt(count),
    state: { at: at.add(by).rem(length), left: left.add(1) },
    value: { index: at, value: u32(1).shl(left) },
  }),
);

test(
  'walks that store to a column larger than the device match the reference',
  async () => {
    const length = memoryBytes / 2;
    const row = fc.record({ from: fc.nat(length - 1), count: fc.nat(40), by: fc.nat(length) });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 40 }), fc.infiniteStream(fc.nat()), async (rows, words) => {
        const own = Uint32Array.from({ length }, (_, i) => (i % 97 === 0 ? words.next().value : i));
        const found = [];
        for (const backend of [createSpillingBackend(await open()), createReferenceBackend()]) {
          const context = new Context(backend);
          const onto = context.column(own);
          const column = (of: (each: (typeof rows)[number]) => number) => context.column(Uint32Array.from(rows, of));
          const table = {
            from: column(({ from }) => from),
            count: column(({ count }) => count),
            by: column(({ by }) => by),
          };
          q.unfoldReduce(table, ringStart, ringStep, 'xor', onto, { captures: { length } });
          found.push(await context.read(onto));
          await context.close();
        }
        expect(found[0]).toEqual(found[1]);
      }),
      { numRuns: caseCount(10) },
    );
  },
  slow,
);

test('an endless walk on the host is reported as a hang, and the event loop keeps running', async () => {
  const context = new Context(createSpillingBackend(await open(), { hangLimit: 1000 }));
  let turns = 0;
  const timer = setInterval(() => turns++, 10);
  const start = fn({ n: u32 }, { at: u32 }, ({ n }) => ({ at: n }));
  const forever = fn(
    { at: u32 },
    { more: q.bool, emits: q.bool, state: { at: u32 }, value: { index: u32, value: u32 } },
    ({ at }) => ({ more: true, emits: true, state: { at: at.add(1) }, value: { index: at, value: 1 } }),
  );
  const onto = context.column(new Uint32Array(memoryBytes / 2));
  q.unfoldReduce({ n: context.column(Uint32Array.of(1)) }, start, forever, 'add', onto);
  await expect(context.read(onto)).rejects.toMatchObject({ code: 'device/hang' });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(3);
  await context.close();
}, 30_000);
