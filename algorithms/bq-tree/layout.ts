import { wrongArgument } from '../../primitives/checks/arguments.ts';
import { aWord, type Kind, someOptions, where } from '../../primitives/checks/kinds.ts';
import type { Column } from '../../primitives/index.ts';

/** The tiles of a raster that are coded together. */
export interface BqTreeOptions {
  /** Columns and rows of a tile: 4, 8, 16, 32, 64, 128 or 256. */
  readonly side: number;
  /** Format of the cells, which has 8, 16 or 32 bit planes. */
  readonly as: CellFormat;
}

export type CellFormat = 'u8' | 'u16' | 'u32';

/**
 * The BQ-trees of tiles, in the order of the tiles. A tree is a sequence of little-endian bytes:
 *
 * 1. The states of the roots: one bit for each plane, from the lowest, that is 1 in the whole tile; then one bit for each
 *    plane that is mixed (1 in some cells and 0 in others). Zeros fill a word. So u8 and u16 take one word, u32 takes two.
 * 2. The nodes of the levels, from the root on down to the parents of the quadrants of 4 × 4 cells. A node is one byte for
 *    each plane that is mixed in its square: two bits for each of the four children (upper left, upper right, lower left,
 *    lower right), from the lowest: 0 where the plane is 0 in the whole child, 1 where it is 1, 2 where it is mixed. Within
 *    a level, squares are in Morton order, and the planes of a square in order. Squares in which no plane is mixed take
 *    nothing.
 * 3. A zero byte, if the number of bytes so far is odd.
 * 4. The signatures: 16 bits for each quadrant of 4 × 4 cells and plane that is mixed there, in the order of nodes. Bit
 *    4 × row + column is that of the cell.
 * 5. Zeros up to a whole word.
 */
export interface BqTrees {
  /** The trees, one after another without gaps. */
  readonly words: Column<'u32'>;
  /** Words of each tree. */
  readonly lengths: Column<'u32'>;
}

/** Columns and rows of a last quadrant, whose bits make up a signature. */
const SIGNATURE_SIDE = 4;
const MAX_SIDE = 256;

/** What follows from the options of a call. */
export interface Layout {
  /** Bit planes of a tile. */
  readonly planes: number;
  /** Levels of nodes above the last quadrants. */
  readonly levels: number;
  /** Last quadrants of a tile. */
  readonly quadrants: number;
  /** Cells of a tile. */
  readonly cells: number;
  /** Words in front of the nodes, with the states of the roots. */
  readonly headerWords: number;
}

const FORMATS: readonly CellFormat[] = ['u8', 'u16', 'u32'];
const SIDES = [4, 8, 16, 32, 64, 128, MAX_SIDE];

export const someTreeOptions: Kind = someOptions<BqTreeOptions>({
  side: where(`one of ${SIDES.join(', ')}`, (given) => SIDES.includes(given as number)),
  as: aWord(FORMATS),
});

export function layoutOf({ side, as }: BqTreeOptions): Layout {
  const planes = Number(as.slice(1));
  const levels = Math.log2(side / SIGNATURE_SIDE);
  return { planes, levels, quadrants: 4 ** levels, cells: side ** 2, headerWords: planes === 32 ? 2 : 1 };
}

/** Words of a tree in which no quadrant of any plane is uniform. No tree has more. */
export function maxWords({ planes, quadrants, headerWords }: Layout): number {
  const nodeBytes = (planes * (quadrants - 1)) / 3;
  return headerWords + Math.ceil((nodeBytes + 2 * planes * quadrants) / 4);
}

/** Cells of a call, so that entries of every plane are numbered in 32 bits. */
const MAX_CELLS = 2 ** 31 - 1;

/**
 * The number of tiles that a column stands for, of which each has `perTile` elements.
 *
 * @throws `ArgumentError` `bq-tree/length` if only the device knows the length, `bq-tree/cells` if there is a part of a
 * tile, `column/size` if the tiles have 2^31 cells or more.
 */
export function tilesIn(call: string, name: string, column: Column, perTile: number, { cells }: Layout): number {
  const { length } = column;
  if (typeof length !== 'number') {
    throw wrongArgument(call, name, column, 'a column whose length the host knows', { code: 'bq-tree/length' });
  }
  const tiles = length / perTile;
  if (!Number.isInteger(tiles)) {
    throw wrongArgument(call, name, column, `whole tiles of ${perTile} cells`, { code: 'bq-tree/cells' });
  }
  if (tiles * cells > MAX_CELLS) {
    throw wrongArgument(call, name, column, `tiles of fewer than 2^31 cells together`, { code: 'column/size' });
  }
  return tiles;
}
