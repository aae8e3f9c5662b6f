import { quoteName } from '../../algorithms/notes.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { SEPARATOR_LINE, separatorLine } from '../csv-separator.ts';
import { bytesOfFirstLine, isBlank, skipBlankLines } from '../tables/csv/scan.ts';
import { type ByteCursor, char, isLineEnd, malformedText, placeIn, startOf, textBetween } from './byte-cursor.ts';
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
export function parseCsv(bytes: Uint8Array, parameters: TileParameters): PolygonTile {
  const { place, geometryColumn, idColumn, memoryBytes } = parameters;
  const table = startTable(bytes, place);
  const columns = emptyTile(bytes.length / BYTES_A_VERTEX, { place, memoryBytes });
  if (!nextRecord(table)) return finishTile(columns);
  const header = beginsWithHeader(table) ? headerOf(table) : undefined;
  if (header !== undefined && !nextRecord(table)) return finishTile(columns);
  const chosen = chooseColumns(table, header, geometryColumn, idColumn);
  let index = 0;
  do readPolygon(table, columns, chosen, index++);
  while (nextRecord(table));
  return finishTile(columns);
}

const BYTES_A_VERTEX = 9;

/**
 * A field of the current record: the range of its bytes without the quotes, and whether it contains doubled quotes
 * (`""`).
 */
interface Field {
  readonly from: number;
  readonly to: number;
  readonly doubled: boolean;
}

interface CsvReading {
  readonly cursor: ByteCursor;
  readonly file: string;
  readonly delimiter: number;
  /** Fields of the current record. `start` is the position of the record's first byte. */
  fields: Field[];
  start: number;
}

function startTable(bytes: Uint8Array, file: string): CsvReading {
  const cursor = startOf(bytes);
  const stated = separatorLine(textBetween(bytes, cursor.at, cursor.at + SEPARATOR_LINE));
  cursor.at += stated?.length ?? 0;
  const delimiter = stated?.delimiter.charCodeAt(0) ?? findDelimiter(cursor);
  return { cursor, file, delimiter, fields: [], start: 0 };
}

function findDelimiter({ bytes, at }: ByteCursor): number {
  const found = bytesOfFirstLine(bytes, skipBlankLines(bytes, at).at, [char.tab, char.semicolon, char.comma]);
  return [char.tab, char.semicolon].find((delimiter) => found[delimiter]! > 0) ?? char.comma;
}

/** Reads the fields of the next record. Blank records are skipped. Returns false at the end of the text. */
function nextRecord(table: CsvReading): boolean {
  const { cursor } = table;
  do {
    if (cursor.at >= cursor.end) return false;
    table.start = cursor.at;
    table.fields = readFields(table);
  } while (table.fields.length === 1 && isBlank(cursor.bytes, table.fields[0]!.from, table.fields[0]!.to));
  return true;
}

function readFields({ cursor, delimiter, file }: CsvReading): Field[] {
  const { bytes, end } = cursor;
  const fields: Field[] = [];
  for (;;) {
    fields.push(
      bytes[cursor.at] === char.quote && cursor.at < end ? readQuoted(cursor, file) : readPlain(cursor, delimiter),
    );
    const byte = cursor.at < end ? bytes[cursor.at]! : char.newline;
    if (byte === delimiter) {
      cursor.at++;
      continue;
    }
    if (!isLineEnd(byte)) throw malformed(cursor, file, 'a delimiter or a newline');
    cursor.at += byte === char.return && bytes[cursor.at + 1] === char.newline ? 2 : 1;
    return fields;
  }
}

function readQuoted(cursor: ByteCursor, file: string): Field {
  const { bytes, end } = cursor;
  const from = cursor.at + 1;
  let doubled = false;
  for (let at = from; ; at += 2) {
    at = bytes.indexOf(char.quote, at);
    if (at === -1 || at >= end) throw malformed(cursor, file, 'a quote that ends the field');
    if (at + 1 < end && bytes[at + 1] === char.quote) {
      doubled = true;
      continue;
    }
    cursor.at = at + 1;
    return { from, to: at, doubled };
  }
}

function readPlain(cursor: ByteCursor, delimiter: number): Field {
  const { bytes, end, at: from } = cursor;
  let at = from;
  while (at < end && bytes[at] !== delimiter && !isLineEnd(bytes[at]!)) at++;
  cursor.at = at;
  return { from, to: at, doubled: false };
}

function textOf({ cursor: { bytes } }: CsvReading, { from, to, doubled }: Field): string {
  const text = textBetween(bytes, from, to);
  return doubled ? text.replaceAll('""', '"') : text;
}

