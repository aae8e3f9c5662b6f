import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFailoverBackend } from '../../../backends/failover/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { graph } from '../../../graph/index.ts';
import { memoriesIn } from '../../../primitives/columns/reachable.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { plainBackends, testOnEveryBackend } from '../../backends.ts';
import { caseCount, costlyCaseCount } from '../../cases.ts';
import { lostBefore } from '../../support/faulty-backend.ts';
import { slow } from '../../support/webgpu-support.ts';

const { bool, fn, u32 } = q;

type Words = q.Column<'u32'>;

const outgrown = (got?: number): unknown =>
  expect.objectContaining({ code: 'capacity/outgrown', ...(got !== undefined && { got }) });

const few = fn({ x: u32 }, u32, ({ x }) => x.and(3));
const plusRank = fn({ x: u32, rank: u32 }, u32, ({ x, rank }) => x.add(rank));
const times3 = fn({ x: u32 }, u32, ({ x }) => x.mul(3));
const isEven = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(0));
const low = fn({ x: u32 }, u32, ({ x }) => x.and(15));
const lookUp = fn({ x: u32, table: q.array(u32) }, u32, ({ x, table }) => x.add(table.at(x.and(7))));
const counted = fn({ x: u32 }, { k: u32 }, () => ({ k: 0 }));
const upTo3 = fn({ x: u32, k: u32 }, { more: bool, emits: bool, state: { k: u32 }, value: u32 }, ({ x, k }) => ({
  more: k.add(1).lt(x.and(3)),
  emits: k.lt(x.and(3)),
  state: { k: k.add(1) },
  value: x.add(k),
}));

/** A column of a task, with the rows that it must have. If an earlier step lost rows, it may have other rows. */
interface Tracked {
  readonly column: Words;
  readonly rows: readonly number[];
  readonly lost: boolean;
}

const expansion = (rows: readonly number[]): number[] =>
  rows.flatMap((x) => Array.from({ length: x & 3 }, (_, rank) => x + rank));

/** Operations that derive a column from another, each on the device and as a plain loop. */
const derivations: Readonly<
  Record<
    string,
    [(x: Words, other: Words, context: Context) => Words, (x: readonly number[], other: readonly number[]) => number[]]
  >
> = {
  view: [(x) => q.map(times3, { x }), (x) => x.map((each) => (3 * each) >>> 0)],
  stored: [(x) => x.context!.materialize(q.map(times3, { x })), (x) => x.map((each) => (3 * each) >>> 0)],
  sort: [(x) => q.sort(x), (x) => [...x].sort((a, b) => a - b)],
  scan: [
    (x) => q.inclusiveScan(x, q.plus(u32)),
    (x) => x.map((_, i) => x.slice(0, i + 1).reduce((a, b) => (a + b) >>> 0, 0)),
  ],
  reduce: [(x) => q.reduce(x, q.plus(u32)), (x) => [x.reduce((a, b) => (a + b) >>> 0, 0)]],
  choose: [(x) => q.copyIf(x, isEven), (x) => x.filter((each) => each % 2 === 0)],
  histogram: [
    (x) => q.histogram(q.map(low, { x }), 16),
    (x) => Array.from({ length: 16 }, (_, bin) => x.filter((each) => (each & 15) === bin).length),
  ],
  captured: [
    (x, table) => q.map(lookUp, { x, table }),
    (x, table) => x.map((each) => (each + (table[each & 7] ?? 0)) >>> 0),
  ],
  gathered: [(x, at) => q.gather(x, q.map(low, { x: at })), (x, at) => at.map((each) => x[each & 15] ?? 0)],
  joined: [(x, other) => q.concatenate([x, other]), (x, other) => [...x, ...other]],
  places: [(x, _, context) => context.materialize(q.sequence(x.length)), (x) => [...x.keys()]],
  part: [(x) => q.slice(x, 1, 4), (x) => x.slice(1, 4)],
};

