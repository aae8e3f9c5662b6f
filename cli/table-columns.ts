import { atOnce } from '../algorithms/stretches.ts';
import type { HostColumn } from '../algorithms/tables/host-table.ts';
import { keysOfF32, keysOfF64, pairsOf } from '../algorithms/tables/sortable.ts';
import { orderOfStrings, stringsAt } from '../algorithms/tables/string-order.ts';
import { bitWords, isSet, setBits } from '../formats/tables/bits.ts';
import { isWide, narrowInto } from '../formats/tables/narrow.ts';
import { newValues } from '../formats/tables/parquet/plain.ts';
import { storedType } from '../formats/tables/stored-type.ts';
import type { TableField } from '../formats/tables/table-file.ts';

/**
 * The values of a column, converted to integers. The integers have the same order as the values, except for strings,
 * which are represented by their codes. The integers have 64 bits if `high` is given, otherwise 32 bits.
 */
export interface KeyWords {
  readonly low: ArrayLike<number>;
  readonly high: ArrayLike<number> | undefined;
}

/**
 * Converts the values of a column to integers. Equal values give equal integers. All NaN are equal, and −0 equals 0.
 */
export function keyWords(column: HostColumn): KeyWords {
  switch (column.type) {
    case 'string':
      return { low: column.codes, high: undefined };
    case 'f32':
      return { low: keysOfF32(column.values), high: undefined };
    case 'f64': {
      const { lo, hi } = keysOfF64(column.values);
      return { low: lo, high: hi };
    }
    default: {
      const { values } = column;
      if (!(values instanceof BigInt64Array || values instanceof BigUint64Array)) {
        return { low: values, high: undefined };
      }
      const { lo, hi } = pairsOf(values);
      return { low: lo, high: values instanceof BigInt64Array ? new Int32Array(hi.buffer) : hi };
    }
  }
}

/** Returns a function that compares the values of two rows in a column: in ascending order, with nulls last. */
function rowOrder(column: HostColumn): (a: number, b: number) => number {
  const { validity } = column;
  const order = column.type === 'string' ? stringOrder(column) : wordOrder(keyWords(column));
  if (validity === undefined) return order;
  return (a, b) => {
    const [hasA, hasB] = [isSet(validity, a), isSet(validity, b)];
    return hasA && hasB ? order(a, b) : Number(hasB) - Number(hasA);
  };
}

function wordOrder({ low, high }: KeyWords): (a: number, b: number) => number {
  if (high === undefined) return (a, b) => low[a]! - low[b]!;
  return (a, b) => high[a]! - high[b]! || (low[a]! >>> 0) - (low[b]! >>> 0);
}

/**
 * Compares strings by their ranks in alphabetical order. The ranks are computed once, which is faster than comparing
 * the strings of every pair of rows.
 */
function stringOrder({
  codes,
  dictionary,
}: HostColumn & { readonly type: 'string' }): (a: number, b: number) => number {
  const used = Uint32Array.from(new Set(codes)).filter((code) => code < dictionary.length);
  const places = new Map<number, number>();
  const { order } = atOnce(orderOfStrings(atOnce(stringsAt(dictionary, used))));
  for (const [place, i] of order.entries()) places.set(used[i]!, place);
  return (a, b) => places.get(codes[a]!)! - places.get(codes[b]!)!;
}

/** Converts 64-bit integers to 32 bits if all of them fit. Queries on 32-bit columns are much faster. */
export function narrowed(column: HostColumn): HostColumn {
  if (column.type === 'string' || !isWide(column.values)) return column;
  const values = new Int32Array(column.values.length);
  if (!narrowInto(column.values, values, 0)) return column;
  return { ...column, type: column.type === 'decimal' ? 'decimal' : 'i32', values } as HostColumn;
}

/** Returns the validity bits of rows, or an empty object if no row is null. `has` returns false for null rows. */
export function validityOf(rows: number, has: (row: number) => boolean): { readonly validity?: Uint32Array } {
  const validity = bitWords(rows);
  let count = 0;
  for (let row = 0; row < rows; row++) {
    if (!has(row)) continue;
    setBits(validity, row, row + 1);
    count++;
  }
  return count === rows ? {} : { validity };
}

/** Creates a column from the values of its cells; undefined becomes null. */
export function columnOfCells(
  field: TableField,
  rows: number,
  cellOf: (row: number) => number | bigint | undefined,
): HostColumn {
  const values = newValues(field, rows);
  const isBig = values instanceof BigInt64Array || values instanceof BigUint64Array;
  const cells = Array.from({ length: rows }, (_, row) => cellOf(row));
  for (const [row, cell] of cells.entries()) {
    if (cell !== undefined) values[row] = (isBig ? BigInt(cell) : Number(cell)) as never;
  }
  const type = storedType(field);
  const scale = field.type === 'decimal' ? { scale: field.scale } : {};
  return { type, ...scale, values, ...validityOf(rows, (row) => cells[row] !== undefined) } as HostColumn;
}

/**
 * Returns the row numbers in sorted order. The rows are sorted by the first column, then by the second, and so on.
 * `descending` reverses the order, but nulls stay last.
 */
export function sortedRows(columns: readonly HostColumn[], rows: number, descending = false): Uint32Array {
  const orders = columns.map((column) => (descending ? descendingOrder(column) : rowOrder(column)));
  const all = Uint32Array.from({ length: rows }, (_, row) => row);
  return all.sort((a, b) => {
    for (const order of orders) {
      const apart = order(a, b);
      if (apart !== 0) return apart;
    }
    return a - b;
  });
}

function descendingOrder(column: HostColumn): (a: number, b: number) => number {
  const { validity } = column;
  const order = rowOrder(column);
  const has = (row: number): boolean => validity === undefined || isSet(validity, row);
  return (a, b) => (has(a) && has(b) ? order(b, a) : order(a, b));
}
