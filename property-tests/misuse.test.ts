import { afterAll, describe, expect, test } from 'vitest';
import { createFailoverBackend } from '../backends/failover/index.ts';
import { createReferenceBackend } from '../backends/reference/index.ts';
import { createSpillingBackend } from '../backends/spilling/index.ts';
import { createWebGpuBackend } from '../backends/webgpu/index.ts';
import { createWorkersBackend } from '../backends/workers/index.ts';
import * as q from '../index.ts';

/** Calls that `tsc` refuses: what a program that is not checked may make. */
type Loose = Record<string, (...args: unknown[]) => unknown>;
const p = q as unknown as Loose;
const { bool, f32, fn, u32 } = q;

const context = new q.Context(createReferenceBackend());
const foreign = new q.Context(createReferenceBackend());
const c = context as unknown as Loose;
afterAll(async () => {
  await context.close();
  await foreign.close();
});

const x = context.column(Uint32Array.of(3, 1, 2));
const y = context.column(Float32Array.of(0.5, 1, 2));
const flags = context.column([true, false, true]);
const stranger = foreign.column(Uint32Array.of(3, 1, 2));
const gone = context.column(Uint32Array.of(3, 1, 2));
context.dispose(gone);
const goneFlags = context.column([true]);
context.dispose(goneFlags);
const promise = Promise.resolve(x);
const plain = { neither: 'column' };
const double = fn('double', { x: u32 }, u32, ({ x }) => x.mul(2));
const isOdd = fn('isOdd', { x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const ofRank = fn('ofRank', { x: u32, rank: u32 }, u32, ({ x, rank }) => x.add(rank));
const scaled = fn('scaled', { x: u32, by: q.uniform(u32), table: q.array(u32) }, u32, ({ x, by, table }) =>
  x.mul(by).add(table.at(x)),
);
const counted = fn('counted', { rank: u32 }, { bin: u32, histogram: u32 }, ({ rank }) => ({ bin: rank, histogram: 0 }));
const middle = fn('middle', { cell: q.neighbours(u32) }, u32, ({ cell }) => cell.at(0));
const start = fn('start', { x: u32 }, { left: u32 }, ({ x }) => ({ left: x }));
const step = fn('step', { left: u32 }, { more: bool, emits: bool, state: { left: u32 }, value: u32 }, ({ left }) => ({
  more: false,
  emits: true,
  state: { left },
  value: left,
}));
const arrow = (a: unknown): unknown => a;
const sum = q.plus(u32);

/** A wrong call: what is wrong, the call, the code of its error, and what the message names. */
type Row = readonly [wrong: string, call: () => unknown, code: string, names: string];

/** What may stand where a table is wanted, and is none. */
const notTables: readonly (readonly [wrong: string, given: unknown, code: string])[] = [
  ['nothing', undefined, 'column/type'],
  ['null', null, 'column/type'],
  ['a number', 7, 'column/type'],
  ['NaN', Number.NaN, 'column/type'],
  ['a text', 'x', 'column/type'],
  ['a promise', promise, 'argument/promise'],
  ['a record of a promise', { x: promise }, 'argument/promise'],
  ['an object of something else', plain, 'column/type'],
  ['an array of columns', [x], 'column/type'],
  ['a typed array', Uint32Array.of(1), 'column/type'],
  ['a functor', double, 'column/type'],
  ['a JavaScript function', arrow, 'column/type'],
  ['a context', context, 'column/type'],
  ['a Map', new Map([['x', x]]), 'column/type'],
  ['a released column', gone, 'column/released'],
];

/** Every place of a primitive that takes a table. */
const tablePlaces: readonly (readonly [place: string, call: (given: unknown) => unknown, names: string])[] = [
  ['copyIf table', (t) => p.copyIf!(t, isOdd), 'copyIf'],
  ['removeIf table', (t) => p.removeIf!(t, isOdd), 'removeIf'],
  ['partition table', (t) => p.partition!(t, isOdd), 'partition'],
  ['count table', (t) => p.count!(t, isOdd), 'table'],
  ['gather source', (t) => p.gather!(t, x), 'source'],
  ['scatter rows', (t) => p.scatter!(t, x, 3), 'rows'],
  ['scatter onto', (t) => p.scatter!(x, x, 3, { onto: t ?? null }), 'onto'],
  ['scatterReduce values', (t) => p.scatterReduce!(t, x, 'add', x), 'values'],
  ['slice table', (t) => p.slice!(t, 1), 'table'],
  ['reverse table', (t) => p.reverse!(t), 'table'],
  ['reduce input', (t) => p.reduce!(t, sum), 'input'],
  ['inclusiveScan input', (t) => p.inclusiveScan!(t, sum), 'input'],
  ['exclusiveScan input', (t) => p.exclusiveScan!(t, sum), 'input'],
  ['segmentedScan input', (t) => p.segmentedScan!(t, flags, sum), 'input'],
  ['reduceByKey keys', (t) => p.reduceByKey!(t, x, sum), 'keys'],
  ['reduceByKey values', (t) => p.reduceByKey!(x, t, sum), 'values'],
  ['uniqueByKey values', (t) => p.uniqueByKey!(x, t), 'values'],
  ['unique keys', (t) => p.unique!(t), 'keys'],
  ['runHeads keys', (t) => p.runHeads!(t), 'keys'],
  ['runLengthEncode keys', (t) => p.runLengthEncode!(t), 'keys'],
  ['sortByKey values', (t) => p.sortByKey!(x, t), 'values'],
  ['concatenate tables', (t) => p.concatenate!([x, t]), 'tables[1]'],
  ['adjacentDifference values', (t) => p.adjacentDifference!(t), 'values'],
  ['expand rows', (t) => p.expand!(t, 2, ofRank, { capacity: 9 }), 'rows'],
  ['unfold rows', (t) => p.unfold!(t, start, step, { capacity: 9 }), 'rows'],
  ['read', (t) => c.read!(t), 'read'],
  ['materialize', (t) => c.materialize!(t), 'materialize'],
  ['count', (t) => c.count!(t), 'count'],
  ['adopt', (t) => c.adopt!(t), 'adopt'],
];

/** What may stand where one column is wanted. */
const notColumns: readonly (readonly [wrong: string, given: unknown, code: string])[] = [
  ...notTables.filter(([wrong]) => wrong !== 'a record of a promise'),
  ['a record', { x }, 'column/type'],
  ['a column of another type', y, 'column/type'],
];

const columnPlaces: readonly (readonly [place: string, call: (given: unknown) => unknown, names: string])[] = [
  ['gather indices', (t) => p.gather!(x, t), 'indices'],
  ['scatter indices', (t) => p.scatter!(x, t, 3), 'indices'],
  ['scatterIf flags', (t) => p.scatterIf!(x, x, t, 3), 'flags'],
  ['scatterReduce onto', (t) => p.scatterReduce!(x, x, 'add', t), 'onto'],
  ['segmentedScan heads', (t) => p.segmentedScan!(x, t, sum), 'heads'],
  ['histogram bins', (t) => p.histogram!(t, 3), 'bins'],
  ['expand counts', (t) => p.expand!({ x }, t, ofRank, { capacity: 9 }), 'counts'],
  ['unfoldReduce onto', (t) => p.unfoldReduce!({ x }, start, step, 'add', t), 'onto'],
  [
    'rankHistogram active',
    (t) => p.rankHistogram!({ active: t, x }, counted, { ranks: 1, bins: 1, histograms: 1 }),
    'active',
  ],
];

const keyPlaces: readonly (readonly [place: string, call: (given: unknown) => unknown, names: string])[] = [
  ['sort keys', (k) => p.sort!(k), 'keys'],
  ['sortByKey keys', (k) => p.sortByKey!(k, x), 'keys'],
  ['sortPermutation keys', (k) => p.sortPermutation!(k), 'keys'],
  ['merge first', (k) => p.merge!(k, x), 'first'],
  ['merge second', (k) => p.merge!(x, k), 'second'],
  ['mergeByKey keys', (k) => p.mergeByKey!({ keys: k, values: x }, { keys: x, values: x }), 'first.keys'],
  ['lowerBound keys', (k) => p.lowerBound!(k, x), 'keys'],
  ['upperBound needles', (k) => p.upperBound!(x, k), 'needles'],
  ['selectKth keys', (k) => p.selectKth!(k, 1), 'keys'],
  ['quantiles keys', (k) => p.quantiles!(k, [0.5]), 'keys'],
  ['minElement values', (k) => p.minElement!(k), 'values'],
  ['maxElement values', (k) => p.maxElement!(k), 'values'],
];

const functorPlaces: readonly (readonly [place: string, call: (given: unknown) => unknown, names: string])[] = [
  ['map functor', (f) => p.map!(f, { x }), 'functor'],
  ['tabulate functor', (f) => p.tabulate!(3, f), 'functor'],
  ['stencil functor', (f) => p.stencil!(f, { cell: x }), 'functor'],
  ['copyIf predicate', (f) => p.copyIf!(x, f), 'predicate'],
  ['partition predicate', (f) => p.partition!(x, f), 'predicate'],
  ['removeIf predicate', (f) => p.removeIf!(x, f), 'predicate'],
  ['count predicate', (f) => p.count!(x, f), 'predicate'],
  ['all predicate', (f) => p.all!(x, f), 'predicate'],
  ['any predicate', (f) => p.any!(x, f), 'predicate'],
  ['expand functor', (f) => p.expand!({ x }, 2, f, { capacity: 9 }), 'functor'],
  ['unfold start', (f) => p.unfold!({ x }, f, step, { capacity: 9 }), 'start'],
  ['unfold step', (f) => p.unfold!({ x }, start, f, { capacity: 9 }), 'step'],
  [
    'rankHistogram element',
    (f) => p.rankHistogram!({ active: flags }, f, { ranks: 1, bins: 1, histograms: 1 }),
    'element',
  ],
];

const notFunctors: readonly (readonly [wrong: string, given: unknown, code: string])[] = [
  ['nothing', undefined, 'argument/functor'],
  ['a JavaScript function', arrow, 'argument/functor'],
  ['a promise', promise, 'argument/promise'],
  ['a plain object', plain, 'argument/functor'],
  ['a type', u32, 'argument/functor'],
  ['a text', 'double', 'argument/functor'],
];

const monoidPlaces: readonly (readonly [place: string, call: (given: unknown) => unknown, names: string])[] = [
  ['reduce monoid', (m) => p.reduce!(x, m), 'monoid'],
  ['inclusiveScan monoid', (m) => p.inclusiveScan!(x, m), 'monoid'],
  ['segmentedScan monoid', (m) => p.segmentedScan!(x, flags, m), 'monoid'],
  ['reduceByKey monoid', (m) => p.reduceByKey!(x, x, m), 'monoid'],
  ['segmented inner', (m) => p.segmented!(m), 'inner'],
  ['product fields', (m) => p.product!({ total: m }), 'fields.total'],
];

const notMonoids: readonly (readonly [wrong: string, given: unknown, code: string])[] = [
  ['nothing', undefined, 'monoid/none'],
  ['the maker of one', q.plus, 'monoid/none'],
  ['a JavaScript function', arrow, 'monoid/none'],
  ['a promise', promise, 'argument/promise'],
  ['a plain object', plain, 'monoid/none'],
];

const notCounts: readonly (readonly [wrong: string, given: unknown])[] = [
  ['nothing', undefined],
  ['a text', '5'],
  ['NaN', Number.NaN],
  ['a negative number', -1],
  ['a fraction', 0.5],
  ['infinity', Number.NEGATIVE_INFINITY],
  ['a plain object', plain],
];

const countPlaces: readonly (readonly [
  place: string,
  call: (given: unknown) => unknown,
  code: string,
  names: string,
])[] = [
  ['sequence length', (n) => p.sequence!(n), 'column/size', 'length'],
  ['constant length', (n) => p.constant!(u32, 1, n), 'column/size', 'length'],
  ['fill length', (n) => p.fill!(context, u32, 1, n), 'column/size', 'length'],
  ['tabulate length', (n) => p.tabulate!(n, double), 'column/size', 'length'],
  ['scatter length', (n) => p.scatter!(x, x, n), 'column/size', 'length'],
  ['slice from', (n) => p.slice!(x, n), 'column/size', 'from'],
  ['histogram count', (n) => p.histogram!(x, n), 'histogram/size', 'count'],
  ['expand capacity', (n) => p.expand!({ x }, 1, ofRank, { capacity: n ?? null }), 'column/size', 'capacity'],
  ['unfold capacity', (n) => p.unfold!({ x }, start, step, { capacity: n ?? null }), 'column/size', 'capacity'],
  [
    'rankHistogram bins',
    (n) => p.rankHistogram!({ active: flags }, counted, { ranks: 1, bins: n, histograms: 1 }),
    'histogram/size',
    'bins',
  ],
  ['histogramEven bins', (n) => p.histogramEven!(y, 0, 1, n), 'histogram/size', 'bins'],
];

/** Wrong in a way of its own. */
const single: readonly Row[] = [
  ['gather, a column of another context', () => p.gather!(x, stranger), 'column/contexts', 'gather'],
  [
    'map, a column of another context',
    () => p.map!(scaled, { x, by: 1, table: stranger }),
    'column/contexts',
    'scaled',
  ],
  ['concatenate, a column of another context', () => p.concatenate!([x, stranger]), 'column/contexts', 'concatenate'],
  ['read, a column of another context', () => c.read!(stranger), 'column/contexts', 'read'],
  ['sortByKey, a column of another context', () => p.sortByKey!(x, stranger), 'column/contexts', 'sortByKey'],
  ['concatenate, two tables', () => p.concatenate!(x, x), 'argument/type', 'tables'],
  ['concatenate, a promise', () => p.concatenate!(promise), 'argument/promise', 'tables'],
  ['concatenate, no table', () => p.concatenate!([]), 'concatenate/nothing', 'concatenate'],
  ['concatenate, tables of other columns', () => p.concatenate!([x, y]), 'concatenate/columns', 'concatenate'],
  ['map, no arguments', () => p.map!(double), 'argument/type', 'args'],
  ['map, a promise', () => p.map!(double, promise), 'argument/promise', 'args'],
  ['map, an array', () => p.map!(double, [x]), 'argument/type', 'args'],
  ['map, a column', () => p.map!(double, x), 'argument/type', 'args'],
  ['map, a parameter that is missing', () => p.map!(double, {}), 'map/argument', 'x'],
  ['map, a promise of a parameter', () => p.map!(double, { x: promise }), 'argument/promise', 'as x'],
  ['map, a column of another type', () => p.map!(double, { x: y }), 'map/column', 'as x'],
  ['map, a number for a column', () => p.map!(double, { x: 3 }), 'map/column', 'as x'],
  ['map, a released column', () => p.map!(double, { x: gone }), 'column/released', 'as x'],
  ['map, no uniform', () => p.map!(scaled, { x, table: x }), 'map/uniform', 'by'],
  ['map, a text for a uniform', () => p.map!(scaled, { x, by: '2', table: x }), 'map/uniform', 'by'],
  ['map, a promise for a uniform', () => p.map!(scaled, { x, by: Promise.resolve(2), table: x }), 'map/uniform', 'by'],
  ['map, no table', () => p.map!(scaled, { x, by: 2 }), 'map/argument', 'table'],
  ['map, a functor of neighbours', () => p.map!(middle, { cell: x }), 'map/neighbours', 'middle'],
  ['stencil, no arguments', () => p.stencil!(middle), 'argument/type', 'args'],
  [
    'stencil, a wrong boundary',
    () => p.stencil!(middle, { cell: x }, { boundary: 'none' }),
    'stencil/boundary',
    'boundary',
  ],
  [
    'stencil, null for a boundary',
    () => p.stencil!(middle, { cell: x }, { boundary: null }),
    'stencil/boundary',
    'boundary',
  ],
  ['stencil, a text for a width', () => p.stencil!(middle, { cell: x }, { width: '3' }), 'stencil/width', 'width'],
  ['stencil, a number outside', () => p.stencil!(middle, { cell: x }, { outside: 3 }), 'options/value', 'outside'],
  ['copyIf, no predicate', () => p.copyIf!(x), 'argument/functor', 'predicate'],
  ['copyIf, a functor of a number', () => p.copyIf!(x, double), 'column/type', 'predicate'],
  ['copyIf, a functor of other fields', () => p.copyIf!({ z: x }, isOdd), 'map/argument', 'x'],
  ['all, a column of numbers', () => p.all!(x, x), 'column/type', 'predicate'],
  ['sequence, a text for the start', () => p.sequence!(3, '1'), 'sequence/number', 'start'],
  ['sequence, a fraction for the step', () => p.sequence!(3, 0, 0.5), 'sequence/number', 'step'],
  ['constant, no shape', () => p.constant!(undefined, 1, 3), 'argument/shape', 'shape'],
  ['constant, a functor for a shape', () => p.constant!(double, 1, 3), 'argument/shape', 'shape'],
  ['constant, a record with no type', () => p.constant!({ x: { y: 7 } }, 1, 3), 'argument/shape', 'shape.x.y'],
  ['constant, a text for the value', () => p.constant!(u32, '1', 3), 'sequence/value', 'value'],
  ['constant, a promise for the value', () => p.constant!(u32, promise, 3), 'sequence/value', 'value'],
  ['fill, no context', () => p.fill!(undefined, u32, 1, 3), 'argument/type', 'context'],
  ['fill, a promise of a context', () => p.fill!(Promise.resolve(context), u32, 1, 3), 'argument/promise', 'context'],
  ['sort, a text for an option', () => p.sort!(x, { descending: 'yes' }), 'options/value', 'descending'],
  ['sort, a promise for an option', () => p.sort!(x, { bits: promise }), 'argument/promise', 'bits'],
  ['sort, bits that are none', () => p.sort!(x, { bits: { from: 0, to: 33 } }), 'sort/bits', 'bits'],
  ['sort, an unknown option', () => p.sort!(x, { ascending: true }), 'options/unknown', 'ascending'],
  ['sort, an array of options', () => p.sort!(x, [true]), 'options/none', 'options'],
  ['sort, a promise of options', () => p.sort!(x, promise), 'argument/promise', 'options'],
  ['sort, null for options', () => p.sort!(x, null), 'options/none', 'options'],
  ['selectKth, no place', () => p.selectKth!(x), 'column/type', 'k'],
  ['selectKth, a fraction', () => p.selectKth!(x, 0.5), 'select/place', 'k'],
  ['selectKth, a place behind the keys', () => p.selectKth!(x, 3), 'select/place', 'k'],
  ['selectKth, a promise', () => p.selectKth!(x, promise), 'argument/promise', 'k'],
  ['quantiles, no fractions', () => p.quantiles!(x), 'argument/type', 'fractions'],
  ['quantiles, one fraction', () => p.quantiles!(x, 0.5), 'argument/type', 'fractions'],
  ['quantiles, a fraction above 1', () => p.quantiles!(x, [2]), 'select/fraction', 'fractions'],
  ['quantiles, a text', () => p.quantiles!(x, ['0.5']), 'select/fraction', 'fractions'],
  ['binOf, no edges', () => p.binOf!(y), 'histogram/edges', 'edges'],
  ['binOf, flags', () => p.binOf!(flags, [0, 1]), 'column/type', 'values'],
  ['histogramEdges, no edges', () => p.histogramEdges!(y), 'histogram/edges', 'edges'],
  ['histogramEdges, edges that fall', () => p.histogramEdges!(y, [1, 0]), 'histogram/edges', 'edges'],
  ['histogramEdges, a text among the edges', () => p.histogramEdges!(y, [0, '1']), 'histogram/edges', 'edges'],
  ['histogramEdges, a promise of values', () => p.histogramEdges!(promise, [0, 1]), 'argument/promise', 'values'],
  ['histogramEven, no bounds', () => p.histogramEven!(y), 'argument/type', 'low'],
  ['histogramEven, a text for a bound', () => p.histogramEven!(y, 0, '1', 2), 'argument/type', 'high'],
  ['histogram, a segment of 0', () => p.histogram!(x, 3, { segment: 0 }), 'histogram/size', 'segment'],
  ['mergeByKey, nothing', () => p.mergeByKey!(), 'argument/type', 'first'],
  ['mergeByKey, no values', () => p.mergeByKey!({ keys: x, values: x }, { keys: x }), 'column/type', 'second.values'],
  ['mergeByKey, a promise', () => p.mergeByKey!({ keys: x, values: x }, promise), 'argument/promise', 'second'],
  ['merge, keys of two types', () => p.merge!(x, y), 'merge/columns', 'merge'],
  ['lowerBound, needles of another type', () => p.lowerBound!(x, y), 'search/types', 'needles'],
  ['segmentedScan, no kind of scan', () => p.segmentedScan!(x, flags, sum, 'both'), 'scan/kind', 'kind'],
  ['scatterReduce, no combination', () => p.scatterReduce!(x, x, 'times', x), 'scatter/combination', 'combine'],
  [
    'expand, captures that are none',
    () => p.expand!({ x }, 1, ofRank, { capacity: 3, captures: x }),
    'options/value',
    'captures',
  ],
  ['expand, rows with a rank', () => p.expand!({ rank: x }, 1, ofRank, { capacity: 3 }), 'rows/rank', 'rank'],
  ['expand, a functor of other fields', () => p.expand!({ z: x }, 1, ofRank, { capacity: 3 }), 'rows/field', 'x'],
  [
    'unfold, a step that returns something else',
    () => p.unfold!({ x }, start, double, { capacity: 9 }),
    'unfold/result',
    'double',
  ],
  [
    'unfold, a start that returns a number',
    () => p.unfold!({ x }, double, step, { capacity: 9 }),
    'unfold/state',
    'double',
  ],
  ['rankHistogram, nothing', () => p.rankHistogram!(), 'argument/type', 'options'],
  [
    'rankHistogram, a functor of something else',
    () => p.rankHistogram!({ active: flags, x }, double, { ranks: 1, bins: 1, histograms: 1 }),
    'histogram/result',
    'double',
  ],
  ['reduce, flags to add', () => p.reduce!(flags, sum), 'monoid/types', 'reduce'],
  ['monoid, nothing', () => p.monoid!(), 'argument/type', 'definition'],
  ['monoid, a promise', () => p.monoid!(promise), 'argument/promise', 'options'],
  ['monoid, no shape', () => p.monoid!({ identity: 0, combine: arrow }), 'argument/shape', 'of'],
  ['monoid, no identity', () => p.monoid!({ of: u32, combine: arrow }), 'monoid/identity', 'identity'],
  ['monoid, no combine', () => p.monoid!({ of: u32, identity: 0 }), 'argument/type', 'combine'],
  [
    'monoid, a text for exact',
    () => p.monoid!({ of: u32, identity: 0, combine: arrow, exact: 'no' }),
    'options/value',
    'exact',
  ],
  [
    'monoid, a text for the identity',
    () => p.reduce!(x, p.monoid!({ of: u32, identity: '0', combine: arrow })),
    'functor/argument',
    'identity',
  ],
  ...(['plus', 'times', 'minimum', 'maximum', 'bitAnd', 'bitOr', 'bitXor'] as const).flatMap((name): Row[] => [
    [`${name}, nothing`, () => p[name]!(), 'argument/shape', 'type'],
    [`${name}, the name of a type`, () => p[name]!('u32'), 'argument/shape', 'type'],
    [`${name}, a promise`, () => p[name]!(promise), 'argument/promise', 'type'],
    [
      `${name}, a type that it does not take`,
      () => p[name]!(name.startsWith('bit') ? f32 : bool),
      'argument/shape',
      'type',
    ],
  ]),
  ['product, nothing', () => p.product!(), 'argument/type', 'fields'],
  ['product, an array', () => p.product!([sum]), 'argument/type', 'fields'],
  ['column, nothing', () => c.column!(), 'column/host-type', 'data'],
  ['column, numbers', () => c.column!([1, 2]), 'column/host-type', 'data'],
  ['column, a promise', () => c.column!(promise), 'argument/promise', 'data'],
  ['column, f64', () => c.column!(Float64Array.of(1)), 'column/host-type', 'data'],
  ['column64, nothing', () => c.column64!(), 'column/host-type', 'data'],
  ['column64, words', () => c.column64!(Uint32Array.of(1)), 'column/host-type', 'data'],
  ['column64, a promise', () => c.column64!(promise), 'argument/promise', 'data'],
  ['scope, nothing', () => c.scope!(), 'argument/type', 'pipeline'],
  ['scope, a promise', () => c.scope!(promise), 'argument/promise', 'pipeline'],
  ['scope, an asynchronous function', () => c.scope!(async () => x), 'context/async-scope', 'await'],
  ['dispose, a promise', () => c.dispose!(promise), 'argument/promise', 'tables'],
  ['expand, NaN for the counts', () => p.expand!({ x }, Number.NaN, ofRank, { capacity: 3 }), 'column/size', 'counts'],
  ['scatterReduce, a record to scatter onto', () => p.scatterReduce!(x, x, 'add', { x }), 'scatter/onto', 'onto'],
  ['segmentedScan, released heads', () => p.segmentedScan!(x, goneFlags, sum), 'column/released', 'heads'],
];

/** A body of a functor in which something is wrong. */
const inBody =
  (write: (args: Record<'x' | 'table', Record<string, (...args: unknown[]) => unknown>>) => unknown) => () =>
    (p.fn!({ x: u32, table: q.array(u32) }, u32, write as never) as typeof double).module;

const functors: readonly Row[] = [
  ['fn, nothing', () => p.fn!(), 'functor/argument', 'parameters'],
  ['fn, no body', () => p.fn!({ x: u32 }, u32), 'functor/argument', 'body'],
  ['fn, a number for the body', () => p.fn!({ x: u32 }, u32, 7), 'functor/argument', 'body'],
  ['fn, a promise for the body', () => p.fn!({ x: u32 }, u32, promise), 'functor/promise', 'body'],
  ['fn, an array of parameters', () => p.fn!([u32], u32, arrow), 'functor/argument', 'parameters'],
  ['fn, a parameter that is no type', () => p.fn!({ x: 'u32' }, u32, arrow), 'functor/argument', 'parameters.x'],
  ['fn, a result that is no type', () => p.fn!({ x: u32 }, { y: null }, arrow), 'functor/argument', 'result.y'],
  ['fn, an unknown option', () => p.fn!({ x: u32 }, u32, arrow, { slow: true }), 'functor/option', 'slow'],
  ['fn, a text for an option', () => p.fn!({ x: u32 }, u32, arrow, { fast: 'yes' }), 'functor/argument', 'fast'],
  ['fn, a number for the options', () => p.fn!({ x: u32 }, u32, arrow, 7), 'functor/argument', 'options'],
  ['array, nothing', () => p.array!(), 'functor/argument', 'type'],
  ['array, a record', () => p.array!({ x: u32 }), 'functor/argument', 'type'],
  ['uniform, a promise', () => p.uniform!(promise), 'functor/promise', 'type'],
  ['neighbours, nothing', () => p.neighbours!(), 'functor/argument', 'shape'],
  ['wgsl, nothing', () => p.wgsl!(), 'functor/argument', 'text'],
  ['wgsl, a promise', () => p.wgsl!(promise), 'functor/promise', 'text'],
  ['wgsl, a functor', () => p.wgsl!(double), 'functor/argument', 'text'],
  [
    'wgsl, a promise in a template',
    () => q.wgsl`fn f(x: u32) -> u32 { return ${promise as never}; }`,
    'functor/promise',
    'text',
  ],
  [
    'wgsl, an unknown option',
    () => p.wgsl!('fn f(x: u32) -> u32 { return x; }', { entries: 'f' }),
    'functor/option',
    'entries',
  ],
  [
    'wgsl, a number for a name',
    () => p.wgsl!('fn f(x: u32) -> u32 { return x; }', { name: 7 }),
    'functor/argument',
    'name',
  ],
  [
    'wgsl, parameters that are none',
    () => p.wgsl!('fn f(x: u32) -> u32 { return x; }', { parameters: 7 }),
    'functor/argument',
    'parameters',
  ],
  [
    'wgsl, a result that is none',
    () => p.wgsl!('fn f(x: u32) -> u32 { return x; }', { result: { x: 1 } }),
    'functor/argument',
    'result',
  ],
  ['a functor outside of one', () => p.mulU32!({ a: 1, b: 2 }), 'functor/outside-body', 'outside'],
  ['u32 outside of a functor', () => c.read!(p.u32!(1)), 'column/type', 'read'],
  ['Var outside of a functor', () => p.Var!(p.u32!(1)), 'functor/outside-body', 'outside'],
  ['Var of a number', inBody(() => p.Var!(0)), 'functor/argument', 'value'],
  ['Let of nothing', inBody(() => p.Let!()), 'functor/argument', 'value'],
  ['If of a number', inBody(({ x }) => p.If!(x, () => {})), 'functor/argument', 'condition'],
  ['If of true', inBody(() => p.If!(true, () => {})), 'functor/argument', 'condition'],
  ['If without a body', inBody(({ x }) => p.If!(x.eq!(1))), 'functor/argument', 'body'],
  ['Else without a body', inBody(({ x }) => (p.If!(x.eq!(1), () => {}) as Loose).Else!()), 'functor/argument', 'body'],
  [
    'ElseIf of a value',
    inBody(({ x }) => (p.If!(x.eq!(1), () => {}) as Loose).ElseIf!(x.eq!(2), () => {})),
    'functor/argument',
    'condition',
  ],
  ['While of a value', inBody(({ x }) => p.While!(x.eq!(1), () => {})), 'functor/argument', 'condition'],
  [
    'While of a function of a number',
    inBody(() =>
      p.While!(
        () => 1,
        () => {},
      ),
    ),
    'functor/argument',
    'condition',
  ],
  ['For without a body', inBody(() => p.For!(0, 3)), 'functor/argument', 'body'],
  ['For to a text', inBody(() => p.For!(0, '3', () => {})), 'functor/type', "'3'"],
  ['Return of nothing', inBody(() => p.Return!()), 'functor/missing-field', 'value'],
  ['Break outside of a loop', inBody(() => p.Break!()), 'functor/outside-loop', 'Break'],
  ['select of two numbers', inBody(({ x }) => p.select!(1, 2, x.eq!(1))), 'functor/argument', 'select'],
  ['select without a condition', inBody(({ x }) => p.select!(x, x)), 'functor/argument', 'condition'],
  ['min of numbers', inBody(() => p.min!(1, 2)), 'functor/argument', 'first'],
  ['max of nothing', inBody(() => p.max!()), 'functor/argument', 'first'],
  ['clamp of a number', inBody(() => p.clamp!(1, 2, 3)), 'functor/argument', 'x'],
  ['mulhi of a number', inBody(({ x }) => p.mulhi!(x, 2)), 'functor/argument', 'b'],
  ...(
    [
      'clz',
      'ctz',
      'popcount',
      'floor',
      'ceil',
      'trunc',
      'round',
      'sqrt',
      'bitsToU32',
      'bitsToI32',
      'bitsToF32',
    ] as const
  ).map((name): Row => [`${name} of nothing`, inBody(() => p[name]!()), 'functor/argument', name]),
  ['a method that is none', inBody(({ x }) => x.sin!()), 'functor/member', 'sin'],
  ['a field of a number', inBody(({ x }) => (x.lo as unknown as Loose).add!(1)), 'functor/member', 'add'],
  ['set of a value', inBody(({ x }) => x.set!(1)), 'functor/member', 'set'],
  ['a method of an array that is none', inBody(({ table }) => table.get!(0)), 'functor/member', 'get'],
  ['an index of an array', inBody(({ x, table }) => x.add!(table[0])), 'functor/type', 'nothing'],
  ['a method without its operand', inBody(({ x }) => x.add!()), 'functor/type', 'nothing'],
  ['a promise as operand', inBody(({ x }) => x.add!(promise)), 'functor/promise', 'promise'],
  ['a text as operand', inBody(({ x }) => x.add!('1')), 'functor/type', "'1'"],
  ['a fraction as operand', inBody(({ x }) => x.add!(0.5)), 'functor/literal', '0.5'],
  ['a text as literal', inBody(() => p.u32!('1')), 'functor/literal', "'1'"],
  ['a promise as literal', inBody(() => p.f32!(promise)), 'functor/literal', 'promise'],
  ['nothing returned', inBody(() => undefined), 'functor/no-return', 'functor'],
  ['a promise returned', inBody(async ({ x }) => x), 'functor/promise', 'promise'],
  ['a functor called with nothing', inBody(() => (double as never as Loose['x'])!()), 'functor/argument', 'double'],
  ['a functor called with a number', inBody(() => p.mulU32!(1, 2)), 'functor/argument', 'mulU32'],
  ['a functor called without a field', inBody(() => p.mulU32!({ a: 1 })), 'functor/missing-field', 'b'],
];

const reference = (): unknown => createReferenceBackend();
const open = p.open!;
const backends: readonly Row[] = [
  ['open, null', () => open(null), 'options/none', 'options'],
  ['open, a text', () => open('workers'), 'options/none', 'options'],
  ['open, a promise', () => open(promise), 'argument/promise', 'options'],
  ['open, an unknown option', () => open({ threads: 2 }), 'open/option', 'threads'],
  ['open, no backend', () => open({ backend: 'cuda' }), 'open/backend', 'backend'],
  ['open, a number for the backend', () => open({ backend: 7 }), 'open/backend', 'backend'],
  ['open, no adapter', () => open({ adapter: 'fast' }), 'open/adapter', 'adapter'],
  [
    'open, a text for a limit',
    () => open({ backend: 'reference', limits: { memoryBytes: '5' } }),
    'open/limits',
    'memoryBytes',
  ],
  [
    'open, NaN for a limit',
    () => open({ backend: 'reference', limits: { workgroups: Number.NaN } }),
    'open/limits',
    'workgroups',
  ],
  ['open, an unknown limit', () => open({ backend: 'reference', limits: { memory: 5 } }), 'open/option', 'memory'],
  ['open, a hang limit below 0', () => open({ backend: 'reference', hangLimit: -1 }), 'device/hang-limit', 'hangLimit'],
  [
    'open, a text for a hang limit',
    () => open({ backend: 'reference', hangLimit: '5' }),
    'device/hang-limit',
    'hangLimit',
  ],
  [
    'open, a number to be told of failover',
    () => open({ backend: 'reference', onFailover: 5 }),
    'options/value',
    'onFailover',
  ],
  ['open, no failover', () => open({ backend: 'reference', failover: 'cloud' }), 'open/failover', 'failover'],
  ['open, a text for spill', () => open({ backend: 'reference', spill: 'no' }), 'options/value', 'spill'],
  ['open, a number for the tuning', () => open({ backend: 'reference', tuning: 7 }), 'options/value', 'tuning'],
  ['open, half a worker', () => open({ backend: 'workers', workers: 0.5 }), 'workers/number', 'workers'],
  ['open, a text for the workers', () => open({ backend: 'workers', workers: '2' }), 'workers/number', 'workers'],
  [
    'reference, a text for a limit',
    () => createReferenceBackend({ limits: { memoryBytes: '5' as never } }),
    'open/limits',
    'memoryBytes',
  ],
  ['reference, an unknown option', () => createReferenceBackend({ limit: {} } as never), 'options/unknown', 'limit'],
  ['reference, null', () => createReferenceBackend(null as never), 'options/none', 'options'],
  [
    'workers, a text for a limit',
    () => createWorkersBackend({ limits: { memoryBytes: '5' as never } }),
    'open/limits',
    'memoryBytes',
  ],
  ['workers, a hang limit of 0', () => createWorkersBackend({ hangLimit: 0 }), 'device/hang-limit', 'hangLimit'],
  ['workers, no workers', () => createWorkersBackend({ workers: 0 }), 'workers/number', 'workers'],
  ['workers, an unknown option', () => createWorkersBackend({ threads: 2 } as never), 'options/unknown', 'threads'],
  [
    'webgpu, a text for a limit',
    () => createWebGpuBackend({ limits: { memoryBytes: '5' as never } }),
    'open/limits',
    'memoryBytes',
  ],
  ['webgpu, no adapter', () => createWebGpuBackend({ adapter: 'fast' as never }), 'argument/type', 'adapter'],
  ['webgpu, a hang limit below 0', () => createWebGpuBackend({ hangLimit: -1 }), 'device/hang-limit', 'hangLimit'],
  ['spilling, nothing', () => createSpillingBackend(undefined as never), 'argument/type', 'inner'],
  [
    'spilling, a promise',
    () => createSpillingBackend(createWorkersBackend({ workers: 0 }).catch(reference) as never),
    'argument/promise',
    'inner',
  ],
  [
    'spilling, a text for rows',
    () => createSpillingBackend(reference() as never, { windowRows: '5' as never }),
    'options/value',
    'windowRows',
  ],
  ['failover, nothing', () => createFailoverBackend(undefined as never, {} as never), 'argument/type', 'primary'],
  ['failover, no standby', () => createFailoverBackend(reference() as never, {} as never), 'argument/type', 'standby'],
  [
    'failover, no options',
    () => createFailoverBackend(reference() as never, undefined as never),
    'argument/type',
    'options',
  ],
  [
    'failover, a number to be told',
    () => createFailoverBackend(reference() as never, { standby: arrow as never, onFailover: 5 as never }),
    'options/value',
    'onFailover',
  ],
];

type Place = readonly [place: string, call: (given: unknown) => unknown, names: string];
type Given = readonly [wrong: string, given: unknown, code: string];

const everyOf = (places: readonly Place[], given: readonly Given[]): Row[] =>
  places.flatMap(([place, call, names]) =>
    given.map(([wrong, value, code]): Row => [`${place}, ${wrong}`, () => call(value), code, names]),
  );

/** Places that take some of what others do not, or refuse it for another reason. */
const taken: readonly string[] = [
  'scatter onto, nothing',
  'expand counts, a number',
  'expand counts, NaN',
  'scatterReduce onto, a record',
  ...['scatterIf flags', 'segmentedScan heads', 'rankHistogram active'].map((place) => `${place}, a released column`),
];
const notKeys = notTables
  .filter(([wrong]) => !wrong.startsWith('a record'))
  .map(([wrong, given, code]): Given => [wrong, given, code === 'column/type' ? 'sort/keys' : code]);

const rows: readonly Row[] = [
  ...everyOf(tablePlaces, notTables),
  ...everyOf(columnPlaces, notColumns),
  ...everyOf(keyPlaces, notKeys),
  ...everyOf(functorPlaces, notFunctors),
  ...everyOf(monoidPlaces, notMonoids),
  ...countPlaces.flatMap(([place, call, code, names]) =>
    everyOf(
      [[place, call, names]],
      notCounts.map(([wrong, given]): Given => [wrong, given, code]),
    ),
  ),
  ...single,
  ...functors,
  ...backends,
].filter(([wrong]) => !taken.includes(wrong));

test('an expansion whose await is forgotten is told', async () => {
  const expanding = () => q.expand({ x }, 1, ofRank) as unknown as q.Column<'u32'>;
  await expect(context.read(expanding())).rejects.toThrow(/read .*promise.*await/);
  expect(() => q.gather(expanding(), x)).toThrow(/gather .*promise as source.*await/);
  expect(() => q.copyIf(expanding(), isOdd)).toThrow(/copyIf .*promise as table.*await/);
});

describe('wrong calls', () => {
  test('are many', () => {
    expect(rows.length).toBeGreaterThan(800);
    expect(new Set(rows.map(([wrong]) => wrong)).size).toBe(rows.length);
  });

  test.each(rows)('%s', async (_, call, code, names) => {
    const { liveBuffers } = context.backend.counters;
    const error = await Promise.resolve()
      .then(call)
      .then(
        (value) => expect.unreachable(`gave ${String(value)}`),
        (thrown: unknown) => thrown,
      );
    expect(error).toBeInstanceOf(q.QuadrilleError);
    expect(error).toMatchObject({ code });
    expect((error as Error).message).toContain(names);
    expect((error as Error).message.length).toBeLessThan(600);
    if (code.endsWith('/promise')) expect((error as Error).message).toMatch(/promise.*await/);
    // What is refused takes no memory.
    expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
  });
});