const GEOMETRY =
  /^\s*(SRID=\d+;\s*)?(MULTI)?(POLYGON|POINT|LINESTRING|GEOMETRYCOLLECTION|CURVE|SURFACE)\s*(ZM|Z|M)?\s*(\(|EMPTY)/i;
/** Number of bytes at the start of a field that are examined to recognize a geometry. */
const TELLING = 64;

function holdsGeometry({ cursor: { bytes } }: CsvReading, { from, to }: Field): boolean {
  return GEOMETRY.test(textBetween(bytes, from, Math.min(to, from + TELLING)));
}

function beginsWithHeader(table: CsvReading): boolean {
  const { fields } = table;
  if (fields.some((field) => holdsGeometry(table, field))) return false;
  const geometry = geometryAhead(table);
  if (geometry === undefined || geometry >= fields.length || fields.length < 2) return true;
  const id = textOf(table, fields[idBeside(geometry)]!).trim();
  const blank = textOf(table, fields[geometry]!).trim() === '';
  return !(blank && /^\d+$/.test(id));
}

/**
 * The first column that contains a geometry in the current record. If the current record has no geometry, the following
 * records are searched.
 */
function geometryAhead(table: CsvReading): number | undefined {
  const { fields, start, cursor } = table;
  const { at } = cursor;
  let found: number;
  do found = table.fields.findIndex((field) => holdsGeometry(table, field));
  while (found === -1 && nextRecord(table));
  Object.assign(table, { fields, start });
  cursor.at = at;
  return found === -1 ? undefined : found;
}

/** The column of the ids in a text without header: the first column that is not the geometry. */
function idBeside(geometry: number): number {
  return Number(geometry === 0);
}

function headerOf(table: CsvReading): string[] {
  return table.fields.map((field) => textOf(table, field).trim());
}

interface Chosen {
  readonly geometry: number;
  readonly id: number | undefined;
  /** Number of fields of the first record, which all records have. */
  readonly width: number;
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
 * Determines the columns of geometry and id by the rules of {@link parseCsv}. `id` is undefined if no column has ids;
 * polygons are then named by their indices.
 */
function chooseColumns(
  table: CsvReading,
  header: readonly string[] | undefined,
  geometryColumn: string | undefined,
  idColumn: string | undefined,
): Chosen {
  const named = (wanted: readonly string[]): number | undefined => {
    const lower = (header ?? []).map((name) => name.toLowerCase());
    const found = wanted.map((name) => lower.indexOf(name)).find((column) => column !== -1);
    return found;
  };
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
        file: table.file,
      },
    );
  };
  const geometry = stated(geometryColumn, 'the geometry') ?? named(GEOMETRY_NAMES) ?? geometryAhead(table);
  if (geometry === undefined) {
    const expected = 'a header with "wkt", or a field of well-known text';
    const remedy = 'Name the column of the geometry.';
    throw noColumn('There is no column with geometries.', expected, header, { remedy, file: table.file });
  }
  const other = header === undefined && table.fields.length > 1 ? idBeside(geometry) : undefined;
  const width = header?.length ?? table.fields.length;
  return { geometry, id: stated(idColumn, 'the ids') ?? named(ID_NAMES) ?? other, width };
}

function readPolygon(table: CsvReading, columns: TileColumns, { geometry, id, width }: Chosen, index: number): void {
  const { cursor, fields, file } = table;
  const field = fields[geometry];
  if (field !== undefined) refuseUnquoted(table, field);
  if (field === undefined || fields.length !== width) {
    throw malformed(
      { ...cursor, at: table.start },
      file,
      `${width} fields, as in the first record, not ${fields.length}`,
    );
  }
  const name = id === undefined ? undefined : fields[id];
  if (name === undefined) beginPolygonNamed(columns, index);
  else if (name.doubled) beginPolygonNamed(columns, textOf(table, name));
  else beginPolygon(columns, cursor.bytes, name.from, name.to);
  const inside: ByteCursor = { bytes: cursor.bytes, at: field.from, end: field.to };
  skipSpace(inside);
  if (inside.at >= inside.end) {
    endPolygon(columns);
    return;
  }
  refuseBinary(inside, file);
  readGeometry(inside, columns, file);
  skipSpace(inside);
  if (inside.at < inside.end) throw malformed(inside, file, 'the end of the geometry');
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
function refuseUnquoted({ cursor: { bytes }, delimiter, file }: CsvReading, { from, to }: Field): void {
  const cut = bytes[to] === delimiter && bytes[from - 1] !== char.quote && bytes[to - 1] !== char.close;
  if (!cut || bytes.subarray(from, to).indexOf(char.open) === -1) return;
  const at = { bytes, at: from, end: to };
  const remedy = 'Put geometries in double quotes, because they contain the delimiter of the fields.';
  throw malformedText(at, file, 'The geometry is cut off where the next field begins.', "')' at its end", remedy);
}

function noColumn(
  sentence: string,
  expected: string,
  header: readonly string[] | undefined,
  { remedy, file }: { readonly remedy: string; readonly file: string },
): FormatError {
  const got = header === undefined ? 'no header' : quoteName(header.join(', '));
  return new FormatError('format/no-column', sentence, { expected, got, remedy, place: { file } });
}

function malformed(cursor: ByteCursor, file: string, expected: string): FormatError {
  const remedy = 'Put fields that contain delimiters in double quotes (RFC 4180).';
  return malformedText(cursor, file, 'The record is malformed.', expected, remedy);
}
