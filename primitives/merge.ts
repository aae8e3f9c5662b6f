import { requireOptions } from './checks/arguments.ts';
import { aFlag, anything } from './checks/kinds.ts';
import { columnsOf, type Table, withColumns } from './columns/column.ts';
import { addLengths } from './columns/length.ts';
import { type ContextOption, inNamedContext } from './context/context-option.ts';
import { contextOfSides, mergeSides, requireKeyedRows, type Sorted, sidesOf } from './rows/sorted-rows.ts';
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
  const sides = sidesOf(primitive, a, b, options.descending);
  const context = contextOfSides(primitive, sides);
  return context.scope(() => {
    const length = addLengths(primitive, context, sides[0].length, sides[1].length);
    const stored = columnsOf(a.rows).map(({ type }) => context.stored(type, length));
    mergeSides(primitive, context, sides, length, stored);
    return withColumns(a.rows, stored);
  });
}
