import { type Column, type Context, fn, gather, neighbours, select, sequence, stencil, u32 } from 'quadrille';

/** Offsets of the eight neighbours of a cell. */
const AROUND = [-1, 0, 1].flatMap((y) => [-1, 0, 1].map((x) => [x, y] as const)).filter(([x, y]) => x !== 0 || y !== 0);

/**
 * The cell to which water flows from a cell: the lowest neighbour, or the first of several equally low neighbours. If
 * no neighbour is lower than the cell, the result is the cell itself.
 */
const downhill = fn('downhill', { height: neighbours(u32), cell: neighbours(u32) }, u32, ({ height, cell }) => {
  let [lowest, target] = [height.at(0, 0), cell.at(0, 0)];
  for (const [x, y] of AROUND) {
    target = select(target, cell.at(x, y), height.at(x, y).lt(lowest));
    lowest = lowest.min(height.at(x, y));
  }
  return target;
});

/**
 * The drainage basins of a terrain. Water flows from each cell to the lowest neighbour, until it reaches a cell without
 * a lower neighbour. For every cell, returns the cell in which the water ends. There is one basin for each end.
 *
 * The method is pointer jumping. At first, every cell stores the cell that its water reaches after one step. In each
 * round, every cell looks up what the stored cell stores, and stores that cell instead. This doubles the number of
 * steps in each round: two, then four, and so on. Work O(n log n), span O(log n).
 *
 * @param heights - Heights of the cells, row by row.
 * @param width - Number of cells per row.
 * @param rows - Number of rows.
 */
export function drainageBasins(context: Context, heights: Column<'u32'>, width: number, rows: number): Column<'u32'> {
  return context.scope(() => {
    let ends = context.materialize(stencil(downhill, { height: heights, cell: sequence(width * rows) }, { width }));
    for (let steps = 1; steps < width * rows; steps *= 2) {
      const further = context.materialize(gather(ends, ends));
      context.dispose(ends);
      ends = further;
    }
    return ends;
  });
}
