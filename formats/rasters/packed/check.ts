import { turn } from '../../../primitives/host/turn.ts';
import { readNodata } from '../tiff/nodata.ts';
import { damaged, type PackedLayout } from './layout.ts';
import { nodataBits } from './metadata.ts';
import { ORDER_FLIP, sortableBits } from './ordered.ts';
import type { PackedFile } from './reader.ts';
import type { DecodedTile } from './tile-decoder.ts';
import type { TileCoding } from './tile-scan.ts';
import { packedTiles } from './tiles.ts';

/** How the tiles of a band are decoded. */
function codingOf({ layout, metadata }: PackedFile, band: number): TileCoding {
  const { sample, tileColumns, tileRows } = layout;
  const nodata = readNodata(metadata.bands[band - 1]!.nodata, sample, []);
  return { sample, tileColumns, tileRows, nodataBits: nodataBits(nodata, sample) };
}

/**
 * Decodes every tile of a band, which checks its checksum, and compares its cells with the minimum and the maximum that
 * the directory states.
 *
 * @param onTiles - Is called with the number of tiles that were checked since the last call.
 * @throws FormatError `format/damaged-packed-raster`, with the number of the tile in the band.
 */
export async function checkBand(
  file: PackedFile,
  band: number,
  signal: AbortSignal | undefined,
  onTiles: (tiles: number) => void,
): Promise<void> {
  const { source, layout } = file;
  const { width, height, tileRows } = layout;
  const entries = await file.entries(band);
  const tiles = packedTiles(source, layout, codingOf(file, band), entries);
  let tile = 0;
  for (let row = 0; row < height; row += tileRows) {
    const before = tile;
    const window = { column: 0, row, columns: width, rows: Math.min(tileRows, height - row) };
    await tiles.forEach(window, undefined, signal, (decoded) => {
      const [minimum, maximum] = extremesOf(decoded, layout);
      if (minimum !== entries.minimum[tile] || maximum !== entries.maximum[tile]) {
        throw damaged(source.file, 'a tile does not have the minimum and maximum that its directory states', tile);
      }
      tile++;
    });
    onTiles(tile - before);
    await turn();
    signal?.throwIfAborted();
  }
}

/** Smallest and largest cell with data, as ordered words. Both are 0 if there is none. */
function extremesOf(
  { words, columns, rows, hidden }: DecodedTile,
  { sample, tileColumns }: PackedLayout,
): readonly [number, number] {
  const flip = ORDER_FLIP[sample];
  let [low, high] = [0xffffffff, -1];
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0, from = row * tileColumns; column < columns; column++, from++, at++) {
      if (hidden[at] === 1) continue;
      const bits = sample === 'f32' ? sortableBits(words[from]!) : words[from]!;
      const word = (bits ^ flip) >>> 0;
      if (word < low) low = word;
      if (word > high) high = word;
    }
  }
  return high < 0 ? [0, 0] : [low, high];
}
