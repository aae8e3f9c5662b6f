import { encodeBqTrees } from '../../algorithms/bq-tree/index.ts';
import * as compare from '../../algorithms/cross-compare/index.ts';
import { NO_REGIONS } from '../../algorithms/label-images/index.ts';
import * as maq from '../../algorithms/maq-tree/index.ts';
import * as neighbours from '../../algorithms/neighbours/index.ts';
import * as pixelbox from '../../algorithms/pixelbox/index.ts';
import * as quadrants from '../../algorithms/quadrants/index.ts';
import * as queries from '../../algorithms/queries/index.ts';
import * as tables from '../../algorithms/tables/index.ts';
import * as zonal from '../../algorithms/zonal/index.ts';
import { type Arguments, context, opaque, type ValidCall, type ValidCalls } from './valid-call.ts';

const words = (...all: number[]): Uint32Array => Uint32Array.from(all);
const places = (...all: number[]): Int32Array => Int32Array.from(all);
const rings = { polygonRings: words(0, 1), ringVertices: words(0, 4) };
const square = { ...rings, x: places(0, 2, 2, 0), y: places(0, 0, 2, 2) };
/** Polygons in map coordinates. */
const polygons = {
  ...rings,
  x: Float64Array.of(0, 2, 2, 0),
  y: Float64Array.of(0, 0, 2, 2),
  'ringParts?': words(0),
};
const domain = { left: 0, bottom: 0, size: 4 };
const placed = quadrants.placeInDomain(polygons, domain);
const decomposed = await quadrants.decompose(context, placed, { levels: 2, keepsEdges: true });
const tree = await maq.buildMaqTree(context, [decomposed]);
export const hostTree: maq.HostMaqTreeWithEdges = await maq.readMaqTree(context, tree);
/** Marks the property `edges` of a value as optional. */
const optionalEdges = <T extends { readonly edges: object }>({ edges, ...rest }: T): Arguments => ({
  ...rest,
  'edges?': edges,
});
const { edges: _edges, ...withoutEdges } = decomposed;
const windows = queries.placeWindows(context, { left: [0], bottom: [0], right: [2], top: [2] }, domain);
const grid = {
  ...{ width: 2, height: 2, originX: 0, originY: 2, stepX: 1, stepY: -1, 'crs?': 'EPSG:4326', geographic: true },
};
const edges = pixelbox.uploadPolygonEdges(context, square);
const first = { p: words(0), q: words(0) };
const regions = {
  ...pixelbox.regionsOf(square),
  'vertices?': { x: context.column(square.x), y: context.column(square.y) },
};
const pairNumbers = { p: context.column(words(0)), q: context.column(words(0)) };
const sampling = { 'blockSize?': 16, 'threshold?': 8, 'start?': 'pair', 'memoryBytes?': 2 ** 20 };
const sampled = (options: Arguments) => (): Arguments => ({
  context,
  p: edges,
  q: edges,
  pairs: pairNumbers,
  'options?': options,
});
const boxes = { left: places(0), top: places(0), right: places(2), bottom: places(2) };
const areas = { intersection: BigUint64Array.of(1n), p: BigUint64Array.of(2n), q: BigUint64Array.of(3n) };
const matching = { minIou: 0.5, method: 'optimal' };
const ids = { bytes: Uint8Array.of(48), starts: words(0, 1) };
export const notes: { code: string; message: string }[] = [{ code: 'kind/reason', message: 'a sentence' }];
const labels = {
  ...{ ...NO_REGIONS, width: 2, height: 1, rowRuns: words(0, 1), start: words(0), end: words(1), region: words(0) },
  ...{ ...boxes, area: BigUint64Array.of(1n) },
};
const points = { elements: context.column(Float32Array.of(0, 0, 3, 4)), dimensions: 2 };
const pointTree = neighbours.buildPointTree(context, points);
const column = (...all: number[]) => context.column(words(...all));
const region = { corner: column(1), first: column(0), count: column(0) };
const file = { 'file?': 'a.json' };
const zones = { names: ['a'], polygons, 'crs?': 'EPSG:4326', ...file };
const none = (): void => {};
const raster = {
  ...grid,
  ...file,
  ...{ sample: 'u8', 'nodata?': 0, blockColumns: 2, blockRows: 2, 'scaling?': { scale: 1, offset: 0 } },
  read: async () => Uint8Array.of(1, 2, 3, 4),
  'readMask?': async () => Uint8Array.of(1, 1, 1, 1),
  'reuse?': none,
  close: async () => {},
};
const { 'scaling?': _, ...masses } = raster;
const job = { zones, raster, binning: { kind: 'even', low: 0, high: 4, width: 2 } };
const plainRaster = { ...grid, crs: 'EPSG:4326', sample: 'u8', nodata: 0, blockColumns: 2, blockRows: 2 } as const;
export const histogram: zonal.ZonalHistogram = await zonal.zonalHistogram(context, {
  zones: { names: ['a'], polygons, crs: undefined },
  raster: { ...plainRaster, read: raster.read, close: raster.close },
  binning: { kind: 'even', low: 0, high: 4, width: 2 },
});
const read = { ids, polygons, notes, 'size?': { width: 2, height: 2 }, 'crs?': 'EPSG:2056' };
const tiles = { path: 'a', tiles: [{ name: '1' }] };
const parse = async () => compare.tileSide({ ids, polygons, notes: [] }, { place: 'a' });
export const comparison: compare.CrossComparison = await compare.crossCompare(context, { p: tiles, q: tiles, parse })
  .result;

