import { describe, expect, test, vi } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import type { Column } from '../../../primitives/columns/column.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { onEveryBackend, plainBackends } from '../../backends.ts';
import { someOf } from '../../cases.ts';

const { bool, fn, u32 } = q;

const isOdd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const twice = fn({ x: u32 }, u32, ({ x }) => x.mul(2));
const pair = fn({ x: u32, rank: u32, ring: q.array(u32) }, u32, ({ x, rank, ring }) => ring.at(x.add(rank)));
const element = fn({ x: u32, rank: u32 }, { bin: u32, histogram: u32 }, ({ x, rank }) => ({ bin: x, histogram: rank }));
const fromZero = fn({}, { rank: u32 }, () => ({ rank: 0 }));
const countUp = fn(
  { x: u32, rank: u32, ring: q.array(u32) },
  { more: bool, emits: bool, state: { rank: u32 }, value: { index: u32, value: u32 } },
  ({ x, rank, ring }) => ({
    more: rank.lt(x),
    emits: rank.lt(x),
    state: { rank: rank.add(1) },
    value: { index: rank, value: ring.at(x.add(rank)) },
  }),
);

const beside = fn({ x: q.neighbours(u32), ring: q.array(u32) }, u32, ({ x, ring }) => ring.at(x.at(1)));

type U32 = Column<'u32'>;

/**
 * All primitives that allocate memory, called with a column of small numbers whose length may be a count on the device.
 */
const primitives: { readonly [name: string]: (x: U32, context: Context) => unknown } = {
  materialize: (x, context) => context.materialize({ a: q.map(twice, { x }), b: q.reverse(x) }),
  fill: (x, context) => q.fill(context, { a: u32, b: bool }, { a: 1, b: true }, x.length),
  'map of a captured view': (x) =>
    q.map(
      fn({ x: u32, table: q.array(u32) }, u32, ({ x, table }) => table.at(x)),
      { x, table: q.map(twice, { x }) },
    ),
  reduce: (x) => q.reduce(x, q.plus(u32)),
  count: (x) => q.count(x, isOdd),
  minElement: (x) => q.minElement(x),
  inclusiveScan: (x) => q.inclusiveScan(x, q.plus(u32)),
  segmentedScan: (x) => q.segmentedScan(x, q.runHeads(x), q.plus(u32), { kind: 'exclusive' }),
  copyIf: (x) => q.copyIf({ x, y: q.reverse(x) }, isOdd),
  partition: (x) => q.partition({ x, y: q.reverse(x) }, isOdd),
  reduceByKey: (x) => q.reduceByKey(x, x, q.plus(u32)),
  uniqueByKey: (x) => q.uniqueByKey(x, x),
  sort: (x) => q.sort(x, { descending: true }),
  'sortByKey with one payload': (x) => q.sortByKey(x, q.reverse(x)),
  'sortByKey with two payloads': (x) => q.sortByKey(x, { a: x, b: q.reverse(x) }),
  'sortByKey of 64 bits': (x) => q.sortByKey({ lo: x, hi: x }, { a: x, b: q.reverse(x) }),
  sortPermutation: (x) => q.sortPermutation({ lo: x, hi: x }),
  merge: (x) => q.merge(q.sequence(7), x),
  mergeByKey: (x) => q.mergeByKey({ keys: x, values: x }, { keys: x, values: q.reverse(x) }),
  setUnion: (x) => q.setUnion(q.sequence(7), x),
  setDifferenceByKey: (x) => q.setDifferenceByKey({ keys: x, values: { x, y: q.reverse(x) } }, q.sequence(7)),
  'selectKth of one place': (x) => q.selectKth(x, 3, { descending: true }),
  'selectKth of many places': (x) => q.selectKth({ lo: x, hi: x }, q.reverse(q.sequence(9))),
  'selectKth of most places': (x) => q.selectKth(x, q.sequence(300)),
  quantiles: (x) => q.quantiles(x, [0, 0.5]),
  'stencil with a captured view': (x) => q.stencil(beside, { x, ring: q.reverse(x) }),
  scatter: (x) => q.scatter({ a: x, b: q.reverse(x) }, q.sequence(x.length), 50),
  histogram: (x) => q.histogram(x, 8),
  histogramEdges: (x) => q.histogramEdges(x, [0, 1.5, 4]),
  rankHistogram: (x) =>
    q.rankHistogram({ active: q.map(isOdd, { x }), x }, element, { ranks: 2, bins: 8, histograms: 2 }),
  expand: (x) => q.expand({ x }, x, pair, { capacity: 400, captures: { ring: q.reverse(x) } }),
  unfold: (x) => q.unfold({ x }, fromZero, countUp, { capacity: 400, captures: { ring: q.reverse(x) } }),
  unfoldReduce: (x, context) =>
    context.scope(() => {
      const onto = q.fill(context, u32, 0, 8);
      q.unfoldReduce({ x }, fromZero, countUp, 'add', onto, { captures: { ring: q.reverse(x) } });
      return onto;
    }),
};

