import { skipJsonSpace } from '../result-sets/json-spans.ts';
import { numberEnd, readJsonNumber } from './json-number.ts';
import type { Vertices } from './rings.ts';

/** The positions of all "coordinates" arrays of one record, stored array after array. */
export interface CoordinateColumns extends Vertices {
  /** For every ring, the index of the first vertex after the ring. */
  readonly ringEnds: number[];
  /** In each MultiPolygon, the index of the first ring of every polygon but the first. */
  readonly partStarts: number[];
  /** For every array, the index of the first ring after the array. */
  readonly arrayEnds: number[];
  /**
   * Number of brackets in front of the first number of every array: 3 for a Polygon, 4 for a MultiPolygon. An array
   * that is not yet complete also has an entry.
   */
  readonly depths: number[];
}

/** Creates columns without arrays, and allocates memory for some vertices. */
export function emptyCoordinates(): CoordinateColumns {
  return {
    x: new Float64Array(1024),
    y: new Float64Array(1024),
    length: 0,
    ringEnds: [],
    partStarts: [],
    arrayEnds: [],
    depths: [],
  };
}

/** Removes all arrays, but keeps the memory for reuse. */
export function clearCoordinates(columns: CoordinateColumns): void {
  columns.length = 0;
  columns.ringEnds.length = 0;
  columns.partStarts.length = 0;
  columns.arrayEnds.length = 0;
  columns.depths.length = 0;
}

const SPACE = 32;
const COMMA = 44;
const OPEN = 91;
const CLOSE = 93;

/**
 * Reads the coordinates of a Polygon or MultiPolygon directly into columns, without `JSON.parse`. The array begins at
 * `start`. Accepts only valid JSON, and gives the same numbers as `JSON.parse`.
 *
 * @param end - Position after the last available byte; the byte there is 0.
 * @returns The position after the array. {@link CUT_OFF} if the array continues after `end`; in this case,
 * {@link resumeCoordinates} can continue at `lastPosition`. {@link IRREGULAR} for any other text, such as an empty
 * array or an array that does not begin with 3 or 4 brackets; in this case, the columns are unchanged.
 */
export function readCoordinates(columns: CoordinateColumns, bytes: Uint8Array, start: number, end: number): number {
  const arrays = columns.arrayEnds.length;
  let at = start;
  let depth = 0;
  while (bytes[at] === OPEN) {
    depth++;
    at = skipJsonSpace(bytes, at + 1);
  }
  if (at >= end) return IRREGULAR;
  if (depth !== 3 && depth !== 4) return IRREGULAR;
  columns.depths[arrays] = depth;
  return resumeCoordinates(columns, bytes, at, end);
}

/**
 * Continues to read an incomplete array. `at` is the byte offset of the first number of the vertex at which the
 * previous call stopped.
 */
export function resumeCoordinates(columns: CoordinateColumns, bytes: Uint8Array, at: number, end: number): number {
  const { arrayEnds, depths, ringEnds } = columns;
  const behind = readRings(columns, bytes, at, depths[arrayEnds.length]!);
  if (behind >= 0) {
    arrayEnds.push(ringEnds.length);
    return behind;
  }
  if (~behind >= end) {
    // The available bytes end within or just after the last vertex. The next call will read this vertex again. So
    // the vertex and a ring that ends with it are removed if they are already stored.
    columns.length = lastVertex;
    while (ringEnds.length > 0 && ringEnds.at(-1)! > lastVertex) ringEnds.pop();
    dropPartStarts(columns);
    return CUT_OFF;
  }
  depths.length = arrayEnds.length;
  ringEnds.length = arrayEnds.at(-1) ?? 0;
  dropPartStarts(columns);
  columns.length = ringEnds.at(-1) ?? 0;
  return IRREGULAR;
}

