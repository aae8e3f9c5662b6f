import { type Column, columnsOf, type Table } from './columns/column.ts';
import { computedColumn } from './columns/views.ts';
import { type ContextOption, inContext, inContextOf } from './context/context-option.ts';
import { flagsOf, type Predicate } from './copy-if.ts';
import { bool, u32 } from './functors/functor.ts';
import type { Bool } from './functors/value.ts';
import { bitAnd, bitOr, plus } from './monoid.ts';
import { reduce } from './reduce.ts';

/**
 * The number of rows for which the predicate holds, as a column of one row that stays on the device.
 *
 * - Work O(n), span O(log n). Deterministic. An empty input gives 0. Accepts device counts (lengths that only the
 *   device knows).
 * - Equivalent loop: `for (const row of rows) if (predicate(row)) total++`.
 *
 * @example
 * const odd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
 * await ctx.read(count(ctx.column(Uint32Array.of(1, 2, 3)), odd)); // Uint32Array [2]
 */
export function count(table: Table, predicate: Predicate, options?: ContextOption): Column<'u32'> {
  return foldFlags('count', table, predicate, options, (flags) => {
    const ones = computedColumn('ones', 'u32', flags, undefined, (index, loader) => {
      const [flag] = loader.load([flags], index) as [Bool];
      return u32(flag);
    });
    return reduce(ones, plus(u32));
  });
}

/**
 * Whether the predicate holds for every row, as a column of one row that stays on the device.
 *
 * - Work O(n), span O(log n). Deterministic. An empty input gives true. Accepts device counts (lengths that only the
 *   device knows).
 * - Equivalent loop: `for (const row of rows) if (!predicate(row)) return false; return true`.
 *
 * @example
 * const odd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
 * await ctx.read(all(ctx.column(Uint32Array.of(1, 2, 3)), odd)); // Uint8Array [0]
 */
export function all(table: Table, predicate: Predicate, options?: ContextOption): Column<'bool'> {
  return foldFlags('all', table, predicate, options, (flags) => reduce(flags, bitAnd(bool)));
}

/**
 * Whether the predicate holds for some row, as a column of one row that stays on the device.
 *
 * - Work O(n), span O(log n). Deterministic. An empty input gives false. Accepts device counts (lengths that only the
 *   device knows).
 * - Equivalent loop: `for (const row of rows) if (predicate(row)) return true; return false`.
 *
 * @example
 * const odd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
 * await ctx.read(any(ctx.column(Uint32Array.of(1, 2, 3)), odd)); // Uint8Array [1]
 */
export function any(table: Table, predicate: Predicate, options?: ContextOption): Column<'bool'> {
  return foldFlags('any', table, predicate, options, (flags) => reduce(flags, bitOr(bool)));
}

function foldFlags<R>(
  primitive: string,
  table: Table,
  predicate: Predicate,
  options: ContextOption | undefined,
  fold: (flags: Column<'bool'>) => R,
): R {
  return inContext(primitive, options, () => {
    const flags = flagsOf(primitive, table, predicate);
    return inContextOf(primitive, [...columnsOf(table), flags], () => fold(flags));
  });
}
