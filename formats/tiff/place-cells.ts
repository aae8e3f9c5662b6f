import type { Cells, Window } from '../../algorithms/geometry/raster.ts';
import type { BlockCoding } from './layout.ts';
import type { Piece } from './pieces.ts';
import type { Words } from './samples.ts';

type BlockLayout = Pick<BlockCoding, 'blockColumns' | 'blockRows' | 'interleaved' | 'position'>;
type Place = Pick<Piece, 'left' | 'top' | 'bottom'>;

/** Copies the samples of a piece to their positions in a window. Samples outside the window are skipped. */
export function copyPiece(target: Words, window: Window, layout: BlockLayout, piece: Place, words: Words): void {
  const { blockColumns, interleaved, position } = layout;
  const { fromRow, toRow, fromColumn, toColumn } = overlap(window, layout, piece);
  if (interleaved === 1 && window.columns === blockColumns && window.column === piece.left) {
    const from = (fromRow - piece.top) * blockColumns;
    target.set(words.subarray(from, from + (toRow - fromRow) * blockColumns), (fromRow - window.row) * blockColumns);
    return;
  }
  for (let row = fromRow; row < toRow; row++) {
    const from = ((row - piece.top) * blockColumns + fromColumn - piece.left) * interleaved + position;
    const to = (row - window.row) * window.columns + fromColumn - window.column;
    const count = toColumn - fromColumn;
    if (interleaved === 1) target.set(words.subarray(from, from + count), to);
    else for (let i = 0; i < count; i++) target[to + i] = words[from + i * interleaved]!;
  }
}

/** The rectangle of the block to which a piece belongs. The rectangle may extend beyond the raster. */
export function blockOf({ left, top }: Place, { blockColumns, blockRows }: BlockLayout): Window {
  return { column: left, row: Math.floor(top / blockRows) * blockRows, columns: blockColumns, rows: blockRows };
}

/** Fills the cells of a piece whose block is omitted from the file. */
export function fillPiece(cells: Cells, window: Window, layout: BlockLayout, piece: Place, value: number): void {
  const { fromRow, toRow, fromColumn, toColumn } = overlap(window, layout, piece);
  for (let row = fromRow; row < toRow; row++) {
    const to = (row - window.row) * window.columns - window.column;
    cells.fill(value, to + fromColumn, to + toColumn);
  }
}

function overlap(window: Window, { blockColumns }: BlockLayout, { left, top, bottom }: Place) {
  return {
    fromRow: Math.max(top, window.row),
    toRow: Math.min(bottom, window.row + window.rows),
    fromColumn: Math.max(left, window.column),
    toColumn: Math.min(left + blockColumns, window.column + window.columns),
  };
}