const held = ({ backend: { counters } }: Context): { readonly buffers: number; readonly bytes: number } => ({
  buffers: counters.liveBuffers,
  bytes: counters.liveBytes,
});

const numbers = Uint32Array.from({ length: 100 }, (_, i) => (i * 7) % 8);

/**
 * Columns of small numbers. The host knows the length of the first column; only the device knows that of the second.
 */
const inputs: readonly [string, (context: Context) => U32][] = [
  ['a host length', (context) => context.column(numbers)],
  ['a device count', (context) => context.scope(() => q.copyIf(context.column(numbers), isOdd))],
];

onEveryBackend((opened) => {
  describe.each(Object.entries(primitives))('%s', (_, primitive) => {
    test.each(someOf(inputs, 1))('holds only its result, until it is freed: for %s', async (_, inputOf) => {
      const { context } = opened();
      const x = inputOf(context);
      const before = held(context);
      const result = primitive(x, context);
      await context.read(result as q.Table);
      context.dispose(result);
      expect(held(context)).toEqual(before);
      expect((await context.read(x)).length).toBeGreaterThan(0);
      context.dispose(x);
    });
  });
});

describe.each(Object.entries(primitives))('%s', (_, primitive) => {
  const calls = ['allocate', 'run'] as const;

  /**
   * Makes a context whose backend throws an error at one call. After `arm` is called, `last` calls succeed, and the
   * next call throws. Only calls that allocate memory or launch a kernel are counted.
   */
  function failingAt(last: number): {
    readonly context: Context;
    readonly arm: () => void;
    readonly failed: () => boolean;
  } {
    const backend = createReferenceBackend();
    let left = Number.POSITIVE_INFINITY;
    const wrapped: q.Backend = Object.create(null, Object.getOwnPropertyDescriptors(backend));
    for (const name of calls) {
      const call = backend[name].bind(backend) as (...args: unknown[]) => unknown;
      const guarded = (...args: unknown[]): unknown => {
        if (left-- === 0) throw new Error(`no ${name} any more`);
        return call(...args);
      };
      Object.defineProperty(wrapped, name, { value: guarded });
    }
    return { context: new Context(wrapped), arm: () => (left = last), failed: () => left < 0 };
  }

  test.each(someOf(inputs, 1))('leaks nothing, wherever it fails: for %s', async (_, inputOf) => {
    for (let last = 0; ; last++) {
      const { context, arm, failed } = failingAt(last);
      const x = inputOf(context);
      const before = held(context);
      arm();
      try {
        context.dispose(primitive(x, context));
      } catch (error) {
        expect((error as Error).message).toMatch(/any more$/);
      }
      await context.sync();
      expect({ last, ...held(context) }).toEqual({ last, ...before });
      if (!failed()) {
        expect(last).toBeGreaterThan(1);
        return;
      }
    }
  });
});

const rank = fn({ x: u32, rank: u32 }, u32, ({ rank }) => rank);

