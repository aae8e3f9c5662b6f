import { describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { columnsIn } from '../../../primitives/columns/reachable.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { dealToBackends, dealtBackends, onEveryBackend, plainBackends } from '../../backends.ts';
import { primitiveCalls } from '../../valid-calls/primitives.ts';

const { bool, fn, u32 } = q;

type U32 = q.Column<'u32'>;

const hash = fn({ i: u32 }, u32, ({ i }) => i.mul(2654435761).shr(20));
const isOdd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const four = fn({ x: u32 }, u32, ({ x }) => x.mul(0).add(4));
const binOfCell = fn({ cell: u32 }, u32, ({ cell }) => cell.shr(9));
const rank = fn({ x: u32, rank: u32 }, u32, ({ x, rank }) => x.add(rank));
const element = fn({ x: u32, rank: u32 }, { bin: u32, histogram: u32 }, ({ x, rank }) => ({ bin: x, histogram: rank }));
const once = fn({ x: u32 }, { left: u32 }, ({ x }) => ({ left: x.and(1) }));
const countDown = fn({ left: u32 }, { more: bool, emits: bool, state: { left: u32 }, value: u32 }, ({ left }) => ({
  more: left.gt(0),
  emits: true,
  state: { left: left.sub(1) },
  value: left,
}));

const inStrip = fn({ first: u32, end: u32, x: q.owned(u32) }, {}, ({ first, end, x }) => x.set(first, end));
const grows = fn({ x: q.neighbours(u32) }, u32, ({ x }) => x.at(-1).max(x.at(1)));
const passes = fn({ before: u32, after: u32 }, u32, ({ before, after }) => before.xor(after));
const isNone = fn({ total: u32 }, bool, ({ total }) => total.eq(0));

const differs = fn({ a: u32, b: u32 }, u32, ({ a, b }) => a.xor(b));

const ROWS = 300;

type Primitive = (x: U32, options?: q.ContextOption) => q.Table | Promise<q.Table>;

/** Calls of all primitives that store a result. The column `x` may be generated (a view without memory or context). */
const primitives: { readonly [name: string]: Primitive } = {
  reduce: (x, options) => q.reduce(x, q.plus(u32), options),
  count: (x, options) => q.count(x, isOdd, options),
  all: (x, options) => q.all(x, isOdd, options),
  any: (x, options) => q.any(x, isOdd, options),
  minElement: (x, options) => q.minElement(x, options),
  maxElement: (x, options) => q.maxElement(x, options),
  inclusiveScan: (x, options) => q.inclusiveScan(x, q.plus(u32), options),
  exclusiveScan: (x, options) => q.exclusiveScan(x, q.plus(u32), options),
  segmentedScan: (x, options) => q.segmentedScan(x, q.runHeads(x), q.plus(u32), { kind: 'exclusive', ...options }),
  copyIf: (x, options) => q.copyIf(x, isOdd, options),
  removeIf: (x, options) => q.removeIf(x, isOdd, options),
  partition: (x, options) => q.partition(x, isOdd, options),
  reduceByKey: (x, options) => q.reduceByKey(x, x, q.plus(u32), options),
  uniqueByKey: (x, options) => q.uniqueByKey(x, x, options),
  unique: (x, options) => q.unique(x, options),
  runLengthEncode: (x, options) => q.runLengthEncode(x, options),
  concatenate: (x, options) => q.concatenate([x, q.sequence(7)], options),
  scatter: (x, options) => q.scatter(x, q.reverse(q.sequence(ROWS)), ROWS, options),
  scatterIf: (x, options) => q.scatterIf(x, q.sequence(ROWS), q.map(isOdd, { x }), ROWS, options),
  pack: (x, options) => ({ ...q.pack(x, options) }),
  unpack: (x, options) => q.unpack({ words: x, widths: x }, options),
  decodeTiles: (x, options) => q.decodeTiles(x, { start: x, first: x }, { columns: 4, rows: 8, as: 'u16', ...options }),
  tileHistograms: (x, options) => {
    const parts = { offsets: q.sequence(ROWS + 1), histogram: q.sequence(ROWS), word: x, pitch: x, masks: x };
    const shape = { columns: 32, rows: 1, as: 'u16', bins: 8, histograms: ROWS } as const;
    return q.tileHistograms(x, { start: x, first: x }, parts, binOfCell, { ...shape, ...options });
  },
  tileSums: (x, options) => q.tileSums(x, { columns: 2, rows: 3, ...options }),
  narrow: (x, options) => q.narrow(x, 'u8', options),
  packBits: (x, options) => q.packBits(q.map(isOdd, { x }), options),
  bitPlaces: (x, options) => q.bitPlaces(x, options),
  merge: (x, options) => q.merge(q.sequence(9), q.map(four, { x }), options),
  mergeByKey: (x, options) => {
    const rows = { keys: q.sequence(ROWS), values: x };
    return q.mergeByKey(rows, rows, options);
  },
  setUnion: (x, options) => q.setUnion(q.sequence(9), q.map(four, { x }), options),
  setIntersection: (x, options) => q.setIntersection(q.sequence(9), q.map(four, { x }), options),
  setDifference: (x, options) => q.setDifference(q.sequence(9), q.map(four, { x }), options),
  setSymmetricDifference: (x, options) => q.setSymmetricDifference(q.sequence(9), q.map(four, { x }), options),
  setUnionByKey: (x, options) => {
    const rows = { keys: q.sequence(ROWS), values: x };
    return q.setUnionByKey(rows, rows, options);
  },
  setIntersectionByKey: (x, options) =>
    q.setIntersectionByKey({ keys: q.sequence(ROWS), values: x }, q.sequence(9), options),
  setDifferenceByKey: (x, options) =>
    q.setDifferenceByKey({ keys: q.sequence(ROWS), values: x }, q.sequence(9), options),
  setSymmetricDifferenceByKey: (x, options) => {
    const rows = { keys: q.sequence(ROWS), values: x };
    return q.setSymmetricDifferenceByKey(rows, rows, options);
  },
  selectKth: (x, options) => q.selectKth(x, 3, options),
  segmentedReduce: (x, options) => q.segmentedReduce(x, q.sequence(ROWS, 0, 9), q.plus(u32), options),
  segmentedSort: (x, options) => q.segmentedSort(x, q.sequence(9, 0, 30), options),
  segmentedSortByKey: (x, options) => q.segmentedSortByKey(x, { x }, q.sequence(9, 0, 30), options),
  segmentedSortPermutation: (x, options) => q.segmentedSortPermutation(x, q.sequence(9, 0, 30), options),
  segmentedQuantiles: (x, options) => q.segmentedQuantiles(x, q.sequence(9, 0, 30), [0.5, 1], options),
  topK: (x, options) => q.topK(x, 3, options),
  segmentedTopK: (x, options) => q.segmentedTopK(x, q.sequence(ROWS, 0, 9), 3, options),
  'segmentedTopK of many': (x, options) => q.segmentedTopK(x, q.sequence(9, 0, 30), 20, options),
  quantiles: (x, options) => q.quantiles(x, [0, 0.5, 1], options),
  forEachStrip: (x, options) => q.forEachStrip({ x }, [{ rows: 9, each: inStrip }], options),
  relax: (x, options) => {
    const sizes = { width: q.constant(u32, 3, ROWS / 3), height: q.constant(u32, 1, ROWS / 3) };
    const rule = { change: passes, total: q.plus(u32), until: isNone };
    return q.relax(sizes, grows, { x }, rule, { maxRounds: 4, maxWidth: 3, maxHeight: 1, ...options });
  },
  crossReduce: (x, options) => q.crossReduce({ a: x }, { b: x }, differs, q.plus(u32), options),
  histogram: (x, options) => q.histogram(x, 16, options),
  binOf: (x, options) => q.binOf(x, [0, 10, 100], options),
  histogramEdges: (x, options) => q.histogramEdges(x, [0, 10, 100], options),
  histogramEven: (x, options) => q.histogramEven(x, 0, 100, 4, options),
  rankHistogram: (x, options) =>
    q.rankHistogram({ active: q.map(isOdd, { x }), x }, element, { ...options, ranks: 2, bins: 8, histograms: 2 }),
  disjointSets: (x, options) => q.disjointSets({ a: x, b: q.sequence(ROWS) }, ROWS, options),
  windowSum: (x, options) =>
    q.windowSum(q.asGrid(x, { rows: 1, columns: x.length as number }), { width: 3, ...options }),
  weightedHistogram: (x, options) => q.weightedHistogram(x, 16, { x }, options),
  shuffle: (x, options) => q.shuffle(x, { seed: 1, ...options }),
  sample: (x, options) => q.sample(x, 9, { seed: 1, ...options }),
  sampleWeighted: (x, options) => q.sampleWeighted(x, 9, { seed: 1, ...options }),
  'sampleWeighted with replacement': (x, options) => q.sampleWeighted(x, 9, { seed: 1, replacement: true, ...options }),
  sort: (x, options) => q.sort(x, options),
  sortByKey: (x, options) => q.sortByKey(x, q.sequence(ROWS), options),
  sortPermutation: (x, options) => q.sortPermutation(x, options),
  'sortPermutation by several keys': (x, options) => q.sortPermutation([q.map(four, { x }), x], options),
  'expand with a capacity': (x, options) =>
    q.expand({ x }, q.constant(u32, 2, ROWS), rank, { ...options, capacity: 700 }),
  'expand without a capacity': (x, options) => q.expand({ x }, q.constant(u32, 2, ROWS), rank, options ?? {}),
  'unfold with a capacity': (x, options) => q.unfold({ x }, once, countDown, { ...options, capacity: 700 }),
  'unfold without a capacity': (x, options) => q.unfold({ x }, once, countDown, options ?? {}),
};

const primitivesOn = dealToBackends(Object.entries(primitives));

const generator = (): U32 => q.map(hash, { i: q.sequence(ROWS) });

onEveryBackend((opened, backend) => {
  const tried = primitivesOn(backend);
  test.each(tried)('%s of generators runs in the given context', async (_, primitive) => {
    const { context } = opened();
    const stored = context.materialize(generator());
    const expected = await primitive(stored);
    const found = await primitive(generator(), { context });
    expect(await context.read(found)).toEqual(await context.read(expected));
    context.dispose(found, expected, stored);
  });

  const waiting = /without a capacity$/;

  test.each(tried.filter(([name]) => !waiting.test(name)))(
    '%s of generators runs in the context of the scope',
    async (_, primitive) => {
      const { context } = opened();
      const before = context.backend.counters.liveBytes;
      const found = context.scope(() => primitive(generator()) as q.Table);
      const named = primitive(generator(), { context }) as q.Table;
      expect(await context.read(found)).toEqual(await context.read(named));
      context.dispose(found, named);
      expect(context.backend.counters.liveBytes).toBe(before);
    },
  );

  test('a hundred million hashes are summed without storing them', async () => {
    const { context } = opened();
    const { liveBytes } = context.backend.counters;
    const rows = context.backend.name === 'workers' ? 1e8 : 1e5;
    const total = q.reduce(q.map(hash, { i: q.sequence(rows) }), q.plus(u32), { context });
    expect(context.backend.counters.liveBytes - liveBytes).toBeLessThan(1000);
    let sum = 0;
    for (let i = 0; i < rows; i++) sum = (sum + (Math.imul(i, 2654435761) >>> 20)) >>> 0;
    expect(await context.read(total)).toEqual(Uint32Array.of(sum));
    context.dispose(total);
  });
}, dealtBackends());

const open = (): Context => new Context(createReferenceBackend());
const total = (options?: q.ContextOption): U32 => q.reduce(q.sequence(5), q.plus(u32), options);

test('generators outside of every scope are refused, with a remedy', () => {
  const refusal = expect.objectContaining({
    code: 'column/no-context',
    remedy: expect.stringMatching(/context\.scope.*\{ context \}/),
  });
  for (const [name, primitive] of Object.entries(primitives)) {
    expect(() => primitive(generator()), name).toThrow(refusal);
    expect(() => primitive(generator()), name).toThrow(`${name.split(' ')[0]} was given only views without a context.`);
  }
  const lookUp = fn({ x: u32, table: q.array(u32) }, u32, ({ x, table }) => table.at(x));
  expect(() => q.map(lookUp, { x: generator(), table: generator() })).toThrow(
    expect.objectContaining({
      code: 'column/no-context',
      remedy: expect.not.stringContaining('option'),
    }),
  );
});

test('this file covers every primitive with a context among its options', () => {
  const here = Object.keys(primitives).map((name) => name.split(' ')[0]!);
  const takers = Object.entries(primitiveCalls).flatMap(([name, valid]) => {
    const args = (typeof valid === 'function' ? valid : valid.args)();
    const options = args['options?'] ?? args.options ?? {};
    return 'context?' in (options as object) ? [name] : [];
  });
  expect(new Set(here)).toEqual(new Set(takers));
});

test('the innermost scope sets the context, and none does after it has ended or failed', () => {
  const [a, b] = [open(), open()];
  a.scope(() => {
    expect(total().context).toBe(a);
    b.scope(() => {
      expect(total().context).toBe(b);
      expect(total({ context: a }).context).toBe(a);
    });
    expect(() =>
      b.scope(() => {
        throw new Error('no further');
      }),
    ).toThrow('no further');
    expect(total().context).toBe(a);
  });
  expect(() => total()).toThrow('views without a context');
});

test('concurrent tasks do not see the scopes of each other', async () => {
  const [a, b] = [open(), open()];
  const task = async (context: Context): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) {
      const sum = context.scope(() => total());
      expect(sum.context).toBe(context);
      expect(await context.read(sum)).toEqual(Uint32Array.of(10));
      expect(() => total()).toThrow('views without a context');
    }
  };
  await Promise.all([task(a), task(b)]);
  let later: Promise<unknown> | undefined;
  const refused = (): unknown =>
    a.scope(() => {
      later = (async () => {
        await Promise.resolve();
        return total();
      })();
      return later;
    });
  expect(refused).toThrow('asynchronous');
  await expect(later).rejects.toThrow('views without a context');
});

