import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aWhole, optional, someOptions, where } from '../../primitives/checks/kinds.ts';
import { gridText } from '../../primitives/columns/grid.ts';
import { ArgumentError, asGrid, type Column, type Context } from '../../primitives/index.ts';
import { labelsByEdges } from './runs.ts';
import { labelsByStrips } from './strips.ts';

export interface ComponentsOptions {
  /** Number of cells in a row of the grid. By default that of the cells' shape (see {@link asGrid}). */
  readonly width?: number | undefined;
  /** Whether a cell is connected to the 4 cells that share a side with it, or to all 8 cells around it. Default 4. */
  readonly connectivity?: 4 | 8 | undefined;
}

/**
 * Labels the connected components of the set cells of a grid. The label of a cell is the index of the first cell of its
 * component, in row order, or {@link NO_COMPONENT} if the cell is not set. A cell whose label is its own index is the
 * first of its component, so the number of such cells is the number of components.
 *
 * Rows of cells are read as bits, 32 to a word. A run of set cells in a row is a node of a graph, and the runs of two rows
 * that touch are joined by one edge for each pair: on GPUs by `disjointSets`; on other backends by
 * `forEachStrip`, by union-find within strips of rows and then across their borders.
 *
 * - Work and span are those of `disjointSets`, with fewer edges than cells. In strips, the work is almost O(n), and
 *   the span is that of a strip and of all borders. Deterministic. No shape is slow.
 * - Without cells, the result is empty. The length of `cells` may be counted on the device: cells at or after the count
 *   are treated as not set. Labels have the shape of the cells.
 *
 * @throws `ArgumentError` `components/width` if there is neither a shape nor a width, if the width is not that of the
 * shape, or if the number of cells is not a multiple of the width.
 * @example
 * const cells = ctx.column([true, true, false, true, false, false, false, true, true, false, true, false]);
 * await ctx.read(connectedComponents(ctx, asGrid(cells, { rows: 3, columns: 4 })));
 * // Uint32Array [0, 0, 4294967295, 3, 4294967295, 4294967295, 4294967295, 3, 8, 4294967295, 10, 4294967295]
 */
export function connectedComponents(
  context: Context,
  cells: Column<'bool'>,
  options: ComponentsOptions = {},
): Column<'u32'> {
  requireArguments('connectedComponents', { context, cells, options }, ARGUMENTS);
  const { connectivity = 4 } = options;
  const width = widthOf(cells, options.width);
  return context.scope(() => {
    // If the width exceeds the number of cells, all cells are in one row.
    const fitting = Math.min(width, Math.max(1, cells.capacity));
    const label = context.backend.name === 'webgpu' ? labelsByEdges : labelsByStrips;
    const labels = label(context, cells, fitting, connectivity);
    return cells.grid === undefined ? labels : asGrid(labels, cells.grid);
  });
}

const ARGUMENTS = {
  context: aContext,
  cells: aColumn('bool'),
  options: someOptions<ComponentsOptions>({
    width: optional(aWhole(1, 2 ** 32 - 1, 'components/width')),
    connectivity: optional(where('4 or 8', (given) => given === 4 || given === 8)),
  }),
};

function widthOf({ length, grid }: Column, given: number | undefined): number {
  const width = given ?? grid?.columns;
  const sentence = 'The cells of connectedComponents do not fill whole rows.';
  if (width === undefined) {
    throw new ArgumentError('components/width', sentence, {
      expected: 'a width, or cells in rows and columns',
      remedy: 'Pass { width }, or give the cells a shape: asGrid(cells, { rows, columns }).',
    });
  }
  if (grid !== undefined && width !== grid.columns) {
    throw new ArgumentError('components/width', sentence, {
      expected: `a width of ${grid.columns}, as the cells have ${gridText(grid)}`,
      got: width,
      remedy: 'Leave the width out.',
    });
  }
  // Rows without cells have a width too, by which nothing is divided.
  if (typeof length !== 'number' || length === 0 || length % width === 0) return Math.max(1, width);
  throw new ArgumentError('components/width', sentence, { expected: `a multiple of ${width} cells`, got: length });
}
