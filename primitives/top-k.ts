import { requireOptions } from './checks/arguments.ts';
import { aFlag, anything, type FieldKinds } from './checks/kinds.ts';
import {
  type Column,
  type ColumnOwner,
  cellColumn,
  columnsOf,
  commonLength,
  requireLength,
  type Table,
  withColumns,
} from './columns/column.ts';
import { requireGrid } from './columns/grid.ts';
import { destination, fuse, storeRows } from './columns/program.ts';
import { computedColumn } from './columns/views.ts';
import { wordsOf } from './columns/words.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { below } from './functors/bisection.ts';
import { Let } from './functors/control.ts';
import { u32 } from './functors/functor.ts';
import { select } from './functors/standard/choose.ts';
import type { U32 } from './functors/value.ts';
import { gather } from './gather.ts';
import type { ScalarType } from './ir/ir.ts';
import { plus, product } from './monoid.ts';
import { areFew, type FewSegments, storeBestOfFew } from './rows/best-of-lanes.ts';
import { storeKeptTops } from './rows/best-of-segments.ts';
import { NO_ROW, orderWords, type TopSearch, type Tops } from './rows/key-ranks.ts';
import {
  type OnlySegment,
  onlySegment,
  rowsOfSegment,
  type SegmentRows,
  type Segments,
  segmentRows,
} from './rows/segments.ts';
import { sortSegments } from './rows/sorted-segments.ts';
import { fusedScan } from './scan.ts';
import { selectKth } from './select-kth.ts';
import { slice } from './slice.ts';
import { keyColumns, type SortKeys, sortPermutation } from './sort.ts';

/** Options of {@link topK}. */
export interface TopOptions extends ContextOption {
  /** Whether to take the rows with the smallest keys instead of the greatest. */
  readonly smallest?: boolean;
}

/** Options of {@link segmentedTopK}. */
export interface SegmentedTopOptions extends TopOptions {
  /**
   * The maximum number of rows of all segments together, for more than 16 keys of a segment or keys of 64 bits: the
   * number of keys by default, which suffices where segments do not overlap. If there are more rows, every read of the
   * result throws a {@link CapacityError}.
   */
  readonly capacity?: number;
}

/** The rows that {@link topK} takes. */
export type TopRows<K extends SortKeys> = {
  readonly keys: K;
  /** The numbers of the rows. */
  readonly rows: Column<'u32'>;
};

/** The rows that {@link segmentedTopK} takes of each segment. */
export type SegmentTops<K extends SortKeys> = TopRows<K> & {
  /** How many rows were taken of each segment. */
  readonly counts: Column<'u32'>;
};

const OPTIONS: FieldKinds<TopOptions> = { smallest: aFlag, context: anything };
const SEGMENTED_OPTIONS: FieldKinds<SegmentedTopOptions> = { ...OPTIONS, capacity: anything };

/**
 * The `k` greatest keys, or smallest, best first, and the numbers of their rows: `gather(table, rows)` are the rows of a
 * table. Rows with equal keys are in the order of their numbers, and of those the first are taken. If there are fewer
 * than `k` rows, the result has all of them.
 *
 * The order is that of {@link sort}, but a NaN of either sign is greater than all numbers, and all NaN are equal. Keys
 * keep their bits.
 *
 * - Work O(n · bits / 8 + k log k), span O(bits / 8 · log n): {@link selectKth} finds the last key, and only the rows up
 *   to it are sorted. Memory is taken for `k` rows. On backends with few threads, for up to 16 keys of 32 bits, work
 *   O(n): rows are dealt to lanes, the best row of each lane is found, and the rows of the best k lanes are looked at
 *   again. Deterministic.
 * - Accepts device counts (lengths that only the device knows).
 * - Equivalent loop: `out = rows.toSorted((a, b) => b.key - a.key || a.row - b.row).slice(0, k)`.
 *
 * @throws {@link ArgumentError} `column/size` if `k` is not a number of rows.
 * @example
 * const keys = ctx.column(Float32Array.of(2, 7, NaN, 7, 1));
 * await ctx.read(topK(keys, 3)); // { keys: Float32Array [NaN, 7, 7], rows: Uint32Array [2, 1, 3] }
 */
