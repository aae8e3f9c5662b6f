import { type NoteTally, noteTally } from '../../algorithms/notes.ts';
import { repeatedRows, textAt } from '../../algorithms/text-column.ts';
import { resized } from '../bytes/byte-arrays.ts';
import { LEFT_OUT_SENTENCES } from '../left-out.ts';
import { overMemory } from '../memory.ts';
import { ringsThat } from '../polygons/polygon-notes.ts';
import { isFlat } from '../polygons/rings.ts';
import type { PolygonTile } from './result-set.ts';

/**
 * Columns to which the polygons of a tile are appended. The arrays have unused entries at their ends; the number of
 * used entries is stored next to each array.
 */
export interface TileColumns {
  idBytes: Uint8Array;
  idLength: number;
  idStarts: Uint32Array;
  polygonRings: Uint32Array;
  /** Number of polygons, including the current one. */
  polygons: number;
  ringVertices: Uint32Array;
  rings: number;
  x: Float64Array;
  y: Float64Array;
  vertices: number;
  /**
   * Indices, in ascending order, of rings at which a new part of a polygon begins. The first part of each polygon is
   * not listed.
   */
  readonly furtherParts: number[];
  /** Whether the current polygon has had a ring, kept or not. */
  drawn: boolean;
  /** Number of empty geometries, which are left out. */
  empty: number;
  readonly tally: NoteTally;
  readonly bounds: TileBounds;
}

