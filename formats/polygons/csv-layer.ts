import { FormatError, GeometryError } from '../../primitives/checks/errors.ts';
import { latin1Text } from '../bytes/byte-arrays.ts';
import { type Steps, wait } from '../bytes/steps.ts';
import { placeIn } from '../result-sets/byte-cursor.ts';
import {
  beginRows,
  chooseColumns,
  type GeometryColumns,
  isBlankRow,
  nameOfRow,
  readPolygonRow,
} from '../result-sets/csv.ts';
import { emptyTile } from '../result-sets/tile-columns.ts';
import { skipSpace } from '../result-sets/wkt.ts';
import { textOf } from '../tables/csv/head.ts';
import { type Fields, PLAIN, scanRows } from '../tables/csv/scan.ts';
import { memberValueOf } from '../text/json-value.ts';
import { attributeColumns } from './attribute-columns.ts';
import { need, needMore } from './byte-window.ts';
import { beginPolygon, isFull } from './layer-columns.ts';
import { endRecord, type OpenedFormat, type Reading, readRecord } from './layer-reading.ts';
import { HEAD_BYTES, type PolygonFormat } from './polygon-format.ts';
import { appendTile } from './tile-polygon.ts';
import { takeSrid } from './wkt-lines.ts';

/** Delimited text with a column of well-known text. */
export const CSV: PolygonFormat = {
  name: 'csv',
  title: 'CSV with a column of WKT',
  endings: ['.csv', '.tsv'],
  hasColumns: true,
  tells: ({ head, start }) => {
    const text = latin1Text(head, start, Math.min(head.length, start + TELLING));
    return DELIMITED.test(text) && GEOMETRY.test(text);
  },
  open: () => wait<OpenedFormat>({ read: readCsv, stated: undefined, geographic: false }),
};

/** Bytes at the start of a text that tell the format, a delimiter in its first line, and a polygon that begins a field. */
const TELLING = 4096;
const DELIMITED = /^[^\r\n]*[,;\t]/;
const GEOMETRY = /[,;\t\r\n]"?\s*(SRID=\d+;)?(MULTI)?POLYGON\s*(ZM|Z|M)?\s*(\(|EMPTY)/i;

/**
 * Reads delimited text (RFC 4180) by the rules of `parseCsv`: the geometry is in the column that is named `wkt`, `geometry`
 * or the like, or whose first records hold well-known text. A polygon is named by the column `options.id`, else by one
 * that is called `id` or the like, else by its index. The other columns of a text with a header are its attributes.
 */
function* readCsv(reading: Reading): Steps {
  const { window, input, options } = reading;
  yield* need(window, HEAD_BYTES, 0);
  const begun = beginRows(window.bytes.subarray(0, window.end), input.file);
  let rows = { ...begun.reading };
  window.at = begun.start;
  let chosen: Chosen | undefined;
  let index = 0;
  for (;;) {
    const { fields, next } = scanRows(window.bytes.subarray(0, window.end), window.at, window.ended, rows);
    let row = 0;
    if (chosen === undefined && fields.rows < 2 && !window.ended) {
      // The first row after a header may tell the column of the geometry.
      rows = { ...begun.reading };
      yield* needMore(window);
      continue;
    }
    if (fields.rows > 0 && chosen === undefined) {
      const columns = chooseColumns(fields, input.file, options.geometryColumn, options.id);
      chosen = { ...columns, read: attributeColumns(reading, attributesOf(columns), () => true) };
      rows = { ...rows, columns: fields.columns };
      row = Number(chosen.header !== undefined);
    }
    for (; row < fields.rows; row++) {
      if (isBlankRow(fields, row)) continue;
      const record = index++;
      const at = row;
      readRecord(reading, record, () => readRow(reading, fields, at, chosen!, record));
      if (isFull(reading.columns)) yield;
    }
    window.at = next;
    if (!(yield* needMore(window)) && window.ended && window.at === window.end) return;
  }
}

/** A column of attributes: its name, and its place among the columns. */
interface Attribute {
  readonly name: string;
  readonly column: number;
}

/** The columns of a text, and those that are read as attributes. */
interface Chosen extends GeometryColumns {
  readonly read: readonly Attribute[];
}

function attributesOf({ header = [], geometry }: GeometryColumns): Attribute[] {
  return header.map((name, column) => ({ name, column })).filter(({ column }) => column !== geometry);
}

function readRow(reading: Reading, fields: Fields, row: number, chosen: Chosen, index: number): void {
  const { columns, input, forZones } = reading;
  const at = { index, file: input.file };
  const tile = emptyTile();
  try {
    const start = fields.starts[row * fields.columns + chosen.geometry]!;
    const geometry = { bytes: fields.bytes, at: start, end: fields.ends[row * fields.columns + chosen.geometry]! };
    skipSpace(geometry);
    takeSrid(reading, geometry, index);
    readPolygonRow(fields, row, tile, chosen, at);
  } catch (error) {
    throw placed(error, fields, row, index);
  }
  const properties = propertiesOf(fields, row, chosen, at.file);
  beginPolygon(columns, nameOfRow(fields, row, chosen, at));
  if (endRecord(reading, appendTile(columns, tile))) forZones.attributes?.add(properties);
}

/** A number as JSON writes it, so that nothing is lost where it is read as a number. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The attributes of a row by their names. Empty fields without quotes are null. */
function propertiesOf(fields: Fields, row: number, { read }: Chosen, file: string): Readonly<Record<string, unknown>> {
  const values = read.map(({ name, column }): [string, unknown] => {
    const at = row * fields.columns + column;
    if (fields.kinds[at] === PLAIN && fields.starts[at] === fields.ends[at]) return [name, null];
    const text = textOf(fields, at, file, fields.lines[row]);
    return [name, NUMBER.test(text) ? memberValueOf(text) : text];
  });
  return Object.fromEntries(values);
}

/** Adds the record to an error, and the number of its line. A place with a column counts lines from the first byte read. */
function placed(error: unknown, { bytes, starts, columns, lines }: Fields, row: number, record: number): unknown {
  if (!(error instanceof FormatError || error instanceof GeometryError)) return error;
  const Kind = error instanceof GeometryError ? GeometryError : FormatError;
  const { code, expected, got, remedy, place } = error;
  const begin = placeIn(bytes, starts[row * columns]!, '').line;
  const line = place?.column === undefined ? place?.line : lines[row]! + place.line! - begin;
  return new Kind(code, 'The record has no geometry that can be read.', {
    expected,
    got,
    remedy,
    place: { ...place, line, record },
    cause: error,
  });
}
