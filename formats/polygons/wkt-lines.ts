import { FormatError, GeometryError } from '../../primitives/checks/errors.ts';
import { latin1Text } from '../bytes/byte-arrays.ts';
import { type Steps, wait } from '../bytes/steps.ts';
import { isGeographicCrs } from '../crs.ts';
import { type ByteCursor, char, endsLine, malformedText } from '../result-sets/byte-cursor.ts';
import { beginPolygonNamed, emptyTile } from '../result-sets/tile-columns.ts';
import { readGeometry, skipSpace } from '../result-sets/wkt.ts';
import { skipMark } from './geojson-collection.ts';
import { beginPolygon, isFull } from './layer-columns.ts';
import { endRecord, type OpenedFormat, type Reading, readRecord } from './layer-reading.ts';
import type { PolygonFormat } from './polygon-format.ts';
import { appendTile } from './tile-polygon.ts';
import { findRecord } from './wkt-record.ts';

/** WKT, one geometry after the other. */
export const WKT: PolygonFormat = {
  name: 'wkt',
  title: 'WKT',
  endings: ['.wkt'],
  tells: ({ head, start, ending }) => {
    const text = latin1Text(head, start, Math.min(head.length, start + TELLING));
    // A geometry of a CSV without a header is followed by a delimiter that well-known text does not have.
    return BEGINNING.test(text) && !(/^\.[ct]sv$/.test(ending) && /^[^\r\n]*[;\t]/.test(text));
  },
  open: () => wait<OpenedFormat>({ read: readWktLines, stated: undefined, geographic: false }),
};

/** Bytes at the start of a text that tell the format. */
const TELLING = 4096;

/**
 * Matches the start of a WKT text: a comment, or the keyword of a geometry with what follows it. The number of a coordinate
 * system may precede the keyword.
 */
const BEGINNING =
  /^(#|(SRID\s*=\s*\d+\s*;\s*)?((MULTI)?(POLYGON|POINT|LINESTRING|SURFACE|CURVE)|GEOMETRYCOLLECTION)\s*(ZM|Z|M)?\s*(\(|EMPTY|$))/i;

/**
 * Reads a text of geometries in well-known text. Each geometry begins on a new line, and may span several lines. The
 * syntax is that of `formats/result-sets/wkt.ts`. Polygons are named by their index among the geometries. Blank lines
 * and lines that begin with `#` are skipped.
 *
 * `SRID=…;` before the first geometry states the coordinate system of all geometries.
 */
function* readWktLines(reading: Reading): Steps {
  const { window, options, input } = reading;
  if (options.id !== undefined) throw withoutProperties(options.id, input.file);
  yield* skipMark(window);
  let index = 0;
  for (let line = 1; ; line++) {
    const { end, swallows } = yield* findRecord(window);
    const bytes = window.bytes.subarray(window.at, end);
    const cursor = { bytes, at: 0, end: bytes.length };
    skipSpace(cursor);
    if (cursor.at < cursor.end && cursor.bytes[cursor.at] !== char.hash) {
      const at = { index, line };
      const read = (): void => readGeometryText(reading, cursor, at);
      // Where the next geometry begins is not known, so reading cannot go on even if bad records are left out.
      if (swallows) read();
      else readRecord(reading, index, read);
      index++;
      if (isFull(reading.columns)) yield;
    }
    line += lineEndsIn(window.bytes, window.at, end);
    window.at = Math.min(end + 1, window.end);
    if (end === window.end) return;
  }
}

function withoutProperties(property: string, file: string): FormatError {
  return new FormatError(
    'format/missing-property',
    `There is no ${JSON.stringify(property)} to name the polygons from.`,
    {
      expected: 'a format with properties',
      got: 'WKT, which has geometries alone',
      remedy: 'Name no property: polygons are named by their index.',
      place: { file },
    },
  );
}

/** Number of line ends between two positions: LF, CR LF, or CR alone. */
function lineEndsIn(bytes: Uint8Array, start: number, end: number): number {
  const part = bytes.subarray(start, end);
  let count = 0;
  for (const byte of [char.newline, char.return]) {
    // Searching takes less time than looking at every byte.
    for (let at = part.indexOf(byte); at !== -1; at = part.indexOf(byte, at + 1))
      if (endsLine(bytes, start + at)) count++;
  }
  return count;
}

interface LineAt {
  readonly index: number;
  /** Line on which the geometry begins. */
  readonly line: number;
}

function readGeometryText(reading: Reading, cursor: ByteCursor, { index, line }: LineAt): void {
  const { columns, input } = reading;
  const name = String(index);
  const start = cursor.at;
  // Estimated number of vertices, at nine bytes per vertex: two numbers of four digits and a separator. The tile grows
  // if there are more vertices.
  const tile = emptyTile((cursor.end - start) / 9);
  beginPolygonNamed(tile, name);
  try {
    takeSrid(reading, cursor, index);
    readGeometry(cursor, tile, input.file);
    requireEnd(cursor, input.file);
  } catch (error) {
    throw placedError(error, reading, { index, line });
  }
  beginPolygon(columns, name);
  if (endRecord(reading, appendTile(columns, tile))) reading.forZones.attributes?.add(undefined);
}

const SRID = /^SRID\s*=\s*(\d+)\s*;/i;

/** Takes the coordinate system that well-known text states before a geometry. The first one is that of all. */
export function takeSrid(reading: Reading, { bytes, at, end }: ByteCursor, index: number): void {
  const found = SRID.exec(latin1Text(bytes, at, Math.min(end, at + 40)));
  // PostGIS writes SRID 0 if the coordinate system is unknown.
  const srid = found === null || Number(found[1]) === 0 ? undefined : `EPSG:${Number(found[1])}`;
  if (index === 0) {
    reading.stated = srid;
    reading.columns.mayJump = isGeographicCrs(reading.options.crs ?? srid);
  }
  if (srid !== undefined && srid !== reading.stated) {
    throw new FormatError('format/mixed-crs', 'The geometries are not all in one coordinate system.', {
      expected: `${reading.stated ?? 'none'}, as the first geometry has it`,
      got: srid,
      remedy: 'Transform them into one.',
      place: { file: reading.input.file, record: index },
    });
  }
}

function requireEnd(cursor: ByteCursor, file: string): void {
  if (cursor.bytes[cursor.at] === char.semicolon) cursor.at++;
  skipSpace(cursor);
  if (cursor.at === cursor.end) return;
  const remedy = 'Begin each geometry on a new line.';
  throw malformedText(cursor, file, 'The line goes on after the geometry.', 'the end of the line', remedy);
}

/**
 * Adds the file, the line and the record to an error of the parser, which counts lines from the start of the geometry.
 */
function placedError(error: unknown, { input }: Reading, { index, line }: LineAt): unknown {
  if (!(error instanceof FormatError || error instanceof GeometryError)) return error;
  const Kind = error instanceof GeometryError ? GeometryError : FormatError;
  const { code, expected, got, remedy, place } = error;
  return new Kind(code, 'The geometry is not well-known text.', {
    expected,
    got,
    remedy,
    place: { file: input.file, line: line + (place?.line ?? 1) - 1, column: place?.column, record: index },
    cause: error,
  });
}
