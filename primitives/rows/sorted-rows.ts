import { requireRecord } from '../checks/arguments.ts';
import { ArgumentError, type ErrorDetails } from '../checks/errors.ts';
import {
  Column,
  type ColumnOwner,
  columnsAs,
  columnsOf,
  commonLength,
  type Memory,
  shapeOf,
  type Table,
} from '../columns/column.ts';
import type { FusionKey } from '../columns/known-fusions.ts';
import { alive, destination, extentOf, type Fusion, fuse, programOf } from '../columns/program.ts';
import { wordOfKey, wordsOf } from '../columns/words.ts';
import { requireContext } from '../context/context-option.ts';
import type { MergeCommand, Program, SortedRows } from '../contract/backend.ts';
import type { U32 } from '../functors/value.ts';
import type { ScalarType } from '../ir/ir.ts';
import { orderedWords } from '../search.ts';
import { keyColumns, type SortKeys } from '../sort.ts';

/** A sorted table: its keys, and the rows that go to the result. */
export interface Sorted<C extends Table | undefined> {
  readonly keys: SortKeys;
  readonly rows: C;
}

/** A sorted table, as a command merges it. */
export interface MergeSide {
  /** The keys as u32 words that compare like the keys. */
  readonly keys: readonly Column<'u32'>[];
  /** What goes to the result: columns of 32-bit words, or numbers of keys from which the words are computed. */
  readonly rows: readonly (Column<'u32'> | KeyWord)[];
  readonly length: Column['length'];
}

/** A column of the result that is a key: which of the key words it is, and how the word was made. */
interface KeyWord {
  readonly at: number;
  readonly type: ScalarType;
  readonly descending: boolean;
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
  descending = false,
): [MergeSide, MergeSide] {
  const sideOf = ({ keys, rows }: Sorted<C | undefined>): MergeSide => {
    const [shape, table] = rows === undefined ? [shapeOf(a.keys), keys] : [shapeOf(a.rows), rows];
    const columns = columnsAs(shape, table, (difference) => otherColumns(primitive, difference));
    const length = commonLength(columns, primitive);
    const sorted = keyColumns(keys);
    const rowOf = (column: Column): MergeSide['rows'][number] => {
      const at = sorted.indexOf(column as never);
      return at < 0 ? wordsOf(column) : { at, type: column.type, descending };
    };
    return { keys: orderedWords(keys, descending), rows: rows === undefined ? [] : columns.map(rowOf), length };
  };
  return [sideOf(a), sideOf(b)];
}

function otherColumns(primitive: string, difference: ErrorDetails): ArgumentError {
  return new ArgumentError('merge/columns', `${primitive} was given tables with different columns.`, difference);
}

/** The context of the columns of two sorted tables. */
export function contextOfSides(call: string, sides: readonly MergeSide[]): ColumnOwner {
  return requireContext(
    sides.flatMap(({ keys, rows }) => [...keys, ...rows.filter((row) => row instanceof Column)]),
    call,
  );
}

/**
 * Merges two sorted tables into stored columns, or keeps some of their rows; see `MergeCommand`. `length` is the number
 * of rows of both.
 */
export function mergeSides(
  call: string,
  context: ColumnOwner,
  sides: readonly [MergeSide, MergeSide],
  length: Column['length'],
  stored: readonly Column[],
  kept?: { readonly keeps: NonNullable<MergeCommand['keeps']>; readonly total: Memory },
): void {
  const [first, second] = sides.map((side) => sortedRows(call, context, side, length)) as [SortedRows, SortedRows];
  context.backend.run({
    kind: 'merge',
    extent: extentOf(length),
    first,
    second,
    keeps: kept?.keeps,
    stores: stored.map((column, value) => ({ ...destination(column), value })),
    total: kept && { buffer: alive(kept.total).buffer, word: 0 },
  });
}

function sortedRows(call: string, context: ColumnOwner, side: MergeSide, all: Column['length']): SortedRows {
  const { keys, rows, length } = side;
  const words = keys.map(() => 'u32' as const);
  const keysOf = fuse(call, [], words, (i, _, loader) => loader.loadWithin(keys, i, length), {
    by: [sortedRows, 'keys'],
    columns: keys,
    lengths: [length],
  });
  const loaded = rows.filter((row) => row instanceof Column);
  const derived = rows.filter((row) => !(row instanceof Column));
  const types = rows.map(() => 'u32' as const);
  const key: FusionKey = {
    by: [sortedRows, ...rows.map((row) => row instanceof Column), ...derived.flatMap((row) => Object.values(row))],
    columns: loaded,
    lengths: loaded.length === 0 ? [] : [length],
  };
  const row = (): Fusion =>
    fuse(
      { name: `${call}Row`, kind: call },
      words,
      types,
      (i, given, loader) => {
        const others = loader.loadWithin(loaded, i, length);
        return rows.map((row) =>
          row instanceof Column
            ? others[loaded.indexOf(row)]!
            : wordOfKey(given[row.at] as U32, row.type, row.descending),
        );
      },
      key,
    );
  // A step along both tables evaluates the next row of either.
  const programIn = (fusion: Fusion): Program => programOf(fusion, context, all);
  return {
    length: extentOf(length),
    keys: programIn(keysOf),
    ...(rows.length > 0 && { row: programIn(row()) }),
    isOfKeys: loaded.length === 0,
  };
}
