import { requireOptions } from './checks/arguments.ts';
import { aFlag, anything } from './checks/kinds.ts';
import { type Column, type ColumnOwner, columnsOf, type Table, withColumns } from './columns/column.ts';
import { addLengths } from './columns/length.ts';
import { destination, extentOf, fuse, type Loader, programOf } from './columns/program.ts';
import { computedColumn } from './columns/views.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { capacityOf } from './contract/backend.ts';
import { u32 } from './functors/functor.ts';
import type { Bool, U32 } from './functors/value.ts';
import {
  diagonal,
  keyOf,
  type MergeSide,
  type Path,
  requireKeyedRows,
  rowAt,
  type Sorted,
  sidesOf,
  split,
} from './rows/merge-path.ts';
import { below } from './search.ts';
import { keyColumns, type SortKeys } from './sort.ts';

export interface MergeOptions extends ContextOption {
  /** Whether both inputs are sorted in descending order. Then the result is in descending order too. */
  readonly descending?: boolean;
}

/** Rows with their sort keys, in the form that `sortByKey` returns. */
export type KeyedRows<K extends SortKeys, V extends Table> = {
  readonly keys: K;
  readonly values: V;
};

/**
 * Merges the keys of two sorted columns into one sorted column. The order and the types of keys are those of
 * {@link sort}. Among equal keys, those of the first column come first.
 *
 * - Both inputs must be sorted in the order given by the options. Otherwise the result still has the same number of
 *   keys, but in an unspecified order, which may differ between backends.
 * - Work O(n), span O(log n). The result is made in pieces of a few keys (the backend chooses how many): a search finds
 *   where a piece starts in both inputs, and the keys of the piece are merged one by one. Deterministic, stable.
 * - Merging with an empty column gives the other column. Accepts device counts (lengths that only the device knows):
 *   the count of the result is the sum of the inputs' counts.
 * - Equivalent loop: `while (i < a.length || j < b.length) out.push(j === b.length || a[i] <= b[j] ? a[i++] : b[j++])`.
 *
 * Source: Green, McColl and Bader, GPU Merge Path: A GPU Merging Algorithm, 2012; Odeh, Green, Mwassi, Shmueli and
 * Birk, Merge Path: Parallel Merging Made Simple, 2012.
 *
 * @throws {@link ArgumentError} if the two inputs differ in type, or if the result could have more rows than a column
 * can have.
 * @example
 * const [a, b] = [ctx.column(Uint32Array.of(1, 4, 4)), ctx.column(Uint32Array.of(0, 4, 9))];
 * await ctx.read(merge(a, b)); // Uint32Array [0, 1, 4, 4, 4, 9]
 */
export function merge<K extends SortKeys>(first: K, second: K, options: MergeOptions = {}): K {
  keyColumns(first, 'merge', 'first');
  keyColumns(second, 'merge', 'second');
  const [a, b] = [first, second].map((keys) => ({ keys, rows: keys }));
  return inNamedContext('merge', options, () => mergeRows('merge', a!, b!, options));
}

/**
 * Merges two tables, each sorted by its keys, into one sorted table. `values` may have any number of columns, but both
 * tables must have the same columns. Order, cost, determinism, edge cases and errors are those of {@link merge}.
 *
 * - Equivalent loop: the loop of {@link merge}, which compares keys as before but pushes whole rows.
 *
 * @example
 * const a = { keys: ctx.column(Uint32Array.of(1, 4)), values: ctx.column(Uint32Array.of(10, 11)) };
 * const b = { keys: ctx.column(Uint32Array.of(0, 4)), values: ctx.column(Uint32Array.of(20, 21)) };
 * await ctx.read(mergeByKey(a, b)); // { keys: Uint32Array [0, 1, 4, 4], values: Uint32Array [20, 10, 11, 21] }
 */
export function mergeByKey<K extends SortKeys, V extends Table>(
  first: KeyedRows<K, V>,
  second: KeyedRows<K, V>,
  options: MergeOptions = {},
): KeyedRows<K, V> {
  requireKeyedRows('mergeByKey', first, 'first');
  requireKeyedRows('mergeByKey', second, 'second');
  const [a, b] = [first, second].map(({ keys, values }) => ({ keys, rows: { keys, values } }));
  return inNamedContext('mergeByKey', options, () => mergeRows('mergeByKey', a!, b!, options));
}

