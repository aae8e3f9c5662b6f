import { Column, columnsOf, commonLength, type Table, withColumns } from './columns/column.ts';
import { type Grid, requireGrid } from './columns/grid.ts';

/**
 * The same columns as cells of a grid: `rows` rows of `columns` cells, row by row. Only the columns' `grid` changes:
 * nothing is computed or copied, and stored columns share the memory of the given ones.
 *
 * What has a value for each cell, at the cell's place, keeps the shape: {@link map}, {@link stencil}, {@link narrow},
 * {@link windowSum}, `materialize` and scans with an `axis`; {@link transpose} swaps it. Everything else gives columns
 * without a shape, such as sorts, `copyIf`, `gather` and `slice`. A primitive that works cell by cell refuses columns of
 * two different shapes (`grid/shapes`); it accepts columns without a shape beside others.
 *
 * - No work. An empty grid has no cells, and may have rows. The number of rows must be known to the host. In a
 *   prepared pipeline it is known for an `input(type, { rows, columns })`.
 *
 * @throws {@link ArgumentError} `grid/cells` if the columns do not have `rows * columns` rows, or only the device knows
 * how many.
 * @example
 * const heights = asGrid(ctx.column(Float32Array.of(3, 1, 4, 1, 5, 9)), { rows: 2, columns: 3 });
 * heights.grid; // { rows: 2, columns: 3 }
 */
export function asGrid<C extends Table>(table: C, grid: Grid): C {
  const columns = columnsOf(table, 'asGrid', 'table');
  const shape = requireGrid('asGrid', grid, commonLength(columns, 'asGrid'));
  return withColumns(
    table,
    columns.map(({ context, type, length, source }) => new Column(context, type, length, source, shape)),
  );
}
