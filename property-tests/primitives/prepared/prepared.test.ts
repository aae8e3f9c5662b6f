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
import { lookUp, low, plusBy } from './prepared-functors.ts';

const { bool, fn, input, u32, uniform } = q;

type Words = q.Column<'u32'>;
type Uniforms = { readonly by: number; readonly min: number };

const isAtLeast = fn({ x: u32, min: uniform(u32) }, bool, ({ x, min }) => x.ge(min));
const mixed = fn({ x: u32, y: u32 }, u32, ({ x, y }) => x.xor(y.shl(1)));
const sixteenth = fn({ i: u32 }, u32, ({ i }) => i.shr(4));
const few = fn({ x: u32 }, u32, ({ x }) => x.and(3));
const plusRank = fn({ x: u32, rank: u32 }, u32, ({ x, rank }) => x.add(rank));

/** Data that some steps upload while their pipeline is being prepared. */
const UPLOADED = Uint32Array.of(10, 20, 30, 40, 50, 60, 70, 80);

/** Steps that derive a column in a pipeline. No step depends on the capacity of its inputs. */
const steps: Readonly<Record<string, (x: Words, other: Words, uniforms: Uniforms, context: Context) => Words>> = {
  view: (x, _, { by }) => q.map(plusBy, { x, by }),
  sort: (x) => q.sort(x),
  rank: (x) => q.sortPermutation(x),
  scan: (x) => q.exclusiveScan(x, q.plus(u32)),
  reduce: (x) => q.reduce(x, q.plus(u32)),
  choose: (x, _, { min }) => q.copyIf(x, q.map(isAtLeast, { x, min })),
  runs: (x) => q.reduceByKey(q.map(sixteenth, { i: q.sequence(x.length) }), x, q.plus(u32)).values,
  unique: (x) => q.unique(q.sort(x)),
  histogram: (x) => q.histogram(q.map(low, { x }), 16),
  captured: (x, table) => q.map(lookUp, { x, table }),
  gathered: (x, at) => q.gather(x, q.map(low, { x: at })),
  joined: (x, other) => q.concatenate([x, other]),
  places: (x) => q.map(mixed, { x: q.sequence(x.length), y: x }),
  reversed: (x) => q.reverse(x),
  part: (x) => q.slice(x, 1, 9),
  min: (x) => q.minElement(x).value,
  uploaded: (x, _, __, context) => q.map(lookUp, { x, table: context.column(UPLOADED) }),
  scoped: (x, other, __, context) =>
    context.scope(() => q.map(lookUp, { x: q.sort(x), table: q.concatenate([context.column(UPLOADED), other]) })),
  counted: (x, _, __, context) =>
    context.scope(() => {
      const counts = q.fill(context, u32, 0, 16);
      q.scatterReduce(q.constant(u32, 1, x.length), q.map(low, { x }), 'add', counts);
      return counts;
    }),
  named: (x, _, __, context) =>
    q.map(mixed, { x: q.reduce(q.sequence(5), q.plus(u32), { context }), y: q.reduce(x, q.plus(u32)) }),
};

type Step = { readonly how: string; readonly of: number; readonly and: number };
const step: fc.Arbitrary<Step> = fc.record({
  how: fc.constantFrom(...Object.keys(steps)),
  of: fc.nat(7),
  and: fc.nat(7),
});

/** A pipeline that runs steps and returns the last three columns. */
function pipelineOf(
  context: Context,
  list: readonly Step[],
): (x: Words, y: Words, uniforms: Uniforms) => Record<string, Words> {
  return (x, y, uniforms) => {
    const columns: Words[] = [x, y];
    for (const { how, of, and } of list) {
      columns.push(steps[how]!(columns[of % columns.length]!, columns[and % columns.length]!, uniforms, context));
    }
    return Object.fromEntries(columns.slice(-3).map((column, i) => [`c${i}`, column]));
  };
}

/** The arguments of a call. `how` is the form in which the call receives the rows `x` and `y`. */
interface Call extends Uniforms {
  readonly x: Uint32Array;
  readonly y: Uint32Array;
  readonly how: 'stored' | 'slice' | 'view' | 'device count';
}

