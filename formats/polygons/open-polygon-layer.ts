import type { Polygons, Zones } from '../../algorithms/geometry/polygons.ts';
import type { Note } from '../../algorithms/notes.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { FormatError, type OutOfMemoryError } from '../../primitives/checks/errors.ts';
import { aText } from '../../primitives/checks/kinds.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { joinedArrays } from '../bytes/byte-arrays.ts';
import { finished, type Steps, taken, taking } from '../bytes/steps.ts';
import { findNoLatitude, isGeographicCrs } from '../crs.ts';
import { overMemory } from '../memory.ts';
import { UsageError } from '../usage-error.ts';
import { closeWindow, offsetOf, openWindow } from './byte-window.ts';
import { unknownLayer } from './choose-layer.ts';
import { noPolygonsError } from './feature.ts';
import { emptyLayer, takePolygons } from './layer-columns.ts';
import { formatOf } from './layer-format.ts';
import { type ForZones, fileInput, type LayerInput } from './layer-input.ts';
import { crsOf, duplicateNotes, noPolygonsNote, notesOf } from './layer-notes.ts';
import type { OpenedFormat, Reading } from './layer-reading.ts';
import type { PolygonFormat } from './polygon-format.ts';
import { POLYGON_FORMATS } from './polygon-formats.ts';
import {
  LAYER_OPTIONS,
  type PolygonBatch,
  type PolygonLayer,
  type PolygonLayerFormat,
  type PolygonLayerOptions,
  type ReadZones,
} from './polygon-layer.ts';

/**
 * Opens a layer of polygons. The file may be GeoJSON of any size (FeatureCollection, Feature, geometry), GeoJSON with
 * one Feature or geometry per line or per record separator (RFC 8142), TopoJSON, FlatGeobuf, a Shapefile with its
 * companion files or in a ZIP archive, GeoParquet (and Parquet with a column of WKB), GeoPackage, WKT in which each geometry begins on a new line, or CSV with a column of WKT. The format is detected from the content and the
 * extension, or given by `options.format`.
 *
 * Every Polygon and MultiPolygon feature becomes one polygon, in the file's order. As with `readZones`, rings keep
 * their direction, and closing vertices are not stored. The polygons of a multipolygon or a collection become parts of
 * one polygon. A Shapefile does not state which rings form a part. So a clockwise ring begins a part, and any other
 * ring is a hole in the smallest part that contains the ring. A polygon is named by its `id`, by the property
 * `options.id`, or by its index among the file's records. Of a whole number, the name has all digits that the text has. Only the first two numbers of a position are used.
 *
 * Polygons are returned in batches of about 2^20 vertices. Memory depends on the size of a batch and of the longest
 * record, or row group of GeoParquet, but not on the size of the file. Only a TopoJSON file, and what is in a ZIP archive, is held in memory as a whole. O(bytes).
 *
 * The following is noted, and does not throw: `zones/none`, `zones/unclosed-rings`, `zones/empty-rings` (which are left
 * out), `zones/zero-area-rings`, `zones/no-geometry`, `zones/crs-unknown`; for longitudes `zones/antimeridian-jumps`,
 * or with `antimeridian: 'unwrap'` `zones/antimeridian-unwrapped` and `zones/antimeridian-kept`;
 * `polygons/other-geometry` (points and lines, which are left out); `polygons/short-rings` (rings of WKT with fewer
 * than three vertices, which are left out); for Shapefiles `polygons/deleted-records`, `polygons/unknown-code-page`,
 * `polygons/undecoded-names` (with bytes that the code page does not have),
 * `polygons/unused-bytes` (gaps between records, which the `.shx` file states) and `polygons/trailing-bytes`;
 * `polygons/spherical-edges`, `polygons/other-geometry-columns` and `polygons/bounds-beyond-degrees` of GeoParquet; `polygons/named-by-row` of views of a GeoPackage;
 * `polygons/incomplete-records` (records that are null, or lack their geometry or their name, which are left out); with
 * `onBadRecord: 'skip'` `polygons/bad-records`. Duplicate names are not detected, because all names would have to
 * be kept in memory.
 *
 * GeoPackage is read by the SQLite of Node 22.13 or newer. Other versions throw `format/needs-newer-node`.
 *
 * @throws FormatError if the file is missing or truncated, if its format is unknown, or if it is not of the format
 * `options.format`. Reading the batches also throws a FormatError if a record is malformed or lacks the naming
 * property, or if the layer has only points and lines (`format/not-polygon`). If a record is at fault, the error names
 * the record.
 * @throws GeometryError if a coordinate is not a finite number; `place.record` is the record's index.
 * @throws CapacityError if one record has more bytes than a JavaScript string can have; OutOfMemoryError `memory/limit`
 * if a record, or a topology, would take more than `options.memoryBytes`.
 * @throws UsageError if the requested layer does not exist, or if the file has several layers and none is requested.
 * @example
 * const layer = await openPolygonLayer('examples/counties-10m.json', { layer: 'counties' });
 * let polygons = 0;
 * for await (const { zones } of layer.batches()) polygons += zones.names.length;
 * [layer.format, polygons]; // ['topojson', 3231]
 */
