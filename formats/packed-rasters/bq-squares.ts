import type { CellFormat } from '../../algorithms/bq-tree/index.ts';
import type { Sample } from '../../algorithms/geometry/raster.ts';
import { sampleBits } from './layout.ts';

/** The squares of cells into which a tile is cut for BQ-trees, row by row. */
export interface Squares {
  readonly side: number;
  readonly across: number;
  /** Number of squares. */
  readonly count: number;
}

const MIN_SIDE = 4;
const MAX_SIDE = 256;

/**
 * The squares of a tile: the smallest power of two that is no less than its shorter side, from 4 to 256. Squares may
 * reach beyond the tile. Together they have less than four times its cells.
 */
export function squaresOf(tileColumns: number, tileRows: number): Squares {
  const fitting = 2 ** Math.ceil(Math.log2(Math.min(tileColumns, tileRows)));
  const side = Math.min(MAX_SIDE, Math.max(MIN_SIDE, fitting));
  const across = Math.ceil(tileColumns / side);
  return { side, across, count: across * Math.ceil(tileRows / side) };
}

/** The format of cells in trees: as many bits as a sample has. */
export function cellFormat(sample: Sample): CellFormat {
  return `u${sampleBits(sample)}` as CellFormat;
}
