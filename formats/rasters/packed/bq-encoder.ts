import { encodeBqTrees } from '../../../algorithms/bq-tree/index.ts';
import type { Context } from '../../../primitives/index.ts';
import { type Words, wordsOver } from '../tiff/samples.ts';
import { cellFormat, type Squares, squaresOf } from './bq-squares.ts';
import { sampleBits } from './layout.ts';
import { type TileCells, type TileCoding, tileScanner } from './tile-scan.ts';

/** Encodes tiles as BQ-trees on a device: for each tile the bytes of its cells, without the mask. */
export type BqEncoder = (tiles: readonly TileCells[]) => Promise<Uint8Array[]>;

/** Number of cells that are encoded at once, if a tile has no more. */
const CELLS_AT_ONCE = 2 ** 22;

/**
 * Returns a function that encodes tiles as BQ-trees: the words of the tree of each square, then the trees. Cells without
 * data that need not be kept, and those beyond the raster or the tile, repeat the cell before them or above.
 */
export function bqEncoder(context: Context, coding: TileCoding): BqEncoder {
  const squares = squaresOf(coding.tileColumns, coding.tileRows);
  const { side, count } = squares;
  const bytes = sampleBits(coding.sample) / 8;
  const cellsOfTile = count * side ** 2;
  const fill = squareFiller(coding, squares);
  const options = { side, as: cellFormat(coding.sample) };

  const encode = async (tiles: readonly TileCells[]): Promise<Uint8Array[]> => {
    const cells = wordsOver(new Uint8Array(tiles.length * cellsOfTile * bytes), bytes as 1 | 2 | 4);
    for (const [at, tile] of tiles.entries()) fill(tile, cells, at * cellsOfTile);
    const trees = context.scope(() => encodeBqTrees(context, context.column(cells), options));
    try {
      const { words, lengths } = await context.read({ words: trees.words, lengths: trees.lengths });
      return payloadsOf(words, lengths, count);
    } finally {
      context.dispose({ words: trees.words, lengths: trees.lengths });
    }
  };

  return async (tiles) => {
    const step = Math.max(1, Math.floor(CELLS_AT_ONCE / cellsOfTile));
    const payloads: Uint8Array[] = [];
    for (let at = 0; at < tiles.length; at += step) {
      for (const payload of await encode(tiles.slice(at, at + step))) payloads.push(payload);
    }
    return payloads;
  };
}

/** Puts the lengths of the `count` trees of each tile in front of them. */
function payloadsOf(words: Uint32Array, lengths: Uint32Array, count: number): Uint8Array[] {
  const payloads: Uint8Array[] = [];
  let start = 0;
  for (let tree = 0; tree < lengths.length; tree += count) {
    const own = lengths.subarray(tree, tree + count);
    const end = start + own.reduce((sum, length) => sum + length, 0);
    const payload = new DataView(new ArrayBuffer(4 * (count + end - start)));
    let at = 0;
    for (const length of own) payload.setUint32(4 * at++, length, true);
    for (; start < end; start++) payload.setUint32(4 * at++, words[start]!, true);
    payloads.push(new Uint8Array(payload.buffer));
  }
  return payloads;
}

/** Returns a function that copies the cells of a tile square by square to `target`, from index `at` on. */
function squareFiller(coding: TileCoding, { side, across, count }: Squares) {
  const { tileColumns } = coding;
  const { scan, plane, hidden } = tileScanner(coding);
  return (cells: TileCells, target: Words, at: number): void => {
    const seen = scan(cells);
    const isFilled = seen.withoutData > 0 && !seen.isKept;
    let to = at;
    for (let square = 0; square < count; square++) {
      const top = Math.floor(square / across) * side;
      const left = (square % across) * side;
      for (let row = 0; row < side; row++) {
        for (let column = 0; column < side; column++, to++) {
          const [x, y] = [left + column, top + row];
          const isInside = x < cells.columns && y < cells.rows;
          if (isInside && !(isFilled && hidden[y * cells.columns + x] === 1)) target[to] = plane[y * tileColumns + x]!;
          else target[to] = column > 0 ? target[to - 1]! : row > 0 ? target[to - side]! : seen.first;
        }
      }
    }
  };
}