const USERS_READER = {
  'job.raster.read: a function': 'what a reader of the user gives is the reader’s affair',
  'job.raster.readMask: a function': 'likewise',
};
const ANY_NUMBERS = 'coordinates may stand in any array of numbers';

const frame = () => ({ width: 2, height: 2, grey: context.column(Uint8Array.of(1, 2, 3, 4)) });
const hostFrame = () => ({ width: 2, height: 2, grey: Uint8Array.of(1, 2, 3, 4) });
const fractions = (rows: number) => context.column(new Float32Array(rows).fill(1));
const tile = () => context.column(new Uint8Array(16));
const treeOptions = { side: 4, as: 'u8' } as const;
const trees = encodeBqTrees(context, tile(), treeOptions);
const circles = { 'radii?': [2], 'points?': 8, 'threshold?': 1, 'margin?': 1, 'sign?': 'both' };

const trackOptions = (): Arguments => ({
  'detection?': { ...circles, 'dilation?': 3, 'maxCells?': 4 },
  'tracking?': { 'direction?': { x: 1, y: 0 }, 'maxRadius?': 2, 'maxRounds?': 2 },
  'linking?': {
    ...{ 'maxDistance?': 2, 'maxGap?': 2, 'maxGapDistance?': 2, 'maxMisses?': 2 },
    ...{ 'minDistance?': 2, 'edge?': 2 },
  },
  'detectEvery?': 2,
  'background?': hostFrame(),
  'signal?': new AbortController().signal,
});

const hostTable = (): Arguments => ({
  n: { type: 'u32', values: Uint32Array.of(1, 2, 3), 'validity?': Uint32Array.of(7) },
});
const numbersTable = opaque(tables.createTable(context, { n: { type: 'u32', values: words(1, 2, 3) } }));
const expression = { kind: 'column', name: 'n' };
const condition = { kind: 'compare', operator: '<', left: expression, right: { kind: 'literal', value: 3 } };
const someRows = tables.selectRows(numbersTable, { kind: 'always' });
const selection = (): Arguments => ({ table: numbersTable, words: someRows.words });
/**
 * Says that literals of any type are accepted at these paths, because only the column with which a literal is compared
 * decides whether the literal suits.
 */
const literalsAt = (...paths: readonly string[]): { readonly [given: string]: string } => {
  const given = ['null', 'NaN', 'a negative fraction', 'a number', 'a text', 'true', 'a bigint'];
  return Object.fromEntries(paths.flatMap((path) => given.map((each) => [`${path}: ${each}`, 'a literal'])));
};
const sums = { n: { kind: 'sum', of: expression } };
const groupSums = { ...sums, q: { kind: 'quantile', of: expression, fraction: 0.5 } };
const operands = (): Arguments => ({ left: expression, right: expression });
const comparing: ValidCall = { args: operands, takes: literalsAt('left', 'right') };