export function topK<K extends SortKeys>(keys: K, k: number, options: TopOptions = {}): TopRows<K> {
  requireOptions('topK', OPTIONS, options);
  const columns = keyColumns(keys, 'topK');
  requireLength(k, 'topK', 'k');
  const length = commonLength(columns, 'topK');
  const context = inNamedContext('topK', options, () => requireContext(columns, 'topK'));
  const { smallest = false } = options;
  return context.scope(() => {
    const isKept = columns.length === 1 && k > 0 && k <= KEPT && context.backend.walkRows > MAX_WALKED;
    if (isKept && columns[0]!.capacity > SORTED.keys) {
      const taken = atMost(length, k);
      const tops = { keys: columns.map(({ type }) => context.stored(type, taken)), rows: context.stored('u32', taken) };
      storeBestOfFew({ context, columns, length, smallest, k }, 'topK', allRows(length), tops);
      return { keys: withColumns(keys as Table, tops.keys), rows: tops.rows } as unknown as TopRows<K>;
    }
    const rows = bestRows(context, orderWords(columns, smallest), length, k);
    return context.materialize({ keys: gather(keys as Table, rows), rows }) as unknown as TopRows<K>;
  });
}

/**
 * The `k` greatest keys, or smallest, of each segment of rows, best first, and the numbers of their rows. Order and ties
 * are those of {@link topK}. The results have the shape of a grid with a row of `k` cells for each segment. Where a
 * segment has fewer than `k` rows, the other cells have the key 0 and the row 2³² − 1, for which `gather` gives zero.
 *
 * Segments are given by offsets, or by their first rows and ends; see {@link Segments}. They may be empty, in any order,
 * and overlap.
 *
 * - Work O(rows of all segments), span O(log n), for up to 16 keys of 32 bits: a thread keeps the best keys of a segment.
 *   Segments of more than 4096 rows are cut into pieces, unless they overlap so much that there are twice as many
 *   pieces as without; then a thread goes through each. On backends with few threads, a few segments of many rows are
 *   searched as {@link topK} searches all rows. For more keys of a segment, or keys of 64 bits, the rows of all segments
 *   are sorted. Deterministic.
 * - Accepts device counts (lengths that only the device knows). If only the device knows the number of segments, the
 *   results have cells for as many as there may be.
 * - Equivalent loop: `for (let s = 0; s + 1 < offsets.length; s++) out.push(topK(rows.slice(offsets[s], offsets[s + 1]),
 *   k))`.
 *
 * @throws {@link ArgumentError} `column/size` if `k` is not a number of rows, `grid/cells` if the results would have
 * 2³² cells or more, `segments/fields` if segments have other fields than `first` and `end`.
 * @example
 * const keys = ctx.column(Uint32Array.of(5, 9, 9, 4, 8, 7));
 * await ctx.read(segmentedTopK(keys, ctx.column(Uint32Array.of(0, 4, 4, 6)), 2));
 * // { keys: Uint32Array [9, 9, 0, 0, 8, 7], rows: Uint32Array [1, 2, 4294967295, 4294967295, 4, 5],
 * //   counts: Uint32Array [2, 0, 2] }
 */
export function segmentedTopK<K extends SortKeys>(
  keys: K,
  segments: Segments,
  k: number,
  options: SegmentedTopOptions = {},
): SegmentTops<K> {
  requireOptions('segmentedTopK', SEGMENTED_OPTIONS, options);
  const columns = keyColumns(keys, 'segmentedTopK');
  const places = segmentRows('segmentedTopK', segments);
  requireLength(k, 'segmentedTopK', 'k');
  const length = commonLength(columns, 'segmentedTopK');
  const { smallest = false, capacity = columns[0]!.capacity } = options;
  requireLength(capacity, 'segmentedTopK', 'the option capacity');
  const all = [...columns, places.first, places.end];
  const context = inNamedContext('segmentedTopK', options, () => requireContext(all, 'segmentedTopK'));
  const grid = requireGrid('segmentedTopK', { rows: places.end.capacity, columns: k }, undefined, 'k');
  return context.scope(() => {
    const cells = grid.rows * k;
    const tops = {
      keys: columns.map(({ type }) => context.stored(type, cells, grid)),
      rows: context.stored('u32', cells, grid),
      counts: context.stored('u32', grid.rows),
    };
    const search = { context, columns, length, smallest, k };
    const isKept = columns.length === 1 && k <= KEPT;
    const only = isKept ? undefined : onlySegment(context, places, length, capacity);
    if (only !== undefined) storeTopsOfOnly(search, only, tops);
    else if (isKept && k > 0 && context.backend.walkRows > MAX_WALKED && areFew(search, grid.rows)) {
      storeBestOfFew(search, 'segmentedTopK', fewSegments(places, length), tops);
    } else if (isKept) storeKeptTops(search, places, tops);
    else storeSortedTops(search, places, tops, capacity);
    return { ...tops, keys: withColumns(keys as Table, inFields(keys, tops.keys)) } as unknown as SegmentTops<K>;
  });
}