const CAPACITY = 1100;
const rows = fc.oneof(
  fc.uint32Array({ maxLength: 20 }),
  fc
    .tuple(fc.constantFrom(0, 1, 31, 255, 256, 257, 512, 1024, CAPACITY - 1, CAPACITY), fc.integer())
    .map(([length, seed]) => new Uint32Array(length).map((_, i) => Math.imul(i + 1, seed | 1) >>> 3)),
);
const call: fc.Arbitrary<Call> = fc.record({
  x: rows,
  y: rows,
  by: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  min: fc.constantFrom(0, 1, 2 ** 16, 2 ** 31, 2 ** 32 - 1),
  how: fc.constantFrom('stored' as const, 'slice' as const, 'view' as const, 'device count' as const),
});

const isInside = fn({ at: u32, length: uniform(u32) }, bool, ({ at, length }) => at.lt(length));

function present(context: Context, data: Uint32Array, how: Call['how']): Words {
  if (how === 'stored') return context.column(data);
  if (how === 'view') return q.reverse(context.column(data.slice().reverse()));
  const padded = new Uint32Array(data.length + 7).fill(99);
  padded.set(data, how === 'slice' ? 3 : 0);
  const column = context.column(padded);
  if (how === 'slice') return q.slice(column, 3, 3 + data.length);
  return q.copyIf(column, q.map(isInside, { at: q.sequence(padded.length), length: data.length }));
}

async function comparePipeline(context: Context, list: readonly Step[], calls: readonly Call[]): Promise<void> {
  const pipeline = pipelineOf(context, list);
  const prepare = () =>
    context.prepare(
      { x: input(u32, CAPACITY), y: input(u32, CAPACITY + 7), by: uniform(u32), min: uniform(u32) },
      ({ x, y, by, min }) => pipeline(x, y, { by, min }),
    );
  // The second pipeline has the same structure as the first, so it is found in a cache.
  const twice = [prepare(), prepare()];
  const expected = calls.map(({ x, y, how, by, min }) =>
    context.scope(() => context.materialize(pipeline(present(context, x, how), present(context, y, how), { by, min }))),
  );
  // All calls are issued before the first result is read.
  const made = calls.map(({ x, y, how, by, min }, i) =>
    context.scope(() => twice[i % 2]!({ x: capped(context, x, how), y: present(context, y, how), by, min })),
  );
  for (const [i, result] of made.entries()) {
    expect(await context.read(result)).toEqual(await context.read(expected[i]!));
  }
  context.dispose(expected, made);
  for (const prepared of twice) prepared.dispose();
}

/**
 * Makes a column of `data` in the form `how`. In the form with a device count, the capacity of the column is seven rows
 * more than its length. If this capacity exceeds that of the input, makes a view instead.
 */
function capped(context: Context, data: Uint32Array, how: Call['how']): Words {
  return present(context, data, how === 'device count' && data.length + 7 > CAPACITY ? 'view' : how);
}

const looking = {
  name: 'webgpu with look-back scans',
  runs: costlyCaseCount(6),
  open: () => openTestBackend({ tuning: lookingBack({}) }),
};
const smallBindings = {
  name: 'webgpu of small bindings',
  runs: costlyCaseCount(6),
  open: () => openTestBackend({ limits: { bindingBytes: 4096, workgroups: 4, storageBuffers: 8 } }),
};
/**
 * Variants of WebGPU backends. By default, the tests run on one variant, because a software GPU takes seconds to
 * compile the kernels of each variant.
 */
