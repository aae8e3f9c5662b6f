import {
  columnsOf,
  commonLength,
  NUMBERS,
  requireType,
  type Table,
  viewColumn,
  withColumns,
} from './columns/column.ts';
import { contextOf } from './columns/current-context.ts';
import { fuse } from './columns/program.ts';
import { literal } from './functors/recorder.ts';
import { select } from './functors/standard/choose.ts';
import { type Bool, type U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';

/**
 * Returns a view of the differences between every row and the row before: `out[0] = in[0]`,
 * `out[i] = in[i] − in[i − 1]`. Integers are subtracted modulo 2³², records field by field. The function inverts an
 * inclusive scan with `plus`, exactly for integers and up to rounding for f32.
 *
 * - Work O(n), span O(1), per use of the view. Deterministic. An empty input gives an empty view. Accepts device counts
 *   (lengths that only the device knows).
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = i === 0 ? values[0] : values[i] - values[i - 1]`.
 *
 * @example
 * await ctx.read(adjacentDifference(ctx.column(Uint32Array.of(3, 5, 4)))); // Uint32Array [3, 2, 4294967295]
 */
export function adjacentDifference<C extends Table>(values: C): C {
  const columns = columnsOf(values, 'adjacentDifference', 'values');
  for (const column of columns) requireType(column, NUMBERS, 'values', 'adjacentDifference');
  const length = commonLength(columns, 'adjacentDifference');
  const types = columns.map(({ type }) => type);
  const view = fuse('adjacentDifference', [], types, (index, _, loader) => {
    const first = index.eq(0);
    const before = loader.load(columns, index.sub(index.min(1)));
    return loader.load(columns, index).map((value, leaf) => differ(value, before[leaf]!, first));
  });
  const context = contextOf(columns, 'adjacentDifference');
  const differences = columns.map(({ type }, result) => viewColumn(context, type, length, view, result));
  return withColumns(values, differences);
}

function differ(value: Value<ScalarType>, before: Value<ScalarType>, first: Bool): Value<ScalarType> {
  const { type } = value.operand;
  return (value as U32).sub(select(before, new Value(literal(type, 0)), first) as U32);
}
