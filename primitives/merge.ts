import {
  type Column,
  columnsOf,
  commonLength,
  type DeviceLength,
  requireContext,
  signatureOf,
  type Table,
  withColumns,
} from './columns/column.ts';
import { addLengths } from './columns/length.ts';
import { destination, extentOf, fuse, type Loader, programOf } from './columns/program.ts';
import { wordsOf } from './columns/words.ts';
import type { Context } from './context.ts';
import { ArgumentError } from './errors.ts';
import { If, Let, Var, While } from './functors/control.ts';
import { u32 } from './functors/functor.ts';
import { select } from './functors/standard/choose.ts';
import type { Bool, U32 } from './functors/value.ts';
import { below, orderedWords } from './search.ts';
import type { SortKeys } from './sort.ts';

export interface MergeOptions {
  /** Both are sorted with the largest first, and so is what becomes of them. */
  readonly descending?: boolean;
}

/** Rows with the keys that they are sorted by, as `sortByKey` returns them. */
export type KeyedRows<K extends SortKeys, V extends Table> = {
  readonly keys: K;
  readonly values: V;
};

/**
 * The keys of two sorted columns as one sorted column. Order and key types as {@link sort}; of equal keys those of the first
 * column come first.
 *
 * - Laws asked: both are sorted, in the order that the options say. Of others it gives as many keys, in no order to rely on.
 * - Work O(n log m / 64 + n), span O(log m) for n keys in all, m of them in the shorter column: a search for every 64th
 *   key, then short ones between them. Deterministic, stable.
 * - Of nothing and a column: that column. Accepts device counts: the result's is the sum of theirs.
 * - Equivalent loop: `while (i < a.length || j < b.length) out.push(j === b.length || a[i] <= b[j] ? a[i++] : b[j++])`.
 *
 * Source: Green, McColl and Bader, GPU Merge Path: A GPU Merging Algorithm, 2012; Odeh, Green, Mwassi, Shmueli and Birk,
 * Merge Path: Parallel Merging Made Simple, 2012.
 *
 * @throws {@link ArgumentError} where the two differ in type, or there could be more rows than a column can have.
 * @example
 * const [a, b] = [ctx.column(Uint32Array.of(1, 4, 4)), ctx.column(Uint32Array.of(0, 4, 9))];
 * await ctx.read(merge(a, b)); // Uint32Array [0, 1, 4, 4, 4, 9]
 */
export function merge<K extends SortKeys>(first: K, second: K, options: MergeOptions = {}): K {
  return mergeRows('merge', { keys: first, rows: first }, { keys: second, rows: second }, options);
}

/**
 * The rows of two tables that are sorted by keys as one table sorted by them: {@link merge} with any number of columns that
 * go along. Laws, cost, determinism, edge cases and errors as there; the values of both must have the same columns.
 *
 * - Equivalent loop: that of {@link merge}, which pushes rows.
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
  const [a, b] = [first, second].map(({ keys, values }) => ({ keys, rows: { keys, values } }));
  return mergeRows('mergeByKey', a!, b!, options);
}

interface Sorted<C extends Table> {
  readonly keys: SortKeys;
  readonly rows: C;
}

/** A sorted table as words: of keys in their order, and of rows as they are. */
interface Side {
  readonly keys: readonly Column<'u32'>[];
  readonly rows: readonly Column<'u32'>[];
  readonly length: Column['length'];
}

function mergeRows<C extends Table>(primitive: string, a: Sorted<C>, b: Sorted<C>, options: MergeOptions): C {
  const [first, second] = [a, b].map(({ keys, rows }): Side => {
    const columns = columnsOf(rows);
    const length = commonLength(columns, primitive);
    return { keys: orderedWords(keys, options.descending), rows: columns.map(wordsOf), length };
  }) as [Side, Side];
  requireAlike(primitive, a.rows, b.rows);
  const context = requireContext([...first.rows, ...second.rows], primitive);
  return context.scope(() => {
    const length = addLengths(primitive, context, first.length, second.length);
    const cuts = cutAtTiles(context, first, second, length);
    const stored = columnsOf(a.rows).map(({ type }) => context.stored(type, length));
    const types = stored.map(() => 'u32' as const);
    const merged = fuse(primitive, [], types, (index, _, loader) => {
      const place = withinTile(first, second, cuts, length, index, loader);
      return rowAt(first, second, place, index.sub(place), loader);
    });
    const stores = stored.map((column, value) => ({ ...destination(column), value }));
    context.backend.forEach(extentOf(length), programOf(merged), stores);
    return withColumns(a.rows, stored);
  });
}