export async function openPolygonLayer(file: string, options: PolygonLayerOptions = {}): Promise<PolygonLayer> {
  requireArguments('openPolygonLayer', { file, options }, { file: aText, options: LAYER_OPTIONS });
  return openLayer(await fileInput(file, options.memoryBytes), options);
}

/**
 * Reads all polygons of a layer into memory. The result is that of {@link openPolygonLayer}, with all batches joined.
 * Duplicate names are also noted (`zones/duplicate-names`).
 *
 * @example
 * const { zones } = await readPolygonLayer('examples/counties-10m.json', { layer: 'states', id: 'name' });
 * [zones.names.length, zones.names[0]]; // [56, 'Arizona']
 */
export async function readPolygonLayer(file: string, options: PolygonLayerOptions = {}): Promise<ReadZones> {
  requireArguments('readPolygonLayer', { file, options }, { file: aText, options: LAYER_OPTIONS });
  return finished(readAll(await fileInput(file, options.memoryBytes), options));
}

/** Opens a layer from a source of bytes, which need not be a file. */
export async function openLayer(
  input: LayerInput,
  options: PolygonLayerOptions,
  forZones: ForZones = {},
): Promise<PolygonLayer> {
  const { startPass, ...told } = await finished(layerIn(input, options, forZones));
  return {
    ...told,
    batches(signal) {
      const pass = startPass(signal);
      const iterate = async function* (): AsyncGenerator<PolygonBatch, void, undefined> {
        for await (const _ of taken(pass.steps)) yield pass.take();
      };
      const batches = iterate();
      return {
        get crs() {
          return pass.crs;
        },
        notes: pass.notes,
        [Symbol.asyncIterator]: () => batches,
      };
    },
  };
}

/** A layer that is opened, and read by the steps of passes. */
interface OpenedLayer extends Omit<PolygonLayer, 'batches'> {
  startPass(signal?: AbortSignal): LayerPass;
}

/** One pass over a layer. */
interface LayerPass {
  /** Reads the layer. Whenever they yield undefined, there is a batch to take. */
  readonly steps: Steps;
  take(): PolygonBatch;
  readonly crs: string | undefined;
  readonly notes: () => Note[];
  /** Whether jumps of longitudes are read for the coordinate system that the pass has found. */
  readonly isSettled: boolean;
}

