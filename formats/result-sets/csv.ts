import { quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { latin1Text } from '../bytes/byte-arrays.ts';
import { textOf } from '../tables/csv/head.ts';
import {
  bytesOfFirstLine,
  ESCAPED,
  type Fields,
  isBlank,
  PLAIN,
  type Reading,
  SEPARATOR_LINE,
  scanRows,
  separatorLine,
  skipBlankLines,
} from '../tables/csv/scan.ts';
import { type ByteCursor, char, malformedText, placeIn, startOf, textBetween } from './byte-cursor.ts';
import type { PolygonTile, TileParameters } from './result-set.ts';
import {
  beginPolygon,
  beginPolygonNamed,
  emptyTile,
  endPolygon,
  finishTile,
  type TileColumns,
} from './tile-columns.ts';
import { readGeometry, skipSpace } from './wkt.ts';

/**
 * Reads polygons from delimited text (RFC 4180) with a column of well-known text. The delimiter is a tab if one occurs
 * outside quotes in the first record, else a semicolon if one occurs, else a comma; a first line such as `sep=;` states
 * another. Lines end with LF, CR LF or CR.
 *
 * The first record is a header if none of its fields is a geometry. (Exception: a record with a number as id and an
 * empty geometry is data.)
 *
 * With a header, columns are found by name. The geometry is in the column that `geometryColumn` names, else in a column
 * named `wkt`, `geometry`, `geom`, `the_geom` or similar, else in the first column with a geometry in a later record.
 * The id is in the column that `idColumn` names, else in a column named `id`, `fid`, `gid` or similar; else the id is
 * the record's index. `geometryColumn` and `idColumn` are case-sensitive; case is ignored in the other names.
 *
 * Without a header, the geometry is the first field with a geometry, and the id is the first other field. An empty
 * geometry is left out, and noted as `polygons/empty-geometry`. Geometries are read as in `.wkt` files.
 *
 * O(bytes).
 *
 * @throws FormatError or GeometryError; the error names the line.
 */
export function parseCsv(
  bytes: Uint8Array,
  { place, geometryColumn, idColumn, memoryBytes }: TileParameters,
): PolygonTile {
  const columns = emptyTile(bytes.length / BYTES_A_VERTEX, { place, memoryBytes });
  const { start, reading } = beginRows(bytes, place);
  const { fields } = scanRows(bytes, start, true, reading);
  if (fields.rows === 0) return finishTile(columns);
  const chosen = chooseColumns(fields, place, geometryColumn, idColumn);
  let index = 0;
  for (let row = Number(chosen.header !== undefined); row < fields.rows; row++) {
    if (isBlankRow(fields, row)) continue;
    readPolygonRow(fields, row, columns, chosen, { index: index++, file: place });
  }
  return finishTile(columns);
}

const BYTES_A_VERTEX = 9;

/** Where the records of a text begin, and its delimiter. Rows of other widths and records of any length are found too. */
export function beginRows(bytes: Uint8Array, file: string): { readonly start: number; readonly reading: Reading } {
  const from = startOf(bytes).at;
  const stated = separatorLine(latin1Text(bytes, from, Math.min(bytes.length, from + SEPARATOR_LINE)));
  const begin = from + (stated?.length ?? 0);
  const found = bytesOfFirstLine(bytes, skipBlankLines(bytes, begin).at, [char.tab, char.semicolon, char.comma]);
  const likely = [char.tab, char.semicolon].find((delimiter) => found[delimiter]! > 0) ?? char.comma;
  const delimiter = stated?.delimiter.charCodeAt(0) ?? likely;
  const { at: start, lines } = skipBlankLines(bytes, begin, delimiter);
  const line = lines + (stated === undefined ? 1 : 2);
  const longest = Number.POSITIVE_INFINITY;
  return { start, reading: { file, delimiter, columns: undefined, line, keepsRagged: true, longest } };
}

/** Whether a row of a single column is blank, so that it is no record. */
export function isBlankRow({ bytes, columns, starts, ends }: Fields, row: number): boolean {
  return columns === 1 && isBlank(bytes, starts[row]!, ends[row]!);
}

const GEOMETRY =
  /^\s*(SRID=\d+;\s*)?(MULTI)?(POLYGON|POINT|LINESTRING|GEOMETRYCOLLECTION|CURVE|SURFACE)\s*(ZM|Z|M)?\s*(\(|EMPTY)/i;
/** Number of bytes at the start of a field that are examined to recognize a geometry. */
const TELLING = 64;

function holdsGeometry({ bytes, starts, ends }: Fields, at: number): boolean {
  return GEOMETRY.test(textBetween(bytes, starts[at]!, Math.min(ends[at]!, starts[at]! + TELLING)));
}

const POLYGON = /^\s*(SRID=\d+;\s*)?((MULTI)?POLYGON|GEOMETRYCOLLECTION|(MULTI)?SURFACE)/i;

/**
 * The first column that has a polygon in one of the rows, from the row `from` on or, if none has, the first that has another
 * geometry.
 */
function geometryAhead(fields: Fields, from: number): number | undefined {
  const { rows, columns } = fields;
  let other: number | undefined;
  for (let at = from * columns; at < rows * columns; at++) {
    if (!holdsGeometry(fields, at)) continue;
    const start = fields.starts[at]!;
    if (POLYGON.test(textBetween(fields.bytes, start, start + TELLING))) return at % columns;
    other ??= at % columns;
  }
  return other;
}

/** Whether a column has a geometry in one of the rows, from the row `from` on. */
function isGeometry(fields: Fields, column: number, from: number): boolean {
  for (let row = from; row < fields.rows; row++) if (holdsGeometry(fields, row * fields.columns + column)) return true;
  return false;
}

function beginsWithHeader(fields: Fields, file: string): boolean {
  const { columns } = fields;
  for (let at = 0; at < columns; at++) if (holdsGeometry(fields, at)) return false;
  const geometry = geometryAhead(fields, 1);
  if (geometry === undefined || columns < 2) return true;
  const id = textOf(fields, idBeside(geometry), file).trim();
  const blank = textOf(fields, geometry, file).trim() === '';
  return !(blank && /^\d+$/.test(id));
}

/** The column of the ids in a text without header: the first column that is not the geometry. */
function idBeside(geometry: number): number {
  return Number(geometry === 0);
}

/** The columns of geometries and ids, and the names of all columns if the text has a header. */
export interface GeometryColumns {
  readonly geometry: number;
  readonly id: number | undefined;
  readonly header: readonly string[] | undefined;
}

const GEOMETRY_NAMES = [
  'wkt',
  'geometry',
  'geom',
  'the_geom',
  'wkt_geom',
  'geometry_wkt',
  'geom_wkt',
  'polygon',
  'shape',
];
const ID_NAMES = ['id', 'fid', 'gid', 'ogc_fid', 'objectid', 'object_id', 'polygon_id', 'uuid', 'label', 'name'];

/**
 * Determines the columns of geometry and id by the rules of {@link parseCsv}, from the first rows of the text. `id` is
 * undefined if no column has ids; polygons are then named by their indices.
 */
export function chooseColumns(
  fields: Fields,
  file: string,
  geometryColumn: string | undefined,
  idColumn: string | undefined,
): GeometryColumns {
  const header = beginsWithHeader(fields, file)
    ? Array.from({ length: fields.columns }, (_, at) => textOf(fields, at, file).trim())
    : undefined;
  const lower = (header ?? []).map((name) => name.toLowerCase());
  const named = (wanted: readonly string[]): number | undefined =>
    wanted.map((name) => lower.indexOf(name)).find((column) => column !== -1);
  const stated = (wanted: string | undefined, what: string): number | undefined => {
    if (wanted === undefined) return undefined;
    const column = (header ?? []).indexOf(wanted);
    if (column !== -1) return column;
    throw noColumn(
      `There is no column ${quoteName(wanted)} of ${what}.`,
      `a header with ${quoteName(wanted)}`,
      header,
      {
        remedy: `Name the column of ${what} exactly as the header does.`,
        file,
      },
    );
  };
  const from = Number(header !== undefined);
  const ahead = geometryAhead(fields, from);
  const likely = named(GEOMETRY_NAMES);
  const isLikely = likely !== undefined && (ahead === undefined || isGeometry(fields, likely, from));
  const geometry = stated(geometryColumn, 'the geometry') ?? (isLikely ? likely : ahead);
  // A text without rows has no polygons, whatever its columns.
  if (geometry === undefined && fields.rows > from) {
    const expected = 'a header with "wkt", or a field of well-known text';
    const remedy = 'Name the column of the geometry.';
    throw noColumn('There is no column with geometries.', expected, header, { remedy, file });
  }
  const other = header === undefined && fields.columns > 1 ? idBeside(geometry!) : undefined;
  return { geometry: geometry ?? -1, id: stated(idColumn, 'the ids') ?? named(ID_NAMES) ?? other, header };
}

/** The name of a polygon: the text in its column, or its index if there is none. */
export function nameOfRow(
  fields: Fields,
  row: number,
  { id }: Pick<GeometryColumns, 'id'>,
  { index, file }: { readonly index: number; readonly file: string },
): string {
  return id === undefined ? String(index) : textOf(fields, row * fields.columns + id, file, fields.lines[row]);
}

/** Reads the geometry of a row as a polygon of a tile. */
export function readPolygonRow(
  fields: Fields,
  row: number,
  columns: TileColumns,
  { geometry, id }: Pick<GeometryColumns, 'geometry' | 'id'>,
  { index, file }: { readonly index: number; readonly file: string },
): void {
  const { bytes, starts, ends, kinds, ragged } = fields;
  const base = row * fields.columns;
  const at = base + geometry;
  const width = ragged.get(row);
  if (geometry < (width ?? fields.columns)) refuseUnquoted(fields, at, file);
  if (width !== undefined) throw wrongWidth(fields, row, width, file);
  if (id === undefined) beginPolygonNamed(columns, index);
  else if (kinds[base + id] === ESCAPED) beginPolygonNamed(columns, textOf(fields, base + id, file, fields.lines[row]));
  else beginPolygon(columns, bytes, starts[base + id]!, ends[base + id]!);
  const inside: ByteCursor = { bytes, at: starts[at]!, end: ends[at]! };
  skipSpace(inside);
  if (inside.at >= inside.end) {
    endPolygon(columns);
    return;
  }
  refuseBinary(inside, file);
  readGeometry(inside, columns, file);
  skipSpace(inside);
  if (inside.at < inside.end) {
    throw malformedText(inside, file, 'The record is malformed.', 'the end of the geometry', REMEDY);
  }
}

const REMEDY = 'Put fields that contain delimiters in double quotes (RFC 4180).';

function wrongWidth(fields: Fields, row: number, width: number, file: string): FormatError {
  return new FormatError('format/malformed-text', 'The record is malformed.', {
    expected: `${fields.columns} fields, as in the first record`,
    got: String(width),
    remedy: REMEDY,
    place: { file, line: fields.lines[row] },
  });
}

const HEXADECIMAL = /^0[01][0-9a-f]{8,}$/i;

/** Throws if a geometry is hexadecimal well-known binary, which PostGIS exports by default. */
function refuseBinary({ bytes, at, end }: ByteCursor, file: string): void {
  if (bytes[at] !== char.zero || !HEXADECIMAL.test(textBetween(bytes, at, Math.min(end, at + TELLING)))) return;
  throw new FormatError('format/binary-geometry', 'The geometry is well-known binary.', {
    expected: 'well-known text',
    got: quoteName(textBetween(bytes, at, Math.min(end, at + TELLING))),
    remedy: 'Export the geometry as text, in PostGIS by ST_AsText.',
    place: placeIn(bytes, at, file),
  });
}

/** Throws if a geometry without quotes is cut off at a comma, because the comma is also the delimiter of the file. */
function refuseUnquoted({ bytes, starts, ends, kinds }: Fields, at: number, file: string): void {
  const [from, to] = [starts[at]!, ends[at]!];
  const isCut = kinds[at] === PLAIN && bytes[to - 1] !== char.close && DELIMITERS.includes(bytes[to]!);
  if (!isCut || bytes.subarray(from, to).indexOf(char.open) === -1) return;
  const remedy = 'Put geometries in double quotes, because they contain the delimiter of the fields.';
  const cursor = { bytes, at: from, end: to };
  throw malformedText(cursor, file, 'The geometry is cut off where the next field begins.', "')' at its end", remedy);
}

const DELIMITERS: readonly number[] = [char.tab, char.semicolon, char.comma];

function noColumn(
  sentence: string,
  expected: string,
  header: readonly string[] | undefined,
  { remedy, file }: { readonly remedy: string; readonly file: string },
): FormatError {
  const got = header === undefined ? 'no header' : quoteName(header.join(', '));
  return new FormatError('format/no-column', sentence, { expected, got, remedy, place: { file } });
}
