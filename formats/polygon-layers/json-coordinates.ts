import { skipJsonSpace } from '../result-sets/json-spans.ts';
import type { Vertices } from '../rings.ts';
import { numberEnd, readJsonNumber } from './json-number.ts';

/** Positions in the "coordinates" arrays of one record, array after array. */
export interface CoordinateColumns extends Vertices {
  /** For every ring, the index after its last vertex. */
  readonly ringEnds: number[];
  /** For every array, the index after its last ring. */
  readonly partStarts: number[];
  /** For every array, the index after its last ring. */
  readonly arrayEnds: number[];
  /**
   * Nesting depth of the positions in every array: 3 as in a Polygon, 4 as in a MultiPolygon. Also set for a truncated
   * array.
   */
  readonly depths: number[];
}

/** Starts with no arrays. */
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

/** Drops all arrays, but keeps their memory for reuse. */
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
 * Reads the coordinates of a Polygon or MultiPolygon, whose array begins at `start`, straight into columns. Accepts
 * only valid JSON, with the same numbers as `JSON.parse`.
 *
 * @param end - Position after the last available byte; the byte there is 0.
 * @returns The position after the array. {@link CUT_OFF} if the array continues after `end`; {@link resumeCoordinates}
 * can then continue at `lastPosition`. {@link IRREGULAR}, with unchanged columns, for anything else, including empty
 * arrays and arrays of other depths.
 */
export function readCoordinates(columns: CoordinateColumns, bytes: Buffer, start: number, end: number): number {
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

/** Continues with an array that was cut off, at the first number of the position where it was cut off. */
export function resumeCoordinates(columns: CoordinateColumns, bytes: Buffer, at: number, end: number): number {
  const { arrayEnds, depths, ringEnds } = columns;
  const behind = readRings(columns, bytes, at, depths[arrayEnds.length]!);
  if (behind >= 0) {
    arrayEnds.push(ringEnds.length);
    return behind;
  }
  if (~behind >= end) {
    // The text ends in or after the last position, which is read again when reading resumes. If it is already stored,
    // drop it, and the ring that it ended.
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

/** Drops polygons that begin after the next ring to read. */
function dropPartStarts({ partStarts, ringEnds }: CoordinateColumns): void {
  while (partStarts.length > 0 && partStarts.at(-1)! > ringEnds.length) partStarts.pop();
}

export const CUT_OFF = -1;
export const IRREGULAR = -2;

/** Where the numbers of the last position begin, and the number of vertices before it. */
export let lastPosition = 0;
let lastVertex = 0;

/**
 * Reads rings up to and including the end of the array. Otherwise returns `~at`, with the position where reading
 * failed.
 */
function readRings(columns: CoordinateColumns, bytes: Buffer, start: number, deepest: number): number {
  let at = start;
  let depth = deepest;
  for (;;) {
    at = readRing(columns, bytes, at);
    if (at < 0) return at;
    // After the bracket that ends the ring, the polygon and the whole array may end, too.
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
 * Reads positions after the bracket of the first one. Returns the next byte after the ring's end that is not white
 * space.
 */
function readRing(columns: CoordinateColumns, bytes: Buffer, start: number): number {
  let at = start;
  for (;;) {
    lastPosition = at;
    lastVertex = columns.length;
    const x = readJsonNumber(bytes, at);
    // NaN if there is no number, infinite if it is too large.
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

/** Skips further numbers of a position and the bracket that ends it. */
function skipMeasures(bytes: Buffer, start: number): number {
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