function* layerIn(input: LayerInput, options: PolygonLayerOptions, forZones: ForZones): Steps<OpenedLayer> {
  const format =
    options.format === undefined
      ? yield* formatOf(input)
      : POLYGON_FORMATS.find(({ name }) => name === options.format)!;
  if (options.layer !== undefined && format.isLayered !== true) throw unknownLayer(options.layer, input.file);
  if (input.gzipped === true && format.isBinary === true) throw gzippedBinary(format.name, input.file);
  if (options.geometryColumn !== undefined && format.hasColumns !== true) {
    throw noColumns(options.geometryColumn, format, input.file);
  }
  if (forZones.isNow === true && format.needsFile === true) throw needsFile(format, input.file);
  const opened = yield* format.open(input, options);
  const { file, size } = input;
  const crs = crsOf({ options, stated: opened.stated }, opened.geographic);
  const assumesCrs = options.crs === undefined && opened.stated === undefined && opened.geographic;
  const seen: Seen = { isGeographic: undefined };
  const startPass: OpenedLayer['startPass'] = (signal) => passOver(input, opened, { options, forZones }, signal, seen);
  return { file, format: format.name, crs, assumesCrs, size, startPass };
}

/**
 * Reads all polygons of a layer. If the file states its coordinate system after polygons whose longitudes were read for
 * another one, they are read again.
 *
 * @throws OutOfMemoryError `memory/limit` if the vertices take more than `options.memoryBytes`.
 */
export function* readAll(input: LayerInput, options: PolygonLayerOptions, forZones: ForZones = {}): Steps<ReadZones> {
  const { startPass } = yield* layerIn(input, options, forZones);
  let { pass, zones } = yield* readPass(startPass(), input.file, options.memoryBytes);
  if (!pass.isSettled) ({ pass, zones } = yield* readPass(startPass(), input.file, options.memoryBytes));
  const found = forZones.attributes?.finish();
  return {
    zones,
    notes: [...pass.notes(), ...duplicateNotes(zones.names, forZones.noun ?? 'polygon'), ...(found?.notes ?? [])],
    ...(found && { attributes: found.attributes }),
  };
}

/** Bytes of a vertex: its coordinates, in a batch and in the result. */
const BYTES_PER_VERTEX = 32;
/** Bytes of a polygon besides: its name, and where its rings begin. */
const BYTES_PER_POLYGON = 64;

function* readPass(
  pass: LayerPass,
  file: string,
  memoryBytes: number = Number.POSITIVE_INFINITY,
): Steps<{ pass: LayerPass; zones: Zones }> {
  let vertices = 0;
  const parts: Polygons[] = [];
  const names: string[] = [];
  let crsText: string | undefined;
  yield* taking(pass.steps, () => {
    const { zones } = pass.take();
    parts.push(zones.polygons);
    ({ crsText } = zones);
    vertices += zones.polygons.x.length;
    for (const name of zones.names) names.push(name);
    const needed = vertices * BYTES_PER_VERTEX + names.length * BYTES_PER_POLYGON;
    if (needed > memoryBytes) throw tooMany(needed, names.length, vertices, memoryBytes, file);
  });
  return {
    pass,
    zones: { names, polygons: joined(parts), crs: pass.crs, ...(crsText !== undefined && { crsText }), file },
  };
}

function tooMany(needed: number, polygons: number, vertices: number, allowed: number, file: string): OutOfMemoryError {
  return overMemory('The polygons are too large to be held in memory.', {
    needed,
    what: `the first ${polygons} polygons, of ${vertices} vertices`,
    allowed,
    instead: 'split the file',
    place: { file },
  });
}

/** Whether the coordinates are longitudes and latitudes, if an earlier pass over the layer has found out. */
interface Seen {
  isGeographic: boolean | undefined;
}

