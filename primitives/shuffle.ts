import { wrongArgument } from './checks/arguments.ts';
import { anything, type FieldKinds } from './checks/kinds.ts';
import { type Column, columnsOf, commonLength, type Table } from './columns/column.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { gather } from './gather.ts';
import { blocksOf, RANDOM_OPTIONS, type RandomOptions, requireSeed } from './random.ts';
import { slice } from './slice.ts';
import { sortPermutation } from './sort.ts';

/** Options of {@link shuffle} and {@link sample}. */
export interface ShuffleOptions extends RandomOptions, ContextOption {}

const OPTIONS: FieldKinds<ShuffleOptions> = { ...RANDOM_OPTIONS, context: anything };

/**
 * The rows in a random order, of a column or a table: sorted by the 64-bit keys `lo` of {@link randomWords}, row by row.
 * All orders are equally probable, but for equal keys, which rows keep in their order: two of n rows have the same key
 * with a probability of n² · 2⁻⁶⁵. `shuffle(sequence(n), { seed })` is a random permutation, and `gather` with it
 * shuffles several tables alike.
 *
 * - Work O(n), span O(log n): a sort of 64-bit keys. Deterministic: the same order on every backend, which depends on
 *   the number of rows, the seed and the stream only.
 * - An empty input gives an empty result. Accepts device counts (lengths that only the device knows).
 * - Equivalent loop: `out = rows.map((row, i) => [key[i], row]).sort(([a], [b]) => Number(a - b)).map(([, row]) => row)`.
 *
 * @throws {@link ArgumentError} `random/seed` if the seed is missing, or the seed or the stream is not a whole number of
 * 64 bits.
 * @example
 * const rows = { x: ctx.column(Uint32Array.of(10, 20, 30, 40)), row: sequence(4) };
 * await ctx.read(shuffle(rows, { seed: 7 })); // { x: Uint32Array [30, 40, 10, 20], row: Uint32Array [2, 3, 0, 1] }
 */
export function shuffle<C extends Table>(rows: C, options: ShuffleOptions): C {
  return rowsInOrder('shuffle', rows, options);
}

/**
 * `k` rows of a column or a table, drawn without replacement, in random order: the first `k` rows of
 * {@link shuffle}, whose cost and determinism are those of the sort of its keys. Every set of `k` rows is equally
 * probable. If only the device knows the number of rows and it is less than `k`, the result has all rows.
 *
 * - Equivalent loop: `out = shuffled.slice(0, k)`.
 *
 * @throws {@link ArgumentError} `random/sample` if the host knows that there are fewer than `k` rows, `random/seed` as
 * {@link shuffle}.
 * @example
 * const rows = ctx.column(Uint32Array.of(10, 20, 30, 40));
 * await ctx.read(sample(rows, 2, { seed: 7 })); // Uint32Array [30, 40]
 */
export function sample<C extends Table>(rows: C, k: number, options: ShuffleOptions): C {
  return rowsInOrder('sample', rows, options, k);
}

/** The rows, or the first `k`, in the order of random keys. */
function rowsInOrder<C extends Table>(call: string, rows: C, options: ShuffleOptions, k?: number): C {
  requireSeed(call, OPTIONS, options);
  const columns = columnsOf(rows, call, 'rows');
  const length = commonLength(columns, call);
  if (call === 'sample') requireSampled(call, k, length);
  const context = inNamedContext(call, options, () => requireContext(columns, call));
  return context.scope(() => {
    const order = sortPermutation(blocksOf(call, length, options).lo);
    return context.materialize(gather(rows, slice(order, 0, k)));
  });
}

/** Requires a number of rows that can be drawn once each. */
export function requireSampled(call: string, k: unknown, length: Column['length']): void {
  const max = typeof length === 'number' ? length : 2 ** 32 - 1;
  if (Number.isInteger(k) && (k as number) >= 0 && (k as number) <= max) return;
  throw wrongArgument(call, 'k', k, `a number of rows: a whole number from 0 to ${max}`, {
    code: 'random/sample',
    remedy: 'No row is drawn twice. To draw with replacement, gather the rows at randomIntegers.',
  });
}
