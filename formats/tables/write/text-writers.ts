import { escapeControls, listTexts } from '../../../algorithms/quoted-names.ts';
import type { HostColumn, HostTable } from '../../../algorithms/tables/host-table.ts';
import { largestOf } from '../../../primitives/host/extremes.ts';
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

/** The size of a terminal in characters. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

/** Lines besides the rows: names, what is left out, the summary, the next prompt. */
const OTHER_LINES = 7;
const FEWEST_ROWS = 5;
const LONGEST_CELL = 40;
const BETWEEN = 2;

/**
 * A writer of a table for people at a terminal: the first rows and columns that fit on the screen, aligned, and how many
 * are left out. Null is `–`. Long cells are cut.
 */
export function screenRows(fields: readonly TableField[], { columns: width, rows: height }: Screen): RowsWriter {
  const room = Math.max(FEWEST_ROWS, height - OTHER_LINES);
  const shown: string[][] = [];
  let total = 0;
  return {
    begin: () => '',
    add({ rows, columns }) {
      const more = Math.min(rows, room - shown.length);
      total += rows;
      if (more <= 0) return '';
      const cells = fields.map((field) => {
        const column = columns[field.name]!;
        const [text, isNull] = [cellText(field, column), nullsOf(column)];
        return (row: number) => (isNull(row) ? '–' : cut(text(row)));
      });
      for (let row = 0; row < more; row++) shown.push(cells.map((cell) => cell(row)));
      return '';
    },
    end() {
      const lines = [fields.map(({ name }) => cut(name)), ...shown];
      const widths = fields.map((_, column) => largestOf(lines.map((cells) => cells[column]!.length)));
      const fitting = columnsWithin(widths, width);
      const isText = fields.map(({ type }) => type === 'string');
      const text = lines.map((cells) =>
        cells
          .slice(0, fitting)
          .map((cell, at) => (isText[at] ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
          .join(' '.repeat(BETWEEN))
          .trimEnd(),
      );
      return `${[...text, ...leftOut(total - shown.length, fields.slice(fitting))].join('\n')}\n`;
    },
  };
}

function cut(text: string): string {
  const safe = escapeControls(text);
  return safe.length > LONGEST_CELL ? `${safe.slice(0, LONGEST_CELL - 1)}…` : safe;
}

/** The number of columns that fit in a line, at least one. */
function columnsWithin(widths: readonly number[], width: number): number {
  let end = -BETWEEN;
  const beyond = widths.findIndex((each) => {
    end += BETWEEN + each;
    return end > width;
  });
  return beyond < 0 ? widths.length : Math.max(1, beyond);
}

const NAMES_SHOWN = 5;

function leftOut(rows: number, columns: readonly TableField[]): string[] {
  const names = listTexts(
    columns.map(({ name }) => cut(name)),
    NAMES_SHOWN,
  );
  const more = [
    ...(rows === 0 ? [] : [`${rows.toLocaleString('en')} more ${rows === 1 ? 'row' : 'rows'}`]),
    ...(columns.length === 0
      ? []
      : [`${columns.length} more ${columns.length === 1 ? 'column' : 'columns'} (${names})`]),
  ];
  return more.length === 0 ? [] : [`… ${more.join(' and ')}; -o FILE or a pipe takes all.`];
}
