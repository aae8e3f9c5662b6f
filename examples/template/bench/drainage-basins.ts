import type { Experiment } from 'quadrille/bench';
import { drainageBasins } from '../src/drainage-basins.ts';
import { plainBasins } from '../src/plain.ts';

const WIDTH = 64;
const rowsOf = (cells: number): number => Math.ceil(cells / WIDTH);

/** The height of a cell: hills with small pseudo-random bumps, the same in every run. */
const heightOf = (cell: number): number => {
  const [x, y] = [cell % WIDTH, Math.floor(cell / WIDTH)];
  return Math.round(1000 * (2 + Math.sin(x / 9) + Math.cos(y / 11))) + ((Math.imul(cell, 0x9e3779b1) >>> 8) % 50);
};

const experiment: Experiment<{ heights: Uint32Array }> = {
  name: 'drainageBasins',
  inputs: ({ n }) => ({ heights: Uint32Array.from({ length: rowsOf(n) * WIDTH }, (_, cell) => heightOf(cell)) }),
  run: ({ heights }, { context, n }) => drainageBasins(context, heights, WIDTH, rowsOf(n)),
  bytes: ({ n }) => 8 * n,
  plain: ({ heights }, { n }) => plainBasins(heights, WIDTH, rowsOf(n)),
};

export default experiment;
