import { requireOptions } from './checks/arguments.ts';
import { aFlag, anything, type FieldKinds } from './checks/kinds.ts';
import { columnsOf, requireLength, type Table, withColumns } from './columns/column.ts';
import { addLengths } from './columns/length.ts';
import { type CapacityOption, expectRows } from './context/capacity-option.ts';
import { inNamedContext } from './context/context-option.ts';
import { capacityOf, type MergeCommand } from './contract/backend.ts';
import type { KeyedRows } from './merge.ts';
import { contextOfSides, mergeSides, requireKeyedRows, type Sorted, sidesOf } from './rows/sorted-rows.ts';
import { countIn } from './scan.ts';
import { keyColumns, type SortKeys } from './sort.ts';

/** Options of set operations. */
export interface SetOptions extends CapacityOption {
  /** Whether both inputs are sorted in descending order. Then the result is in descending order too. */
  readonly descending?: boolean | undefined;
}

const OPTIONS: FieldKinds<SetOptions> = { descending: aFlag, capacity: anything, context: anything };

interface SetOperation {
  readonly keeps: NonNullable<MergeCommand['keeps']>;
  /** The maximum number of rows of the result, for two tables of so many rows. */
  readonly most: (a: number, b: number) => number;
}

const UNION: SetOperation = {
  keeps: { first: true, second: true, pairs: true },
  most: (a, b) => a + b,
};

const INTERSECTION: SetOperation = {
  keeps: { first: false, second: false, pairs: true },
  most: Math.min,
};

const DIFFERENCE: SetOperation = {
  keeps: { first: true, second: false, pairs: false },
  most: (a) => a,
};

const SYMMETRIC_DIFFERENCE: SetOperation = {
  keeps: { first: true, second: true, pairs: false },
  most: (a, b) => a + b,
};

/**
 * The keys that are in one of two sorted columns or in both, sorted. A key that the first column has m times and the
 * second n times is in the result max(m, n) times: the m keys of the first column, then the last max(n − m, 0) of the
 * second. Order and types of keys are those of {@link sort}: f32 by the total order of IEEE 754, so −0 and 0 are
 * different keys, and so are NaNs with different bits.
 *
 * Only the device knows the length of the result. The result has room for all rows or, with the option `capacity`, for
 * that many: see {@link copyIf}.
 *
 * - Both inputs must be sorted in the order given by the options. Otherwise the rows of the result are unspecified, and
 *   may differ between backends.
 * - Work O(n), span O(log n): the columns are cut into tiles of a few keys, pairs of equal keys are matched one by one,
 *   once to count the rows of each tile and once to write them. Deterministic, stable.
 * - Two empty columns give an empty result. Accepts device counts (lengths that only the device knows).
 * - Equivalent loop: `while (i < m || j < n) { const less = j === n || (i < m && a[i] < b[j]); const more = i === m || (j
 *   < n && a[i] > b[j]); out.push(more ? b[j] : a[i]); if (!more) i++; if (!less) j++; }`.
 *
 * Source: Green, McColl and Bader, GPU Merge Path: A GPU Merging Algorithm, 2012; Baxter, Modern GPU: Multisets, 2013,
 * whose path is balanced, so that equal keys of both columns are taken in pairs.
 *
 * @throws {@link ArgumentError} `merge/columns` if the two inputs differ in type, `column/size` if both have more rows
 * together than a column can have.
 * @example
 * const [a, b] = [ctx.column(Uint32Array.of(1, 4, 4)), ctx.column(Uint32Array.of(0, 4, 9))];
 * await ctx.read(setUnion(a, b)); // Uint32Array [0, 1, 4, 4, 9]
 */
export function setUnion<K extends SortKeys>(first: K, second: K, options: SetOptions = {}): K {
  return ofKeys('setUnion', first, second, options, UNION);
}