const webgpus = [...plainBackends.filter(({ name }) => name.startsWith('webgpu')), looking, smallBindings];
const opened: readonly { readonly name: string; readonly runs: number; open(): Promise<Backend> }[] = [
  ...dealtBackends().filter(({ name }) => !name.startsWith('webgpu')),
  ...someOf(webgpus, 1),
  {
    name: 'spilling',
    runs: caseCount(30),
    open: async () => createSpillingBackend(createReferenceBackend({ limits: { memoryBytes: 60_000 } })),
  },
  {
    name: 'workers without inline commands',
    runs: caseCount(20),
    open: () => createWorkersBackend({ workers: 2, inlineNanoseconds: 0 }),
  },
  {
    name: 'workers with some inline commands and fusion',
    runs: caseCount(20),
    open: () => createWorkersBackend({ workers: 2, inlineNanoseconds: 1500, fusedRows: 64 }),
  },
  {
    name: 'workers with few cached kernels',
    runs: costlyCaseCount(4),
    open: () => createWorkersBackend({ workers: 1, keptKernels: 2 }),
  },
  {
    name: 'spilling in windows',
    runs: costlyCaseCount(8),
    open: async () => createSpillingBackend(await createWorkersBackend({ workers: 1 }), { windowRows: 64 }),
  },
  {
    name: 'failover',
    runs: caseCount(20),
    open: async () =>
      createFailoverBackend(createReferenceBackend(), { standby: async () => createReferenceBackend() }),
  },
];

describe.each(opened)('on $name, a prepared pipeline', ({ name, open, runs }) => {
  // Only these backends record a prepared pipeline as a tape (a list of commands). All other backends issue the
  // commands of the pipeline one by one.
  const isTaped = /^(webgpu|workers)/.test(name) && !/small bindings|few cached kernels/.test(name);
  if (name === mortalBackend.name) repeatLosses();
  let context: Context;
  beforeAll(async () => {
    context = new Context(await open());
  }, 120_000);
  afterAll(() => context.close());

  test('equals the plain pipeline, for any lengths, offsets and uniforms of its calls', async () => {
    const { counters } = context.backend;
    const before = [counters.liveBuffers, counters.liveBytes];
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 6 }),
      fc.array(call, { minLength: 1, maxLength: 4 }),
      (list, calls) => comparePipeline(context, list, calls),
    );
    await fc.assert(property, { numRuns: runs });
    expect([counters.liveBuffers, counters.liveBytes]).toEqual(before);
  }, 240_000);

  test('allocates and compiles nothing in the steady state, and keeps every result until it is disposed of', async () => {
    const prepared = context.prepare({ x: input(u32, 300), by: uniform(u32) }, ({ x, by }) =>
      q.inclusiveScan(q.sort(q.map(plusBy, { x, by })), q.plus(u32)),
    );
    const x = context.column(new Uint32Array(300).map((_, i) => i));
    const first = prepared({ x, by: 0 });
    const calls = THOROUGH ? 60 : 25;
    for (let by = 0; by < calls; by++) context.dispose(prepared({ x, by }));
    await context.sync();
    const { allocations, bindGroups, compilations, liveBytes } = context.backend.counters;
    for (let by = 1; by < calls; by++) context.dispose(prepared({ x, by }));
    await context.sync();
    const { counters } = context.backend;
    expect(counters.liveBytes).toBe(liveBytes);
    if (isTaped) {
      expect(counters).toMatchObject({ allocations, bindGroups, compilations });
      expect(prepared.bytes).toBeGreaterThan(4 * 300);
    }
    const again = prepared({ x, by: 0 });
    expect(await context.read(first)).toEqual(await context.read(again));
    context.dispose(first, again, x);
    prepared.dispose();
    expect(prepared.bytes).toBe(0);
    expect(() => prepared({ x: context.column(new Uint32Array(1)), by: 0 })).toThrow(
      expect.objectContaining({ code: 'prepare/disposed' }),
    );
  }, 120_000);

  test('reports an exceeded capacity in the results that depend on it, and only in those', async () => {
    const prepared = context.prepare({ x: input(u32, 50) }, ({ x }) => {
      const made = q.expand({ x }, q.map(few, { x }), plusRank, { capacity: 40 });
      return { made: q.sort(made), sum: q.reduce(made, q.plus(u32)), rows: q.sort(x) };
    });
    const many = prepared({ x: context.column(new Uint32Array(50).fill(3)) });
    const some = prepared({ x: context.column(new Uint32Array(13).fill(3)) });
    const outgrown = expect.objectContaining({ code: 'capacity/outgrown', got: 150 }) as Error;
    await expect(context.read(many.made)).rejects.toThrow(outgrown);
    await expect(context.read(many.sum)).rejects.toThrow(outgrown);
    expect(await context.read(many.rows)).toEqual(new Uint32Array(50).fill(3));
    expect((await context.read(some.made)).length).toBe(39);
    context.dispose(many, some);
    prepared.dispose();
  });

  test('reports rows that were lost before it', async () => {
    const prepared = context.prepare({ x: input(u32, 50), y: input(u32, 50) }, ({ x, y }) => ({
      x: q.sort(x),
      y: q.sort(y),
    }));
    const x = context.column(new Uint32Array(9).fill(3));
    const lost = q.expand({ x }, q.map(few, { x }), plusRank, { capacity: 10 });
    const made = prepared({ x: lost, y: x });
    await expect(context.read(made.x)).rejects.toThrow(expect.objectContaining({ code: 'capacity/outgrown' }) as Error);
    expect((await context.read(made.y)).length).toBe(9);
    context.dispose(made, lost, x);
    prepared.dispose();
  });

  test('returns results whose device counts outlive the tables they came from', async () => {
    await context.sync();
    const { counters } = context.backend;
    const before = [counters.liveBuffers, counters.liveBytes];
    const all = context.column(Uint32Array.of(9, 2, 7, 4));
    const chosen = () => context.scope(() => q.copyIf(all, q.map(isAtLeast, { x: all, min: 5 })));
    const around = chosen();
    const prepared = context.prepare({ x: input(u32, 4) }, ({ x }) => ({ x: q.sort(x), around: q.sort(around) }));
    for (const early of [false, true]) {
      const x = chosen();
      if (early) context.dispose(around);
      const made = prepared({ x });
      context.dispose(x);
      expect(await context.read(made)).toEqual({ x: Uint32Array.of(7, 9), around: Uint32Array.of(7, 9) });
      context.dispose(made);
    }
    prepared.dispose();
    context.dispose(all);
    await context.sync();
    expect([counters.liveBuffers, counters.liveBytes]).toEqual(before);
  });

  test('reports rows that were lost in captured columns', async () => {
    const x = context.column(new Uint32Array(9).fill(3));
    const lost = q.expand({ x }, q.map(few, { x }), plusRank, { capacity: 10 });
    const prepared = context.prepare({ x: input(u32, 50) }, ({ x: rows }) => ({
      rows: q.sort(lost),
      found: context.materialize(q.map(lookUp, { x: rows, table: lost })),
      x: q.sort(rows),
    }));
    const made = prepared({ x });
    const outgrown = expect.objectContaining({ code: 'capacity/outgrown' }) as Error;
    await expect(context.read(made.rows)).rejects.toThrow(outgrown);
    await expect(context.read(made.found)).rejects.toThrow(outgrown);
    expect((await context.read(made.x)).length).toBe(9);
    context.dispose(made, lost, x);
    prepared.dispose();
  });
});