const isLow = fn({ x: u32 }, bool, ({ x }) => x.lt(20));
const runStarts = (x: readonly number[]): number[] => [...x.keys()].filter((i) => i === 0 || x[i] !== x[i - 1]);
const bitsOf = (x: readonly number[]): number[] =>
  x.flatMap((word, i) => [...Array(32).keys()].filter((bit) => (word >>> bit) & 1).map((bit) => 32 * i + bit));

/** Primitives that store as many rows as there are, up to a capacity. */
const fits: Readonly<Record<string, [(x: Words, capacity: number) => Words, (x: readonly number[]) => number[]]>> = {
  copyIf: [(x, capacity) => q.copyIf(x, isLow, { capacity }), (x) => x.filter((each) => each < 20)],
  removeIf: [(x, capacity) => q.removeIf(x, isLow, { capacity }), (x) => x.filter((each) => each >= 20)],
  selected: [
    (x, selected) => q.partition(x, isLow, { capacity: { selected, rejected: 0 } }).selected,
    (x) => x.filter((each) => each < 20),
  ],
  rejected: [
    (x, rejected) => q.partition(x, isLow, { capacity: { selected: 0, rejected } }).rejected,
    (x) => x.filter((each) => each >= 20),
  ],
  unique: [(x, capacity) => q.unique(x, { capacity }), (x) => runStarts(x).map((i) => x[i]!)],
  firsts: [
    (x, capacity) => q.uniqueByKey(x, { at: q.sequence(x.length) }, { capacity }).values.at,
    (x) => runStarts(x),
  ],
  sums: [
    (x, capacity) => q.reduceByKey(x, q.constant(u32, 2, x.length), q.plus(u32), { capacity }).values,
    (x) => runStarts(x).map((i, run, all) => 2 * ((all[run + 1] ?? x.length) - i)),
  ],
  lengths: [
    (x, capacity) => q.runLengthEncode(x, { capacity }).values,
    (x) => runStarts(x).map((i, run, all) => (all[run + 1] ?? x.length) - i),
  ],
  bits: [(x, capacity) => q.bitPlaces(x, { capacity }), bitsOf],
};

type Step =
  | { readonly kind: 'fit'; readonly how: string; readonly of: number; readonly capacity: number }
  | { readonly kind: 'upload'; readonly rows: readonly number[] }
  | { readonly kind: 'derive'; readonly how: string; readonly of: number; readonly and: number }
  | { readonly kind: 'expand' | 'unfold'; readonly of: number; readonly capacity: number }
  | { readonly kind: 'addTo'; readonly of: number }
  | Wait
  | { readonly kind: 'readSums' | 'syncNothing' | 'turn' }
  | { readonly kind: 'dispose'; readonly of: number };

interface Wait {
  readonly kind: 'read' | 'count' | 'sync' | 'adopt' | 'both';
  readonly of: number;
  readonly and: number;
}

const index = fc.nat(11);
// Capacities of columns. A column of more than 65,536 rows is read in two steps.
const capacity = fc.oneof(fc.nat(60), fc.constant(70_000));
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('upload' as const), rows: fc.array(fc.nat(50), { maxLength: 30 }) }),
  fc.record({
    kind: fc.constant('derive' as const),
    how: fc.constantFrom(...Object.keys(derivations)),
    of: index,
    and: index,
  }),
  fc.record({ kind: fc.constantFrom('expand' as const, 'unfold' as const), of: index, capacity }),
  fc.record({
    kind: fc.constant('fit' as const),
    how: fc.constantFrom(...Object.keys(fits)),
    of: index,
    capacity: fc.nat(40),
  }),
  fc.record({ kind: fc.constant('addTo' as const), of: index }),
  fc.record({
    kind: fc.constantFrom(
      'read' as const,
      'read' as const,
      'count' as const,
      'sync' as const,
      'adopt' as const,
      'both' as const,
    ),
    of: index,
    and: index,
  }),
  fc.record({ kind: fc.constantFrom('readSums' as const, 'syncNothing' as const, 'turn' as const) }),
  fc.record({ kind: fc.constant('dispose' as const), of: index }),
);