/**
 * The keys that are in both of two sorted columns, sorted. A key that the first column has m times and the second n
 * times is in the result min(m, n) times: the first of those of the first column. Requirements, cost and edge cases are
 * those of {@link setUnion}.
 *
 * - Equivalent loop: `while (i < m && j < n) { if (a[i] === b[j]) out.push(a[i]); const less = a[i] < b[j]; if (a[i] <=
 *   b[j]) i++; if (!less) j++; }`.
 *
 * @example
 * const [a, b] = [ctx.column(Uint32Array.of(1, 4, 4)), ctx.column(Uint32Array.of(0, 4, 9))];
 * await ctx.read(setIntersection(a, b)); // Uint32Array [4]
 */
export function setIntersection<K extends SortKeys>(first: K, second: K, options: SetOptions = {}): K {
  return ofKeys('setIntersection', first, second, options, INTERSECTION);
}

/**
 * The keys of a sorted column that another sorted column does not have, sorted. A key that the first column has m times
 * and the second n times is in the result max(m − n, 0) times: the last of those of the first column. Requirements, cost
 * and edge cases are those of {@link setUnion}.
 *
 * - Equivalent loop: `while (i < m) { const less = j === n || a[i] < b[j]; if (less) out.push(a[i]); if (less || a[i] ===
 *   b[j]) i++; if (!less) j++; }`.
 *
 * @example
 * const [a, b] = [ctx.column(Uint32Array.of(1, 4, 4)), ctx.column(Uint32Array.of(0, 4, 9))];
 * await ctx.read(setDifference(a, b)); // Uint32Array [1, 4]
 */
export function setDifference<K extends SortKeys>(first: K, second: K, options: SetOptions = {}): K {
  return ofKeys('setDifference', first, second, options, DIFFERENCE);
}

/**
 * The keys that are in one of two sorted columns and not in the other, sorted. A key that the first column has m times
 * and the second n times is in the result |m − n| times: the last m − n of the first column, or the last n − m of the
 * second. Requirements, cost and edge cases are those of {@link setUnion}.
 *
 * - Equivalent loop: that of {@link setUnion}, with `if (more || less)` before `out.push`.
 *
 * @example
 * const [a, b] = [ctx.column(Uint32Array.of(1, 4, 4)), ctx.column(Uint32Array.of(0, 4, 9))];
 * await ctx.read(setSymmetricDifference(a, b)); // Uint32Array [0, 1, 4, 9]
 */
export function setSymmetricDifference<K extends SortKeys>(first: K, second: K, options: SetOptions = {}): K {
  return ofKeys('setSymmetricDifference', first, second, options, SYMMETRIC_DIFFERENCE);
}

/**
 * {@link setUnion} of the keys of two tables, each sorted by its keys, with their values: every key of the result has
 * the values of the row that it is from. `values` may have any number of columns, but both tables must have the same
 * columns.
 *
 * @example
 * const a = { keys: ctx.column(Uint32Array.of(1, 4)), values: ctx.column(Uint32Array.of(10, 11)) };
 * const b = { keys: ctx.column(Uint32Array.of(0, 4)), values: ctx.column(Uint32Array.of(20, 21)) };
 * await ctx.read(setUnionByKey(a, b)); // { keys: Uint32Array [0, 1, 4], values: Uint32Array [20, 10, 11] }
 */
export function setUnionByKey<K extends SortKeys, V extends Table>(
  first: KeyedRows<K, V>,
  second: KeyedRows<K, V>,
  options: SetOptions = {},
): KeyedRows<K, V> {
  return ofRows('setUnionByKey', first, second, options, UNION);
}

/**
 * The rows of a table, sorted by its keys, that {@link setIntersection} of the keys takes: a semi-join.
 *
 * @example
 * const a = { keys: ctx.column(Uint32Array.of(1, 4)), values: ctx.column(Uint32Array.of(10, 11)) };
 * await ctx.read(setIntersectionByKey(a, ctx.column(Uint32Array.of(0, 4)))); // { keys: Uint32Array [4], values: Uint32Array [11] }
 */
export function setIntersectionByKey<K extends SortKeys, V extends Table>(
  first: KeyedRows<K, V>,
  second: K,
  options: SetOptions = {},
): KeyedRows<K, V> {
  return ofRowsAndKeys('setIntersectionByKey', first, second, options, INTERSECTION);
}

