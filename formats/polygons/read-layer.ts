import type { Polygons, Zones } from '../../algorithms/geometry/polygons.ts';
import type { Note } from '../../algorithms/notes.ts';
import { FormatError, type OutOfMemoryError } from '../../primitives/checks/errors.ts';
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
import type { ForZones, LayerInput } from './layer-input.ts';
import { crsOf, duplicateNotes, noPolygonsNote, notesOf } from './layer-notes.ts';
import type { OpenedFormat, Reading } from './layer-reading.ts';
import type { PolygonFormat } from './polygon-format.ts';
import { POLYGON_FORMATS } from './polygon-formats.ts';
import type {
  PolygonBatch,
  PolygonLayer,
  PolygonLayerFormat,
  PolygonLayerOptions,
  ReadZones,
} from './polygon-layer.ts';

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
  // A tile may be in pixels, so that only what its file states is its system.
  const crs = (): string | undefined => crsOf(reading, geographic && latitudes && forZones.isTile !== true);
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