/** Carries out steps without awaiting any of the reads, and then checks the outcomes of all reads. */
async function carryOut(context: Context, elsewhere: Context, steps: readonly Step[]): Promise<void> {
  const { counters } = context.backend;
  const before = [counters.liveBuffers, counters.liveBytes];
  const first = (): Tracked => ({
    column: context.column(Uint32Array.of(5, 2, 7, 3)),
    rows: [5, 2, 7, 3],
    lost: false,
  });
  let columns = [first()];
  const waits: Promise<void>[] = [];
  const sums = { column: context.column(new Uint32Array(16)), rows: new Array<number>(16).fill(0), lost: false };
  const at = (place: number): Tracked => columns[place % columns.length]!;
  const add = (column: Words, rows: readonly number[], lost: boolean): void => {
    columns.push({ column, rows, lost });
  };
  const expectOf = <R>(promise: Promise<R>, from: readonly Tracked[], check: (result: R) => void): void => {
    const expected = from.some(({ lost }) => lost)
      ? expect(promise).rejects.toThrow(outgrown() as Error)
      : promise.then(check);
    waits.push(expected);
    expected.catch(() => {});
  };
  const sameAs = (rows: readonly number[]): ((words: ArrayLike<number>) => void) => {
    const then = [...rows];
    return (words) => expect([...(words as Uint32Array)]).toEqual(then);
  };

  for (const each of steps) {
    if (['upload', 'derive', 'expand', 'unfold', 'fit'].includes(each.kind) && columns.length === 12) continue;
    if (each.kind === 'upload') add(context.column(Uint32Array.from(each.rows)), each.rows, false);
    else if (each.kind === 'turn') await new Promise((resolve) => setImmediate(resolve));
    else if (each.kind === 'syncNothing') expectOf(context.sync(), [], () => {});
    else if (each.kind === 'readSums') expectOf(context.read(sums.column), [sums], sameAs(sums.rows));
    else if (each.kind === 'derive') {
      const [x, other] = [at(each.of), at(each.and)];
      const takesBoth = ['captured', 'gathered', 'joined'].includes(each.how);
      const [onDevice, inLoop] = derivations[each.how]!;
      const column = context.scope(() => onDevice(x.column, other.column, context));
      add(column, inLoop(x.rows, other.rows), x.lost || (takesBoth && other.lost));
    } else if (each.kind === 'expand' || each.kind === 'unfold') {
      const { column: x, rows, lost } = at(each.of);
      const made = expansion(rows);
      const column = context.scope(() =>
        each.kind === 'expand'
          ? q.expand({ x }, q.map(few, { x }), plusRank, { capacity: each.capacity })
          : q.unfold({ x }, counted, upTo3, { capacity: each.capacity % 1000 }),
      );
      add(column, made, lost || made.length > (each.kind === 'expand' ? each.capacity : each.capacity % 1000));
    } else if (each.kind === 'fit') {
      const { column: x, rows, lost } = at(each.of);
      const [onDevice, inLoop] = fits[each.how]!;
      const made = inLoop(rows);
      add(
        context.scope(() => onDevice(x, each.capacity)),
        made,
        lost || made.length > each.capacity,
      );
    } else if (each.kind === 'addTo') {
      const { column: x, rows, lost } = at(each.of);
      q.scatterReduce(q.constant(u32, 1, x.length), q.map(low, { x }), 'add', sums.column);
      for (const row of rows) sums.rows[row & 15]! += 1;
      sums.lost ||= lost;
    } else if (each.kind === 'dispose') {
      context.dispose(at(each.of).column);
      // Columns that share memory with the freed column are freed too.
      columns = columns.filter(({ column }) => memoriesIn(column).every(({ released }) => !released));
      if (columns.length === 0) columns.push(first());
    } else {
      const { of, and } = each as Wait;
      const [x, other] = [at(of), at(and)];
      if (each.kind === 'read') expectOf(context.read(x.column), [x], sameAs(x.rows));
      if (each.kind === 'count') expectOf(context.count(x.column), [x], (count) => expect(count).toBe(x.rows.length));
      if (each.kind === 'sync') expectOf(context.sync(x.column), [x], () => {});
      if (each.kind === 'both') {
        expectOf(context.read({ a: x.column, b: other.column }), [x, other], ({ a, b }) => {
          sameAs(x.rows)(a);
          sameAs(other.rows)(b);
        });
      }
      if (each.kind === 'adopt') {
        const moved = elsewhere.adopt(x.column).then((there) => elsewhere.read(there));
        expectOf(moved, [x], sameAs(x.rows));
      }
    }
  }
  context.dispose(
    columns.map(({ column }) => column),
    sums.column,
  );
  for (const outcome of await Promise.allSettled(waits)) if (outcome.status === 'rejected') throw outcome.reason;
  expect([counters.liveBuffers, counters.liveBytes]).toEqual(before);
}