export const algorithmCalls: ValidCalls = {
  encodeBqTrees: () => ({ context, cells: tile(), options: treeOptions }),
  decodeBqTrees: () => ({ context, trees: { ...trees }, options: treeOptions }),
  buildPointTree: () => ({ context, points }),
  nearest: () => ({ context, points, queries: points, options: { k: 1, 'metric?': 'l1' } }),
  nearestInTree: () => ({
    context,
    tree: pointTree,
    queries: points,
    options: { k: 1, 'metric?': 'l1', 'itself?': true },
  }),
  withinRadius: () => ({
    context,
    tree: pointTree,
    queries: points,
    options: { radius: 1, 'metric?': 'l1', 'itself?': true, 'sorted?': true },
  }),
  createTable: () => ({ context, host: hostTable() }),
  disposeTable: () => ({ table: tables.createTable(context, {}) }),
  selectRows: { args: () => ({ table: numbersTable, condition }), takes: literalsAt('condition.right.value') },
  countSelected: () => ({ selection: selection() }),
  selectedIds: () => ({ selection: selection() }),
  complement: () => ({ selection: selection() }),
  intersection: () => ({ a: selection(), b: selection() }),
  union: () => ({ a: selection(), b: selection() }),
  joinRows: () => ({ left: numbersTable, right: numbersTable, on: { left: 'n', right: 'n' } }),
  topRows: {
    args: () => ({ table: numbersTable, options: { by: 'n', k: 1, 'ascending?': true, 'where?': condition } }),
    takes: literalsAt('options.where.right.value'),
  },
  readRows: () => ({ table: numbersTable, ids: column(0), 'options?': { 'names?': ['n'] } }),
  aggregate: {
    args: () => ({ table: numbersTable, aggregates: sums, 'options?': { 'where?': condition } }),
    takes: literalsAt('options.where.right.value'),
  },
  prepareAggregate: () => ({ table: numbersTable, aggregates: sums }),
  groupBy: {
    args: () => ({ table: numbersTable, keys: ['n'], aggregates: groupSums, 'options?': { 'where?': condition } }),
    takes: literalsAt('options.where.right.value'),
  },
  column: () => ({ name: 'n' }),
  literal: { args: () => ({ value: 3 }), takes: literalsAt('value') },
  ...Object.fromEntries(
    [
      ...['lessThan', 'atMost', 'greaterThan', 'atLeast', 'equalTo', 'unequalTo'],
      ...['added', 'subtracted', 'multiplied'],
    ].map((name) => [name, comparing]),
  ),
  between: {
    args: () => ({ of: expression, low: expression, high: expression }),
    takes: literalsAt('of', 'low', 'high'),
  },
  oneOf: { args: () => ({ of: expression, values: [1] }), takes: literalsAt('of', 'values.0') },
  isNull: { args: () => ({ of: expression }), takes: literalsAt('of') },
  truth: { args: () => ({ of: expression }), takes: literalsAt('of') },
  and: () => ({ of: { kind: 'isNull', of: expression } }),
  or: () => ({ of: { kind: 'isNull', of: expression } }),
  not: () => ({ of: { kind: 'isNull', of: expression } }),
  linear: { args: () => ({ factors: { n: 1 } }), takes: literalsAt('factors.n') },
  inPolygons: () => ({ point: { x: 'n', y: 'n' }, tree }),
  pointColumns: () => ({ points: { x: [1], y: [1] }, domain, 'options?': { 'validity?': words(1) } }),
  inBox: { args: () => ({ bounds: { n: [expression, expression] } }), takes: literalsAt('bounds.n.0') },
  gradients: () => ({ frame: frame() }),
  trackFrame: () => ({
    frame: frame(),
    cells: { x: fractions(1), y: fractions(1), path: fractions(1), 'radius?': fractions(1), 'radii?': fractions(20) },
    'options?': {
      ...{ 'direction?': { x: 1, y: 0 }, 'flow?': { x: 1, y: 1 }, 'maxRadius?': 2, 'maxRounds?': 2 },
      ...{ 'maxSnakeRounds?': 2, 'snakeStep?': 1, 'minMove?': 0.1 },
      'previous?': { field: fractions(10), windows: column(...new Array(11).fill(0)) },
    },
  }),
  refineContours: () => ({
    frame: frame(),
    cells: { x: fractions(1), y: fractions(1), radius: fractions(1) },
    'options?': { 'iterations?': 2, 'delta?': 1, 'step?': 0.1, 'border?': 0 },
  }),
  cellTracker: () => ({ context, 'options?': trackOptions() }),
  trackCells: {
    args: () => ({ context, frames: [hostFrame()], 'options?': trackOptions() }),
    takes: {
      'frames: a Map': 'it is an iterable; each frame is looked at when it comes',
      'frames.0: a promise': 'frames may be awaited',
    },
  },
  stillBackground: () => ({ context, frames: [hostFrame()], 'options?': { 'quantile?': 0.5 } }),
  gicov: () => ({ frame: frame(), 'options?': circles }),
  detectPeaks: () => ({ frame: frame(), 'options?': { ...circles, 'dilation?': 3, 'maxCells?': 4 } }),
  detectCells: () => ({ context, frame: frame(), 'options?': { ...circles, 'dilation?': 3, 'maxCells?': 4 } }),
  sheetsOf: {
    args: () => ({ polygons: { ...square, 'ringParts?': words(0) }, 'options?': { 'turn?': 360 } }),
    takes: { 'polygons.x': ANY_NUMBERS, 'polygons.y': ANY_NUMBERS },
  },
  parseBoundaryText: () => ({
    context,
    text: new TextEncoder().encode('a 0,0 2,0 2,2\n'),
    'options?': { 'partBytes?': 100 },
  }),
  ratiosOf: () => ({ areas }),
  countMeetings: () => ({ p: boxes, q: boxes }),
  crossCompare: {
    args: () => ({
      context,
      job: {
        ...{ p: tiles, q: tiles, parse, 'matching?': matching, 'onTile?': none, 'onError?': 'skip' },
        ...{ 'scheme?': 'pipelined', 'parseLanes?': 1, 'batchPairs?': 100, 'reopen?': none, 'progressEvery?': 100 },
        ...{ 'migrate?': { cpu: context, 'parseOnGpu?': parse }, 'signal?': new AbortController().signal },
        'observer?': { span: none, occupancy: none, mark: none },
      },
    }),
    call: (...args: unknown[]) =>
      (compare.crossCompare as (...all: unknown[]) => compare.CrossCompareRun)(...args).result,
  },
  filterPairs: () => ({ p: boxes, index: { boxes, members: words(0), 'tree?': compare.indexBoxes(boxes).tree } }),
  indexBoxes: () => ({ boxes }),
  matchPairs: () => ({ pairs: { ...first, ratio: Float64Array.of(1) }, options: matching }),
  tileSide: () => ({ read, options: { 'pixelSize?': 1, place: 'a' } }),
  totalsOf: () => ({ matching }),
  buildMaqTree: {
    args: () => ({ context, sets: [optionalEdges(decomposed)], 'options?': { 'frees?': false } }),
    takes: { 'options.frees: true': 'it frees the quadrants that other calls need here' },
  },
  'buildMaqTree in parts': {
    args: () => ({ context, sets: [[{ quadrants: optionalEdges(decomposed), firstPolygon: 0 }]] }),
    call: (...args: unknown[]) => (maq.buildMaqTree as (...all: unknown[]) => unknown)(...args),
  },
  readMaqTree: () => ({ context, tree: optionalEdges(tree) }),
  uploadMaqTree: {
    args: () => ({ context, tree: optionalEdges(hostTree) }),
    call: (...args: unknown[]) => context.dispose((maq.uploadMaqTree as (...all: unknown[]) => unknown)(...args)),
  },
  connectedComponents: () => ({
    ...{ context, cells: context.column([true, false]) },
    'options?': { 'width?': 2, 'connectivity?': 4 },
  }),
  sharedPixels: () => ({ context, jobs: [{ p: labels, q: labels }], 'options?': { 'bandRuns?': 100 } }),
  overlapsInQuadrants: () => ({
    ...{ context, pairs: { column: column(4), row: column(0), p: region, q: region }, edge: column(0) },
    ...{ ends: context.column(places(5, 0, 0, 5)), 'options?': { 'maxEdges?': 16 } },
  }),
  regionsOn: () => ({ context, polygons: square }),
  gridPolygons: () => ({ polygons, 'options?': { 'pixelSize?': 1, ...file } }),
  areasOfJobs: () => ({
    context,
    jobs: [{ p: regions, q: regions, pairs: first }],
    'options?': { 'method?': 'auto', 'memoryBytes?': 2 ** 20 },
  }),
  pairAreas: () => ({
    ...{ context, p: regions, q: regions, pairs: first },
    'options?': { 'method?': 'auto', 'memoryBytes?': 2 ** 20 },
  }),
  pixelOnly: sampled({ 'blockSize?': 16, 'memoryBytes?': 2 ** 20 }),
  polygonAreas: () => ({ context, edges }),
  uploadPolygonEdges: {
    args: () => ({ context, polygons: square }),
    call: (...args: unknown[]) =>
      context.dispose((pixelbox.uploadPolygonEdges as (...all: unknown[]) => unknown)(...args)),
  },
  contains: sampled(sampling),
  intersects: sampled(sampling),
  touches: sampled(sampling),
  regionsOf: () => ({ polygons: square }),
  pixelBox: sampled(sampling),
  pixelBoxNoSep: sampled(sampling),
  signedArea: () => ({ corners: pixelbox.signedCorners(regions, () => true), region: 0 }),
  signedCorners: () => ({ regions, wanted: () => true }),
  comeRound: () => ({ polygons, domain }),
  turnedInto: () => ({ longitude: 190, domain: { left: -180 } }),
  decompose: () => ({
    ...{ context, polygons: { ...square, 'sheets?': undefined } },
    options: { levels: 2, 'memoryBytes?': 2 ** 20, 'maxBytes?': 2 ** 20, 'keepsEdges?': true },
  }),
  decomposeDepthFirst: () => ({ context, polygons: square, options: { levels: 2, 'split?': 4 } }),
  decomposeWhole: () => ({ context, polygons: square, options: { levels: 2 } }),
  placeInDomain: () => ({ polygons, domain, 'options?': { 'fill?': 'union', ...file } }),
  areasByRegion: () => ({
    ...{ context, tree: optionalEdges(tree), regions: withoutEdges },
    'options?': { 'above?': 0n, 'capacity?': 100 },
  }),
  areasByWindow: () => ({ context, tree: optionalEdges(tree), windows, 'options?': { 'above?': 0n } }),
  queryWindowsBreadthFirst: () => ({ context, tree: optionalEdges(tree), windows, 'options?': { 'capacity?': 100 } }),
  joinPolygons: () => ({ context, tree, queries: decomposed, 'options?': { 'capacity?': 100 } }),
  placePoints: () => ({ context, points: { x: [1], y: [1] }, domain }),
  queryPoints: () => ({ context, tree, points: { x: column(1), y: column(1) } }),
  polygonsOf: () => ({ context, tree: optionalEdges(tree), found: { query: column(0), node: column(0) } }),
  queryPolygons: () => ({
    ...{ context, tree: optionalEdges(tree), queries: withoutEdges },
    'options?': { 'capacity?': 100 },
  }),
  queryWindows: () => ({ context, tree: optionalEdges(tree), windows }),
  placePolygons: () => ({ polygons, domain, 'options?': { 'fill?': 'union', ...file } }),
  placeWindows: () => ({ context, windows: { left: [0], bottom: [0], right: [2], top: [2] }, domain }),
  createOverlay: () => ({ context, zones, 'options?': { 'memoryBytes?': 2 ** 20 } }),
  zoneFractions: () => ({
    ...{ context, zones, grid },
    'options?': { 'window?': { column: 0, row: 0, columns: 2, rows: 1 }, 'fill?': 'union' },
  }),
  zonalHistogram: {
    args: () => ({
      context,
      job: {
        ...{
          ...job,
          'fill?': 'union',
          'pixels?': 'center',
          'statistics?': true,
          'tile?': 64,
          'memoryBytes?': 2 ** 30,
          'channelBytes?': 2 ** 20,
        },
        ...{ 'signal?': new AbortController().signal, 'onProgress?': none },
      },
    }),
    takes: USERS_READER,
  },
  surfaceHistogram: {
    args: () => ({
      context,
      job: {
        ...{ zones, rasters: [raster], binning: job.binning },
        ...{
          'fill?': 'union',
          'pixels?': 'all-touched',
          'statistics?': true,
          'tile?': 64,
          'memoryBytes?': 2 ** 30,
          'channelBytes?': 2 ** 20,
        },
        ...{ 'signal?': new AbortController().signal, 'onProgress?': none, 'onCounted?': none },
      },
    }),
    takes: {
      'job.rasters.0.read: a function': USERS_READER['job.raster.read: a function'],
      'job.rasters.0.readMask: a function': 'likewise',
    },
  },
  'zonalHistogram with weights': {
    args: () => ({
      context,
      job: { zones, raster, weights: masses, binning: { kind: 'none' }, statistics: ['weighted_mean'] },
    }),
    takes: {
      ...USERS_READER,
      'job.weights.read: a function': USERS_READER['job.raster.read: a function'],
      'job.weights.readMask: a function': 'likewise',
    },
    call: (...args: unknown[]) => (zonal.zonalHistogram as (...all: unknown[]) => unknown)(...args),
  },
  'zonalHistogram by edges': {
    args: () => ({ context, job: { zones, raster, binning: { kind: 'edges', edges: [0, 2, 4] } } }),
    takes: USERS_READER,
    call: (...args: unknown[]) => (zonal.zonalHistogram as (...all: unknown[]) => unknown)(...args),
  },
};
