import { createReferenceBackend } from '../../backends/reference/index.ts';
import * as q from '../../primitives/index.ts';
import { bool, fn, u32 } from '../../primitives/index.ts';
import { context, flags, methods, opaque, type ValidCalls, x, y } from './valid-call.ts';

const sum = opaque(q.plus(u32));
const isOdd = fn('isOdd', { x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const ofRank = fn('ofRank', { x: u32, rank: u32 }, u32, ({ x, rank }) => x.add(rank));
const scaled = fn('scaled', { x: u32, by: q.uniform(u32), table: q.array(u32) }, u32, ({ x, by, table }) =>
  x.mul(by).add(table.at(x)),
);
const counted = fn('counted', { x: u32, rank: u32 }, { bin: u32, histogram: u32 }, ({ rank }) => ({
  bin: rank,
  histogram: 0,
}));
const binOfCell = fn('binOfCell', { cell: u32 }, u32, ({ cell }) => cell.shr(1));
const inStrip = fn('inStrip', { first: u32, x: q.owned(u32) }, {}, ({ first, x }) => x.set(first, 1));
const middle = fn('middle', { cell: q.neighbours(u32) }, u32, ({ cell }) => cell.at(0));
const ofChange = fn('ofChange', { before: u32, after: u32 }, u32, ({ before, after }) => before.xor(after));
const crossing = opaque({
  start: 0,
  step: fn('stepped', { sum: u32, a: u32, b: u32 }, u32, ({ sum, a, b }) => sum.add(a.xor(b))),
  value: fn('worth', { sum: u32, x: u32, y: u32 }, u32, ({ sum, x, y }) => sum.add(x).add(y)),
});
const isStill = fn('isStill', { total: u32 }, bool, ({ total }) => total.eq(0));
const ofIndex = fn('ofIndex', { i: u32 }, u32, ({ i }) => i);
const start = fn('start', { x: u32 }, { left: u32 }, ({ x }) => ({ left: x }));
const steps = { more: bool, emits: bool, state: { left: u32 } };
const step = fn('step', { left: u32 }, { ...steps, value: u32 }, ({ left }) => ({
  ...{ more: false, emits: true, state: { left } },
  value: left,
}));
const placing = fn('placing', { left: u32 }, { ...steps, value: { index: u32, value: u32 } }, ({ left }) => ({
  ...{ more: false, emits: true, state: { left } },
  value: { index: 0, value: left },
}));

const nothing = (): void => {};
const at = { 'context?': context };
const where = { 'options?': at };
const fromRight = { 'initial?': 1, 'reverse?': true, ...at };
const alongAxis = { 'options?': { 'axis?': 'rows', ...fromRight } };
const alongLines = { 'options?': { 'axis?': 'rows', ...at } };
const within = { 'options?': { 'capacity?': 9, ...at } };
const predicate =
  (name: string, options: { readonly [name: string]: unknown } = where) =>
  (): { readonly [name: string]: unknown } => ({
    'table*': x,
    [name]: isOdd,
    ...options,
  });
const scalar = (): { readonly [name: string]: unknown } => ({ type: u32 });
const inSets = { 'options?': { 'descending?': true, 'capacity?': 9, ...at } };
const ofSets = (): { readonly [name: string]: unknown } => ({ first: x, second: x, ...inSets });
const ofKeyedSets = (): { readonly [name: string]: unknown } => ({
  first: { keys: x, values: x },
  second: { keys: x, values: x },
  ...inSets,
});
const sorting = { 'descending?': true, 'bits?': { from: 0, to: 32 }, ...at };
const random = { seed: 1, 'stream?': 2 };
const SEEDS = { 'options.seed: a bigint': 'it may be one', 'options.stream: a bigint': 'it may be one' };
const searching = { 'descending?': true };
const NO_FIELDS = { 'shape: an object': 'a shape without fields, whose value has none either' };
const columns = ['a column of another type', 'a released column', 'a column of another context'];

/** A fake WebGPU buffer, with the members that the library reads. */
function gpuBuffer(): object {
  return opaque({ size: 16, usage: 0xff, mapAsync: async () => {} });
}

/** The backend to which `sharing` adds functions that pretend to share a GPU device with the caller. */
const alone = createReferenceBackend();
const sortingStep = context.prepare({ x: q.input(q.u32, 3) }, ({ x: rows }) => ({ x: q.sort(rows) }));
const sharing = new q.Context(
  Object.assign(Object.create(null, Object.getOwnPropertyDescriptors(alone)), {
    shared: {
      borrow: (_: unknown, byte: number, bytes: number) => ({
        buffer: alone.allocate(Math.ceil((byte + bytes) / 4)),
        byte,
      }),
      lend: () => ({ buffer: gpuBuffer(), byte: 0, end: () => {} }),
    },
  }) as q.Backend,
);

export const primitiveCalls: ValidCalls = {
  adjacentDifference: () => ({ 'values*': x }),
  all: predicate('predicate'),
  any: predicate('predicate'),
  binOf: () => ({ 'values*': y, edges: [0, 1], ...where }),
  bitAnd: scalar,
  bitOr: scalar,
  bitXor: scalar,
  capacityOf: () => ({ length: 3 }),
  bitPlaces: () => ({ words: x, ...within }),
  concatenate: () => ({ tables: [x, x], ...where }),
  constant: { args: () => ({ shape: u32, value: 1, length: 3 }), takes: NO_FIELDS },
  copyIf: predicate('predicate', within),
  count: predicate('predicate'),
  exclusiveScan: () => ({ input: q.asGrid(x, { rows: 1, columns: 3 }), monoid: sum, ...alongAxis }),
  expand: {
    takes: Object.fromEntries(columns.map((each) => [`counts: ${each}`, 'every row may have a count of its own'])),
    args: () => ({
      'rows*': { x },
      counts: 2,
      functor: ofRank,
      'options?': { 'capacity?': 9, 'expected?': 9, 'captures?': {}, ...at },
    }),
  },
  explain: () => ({ context, pipeline: () => q.reduce(x, sum) }),
  fill: { args: () => ({ context, shape: u32, value: 1, length: 3 }), takes: NO_FIELDS },
  asGrid: () => ({ 'table*': x, grid: { rows: 1, columns: 3 } }),
  gather: () => ({ 'source*': x, indices: x }),
  histogram: () => ({ bins: x, count: 4, 'options?': { 'segment?': 1, ...at } }),
  histogramEdges: () => ({ 'values*': y, edges: [0, 1], 'options?': { ...at } }),
  histogramEven: () => ({ 'values*': y, low: 0, high: 1, bins: 2, 'options?': { ...at } }),
  inclusiveScan: () => ({ input: q.asGrid(x, { rows: 1, columns: 3 }), monoid: sum, ...alongAxis }),
  lowerBound: () => ({ keys: x, needles: x, 'options?': searching }),
  map: () => ({ functor: scaled, args: { x, by: 2, table: x } }),
  maxElement: () => ({ 'values*': x, ...where }),
  maximum: scalar,
  merge: () => ({ first: x, second: x, 'options?': { 'descending?': true, ...at } }),
  mergeByKey: () => ({
    first: { keys: x, values: x },
    second: { keys: x, values: x },
    'options?': { 'descending?': true, ...at },
  }),
  minElement: () => ({ 'values*': x, ...where }),
  minimum: scalar,
  monoid: {
    args: () => ({
      definition: {
        of: u32,
        identity: 0,
        combine: (a: q.U32, b: q.U32) => a.add(b),
        'exact?': true,
        'commutative?': true,
        'name?': 'sum',
      },
    }),
    takes: { 'definition.identity': 'it is looked at where the monoid is used first' },
  },
  pack: () => ({ values: x, ...where }),
  unpack: () => ({ packed: { words: x, widths: x }, ...where }),
  decodeTiles: () => ({ words: x, tiles: { start: x, first: x }, options: { columns: 4, rows: 8, as: 'u16', ...at } }),
  tileHistograms: () => ({
    words: x,
    tiles: { start: x, first: x },
    parts: { offsets: context.column(Uint32Array.of(0, 1, 2, 3)), histogram: x, word: x, pitch: x, masks: x },
    binOf: binOfCell,
    options: {
      ...{ columns: 32, rows: 1, as: 'u16', bins: 3, histograms: 2, 'captures?': {} },
      'hidden?': { bits: x, word: x, pitch: 1, bin: 2 },
      ...at,
    },
  }),
  tileSums: () => ({ values: x, options: { columns: 2, rows: 3, ...at } }),
  narrow: () => ({ table: { 'n*': x }, format: { 'n?': 'u16' }, ...where }),
  packBits: () => ({ flags: q.map(isOdd, { x }), ...where }),
  partition: predicate('predicate', {
    'options?': { 'capacity?': { 'selected?': 9, 'rejected?': 9 }, ...at },
  }),
  plus: scalar,
  product: () => ({ fields: { total: sum } }),
  quantiles: () => ({ 'keys*': x, fractions: [0.5], 'options?': { 'descending?': true, ...at } }),
  randomIntegers: { args: () => ({ length: 3, below: 6, options: random }), takes: SEEDS },
  randomNormal: { args: () => ({ length: 3, options: random }), takes: SEEDS },
  randomUniform: { args: () => ({ length: 3, options: random }), takes: SEEDS },
  randomWords: { args: () => ({ length: 3, options: random }), takes: SEEDS },
  rankHistogram: () => ({
    rows: { active: flags, x },
    element: counted,
    options: { ranks: 1, bins: 1, histograms: 1, 'captures?': {}, ...at },
  }),
  crossReduce: {
    args: () => ({
      left: { x, a: { elements: x, dimensions: 1 } },
      right: { b: { elements: x, dimensions: 1 }, y: x },
      pair: crossing,
      monoid: sum,
      'options?': { 'run?': 2, 'captures?': {}, ...at },
    }),
    takes: { 'pair: a functor': 'of columns alone' },
  },
  reduce: () => ({ input: q.asGrid(x, { rows: 1, columns: 3 }), monoid: sum, ...alongLines }),
  reduceByKey: () => ({ 'keys*': x, values: x, monoid: sum, ...within }),
  removeIf: predicate('predicate', within),
  forEachStrip: () => ({
    state: { x },
    steps: [{ 'rows?': 2, each: inStrip }],
    'options?': { 'captures?': {}, ...at },
  }),
  relax: () => ({
    grids: { width: context.column(Uint32Array.of(3)), height: context.column(Uint32Array.of(1)) },
    step: middle,
    args: { cell: x },
    rule: { change: ofChange, total: sum, until: isStill, 'captures?': {} },
    options: { maxRounds: 3, maxWidth: 3, maxHeight: 1, 'boundary?': 'clamp', 'outside?': 0, ...at },
  }),
  reverse: () => ({ 'table*': x }),
  runHeads: () => ({ 'keys*': x }),
  runLengthEncode: () => ({ 'keys*': x, ...within }),
  sample: { args: () => ({ 'rows*': x, k: 2, options: { ...random, ...at } }), takes: SEEDS },
  sampleWeighted: {
    args: () => ({ weights: x, k: 2, options: { ...random, 'replacement?': true, ...at } }),
    takes: { ...SEEDS, 'weights: a column of another type': 'weights may be u32 or f32' },
  },
  scatter: () => ({
    'rows*': x,
    indices: x,
    length: 4,
    'options?': { 'onto?': context.materialize(q.sequence(4)), ...at },
  }),
  scatterIf: () => ({ 'rows*': x, indices: x, flags, length: 4, 'options?': { ...at } }),
  scatterReduce: () => ({ values: x, indices: x, combine: 'add', onto: context.materialize(q.sequence(4)) }),
  segmented: () => ({ inner: sum }),
  segmentedScan: () => ({
    ...{ input: x, heads: flags, monoid: sum },
    'options?': { 'kind?': 'inclusive', ...fromRight },
  }),
  segmentedReduce: () => ({ input: x, segments: x, monoid: sum, 'options?': { ...at } }),
  segmentedQuantiles: () => ({
    ...{ 'keys*': x, segments: x, fractions: [0.5] },
    'options?': { 'descending?': true, 'capacity?': 9, ...at },
  }),
  segmentedSort: () => ({ 'keys*': x, segments: x, 'options?': { ...sorting, 'capacity?': 9 } }),
  segmentedSortByKey: () => ({ 'keys*': x, 'values*': x, segments: x, 'options?': { ...sorting, 'capacity?': 9 } }),
  segmentedSortPermutation: () => ({ 'keys*': x, segments: x, 'options?': { ...sorting, 'capacity?': 9 } }),
  segmentedTopK: {
    args: () => ({ 'keys*': x, segments: x, k: 2, 'options?': { 'smallest?': true, 'capacity?': 9, ...at } }),
  },
  selectKth: {
    args: () => ({ 'keys*': x, k: 1, 'options?': { 'descending?': true, ...at } }),
    takes: Object.fromEntries(columns.map((each) => [`k: ${each}`, 'places may be a column'])),
  },
  sequence: () => ({ length: 3, 'start?': 1, 'step?': 2 }),
  setDifference: ofSets,
  setDifferenceByKey: () => ({ first: { keys: x, 'values*': x }, second: x, ...inSets }),
  setIntersection: ofSets,
  setIntersectionByKey: () => ({ first: { keys: x, 'values*': x }, second: x, ...inSets }),
  setSymmetricDifference: ofSets,
  setSymmetricDifferenceByKey: ofKeyedSets,
  setUnion: ofSets,
  setUnionByKey: ofKeyedSets,
  shuffle: { args: () => ({ 'rows*': x, options: { ...random, ...at } }), takes: SEEDS },
  slice: () => ({ 'table*': x, from: 1, 'to?': 2 }),
  sort: () => ({ 'keys*': x, 'options?': sorting }),
  sortByKey: () => ({ 'keys*': x, 'values*': x, 'options?': sorting }),
  sortPermutation: () => ({ 'keys*': x, 'options?': sorting }),
  stencil: () => ({
    functor: middle,
    args: { cell: x },
    'options?': { 'boundary?': 'clamp', 'width?': 3 },
  }),
  topK: () => ({ 'keys*': x, k: 2, 'options?': { 'smallest?': true, ...at } }),
  transpose: () => ({ 'table*': q.asGrid(x, { rows: 1, columns: 3 }) }),
  tabulate: () => ({ length: 3, functor: ofIndex }),
  times: scalar,
  unfold: () => ({
    'rows*': { x },
    start,
    step,
    'options?': { 'capacity?': 9, 'expected?': 9, 'captures?': {}, ...at },
  }),
  unfoldReduce: () => ({
    'rows*': { x },
    start,
    step: placing,
    combine: 'add',
    onto: context.materialize(q.sequence(4)),
    'options?': { 'captures?': {} },
  }),
  unique: () => ({ 'keys*': x, ...within }),
  uniqueByKey: () => ({ 'keys*': x, 'values*': x, ...within }),
  upperBound: () => ({ keys: x, needles: x, 'options?': searching }),
  disjointSets: () => ({
    edges: { a: x, b: x },
    nodes: 4,
    'options?': { 'links?': context.materialize(q.sequence(4)), ...at },
  }),
  windowSum: () => ({
    cells: q.asGrid(x, { rows: 1, columns: 3 }),
    options: { width: 3, 'height?': 1, 'boundary?': 'clamp', 'outside?': 1, ...at },
  }),
  weightedHistogram: () => ({ bins: x, count: 4, weights: { x }, ...where }),
  input: {
    args: () => ({ shape: { x: q.u32 }, capacity: 7, 'options?': { 'storage?': { x: 'u8' } } }),
  },
  'new Context': () => ({ backend: opaque(createReferenceBackend()) }),
  ...methods('Context', sharing, {
    borrow: {
      args: () => ({
        buffer: gpuBuffer(),
        options: { type: 'u32', 'offset?': 4, 'bytes?': 8, 'count?': { buffer: gpuBuffer(), offset: 4 } },
      }),
      takes: { 'options.bytes: a number': 'seven bytes hold one element', 'options.count: a number': 'it may be one' },
    },
    lend: () => ({ column: sharing.column(Uint32Array.of(1, 2)), 'options?': { 'alignment?': 4 } }),
  }),
  ...methods('Context', context, {
    adopt: () => ({ 'table*': x }),
    allocate: () => ({ words: 1 }),
    column: {
      args: () => ({ data: Uint32Array.of(1) }),
      takes: { 'data: an array': 'no booleans', 'data: a typed array': 'another one' },
    },
    column64: () => ({ data: BigUint64Array.of(1n) }),
    count: () => ({ 'table*': x }),
    dispose: {
      args: () => ({ 'table*': context.column(Uint32Array.of(1)) }),
      takes: { '*': 'it frees the columns in whatever it is given, and refuses promises' },
    },
    materialize: () => ({ 'table*': x }),
    iterate: () => ({
      step: opaque(sortingStep),
      args: { x },
      options: { maxRounds: 2, 'batch?': 1, 'signal?': opaque(new AbortController().signal), 'onProgress?': () => {} },
    }),
    prepare: {
      args: () => ({
        inputs: { x: opaque(q.input(q.u32, 3)), by: opaque(q.uniform(q.u32)) },
        pipeline: ({ x: rows }: never) => rows,
      }),
      takes: { 'inputs: an object': 'a pipeline may have no inputs' },
    },
    lendArray: {
      args: () => ({ column: x }),
      takes: { 'column: a column of another type': 'elements of any type can be lent' },
    },
    read: () => ({ 'table*': x, 'options?': { 'into?': new Uint32Array(3) } }),
    read64: () => ({ table: { lo: x, hi: x }, 'options?': { 'as?': 'i64' } }),
    scope: () => ({ pipeline: () => x }),
    stored: () => ({ type: 'u32', length: 3 }),
    sync: () => ({ 'table*': x }),
    upload: {
      args: () => ({
        source: { type: 'u32', length: 2, read: nothing },
        'options?': { 'signal?': new AbortController().signal, 'onProgress?': nothing },
      }),
      takes: {
        'source: an array': 'no booleans',
        'source: a typed array': 'another source',
        'source.read: a functor': 'a function like others',
      },
    },
    free: () => ({ memory: opaque(context.allocate(1)) }),
    abort: { args: () => ({ reason: 'over' }), call: () => {}, takes: { '*': 'a reason may be anything' } },
    expectCapacity: {
      args: () => ({ length: 1, primitive: 'expand' }),
      call: () => {},
      takes: { '*': 'primitives alone call it, at every launch' },
    },
  }),
};