test('nearly equal pipelines are distinguished, however often they are prepared', async () => {
  const context = new Context(await openTestBackend({}));
  const inputs = { t: input({ x: u32, y: u32 }, 5), by: uniform(u32), min: uniform(u32) };
  type Given = { readonly x: Words; readonly y: Words } & Uniforms;
  // Groups of nearly equal pipelines.
  const groups: readonly (readonly ((given: Given) => q.Table)[])[] = [
    [
      ({ x, by }) => q.sort(q.map(plusBy, { x, by })),
      ({ x, min }) => q.sort(q.map(plusBy, { x, by: min })),
      ({ x }) => q.sort(q.map(plusBy, { x, by: 3 })),
      ({ x }) => q.sort(q.map(plusBy, { x, by: 4 })),
      ({ y }) => q.sort(q.map(plusBy, { x: y, by: 4 })),
    ],
    [
      ({ x, y }) => ({ a: q.sort(x), b: q.reverse(y) }),
      ({ x, y }) => ({ a: q.reverse(y), b: q.sort(x) }),
      ({ x, y }) => ({ a: q.sort(y), b: q.reverse(x) }),
    ],
    [({ x }) => q.sort(q.slice(x, 1)), ({ x }) => q.sort(q.slice(x, 2))],
    [
      ({ x }) => q.inclusiveScan(x, q.plus(u32)),
      ({ x }) => q.inclusiveScan(x, q.maximum(u32)),
      ({ x }) => q.exclusiveScan(x, q.maximum(u32)),
    ],
    [
      ({ x, y }) => q.inclusiveScan(q.map(mixed, { x, y }), q.plus(u32)),
      ({ x }) => q.inclusiveScan(q.map(mixed, { x, y: x }), q.plus(u32)),
      ({ x, y }) => q.inclusiveScan(q.map(mixed, { x: y, y: x }), q.plus(u32)),
    ],
    [({ x }) => q.histogram(q.map(low, { x }), 16), ({ x }) => q.histogram(q.map(low, { x }), 17)],
    [
      ({ x, min }) => q.copyIf(x, q.map(isAtLeast, { x, min })),
      ({ x }) => q.copyIf(x, q.map(isAtLeast, { x, min: 5 })),
    ],
  ];
  const all = someOf(groups, 4).flat();
  const given = {
    x: context.column(Uint32Array.of(9, 2, 7, 5, 3)),
    y: context.column(Uint32Array.of(4, 8, 1, 6, 0)),
    by: 17,
    min: 6,
  };
  const expected = [];
  for (const pipeline of all) expected.push(await context.read(context.scope(() => pipeline(given))));
  expect(new Set(expected.map((result) => JSON.stringify(result))).size).toBe(all.length);
  for (let round = 0; round < 2; round++) {
    const prepared = all.map((pipeline) => context.prepare(inputs, ({ t, by, min }) => pipeline({ ...t, by, min })));
    for (const [i, call] of prepared.entries()) {
      expect(await context.read(call({ t: { x: given.x, y: given.y }, by: given.by, min: given.min }))).toEqual(
        expected[i],
      );
    }
    for (const call of prepared) call.dispose();
  }
  await context.close();
});

