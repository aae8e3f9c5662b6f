import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFailoverBackend } from '../../../backends/failover/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { dealtBackends, mortalBackend, plainBackends } from '../../backends.ts';
import { caseCount, costlyCaseCount, someOf, THOROUGH } from '../../cases.ts';
import { lostBefore } from '../../support/faulty-backend.ts';
import { repeatLosses } from '../../support/mortal-backend.ts';
import { lookingBack, openTestBackend } from '../../support/webgpu-support.ts';

const { bool, fn, input, u32, uniform } = q;

type Words = q.Column<'u32'>;

const shifted = fn({ x: u32, by: u32 }, u32, ({ x, by }) => x.shr(1).add(by.and(1)));
const isSmall = fn({ x: u32, min: uniform(u32) }, bool, ({ x, min }) => x.le(min));
const down = fn({ x: u32, by: uniform(u32) }, u32, ({ x, by }) => x.sub(by.min(x)));
const isLeft = fn({ x: u32 }, bool, ({ x }) => x.gt(0));
const isOver = fn({ rows: u32 }, bool, ({ rows }) => rows.eq(0));
const both = fn({ x: u32 }, u32, ({ x }) => x.and(0).add(2));
const plusRank = fn({ x: u32, rank: u32 }, u32, ({ x, rank }) => x.mul(2).add(rank));
const isOdd = fn({ x: u32 }, u32, ({ x }) => x.and(1));
const one = fn({ x: u32 }, u32, () => 1);

/**
 * Variants of WebGPU backends. By default, the tests run on one variant, because a software GPU takes seconds to
 * compile the kernels of each variant.
 */
const webgpus = [
  ...plainBackends.filter(({ name }) => name.startsWith('webgpu')),
  {
    name: 'webgpu with look-back scans',
    runs: costlyCaseCount(8),
    open: () => openTestBackend({ tuning: lookingBack({}) }),
  },
  {
    name: 'webgpu with 4 bindings',
    runs: costlyCaseCount(4),
    open: () => openTestBackend({ limits: { storageBuffers: 4 } }),
  },
];
const opened: readonly { readonly name: string; readonly runs: number; open(): Promise<Backend> }[] = [
  ...dealtBackends().filter(({ name }) => !name.startsWith('webgpu')),
  ...someOf(webgpus, 1),
  {
    name: 'workers without inline commands',
    runs: costlyCaseCount(10),
    open: () => createWorkersBackend({ workers: 2, inlineNanoseconds: 0 }),
  },
  {
    name: 'workers with some inline commands and fusion',
    runs: costlyCaseCount(10),
    open: () => createWorkersBackend({ workers: 2, inlineNanoseconds: 300, fusedRows: 16 }),
  },
  {
    name: 'spilling over workers',
    runs: costlyCaseCount(10),
    open: async () => createSpillingBackend(await createWorkersBackend({ workers: 1 })),
  },
  {
    name: 'spilling',
    runs: caseCount(20),
    open: async () => createSpillingBackend(createReferenceBackend({ limits: { memoryBytes: 40_000 } })),
  },
  {
    name: 'failover',
    runs: costlyCaseCount(10),
    open: async () =>
      createFailoverBackend(createReferenceBackend(), { standby: async () => createReferenceBackend() }),
  },
];

const rows = fc.uint32Array({ minLength: 0, maxLength: 300, max: 2 ** 20 });
const rounds = fc.record({ maxRounds: fc.integer({ min: 1, max: 40 }), batch: fc.constantFrom(1, 2, 3, 7, 64) });

