import { type Column, type Context, fn, gather, neighbours, select, sequence, stencil, u32 } from 'quadrille';

/** Steps to the eight cells around. */
const AROUND = [-1, 0, 1].flatMap((y) => [-1, 0, 1].map((x) => [x, y] as const)).filter(([x, y]) => x !== 0 || y !== 0);

/** The lowest neighbour (the first, if there are several) if it is lower than the cell; otherwise the cell itself. */
const downhill = fn('downhill', { height: neighbours(u32), cell: neighbours(u32) }, u32, ({ height, cell }) => {
  let [lowest, target] = [height.at(0, 0), cell.at(0, 0)];
  for (const [x, y] of AROUND) {
    target = select(target, cell.at(x, y), height.at(x, y).lt(lowest));
    lowest = lowest.min(height.at(x, y));
  }
  return target;
});

/**
 * The drainage basins of a terrain: for every cell, the cell where water that runs downhill from it ends. A cell
 * without a lower neighbour keeps its water, so there are as many basins as such cells.
 *
 * By pointer jumping: every cell first knows where its water is after one step, then, by reading that cell, after two
 * steps, then after four. Work O(n log n), span O(log n).
 *
 * @param heights - Heights of the cells, row by row.
 * @param width - Cells of a row.
 * @param rows - Rows of the terrain.
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
