import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as formats from '../../formats/index.ts';
import { comparison, histogram, hostTree, notes } from './algorithms.ts';
import { type Arguments, context, opaque, type ValidCalls } from './valid-call.ts';

const folder = await mkdtemp(join(tmpdir(), 'valid-calls-'));
const geometry = '{ "type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 2], [0, 2]]] }';
const text = `{ "type": "Feature", "properties": { "name": "a" }, "geometry": ${geometry} }`;
const path = join(folder, 'zones.geojson');
await writeFile(path, text);
const grid = { width: 2, height: 2, originX: 0, originY: 2, stepX: 1, stepY: -1 };
const tiff = join(folder, 'cells.tif');
const cells = (): Uint8Array => Uint8Array.of(1, 2, 3, 4);
await formats.writeGeoTiff(tiff, { ...grid, sample: 'u8' }, cells);
const packed = join(folder, 'cells.qbp');
await formats.encodePackedRaster(tiff, packed);
const empty = (): Arguments => ({ empty: { rows: 0, columns: formats.emptyTable('missing').columns } });
const file = {
  ...{ domain: { left: 0, bottom: 0, size: 4 }, levels: 2 },
  sets: [{ name: 'a', 'crs?': 'EPSG:4326', names: ['0'] }],
  tree: { nodes: hostTree.nodes, entries: hostTree.entries, extent: hostTree.extent, 'edges?': hostTree.edges },
};
const plot = (): Arguments => ({ file, 'options?': { 'window?': { left: 0, bottom: 0, right: 2, top: 2 } } });
const layer = {
  ...{ 'id?': 'name', 'crs?': 'EPSG:4326', 'antimeridian?': 'unwrap', 'memoryBytes?': 2 ** 30 },
};
const parameters = {
  ...{
    format: 'nifti',
    place: 'a',
    'geometryColumn?': 'g',
    'idColumn?': 'i',
    'regions?': 'labels',
    'memoryBytes?': 2 ** 30,
  },
  'labels?': { width: 2, height: 2, type: 'u8' },
};
const csv = join(folder, 'table.csv');
await writeFile(csv, 'a\n1\n');
const iterated = { 'batches: a Map': 'it has no batches', 'batches.0: a promise': 'it is awaited' };
const rows = (): Arguments => ({
  fields: [{ name: 'a', type: 'i32', nullable: false }],
  batches: [{ rows: 1, columns: { a: { type: 'i32', values: Int32Array.of(1) } } }],
});
const image = (): Arguments => ({ bytes: Uint8Array.of(0, 7, 7, 7), parameters });
const { statistics, united, ...counted } = histogram;
/** One zone, with all that zones may have. */
const triangle = {
  names: ['a'],
  polygons: {
    polygonRings: Uint32Array.of(0, 1),
    ringVertices: Uint32Array.of(0, 3),
    ...{ x: Float64Array.of(0, 1, 0), y: Float64Array.of(0, 0, 1) },
  },
  ...{ 'crsText?': '+proj=longlat +datum=WGS84', 'file?': 'a.json' },
};
const counts = { ...counted, 'statistics?': statistics, 'united?': united };

const { alone: _, skipped: __, notes: ___, ...figures } = comparison;