describe.each(opened)('on $name, iterate', ({ name, open, runs }) => {
  if (name === mortalBackend.name) repeatLosses();
  let context: Context;
  beforeAll(async () => {
    context = new Context(await open());
  }, 120_000);
  afterAll(() => context.close());

  test('uploads columns of host data in every round', async () => {
    const step = context.prepare({ x: input(u32, 10) }, ({ x }) => {
      const table = context.column(Uint32Array.of(7, 9));
      return { x: q.gather(table, q.map(isOdd, { x })), table };
    });
    const { result } = await context.iterate(step, { x: context.column(Uint32Array.of(4, 1, 2)) }, { maxRounds: 3 });
    const called = step({ x: context.column(Uint32Array.of(3, 2)) });
    const read = await context.read({ looped: result.x, called: called.x, table: called.table });
    expect(read).toEqual({
      looped: Uint32Array.of(9, 9, 9),
      called: Uint32Array.of(9, 7),
      table: Uint32Array.of(7, 9),
    });
    context.dispose(result, called);
    step.dispose();
  });

  test('equals a plain loop up to the round at which its rule holds, for any batch', async () => {
    const step = context.prepare(
      { x: input(u32, 300), by: input(u32, 300), min: uniform(u32) },
      ({ x: before, by, min }) => {
        const x = context.materialize(
          q.map(shifted, {
            x: q.gather(before, q.map(down, { x: q.sequence(before.length), by: 0 })),
            by: q.gather(by, q.sequence(before.length)),
          }),
        );
        return { x, done: q.all(x, q.map(isSmall, { x, min })) };
      },
    );
    const property = fc.asyncProperty(rows, fc.nat(300), rounds, async (data, min, { maxRounds, batch }) => {
      const by = data.map((word) => word >>> 3);
      const args = { x: context.column(data), by: context.column(by), min };
      const { result, rounds: done } = await context.iterate(step, args, { maxRounds, batch });
      let expected = data;
      let count = 0;
      do {
        expected = expected.map((word, i) => (word >>> 1) + (by[i]! & 1));
        count++;
      } while (count < maxRounds && !expected.every((word) => word <= min));
      expect(done).toBe(count);
      expect(await context.read(result.x)).toEqual(expected);
      expect(await context.read(result.done)).toEqual(Uint8Array.of(Number(expected.every((word) => word <= min))));
      context.dispose(result, args.x, args.by);
    });
    await fc.assert(property, { numRuns: runs });
    step.dispose();
  }, 240_000);

  test('handles lengths that change from round to round', async () => {
    const step = context.prepare({ x: input(u32, 300), by: uniform(u32) }, ({ x: before, by }) => {
      const lower = context.materialize(q.map(down, { x: before, by }));
      const x = q.copyIf(lower, q.map(isLeft, { x: lower }));
      const left = q.reduce(q.map(one, { x }), q.plus(u32));
      return { x, done: context.materialize(q.map(isOver, { rows: left })) };
    });
    const property = fc.asyncProperty(fc.uint32Array({ maxLength: 200, max: 90 }), rounds, async (data, how) => {
      const x = context.column(data);
      const { result, rounds: done } = await context.iterate(step, { x, by: 3 }, how);
      let expected = data;
      let count = 0;
      do {
        expected = expected.map((word) => Math.max(0, word - 3)).filter((word) => word > 0);
        count++;
      } while (count < how.maxRounds && expected.length > 0);
      expect(done).toBe(count);
      expect(await context.read(result.x)).toEqual(expected);
      context.dispose(result, x);
    });
    await fc.assert(property, { numRuns: runs });
    step.dispose();
  }, 240_000);

  test('handles lengths that shrink on the host, and sorts in every round', async () => {
    const step = context.prepare({ x: input(u32, 300) }, ({ x }) => ({ x: q.sort(q.slice(x, 1)) }));
    const data = new Uint32Array(300).map((_, i) => Math.imul(i, 2654435761));
    const shrinking = THOROUGH ? 120 : 60;
    const { result, rounds: done } = await context.iterate(
      step,
      { x: context.column(data) },
      { maxRounds: shrinking, batch: 50 },
    );
    // The first round drops the first row of unsorted data; each later round drops the smallest row.
    expect(done).toBe(shrinking);
    expect(await context.read(result.x)).toEqual(
      data
        .slice(1)
        .sort()
        .slice(shrinking - 1),
    );
    context.dispose(result);
    step.dispose();
  }, 120_000);

  test('reports the round in which a capacity was exceeded', async () => {
    const step = context.prepare({ x: input(u32, 100) }, ({ x }) => ({
      x: q.expand({ x }, q.map(both, { x }), plusRank, { capacity: 100 }),
    }));
    const x = context.column(Uint32Array.of(1));
    for (const batch of [1, 3, 64]) {
      const { result } = await context.iterate(step, { x }, { maxRounds: 6, batch });
      expect((await context.read(result.x)).length).toBe(64);
      await expect(context.iterate(step, { x }, { maxRounds: 20, batch })).rejects.toMatchObject({
        code: 'capacity/outgrown',
        got: 128,
        message: expect.stringContaining('round 7'),
      });
      context.dispose(result);
    }
    step.dispose();
  }, 120_000);

  test('continues when its step is disposed of meanwhile, and frees it afterwards', async () => {
    const { counters } = context.backend;
    const before = [counters.liveBuffers, counters.liveBytes];
    const table = context.column(Uint32Array.of(1, 2, 3));
    const x = context.column(Uint32Array.of(300, 200, 100));
    const step = context.prepare({ x: input(u32, 3) }, ({ x: last }) => {
      const x = context.materialize(q.map(shifted, { x: last, by: q.gather(table, q.sequence(last.length)) }));
      return { x, done: q.all(x, q.map(isSmall, { x, min: 5 })) };
    });
    const loop = context.iterate(step, { x }, { maxRounds: 50, batch: 4 });
    step.dispose();
    context.dispose(table);
    const { result, rounds: done } = await loop;
    const [rows, length] = [await context.read(result.x), done];
    context.dispose(result, x);
    expect({ rows, length }).toEqual({ rows: Uint32Array.of(4, 1, 2), length: 7 });
    await context.sync();
    expect([counters.liveBuffers, counters.liveBytes]).toEqual(before);
  }, 120_000);

  test('returns results whose device counts outlive the tables they came from', async () => {
    await context.sync();
    const { counters } = context.backend;
    const before = [counters.liveBuffers, counters.liveBytes];
    const all = context.column(Uint32Array.of(9, 0, 7, 4));
    const step = context.prepare({ x: input(u32, 4), y: input(u32, 4) }, ({ x, y }) => ({
      x: q.copyIf(x, q.map(isLeft, { x })),
      y: q.sort(y),
      was: q.sort(x),
    }));
    for (let max = 1; max < 5; max++) {
      const y = q.copyIf(all, q.map(isLeft, { x: all }));
      const loop = context.iterate(step, { x: all, y }, { maxRounds: max });
      context.dispose(y);
      const { result } = await loop;
      const kept = Uint32Array.of(9, 7, 4);
      const was = max === 1 ? Uint32Array.of(0, 4, 7, 9) : kept.slice().sort();
      expect(await context.read(result)).toEqual({ x: kept, y: kept.slice().sort(), was });
      context.dispose(result);
    }
    step.dispose();
    context.dispose(all);
    await context.sync();
    expect([counters.liveBuffers, counters.liveBytes]).toEqual(before);
  });

  test('reports rows that were lost in captured columns', async () => {
    const x = context.column(Uint32Array.of(1, 2, 3));
    const lost = q.expand({ x }, q.map(both, { x }), plusRank, { capacity: 5 });
    const step = context.prepare({ x: input(u32, 3) }, ({ x: last }) => ({
      x: context.materialize(q.map(shifted, { x: last, by: q.gather(lost, q.sequence(last.length)) })),
    }));
    const { result } = await context.iterate(step, { x }, { maxRounds: 3 });
    await expect(context.read(result.x)).rejects.toMatchObject({ code: 'capacity/outgrown', got: 6 });
    context.dispose(result, lost, x);
    step.dispose();
  });

  test('has freed all memory at the moment it fails', async () => {
    const { counters } = context.backend;
    const x = context.column(new Uint32Array(300).fill(2 ** 31));
    const step = context.prepare({ x: input(u32, 300) }, ({ x: last }) => {
      const x = context.materialize(q.map(down, { x: last, by: 1 }));
      return { x, done: q.all(x, q.map(isSmall, { x, min: 5 })) };
    });
    for (let at = 1; at <= 12; at++) {
      await context.sync();
      const before = [counters.liveBuffers, counters.liveBytes];
      const onProgress = (rounds: number): void => {
        if (rounds >= at) throw new Error('enough');
      };
      await expect(context.iterate(step, { x }, { maxRounds: 100, batch: 2, onProgress })).rejects.toThrow('enough');
      // What remains is the two sets of results that the first loop allocated for the prepared step.
      expect([counters.liveBuffers, counters.liveBytes]).toEqual(before);
    }
    context.dispose(x);
    step.dispose();
  }, 120_000);

  test('reports progress, ends at an abort, and leaks nothing', async () => {
    const { counters } = context.backend;
    const step = context.prepare({ x: input(u32, 100) }, ({ x }) => ({ x: q.inclusiveScan(x, q.plus(u32)) }));
    const x = context.column(new Uint32Array(100).fill(1));
    const before = [counters.liveBuffers, counters.liveBytes];
    const reported: number[] = [];
    const options = { maxRounds: 100, batch: 30, onProgress: (count: number) => void reported.push(count) };
    const { result } = await context.iterate(step, { x }, options);
    expect(reported.at(-1)).toBe(100);
    context.dispose(result);
    const controller = new AbortController();
    const onProgress = (): void => controller.abort(new Error('enough'));
    const ended = context.iterate(step, { x }, { maxRounds: 10_000, batch: 5, signal: controller.signal, onProgress });
    await expect(ended).rejects.toThrow('enough');
    await context.sync();
    expect([counters.liveBuffers, counters.liveBytes]).toEqual(before);
    step.dispose();
    context.dispose(x);
  }, 120_000);
});

