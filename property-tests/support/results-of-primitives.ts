import type { Column, Table } from '../../primitives/columns/column.ts';
import type { Context } from '../../primitives/context/context.ts';
import * as q from '../../primitives/index.ts';
import type { HostRows } from '../arbitraries/columns.ts';

const { bool, f32, fn, i32, u32 } = q;

/** Columns of every type, of equal length. The sums of `calm` are the same in any order. */
export const FIELDS = { n: 'u32', i: 'i32', f: 'normal', calm: 'calm', b: 'bool' } as const;
type Host = HostRows<typeof FIELDS>;

/** What the calls below are made of. */
export interface Given {
  readonly context: Context;
  readonly host: Host;
  /** The rows in one of the forms that primitives take. The host may not know their number. */
  readonly rows: {
    readonly n: Column<'u32'>;
    readonly i: Column<'i32'>;
    readonly f: Column<'f32'>;
    readonly calm: Column<'f32'>;
    readonly b: Column<'bool'>;
  };
  /** The rows as cells of a grid. */
  readonly cells: Given['rows'];
  /** Some segments of the rows. */
  readonly segments: Column<'u32'>;
}

const isOddRow = fn({ n: u32, i: i32, f: f32, b: bool }, bool, ({ n, i, b }) => n.xor(u32(i)).and(1).eq(1).or(b));
const mixed = { n: u32, i: i32, f: f32, b: bool };
const mix = fn({ n: u32, i: i32, f: f32, b: bool }, mixed, ({ n, i, f, b }) => ({
  n: n.add(1),
  i: i.sub(1),
  f: f.neg(),
  b: b.not(),
}));
const ofRank = fn({ ...mixed, rank: u32 }, { ...mixed, rank: u32 }, (row) => row);
const atPlace = fn({ p: u32 }, { ...mixed }, ({ p }) => ({ n: p, i: i32(p).neg(), f: f32(p).div(3), b: p.gt(7) }));
const middle = fn({ n: q.neighbours(u32), f: q.neighbours(f32) }, { n: u32, f: f32 }, ({ n, f }) => ({
  n: n.at(1).xor(n.at(-1)),
  f: f.at(-1).max(f.at(1)),
}));
const odd = fn({ n: u32 }, u32, ({ n }) => n.and(1));
const two = fn({ n: u32 }, u32, ({ n }) => n.and(3));
const low = fn({ n: u32 }, u32, ({ n }) => n.and(31));
const counted = fn({ n: u32, rank: u32 }, { bin: u32, histogram: u32 }, ({ n, rank }) => ({
  bin: n.and(7),
  histogram: rank,
}));
const binOfCell = fn({ cell: u32 }, u32, ({ cell }) => cell.and(7));
const differs = fn({ a: u32, x: f32, c: u32, y: f32 }, { n: u32, f: f32 }, ({ a, x, c, y }) => ({
  n: a.xor(c),
  f: x.max(y),
}));
const inStrip = fn({ first: u32, end: u32, n: q.owned(u32), f: q.owned(f32), b: q.owned(bool) }, {}, (strip) => {
  strip.n.set(strip.first, strip.end);
  strip.f.set(strip.first, strip.f.at(strip.first).mul(70000));
  strip.b.set(strip.first, strip.b.at(strip.first).not());
});
const spread = fn({ n: q.neighbours(u32) }, u32, ({ n }) => n.at(-1).max(n.at(1)));
const ofChange = fn({ before: u32, after: u32 }, u32, ({ before, after }) => before.xor(after));
const isStill = fn({ total: u32 }, bool, ({ total }) => total.eq(0));
const start = fn({ n: u32, f: f32 }, { left: u32, value: f32 }, ({ n, f }) => ({ left: n.and(3), value: f }));
const steps = { more: bool, emits: bool, state: { left: u32, value: f32 }, value: { left: u32, f: f32, b: bool } };
const step = fn({ left: u32, value: f32 }, steps, ({ left, value }) => ({
  more: left.gt(0),
  emits: left.ne(2),
  state: { left: left.sub(1), value: value.neg() },
  value: { left, f: value, b: value.gt(0) },
}));
const both = q.product({ n: q.plus(u32), i: q.maximum(i32), calm: q.plus(f32), b: q.bitOr(bool) });
const random = { seed: 9 };

/** The keys of groups: few, so that some rows have the same. */
const groups = ({ n }: Given['rows']): Column<'u32'> => q.map(two, { n });
/** Sorted keys. */
const sorted = ({ rows: { i, n, f, b } }: Given) => q.sortByKey(i, { n, f, b });
const table = ({ n, i, f, b }: Given['rows']) => ({ n, i, f, b });
const operands = ({ n, i, calm, b }: Given['rows']) => ({ n, i, calm, b });
const wide = ({ n, i }: Given['rows']) => ({ lo: n, hi: q.map(asWord, { i }) });
const asWord = fn({ i: i32 }, u32, ({ i }) => u32(i).and(3));
const other = ({ context }: Given): Column<'i32'> => context.column(Int32Array.of(-300, -1, 0, 0, 1, 255, 70000));
const others = (given: Given) => ({
  keys: other(given),
  values: {
    n: given.context.column(Uint32Array.of(1, 2, 3, 256, 257, 65536, 7)),
    f: given.context.column(Float32Array.of(-0, 1e9, 1, 2, 3, Number.NaN, -Infinity)),
    b: given.context.column([true, false, true, true, false, false, true]),
  },
});