function requireAlike(primitive: string, first: Table, second: Table): void {
  const [expected, got] = [signatureOf(first), signatureOf(second)];
  if (expected === got) return;
  throw new ArgumentError('merge/columns', `${primitive} was given tables with different columns.`, { expected, got });
}

/** Rows of the result between two that are searched for among all. */
const TILE_BITS = 6;

/** How many rows of the first table stand before every tile of the result, and before its end. */
function cutAtTiles(context: Context, first: Side, second: Side, length: number | DeviceLength): Column<'u32'> {
  const capacity = typeof length === 'number' ? length : length.limit;
  const edges = Math.ceil(capacity / 2 ** TILE_BITS) + 1;
  const cuts = context.stored('u32', edges);
  const search = fuse('mergeCuts', [], ['u32'], (tile, _, loader) => {
    const total = loader.length(length);
    const start = select(total, tile.shl(TILE_BITS), tile.le(total.shr(TILE_BITS)));
    const others = loader.length(second.length);
    const least = start.sub(start.min(others));
    return [split(first, second, start, least, start.min(loader.length(first.length)), loader)];
  });
  context.backend.forEach(extentOf(edges), programOf(search), [{ ...destination(cuts), value: 0 }]);
  return cuts;
}

/** How many rows of the first table stand before row `index` of the result: no more than the cuts around it leave open. */
function withinTile(
  first: Side,
  second: Side,
  cuts: Column<'u32'>,
  length: number | DeviceLength,
  index: U32,
  loader: Loader,
): U32 {
  const tile = index.shr(TILE_BITS);
  const [before] = loader.load([cuts], tile) as [U32];
  const [behind] = loader.load([cuts], tile.add(1)) as [U32];
  const inTile = index.and(2 ** TILE_BITS - 1);
  const rest = u32(2 ** TILE_BITS)
    .sub(inTile)
    .min(loader.length(length).sub(index));
  const least = before.max(behind.sub(behind.min(rest)));
  return split(first, second, index, least, behind.min(before.add(inTile)), loader);
}

/**
 * How many of the first `count` merged rows are of the first table, between `least` and `most`: where the path along which
 * the tables are merged crosses a diagonal.
 */
function split(first: Side, second: Side, count: U32, least: U32, most: U32, loader: Loader): U32 {
  const from = Var(least);
  const to = Var(most);
  While(
    () => from.lt(to),
    () => {
      const middle = from.add(to.sub(from).shr(1));
      const ofFirst = loader.load(first.keys, middle) as U32[];
      const ofSecond = loader.load(second.keys, count.sub(middle).sub(1)) as U32[];
      If(below(ofSecond, ofFirst), () => to.set(middle)).Else(() => from.set(middle.add(1)));
    },
  );
  return Let(from);
}

/** The row that comes next when `i` rows of the first table and `j` of the second have been taken. */
function rowAt(first: Side, second: Side, i: U32, j: U32, loader: Loader): U32[] {
  const row = first.rows.map(() => Var(u32(0)));
  const take = (side: Side, index: U32): void => {
    for (const [column, word] of loader.load(side.rows, index).entries()) row[column]!.set(word as U32);
  };
  If(isOfFirst(first, second, i, j, loader), () => take(first, i)).Else(() => take(second, j));
  return row.map(Let);
}

function isOfFirst(first: Side, second: Side, i: U32, j: U32, loader: Loader): Bool {
  const ofFirst = loader.loadWithin(first.keys, i, first.length) as U32[];
  const ofSecond = loader.loadWithin(second.keys, j, second.length) as U32[];
  const isLeft = i.lt(loader.length(first.length));
  return isLeft.and(j.ge(loader.length(second.length)).or(below(ofSecond, ofFirst).not()));
}