test('a loop continues when the device is lost at any of its calls', async () => {
  const expected = await runLoop(createReferenceBackend());
  for (let at = 1; at < 120; at += THOROUGH ? 3 : 9) {
    const backend = createFailoverBackend(lostBefore(createReferenceBackend(), at), {
      standby: async () => createReferenceBackend(),
    });
    expect(await runLoop(backend)).toEqual(expected);
  }
});

async function runLoop(backend: Backend): Promise<unknown> {
  const context = new Context(backend);
  const step = context.prepare({ x: input(u32, 20) }, ({ x: before }) => {
    const x = q.sort(q.map(down, { x: before, by: 2 }));
    return { x, done: q.all(x, q.map(isSmall, { x, min: 3 })) };
  });
  const { result, rounds: done } = await context.iterate(
    step,
    { x: context.column(Uint32Array.of(9, 2, 17)) },
    { maxRounds: 50 },
  );
  const x: unknown = await context.read(result.x);
  await context.close();
  return { x, done };
}

test('a state whose columns would share a row count with a table of the previous round is refused', async () => {
  await using context = new Context(createReferenceBackend());
  const x = context.column(Uint32Array.of(9, 0, 7, 4));
  const step = context.prepare({ x: input(u32, 4), y: input(u32, 4) }, ({ x }) => ({
    x: q.copyIf(x, q.map(isLeft, { x })),
    y: q.sort(x),
  }));
  await expect(context.iterate(step, { x, y: x }, { maxRounds: 3 })).rejects.toMatchObject({ code: 'iterate/state' });
});

