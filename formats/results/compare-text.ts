import type { TextColumn } from '../../algorithms/text-column.ts';
import { requireArguments, requireOptions } from '../../primitives/checks/arguments.ts';
import { CSV_OPTIONS, type CsvOptions, fieldWriter } from '../text/csv-quote.ts';
import { aTable, type CompareColumn, type CompareRows, type TableWriter } from './compare-tables.ts';

/**
 * Writes a table as CSV: a header, then one line per row. Fields are quoted as in RFC 4180; lines end in a single line
 * feed. Ratios have as few digits as needed to restore the f64; missing ratios are empty. Flags are 1 and 0.
 *
 * @example
 * const table = emptyTable('missing');
 * csvWriter(table).begin(); // 'tile,set,id\n'
 */
export function csvWriter(empty: CompareRows, options: CsvOptions = {}): TableWriter {
  requireArguments('csvWriter', { empty }, { empty: aTable });
  requireOptions('csvWriter', CSV_OPTIONS, options);
  const quote = fieldWriter(options);
  const { columns } = empty;
  return {
    begin: () => `${columns.map(([name]) => name).join(',')}\n`,
    add: (table) =>
      lines(
        table,
        (column) => csvCells(column, quote),
        (fields) => `${fields.join(',')}\n`,
      ),
    end: () => '',
  };
}

/**
 * Writes a table as a JSON array with one object per row, each on its own line. Counts and areas up to 2⁵³ − 1 are
 * numbers. Larger ones are decimal strings, because numbers would lose digits. Missing ratios are null; flags are true
 * and false.
 *
 * @example
 * const table = emptyTable('missing');
 * const writer = jsonWriter(table);
 * JSON.parse(`${writer.begin()}${writer.add(table)}${writer.end()}`); // []
 */
export function jsonWriter(empty: CompareRows): TableWriter {
  requireArguments('jsonWriter', { empty }, { empty: aTable });
  const { columns } = empty;
  const keys = columns.map(([name]) => `${JSON.stringify(name)}:`);
  let separator = '\n';
  const object = (values: readonly string[]): string => {
    const before = separator;
    separator = ',\n';
    return `${before}{${values.map((value, i) => keys[i] + value).join(',')}}`;
  };
  return {
    begin: () => '[',
    add: (table) => lines(table, jsonCells, object),
    end: () => '\n]\n',
  };
}

function lines(
  { rows, columns }: CompareRows,
  cellsOf: (column: CompareColumn) => (row: number) => string,
  line: (cells: readonly string[]) => string,
): string {
  const cells = columns.map(([, column]) => cellsOf(column));
  let text = '';
  for (let row = 0; row < rows; row++) text += line(cells.map((cell) => cell(row)));
  return text;
}

function csvCells(column: CompareColumn, quote: (text: string) => string): (row: number) => string {
  switch (column.type) {
    case 'text': {
      const text = textsOf(column.texts);
      return (row) => quote(text(column.rows[row]!));
    }
    case 'ratio':
      return (row) => (Number.isNaN(column.values[row]!) ? '' : String(column.values[row]));
    default:
      return (row) => String(column.values[row]);
  }
}

const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER);

function jsonCells(column: CompareColumn): (row: number) => string {
  switch (column.type) {
    case 'text': {
      const text = textsOf(column.texts);
      return (row) => JSON.stringify(text(column.rows[row]!));
    }
    case 'area':
      return (row) => (column.values[row]! <= MAX_EXACT ? `${column.values[row]}` : `"${column.values[row]}"`);
    case 'ratio':
      return (row) => (Number.isNaN(column.values[row]!) ? 'null' : String(column.values[row]));
    case 'flag':
      return (row) => (column.values[row] === 1 ? 'true' : 'false');
    default:
      return (row) => String(column.values[row]);
  }
}

/**
 * Returns a function from the number of a row to the row's text in the column. ASCII texts are cut from one decoded
 * string, because decoding each text separately takes ten times as long.
 */
function textsOf({ bytes, starts }: TextColumn): (row: number) => string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const all = decoder.decode(bytes);
  if (all.length === bytes.length) return (row) => all.slice(starts[row], starts[row + 1]);
  return (row) => decoder.decode(bytes.subarray(starts[row], starts[row + 1]));
}
