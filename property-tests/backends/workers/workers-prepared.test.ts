import type { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFailoverBackend } from '../../../backends/failover/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createWorkersBackend, type WorkersOptions } from '../../../backends/workers/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { costlyCaseCount, someOf, THOROUGH } from '../../cases.ts';
import { interrupted } from '../../support/faulty-backend.ts';

const { bool, fn, input, u32, uniform } = q;

type Words = q.Column<'u32'>;

const plusBy = fn({ x: u32, by: uniform(u32) }, u32, ({ x, by }) => x.mul(2654435761).add(by));
const isOdd = fn({ x: u32 }, bool, ({ x }) => x.and(1).ne(0));
const isOver = fn({ x: u32, end: uniform(u32) }, bool, ({ x, end }) => x.ge(end));
const plusOne = fn({ x: u32 }, u32, ({ x }) => x.add(1));
const forever = fn({ x: u32 }, u32, ({ x }) => {
  const sum = q.Var(x);
  q.While(
    () => sum.ge(0),
    () => sum.set(sum.add(1)),
  );
  return sum;
});

const ROWS = 500;
const data = new Uint32Array(ROWS).map((_, i) => Math.imul(i, 40503));

const ways: readonly (readonly [string, WorkersOptions])[] = [
  ['on the calling thread', { workers: 2, inlineNanoseconds: 1e9 }],
  ['on the workers', { workers: 2, inlineNanoseconds: 0 }],
  ['on both', { workers: 2, inlineNanoseconds: 1500 }],
  ['tile by tile', { workers: 2, inlineNanoseconds: 0, fusedRows: 64 }],
];

/**
 * A pipeline with commands of every kind that a tape (a recorded list of commands) can hold. Some have a length that
 * only the device knows.
 */
function pipeline(x: Words, by: number): Words {
  const changed = q.map(plusBy, { x, by });
  const chosen = q.copyIf(changed, q.map(isOdd, { x: changed }));
  return q.inclusiveScan(q.sort(chosen), q.plus(u32));
}

function prepare(context: Context) {
  return context.prepare({ x: input(u32, ROWS), by: uniform(u32) }, ({ x, by }) => pipeline(x, by));
}

/** The expected results of calls with slices of the data, for each value of `by`. All backends share these results. */
const expectedResults = new Map<number, Promise<unknown>>();
const reference = new Context(createReferenceBackend());
const start = reference.column(data);

function expectedOf(by: number): Promise<unknown> {
  const known = expectedResults.get(by) ?? reference.read(pipeline(q.slice(start, by % 90, ROWS - by), by));
  expectedResults.set(by, known);
  return known;
}

/** Memory limits in bytes, between a limit that is too small (8000) and a limit that is large enough (72,000). */
const MIDDLE_LIMITS = [16_000, 24_000, 32_000, 40_000, 48_000, 56_000, 64_000];

