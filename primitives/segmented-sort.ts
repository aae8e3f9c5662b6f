import { requireOptions } from './checks/arguments.ts';
import { anything, type FieldKinds } from './checks/kinds.ts';
import {
  type Column,
  type ColumnOwner,
  columnsOf,
  commonLength,
  requireLength,
  type Table,
  viewColumn,
  withColumns,
} from './columns/column.ts';
import { destination, fuse, storeRows } from './columns/program.ts';
import { computedColumn } from './columns/views.ts';
import { wordsOf } from './columns/words.ts';
import { inNamedContext, requireContext } from './context/context-option.ts';
import { Let } from './functors/control.ts';
import { u32 } from './functors/functor.ts';
import { select } from './functors/standard/choose.ts';
import type { U32 } from './functors/value.ts';
import { gather } from './gather.ts';
import { type OnlySegment, onlySegment, type SegmentRows, type Segments, segmentRows } from './rows/segments.ts';
import { sortSegments } from './rows/sorted-segments.ts';
import { scatterReduce } from './scatter-reduce.ts';
import { fill, sequence } from './sequence.ts';
import {
  keysGiven,
  SORT_OPTIONS,
  type SortKeyList,
  type SortKeys,
  type SortOptions,
  sort,
  sortByKey,
  type WordToSort,
  wordsToSort,
} from './sort.ts';

/** Options of {@link segmentedSort}. */
export interface SegmentedSortOptions extends SortOptions {
  /**
   * The maximum number of rows of all segments together: the number of keys by default, which suffices where segments do
   * not overlap. If there are more rows, every read of the result throws a {@link CapacityError}.
   */
  readonly capacity?: number;
}

const OPTIONS: FieldKinds<SegmentedSortOptions> = { ...SORT_OPTIONS, capacity: anything };

/**
 * The keys, of which those of each segment are sorted among their places. Rows of no segment stay where they are.
 * Segments are given by offsets, or by their first rows and ends; see {@link Segments}. They may be empty and in any
 * order. Where they overlap, each is sorted by itself, and the last one stands.
 *
 * The order of keys, also of several, is that of {@link sort}; sorts are stable.
 *
 * - Work O(rows of all segments · bits / 8), span O(bits / 8 · log n): a radix sort by the keys and then by the segments,
 *   however the rows are shared among them; a single segment is sorted as by {@link sort}. Deterministic.
 * - Accepts device counts (lengths that only the device knows).
 * - Equivalent loop: `for (let s = 0; s + 1 < offsets.length; s++) out.set(keys.slice(offsets[s], offsets[s +
 *   1]).toSorted((a, b) => a - b), offsets[s])`, where `out` begins as a copy of the keys.
 *
 * @throws {@link ArgumentError} as {@link sort}; `segments/fields` if segments have other fields than `first` and `end`.
 * @example
 * const keys = ctx.column(Uint32Array.of(9, 3, 7, 2, 8, 1));
 * await ctx.read(segmentedSort(keys, ctx.column(Uint32Array.of(0, 3, 5)))); // Uint32Array [3, 7, 9, 2, 8, 1]
 */
export function segmentedSort<K extends SortKeys | SortKeyList>(
  keys: K,
  segments: Segments,
  options: SegmentedSortOptions = {},
): K {
  return sortRows('segmentedSort', keys, {}, segments, options).keys;
}

/**
 * Sorts the rows of each segment by their keys. The values may have any number of columns. Order, segments, cost, edge
 * cases and errors are those of {@link segmentedSort}.
 *
 * @example
 * const keys = ctx.column(Uint32Array.of(9, 3, 7, 2, 8, 1));
 * const { values } = segmentedSortByKey(keys, sequence(6), ctx.column(Uint32Array.of(0, 3, 6)));
 * await ctx.read(values); // Uint32Array [1, 2, 0, 5, 3, 4]
 */
export function segmentedSortByKey<K extends SortKeys | SortKeyList, V extends Table>(
  keys: K,
  values: V,
  segments: Segments,
  options: SegmentedSortOptions = {},
): { readonly keys: K; readonly values: V } {
  columnsOf(values, 'segmentedSortByKey', 'values');
  return sortRows('segmentedSortByKey', keys, values, segments, options);
}

/**
 * The row indices, of which those of each segment are sorted by the keys of the rows: `gather(table,
 * segmentedSortPermutation(keys, segments))` is the sorted table. Order, segments, cost, edge cases and errors are those
 * of {@link segmentedSort}.
 *
 * @example
 * const keys = ctx.column(Uint32Array.of(9, 3, 7, 2));
 * await ctx.read(segmentedSortPermutation(keys, ctx.column(Uint32Array.of(0, 3)))); // Uint32Array [1, 2, 0, 3]
 */
export function segmentedSortPermutation(
  keys: SortKeys | SortKeyList,
  segments: Segments,
  options: SegmentedSortOptions = {},
): Column<'u32'> {
  const given = segmentsToSort('segmentedSortPermutation', keys, [], segments, options);
  return given.context.scope(() => permutationOf(given));
}

