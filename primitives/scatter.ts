import { requireOptions } from './checks/arguments.ts';
import { ArgumentError, type ErrorDetails } from './checks/errors.ts';
import { anything } from './checks/kinds.ts';
import {
  type Column,
  columnsAs,
  columnsOf,
  commonLength,
  type DeviceLength,
  requireLength,
  requireType,
  shapeOf,
  type Table,
  withColumns,
} from './columns/column.ts';
import { destination, storeRows } from './columns/program.ts';
import { fuseColumns } from './columns/views.ts';
import { wordsOf } from './columns/words.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { u32 } from './functors/functor.ts';
import { gather } from './gather.ts';
import { constant, sequence } from './sequence.ts';

/** Options of {@link scatter} and {@link scatterIf}. */
export interface ScatterOptions extends ContextOption {
  /**
   * Initial values of the result: row j starts as row j of this table, or as zero if this table has no row j. Rows that
   * are written replace these values. Without `onto`, the initial values are zero. The table itself is not changed.
   */
  readonly onto?: Table;
}

/**
 * Writes row i to row `indices[i]` of a new table with `length` rows: `out[indices[i]] = rows[i]`. Rows whose index is
 * not below `length` are ignored. All other indices must be distinct; if two rows have the same index, it is
 * unspecified which of them is kept.
 *
 * - Work O(n + length), span O(1). Deterministic if the indices are distinct. Accepts device counts (lengths that only
 *   the device knows), also as the length.
 * - On a GPU, if indices of neighbouring rows are far apart in a large column, the rows are first grouped by index,
 *   provided that `limits.memoryBytes` leaves room for two columns.
 * - Equivalent loop: `out.fill(0); for (let i = 0; i < n; i++) if (indices[i] < length) out[indices[i]] = rows[i]`.
 *
 * @throws {@link ArgumentError} if `onto` has other columns than the rows.
 * @example
 * const rows = ctx.column(Uint32Array.of(7, 8));
 * await ctx.read(scatter(rows, ctx.column(Uint32Array.of(2, 0)), 3)); // Uint32Array [8, 0, 7]
 */
export function scatter<C extends Table>(
  rows: C,
  indices: Column<'u32'>,
  length: number | DeviceLength,
  options?: ScatterOptions,
): C {
  return inNamedContext('scatter', options, () => scatterRows('scatter', rows, indices, undefined, length, options));
}

/**
 * Like {@link scatter}, but writes only the rows whose flag is true. Only the indices of these rows must be distinct.
 * Cost, determinism, edge cases and errors are those of {@link scatter}.
 *
 * - Equivalent loop: `for (let i = 0; i < n; i++) if (flags[i] && indices[i] < length) out[indices[i]] = rows[i]`.
 *
 * @example
 * const rows = ctx.column(Uint32Array.of(7, 8));
 * const indices = ctx.column(Uint32Array.of(1, 1));
 * await ctx.read(scatterIf(rows, indices, ctx.column([false, true]), 2)); // Uint32Array [0, 8]
 */
export function scatterIf<C extends Table>(
  rows: C,
  indices: Column<'u32'>,
  flags: Column<'bool'>,
  length: number | DeviceLength,
  options?: ScatterOptions,
): C {
  requireType(flags, ['bool'], 'flags', 'scatterIf');
  return inNamedContext('scatterIf', options, () => scatterRows('scatterIf', rows, indices, flags, length, options));
}

function scatterRows<C extends Table>(
  primitive: string,
  rows: C,
  indices: Column<'u32'>,
  flags: Column<'bool'> | undefined,
  length: number | DeviceLength,
  options: ScatterOptions = {},
): C {
  requireOptions<ScatterOptions>(primitive, { onto: anything, context: anything }, options);
  const { onto } = options;
  requireLength(length, primitive);
  requireType(indices, ['u32'], 'indices', primitive);
  if (flags !== undefined) requireType(flags, ['bool'], 'flags', primitive);
  const columns = columnsOf(rows, primitive, 'rows');
  const words = columns.map(wordsOf);
  const steering: Column[] = flags === undefined ? [indices] : [indices, flags];
  const extent = commonLength([...words, ...steering], primitive);
  const background =
    onto === undefined ? words.map(() => constant(u32, 0, length)) : backgroundOf(primitive, rows, onto, length);
  const context = requireContext([...words, ...steering, ...background], primitive);
  return context.scope(() => {
    const stored = columns.map(({ type }) => context.stored(type, length));
    const fill = fuseColumns({ name: 'background', kind: 'scatter' }, background);
    const whole = stored.map((column, value) => ({ ...destination(column), value }));
    storeRows(context, length, fill, whole);

    const placed = fuseColumns(primitive, [...steering, ...words]);
    const guard = flags === undefined ? {} : { guard: 1 };
    const stores = stored.map((column, i) => ({
      ...destination(column),
      index: 0,
      ...guard,
      value: steering.length + i,
    }));
    storeRows(context, extent, placed, stores);
    return withColumns(rows, stored);
  });
}

/** The columns of `onto` as 32-bit words, with the length of the result. Rows past the length of `onto` are zero. */
function backgroundOf(
  primitive: string,
  rows: Table,
  onto: Table,
  length: number | DeviceLength,
): readonly Column<'u32'>[] {
  const under = columnsUnder(primitive, rows, onto);
  return columnsOf(gather(Object.fromEntries(under.entries()), sequence(length))).map(wordsOf);
}

/** The columns of `onto`, in the order of the rows' columns. Throws if the columns do not match. */
export function columnsUnder(primitive: string, rows: Table, onto: Table): Column[] {
  const sentence = `Argument onto of ${primitive} must have the same columns as the rows.`;
  const refuse = (difference: ErrorDetails): ArgumentError => new ArgumentError('scatter/onto', sentence, difference);
  return columnsAs(shapeOf(rows), onto, refuse, primitive, 'onto');
}
