import { requireOptions, requireRecord } from './checks/arguments.ts';
import { anything } from './checks/kinds.ts';
import { type Column, commonLength, requireLength, requireType } from './columns/column.ts';
import { destination, extentOf, programOf } from './columns/program.ts';
import { fuseColumns } from './columns/views.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { requirePositive } from './histogram.ts';
import { slice } from './slice.ts';

/** Weights of the rows: a u32 column for each name. */
export type Weights = { readonly [name: string]: Column<'u32'> };

/** 64-bit sums, each as two u32 words: `hi · 2³² + lo`. */
export type WideSums = { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> };

/**
 * For each of the bins `0 … count − 1`, adds up the weights of the rows in this bin, exactly, in 64 bits. Rows whose
 * bin is at least `count` are ignored. Several weights are added in one pass. For example, with a value and a constant
 * 1 as weights, the quotient of a bin's two sums is the mean value in this bin.
 *
 * For signed weights, add 2³¹ to each weight (`w xor 0x80000000`), and pass a second weight that is 1 in every row. At
 * the end, subtract 2³¹ times the sum of the second weight.
 *
 * - Work O(n · weights + count), span O(log n). Deterministic: integer sums do not depend on the order.
 * - If there are few bins, the sums are kept in workgroup memory or in a core's cache. Otherwise, atomic operations add
 *   to sums in device memory.
 * - An empty input gives zeros. Accepts device counts (lengths that only the device knows).
 * - Equivalent loop: `for (let i = 0; i < n; i++) if (bins[i] < count) sums[bins[i]] += BigInt(weights[i])`.
 *
 * Source: NumPy's `bincount` with weights; Futhark's `reduce_by_index` with addition (Henriksen et al., Compiling
 * Generalized Histograms for GPU, 2020).
 *
 * @throws {@link ArgumentError} `histogram/size` if `count` is not a positive whole number, `column/type` if bins or
 * weights are not u32, `column/lengths` if their lengths differ.
 * @example
 * const bins = ctx.column(Uint32Array.of(1, 0, 1, 7));
 * const { fare } = weightedHistogram(bins, 2, { fare: ctx.column(Uint32Array.of(4, 5, 2 ** 32 - 1, 6)) });
 * await ctx.read(fare); // { lo: Uint32Array [5, 3], hi: Uint32Array [0, 1] }
 */
export function weightedHistogram<W extends Weights>(
  bins: Column<'u32'>,
  count: number,
  weights: W,
  options: ContextOption = {},
): { readonly [name in keyof W]: WideSums } {
  requireOptions<ContextOption>('weightedHistogram', { context: anything }, options);
  requireType(bins, ['u32'], 'bins', 'weightedHistogram');
  requirePositive('weightedHistogram', 'count', count);
  requireRecord('weightedHistogram', 'weights', weights, 'a record of u32 columns');
  const entries = Object.entries(weights);
  for (const [name, weight] of entries) requireType(weight, ['u32'], `weights.${name}`, 'weightedHistogram');
  const columns = [bins, ...entries.map(([, weight]) => weight)];
  const rows = commonLength(columns, 'weightedHistogram');
  requireLength(2 * entries.length * count, 'weightedHistogram', 'the number of sums');
  return inNamedContext('weightedHistogram', options, () => {
    const context = requireContext(columns, 'weightedHistogram');
    return context.scope(() => {
      const sums = context.stored('u32', 2 * entries.length * count);
      if (entries.length > 0) {
        const program = fuseColumns('weightedHistogram', columns);
        const { buffer, offset } = destination(sums);
        context.backend.run({
          kind: 'weightedHistogram',
          extent: extentOf(rows),
          program: programOf(program, context, rows),
          bins: count,
          into: { buffer, word: offset },
        });
      }
      const half = (place: number): Column<'u32'> => slice(sums, place * count, (place + 1) * count);
      const found = entries.map(([name], i) => [name, { lo: half(2 * i), hi: half(2 * i + 1) }]);
      return Object.fromEntries(found) as { readonly [name in keyof W]: WideSums };
    });
  });
}