onEveryBackend((opened) => {
  const pipeline = (context: Context): q.Table => {
    const x = context.column(numbers);
    const kept = q.copyIf({ x, y: q.reverse(x) }, isOdd);
    const sums = context.scope(() => q.inclusiveScan(kept.y, q.plus(u32)));
    return context.scope(() => q.reduceByKey(q.sort(kept.x), sums, q.plus(u32)));
  };

  const endings: { readonly [ending: string]: (context: Context) => Promise<unknown> } = {
    'success in nested scopes': async (context) => {
      const result = context.scope(() => pipeline(context));
      await context.read(result);
      context.dispose(result);
    },
    'an error in the middle': async (context) => {
      const failing = (): never => {
        pipeline(context);
        throw new Error('no further');
      };
      expect(() => context.scope(() => context.scope(failing))).toThrow('no further');
    },
    'rows lost in an expand': async (context) => {
      const lost = context.scope(() => {
        const x = context.column(numbers);
        return q.expand({ x }, x, rank, { capacity: 3 });
      });
      await expect(context.read(lost)).rejects.toThrow('more rows than its capacity');
      context.dispose(lost);
    },
    'rows lost in an expand whose result is gone': async (context) => {
      const x = context.column(numbers);
      const made = q.expand({ x }, x, rank, { capacity: 3 });
      const total = q.reduce(made, q.plus(u32));
      context.dispose(made, x);
      await expect(context.read(total)).rejects.toThrow('more rows than its capacity');
      context.dispose(total);
    },
    'an unfold without a capacity': async (context) => {
      const x = context.column(numbers);
      const rows = await q.unfold({ x }, fromZero, countUp, { captures: { ring: q.reverse(x) } });
      expect(rows.value.length).toBe(numbers.reduce((sum, count) => sum + count, 0));
      context.dispose(rows, x);
    },
    'rows lost in an unfold': async (context) => {
      const x = context.column(numbers);
      const lost = q.unfold({ x }, fromZero, countUp, { capacity: 3, captures: { ring: x } });
      await expect(context.read(lost)).rejects.toThrow('unfold made more rows than its capacity');
      context.dispose(lost, x);
    },
    'an expand without a capacity': async (context) => {
      const x = context.column(numbers);
      const rows = await q.expand({ x }, x, rank);
      expect(rows.length).toBe(numbers.reduce((sum, count) => sum + count, 0));
      context.dispose(rows, x);
    },
    'an expand without a capacity that makes too many rows': async (context) => {
      const counts = context.column(Uint32Array.of(2 ** 31, 2 ** 31));
      await expect(q.expand({ x: counts }, counts, rank)).rejects.toThrow('more rows than a column can have');
      context.dispose(counts);
    },
  };

  test.each(Object.entries(endings))('%s ends with as much memory as before, every time', async (_, ending) => {
    const { context } = opened();
    const before = held(context);
    for (let round = 0; round < 3; round++) {
      await ending(context);
      expect(held(context)).toEqual(before);
    }
  });
});

describe.each(plainBackends)('$name', ({ open }) => {
  const events = [
    'exit',
    'beforeExit',
    'SIGINT',
    'SIGTERM',
    'uncaughtException',
    'unhandledRejection',
    'warning',
  ] as const;

  /** The resources that keep the process alive, and the number of listeners for each of the process's events. */
  const attached = (): { readonly resources: readonly string[]; readonly listeners: readonly number[] } => ({
    resources: process
      .getActiveResourcesInfo()
      // Timers and writes are left out, because they belong to the test runner.
      .filter((kind) => !/Timeout|Immediate|Write|FSReq/.test(kind))
      .sort(),
    listeners: events.map((event) => process.listenerCount(event)),
  });

  const useOnce = async (close: (context: Context) => Promise<unknown>): Promise<void> => {
    const context = new Context(await open());
    const result = context.scope(() => q.sort(context.column(numbers)));
    await context.read(result);
    await close(context);
    await context.close();
    expect(held(context)).toEqual({ buffers: 0, bytes: 0 });
  };

  test('after close leaves no memory, no handles and no listeners, after success and after an abort', async () => {
    await useOnce(async () => {});
    const before = attached();
    await useOnce(async () => {});
    await useOnce(async (context) => {
      const sorted = q.sort(context.column(new Uint32Array(100_000)));
      const read = context.read(sorted);
      context.abort(new Error('enough'));
      // The read may succeed, because the backend may have finished the read before the abort.
      const ending = await read.then(
        ({ length }) => length,
        (error: Error) => error.message,
      );
      expect([100_000, 'enough']).toContain(ending);
    });
    // Threads and devices need a while to disappear.
    await vi.waitFor(() => expect(attached()).toEqual(before), { timeout: 20_000 });
  });
});

test('running out of memory leaves existing columns unchanged', async () => {
  const context = new Context(createReferenceBackend({ limits: { memoryBytes: 1000 } }));
  const x = context.column(numbers);
  const before = held(context);
  for (const primitive of Object.values(primitives)) {
    try {
      context.dispose(primitive(x, context));
      await context.sync();
    } catch (error) {
      expect(error).toBeInstanceOf(OutOfMemoryError);
    }
    expect(held(context)).toEqual(before);
  }
});