function mergeRows<C extends Table>(primitive: string, a: Sorted<C>, b: Sorted<C>, options: MergeOptions): C {
  requireOptions<MergeOptions>(primitive, { descending: aFlag, context: anything }, options);
  const [first, second] = sidesOf(primitive, a, b, options.descending);
  const context = requireContext([...first.rows, ...second.rows], primitive);
  return context.scope(() => {
    const length = addLengths(primitive, context, first.length, second.length);
    const stored = columnsOf(a.rows).map(({ type }) => context.stored(type, length));
    const path = { first, second, length };
    walkTiles(primitive, context, path, cutPath(primitive, context, path), stored);
    return withColumns(a.rows, stored);
  });
}

/**
 * Number of result rows between two cuts of the merge path (the order in which rows are taken from the two tables); a
 * power of two.
 */
const PART = 2048;

/**
 * Cuts the merge path before every part (`PART` rows) of the result, and at the end of the result. For each cut,
 * returns how many of the result rows before the cut come from the first table.
 */
function cutPath(primitive: string, context: ColumnOwner, path: Path): Column<'u32'> {
  const { length } = path;
  const rows = { context, length: Math.ceil(capacityOf(extentOf(length)) / PART) + 1 };
  const key = keyOf([cutPath], path);
  const cut = computedColumn(`${primitive}Cut`, 'u32', rows, key, (part, loader) => {
    const start = part.mul(PART).min(loader.length(length));
    const [min, max] = diagonal(path, start, loader);
    return split(path, start, min, max, loader);
  });
  return context.materialize(cut);
}

/**
 * Merges every tile (piece of the result) by a walk along the merge path. A search between the two nearest cuts finds
 * where on the path the tile starts.
 */
function walkTiles(
  primitive: string,
  context: ColumnOwner,
  path: Path,
  cuts: Column<'u32'>,
  stored: readonly Column[],
): void {
  const { walkRows } = context.backend;
  const { first, second, length } = path;
  const beginning = { name: `${primitive}Start`, kind: primitive };
  const begin = fuse(
    beginning,
    [],
    ['bool', 'u32', 'u32', 'u32'],
    (tile, _, loader) => {
      const total = loader.length(length);
      const start = tile.mul(walkRows).min(total);
      const part = start.shr(Math.log2(PART));
      const [low] = loader.load([cuts], part) as [U32];
      const [high] = loader.load([cuts], part.add(1)) as [U32];
      // If the tables are not sorted, the cuts may lie outside the range from `min` to `max`. So the search is limited
      // to this range.
      const [min, max] = diagonal(path, start, loader);
      const i = split(path, start, low.max(min), high.min(max), loader);
      return [start.lt(total), i, start.sub(i), start.add(total.sub(start).min(walkRows))];
    },
    keyOf([walkTiles, walkRows], path, [cuts]),
  );
  const types = ['u32', 'u32', 'u32', ...stored.map(() => 'u32')] as 'u32'[];
  const advance = fuse(
    primitive,
    ['u32', 'u32', 'u32'],
    ['bool', ...types],
    (_tile, place, loader) => {
      const [i, j, end] = place as [U32, U32, U32];
      const isFirst = isOfFirst(first, second, i, j, loader);
      const at = i.add(j);
      const row = rowAt(first, second, i, j, isFirst, loader);
      return [at.add(1).lt(end), i.add(u32(isFirst)), j.add(u32(isFirst.not())), at, ...row];
    },
    keyOf([walkTiles], path, [...first.rows, ...second.rows]),
  );
  const tiles = Math.ceil(capacityOf(extentOf(length)) / walkRows);
  context.backend.run({
    kind: 'walk',
    extent: extentOf(tiles),
    start: programOf(begin, context, tiles),
    step: programOf(advance, context, length),
    steps: walkRows,
    changing: 2,
    stores: stored.map((column, i) => ({ ...destination(column), index: 3, value: 4 + i })),
  });
}

/** Whether the next row of the result comes from the first table. */
function isOfFirst(first: MergeSide, second: MergeSide, i: U32, j: U32, loader: Loader): Bool {
  const ofFirst = loader.loadWithin(first.keys, i, first.length) as U32[];
  const ofSecond = loader.loadWithin(second.keys, j, second.length) as U32[];
  const isLeft = i.lt(loader.length(first.length));
  return isLeft.and(j.ge(loader.length(second.length)).or(below(ofSecond, ofFirst).not()));
}