/** Removes the entries of polygons that begin after the last complete ring. */
function dropPartStarts({ partStarts, ringEnds }: CoordinateColumns): void {
  while (partStarts.length > 0 && partStarts.at(-1)! > ringEnds.length) partStarts.pop();
}

export const CUT_OFF = -1;
export const IRREGULAR = -2;

/**
 * Byte offset of the first number of the vertex that was read last. `lastVertex` is the index of this vertex.
 */
export let lastPosition = 0;
let lastVertex = 0;

/**
 * Reads rings to the end of the array, and returns the byte offset after the array. If reading fails at the byte offset
 * `at`, returns `~at`.
 */
function readRings(columns: CoordinateColumns, bytes: Uint8Array, start: number, deepest: number): number {
  let at = start;
  let depth = deepest;
  for (;;) {
    at = readRing(columns, bytes, at);
    if (at < 0) return at;
    // `readRing` has passed two closing brackets, of a position and of the ring. The brackets that end the polygon and
    // the whole array may follow.
    depth -= 2;
    while (bytes[at] === CLOSE) {
      at++;
      if (--depth === 0) return at;
      at = skipJsonSpace(bytes, at);
    }
    if (bytes[at] !== COMMA) return ~at;
    if (depth < deepest - 2) columns.partStarts.push(columns.ringEnds.length);
    at = skipJsonSpace(bytes, at + 1);
    while (bytes[at] === OPEN && depth < deepest) {
      depth++;
      at = skipJsonSpace(bytes, at + 1);
    }
    if (depth !== deepest) return ~at;
  }
}

/**
 * Reads the vertices of a ring. `start` is the byte offset of the first number of the first vertex. Returns the byte
 * offset of the first byte after the ring that is not white space.
 */
function readRing(columns: CoordinateColumns, bytes: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    lastPosition = at;
    lastVertex = columns.length;
    const x = readJsonNumber(bytes, at);
    // `x` is NaN if there is no number, and infinite if the number is too large for f64.
    if (x - x !== 0) return ~at;
    at = bytes[numberEnd]! <= SPACE ? skipJsonSpace(bytes, numberEnd) : numberEnd;
    if (bytes[at] !== COMMA) return ~at;
    at++;
    if (bytes[at]! <= SPACE) at = skipJsonSpace(bytes, at);
    const y = readJsonNumber(bytes, at);
    if (y - y !== 0) return ~at;
    at = bytes[numberEnd] === CLOSE ? numberEnd + 1 : skipMeasures(bytes, numberEnd);
    if (at < 0) return at;
    if (columns.length === columns.x.length) grow(columns);
    columns.x[columns.length] = x;
    columns.y[columns.length] = y;
    columns.length++;
    if (bytes[at]! <= SPACE) at = skipJsonSpace(bytes, at);
    if (bytes[at] === CLOSE) {
      columns.ringEnds.push(columns.length);
      return skipJsonSpace(bytes, at + 1);
    }
    if (bytes[at] !== COMMA) return ~at;
    at++;
    if (bytes[at]! <= SPACE) at = skipJsonSpace(bytes, at);
    if (bytes[at] !== OPEN) return ~at;
    at++;
    if (bytes[at]! <= SPACE) at = skipJsonSpace(bytes, at);
  }
}

/** Skips the third and further numbers of a position, and the bracket that ends the position. */
function skipMeasures(bytes: Uint8Array, start: number): number {
  let at = skipJsonSpace(bytes, start);
  while (bytes[at] === COMMA) {
    at = skipJsonSpace(bytes, at + 1);
    if (Number.isNaN(readJsonNumber(bytes, at))) return ~at;
    at = skipJsonSpace(bytes, numberEnd);
  }
  return bytes[at] === CLOSE ? at + 1 : ~at;
}

function grow(columns: CoordinateColumns): void {
  const size = 2 * columns.x.length;
  const x = new Float64Array(size);
  const y = new Float64Array(size);
  x.set(columns.x);
  y.set(columns.y);
  Object.assign(columns, { x, y });
}