test('a prepared pipeline continues when the device is lost at any of its calls', async () => {
  const expected = await runCalls(createReferenceBackend());
  for (let at = 1; at < 60; at++) {
    const backend = createFailoverBackend(lostBefore(createReferenceBackend(), at), {
      standby: async () => createReferenceBackend(),
    });
    expect(await runCalls(backend)).toEqual(expected);
  }
});

async function runCalls(backend: Backend): Promise<unknown> {
  const context = new Context(backend);
  const prepared = context.prepare({ x: input(u32, 20), min: uniform(u32) }, ({ x, min }) =>
    q.sort(q.copyIf(x, q.map(isAtLeast, { x, min }))),
  );
  const results: unknown[] = [];
  let x: Words = context.column(Uint32Array.of(9, 2, 7, 5, 3));
  for (let min = 0; min < 5; min++) {
    const next = prepared({ x, min: 2 * min });
    results.push(await context.read(next));
    x = next;
  }
  await context.close();
  return results;
}

test('two prepared pipelines and plain calls share the spine', async () => {
  const context = new Context(await looking.open());
  const data = new Uint32Array(600).map((_, i) => Math.imul(i, 2654435761));
  const x = context.column(data);
  const sorting = context.prepare({ x: input(u32, 600) }, ({ x: rows }) => q.sort(rows));
  const scanning = context.prepare({ x: input(u32, 600) }, ({ x: rows }) => q.inclusiveScan(rows, q.plus(u32)));
  const plain = (): Words => q.exclusiveScan(x, q.maximum(u32));
  const read = (): Promise<unknown> =>
    context.read(context.scope(() => ({ a: sorting({ x }), b: scanning({ x }), c: plain() })));
  const expected = await read();
  // By default, few rounds, because a software GPU takes a millisecond per kernel. Few rounds do not reach all epochs
  // of the spine (the memory of single-pass kernels). On a GPU, replays.test covers all epochs; without a GPU,
  // webgpu-spine.test does.
  for (let round = 0; round < (THOROUGH ? 40 : 1); round++) {
    for (let i = 0; i < (THOROUGH ? 70 : 20); i++) context.dispose(sorting({ x }), scanning({ x }), plain());
    expect(await read()).toEqual(expected);
  }
  await context.close();
}, 240_000);
