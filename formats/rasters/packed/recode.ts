import { SAMPLE_BYTES } from '../../../algorithms/geometry/raster.ts';
import { CODEC, type TileEntries } from './directory.ts';
import type { PackedLayout } from './layout.ts';
import { blocksOf, packBlocks } from './residuals.ts';
import type { DecodedTile } from './tile-decoder.ts';
import { tileScanner } from './tile-scan.ts';
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
  const { scan, residuals, widths } = tileScanner({ sample, tileColumns, tileRows, nodataBits: undefined });
  return ({ words: cells, columns, rows }, words, at) => {
    scan({ words: cells, start: 0, stride: tileColumns, columns, rows, mask: undefined });
    const bytes = new Uint8Array(words.buffer, words.byteOffset + 4 * at);
    return packBlocks(residuals, widths, words, at + (packWidths(widths, bytes) >> 2));
  };
}
