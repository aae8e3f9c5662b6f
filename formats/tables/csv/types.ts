import type { Note } from '../../../algorithms/notes.ts';
import { quoteName } from '../../../algorithms/quoted-names.ts';
import { FormatError } from '../../../primitives/checks/errors.ts';
import { utf8Text } from '../../bytes/byte-arrays.ts';
import type { LayerInput } from '../../polygons/layer-input.ts';
import type { DeclaredType, FieldType, TableField, TableOptions } from '../table-file.ts';
import type { Head } from './head.ts';
import * as infer from './infer.ts';
import { rowsOf } from './rows.ts';
import { type Fields, PLAIN } from './scan.ts';

/** Reads a CSV to its end. Finds the types of its columns, its number of rows, and columns that are nearly numbers. */
export async function readTypes(
  input: LayerInput,
  head: Head,
  { types = {}, decimal = '.', signal }: TableOptions,
): Promise<{ readonly fields: readonly TableField[]; readonly rows: number; readonly notes: readonly Note[] }> {
  const { names } = head;
  checkDeclared(input.file, names, types);
  const columns = names.map((name) => newColumn(Object.hasOwn(types, name)));
  let rows = 0;
  for await (const fields of rowsOf(input, head, signal)) {
    for (const [index, column] of columns.entries()) inferColumn(fields, index, column, rows, decimal);
    rows += fields.rows;
  }
  const fields = names.map((name, i): TableField => {
    const declared = Object.hasOwn(types, name) ? declaredType(types[name]!) : undefined;
    const { possible, hasCells, hasNulls } = columns[i]!;
    return { ...(declared ?? inferred(hasCells ? possible : 0)), name, nullable: hasNulls };
  });
  const swapped = decimal === ',' ? -1 : columns.findIndex(hasDecimalCommas);
  const notes = columns.flatMap((column, i) => (i === swapped ? [] : nearlyNumbers(input.file, names[i]!, column)));
  if (swapped !== -1) notes.unshift(decimalCommas(input.file, names[swapped]!, columns[swapped]!));
  return { fields, rows, notes };
}

/** What is known of a column. */
interface Column {
  /** The types to which all cells so far can be converted. */
  possible: number;
  hasNulls: boolean;
  hasCells: boolean;
  /** Whether numbers and other cells are counted, to notice a column of numbers with some other cells. */
  isCounted: boolean;
  /** Cells that are numbers, and cells that are not. */
  numbers: number;
  others: number;
  /** The first cell that is not a number; else the first that no type holds together with the numbers before it. */
  odd: { readonly row: number; readonly line: number; readonly text: string; readonly isNumber: boolean } | undefined;
}

function newColumn(isDeclared: boolean): Column {
  const possible = isDeclared ? 0 : infer.ANYTHING;
  return { possible, hasNulls: false, hasCells: false, isCounted: !isDeclared, numbers: 0, others: 0, odd: undefined };
}

/** A column in which so many more cells are text than numbers is text, and its numbers are not counted any more. */
const TEXT_AHEAD = 64;

function inferColumn(fields: Fields, index: number, column: Column, first: number, decimal: string): void {
  const { bytes, rows, columns, starts, ends, kinds } = fields;
  let types = column.possible;
  let nulls = 0;
  for (let row = 0, at = index; row < rows; row++, at += columns) {
    const [start, end] = [starts[at]!, ends[at]!];
    if (start === end) {
      if (kinds[at] === PLAIN || types !== 0) nulls++;
      continue;
    }
    if (types === 0 && !column.isCounted) continue;
    const from = infer.skipBlanks(bytes, start, end);
    const to = infer.dropBlanks(bytes, from, end);
    const before = types & infer.NUMBER;
    if (types !== 0) types = from === to ? 0 : infer.typesOf(bytes, from, to, types, decimal);
    if (!column.isCounted) continue;
    const isNumber = (types & infer.NUMBER) !== 0 || infer.isNumber(bytes, start, end, decimal);
    if (isNumber) column.numbers++;
    else if (++column.others > column.numbers + TEXT_AHEAD) column.isCounted = false;
    const isOdd = isNumber ? before !== 0 && (types & infer.NUMBER) === 0 : column.odd?.isNumber !== false;
    if (isOdd) {
      const text = utf8Text(bytes.subarray(start, Math.min(end, start + 40)));
      column.odd = { row: first + row, line: fields.lines[row]!, text, isNumber };
    }
  }
  column.possible = types;
  if (nulls > 0) column.hasNulls = true;
  if (nulls < rows) column.hasCells = true;
}

/** A note on a column that is text, although at least half of its cells are numbers. */
function nearlyNumbers(file: string, name: string, { possible, numbers, others, odd }: Column): Note[] {
  if (possible !== 0 || odd === undefined || numbers < others || numbers === 0) return [];
  const { line, row, text, isNumber } = odd;
  const why = isNumber ? 'no type holds it together with the numbers before it' : 'it is not a number';
  const cells = numbers === 1 ? '1 other cell is a number' : `${numbers} other cells are numbers`;
  const message = `The column ${quoteName(name)} of ${file} is text because of ${quoteName(text)} in line ${line} (row ${row}, counted from 0): ${why}; ${isNumber ? 'all cells are numbers' : cells}.`;
  return [{ code: 'csv/text-among-numbers', message, ...(isNumber ? {} : { count: others }) }];
}

/** A number with a decimal comma, or such numbers with semicolons between them, which commas have cut through. */
const WITH_COMMA = /^[-+]?\d*(,\d+|(,\d+)?(;[-+]?\d*(,\d+)?)+)$/;

/** Whether the first cell of a column of text that is no number looks like one with a decimal comma. */
function hasDecimalCommas({ possible, odd }: Column): boolean {
  return possible === 0 && odd?.isNumber === false && WITH_COMMA.test(odd.text);
}

function decimalCommas(file: string, name: string, { odd }: Column): Note {
  const { line, text } = odd!;
  const message = `The column ${quoteName(name)} of ${file} is text. Its cell ${quoteName(text)} in line ${line} looks like a number with a decimal comma: read such a file with --decimal , (decimal: ',').`;
  return { code: 'csv/decimal-comma', message };
}

/** The narrowest of the types in the mask `possible`, in which each type is a bit. */
function inferred(possible: number): FieldType {
  if (possible & infer.BOOL) return { type: 'bool' };
  if (possible & infer.I32) return { type: 'i32' };
  if (possible & infer.I64) return { type: 'i64' };
  if (possible & infer.U64) return { type: 'u64' };
  if (possible & infer.F64) return { type: 'f64' };
  if (possible & infer.DATE) return { type: 'date' };
  if (possible & infer.WALL_TIME) return { type: 'timestamp', unit: 'us', utc: false };
  if (possible & infer.UTC_TIME) return { type: 'timestamp', unit: 'us', utc: true };
  return { type: 'string' };
}

function declaredType(type: DeclaredType): FieldType {
  if (type === 'timestamp') return { type, unit: 'us', utc: false };
  const scale = /^decimal\((\d+)\)$/.exec(type)?.[1];
  if (scale !== undefined) return { type: 'decimal', scale: Number(scale) };
  return { type: type as Exclude<DeclaredType, `decimal(${number})` | 'timestamp'> };
}

function checkDeclared(file: string, names: readonly string[], types: object): void {
  const other = Object.keys(types).find((name) => !names.includes(name));
  if (other === undefined) return;
  throw new FormatError('format/unknown-column', `There is no column "${other}", whose type is declared.`, {
    expected: names.join(', '),
    got: other,
    remedy: 'Name a column of the table.',
    place: { file },
  });
}
