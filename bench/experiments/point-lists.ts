import { bool, type Column, type Context, copyIf, fn, map, sequence, u32 } from '../../primitives/index.ts';
import type { Experiment, HostColumns } from '../harness/experiment.ts';
import { buildPyramid, pointList } from './histogram-pyramid.ts';
import { hashed } from './inputs.ts';

/** A method that lists the indices of the active cells of a grid. */
export type PointLister = (context: Context, cells: Column<'u32'>, width: number) => Column<'u32'>;

const isActive = fn('isActive', { cell: u32 }, bool, ({ cell }) => cell.ne(0));

/** Lists active cells by `copyIf`, which is based on a scan. */
export const byScan: PointLister = (context, cells) =>
  copyIf(sequence(cells.length), map(isActive, { cell: cells }), { context });

/** Lists active cells by a histogram pyramid in 1D or 2D. */
export const byPyramid =
  (dimensions: 1 | 2): PointLister =>
  (context, cells, width) => {
    const extent = dimensions === 1 ? { width: cells.capacity, height: 1 } : { width, height: cells.capacity / width };
    return context.scope(() => pointList(context, buildPyramid(context, cells, extent, dimensions)));
  };

/** Pseudo-random cells: about one in `among` cells is 1 (active), the others are 0. */
export function cellsOf(count: number, among: number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, i) => Number(hashed(i) % among === 0));
}

const DENSITIES = [1, 16, 256, 4096];

/**
 * Experiments for `quadrille bench --experiment`: list the active cells of a 1D grid by a scan and by a histogram
 * pyramid, for several densities of active cells.
 */
const experiments: readonly Experiment[] = DENSITIES.flatMap((among) =>
  [byScan, byPyramid(1)].map(
    (list, i): Experiment => ({
      name: `${['scan', 'pyramid'][i]}-1-in-${among}`,
      inputs: ({ n }): HostColumns => ({ cells: cellsOf(n, among) }),
      run: ({ cells }, { context, n }) => list(context, cells as Column<'u32'>, n),
      reference: ({ cells }) => activeOf(cells as Uint32Array),
      plain: ({ cells }) => activeOf(cells as Uint32Array),
      bytes: ({ n }, [found]) => 4 * (n + found!.length),
    }),
  ),
);

/** The indices of the active cells, found by a plain loop. */
export function activeOf(cells: Uint32Array): Uint32Array {
  const active = new Uint32Array(cells.length);
  let count = 0;
  for (let i = 0; i < cells.length; i++) if (cells[i] !== 0) active[count++] = i;
  return active.slice(0, count);
}

export default experiments;