/** Memory limit of a tile, and the tile's name in error messages. */
export interface TileBounds {
  readonly place?: string | undefined;
  /** Maximum bytes of memory. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
}

/** An empty tile. Allocates memory for about `vertices` vertices, but not more than the memory limit allows. */
export function emptyTile(vertices = 0, bounds: TileBounds = {}): TileColumns {
  const { x, y } = takeSpare(Math.ceil(Math.min(vertices, maxVertices(bounds))) + 16);
  return {
    idBytes: new Uint8Array(64),
    idLength: 0,
    idStarts: new Uint32Array(16),
    polygonRings: new Uint32Array(16),
    polygons: 0,
    ringVertices: new Uint32Array(16),
    rings: 0,
    x,
    y,
    vertices: 0,
    furtherParts: [],
    drawn: false,
    empty: 0,
    tally: noteTally(),
    bounds,
  };
}

/**
 * Bytes of memory per vertex. They are used for two f64, for the old columns while the columns grow, and for the pixel
 * coordinates to which the vertices are later snapped.
 */
const BYTES_PER_VERTEX = 40;

/**
 * Arrays of coordinates, which are kept from one tile for the next one. They take as much memory as the text of a tile,
 * so allocating them again would be slow.
 */
let spare: Pick<TileColumns, 'x' | 'y'> | undefined;
const LARGEST_SPARE = 2 ** 20;

function takeSpare(room: number): Pick<TileColumns, 'x' | 'y'> {
  const taken = spare;
  spare = undefined;
  if (taken !== undefined && taken.x.length >= room) return taken;
  return { x: new Float64Array(room), y: new Float64Array(room) };
}

function keepSpare({ x, y }: Pick<TileColumns, 'x' | 'y'>): void {
  if (x.length <= LARGEST_SPARE) spare = { x, y };
}

/** Begins a polygon. Its name is the UTF-8 text in the bytes `from … to − 1`. */
export function beginPolygon(columns: TileColumns, bytes: Uint8Array, from: number, to: number): void {
  const end = columns.idLength + to - from;
  if (end > columns.idBytes.length) columns.idBytes = resized(columns.idBytes, Math.max(end, 2 * columns.idLength));
  for (let at = from, into = columns.idLength; at < to; at++, into++) columns.idBytes[into] = bytes[at]!;
  columns.idLength = end;
  columns.polygons++;
  columns.drawn = false;
  if (columns.polygons + 1 > columns.idStarts.length) {
    columns.idStarts = resized(columns.idStarts, 2 * columns.polygons);
    columns.polygonRings = resized(columns.polygonRings, 2 * columns.polygons);
  }
  columns.idStarts[columns.polygons] = end;
  columns.polygonRings[columns.polygons] = columns.rings;
}

const encoder = new TextEncoder();

/** Begins a polygon whose name is a string or a number. */
export function beginPolygonNamed(columns: TileColumns, name: string | number): void {
  const bytes = encoder.encode(String(name));
  beginPolygon(columns, bytes, 0, bytes.length);
}

/** Begins a part of the current polygon, such as a polygon of a multipolygon. The next rings belong to this part. */
export function beginPart({ polygonRings, polygons, rings, furtherParts }: TileColumns): void {
  if (rings > polygonRings[polygons]! && furtherParts.at(-1) !== rings) furtherParts.push(rings);
}

/** Appends a vertex to the current ring. */
export function addVertex(columns: TileColumns, x: number, y: number): void {
  if (columns.vertices === columns.x.length) growVertices(columns);
  columns.x[columns.vertices] = x;
  columns.y[columns.vertices] = y;
  columns.vertices++;
}

/** Appends the vertices `from … to − 1` of other columns to the current ring. */
export function appendVertices(columns: TileColumns, x: Float64Array, y: Float64Array, from: number, to: number): void {
  reserveVertices(columns, to - from);
  columns.x.set(x.subarray(from, to), columns.vertices);
  columns.y.set(y.subarray(from, to), columns.vertices);
  columns.vertices += to - from;
}

/** Enlarges the columns of vertices when they are full. Doubles their size if the memory limit allows. */
export function growVertices(columns: TileColumns): void {
  resizeVertices(columns, columns.x.length + 1);
}

/** Enlarges the columns of vertices to at least `needed` entries. Doubles their size if the memory limit allows. */
function resizeVertices(columns: TileColumns, needed: number): void {
  const max = maxVertices(columns.bounds);
  if (needed > max) {
    throw overMemory('The polygons of the tile have too many vertices.', {
      needed: needed * BYTES_PER_VERTEX,
      what: `${needed} vertices or more`,
      allowed: max * BYTES_PER_VERTEX,
      instead: 'compare smaller tiles',
      place: { file: columns.bounds.place },
    });
  }
  const size = Math.max(needed, Math.floor(Math.min(2 * columns.x.length, max)));
  columns.x = resized(columns.x, size);
  columns.y = resized(columns.y, size);
}

function maxVertices({ memoryBytes = Number.POSITIVE_INFINITY }: TileBounds): number {
  return memoryBytes / BYTES_PER_VERTEX;
}

/** Makes room for `vertices` more vertices, enlarging the columns if needed. */
export function reserveVertices(columns: TileColumns, vertices: number): void {
  const needed = columns.vertices + vertices;
  if (needed > columns.x.length) resizeVertices(columns, needed);
}

/**
 * Uses the given arrays as the columns of vertices if the tile has no vertices yet, so that rings in these arrays need
 * not be copied.
 */
export function adoptVertices(columns: TileColumns, x: Float64Array, y: Float64Array): void {
  if (columns.vertices === 0 && x.length > 0) Object.assign(columns, { x, y });
}

/** Appends a ring that is known to be valid: it has at least three vertices, no closing vertex, and a nonzero area. */
export function appendPlainRing(
  columns: TileColumns,
  x: Float64Array,
  y: Float64Array,
  from: number,
  to: number,
): void {
  const start = columns.vertices;
  const end = start + to - from;
  if (columns.x !== x || start !== from) {
    reserveVertices(columns, to - from);
    const { x: intoX, y: intoY } = columns;
    for (let at = from, into = start; at < to; at++, into++) {
      intoX[into] = x[at]!;
      intoY[into] = y[at]!;
    }
  }
  columns.vertices = end;
  completeRing(columns);
}

/**
 * Completes the current ring. Removes vertices at the end of the ring that repeat its first vertex. Removes the whole
 * ring if fewer than three vertices remain.
 *
 * @param closes - Whether the format requires the first vertex to be repeated at the end. If true, a ring without this
 * repetition is noted.
 */
export function endRing(columns: TileColumns, closes: boolean): void {
  const start = columns.ringVertices[columns.rings]!;
  const written = columns.vertices - start;
  dropClosing(columns, start);
  const kept = columns.vertices - start;
  if (closes && written > 1 && kept === written) note(columns, 'polygons/unclosed-rings');
  if (kept < 3) {
    note(columns, 'polygons/short-rings');
    columns.drawn = true;
    columns.vertices = start;
    return;
  }
  if (isFlat({ x: columns.x, y: columns.y, length: columns.vertices }, start))
    note(columns, 'polygons/zero-area-rings');
  completeRing(columns);
}

function completeRing(columns: TileColumns): void {
  columns.rings++;
  if (columns.rings === columns.ringVertices.length) {
    columns.ringVertices = resized(columns.ringVertices, 2 * columns.rings);
  }
  columns.ringVertices[columns.rings] = columns.vertices;
}

function dropClosing(columns: TileColumns, start: number): void {
  const { x, y } = columns;
  let end = columns.vertices;
  while (end > start + 1 && x[end - 1] === x[start] && y[end - 1] === y[start]) end--;
  columns.vertices = end;
}

/**
 * Completes the current polygon. An empty geometry is no polygon, so it is left out with a note. A polygon that had
 * rings stays, even if all of them were too short.
 */
export function endPolygon(columns: TileColumns): void {
  const isWithoutRings = columns.polygonRings[columns.polygons] === columns.rings;
  if (isWithoutRings && !columns.drawn) {
    note(columns, 'polygons/empty-geometry');
    columns.empty++;
    dropPolygon(columns);
    return;
  }
  // A part without rings is removed.
  if (columns.furtherParts.at(-1) === columns.rings) columns.furtherParts.pop();
  if (isWithoutRings) note(columns, 'polygons/empty');
  columns.polygonRings[columns.polygons] = columns.rings;
}

/** Removes the current polygon with all its rings. */
export function dropPolygon(columns: TileColumns): void {
  columns.rings = columns.polygonRings[columns.polygons]!;
  columns.vertices = columns.ringVertices[columns.rings]!;
  while (columns.furtherParts.at(-1)! >= columns.rings) columns.furtherParts.pop();
  columns.polygons--;
  columns.idLength = columns.idStarts[columns.polygons]!;
}

/** Counts a note of the kind `code` that concerns the current polygon. */
export function note(columns: TileColumns, code: string): void {
  const { idBytes, idStarts, polygons } = columns;
  columns.tally.add(code, textAt({ bytes: idBytes, starts: idStarts }, polygons - 1));
}

/** Returns the polygons and their notes. The arrays are cut to the used length. */
export function finishTile(columns: TileColumns): PolygonTile {
  const { polygons, rings, tally } = columns;
  const ids = { bytes: columns.idBytes.slice(0, columns.idLength), starts: columns.idStarts.slice(0, polygons + 1) };
  for (const row of repeatedRows(ids)) tally.add('polygons/duplicate-ids', textAt(ids, row));
  const finished = {
    polygonRings: columns.polygonRings.slice(0, polygons + 1),
    ringVertices: columns.ringVertices.slice(0, rings + 1),
    ...ringPartsOf(columns),
    ...finishVertices(columns),
  };
  return { ids, polygons: finished, notes: tally.notes(SENTENCES) };
}

/** For each ring, the number of its part within the polygon, from 0. Omitted if every polygon has a single part. */
function ringPartsOf({ furtherParts, polygonRings, rings }: TileColumns): { readonly ringParts?: Uint32Array } {
  if (furtherParts.length === 0) return {};
  const ringParts = new Uint32Array(rings);
  let [polygon, next, part] = [0, 0, 0];
  for (let ring = 0; ring < rings; ring++) {
    for (; polygonRings[polygon + 1]! <= ring; polygon++) part = 0;
    if (furtherParts[next] === ring) {
      next++;
      part++;
    }
    ringParts[ring] = part;
  }
  return { ringParts };
}

/** The coordinates, cut to the used length. Arrays without unused entries are returned without a copy. */
function finishVertices({ x, y, vertices }: TileColumns): Pick<TileColumns, 'x' | 'y'> {
  if (x.length === vertices) return { x, y };
  keepSpare({ x, y });
  return { x: x.slice(0, vertices), y: y.slice(0, vertices) };
}

const SENTENCES: Readonly<Record<string, (count: number) => string>> = {
  'polygons/unclosed-rings': (n) =>
    `${ringsThat(n, 'was', 'were')} left open and ${n === 1 ? 'was' : 'were'} closed, in`,
  'polygons/short-rings': (n) =>
    `${ringsThat(n, 'has', 'have')} fewer than three vertices and ${n === 1 ? 'was' : 'were'} left out, in`,
  'polygons/zero-area-rings': (n) =>
    `${ringsThat(n, 'has all its', 'have all their')} vertices on one line and ${n === 1 ? 'encloses' : 'enclose'} no area, in`,
  'polygons/empty': (n) => `${n === 1 ? '1 polygon has' : `${n} polygons have`} no rings and no area`,
  'polygons/empty-geometry': (n) =>
    `${n === 1 ? '1 geometry is empty, so it is no polygon and was' : `${n} geometries are empty, so they are no polygons and were`} left out`,
  'polygons/other-geometry': (n) =>
    `${n === 1 ? '1 geometry is not a polygon and was' : `${n} geometries are not polygons and were`} left out, of`,
  'polygons/crowd': (n) => `${n === 1 ? '1 polygon is a crowd' : `${n} polygons are crowds`}, each taken as one object`,
  'polygons/duplicate-ids': (n) => `${n === 1 ? '1 polygon has' : `${n} polygons have`} the id of an earlier polygon`,
  ...LEFT_OUT_SENTENCES,
};