const opened: readonly { readonly name: string; readonly runs: number; open(): Promise<Backend> }[] = [
  ...plainBackends,
  {
    name: 'spilling',
    runs: caseCount(60),
    open: async () => createSpillingBackend(createReferenceBackend({ limits: { memoryBytes: 8192 } })),
  },
  {
    name: 'spilling in windows',
    runs: costlyCaseCount(15),
    open: async () => createSpillingBackend(await createWorkersBackend({ workers: 1 }), { windowRows: 8 }),
  },
  {
    name: 'a backend that is lost',
    runs: caseCount(60),
    open: async () =>
      createFailoverBackend(lostBefore(createReferenceBackend(), 40), {
        standby: async () => createReferenceBackend(),
      }),
  },
];

describe.each(opened)('on $name', ({ runs, open }) => {
  test(
    'reads of results of lost rows reject, and all others have the right values',
    async () => {
      const elsewhere = new Context(createReferenceBackend());
      const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const context = new Context(await open());
        await carryOut(context, elsewhere, steps);
        await context.close();
      });
      await fc.assert(property, { numRuns: runs, endOnFailure: true });
    },
    slow,
  );
});

testOnEveryBackend('rows lost by one task are not reported to another', async ({ context }) => {
  const rows = { x: context.column(Uint32Array.of(3, 3, 3, 3)) };
  const { readbacks } = context.backend.counters;
  const made = q.expand(rows, q.map(few, rows), plusRank, { capacity: 5 });
  expect(await context.read(rows)).toEqual({ x: Uint32Array.of(3, 3, 3, 3) });
  await context.sync();
  expect(context.backend.counters.readbacks).toBeLessThanOrEqual(readbacks + 2);
  const dependents: readonly q.Table[] = [
    made,
    q.map(times3, { x: made }),
    q.reduce(made, q.plus(u32)),
    { fine: rows.x, lost: q.sort(made) },
    q.sequence(made.length),
    q.slice(made, 0, 2),
    q.map(lookUp, { x: rows.x, table: made }),
    q.expand({ x: made }, 1, plusRank, { capacity: 100 }),
  ];
  for (const table of [...dependents, ...dependents])
    await expect(context.read(table)).rejects.toThrow(outgrown(12) as Error);
  await expect(q.expand({ x: made }, 1, plusRank)).rejects.toThrow(outgrown(12) as Error);
  await expect(context.count(made)).rejects.toThrow(outgrown(12) as Error);
  await expect(context.sync(rows.x, made)).rejects.toThrow(outgrown(12) as Error);
  await context.sync(rows);
  context.dispose(rows, dependents);
  expect(context.backend.counters.liveBuffers).toBe(0);
});

