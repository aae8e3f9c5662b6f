import { type Column, NUMBERS, requireType, viewColumn } from './columns/column.ts';
import { fuse } from './columns/program.ts';
import { literal } from './functors/recorder.ts';
import { select } from './functors/standard/choose.ts';
import { Value } from './functors/value.ts';

/**
 * The difference of every row and the one before it: `out[0] = in[0]`, `out[i] = in[i] − in[i − 1]`; integers modulo 2³². A
 * view. The inverse of an inclusive scan with `plus`: exactly of integers, up to rounding of f32.
 *
 * - Work O(n), span O(1), per use of the view. Deterministic. Of no rows: no rows. Accepts device counts.
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = i === 0 ? values[0] : values[i] - values[i - 1]`.
 *
 * @example
 * await ctx.read(adjacentDifference(ctx.column(Uint32Array.of(3, 5, 4)))); // Uint32Array [3, 2, 4294967295]
 */
export function adjacentDifference<T extends 'u32' | 'i32' | 'f32'>(values: Column<T>): Column<T> {
  requireType(values, NUMBERS, 'values', 'adjacentDifference');
  const { context, type, length } = values;
  const view = fuse('adjacentDifference', [], [type], (index, _, loader) => {
    const first = index.eq(0);
    const [before] = loader.load([values], index.sub(index.min(1))) as [Value<T>];
    const [value] = loader.load([values], index) as [Value<T>];
    return [value.sub(select(before, new Value(literal(type, 0)), first) as never)];
  });
  return viewColumn(context, type, length, view);
}
