import type { CellFormat } from '../../../algorithms/bq-tree/index.ts';
import type { NarrowSample } from '../../../algorithms/geometry/raster.ts';
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
export function cellFormat(sample: NarrowSample): CellFormat {
  return `u${sampleBits(sample)}` as CellFormat;
}

/** Copies the cells of square number `square`, row by row in `cells` from `at` on, to their places in a tile. */
export function placeSquare(
  { side, across }: Squares,
  square: number,
  { tileColumns, tileRows }: { readonly tileColumns: number; readonly tileRows: number },
  cells: { subarray(from: number, to: number): ArrayLike<number> },
  at: number,
  plane: Int32Array,
): void {
  const top = Math.floor(square / across) * side;
  const left = (square % across) * side;
  const columns = Math.min(side, tileColumns - left);
  for (let row = 0; row < Math.min(side, tileRows - top); row++) {
    const from = at + row * side;
    plane.set(cells.subarray(from, from + columns), (top + row) * tileColumns + left);
  }
}

/** What is wrong with the lengths in front of the trees of a tile; undefined if they add up to its bytes. */
export function lengthsFault(data: Uint8Array, { count }: Squares): string | undefined {
  if (data.length < 4 * count) return `${count} BQ-trees have ${data.length} bytes`;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  let bytes = 4 * count;
  for (let square = 0; square < count; square++) bytes += 4 * view.getUint32(4 * square, true);
  return bytes === data.length ? undefined : 'the lengths of its BQ-trees do not add up to its bytes';
}

/** What is wrong with a tree that does not take as many bytes as its length says, or has a state that no tree has. */
export const WRONG_TREE = 'a BQ-tree contradicts itself';
