import { requireOptions } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { aFlag } from './checks/kinds.ts';
import { type Column, commonLength } from './columns/column.ts';
import { contextOf } from './columns/current-context.ts';
import type { Loader } from './columns/program.ts';
import { computedColumn } from './columns/views.ts';
import { sortableWords } from './columns/words.ts';
import { below, partitionPoint } from './functors/bisection.ts';
import { u32 } from './functors/functor.ts';
import type { Bool, U32 } from './functors/value.ts';
import { keyColumns, type SortKeys } from './sort.ts';

export interface SearchOptions {
  /**
   * Whether the keys are in descending order. If so, the keys before a needle are those that are greater than the
   * needle.
   */
  readonly descending?: boolean;
}

/**
 * For every needle, the number of keys below the needle. This is the first position at which the needle could be
 * inserted into the sorted keys. Returns a view.
 *
 * The order and the types of keys are those of {@link sort}.
 *
 * - The keys must be sorted, ascending unless the options say otherwise. If they are not sorted, the result is an
 *   unspecified position.
 * - Work and span O(log keys) a needle, per use of the view. Deterministic. Keys and needles may have device counts
 *   (lengths that only the device knows).
 * - If there are no keys, the result is zero for every needle.
 * - Equivalent loop: `out[i] = keys.filter((key) => key < needles[i]).length`.
 *
 * @example
 * const keys = ctx.column(Uint32Array.of(1, 3, 3, 5));
 * await ctx.read(lowerBound(keys, ctx.column(Uint32Array.of(0, 3, 9)))); // Uint32Array [0, 1, 4]
 */
export function lowerBound<K extends SortKeys>(keys: K, needles: K, options: SearchOptions = {}): Column<'u32'> {
  return bound('lowerBound', keys, needles, options, (key, needle) => below(key, needle));
}

/**
 * For every needle, the number of keys at or below the needle. This is the last position at which the needle could be
 * inserted into the sorted keys. Returns a view. Requirements, cost and edge cases are those of {@link lowerBound}.
 *
 * - Equivalent loop: `out[i] = keys.filter((key) => key <= needles[i]).length`.
 *
 * @example
 * const keys = ctx.column(Uint32Array.of(1, 3, 3, 5));
 * await ctx.read(upperBound(keys, ctx.column(Uint32Array.of(0, 3, 9)))); // Uint32Array [0, 3, 4]
 */
export function upperBound<K extends SortKeys>(keys: K, needles: K, options: SearchOptions = {}): Column<'u32'> {
  return bound('upperBound', keys, needles, options, (key, needle) => below(needle, key).not());
}

function bound<K extends SortKeys>(
  primitive: string,
  keys: K,
  needles: K,
  options: SearchOptions,
  isBefore: (key: readonly U32[], needle: readonly U32[]) => Bool,
): Column<'u32'> {
  requireOptions<SearchOptions>(primitive, { descending: aFlag }, options);
  const { descending } = options;
  requireSameTypes(primitive, keyColumns(keys, primitive), keyColumns(needles, primitive, 'needles'));
  const keyWords = orderedWords(keys, descending);
  const needleWords = orderedWords(needles, descending);
  const keyLength = commonLength(keyWords, primitive);
  const columns = [...keyWords, ...needleWords];
  const rows = { context: contextOf(columns, primitive), length: commonLength(needleWords, primitive) };
  const key = { by: [bound, primitive], columns, lengths: [keyLength] };
  return computedColumn(primitive, 'u32', rows, key, (index, loader) => {
    const needle = load(needleWords, index, loader);
    return partitionPoint(u32(0), loader.length(keyLength), (key) => isBefore(load(keyWords, key, loader), needle));
  });
}

/**
 * Keys as columns of u32 words, the most significant first. The lexicographic order of the words is the order of the
 * keys.
 */
export function orderedWords(keys: SortKeys, descending?: boolean): Column<'u32'>[] {
  return keyColumns(keys).map((column) => sortableWords(column, descending));
}

function load(words: readonly Column<'u32'>[], index: U32, loader: Loader): U32[] {
  return loader.load(words, index) as U32[];
}

function requireSameTypes(primitive: string, keys: readonly Column[], needles: readonly Column[]): void {
  const [expected, got] = [keys, needles].map((columns) => columns.map(({ type }) => type).join(', '));
  if (expected === got) return;
  throw new ArgumentError('search/types', `The needles given to ${primitive} must have the same type as the keys.`, {
    expected,
    got,
  });
}
