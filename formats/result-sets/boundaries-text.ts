import {
  type ByteCursor,
  char,
  isLineEnd,
  malformedText,
  peek,
  readCoordinate,
  skipBlanks,
  skipLine,
  startOf,
} from './byte-cursor.ts';
import type { PolygonTile } from './result-set.ts';
import {
  addVertex,
  beginPolygon,
  beginPolygonNamed,
  emptyTile,
  endPolygon,
  endRing,
  finishTile,
  growVertices,
  type TileColumns,
} from './tile-columns.ts';

/**
 * Reads polygon boundaries from text, one polygon per line: `id x,y x,y x,y …`.
 *
 * - The id is the text before the first blank, without a colon at its end. An id contains no comma. If a line begins
 *   with a vertex, the polygon has no id and is named by its index.
 * - A vertex is two decimal numbers separated by a comma: `12,-3` or `1.5e3, 0.25`. Vertices are separated by blanks.
 * - `;` or `|` separates the rings of one polygon, which may be holes or further parts. Rings are closed implicitly;
 *   the first vertex may be repeated at the end.
 * - Lines end with LF or CR LF. Blank lines and lines that begin with `#` are skipped.
 *
 * O(bytes). Creates JavaScript strings only for notes, errors, and numbers with an exponent or more than 15 digits.
 *
 * @param place - Name of the text in error messages.
 * @throws FormatError if a line violates this syntax, GeometryError if a coordinate is not a finite number; both name
 * the line.
 * @example
 * const { polygons } = parseBoundaries(new TextEncoder().encode('a 0,0 4,0 4,3 0,3\n'), 'a.txt');
 * [polygons.x, polygons.y]; // [Float64Array [0, 4, 4, 0], Float64Array [0, 0, 3, 3]]
 */
export function parseBoundaries(bytes: Uint8Array, place: string, memoryBytes?: number): PolygonTile {
  const columns = emptyTile(bytes.length / BYTES_A_VERTEX, { place, memoryBytes });
  const cursor = startOf(bytes);
  while (cursor.at < cursor.end) readLine(cursor, columns, place);
  return finishTile(columns);
}

/**
 * Estimated bytes of text per vertex: two numbers of three or four digits, with separators. Used to estimate the number
 * of vertices before the text is read.
 */
const BYTES_A_VERTEX = 9;

/** Reads one line, appends its polygon (if any) to `columns`, and moves the cursor to the next line. */
export function readLine(cursor: ByteCursor, columns: TileColumns, place: string): void {
  skipBlanks(cursor);
  const first = peek(cursor);
  if (first === char.hash) skipLine(cursor);
  else if (isLineEnd(first)) endLine(cursor, place);
  else readPolygon(cursor, columns, place);
}

function readPolygon(cursor: ByteCursor, columns: TileColumns, place: string): void {
  readId(cursor, columns);
  do readRing(cursor, columns, place);
  while (nextRing(cursor));
  endPolygon(columns);
  endLine(cursor, place);
}

function endLine(cursor: ByteCursor, place: string): void {
  if (peek(cursor) === char.return) cursor.at++;
  if (peek(cursor) !== char.newline) throw malformedLine(cursor, place, 'a newline after the carriage return');
  cursor.at++;
}

function readId(cursor: ByteCursor, columns: TileColumns): void {
  const { bytes, end, at: start } = cursor;
  let at = start;
  for (; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === char.space || byte === char.tab || isLineEnd(byte)) break;
    if (byte === char.comma) {
      beginPolygonNamed(columns, columns.polygons + columns.empty);
      return;
    }
  }
  const colon = bytes[at - 1] === char.colon && at - 1 > start;
  beginPolygon(columns, bytes, start, colon ? at - 1 : at);
  cursor.at = at;
}

function nextRing(cursor: ByteCursor): boolean {
  const byte = peek(cursor);
  if (byte !== char.semicolon && byte !== char.bar) return false;
  cursor.at++;
  return true;
}

function readRing(cursor: ByteCursor, columns: TileColumns, place: string): void {
  const before = columns.vertices;
  for (;;) {
    readWholeVertices(cursor, columns);
    skipBlanks(cursor);
    const byte = peek(cursor);
    if (isLineEnd(byte) || byte === char.semicolon || byte === char.bar) break;
    readVertex(cursor, columns, place);
  }
  if (columns.vertices > before) endRing(columns, false);
}

/**
 * Reads vertices in the most common notation: a blank, and two integers of up to nine digits with a comma between them.
 * Stops at the first vertex in another notation. Uses only local variables for speed, because nearly all bytes of a
 * text are read here.
 */
function readWholeVertices(cursor: ByteCursor, columns: TileColumns): void {
  const { bytes } = cursor;
  // If a vertex in the common notation starts before this position, the vertex cannot extend beyond the end of the
  // text. So the loop below needs no bounds checks.
  const safe = cursor.end - LONGEST_WHOLE_VERTEX;
  let { x, y, vertices } = columns;
  let at = cursor.at;
  while (at < safe && bytes[at] === char.space) {
    let next = at + 1;
    const negativeX = bytes[next] === char.minus;
    if (negativeX) next++;
    let digit = bytes[next]! - char.zero;
    const startX = next;
    let left = 0;
    while (digit >= 0 && digit <= 9 && next - startX < 9) {
      left = (left * 10 + digit) | 0;
      digit = bytes[++next]! - char.zero;
    }
    if (next === startX || digit !== char.comma - char.zero) break;
    const negativeY = bytes[++next] === char.minus;
    if (negativeY) next++;
    digit = bytes[next]! - char.zero;
    const startY = next;
    let right = 0;
    while (digit >= 0 && digit <= 9 && next - startY < 9) {
      right = (right * 10 + digit) | 0;
      digit = bytes[++next]! - char.zero;
    }
    if (next === startY || (digit !== char.space - char.zero && digit !== char.newline - char.zero)) break;
    if (vertices === x.length) {
      growVertices(columns);
      ({ x, y } = columns);
    }
    // Keep the sign of zero, as `Number('-0')` does.
    x[vertices] = negativeX ? -left : left;
    y[vertices] = negativeY ? -right : right;
    vertices++;
    at = next;
  }
  columns.vertices = vertices;
  cursor.at = at;
}

const LONGEST_WHOLE_VERTEX = 24;

function readVertex(cursor: ByteCursor, columns: TileColumns, place: string): void {
  const x = readCoordinate(cursor, place);
  if (peek(cursor) !== char.comma) throw malformedLine(cursor, place, 'a comma and the second coordinate');
  cursor.at++;
  skipBlanks(cursor);
  const y = readCoordinate(cursor, place);
  if (!endsVertex(peek(cursor))) throw malformedLine(cursor, place, 'a blank and the next vertex');
  addVertex(columns, x, y);
}

function endsVertex(byte: number): boolean {
  return byte === char.space || byte === char.tab || isLineEnd(byte) || byte === char.semicolon || byte === char.bar;
}

function malformedLine(cursor: ByteCursor, place: string, expected: string): Error {
  const remedy = "Write one polygon a line, as 'id x,y x,y x,y'.";
  return malformedText(cursor, place, 'The line is no polygon boundary.', expected, remedy);
}
