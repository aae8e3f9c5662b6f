import { skipJsonSpace } from '../result-sets/json-spans.ts';
import type { Vertices } from '../rings.ts';
import { numberEnd, readJsonNumber } from './json-number.ts';

/** Positions of arrays "coordinates" of one record, one array behind the other. */
export interface CoordinateColumns extends Vertices {
  /** One behind the last vertex of every ring. */
  readonly ringEnds: number[];
  /** The first rings of polygons that follow another in the same array. */
  readonly partStarts: number[];
  /** One behind the last ring of every array. */
  readonly arrayEnds: number[];
  /** How deep positions lie in every array: 3 as in a Polygon, 4 as in a MultiPolygon. Of one that is cut off, too. */
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

/** Forgets all arrays, and keeps their memory for those to come. */
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
 * Reads the coordinates of a Polygon or MultiPolygon, whose array begins at `start`, straight into columns. What is
 * accepted is valid JSON, and the numbers are those that `JSON.parse` makes of it.
 *
 * @param end - One behind the last byte there; a byte 0 stands at it.
 * @returns One behind the array; {@link CUT_OFF} where it goes on behind `end`: then `lastPosition` is where
 * {@link resumeCoordinates} may go on; {@link IRREGULAR}, and the columns as before, where it is anything else, empty arrays
 * and arrays of other depths too.
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

/** Goes on with the array that was cut off, at the first number of the position where it was. */
export function resumeCoordinates(columns: CoordinateColumns, bytes: Buffer, at: number, end: number): number {
  const { arrayEnds, depths, ringEnds } = columns;
  const behind = readRings(columns, bytes, at, depths[arrayEnds.length]!);
  if (behind >= 0) {
    arrayEnds.push(ringEnds.length);
    return behind;
  }
  if (~behind >= end) {
    // The last position may have been cut off behind its numbers, or even behind its ring.
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

/** Forgets polygons that begin behind the ring that is to be read next. */
function dropPartStarts({ partStarts, ringEnds }: CoordinateColumns): void {
  while (partStarts.length > 0 && partStarts.at(-1)! > ringEnds.length) partStarts.pop();
}

export const CUT_OFF = -1;
export const IRREGULAR = -2;

/** Where the numbers of the position begin that was read last, and how many vertices there were before it. */
export let lastPosition = 0;
let lastVertex = 0;

/** Reads rings up to the end of the array, which it steps behind; else returns `~at`, the place where that is not possible. */
function readRings(columns: CoordinateColumns, bytes: Buffer, start: number, deepest: number): number {
  let at = start;
  let depth = deepest;
  for (;;) {
    at = readRing(columns, bytes, at);
    if (at < 0) return at;
    // One behind the bracket that ends the ring; what ends may be its polygon too, and the whole array.
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

/** Reads positions from behind the bracket of the first on; returns the next byte that is no white space behind the ring's end. */
function readRing(columns: CoordinateColumns, bytes: Buffer, start: number): number {
  let at = start;
  for (;;) {
    lastPosition = at;
    lastVertex = columns.length;
    const x = readJsonNumber(bytes, at);
    // NaN where there is no number, infinite where it is too large.
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

/** Steps over what stands behind the second number of a position, and over the bracket that ends it. */
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