describe.each(Object.entries(primitives))('%s', (name, primitive) => {
  const [a, b] = [open(), open()];
  const stored = a.column(new Uint32Array(ROWS));
  const call = async (x: U32, options?: q.ContextOption): Promise<q.Table> => primitive(x, options);
  const isNamed = expect.stringContaining(name.split(' ')[0]!);

  test('refuses columns of another context than the given one', async () => {
    const before = b.backend.counters.liveBuffers;
    await expect(call(stored, { context: b })).rejects.toMatchObject({ code: 'column/contexts', message: isNamed });
    expect(b.backend.counters.liveBuffers).toBe(before);
    const homes = columnsIn(await call(stored, { context: a })).map(({ context }) => context);
    expect(new Set(homes)).toEqual(new Set([a]));
  });

  test('uses the context of its columns inside the scope of another', async () => {
    const made: (q.Table | Promise<q.Table>)[] = [];
    b.scope(() => {
      made.push(primitive(stored));
    });
    const homes = columnsIn(await made[0]!).map(({ context }) => context);
    expect(new Set(homes)).toEqual(new Set([a]));
  });

  test.each([
    ['a number', 5, 'argument/type'],
    ['null', null, 'argument/type'],
    ['a record', {}, 'argument/type'],
    ['the class', Context, 'argument/type'],
    ['a backend', a.backend, 'argument/type'],
    ['a promise', Promise.resolve(a), 'argument/promise'],
  ])('refuses %s as its context', async (_, context, code) => {
    const refusal = { code, message: expect.stringMatching(/context/) };
    await expect(call(generator(), { context } as never)).rejects.toMatchObject(refusal);
    await expect(call(stored, { context } as never)).rejects.toMatchObject(refusal);
  });
});