/** A call of every primitive that returns columns, with results of as many types as it can have. */
export const RESULTS: { readonly [primitive: string]: (given: Given) => Table } = {
  adjacentDifference: ({ rows: { n, i, calm } }) => q.adjacentDifference({ n, i, calm }),
  all: ({ rows: { b } }) => q.all(b, b),
  any: ({ rows: { b } }) => q.any(b, b),
  asGrid: ({ cells }) => q.asGrid(table(cells), { rows: cells.n.length as number, columns: 1 }),
  binOf: ({ rows: { f } }) => q.binOf(f, [-1, 0, 1]),
  bitPlaces: ({ rows: { n } }) => q.bitPlaces(n),
  concatenate: ({ rows }) => q.concatenate([table(rows), table(rows)]),
  constant: ({ host: { n } }) => q.constant(mixed, { n: 300, i: -300, f: 1e5, b: true }, n.length),
  copyIf: ({ rows }) => q.copyIf(table(rows), isOddRow),
  count: ({ rows: { b } }) => q.count(b, b),
  crossReduce: ({ rows: { n, f } }) => {
    const folds = q.product({ n: q.plus(u32), f: q.maximum(f32) });
    return q.crossReduce({ a: n, x: f }, { c: q.slice(n, 0, 9), y: q.slice(f, 0, 9) }, differs, folds);
  },
  decodeTiles: ({ rows: { n } }) =>
    q.decodeTiles(
      n,
      { start: q.map(low, { n: q.slice(n, 0, 3) }), first: q.slice(n, 0, 3) },
      { columns: 4, rows: 8, as: 'i32' },
    ),
  disjointSets: ({ rows: { n }, host }) =>
    q.disjointSets({ a: q.map(low, { n }), b: q.map(two, { n }) }, host.n.length),
  exclusiveScan: ({ rows }) => q.exclusiveScan(operands(rows), both),
  expand: ({ rows, host }) => q.expand(table(rows), groups(rows), ofRank, { capacity: 3 * host.n.length }),
  fill: ({ context, host: { n } }) => q.fill(context, mixed, { n: 65536, i: -129, f: -0, b: true }, n.length),
  forEachStrip: ({ rows: { n, f, b } }) => q.forEachStrip({ n, f, b }, [{ rows: 5, each: inStrip }]),
  gather: ({ rows }) => q.gather(table(rows), q.map(low, { n: rows.n })),
  histogram: ({ rows: { n } }) => q.histogram(q.map(low, { n }), 40),
  histogramEdges: ({ rows: { f } }) => q.histogramEdges(f, [-1, 0, 1, 9]),
  histogramEven: ({ rows: { i } }) => q.histogramEven(i, -9, 9, 5),
  inclusiveScan: ({ rows }) => q.inclusiveScan(operands(rows), both, { reverse: true }),
  lowerBound: (given) => q.lowerBound(sorted(given).keys, given.rows.i),
  map: ({ rows }) => q.map(mix, table(rows)),
  maxElement: ({ rows: { i } }) => q.maxElement(i),
  merge: (given) => q.merge(sorted(given).keys, other(given)),
  mergeByKey: (given) => q.mergeByKey(sorted(given), others(given)),
  minElement: ({ rows: { f } }) => q.minElement(f),
  narrow: ({ rows }) => q.narrow(table(rows), { n: 'u16', i: 'i16', f: 'f16', b: 'bits' }),
  pack: ({ rows: { n } }) => ({ ...q.pack(n) }),
  packBits: ({ rows: { b } }) => q.packBits(b),
  partition: ({ rows }) => q.partition(table(rows), isOddRow),
  quantiles: ({ rows: { f } }) => q.quantiles(f, [0, 0.25, 1]),
  randomIntegers: ({ host: { n } }) => q.randomIntegers(n.length, 2 ** 31, random),
  randomNormal: ({ host: { n } }) => q.randomNormal(n.length, random),
  randomUniform: ({ host: { n } }) => q.randomUniform(n.length, random),
  randomWords: ({ host: { n } }) => q.randomWords(n.length, random),
  rankHistogram: ({ rows: { n, b } }) =>
    q.rankHistogram({ active: b, n }, counted, { ranks: 3, bins: 8, histograms: 3 }),
  reduce: ({ rows }) => q.reduce(operands(rows), both),
  reduceByKey: ({ rows }) => q.reduceByKey({ key: groups(rows), b: rows.b }, operands(rows), both),
  relax: ({ rows: { n } }) => {
    const grids = { width: 3, height: 1 };
    const rule = { change: ofChange, total: q.bitOr(u32), until: isStill };
    return q.relax(grids, spread, { n }, rule, { maxRounds: 3 });
  },
  removeIf: ({ rows }) => q.removeIf(table(rows), isOddRow),
  reverse: ({ rows }) => q.reverse(table(rows)),
  runHeads: ({ rows }) => q.runHeads(groups(rows)),
  runLengthEncode: ({ rows }) => q.runLengthEncode({ key: groups(rows), b: rows.b }),
  sample: ({ rows, host }) => q.sample(table(rows), Math.min(9, host.n.length >> 1), random),
  sampleWeighted: ({ rows: { n } }) => q.sampleWeighted(n, 9, { ...random, replacement: true }),
  scatter: ({ rows, host: { n } }) => q.scatter(table(rows), q.reverse(q.sequence(rows.n.length)), n.length + 3),
  scatterIf: ({ rows, host: { n } }) => q.scatterIf(table(rows), q.sequence(rows.n.length), rows.b, n.length + 3),
  segmentedQuantiles: ({ rows: { f }, segments }) => q.segmentedQuantiles(f, segments, [0, 1]),
  segmentedReduce: ({ rows, segments }) => q.segmentedReduce(operands(rows), segments, both),
  segmentedScan: ({ rows }) => q.segmentedScan(operands(rows), rows.b, both, { kind: 'exclusive' }),
  segmentedSort: ({ rows: { f }, segments }) => q.segmentedSort(f, segments),
  segmentedSortByKey: ({ rows: { i, n, f, b }, segments }) => q.segmentedSortByKey(i, { n, f, b }, segments),
  segmentedSortPermutation: ({ rows: { n }, segments }) => q.segmentedSortPermutation(n, segments),
  segmentedTopK: ({ rows: { f }, segments }) => q.segmentedTopK(f, segments, 2),
  selectKth: ({ rows: { f }, context }) => q.selectKth(f, context.column(Uint32Array.of(0, 3, 9))),
  sequence: ({ host: { n } }) => q.sequence(n.length, 250, 65535),
  setDifference: (given) => q.setDifference(sorted(given).keys, other(given)),
  setDifferenceByKey: (given) => q.setDifferenceByKey(sorted(given), other(given)),
  setIntersection: (given) => q.setIntersection(sorted(given).keys, other(given)),
  setIntersectionByKey: (given) => q.setIntersectionByKey(sorted(given), other(given)),
  setSymmetricDifference: (given) => q.setSymmetricDifference(sorted(given).keys, other(given)),
  setSymmetricDifferenceByKey: (given) => q.setSymmetricDifferenceByKey(sorted(given), others(given)),
  setUnion: (given) => q.setUnion(sorted(given).keys, other(given)),
  setUnionByKey: (given) => q.setUnionByKey(sorted(given), others(given)),
  shuffle: ({ rows }) => q.shuffle(table(rows), random),
  slice: ({ rows }) => q.slice(table(rows), 3, 50),
  sort: ({ rows }) => q.sort(wide(rows)),
  sortByKey: ({ rows: { i, n, f, b } }) => q.sortByKey(f, { n, i, b }, { descending: true }),
  sortPermutation: ({ rows: { i } }) => q.sortPermutation(i),
  stencil: ({ cells: { n, f } }) => q.stencil(middle, { n, f }),
  tabulate: ({ host: { n } }) => q.tabulate(n.length, atPlace),
  tileHistograms: ({ rows: { n }, host, context }) => {
    const place = q.map(low, { n: q.slice(n, 0, 3) });
    const offsets = context.column(Uint32Array.from({ length: Math.min(3, host.n.length) + 1 }, (_, i) => i));
    const parts = { offsets, histogram: q.map(odd, { n: place }), word: place, pitch: place, masks: n };
    const sizes = { columns: 32, rows: 2, as: 'u8', bins: 8, histograms: 2 } as const;
    return q.tileHistograms(n, { start: place, first: place }, parts, binOfCell, sizes);
  },
  tileSums: ({ rows: { n } }) => q.tileSums(n, { columns: 3, rows: 4 }),
  topK: ({ rows: { f } }) => q.topK(f, 5),
  transpose: ({ cells }) => q.transpose(table(cells)),
  unfold: ({ rows: { n, f }, host }) => q.unfold({ n, f }, start, step, { capacity: 4 * host.n.length }),
  unique: ({ rows }) => q.unique({ key: groups(rows), b: rows.b }),
  uniqueByKey: ({ rows }) => q.uniqueByKey(groups(rows), table(rows)),
  unpack: ({ rows: { n } }) => q.unpack({ words: n, widths: q.map(low, { n: q.slice(n, 0, 3) }) }),
  upperBound: (given) => q.upperBound(sorted(given).keys, given.rows.i),
  weightedHistogram: ({ rows: { n } }) => q.weightedHistogram(q.map(low, { n }), 20, { n }),
  windowSum: ({ cells: { i } }) => q.windowSum(i, { width: 3, height: 1 }),
};
