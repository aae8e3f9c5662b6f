import { describe, expect } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { ArgumentError } from '../../../primitives/checks/errors.ts';
import type { Column, Table } from '../../../primitives/columns/column.ts';
import { asHostArray, decodedArray, encode, type HostArray } from '../../../primitives/columns/host-array.ts';
import { fuse } from '../../../primitives/columns/program.ts';
import { Context } from '../../../primitives/context/context.ts';
import { sinkOf } from '../../../primitives/context/downloads.ts';
import * as q from '../../../primitives/index.ts';
import { entryOf, type Statement } from '../../../primitives/ir/ir.ts';
import { hostColumn, recipe, rowCount, rowsOf } from '../../arbitraries/columns.ts';
import type { HostKind } from '../../arbitraries/host-kinds.ts';
import { present, presentation } from '../../arbitraries/presentations.ts';
import { testLaws, testOnEveryBackend } from '../../backends.ts';
import { THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { assertSameBytes } from '../../laws/compare.ts';
import { law } from '../../laws/law.ts';
import { rowsIn, take } from '../../laws/rows.ts';

const { u32, f32, bool, fn } = q;

testLaws([
  law(
    'columns of every type are read back unchanged, in every presentation',
    [
      rowsOf({ u32: 'u32', i32: 'i32', f32: 'f32', bool: 'bool', u8: 'u8', i8: 'i8', u16: 'u16', i16: 'i16' }),
      presentation,
    ],
    async (run, host, how) => {
      const result = await run((context) => present(context, host, how));
      assertSameBytes(result, take(host, [...Array(rowsIn(host)).keys()]), 'rows', true);
    },
  ),
]);

describe('host arrays', () => {
  const kind = fc.constantFrom<HostKind[]>('u32', 'i32', 'f32', 'bool', 'u8', 'i8', 'u16', 'i16');
  const array: fc.Arbitrary<HostArray> = fc
    .tuple(kind, rowCount, recipe)
    .map(([of, rows, each]) => hostColumn(of, rows, each));

  test.prop([array])('are encoded to words and decoded without change', (data) => {
    const { type, storage, words } = encode(data);
    const back = decodedArray(type, data.length);
    sinkOf(back, storage, 0, data.length)(words, 0);
    expect(Array.from(back, Number)).toEqual(Array.from(data as ArrayLike<number>, Number));
    expect(encode(asHostArray(type, back)).type).toBe(type);
  });

  test.prop([fc.nat({ max: 3 }), fc.nat({ max: 9 })])(
    'that start at any byte offset are read from there',
    (from, length) => {
      const bytes = Uint8Array.from({ length: 20 }, (_, i) => i).subarray(from, from + length);
      const { words, storage, type } = encode(bytes);
      const back = decodedArray(type, length);
      sinkOf(back, storage, 0, length)(words, 0);
      expect([...back]).toEqual([...bytes]);
    },
  );

  test.each([
    [new Float64Array(1)],
    [new BigUint64Array(1)],
    [[1, 2] as never],
    ['text' as never],
    [undefined as never],
  ])('of unsupported kinds are refused: %o', (data) =>
    expect(() => encode(data as never)).toThrow(expect.objectContaining({ code: 'column/host-type' })),
  );
});

const isOdd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const pair = fn({ x: u32, rank: u32 }, u32, ({ x, rank }) => x.add(rank));
const both = fn('both', { x: u32, y: u32 }, u32, ({ x, y }) => x.add(y));
const bins = fn({ x: u32, rank: u32 }, { bin: u32, histogram: u32 }, ({ x, rank }) => ({ bin: x, histogram: rank }));
const beside = fn({ x: u32, y: q.neighbours(u32) }, u32, ({ x, y }) => x.add(y.at(1)));
type U32 = Column<'u32'>;

/** All primitives of two columns that must have equally many rows. */
const ofRows: { readonly [primitive: string]: (a: U32, b: U32) => unknown } = {
  map: (x, y) => q.map(both, { x, y }),
  copyIf: (x, y) => q.copyIf(x, q.map(isOdd, { x: y })),
  partition: (x, y) => q.partition({ x, y }, isOdd),
  removeIf: (x, y) => q.removeIf({ x, y }, isOdd),
  count: (x, y) => q.count({ x, y }, isOdd),
  all: (x, y) => q.all({ x, y }, isOdd),
  any: (x, y) => q.any({ x, y }, isOdd),
  reduce: (a, b) => q.reduce({ a, b }, q.product({ a: q.plus(u32), b: q.plus(u32) })),
  inclusiveScan: (lo, hi) => q.inclusiveScan({ lo, hi }, q.plus(q.u64)),
  exclusiveScan: (lo, hi) => q.exclusiveScan({ lo, hi }, q.plus(q.u64)),
  segmentedScan: (x, y) => q.segmentedScan(x, q.map(isOdd, { x: y }), q.plus(u32)),
  reduceByKey: (x, y) => q.reduceByKey(x, y, q.plus(u32)),
  uniqueByKey: (x, y) => q.uniqueByKey(x, y),
  unique: (x, y) => q.unique({ x, y }),
  runHeads: (x, y) => q.runHeads({ x, y }),
  runLengthEncode: (x, y) => q.runLengthEncode({ x, y }),
  sort: (lo, hi) => q.sort({ lo, hi }),
  sortByKey: (x, y) => q.sortByKey(x, { y }),
  sortPermutation: (lo, hi) => q.sortPermutation({ lo, hi }),
  slice: (x, y) => q.slice({ x, y }, 1),
  reverse: (x, y) => q.reverse({ x, y }),
  gather: (x, y) => q.gather({ x, y }, q.sequence(3)),
  scatter: (x, y) => q.scatter(x, y, 10),
  scatterIf: (x, y) => q.scatterIf(x, q.sequence(4), q.map(isOdd, { x: y }), 10),
  scatterReduce: (x, y) => {
    const onto = q.scatter(y, y, 9);
    q.scatterReduce(x, y, 'add', onto);
    return onto;
  },
  lowerBound: (lo, hi) => q.lowerBound({ lo, hi }, { lo, hi: lo }),
  upperBound: (lo, hi) => q.upperBound({ lo, hi: lo }, { lo, hi }),
  merge: (lo, hi) => q.merge({ lo, hi }, { lo, hi: lo }),
  mergeByKey: (keys, values) => q.mergeByKey({ keys, values }, { keys, values: keys }),
  setUnion: (lo, hi) => q.setUnion({ lo, hi }, { lo, hi: lo }),
  setIntersectionByKey: (keys, values) => q.setIntersectionByKey({ keys, values }, values),
  selectKth: (lo, hi) => q.selectKth({ lo, hi }, 1),
  quantiles: (lo, hi) => q.quantiles({ lo, hi }, [0.5]),
  stencil: (x, y) => q.stencil(beside, { x, y }),
  adjacentDifference: (x, y) => q.adjacentDifference({ x, y }),
  minElement: (lo, hi) => q.minElement({ lo, hi }),
  expand: (x, y) => q.expand({ x }, y, pair, { capacity: 10 }),
  rankHistogram: (x, y) =>
    q.rankHistogram({ active: q.map(isOdd, { x: y }), x }, bins, { ranks: 2, bins: 2, histograms: 2 }),
};

/** All primitives that take one column. */
const ofOne: { readonly [primitive: string]: (column: U32) => unknown } = {
  histogram: (x) => q.histogram(x, 4),
  histogramEven: (x) => q.histogramEven(x, 0, 4, 2),
  maxElement: (x) => q.maxElement(x),
};

const open = (): Context => new Context(createReferenceBackend());
const four = (context: Context): U32 => context.column(Uint32Array.of(1, 2, 3, 4));
const code = (name: string): unknown => expect.objectContaining({ code: name });

describe.each(Object.entries(ofRows))('%s', (_, primitive) => {
  test('refuses columns of different lengths', () => {
    const context = open();
    const three = context.column(Uint32Array.of(1, 2, 3));
    expect(() => primitive(four(context), three)).toThrow(code('column/length'));
    expect(() => primitive(q.copyIf(four(context), isOdd), four(context))).toThrow(code('column/length'));
    expect(() => primitive(q.copyIf(four(context), isOdd), q.copyIf(four(context), isOdd))).toThrow(
      code('column/length'),
    );
  });

  test('refuses columns of different contexts', () => {
    expect(() => primitive(four(open()), four(open()))).toThrow(code('column/contexts'));
  });
});

describe.each(Object.entries({ ...ofRows, ...ofOne }))('%s', (_, primitive) => {
  test('refuses freed memory, at the latest when it is read', async () => {
    const context = open();
    const freed = four(context);
    context.dispose(freed);
    const use = async (): Promise<unknown> => {
      const result = primitive(freed, four(context));
      return context.read(result as Table);
    };
    await expect(use()).rejects.toThrow(code('column/released'));
  });
});

/**
 * Calls with a column of the wrong type for every argument with a fixed type. Only JavaScript callers can make such
 * calls.
 */
const ofWrongTypes: { readonly [what: string]: (context: Context) => unknown } = {
  'flags of copyIf': (c) => q.copyIf(four(c), four(c) as never),
  'result of a predicate': (c) => q.copyIf(four(c), fn({ x: u32 }, u32, ({ x }) => x) as never),
  'heads of segmentedScan': (c) => q.segmentedScan(four(c), four(c) as never, q.plus(u32)),
  'indices of gather': (c) => q.gather(four(c), c.column(Float32Array.of(1)) as never),
  'indices of scatter': (c) => q.scatter(four(c), c.column(Int32Array.of(1, 2, 3, 0)) as never, 4),
  'flags of scatterIf': (c) => q.scatterIf(four(c), four(c), four(c) as never, 4),
  'values of scatterReduce': (c) => q.scatterReduce(c.column([true]) as never, four(c), 'add', four(c)),
  'elements of scatterReduce': (c) => q.scatterReduce(four(c), four(c), 'add', c.column([true]) as never),
  'bins of histogram': (c) => q.histogram(c.column(Float32Array.of(1)) as never, 4),
  'values of binOf': (c) => q.binOf(c.column([true]) as never, [0, 1]),
  'values of minElement': (c) => q.minElement(c.column([true]) as never),
  'values of adjacentDifference': (c) => q.adjacentDifference(c.column([true]) as never),
  'places of selectKth': (c) => q.selectKth(four(c), c.column(Int32Array.of(1)) as never),
  'counts of expand': (c) =>
    q.expand({ x: four(c) }, c.column(Int32Array.of(1, 1, 1, 1)) as never, pair, { capacity: 9 }),
  'flags of rankHistogram': (c) =>
    q.rankHistogram({ active: four(c) as never, x: four(c) }, bins, { ranks: 2, bins: 2, histograms: 2 }),
  'an array for a column': () => q.reverse(Uint32Array.of(1) as never),
  'a number in a table': (c) => q.reverse({ x: four(c), y: 5 } as never),
  'text for a table': () => q.reverse('abc' as never),
  'nothing for a table': () => q.reverse(undefined as never),
};

test.each(Object.entries(ofWrongTypes))('a wrong type is refused: %s', (_, primitive) => {
  const context = open();
  expect(() => primitive(context)).toThrow(code('column/type'));
});

describe('a pipeline', () => {
  test('refuses generators without a context when it must store', () => {
    const views = q.sequence(4);
    for (const use of [() => q.reduce(views, q.plus(u32)), () => q.sort(views), () => q.copyIf(views, isOdd)]) {
      expect(use).toThrow(code('column/no-context'));
    }
  });

  test('refuses a device count of another context', async () => {
    const [one, other] = [open(), open()];
    const { length } = q.copyIf(four(one), isOdd);
    four(other);
    await expect(other.read(q.sequence(length))).rejects.toThrow(code('column/contexts'));
    expect(() => q.fill(other, u32, 1, length)).toThrow(code('column/contexts'));
    expect(() => q.scatter(four(other), four(other), length)).toThrow(code('column/contexts'));
    expect(await one.read(q.reduce(q.sequence(length), q.plus(u32)))).toEqual(Uint32Array.of(1));
  });

  test('refuses no columns at all', () => {
    const context = open();
    expect(() => q.reverse({})).toThrow(code('column/none'));
    expect(() => q.unique({})).toThrow(code('column/none'));
    expect(() => q.reduceByKey({}, four(context), q.plus(u32))).toThrow(code('column/none'));
    expect(() => q.scatter({}, four(context), 3)).not.toThrow();
  });

  test.each([-1, 0.5, Number.NaN, 2 ** 32, Number.POSITIVE_INFINITY])('refuses %d as a number of rows', (rows) => {
    const context = open();
    const column = four(context);
    const uses = [
      () => q.sequence(rows),
      () => q.constant(f32, 1, rows),
      () => q.fill(context, u32, 1, rows),
      () => q.slice(column, rows),
      () => q.scatter(column, column, rows),
      () => q.expand({ x: column }, column, pair, { capacity: rows }),
    ];
    for (const use of uses) expect(use).toThrow(code('column/size'));
  });

  test('refuses a missing length and a missing monoid', () => {
    const column = four(open());
    const [scatter, reduce, scan] = [q.scatter, q.reduce, q.exclusiveScan] as unknown as ((
      ...args: unknown[]
    ) => void)[];
    expect(() => scatter!(column, column)).toThrow(code('column/size'));
    expect(() => scatter!(column, column, {})).toThrow(code('column/size'));
    expect(() => reduce!(column)).toThrow(code('monoid/none'));
    expect(() => scan!(column, (a: number) => a)).toThrow(code('monoid/none'));
  });

  test('has errors with the difference and a remedy', () => {
    const context = open();
    const counted = q.copyIf(four(context), isOdd);
    expect(() => q.map(both, { x: four(context), y: counted })).toThrow(ArgumentError);
    expect(() => q.map(both, { x: four(context), y: counted })).toThrow(
      'The columns given to both must have the same length. Expected 4, got a device count of at most 4.',
    );
  });
});

/** A functor that counts how often x can be halved until 1 is left. It never ends if x is 0. */
const halvings = fn({ x: u32 }, u32, ({ x }) => {
  const left = q.Var(x);
  const times = q.Var(u32(0));
  q.While(
    () => left.ne(1),
    () => {
      left.set(left.shr(1));
      times.set(times.add(1));
    },
  );
  return times;
});

const isNotZero = fn({ x: u32 }, bool, ({ x }) => x.ne(0));
const isNotFive = fn({ x: u32 }, bool, ({ x }) => x.ne(5));
const halvingBins = fn({ x: u32, rank: u32 }, { bin: u32, histogram: u32 }, ({ x, rank }) => ({
  bin: halvings({ x }),
  histogram: rank,
}));

testOnEveryBackend('a functor can be a chain of thousands of operations', async ({ context }) => {
  const rounds = THOROUGH ? 5000 : 2000;
  const long = fn({ x: u32 }, u32, ({ x }) => {
    let value = x;
    for (let round = 0; round < rounds; round++) value = value.mul(3).add(round);
    return value;
  });
  const expected = (x: number): number => {
    let value = x;
    for (let round = 0; round < rounds; round++) value = (Math.imul(value, 3) + round) >>> 0;
    return value;
  };
  expect(await context.read(q.map(long, { x: q.sequence(4) }))).toEqual(Uint32Array.of(0, 1, 2, 3).map(expected));
});

testOnEveryBackend('views with loops are evaluated only where they have rows', async ({ context }) => {
  const x = context.column(Uint32Array.of(1, 2, 4, 5, 64));
  const view = q.map(halvings, { x });
  const some = q.copyIf(context.column(Uint32Array.of(1, 2, 0, 4, 5, 64)), isNotFive);
  const result = context.scope(() => ({
    runs: q.reduceByKey(view, x, q.plus(u32)),
    gathered: q.gather(view, context.column(Uint32Array.of(4, 5, 2 ** 32 - 1, 1))),
    onto: q.scatter(x, x, 7, { onto: view }),
    histograms: q.rankHistogram({ active: q.map(isNotZero, { x: some }), x: some }, halvingBins, {
      ranks: 2,
      bins: 7,
      histograms: 2,
    }),
  }));
  expect(await context.read(result)).toEqual({
    runs: { keys: Uint32Array.of(0, 1, 2, 6), values: Uint32Array.of(1, 2, 9, 64) },
    gathered: Uint32Array.of(6, 0, 0, 1),
    onto: Uint32Array.of(0, 1, 2, 2, 4, 5, 0),
    histograms: Uint32Array.of(1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1),
  });
  context.dispose(result, x, some);
});

describe('fusion', () => {
  /** The kinds of all statements in a block and in its nested blocks. */
  const kindsIn = (block: readonly Statement[]): string[] =>
    block.flatMap((statement) => [
      statement.kind,
      ...(statement.kind === 'if' ? kindsIn([...statement.consequent, ...statement.alternative]) : []),
      ...(statement.kind === 'loop' ? kindsIn([...statement.body, ...statement.step]) : []),
    ]);

  test('loads a column once per index, for any number of uses', () => {
    const column = four(open());
    const view = q.map(both, { x: column, y: column });
    const { module } = fuse('twice', [], ['u32', 'u32', 'u32', 'u32'], (index, _, loader) => [
      ...loader.load([column, view], index),
      ...loader.load([view, column], index),
    ]);
    const kinds = kindsIn(entryOf(module).body);
    expect(kinds.filter((kind) => kind === 'read')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'call')).toHaveLength(1);
  });

  test('loads again at another index, and after a branch that hides the first load', () => {
    const column = four(open());
    const { module } = fuse('branches', [], ['u32'], (index, _, loader) => {
      const sum = q.Var(u32(0));
      q.If(index.eq(1), () => sum.set((loader.load([column], index) as q.U32[])[0]!));
      const [after] = loader.load([column], index) as q.U32[];
      const [next] = loader.load([column], index.add(1)) as q.U32[];
      return [sum.add(after!).add(next!)];
    });
    expect(kindsIn(entryOf(module).body).filter((kind) => kind === 'read')).toHaveLength(3);
  });

  test('loads again at a variable, which may have changed', () => {
    const column = four(open());
    const { module } = fuse('variable', [], ['u32'], (_index, _, loader) => {
      const at = q.Var(u32(0));
      const [first] = loader.load([column], at) as q.U32[];
      at.set(2);
      const [second] = loader.load([column], at) as q.U32[];
      return [first!.add(second!)];
    });
    expect(kindsIn(entryOf(module).body).filter((kind) => kind === 'read')).toHaveLength(2);
  });
});
