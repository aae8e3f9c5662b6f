import type { CellFormat } from '../../algorithms/bq-tree/index.ts';

const BLOCK = 32;

/**
 * Words that tiles take as residuals of the plane predictor, x − left − above + aboveLeft with 0 outside the tile: for
 * every 32 cells a byte that states the width of the largest residual, then that many words. The first cell's value is
 * stored elsewhere. A constant tile takes nothing.
 */
export function residualWords(cells: Uint16Array, side: number, as: CellFormat): number {
  const perTile = side ** 2;
  const blocks = Math.ceil(perTile / BLOCK);
  const unused = 32 - Number(as.slice(1));
  let words = 0;
  for (let tile = 0; tile < cells.length; tile += perTile) {
    let widths = 0;
    for (let block = 0; block < blocks; block++) {
      let bits = 0;
      for (let i = block * BLOCK; i < Math.min(perTile, (block + 1) * BLOCK); i++) {
        const [row, column] = [Math.floor(i / side), i % side];
        const at = (r: number, c: number): number => (r < 0 || c < 0 ? 0 : cells[tile + r * side + c]!);
        const difference = at(row, column) - at(row, column - 1) - at(row - 1, column) + at(row - 1, column - 1);
        const residual = i === 0 ? 0 : (difference << unused) >> unused;
        bits |= (residual << 1) ^ (residual >> 31);
      }
      widths += 32 - Math.clz32(bits);
    }
    if (widths > 0) words += Math.ceil(blocks / 4) + widths;
  }
  return words;
}
