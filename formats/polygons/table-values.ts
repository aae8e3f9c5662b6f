import type { HostColumn } from '../../algorithms/tables/host-table.ts';
import type { TableField } from '../tables/table-file.ts';
import { cellText, nullsOf } from '../tables/write/cell-text.ts';

/** Digits that f64 always has. */
const EXACT_DIGITS = 15;

/**
 * Returns a function that gives the cell of a row as an attribute of zones: null, a truth value, a number, or a text. Whole
 * numbers that f64 does not have are their digits, as in `jsonValueOf`, and so are decimals. Dates and times are texts as in ISO
 * 8601.
 */
export function tableValue(field: TableField, column: HostColumn): (row: number) => unknown {
  const [text, isNull] = [cellText(field, column), nullsOf(column)];
  const cell = valueReader(field, column, text);
  return (row) => (isNull(row) ? null : cell(row));
}

function valueReader(
  { type }: TableField,
  column: HostColumn,
  text: (row: number) => string,
): (row: number) => unknown {
  if (column.type === 'string' || type === 'date' || type === 'timestamp' || type === 'time') return text;
  if (type === 'bool') return (row) => column.values[row] !== 0;
  if (column.type === 'decimal') {
    return (row) => (text(row).replace(/^[-0.]+|\./g, '').length > EXACT_DIGITS ? text(row) : Number(text(row)));
  }
  return (row) => wholeValue(column.values[row]!);
}

/** A number, or its digits if f64 does not have it. */
export function wholeValue(value: number | bigint): number | string {
  if (typeof value === 'number') return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}
