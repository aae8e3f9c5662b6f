import { columnsOf, commonLength, type Table, type View, viewColumn, withColumns } from './columns/column.ts';
import { contextOf } from './columns/current-context.ts';
import { gridOf } from './columns/grid.ts';
import { fuse } from './columns/program.ts';
import { wordsAtHand } from './columns/words.ts';

/**
 * The cells of a grid with rows and columns swapped: cell (x, y) is cell (y, x) of `table`, whose columns need a shape
 * (see {@link asGrid}). Returns a view of the swapped shape.
 *
 * - Work O(n), span O(1), per use of the view. Deterministic. An empty input gives an empty view. Reading the view costs a
 *   division and a read in the other direction for each cell: store it with `materialize`, which goes tile by tile, if it
 *   is read often.
 * - Equivalent loop: `for (y …) for (x …) out[x * rows + y] = cells[y * columns + x]`.
 *
 * @throws {@link ArgumentError} `grid/none` if the columns have no shape, `grid/shapes` if they have several.
 * @example
 * const cells = ctx.column(Uint32Array.of(1, 2, 3, 4, 5, 6), { rows: 2, columns: 3 });
 * await ctx.read(transpose(cells)); // Uint32Array [1, 4, 2, 5, 3, 6]
 */
export function transpose<C extends Table>(table: C): C {
  const columns = columnsOf(table, 'transpose', 'table');
  const length = commonLength(columns, 'transpose');
  const grid = gridOf(columns, 'transpose');
  const words = columns.map(wordsAtHand);
  const sides = [Math.max(1, grid.rows), grid.columns];
  const fusion = fuse(
    'transpose',
    [],
    words.map(({ type }) => type),
    (index, _, loader) => {
      const [rows, width] = [loader.uniform('u32', sides[0]!), loader.uniform('u32', sides[1]!)];
      const y = index.div(rows);
      return loader.load(words, index.sub(y.mul(rows)).mul(width).add(y));
    },
    { by: [transpose], columns: words, values: sides },
  );
  const view: View = { ...fusion, across: grid.rows };
  const context = contextOf(columns, 'transpose');
  const turned = { rows: grid.columns, columns: grid.rows };
  return withColumns(
    table,
    columns.map(({ type }, result) => viewColumn(context, type, length, view, result, turned)),
  );
}