export const formatCalls: ValidCalls = {
  comparePlot: () => ({ plot: { comparison: figures, title: 'A' } }),
  fileElements: () => ({ file: path, options: { type: 'u8', 'offset?': 1, 'length?': 2 } }),
  emptyTable: () => ({ table: 'missing' }),
  trackWriter: () => ({ 'scale?': { 'frameRate?': 30, 'pixelSize?': 0.5 } }),
  csvWriter: empty,
  createBandCache: () => ({ 'options?': { 'keepBytes?': 2 ** 20 } }),
  openGeoTiff: {
    takes: { 'options.nodata: a bigint': 'cells of i64 and u64 have such values' },
    args: () => ({
      input: tiff,
      'options?': {
        ...{
          'band?': 1,
          'nodata?': 0,
          'raw?': true,
          'mask?': 'none',
          'keepBytes?': 2 ** 20,
          'bandCache?': formats.createBandCache(),
          'maxBlockBytes?': 2 ** 20,
          'threads?': 0,
          'startThreads?': false,
          'beside?': [new File([], 'a.tfw')],
        },
      },
    }),
    call: async (...args: unknown[]) =>
      (await (formats.openGeoTiff as (...all: unknown[]) => Promise<formats.GeoTiffSource>)(...args)).close(),
  },
  openPackedRaster: {
    args: () => ({
      input: packed,
      'options?': { 'band?': 1, 'nodata?': 0, 'raw?': true, 'mask?': 'none', 'context?': context },
    }),
    call: async (...args: unknown[]) =>
      (await (formats.openPackedRaster as (...all: unknown[]) => Promise<formats.PackedRasterSource>)(...args)).close(),
  },
  encodePackedRaster: {
    takes: { 'output: a text': 'it would be written' },
    args: () => ({
      input: tiff,
      output: join(folder, 'written.qbp'),
      'options?': {
        ...{ 'band?': 1, 'mask?': 'none', 'codec?': 'residuals', 'context?': context, 'memoryBytes?': 2 ** 20 },
        ...{ 'tile?': { columns: 32, rows: 32 }, 'signal?': new AbortController().signal },
        'onProgress?': () => undefined,
      },
    }),
  },
  decodePackedRaster: {
    takes: { 'output: a text': 'it would be written' },
    args: () => ({
      input: packed,
      output: join(folder, 'decoded.tif'),
      'options?': {
        ...{ 'band?': 1, 'window?': { column: 0, row: 0, columns: 1, rows: 2 } },
        'signal?': new AbortController().signal,
        ...{ 'onProgress?': () => undefined, 'onPartial?': () => undefined },
      },
    }),
  },
  writeGeoTiff: {
    takes: { 'raster.nodata': 'a number, or the text of one', 'file: a text': 'it would be written' },
    args: () => ({
      file: join(folder, 'written.tif'),
      raster: {
        ...{
          ...grid,
          'crs?': 'EPSG:4326',
          'geographic?': true,
          sample: 'u8',
          'bands?': 1,
          'nodata?': 0,
          'stripRows?': 1,
        },
        ...{
          'compression?': 'deflate',
          'level?': 6,
          'predictor?': 'none',
          'interleave?': 'pixel',
          'placement?': 'scale',
        },
        ...{ 'pixelIsPoint?': false, 'byteOrder?': 'little', 'bigTiff?': false },
      },
      cells: ({ columns, rows }: { columns: number; rows: number }) => new Uint8Array(columns * rows),
    }),
  },
  encodeMaq: () => ({ file }),
  openMaq: () => ({
    bytes: new Uint8Array(formats.encodeMaq({ ...file, sets: [{ name: 'a', names: ['0'] }], tree: hostTree })),
    'options?': { 'file?': 'a.maq', 'verify?': true },
  }),
  openPolygonLayer: () => ({
    file: path,
    'options?': { ...layer, 'format?': 'geojson', 'onBadRecord?': 'skip', 'beside?': [new Blob([])] },
  }),
  readPolygonLayer: () => ({
    file: path,
    'options?': { ...layer, 'format?': 'geojson', 'onBadRecord?': 'skip', 'beside?': [new Blob([])] },
  }),
  openTable: {
    takes: { 'path: a text': 'a path is a text' },
    args: () => ({
      path: csv,
      'options?': {
        ...{ 'format?': 'csv', 'types?': opaque({ a: 'i32' }), 'delimiter?': ',', 'header?': true },
        'signal?': new AbortController().signal,
      },
    }),
    call: async (...args: unknown[]) =>
      (await (formats.openTable as (...all: unknown[]) => Promise<formats.TableFile>)(...args)).close(),
  },
  writeTable: {
    takes: { 'path: a text': 'it would be written', ...iterated },
    args: () => ({
      path: join(folder, 'written.csv'),
      ...rows(),
      'options?': { 'format?': 'csv', 'signal?': new AbortController().signal },
    }),
  },
  tableChunks: {
    takes: iterated,
    args: () => ({ format: 'csv', ...rows() }),
    call: async (...args: unknown[]) => {
      for await (const _ of (formats.tableChunks as (...all: unknown[]) => AsyncIterable<unknown>)(...args));
    },
  },
  fieldsOfTable: () => ({ table: { a: { type: 'i32', values: Int32Array.of(1) } } }),
  openVideo: {
    takes: { 'source: a text': 'a path is a text' },
    args: () => ({ source: tiff, 'options?': { 'channel?': 'grey', 'signal?': new AbortController().signal } }),
    call: async (...args: unknown[]) =>
      (await (formats.openVideo as (...all: unknown[]) => Promise<formats.Video>)(...args)).close(),
  },
  // The fields of `file` are not replaced by garbage here, because drawing an image takes long. quadrantPlot checks the
  // same fields.
  quadrantImage: () => ({
    file: opaque({ ...file, sets: [{ name: 'a', names: ['0'] }], tree: hostTree }),
    'options?': {},
  }),
  quadrantPlot: plot,
  parseBoundariesOn: () => ({
    ...{ context, bytes: new TextEncoder().encode('a 0,0 2,0 2,2\n'), place: 'a' },
    'options?': { 'partBytes?': 100 },
  }),
  parseLabels: image,
  openResultSet: () => ({
    path,
    'options?': {
      ...{
        'format?': 'geojson',
        'geometryColumn?': 'g',
        'idColumn?': 'i',
        'regions?': 'labels',
        'memoryBytes?': 2 ** 30,
      },
    },
  }),
  createParsePool: () => ({ 'options?': { 'threads?': 1, 'start?': () => {} } }),
  parseTile: image,
  textAt: () => ({ column: { ...formats.textColumnOf(['a']) }, row: 0 }),
  textColumnOf: () => ({ texts: ['a'] }),
  traceLabels: () => ({
    labels: Uint8Array.of(0, 7, 7, 7),
    options: { width: 2, height: 2, 'regions?': 'labels' },
  }),
  statisticsCsv: {
    args: () => ({ histogram: counts }),
    takes: { 'histogram.statistics: nothing': 'it is told as what was not counted' },
  },
  ...Object.fromEntries(
    ['statisticsFlatGeobuf', 'statisticsGeoJson'].map((name) => [
      name,
      {
        args: () => ({
          histogram: counts,
          zones: { ...triangle, 'crs?': 'EPSG:4326' },
          'options?': { 'raster?': 'a', 'band?': 1 },
        }),
        takes: { 'histogram.statistics: nothing': 'it is told as what was not counted' },
      },
    ]),
  ),
  zonalCsv: () => ({ histogram: counts, 'options?': { 'quoteFormulas?': true, 'raster?': 'a', 'header?': false } }),
  zonalJson: () => ({ histogram: counts, run: { zones: 'a', raster: 'b', backend: 'workers', notes } }),
  parseZones: () => ({ text, 'options?': { ...layer, 'file?': 'a.json' } }),
  reprojectZones: () => ({
    read: {
      zones: { ...triangle, crs: 'EPSG:4326' },
      notes,
    },
    to: { crs: 'EPSG:3857', stepX: 10, stepY: -10 },
    'options?': { 'onBadRecord?': 'skip', 'memoryBytes?': 2 ** 20, 'signal?': new AbortController().signal },
  }),
  readZones: () => ({ file: path, 'options?': { ...layer, 'attributes?': ['name'], 'beside?': [new Blob([])] } }),
};
