import {
  type ByteCursor,
  char,
  malformedText,
  peek,
  readCoordinate,
  readNumber,
  skipLine,
  startOf,
  textBetween,
} from './byte-cursor.ts';
import type { PolygonTile } from './result-set.ts';
import {
  addVertex,
  beginPart,
  beginPolygonNamed,
  dropPolygon,
  emptyTile,
  endPolygon,
  endRing,
  finishTile,
  note,
  type TileColumns,
} from './tile-columns.ts';

/**
 * Reads well-known text (OGC 06-103r4). Each geometry begins on a new line, and may span several lines. The prefix
 * `SRID=…;` is allowed.
 *
 * Every `POLYGON`, `MULTIPOLYGON` or collection of these becomes one polygon, named by its index among the geometries.
 * An `EMPTY` geometry is left out, and noted as `polygons/empty-geometry`. Only the first two numbers of `Z`, `M` and `ZM` positions are
 * used. Points, lines and other geometries are left out, also from collections, and noted as `polygons/other-geometry`.
 * Keywords may be in lower or upper case. Blank lines and lines that begin with `#` are skipped. A line may end with
 * `;`.
 *
 * O(bytes).
 *
 * @throws FormatError if a geometry is malformed, GeometryError if a coordinate is not a finite number. Both errors
 * name the line.
 */
export function parseWkt(bytes: Uint8Array, file: string, memoryBytes?: number): PolygonTile {
  const columns = emptyTile(bytes.length / BYTES_A_VERTEX, { place: file, memoryBytes });
  const cursor = startOf(bytes);
  for (let index = 0; ; ) {
    skipSpace(cursor);
    if (cursor.at >= cursor.end) return finishTile(columns);
    if (peek(cursor) === char.hash) {
      skipLine(cursor);
      continue;
    }
    beginPolygonNamed(columns, index);
    readGeometry(cursor, columns, file);
    endLine(cursor, file);
    index++;
  }
}

/**
 * Estimated minimum number of bytes of a position: two numbers of four digits each, and a separator. The number of
 * vertices is estimated as the number of bytes of the text divided by this constant.
 */
const BYTES_A_VERTEX = 9;

function endLine(cursor: ByteCursor, file: string): void {
  if (peek(cursor) === char.semicolon) cursor.at++;
  while (peek(cursor) === char.space || peek(cursor) === char.tab || peek(cursor) === char.return) cursor.at++;
  if (peek(cursor) !== char.newline) throw malformed(cursor, file, 'the end of the line');
}

/** Skips white space, including newlines, because a geometry may span several lines. */
export function skipSpace(cursor: ByteCursor): void {
  const { bytes, end } = cursor;
  let at = cursor.at;
  while (at < end && (bytes[at] === char.space || (bytes[at]! >= char.tab && bytes[at]! <= char.return))) at++;
  cursor.at = at;
}

/**
 * Reads a geometry into the current polygon, and completes the polygon. If the geometry is not a polygon (such as a
 * point or a line), the current polygon is removed.
 */
export function readGeometry(cursor: ByteCursor, columns: TileColumns, file: string): void {
  skipSrid(cursor, file);
  // Nested collections are read without recursion; `depth` counts the collections that are still open.
  let [depth, polygons, others] = [0, 0, 0];
  do {
    const kind = readKeyword(cursor, file);
    const empty = readEmpty(cursor);
    if (kind === 'GEOMETRYCOLLECTION') {
      polygons++;
      if (!empty) {
        take(cursor, char.open, file);
        depth++;
        continue;
      }
    } else if (kind === 'POLYGON' || kind === 'MULTIPOLYGON') {
      polygons++;
      if (!empty) readRings(cursor, columns, kind === 'POLYGON' ? 1 : 2, file);
    } else {
      others++;
      if (!empty) skipParentheses(cursor, file);
    }
    depth = closeCollections(cursor, depth, file);
  } while (depth > 0);
  if (others > 0) note(columns, 'polygons/other-geometry');
  if (others > 0 && polygons === 0) dropPolygon(columns);
  else endPolygon(columns);
}

/**
 * Skips the parentheses that close collections, and the comma before the next member of an open collection, if there is
 * one. Returns the number of collections that are still open.
 */
function closeCollections(cursor: ByteCursor, depth: number, file: string): number {
  let open = depth;
  while (open > 0) {
    skipSpace(cursor);
    if (peek(cursor) === char.comma) {
      cursor.at++;
      return open;
    }
    take(cursor, char.close, file);
    open--;
  }
  return 0;
}

function skipSrid(cursor: ByteCursor, file: string): void {
  skipSpace(cursor);
  const start = cursor.at;
  if (readLetters(cursor) !== 'SRID' || peek(cursor) !== char.equals) {
    cursor.at = start;
    return;
  }
  cursor.at++;
  if (Number.isNaN(readNumber(cursor))) throw malformed(cursor, file, 'a number after SRID=');
  take(cursor, char.semicolon, file);
}

const OTHER_KINDS =
  'POINT LINESTRING MULTIPOINT MULTILINESTRING CIRCULARSTRING COMPOUNDCURVE CURVEPOLYGON MULTICURVE MULTISURFACE ' +
  'CURVE SURFACE POLYHEDRALSURFACE TIN TRIANGLE';
const KINDS: ReadonlySet<string> = new Set([
  'POLYGON',
  'MULTIPOLYGON',
  'GEOMETRYCOLLECTION',
  ...OTHER_KINDS.split(' '),
]);