/**
 * The rows of a table, sorted by its keys, that {@link setDifference} of the keys takes: an anti-join.
 *
 * @example
 * const a = { keys: ctx.column(Uint32Array.of(1, 4)), values: ctx.column(Uint32Array.of(10, 11)) };
 * await ctx.read(setDifferenceByKey(a, ctx.column(Uint32Array.of(0, 4)))); // { keys: Uint32Array [1], values: Uint32Array [10] }
 */
export function setDifferenceByKey<K extends SortKeys, V extends Table>(
  first: KeyedRows<K, V>,
  second: K,
  options: SetOptions = {},
): KeyedRows<K, V> {
  return ofRowsAndKeys('setDifferenceByKey', first, second, options, DIFFERENCE);
}

/**
 * {@link setSymmetricDifference} of the keys of two tables, each sorted by its keys, with their values, as
 * {@link setUnionByKey} has them.
 *
 * @example
 * const a = { keys: ctx.column(Uint32Array.of(1, 4)), values: ctx.column(Uint32Array.of(10, 11)) };
 * const b = { keys: ctx.column(Uint32Array.of(0, 4)), values: ctx.column(Uint32Array.of(20, 21)) };
 * await ctx.read(setSymmetricDifferenceByKey(a, b)); // { keys: Uint32Array [0, 1], values: Uint32Array [20, 10] }
 */
export function setSymmetricDifferenceByKey<K extends SortKeys, V extends Table>(
  first: KeyedRows<K, V>,
  second: KeyedRows<K, V>,
  options: SetOptions = {},
): KeyedRows<K, V> {
  return ofRows('setSymmetricDifferenceByKey', first, second, options, SYMMETRIC_DIFFERENCE);
}

function ofKeys<K extends SortKeys>(
  call: string,
  first: K,
  second: K,
  options: SetOptions,
  operation: SetOperation,
): K {
  keyColumns(first, call, 'first');
  keyColumns(second, call, 'second');
  return operate(call, { keys: first, rows: first }, { keys: second, rows: second }, options, operation);
}

function ofRows<K extends SortKeys, V extends Table>(
  call: string,
  first: KeyedRows<K, V>,
  second: KeyedRows<K, V>,
  options: SetOptions,
  operation: SetOperation,
): KeyedRows<K, V> {
  requireKeyedRows(call, first, 'first');
  requireKeyedRows(call, second, 'second');
  const [a, b] = [first, second].map(({ keys, values }) => ({ keys, rows: { keys, values } }));
  return operate(call, a!, b!, options, operation);
}

function ofRowsAndKeys<K extends SortKeys, V extends Table>(
  call: string,
  first: KeyedRows<K, V>,
  second: K,
  options: SetOptions,
  operation: SetOperation,
): KeyedRows<K, V> {
  requireKeyedRows(call, first, 'first');
  keyColumns(second, call, 'second');
  const { keys, values } = first;
  return operate(call, { keys, rows: { keys, values } }, { keys: second, rows: undefined }, options, operation);
}

function operate<C extends Table>(
  call: string,
  first: Sorted<C>,
  second: Sorted<C | undefined>,
  options: SetOptions,
  operation: SetOperation,
): C {
  requireOptions(call, OPTIONS, options);
  const { capacity = Number.POSITIVE_INFINITY, descending } = options;
  if (options.capacity !== undefined) requireLength(capacity, call, 'the option capacity');
  return inNamedContext(call, options, () => {
    const sides = sidesOf(call, first, second, descending);
    const context = contextOfSides(call, sides);
    return context.scope(() => {
      const length = addLengths(call, context, sides[0].length, sides[1].length);
      const total = context.allocate(1);
      const most = operation.most(capacityOf(sides[0].length), capacityOf(sides[1].length));
      const rows = countIn(total, 0, Math.min(capacity, most));
      const stored = columnsOf(first.rows).map(({ type }) => context.stored(type, rows));
      mergeSides(call, context, sides, length, stored, { keeps: operation.keeps, total });
      expectRows(call, context, rows, most);
      return withColumns(first.rows, stored);
    });
  });
}