test.each(plainBackends)('a closed context is refused: $name', async ({ open }) => {
  const context = new Context(await open());
  await context.close();
  for (const [name, primitive] of Object.entries(primitives)) {
    const call = async (): Promise<q.Table> => primitive(generator(), { context });
    await expect(call(), name).rejects.toMatchObject({ code: 'device/closed' });
  }
});

test('stored rows are counted by generated flags', async () => {
  const context = open();
  const rows = context.column(Uint32Array.of(3, 1, 2));
  const flags = q.map(isOdd, { x: q.sequence(3) });
  const found = { count: q.count(rows, flags), all: q.all(rows, flags), any: q.any(rows, flags) };
  expect(await context.read(found)).toEqual({ count: Uint32Array.of(1), all: Uint8Array.of(0), any: Uint8Array.of(1) });
});

test('captured generators are stored in the scope', async () => {
  const context = open();
  const lookUp = fn({ x: u32, table: q.array(u32) }, u32, ({ x, table }) => table.at(x));
  const view = context.scope(() => q.map(lookUp, { x: q.sequence(3), table: q.sequence(9, 5) }));
  expect(view.context).toBe(context);
  expect(await context.read(view)).toEqual(Uint32Array.of(5, 6, 7));
  context.dispose(view);
  expect(context.backend.counters.liveBytes).toBe(0);
});
