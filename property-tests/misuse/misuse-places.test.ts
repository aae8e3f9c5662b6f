import { expect, test } from 'vitest';
import * as q from '../../index.ts';
import {
  arrow,
  c,
  context,
  counted,
  double,
  flags,
  gone,
  isOdd,
  ofRank,
  p,
  plain,
  promise,
  type Row,
  refuses,
  start,
  step,
  sum,
  x,
  y,
} from './misuse-support.ts';

const { u32 } = q;

/** Wrong values for an argument that must be a table. */
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

/** Every argument of a primitive that must be a table. */
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
  ['shuffle rows', (t) => p.shuffle!(t, { seed: 1 }), 'rows'],
  ['sample rows', (t) => p.sample!(t, 1, { seed: 1 }), 'rows'],
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

/** Wrong values for an argument that must be a single column. */
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
  ['setUnion first', (k) => p.setUnion!(k, x), 'first'],
  ['setDifference second', (k) => p.setDifference!(x, k), 'second'],
  ['setIntersectionByKey keys', (k) => p.setIntersectionByKey!({ keys: k, values: x }, x), 'first.keys'],
  ['lowerBound keys', (k) => p.lowerBound!(k, x), 'keys'],
  ['upperBound needles', (k) => p.upperBound!(x, k), 'needles'],
  ['selectKth keys', (k) => p.selectKth!(k, 1), 'keys'],
  ['topK keys', (k) => p.topK!(k, 1), 'keys'],
  ['segmentedTopK keys', (k) => p.segmentedTopK!(k, x, 1), 'keys'],
  ['segmentedSort keys', (k) => p.segmentedSort!(k, x), 'keys'],
  ['segmentedSortByKey keys', (k) => p.segmentedSortByKey!(k, x, x), 'keys'],
  ['segmentedSortPermutation keys', (k) => p.segmentedSortPermutation!(k, x), 'keys'],
  ['segmentedQuantiles keys', (k) => p.segmentedQuantiles!(k, x, [0.5]), 'keys'],
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
  ['segmentedReduce monoid', (m) => p.segmentedReduce!(x, x, m), 'monoid'],
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
  ['randomWords length', (n) => p.randomWords!(n, { seed: 1 }), 'column/size', 'length'],
  ['randomUniform length', (n) => p.randomUniform!(n, { seed: 1 }), 'column/size', 'length'],
  ['randomNormal length', (n) => p.randomNormal!(n, { seed: 1 }), 'column/size', 'length'],
  ['randomIntegers length', (n) => p.randomIntegers!(n, 6, { seed: 1 }), 'column/size', 'length'],
  ['randomIntegers below', (n) => p.randomIntegers!(3, n, { seed: 1 }), 'random/below', 'below'],
  ['a seed', (n) => p.randomWords!(3, { seed: n }), 'random/seed', 'seed'],
  ['a stream', (n) => p.randomWords!(3, { seed: 1, stream: n ?? null }), 'random/seed', 'stream'],
  ['sample k', (n) => p.sample!(x, n, { seed: 1 }), 'random/sample', 'k'],
  ['sampleWeighted k', (n) => p.sampleWeighted!(x, n, { seed: 1 }), 'random/sample', 'k'],
  [
    'sampleWeighted k, with replacement',
    (n) => p.sampleWeighted!(x, n, { seed: 1, replacement: true }),
    'column/size',
    'k',
  ],
  ['topK k', (n) => p.topK!(x, n), 'column/size', 'k'],
  ['segmentedTopK k', (n) => p.segmentedTopK!(x, x, n), 'column/size', 'k'],
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

type Place = readonly [place: string, call: (given: unknown) => unknown, names: string];
type Given = readonly [wrong: string, given: unknown, code: string];

const everyOf = (places: readonly Place[], given: readonly Given[]): Row[] =>
  places.flatMap(([place, call, names]) =>
    given.map(([wrong, value, code]): Row => [`${place}, ${wrong}`, () => call(value), code, names]),
  );

/** Cases that are left out, because the argument accepts the value, or refuses the value with another error code. */
const taken: readonly string[] = [
  'scatter onto, nothing',
  'expand counts, a number',
  'expand counts, NaN',
  'scatterReduce onto, a record',
  'scatterReduce onto, a column of another type',
  ...['sort', 'sortByKey', 'sortPermutation']
    .flatMap((call) => [call, `segmentedS${call.slice(1)}`])
    .map((call) => `${call} keys, an array of columns`),
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
].filter(([wrong]) => !taken.includes(wrong));

test('an expansion without await is an error that says so', async () => {
  const expanding = () => q.expand({ x }, 1, ofRank) as unknown as q.Column<'u32'>;
  await expect(context.read(expanding())).rejects.toThrow(/read .*promise.*await/);
  expect(() => q.gather(expanding(), x)).toThrow(/gather .*promise as source.*await/);
  expect(() => q.copyIf(expanding(), isOdd)).toThrow(/copyIf .*promise as table.*await/);
});

refuses(rows);