describe('iterate refuses', () => {
  const context = new Context(createReferenceBackend());
  const x: Words = context.column(Uint32Array.of(1));
  const declared = { x: input(u32, 4) };
  const good = context.prepare(declared, (given) => ({ x: q.sort(given.x) }));
  const once = { maxRounds: 1 };
  const of = <R extends q.Table>(pipeline: (given: { readonly x: Words }) => R) => {
    const step = context.prepare(declared, pipeline);
    return () => context.iterate(step, { x }, once);
  };
  const wrongSteps: readonly (readonly [string, () => Promise<unknown>, string])[] = [
    ['a step that returns no state', of((given) => ({ y: q.sort(given.x) })), 'iterate/state'],
    ['a step that returns a column', of((given) => q.sort(given.x)), 'iterate/state'],
    ['a step that returns its inputs', of((given) => ({ x: given.x })), 'iterate/state'],
    ['a step that returns more rows', of((given) => ({ x: q.concatenate([given.x, given.x]) })), 'iterate/state'],
    ['a done of several rows', of((given) => ({ x: q.sort(given.x), done: q.map(isLeft, given) })), 'iterate/done'],
  ];
  test.each<readonly [string, () => Promise<unknown>, string]>([
    ...wrongSteps,
    ['no step', () => context.iterate(((args: never) => args) as never, { x } as never, once), 'argument/type'],
    ['no maxRounds', () => context.iterate(good, { x }, {} as never), 'argument/type'],
    ['maxRounds of 0', () => context.iterate(good, { x }, { maxRounds: 0 }), 'argument/type'],
    ['wrong arguments', () => context.iterate(good, {} as never, once), 'prepare/argument'],
  ])('%s', async (_, run, code) => {
    await expect(run()).rejects.toMatchObject({ code });
  });
});

describe.each([
  { name: 'reference', open: async (): Promise<Backend> => createReferenceBackend() },
  { name: 'workers', open: (): Promise<Backend> => createWorkersBackend({ workers: 2 }) },
])('on $name', ({ open }) => {
  test('a loop of short rounds lets timers run: one of them aborts it', async () => {
    const context = new Context(await open());
    try {
      const step = context.prepare({ x: input(u32, 10) }, ({ x }) => ({ x: q.map(both, { x }) }));
      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error('enough')), 20);
      const loop = context.iterate(
        step,
        { x: context.column(Uint32Array.of(1)) },
        { maxRounds: 2 ** 32 - 1, signal: controller.signal },
      );
      await expect(loop).rejects.toThrow('enough');
    } finally {
      await context.close();
    }
  });
});

test('on WebGPU the host checks once per batch, and issues rounds past the last one ahead', async () => {
  const context = new Context(await openTestBackend({}));
  const step = context.prepare({ x: input(u32, 100) }, ({ x: before }) => {
    const x = context.materialize(q.map(down, { x: before, by: 1 }));
    return { x, done: q.all(x, q.map(isSmall, { x, min: 0 })) };
  });
  const x = context.column(new Uint32Array(100).map((_, i) => i));
  const before = context.backend.counters.readbacks;
  const { rounds: done } = await context.iterate(step, { x }, { maxRounds: 1000, batch: 40 });
  expect(done).toBe(99);
  expect(context.backend.counters.readbacks - before).toBeLessThanOrEqual(5);
  await context.close();
});