/** Segments as {@link storeBestOfFew} asks for them. */
function fewSegments(places: SegmentRows, rows: Column['length']): FewSegments {
  const { first, end } = places;
  return {
    count: end.capacity,
    rowsOf: (segment, loader) => rowsOfSegment(places, segment, rows, loader),
    key: { by: [fewSegments], columns: [first, end], lengths: [first.length, end.length, rows] },
  };
}

/** All rows as one segment. */
function allRows(length: Column['length']): FewSegments {
  const rowsOf: FewSegments['rowsOf'] = (_, loader) => ({ from: u32(0), size: loader.length(length) });
  return { count: 1, rowsOf, key: { by: [allRows], columns: [], lengths: [length] } };
}

/** The most keys of a segment that a thread keeps in variables. */
const KEPT = 16;

/** Columns of keys, which have the most significant word first, in the order of the fields of the keys. */
function inFields(keys: SortKeys, columns: readonly Column[]): readonly Column[] {
  return Object.keys(keys)[0] === 'lo' ? columns.toReversed() : columns;
}

/** Largest `walkRows` of backends with many threads, which find the last key and sort the rows up to it. */
const MAX_WALKED = 16;

function atMost(length: Column['length'], k: number): Column['length'] {
  return typeof length === 'number' ? Math.min(k, length) : { ...length, limit: Math.min(k, length.limit) };
}

/** Up to this number of keys, or of keys for each that is taken, all keys are sorted. */
const SORTED = { keys: 4096, forEach: 8 };

/** The numbers of the first `k` rows in the order of the words. */
function bestRows(
  context: ColumnOwner,
  words: readonly Column<'u32'>[],
  length: Column['length'],
  k: number,
): Column<'u32'> {
  const [high, low] = words as [Column<'u32'>, Column<'u32'>?];
  const keys = low === undefined ? high : { hi: high, lo: low };
  if (high.capacity <= Math.max(SORTED.keys, SORTED.forEach * k))
    return slice(sortPermutation(keys, { context }), 0, k);
  const key = { by: [bestRows], columns: [], lengths: [length], values: [k] };
  const last = computedColumn('last', 'u32', { context, length: 1 }, key, (_, loader) =>
    loader.length(length).min(loader.uniform('u32', k)).max(1).sub(1),
  );
  const cut = keyColumns(selectKth(keys, last, { context })) as Column<'u32'>[];
  const candidates = rowsUpTo(context, words, cut, length, k);
  return gather(candidates, sortPermutation(gather(keys as SortKeys, candidates), { context }));
}

/**
 * The numbers of the rows before the cut, and then of as many rows at the cut as there is room for, both in order.
 */
function rowsUpTo(
  context: ColumnOwner,
  words: readonly Column<'u32'>[],
  cut: readonly Column<'u32'>[],
  length: Column['length'],
  k: number,
): Column<'u32'> {
  const total = context.allocate(2);
  const slots = context.stored('u32', 2 * k);
  fusedScan('topK', {
    context,
    length,
    monoid: beforeAndAt,
    element: (index, loader) => {
      const own = loader.load(words, index) as U32[];
      const last = loader.load(cut, u32(0)) as U32[];
      const isBefore = below(own, last);
      return [u32(isBefore), u32(isBefore.or(below(last, own)).not())];
    },
    emit: (index, [before, at], [nextBefore, nextAt], loader) => {
      const isBefore = before!.ne(nextBefore!);
      const room = loader.uniform('u32', k);
      const isTaken = isBefore.or(at!.ne(nextAt!).and((at as U32).lt(room)));
      return [isTaken, select((at as U32).add(room), before as U32, isBefore), index];
    },
    emitted: ['bool', 'u32', 'u32'],
    stores: [{ ...destination(slots), guard: 0, index: 1, value: 2 }],
    total,
    keys: {
      element: { by: [rowsUpTo], columns: [...words, ...cut] },
      emit: { by: [rowsUpTo], columns: [], values: [k] },
    },
  });
  const all = cellColumn(total, 'u32', 0);
  const taken = atMost(length, k);
  const key = { by: [rowsUpTo, 'slots'], columns: [all, slots], values: [k] };
  return computedColumn('candidates', 'u32', { context, length: taken }, key, (index, loader) => {
    const [before] = loader.load([all], u32(0)) as [U32];
    const slot = select(loader.uniform('u32', k).add(index.sub(before)), index, index.lt(before));
    return loader.load([slots], slot)[0] as U32;
  });
}