function sortRows<K extends SortKeys | SortKeyList, V extends Table>(
  call: string,
  keys: K,
  values: V,
  segments: Segments,
  options: SegmentedSortOptions,
): { readonly keys: K; readonly values: V } {
  const given = segmentsToSort(call, keys, columnsOf(values), segments, options);
  const { context, places, length, capacity } = given;
  const table = { keys: inRecord(keys), values: values as Table };
  return context.scope(() => {
    const only = onlySegment(context, places, length, capacity);
    const rows = only === undefined ? gather(table, permutationOf(given)) : sortedOnly(keys, values, only, options);
    const sorted = context.materialize(rows);
    return {
      ...sorted,
      keys: Array.isArray(keys) ? keys.map((_, i) => sorted.keys[i as never]) : sorted.keys,
    } as never;
  });
}

/** Keys as a table: those of a list by their places in it. */
function inRecord(keys: SortKeys | SortKeyList): Table {
  return (Array.isArray(keys) ? Object.fromEntries(keys.entries()) : keys) as Table;
}

/** The table of keys and values, the rows of whose only segment are sorted as any rows are. */
function sortedOnly(
  keys: SortKeys | SortKeyList,
  values: Table,
  { first, size, rows }: OnlySegment,
  { capacity: _, ...options }: SegmentedSortOptions,
): { readonly keys: Table; readonly values: Table } {
  const own = gather({ keys: inRecord(keys), values }, rows);
  const ownKeys = (Array.isArray(keys) ? Object.values(own.keys) : own.keys) as SortKeys | SortKeyList;
  const hasValues = columnsOf(values).length > 0;
  const sorted = hasValues ? sortByKey(ownKeys, own.values, options) : { keys: sort(ownKeys, options), values };
  const inside = columnsOf({ keys: inRecord(sorted.keys), values: sorted.values });
  const table = { keys: inRecord(keys), values };
  return withColumns(
    table,
    columnsOf(table).map((column, i) => {
      const [given, moved] = [column, inside[i]!].map(wordsOf) as [Column<'u32'>, Column<'u32'>];
      const key = { by: [sortedOnly], columns: [given, moved, first], lengths: [size] };
      const view = fuse(
        'sortedOnly',
        [],
        ['u32'],
        (index, __, loader) => {
          const [start] = loader.load([first], u32(0)) as [U32];
          const place = Let(index.sub(start));
          const isInside = index.ge(start).and(place.lt(loader.length(size)));
          const [stays] = loader.load([given], index) as [U32];
          const [comes] = loader.loadWithin([moved], place, size) as [U32];
          return [select(stays, comes, isInside)];
        },
        key,
      );
      return viewColumn(column.context, column.type, column.length, view);
    }),
  );
}

/** Keys and segments whose rows are sorted. */
interface SegmentsToSort {
  readonly call: string;
  readonly context: ColumnOwner;
  readonly words: readonly WordToSort[];
  readonly places: SegmentRows;
  readonly length: Column['length'];
  readonly capacity: number;
}

function segmentsToSort(
  call: string,
  keys: SortKeys | SortKeyList,
  payloads: readonly Column[],
  segments: Segments,
  options: SegmentedSortOptions,
): SegmentsToSort {
  requireOptions(call, OPTIONS, options);
  const given = keysGiven(call, keys, options);
  const columns = given.flatMap((key) => key.columns);
  const places = segmentRows(call, segments);
  const length = commonLength([...columns, ...payloads], call);
  const { capacity = columns[0]!.capacity } = options;
  requireLength(capacity, call, 'the option capacity');
  const all = [...columns, ...payloads, places.first, places.end];
  const context = inNamedContext(call, options, () => requireContext(all, call));
  return { call, context, words: given.flatMap(wordsToSort), places, length, capacity };
}

/** For every place, the row that is sorted there. */
function permutationOf({ call, context, words, places, length, capacity }: SegmentsToSort): Column<'u32'> {
  return context.scope(() => {
    const { row, segment, start, first } = sortSegments(call, context, words, places, length, capacity);
    const rows = { context, length: row.length };
    const place = computedColumn(
      'place',
      'u32',
      rows,
      { by: [permutationOf], columns: [segment, start, first] },
      (index, loader) => {
        const [own] = loader.load([segment], index) as [U32];
        const [from, before] = loader.load([first, start], own) as [U32, U32];
        return from.add(index.sub(before));
      },
    );
    const stands = computedColumn('stands', 'u32', rows, { by: [permutationOf], columns: [segment] }, (index, loader) =>
      (loader.load([segment], index)[0] as U32).add(1),
    );
    const last = fill(context, u32, 0, length);
    scatterReduce(stands, place, 'max', last);
    const order = context.materialize(sequence(length));
    const sorted = fuse(
      { name: 'sorted', kind: call },
      [],
      ['bool', 'u32', 'u32'],
      (index, _, loader) => {
        const [own, to, from] = loader.load([stands, place, row], index) as [U32, U32, U32];
        return [own.eq(loader.load([last], to)[0] as U32), to, from];
      },
      { by: [permutationOf], columns: [stands, place, row, last] },
    );
    storeRows(context, row.length, sorted, [{ ...destination(order), guard: 0, index: 1, value: 2 }]);
    return order;
  });
}
