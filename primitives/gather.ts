import {
  type Column,
  columnsOf,
  commonLength,
  requireType,
  type Table,
  viewColumn,
  withColumns,
} from './columns/column.ts';
import { contextOf } from './columns/current-context.ts';
import { fuse } from './columns/program.ts';
import { wordsOf } from './columns/words.ts';
import type { U32 } from './functors/value.ts';

/**
 * Rows of a table in the order of the indices: `out[i] = source[indices[i]]`. If an index is not below the length of
 * the source, the row is zero (false). Returns a view.
 *
 * - Work O(n), span O(1), per use of the view. Deterministic. Both inputs may have device counts (lengths that only the
 *   device knows).
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = source[indices[i]] ?? 0`.
 *
 * @example
 * await ctx.read(gather(ctx.column(Uint32Array.of(7, 8, 9)), ctx.column(Uint32Array.of(2, 0, 5)))); // Uint32Array [9, 7, 0]
 */
export function gather<C extends Table>(source: C, indices: Column<'u32'>): C {
  requireType(indices, ['u32'], 'indices', 'gather');
  const columns = columnsOf(source, 'gather', 'source');
  const length = columns.length > 0 ? commonLength(columns, 'gather') : 0;
  const context = contextOf([...columns, indices], 'gather');
  const words = columns.map(wordsOf);
  const results = words.map(({ type }) => type);
  const view = fuse(
    'gather',
    [],
    results,
    (index, _, loader) => {
      const [at] = loader.load([indices], index) as [U32];
      return loader.loadWithin(words, at, length);
    },
    { by: [gather], columns: [indices, ...words], lengths: [length] },
  );
  const gathered = columns.map(({ type }, result) => viewColumn(context, type, indices.length, view, result));
  return withColumns(source, gathered);
}