const beforeAndAt = product({ before: plus(u32), at: plus(u32) });

/** Stores the best rows of a single segment, which are found as those of all rows. */
function storeTopsOfOnly(search: TopSearch, { first, size, rows }: OnlySegment, tops: Required<Tops>): void {
  const { context, columns, length, smallest, k } = search;
  const words = gather(Object.fromEntries(orderWords(columns, smallest).entries()), rows);
  const best = bestRows(context, columnsOf(words) as Column<'u32'>[], size, k);
  const keys = columns.map(wordsOf);
  const program = fuse(
    { name: 'topsOfOnly', kind: 'segmentedTopK' },
    [],
    ['u32', ...keys.map(() => 'u32' as const)],
    (cell, _, loader) => {
      const [start] = loader.load([first], u32(0)) as [U32];
      const [found] = loader.loadWithin([best], cell, best.length) as [U32];
      const row = Let(select(u32(NO_ROW), start.add(found), cell.lt(loader.length(best.length))));
      return [row, ...loader.loadWithin(keys, row, length)];
    },
    { by: [storeTopsOfOnly], columns: [first, best, ...keys], lengths: [best.length, length] },
  );
  const stores = [tops.rows, ...tops.keys].map((column, value) => ({ ...destination(column), value }));
  storeRows(context, k, program, stores);
  const count = fuse(
    { name: 'countOfOnly', kind: 'segmentedTopK' },
    [],
    ['u32'],
    (_, __, loader) => [loader.length(best.length)],
    { by: [storeTopsOfOnly], columns: [], lengths: [best.length] },
  );
  storeRows(context, 1, count, [{ ...destination(tops.counts), value: 0 }]);
}

/** Stores the best rows of every segment, whose rows are sorted. */
function storeSortedTops(
  { context, columns, length, smallest, k }: TopSearch,
  places: SegmentRows,
  tops: Required<Tops>,
  capacity: number,
): void {
  const words = orderWords(columns, smallest).map((each) => ({ words: each, bits: { from: 0, to: 32 } }));
  const { row, start, size } = sortSegments('segmentedTopK', context, words, places, length, capacity);
  const keys = columns.map(wordsOf);
  const types: readonly ScalarType[] = ['u32', ...keys.map(() => 'u32' as const)];
  const key = { by: [storeSortedTops], columns: [row, start, size, ...keys], lengths: [length], values: [k] };
  const best = fuse(
    { name: 'sortedTops', kind: 'segmentedTopK' },
    [],
    types,
    (cell, _, loader) => {
      const each = loader.uniform('u32', k);
      const segment = Let(cell.div(each));
      const place = cell.sub(segment.mul(each));
      const [first, rows] = loader.load([start, size], segment) as [U32, U32];
      const [found] = loader.load([row], first.add(place)) as [U32];
      const own = Let(select(u32(NO_ROW), found, place.lt(rows)));
      return [own, ...loader.loadWithin(keys, own, length)];
    },
    key,
  );
  const stores = [tops.rows, ...tops.keys].map((column, value) => ({ ...destination(column), value }));
  storeRows(context, tops.rows.length, best, stores);
  const count = fuse(
    { name: 'counts', kind: 'segmentedTopK' },
    [],
    ['u32'],
    (segment, _, loader) => [(loader.load([size], segment)[0] as U32).min(loader.uniform('u32', k))],
    { by: [storeSortedTops], columns: [size], values: [k] },
  );
  storeRows(context, tops.counts.length, count, [{ ...destination(tops.counts), value: 0 }]);
}
