import { requireRecord } from '../checks/arguments.ts';
import { ArgumentError, type ErrorDetails } from '../checks/errors.ts';
import {
  type Column,
  columnsAs,
  columnsOf,
  commonLength,
  type DeviceLength,
  shapeOf,
  type Table,
} from '../columns/column.ts';
import type { FusionKey } from '../columns/known-fusions.ts';
import type { Loader } from '../columns/program.ts';
import { wordsOf } from '../columns/words.ts';
import { select } from '../functors/standard/choose.ts';
import type { Bool, U32 } from '../functors/value.ts';
import { below, orderedWords, partitionPoint } from '../search.ts';
import { keyColumns, type SortKeys } from '../sort.ts';

/** A sorted table: its keys, and the rows that go to the result. */
export interface Sorted<C extends Table | undefined> {
  readonly keys: SortKeys;
  readonly rows: C;
}

/**
 * One of the two sorted tables: its keys as u32 words that compare like the keys, and all its columns as 32-bit words.
 */
export interface MergeSide {
  readonly keys: readonly Column<'u32'>[];
  readonly rows: readonly Column<'u32'>[];
  readonly length: Column['length'];
}

/**
 * The two sorted tables and the length of the result. The merge path is the order in which the rows of the tables are
 * taken.
 */
export interface Path {
  readonly first: MergeSide;
  readonly second: MergeSide;
  readonly length: number | DeviceLength;
}

/** Requires a record of keys that can be sorted, and of values. */
export function requireKeyedRows(
  call: string,
  rows: { readonly keys: SortKeys; readonly values: Table },
  argument: string,
): void {
  requireRecord(call, argument, rows, '{ keys, values }');
  keyColumns(rows.keys, call, `${argument}.keys`);
  columnsOf(rows.values, call, `${argument}.values`);
}

/**
 * Two sorted tables with the same columns. If no rows of the second go to the result, only its keys must be like those of
 * the first.
 */
export function sidesOf<C extends Table>(
  primitive: string,
  a: Sorted<C>,
  b: Sorted<C | undefined>,
  descending: boolean | undefined,
): [MergeSide, MergeSide] {
  const sideOf = ({ keys, rows }: Sorted<C | undefined>): MergeSide => {
    const [shape, table] = rows === undefined ? [shapeOf(a.keys), keys] : [shapeOf(a.rows), rows];
    const columns = columnsAs(shape, table, (difference) => otherColumns(primitive, difference));
    const length = commonLength(columns, primitive);
    return { keys: orderedWords(keys, descending), rows: rows === undefined ? [] : columns.map(wordsOf), length };
  };
  return [sideOf(a), sideOf(b)];
}

function otherColumns(primitive: string, difference: ErrorDetails): ArgumentError {
  return new ArgumentError('merge/columns', `${primitive} was given tables with different columns.`, difference);
}

/** The cache key of a fusion `by` a place that reads the keys of both tables and the columns in `others`. */
export function keyOf(by: FusionKey['by'], { first, second, length }: Path, others: readonly Column[] = []): FusionKey {
  return {
    by: [...by, first.keys.length, others.length],
    columns: [...first.keys, ...second.keys, ...others],
    lengths: [length, first.length, second.length],
  };
}

/**
 * The minimum and maximum number of rows that the first table can contribute to the first `count` rows of the result.
 */
export function diagonal({ first, second }: Path, count: U32, loader: Loader): [U32, U32] {
  return [count.sub(count.min(loader.length(second.length))), count.min(loader.length(first.length))];
}

/**
 * The exact number of rows, between `min` and `max`, that the first table contributes to the first `count` rows of the
 * result.
 */
export function split({ first, second }: Path, count: U32, min: U32, max: U32, loader: Loader): U32 {
  return partitionPoint(min, max, (number) => {
    const ofFirst = loader.load(first.keys, number) as U32[];
    const ofSecond = loader.load(second.keys, count.sub(number).sub(1)) as U32[];
    return below(ofSecond, ofFirst).not();
  });
}

/**
 * The next row of the result, when `i` rows of the first and `j` rows of the second table have been taken. If no rows of
 * the second go to the result, it is that of the first.
 */
export function rowAt(first: MergeSide, second: MergeSide, i: U32, j: U32, isFirst: Bool, loader: Loader): U32[] {
  const ofFirst = loader.loadWithin(first.rows, i, first.length) as U32[];
  const ofSecond = loader.loadWithin(second.rows, j, second.length) as U32[];
  // Uses select instead of a branch, because the hardware cannot predict from which table the next row comes.
  return ofFirst.map((word, column) => {
    const other = ofSecond[column];
    return other === undefined ? word : select(other, word, isFirst);
  });
}
