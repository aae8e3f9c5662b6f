import { wrongArgument } from './checks/arguments.ts';
import {
  Column,
  columnsOf,
  commonLength,
  type DeviceLength,
  requireLength,
  type Table,
  viewColumn,
  withColumns,
} from './columns/column.ts';
import { contextOf } from './columns/current-context.ts';
import { fuse } from './columns/program.ts';
import { wordsAtHand } from './columns/words.ts';

/**
 * Rows `from` to `to − 1` of a table. Both bounds are limited to the table's length. Returns a view. Slicing stored
 * columns takes no time and copies nothing, because the slice refers to the same memory at another offset.
 *
 * - Work O(n), span O(1), per use of the view. Deterministic. If only the device knows the length of the table, only
 *   the device knows the length of the slice.
 * - Equivalent loop: `for (let i = from; i < Math.min(to, n); i++) out.push(rows[i])`.
 *
 * @throws {@link ArgumentError} if `from` or `to` is not a whole number of rows.
 * @example
 * await ctx.read(slice(ctx.column(Uint32Array.of(7, 8, 9)), 1)); // Uint32Array [8, 9]
 */
export function slice<C extends Table>(table: C, from: number, to: number = Number.POSITIVE_INFINITY): C {
  requireRow(from, 'from');
  if (to !== Number.POSITIVE_INFINITY) requireRow(to, 'to');
  const columns = columnsOf(table, 'slice', 'table');
  const length = sliceLength(commonLength(columns, 'slice'), from, to);
  const views = columns.filter(({ source }) => source.kind === 'view');
  const words = views.map(wordsAtHand);
  const results = words.map(({ type }) => type);
  const view = fuse(
    'slice',
    [],
    results,
    (index, _, loader) => loader.load(words, index.add(loader.uniform('u32', from))),
    { by: [slice], columns: words, values: [from] },
  );
  contextOf(columns, 'slice');
  const shifted = columns.map(({ source, context, type }, i) =>
    source.kind === 'stored'
      ? new Column(context, type, length, { ...source, offset: source.offset + Math.min(from, columns[i]!.capacity) })
      : viewColumn(context, type, length, view, views.indexOf(columns[i]!)),
  );
  return withColumns(table, shifted);
}

function requireRow(row: number, argument: string): void {
  if (typeof row !== 'number') throw wrongArgument('slice', argument, row, 'a whole number', { code: 'column/size' });
  requireLength(row, 'slice', argument);
}

function sliceLength(length: number | DeviceLength, from: number, to: number): number | DeviceLength {
  const cut = (limit: number): number => Math.max(0, Math.min(limit, to) - from);
  if (typeof length === 'number') return cut(length);
  return { ...length, minus: Math.min(length.minus + from, 2 ** 32 - 1), limit: cut(length.limit) };
}

/**
 * The rows of a table in reverse order, as a view.
 *
 * - Work O(n), span O(1), per use of the view. Deterministic. An empty input gives an empty view. Accepts device counts
 *   (lengths that only the device knows).
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = rows[n - 1 - i]`.
 *
 * @example
 * await ctx.read(reverse(ctx.column(Uint32Array.of(7, 8, 9)))); // Uint32Array [9, 8, 7]
 */
export function reverse<C extends Table>(table: C): C {
  const columns = columnsOf(table, 'reverse', 'table');
  const length = commonLength(columns, 'reverse');
  const words = columns.map(wordsAtHand);
  const results = words.map(({ type }) => type);
  const view = fuse(
    'reverse',
    [],
    results,
    (index, _, loader) => loader.load(words, loader.length(length).sub(index).sub(1)),
    { by: [reverse], columns: words, lengths: [length] },
  );
  const context = contextOf(columns, 'reverse');
  return withColumns(
    table,
    columns.map(({ type }, result) => viewColumn(context, type, length, view, result)),
  );
}