describe.each(someOf(ways, 2))('a prepared pipeline that runs %s', (_, options) => {
  test('allocates nothing in thousands of calls', async () => {
    const context = new Context(await createWorkersBackend(options));
    const prepared = prepare(context);
    const x = context.column(data);
    const calls = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        context.dispose(prepared({ x, by: i }));
        if (i % 50 === 0) await context.sync();
      }
      await context.sync();
    };
    await calls(200);
    const { compilations, allocations, liveBytes, liveBuffers } = context.backend.counters;
    await calls(THOROUGH ? 10_000 : 3000);
    expect(context.backend.counters).toMatchObject({ compilations, allocations, liveBytes, liveBuffers });
    await context.close();
  }, 120_000);

  test('keeps the arguments of each call when calls outnumber the places of the queue', async () => {
    const context = new Context(await createWorkersBackend(options));
    const prepared = prepare(context);
    const x = context.column(data);
    const made = Array.from({ length: 400 }, (_each, by) => prepared({ x: q.slice(x, by % 90, ROWS - by), by }));
    for (const [by, result] of made.entries()) expect(await context.read(result)).toEqual(await expectedOf(by));
    await context.close();
  }, 120_000);

  test('gives the same bytes or reports too little memory, for any limit', async () => {
    const expected = await reference.read(pipeline(start, 7));
    const outcomes = new Set<string>();
    for (const memoryBytes of [8000, ...someOf(MIDDLE_LIMITS, 1), 72_000]) {
      const context = new Context(await createWorkersBackend({ ...options, limits: { memoryBytes } }));
      try {
        const result = prepare(context)({ x: context.column(data), by: 7 });
        expect(await context.read(result)).toEqual(expected);
        outcomes.add('right');
      } catch (error) {
        expect(error).toMatchObject({ code: 'memory/limit' });
        outcomes.add('too little');
      }
      await context.close();
      expect(context.backend.counters).toMatchObject({ liveBytes: 0, liveBuffers: 0 });
    }
    expect([...outcomes].sort()).toEqual(['right', 'too little']);
  }, 120_000);

  test('ends at an abort: pending reads and later calls reject with its reason', async () => {
    const context = new Context(await createWorkersBackend(options));
    const prepared = prepare(context);
    const x = context.column(data);
    const reads = Array.from({ length: 60 }, (_each, by) => context.read(prepared({ x, by })));
    const ended = Promise.allSettled(reads);
    const reason = new Error('enough');
    context.backend.abort(reason);
    for (const read of await ended) {
      if (read.status === 'rejected') expect(read.reason).toBe(reason);
    }
    expect(() => prepared({ x, by: 0 })).toThrow(reason);
    await context.close();
    expect(context.backend.counters).toMatchObject({ liveBytes: 0, liveBuffers: 0 });
  }, 60_000);

  test('and a loop over it continue when a worker is killed before any of their calls', async () => {
    let lost = 0;
    const property = fc.asyncProperty(fc.integer({ min: 1, max: 60 }), fc.nat(1), async (at, which) => {
      const threads: Worker[] = [];
      const add = (thread: Worker): void => void threads.push(thread);
      process.on('worker', add);
      const workers = await createWorkersBackend(options);
      process.off('worker', add);
      let end: Promise<unknown> | undefined;
      const backend = createFailoverBackend(
        interrupted(workers, at, () => {
          end = threads[which]!.terminate();
        }),
        { standby: () => createWorkersBackend(options) },
      );
      expect(await runAll(backend)).toEqual(await undisturbed());
      await end;
      lost += backend.failovers.length;
    });
    await fc.assert(property, {
      numRuns: costlyCaseCount(8, 2),
      examples: [
        [5, 0],
        [5, 1],
      ],
    });
    if (options.inlineNanoseconds === 0) expect(lost).toBeGreaterThan(0);
  }, 240_000);

  test('checks the end of a loop once per batch, and stops at the right round', async () => {
    const context = new Context(await createWorkersBackend(options));
    const step = stepOf(context);
    const x = context.column(new Uint32Array(ROWS));
    const { counters } = context.backend;
    const before = counters.readbacks;
    const { result, rounds } = await context.iterate(step, { x, end: 99 }, { maxRounds: 1000, batch: 40 });
    expect(rounds).toBe(99);
    expect(await context.read(result.x)).toEqual(new Uint32Array(ROWS).fill(99));
    expect(counters.readbacks - before).toBeLessThanOrEqual(6);
    await context.close();
  }, 60_000);
});

function stepOf(context: Context) {
  return context.prepare({ x: input(u32, ROWS), end: uniform(u32) }, (given) => {
    const x = context.materialize(q.map(plusOne, { x: given.x }));
    return { x, done: q.all(x, q.map(isOver, { x, end: given.end })) };
  });
}

let undisturbedRun: Promise<unknown> | undefined;

function undisturbed(): Promise<unknown> {
  undisturbedRun ??= runAll(createReferenceBackend());
  return undisturbedRun;
}

async function runAll(backend: Backend): Promise<unknown> {
  const context = new Context(backend);
  const prepared = prepare(context);
  const x = context.column(data);
  const results: unknown[] = [];
  for (let by = 0; by < 4; by++) results.push(await context.read(prepared({ x, by })));
  const { result, rounds } = await context.iterate(stepOf(context), { x, end: 2 ** 31 }, { maxRounds: 20, batch: 6 });
  results.push(rounds, await context.read(result.x));
  await context.close();
  return results;
}

test('a prepared pipeline whose functor never ends is stopped after the hang limit', async () => {
  const context = new Context(await createWorkersBackend({ workers: 2, hangLimit: 300 }));
  const prepared = context.prepare({ x: input(u32, ROWS) }, ({ x }) => context.materialize(q.map(forever, { x })));
  const result = prepared({ x: context.column(data) });
  await expect(context.read(result)).rejects.toMatchObject({ code: 'device/hang' });
  expect(() => prepared({ x: context.column(data) })).toThrow(expect.objectContaining({ code: 'device/hang' }));
  await context.close();
}, 60_000);
