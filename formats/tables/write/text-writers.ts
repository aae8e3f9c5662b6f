import type { HostColumn, HostTable } from '../../../algorithms/tables/host-table.ts';
import { disarmed } from '../../text/csv-quote.ts';
import type { TableField } from '../table-file.ts';
import { type CellText, cellText, nullsOf } from './cell-text.ts';

/** Rows to write. */
export interface Rows {
  readonly rows: number;
  readonly columns: HostTable;
}

/** Converts a table to text or bytes, batch by batch. */
export interface RowsWriter {
  begin(): string | Uint8Array;
  add(rows: Rows): string | Uint8Array;
  end(): string | Uint8Array;
}

/**
 * Returns a writer of CSV according to RFC 4180, except that lines end with a line feed. Null is an empty field, and an
 * empty string is `""`. With `quoteFormulas`, an apostrophe precedes texts that a spreadsheet would take for formulas.
 */
export function csvRows(
  fields: readonly TableField[],
  { quoteFormulas = false }: { readonly quoteFormulas?: boolean } = {},
): RowsWriter {
  const quoted = quoteFormulas ? (text: string) => quotedField(disarmed(text)) : quotedField;
  const line = (cells: readonly string[]): string => `${cells.join(',')}\n`;
  return {
    begin: () => line(fields.map(({ name }) => quoted(name))),
    add: (rows) => linesOf(fields, rows, (field, column) => csvCell(field, column, quoted), line),
    end: () => '',
  };
}

function csvCell(field: TableField, column: HostColumn, quoted: (text: string) => string): CellText {
  const [text, isNull] = [cellText(field, column), nullsOf(column)];
  if (column.type === 'string') return (row) => (isNull(row) ? '' : quoted(text(row)));
  return (row) => (isNull(row) ? '' : text(row));
}

/**
 * Puts a string in quotes in three cases: RFC 4180 requires quotes, the string is empty, or the string begins or ends
 * with a blank, which some readers would strip.
 */
function quotedField(text: string): string {
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns a writer of a JSON array. Each row becomes an object on its own line. */
export function jsonRows(fields: readonly TableField[]): RowsWriter {
  let separator = '\n';
  const line = (cells: readonly string[]): string => {
    const before = separator;
    separator = ',\n';
    return before + objectOf(fields, cells);
  };
  return { begin: () => '[', add: (rows) => linesOf(fields, rows, jsonCell, line), end: () => '\n]\n' };
}

/** Returns a writer of JSON lines. Each row becomes an object on its own line. */
export function jsonLines(fields: readonly TableField[]): RowsWriter {
  const line = (cells: readonly string[]): string => `${objectOf(fields, cells)}\n`;
  return { begin: () => '', add: (rows) => linesOf(fields, rows, jsonCell, line), end: () => '' };
}

function objectOf(fields: readonly TableField[], cells: readonly string[]): string {
  return `{${cells.map((cell, i) => `${JSON.stringify(fields[i]!.name)}:${cell}`).join(',')}}`;
}

const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER);
/**
 * Greatest decimal that is written as a JSON number, given without its decimal point. Decimals of up to 15 digits
 * survive conversion to f64 and back.
 */
const MAX_EXACT_DECIMAL = 10n ** 15n - 1n;

/**
 * Returns a function that formats the cells of a column as JSON. Numbers with more digits than an f64 holds become
 * strings. NaN and infinities also become strings, because JSON has no notation for them.
 */
export function jsonCell(field: TableField, column: HostColumn): CellText {
  const [text, isNull] = [cellText(field, column), nullsOf(column)];
  const shown = jsonValue(field, column, text);
  return (row) => (isNull(row) ? 'null' : shown(row));
}

function jsonValue(field: TableField, column: HostColumn, text: CellText): CellText {
  if (column.type === 'string') return (row) => JSON.stringify(text(row));
  if (column.type === 'date' || field.type === 'timestamp' || field.type === 'time') return (row) => `"${text(row)}"`;
  const { type, values } = column;
  if (type === 'f32' || type === 'f64') return (row) => (Number.isFinite(values[row]) ? text(row) : `"${text(row)}"`);
  if (type === 'i64' || type === 'u64' || type === 'decimal') {
    const max = type === 'decimal' && column.scale > 0 ? MAX_EXACT_DECIMAL : MAX_EXACT;
    return (row) => {
      const value = BigInt(values[row]!);
      return value <= max && value >= -max ? text(row) : `"${text(row)}"`;
    };
  }
  return text;
}

function linesOf(
  fields: readonly TableField[],
  { rows, columns }: Rows,
  cellOf: (field: TableField, column: HostColumn) => CellText,
  line: (cells: readonly string[]) => string,
): string {
  const cells = fields.map((field) => cellOf(field, columns[field.name]!));
  let text = '';
  for (let row = 0; row < rows; row++) text += line(cells.map((cell) => cell(row)));
  return text;
}