testOnEveryBackend('prepared calls and loops keep to capacities, and say what was needed', async ({ context }) => {
  const low = (x: Words): Words => q.copyIf(x, isLow, { capacity: 3 });
  const call = context.prepare({ x: q.input(u32, 100) }, ({ x }) => ({ low: low(x), parts: q.partition(x, isLow) }));
  const [many, few] = [
    context.column(Uint32Array.from({ length: 50 }, (_, i) => i)),
    context.column(Uint32Array.of(30, 7, 9)),
  ];
  const [lost, kept] = [call({ x: many }), call({ x: few })];
  expect(lost.low.capacity).toBe(3);
  await expect(context.read(lost.low)).rejects.toThrow(outgrown(20) as Error);
  await expect(context.read(q.reduce(lost.low, q.plus(u32)))).rejects.toThrow(outgrown(20) as Error);
  expect((await context.read(lost.parts.rejected)).length).toBe(30);
  expect(await context.read(kept)).toEqual({
    low: Uint32Array.of(7, 9),
    parts: { selected: Uint32Array.of(7, 9), rejected: Uint32Array.of(30) },
  });
  call.dispose();
  const doubled = fn({ i: u32 }, u32, ({ i }) => i.shr(1));
  const step = context.prepare({ x: q.input(u32, 100) }, ({ x }) => {
    const twice = q.gather(x, q.map(doubled, { i: q.sequence(x.length) }));
    return { x: q.copyIf(twice, isLow, { capacity: 3 }) };
  });
  await expect(context.iterate(step, { x: many }, { maxRounds: 2 })).rejects.toMatchObject({
    code: 'capacity/outgrown',
    got: 40,
  });
  step.dispose();
});

testOnEveryBackend('contents of a column from before it received lost rows can still be read', async ({ context }) => {
  const sums = context.column(Uint32Array.of(7, 0));
  const before = context.read(sums);
  const x = context.column(Uint32Array.of(3, 3));
  const lost = q.expand({ x }, q.map(few, { x }), plusRank, { capacity: 2 });
  q.scatterReduce(lost, q.constant(u32, 0, lost.length), 'add', sums);
  await expect(context.read(sums)).rejects.toThrow(outgrown(6) as Error);
  expect(await before).toEqual(Uint32Array.of(7, 0));
  context.dispose(sums, x, lost);
});

testOnEveryBackend(
  'a capacity check ends with the last buffer that depends on it, or when it has passed',
  async ({ context }) => {
    const { counters } = context.backend;
    const x = context.column(Uint32Array.of(1, 2, 3));
    const held = counters.liveBuffers;
    for (let i = 0; i < 5; i++) {
      const made = context.scope(() => q.expand({ x }, x, plusRank, { capacity: 6 - (i % 2) }));
      const total = q.reduce(made, q.plus(u32));
      context.dispose(made);
      // The row count is still in use, because the check needs it.
      expect(counters.liveBuffers).toBe(held + 2);
      if (i > 2) await context.read(total).catch(() => {});
      context.dispose(total);
      expect(counters.liveBuffers).toBe(held);
    }
    context.dispose(x);
  },
);

test('graph stages that share a context fail only for their own items', async () => {
  const context = new Context(createReferenceBackend());
  const rowsMade = async (x: number): Promise<number> => {
    const rows = { x: context.column(Uint32Array.of(x)) };
    const made = q.expand(rows, rows.x, plusRank, { capacity: 5 });
    // Meanwhile, other items create their rows.
    await new Promise((resolve) => setImmediate(resolve));
    return (await context.read(made)).length;
  };
  const run = graph('capacities', (g) => {
    const numbers = g.source('numbers', [1, 8, 2, 3, 9, 5]);
    return g.collect('all', g.stage('expand', numbers, rowsMade, { lanes: 3, onError: 'skip' }));
  }).run();
  const failed: unknown[] = [];
  run.errors$.subscribe((error) => failed.push(error));
  expect([...(await run.result)].sort()).toEqual([1, 2, 3, 5]);
  expect(failed).toHaveLength(2);
  await context.close();
});

test('a backend can be an instance of a class with private members', async () => {
  const inner = createReferenceBackend();
  class Counting {
    #calls = 0;
    readonly name = 'reference';
    get calls(): number {
      return this.#calls;
    }
    allocate(words: number): ReturnType<Backend['allocate']> {
      this.#calls++;
      return inner.allocate(words);
    }
  }
  const backend = Object.assign(new Counting(), { ...inner, allocate: Counting.prototype.allocate });
  const context = new Context(backend as unknown as Backend);
  expect(await context.read(context.column(Uint32Array.of(4)))).toEqual(Uint32Array.of(4));
  expect((context.backend as unknown as Counting).calls).toBe(1);
  await context.close();
});
