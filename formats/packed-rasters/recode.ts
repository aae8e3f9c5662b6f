import { SAMPLE_BYTES } from '../../algorithms/geometry/raster.ts';
import { CODEC, type TileEntries } from './directory.ts';
import type { PackedLayout } from './layout.ts';
import { blocksOf, computeResiduals, findWidths, packBlocks } from './residuals.ts';
import type { DecodedTile } from './tile-decoder.ts';
import { maxWidthBytes, packWidths } from './widths.ts';

/** Maximum number of words that a raw tile takes as residuals; 0 for other tiles. */
export function recodedWords(
  { tileColumns, tileRows, sample }: PackedLayout,
  { codec }: TileEntries,
  tile: number,
): number {
  if (codec[tile] !== CODEC.raw) return 0;
  const cells = tileColumns * tileRows;
  return (maxWidthBytes(blocksOf(cells)) + cells * SAMPLE_BYTES[sample]) >> 2;
}

/** Returns a function that writes a decoded tile as residuals, from a word on, and returns the word after the last. */
export function recoder({
  sample,
  tileColumns,
  tileRows,
}: PackedLayout): (tile: DecodedTile, words: Int32Array, at: number) => number {
  const cells = tileColumns * tileRows;
  const [plane, residuals] = [new Int32Array(cells), new Int32Array(cells)];
  const widths = new Uint8Array(blocksOf(cells));
  return (tile, words, at) => {
    for (let row = 0; row < tile.rows; row++) {
      const from = row * tileColumns;
      plane.set(tile.words.subarray(from, from + tile.columns), from);
    }
    computeResiduals(plane, tileColumns, tileRows, 8 * SAMPLE_BYTES[sample], residuals);
    findWidths(residuals, widths);
    const bytes = new Uint8Array(words.buffer, words.byteOffset + 4 * at);
    return packBlocks(residuals, widths, words, at + (packWidths(widths, bytes) >> 2));
  };
}