/** The kind of geometry that a keyword in upper case names, such as `POLYGON` or `POLYGONZ`; undefined if none. */
export function kindOfKeyword(word: string): string | undefined {
  const kind = KINDS.has(word) ? word : word.replace(/(ZM|Z|M)$/, '');
  return KINDS.has(kind) ? kind : undefined;
}

/** Reads the keyword of a geometry. Skips `Z`, `M` or `ZM` after the keyword, as in `POLYGONZ` or `POLYGON Z`. */
function readKeyword(cursor: ByteCursor, file: string): string {
  skipSpace(cursor);
  const start = cursor.at;
  const word = readLetters(cursor);
  const kind = kindOfKeyword(word);
  if (kind === undefined) {
    cursor.at = start;
    throw malformed(cursor, file, 'POLYGON, MULTIPOLYGON or another kind of geometry');
  }
  skipSpace(cursor);
  const behind = cursor.at;
  if (kind === word && !/^(ZM|Z|M)$/.test(readLetters(cursor))) cursor.at = behind;
  return kind;
}

function readEmpty(cursor: ByteCursor): boolean {
  skipSpace(cursor);
  const start = cursor.at;
  if (readLetters(cursor) === 'EMPTY') return true;
  cursor.at = start;
  return false;
}

const LONGEST_WORD = 24;

/** Reads the letters at the cursor, and returns them in upper case. Stops at the maximum length of a keyword. */
function readLetters(cursor: ByteCursor): string {
  const { bytes, end, at: start } = cursor;
  const limit = Math.min(end, start + LONGEST_WORD);
  while (cursor.at < limit && (bytes[cursor.at]! | 32) >= 97 && (bytes[cursor.at]! | 32) <= 122) cursor.at++;
  return textBetween(bytes, start, cursor.at).toUpperCase();
}

/**
 * Reads a list in parentheses, and appends its rings to the columns. If `depth` is 1, the list contains the rings of a
 * polygon. If `depth` is 2, the list contains the polygons of a multipolygon.
 */
function readRings(cursor: ByteCursor, columns: TileColumns, depth: 1 | 2, file: string): void {
  take(cursor, char.open, file);
  if (depth === 1) beginPart(columns);
  do {
    if (readEmpty(cursor)) continue;
    if (depth === 2) readRings(cursor, columns, 1, file);
    else readRing(cursor, columns, file);
  } while (separated(cursor, file));
}

/**
 * Skips the comma or the closing parenthesis after a member of a list. Returns true for a comma, which means that
 * another member follows.
 */
function separated(cursor: ByteCursor, file: string): boolean {
  skipSpace(cursor);
  if (peek(cursor) === char.comma) {
    cursor.at++;
    return true;
  }
  take(cursor, char.close, file);
  return false;
}

function readRing(cursor: ByteCursor, columns: TileColumns, file: string): void {
  take(cursor, char.open, file);
  do {
    skipSpace(cursor);
    const x = readPart(cursor, file);
    skipGap(cursor, file);
    addVertex(columns, x, readPart(cursor, file));
    skipMeasures(cursor, file);
  } while (separated(cursor, file));
  endRing(columns, true);
}

function readPart(cursor: ByteCursor, file: string): number {
  if (cursor.at >= cursor.end) throw malformed(cursor, file, 'a number');
  return readCoordinate(cursor, file);
}

/** Skips the white space between two numbers. */
function skipGap(cursor: ByteCursor, file: string): void {
  const start = cursor.at;
  skipSpace(cursor);
  if (cursor.at === start) throw malformed(cursor, file, 'a blank after the number');
}

const NO_NUMBER: ReadonlySet<string> = new Set(['NAN', 'INF', 'INFINITY']);

/** Skips the third and fourth number of a position (height and measure), if there are any. */
function skipMeasures(cursor: ByteCursor, file: string): void {
  for (let more = 0; more < 2; more++) {
    if (endsPosition(cursor)) return;
    skipGap(cursor, file);
    if (endsPosition(cursor)) return;
    const start = cursor.at;
    if (!Number.isNaN(readNumber(cursor)) || NO_NUMBER.has(readLetters(cursor))) continue;
    cursor.at = start;
    throw malformed(cursor, file, "a number, ',' or ')'");
  }
}

function endsPosition(cursor: ByteCursor): boolean {
  const byte = cursor.at < cursor.end ? peek(cursor) : undefined;
  return byte === char.comma || byte === char.close;
}

function skipParentheses(cursor: ByteCursor, file: string): void {
  take(cursor, char.open, file);
  const { bytes, end } = cursor;
  let depth = 1;
  for (; depth > 0 && cursor.at < end; cursor.at++) {
    if (bytes[cursor.at] === char.open) depth++;
    else if (bytes[cursor.at] === char.close) depth--;
  }
  if (depth > 0) throw malformed(cursor, file, "')'");
}

function take(cursor: ByteCursor, wanted: number, file: string): void {
  skipSpace(cursor);
  if (cursor.at >= cursor.end || peek(cursor) !== wanted) {
    throw malformed(cursor, file, `'${String.fromCharCode(wanted)}'`);
  }
  cursor.at++;
}

function malformed(cursor: ByteCursor, file: string, expected: string): Error {
  const { bytes, end, at } = cursor;
  if (at < end) {
    return malformedText(
      cursor,
      file,
      'The geometry is not well-known text.',
      expected,
      'Begin each geometry on a new line.',
    );
  }
  // In a CSV, other fields follow the geometry. The bytes are cut after the geometry, so that the error does not show
  // these fields.
  const inside = { bytes: bytes.subarray(0, end), end, at };
  const remedy = 'Check that the text is complete, and not cut at some length.';
  return malformedText(inside, file, 'The geometry ends too early.', expected, remedy);
}
