import type { Loader } from '../../primitives/columns/program.ts';
import {
  type Bool,
  type Column,
  type Context,
  If,
  Let,
  type ScalarType,
  select,
  type U32,
  u32,
  type Value,
  Var,
  type Variable,
} from '../../primitives/index.ts';
import { type ResultStore, storeResults } from '../../primitives/rows/row-results.ts';

/** The id of an empty entry of a list. */
export const NO_POINT: number = 2 ** 32 - 1;

/** Maximum length of a list that one thread of a kernel keeps. Longer lists are found in rounds. */
export const LIST = 16;

/**
 * The nearest points found so far, nearest first. The key of a point is a word with the same order as the distance.
 * Points with equal keys are ordered by id.
 */
export interface NearestList {
  readonly keys: readonly Variable<'u32'>[];
  readonly ids: readonly Variable<'u32'>[];
}

function emptyList(k: number, farKey: number): NearestList {
  const variables = (value: number): Variable<'u32'>[] => Array.from({ length: k }, () => Var(u32(value)));
  return { keys: variables(farKey), ids: variables(NO_POINT) };
}

/** Whether the first point comes before the second one: it has a smaller key, or an equal key and a smaller id. */
function isBefore(key: U32, id: U32, otherKey: U32, otherId: U32): Bool {
  return key.lt(otherKey).or(key.eq(otherKey).and(id.lt(otherId)));
}

/**
 * Inserts a point into a list if the point comes before the last point of the list and after the point `after`, and is
 * not the point `but`. The code that `idOf` emits runs only if `key` is at most the key of the last point.
 */
export function offer({ keys, ids }: NearestList, key: U32, idOf: () => U32, after?: After, but?: U32): void {
  const [lastKey, lastId] = [keys.at(-1)!, ids.at(-1)!];
  If(key.le(lastKey), () => {
    const id = Let(idOf());
    let isTaken = isBefore(key, id, lastKey, lastId);
    if (but !== undefined) isTaken = isTaken.and(id.ne(but));
    if (after !== undefined) isTaken = isTaken.and(isBefore(after.key, after.id, key, id));
    If(isTaken, () => {
      let [carriedKey, carriedId] = [key, id];
      for (const [j, held] of keys.entries()) {
        const [heldKey, heldId] = [Let(held as U32), Let(ids[j] as U32)];
        const comes = Let(isBefore(carriedKey, carriedId, heldKey, heldId));
        held.set(select(heldKey, carriedKey, comes));
        ids[j]!.set(select(heldId, carriedId, comes));
        [carriedKey, carriedId] = [Let(select(carriedKey, heldKey, comes)), Let(select(carriedId, heldId, comes))];
      }
    });
  });
}

/** Lists of all rows in one table: point j of row i is at `i · k + j`. */
export type ListColumns = {
  readonly keys: Column<'u32'>;
  readonly ids: Column<'u32'>;
};

/**
 * For a row, the last point that the earlier rounds found. The next round finds only points that come after this point.
 * The first round has no such point.
 */
export interface After {
  readonly key: U32;
  readonly id: U32;
}

/**
 * Fills a list of k points for every row, in rounds of up to {@link LIST} points. `search` offers points to the list of
 * one row, but not the points up to `after`, which earlier rounds found. `rowOf` maps the index of a thread to the row
 * whose list the thread fills.
 */
export function fillLists(
  context: Context,
  name: string,
  rows: Column['length'],
  k: number,
  farKey: number,
  search: (index: U32, list: NearestList, loader: Loader, after: After | undefined) => void,
  rowOf?: (index: U32, loader: Loader) => U32,
): ListColumns {
  const max = typeof rows === 'number' ? rows : rows.limit;
  const [keys, ids] = [context.stored('u32', max * k), context.stored('u32', max * k)];
  let last: Column<'u32'> | undefined;
  for (let done = 0; done < k && max > 0; done += LIST) {
    const size = Math.min(LIST, k - done);
    const results = Array.from({ length: 2 + 2 * size }, () => 'u32' as const);
    const before = last;
    const fill = (index: U32, loader: Loader): Value<ScalarType>[] => {
      const row = rowOf === undefined ? index : rowOf(index, loader);
      const list = emptyList(size, farKey);
      search(index, list, loader, before && afterLast(before, index, loader));
      return [row.mul(k), index.shl(1), ...list.keys.map(Let), ...list.ids.map(Let)] as Value<ScalarType>[];
    };
    last = done + size < k ? context.stored('u32', 2 * max) : undefined;
    const [keyOf, idOf] = [(j: number): number => 2 + j, (j: number): number => 2 + size + j];
    const lasts = last === undefined ? [] : [place(last, 0, 1, keyOf(size - 1)), place(last, 1, 1, idOf(size - 1))];
    const stores = Array.from({ length: size }, (_, j) => [
      place(keys, done + j, 0, keyOf(j)),
      place(ids, done + j, 0, idOf(j)),
    ]);
    storeResults(name, { context, length: rows, row: fill }, results, [...stores.flat(), ...lasts]);
  }
  return { keys, ids };
}

function afterLast(last: Column<'u32'>, index: U32, loader: Loader): After {
  const [key] = loader.load([last], index.shl(1)) as [U32];
  const [id] = loader.load([last], index.shl(1).add(1)) as [U32];
  return { key, id };
}

/**
 * Describes how a kernel stores result number `value` of a row in the column `to`. The position is result number
 * `index` of the same row, plus `shift`.
 */
function place(to: Column, shift: number, index: number, value: number): ResultStore {
  return { to, shift, index, value };
}

/** Computes `width` words for every row, and stores them row after row in a new column. */
export function storeRows(
  context: Context,
  name: string,
  rows: number,
  width: number,
  wordsOf: (index: U32, loader: Loader) => readonly U32[],
): Column<'u32'> {
  const words = context.stored('u32', rows * width);
  if (rows === 0) return words;
  const results = Array.from({ length: 1 + width }, () => 'u32' as const);
  const row = (index: U32, loader: Loader): U32[] => [index.mul(width), ...wordsOf(index, loader)];
  const stores = Array.from({ length: width }, (_, k) => place(words, k, 0, 1 + k));
  storeResults(name, { context, length: rows, row }, results, stores);
  return words;
}