function passOver(
  input: LayerInput,
  { read, stated, crsText, geographic }: OpenedFormat,
  { options, forZones }: Pick<Reading, 'options' | 'forZones'>,
  signal: AbortSignal | undefined,
  seen: Seen,
): LayerPass {
  const columns = emptyLayer();
  const window = openWindow(input, signal);
  const reading: Reading = { input, options, signal, window, columns, stated, firstErrors: new Map(), forZones };
  forZones.attributes?.begin();
  columns.mayJump = seen.isGeographic ?? isGeographicCrs(crsOf(reading, geographic));
  columns.unwraps = options.antimeridian === 'unwrap';
  columns.takesPoints = forZones.arePoints === true;
  let latitudes = true;
  let [polygons, bytesRead] = [0, 0];
  const crs = (): string | undefined => crsOf(reading, geographic && latitudes);
  const text = options.crs === undefined && crsText !== undefined ? { crsText } : undefined;
  const steps = function* (): Steps {
    try {
      yield* read(reading);
      if (columns.polygons === 0 && columns.others > 0 && !forZones.isTile)
        throw noPolygonsError(input.file, columns.others);
      if (polygons === 0 || columns.names.length > 0) yield;
      seen.isGeographic = isGeographicCrs(crs());
    } finally {
      yield* closeWindow(window);
    }
  };
  return {
    steps: steps(),
    take() {
      const { names, polygons: taken } = takePolygons(columns);
      latitudes &&= !geographic || findNoLatitude(extremesOf(taken.y)) === undefined;
      polygons += names.length;
      // A Shapefile may be read forward and backward.
      bytesRead = Math.max(bytesRead, offsetOf(window));
      return { zones: { names, polygons: taken, crs: crs(), ...text, file: input.file }, bytesRead };
    },
    get crs() {
      return crs();
    },
    notes: () => [
      ...(polygons === 0 ? [noPolygonsNote(forZones.noun ?? 'polygon')] : []),
      ...notesOf(reading, crs(), geographic),
    ],
    get isSettled() {
      const isGeographic = isGeographicCrs(crs());
      return columns.mayJump === isGeographic || !(isGeographic || columns.unwraps);
    },
  };
}

function extremesOf(column: Float64Array): Float64Array {
  let [min, max] = [0, 0];
  for (let row = 0; row < column.length; row++) {
    if (column[row]! < min) min = column[row]!;
    if (column[row]! > max) max = column[row]!;
  }
  return Float64Array.of(min, max);
}

function joined(parts: readonly Polygons[]): Polygons {
  return {
    polygonRings: joinedStarts(parts.map(({ polygonRings }) => polygonRings)),
    ringVertices: joinedStarts(parts.map(({ ringVertices }) => ringVertices)),
    // The parts of each polygon are numbered separately, so no offset is needed.
    ringParts: joinedArrays(
      parts.map(({ ringParts = new Uint32Array() }) => ringParts),
      Uint32Array,
    ),
    x: joinedArrays(
      parts.map(({ x }) => x),
      Float64Array,
    ),
    y: joinedArrays(
      parts.map(({ y }) => y),
      Float64Array,
    ),
  };
}

/**
 * Concatenates columns of start indices. Each column begins at 0, so an offset is added to the indices of all columns
 * but the first.
 */
function joinedStarts(parts: readonly Uint32Array[]): Uint32Array {
  const starts = new Uint32Array(parts.reduce((sum, part) => sum + part.length - 1, 1));
  let at = 0;
  for (const part of parts) {
    const before = starts[at]!;
    for (let row = 1; row < part.length; row++) starts[++at] = before + part[row]!;
  }
  return starts;
}

function gzippedBinary(format: PolygonLayerFormat, file: string): FormatError {
  return new FormatError('format/gzipped-binary', `A gzipped ${format} file cannot be read.`, {
    expected: 'a file that is not compressed, or gzipped GeoJSON, TopoJSON or WKT',
    remedy: 'Unpack it first.',
    place: { file },
  });
}

function noColumns(column: string, { title }: PolygonFormat, file: string): UsageError {
  return new UsageError('usage/no-columns', `The file has no column ${JSON.stringify(column)} of geometries.`, {
    expected: `none: in ${title}, geometries are not in columns that have names`,
    got: JSON.stringify(column),
    remedy: 'Leave the column out.',
    place: { file },
  });
}

function needsFile({ title }: PolygonFormat, file: string): FormatError {
  return new FormatError('format/needs-file', `Polygons in ${title} can only be read from a file.`, {
    expected: 'text, such as GeoJSON',
    got: title,
    remedy: 'Name the file: readZones and openPolygonLayer read it.',
    place: { file },
  });
}
