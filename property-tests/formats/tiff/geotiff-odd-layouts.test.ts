import { deflateSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { craftedTiff, type Tags } from '../../fixtures/crafted-tiff.ts';
import { packLzw } from '../../fixtures/lzw-encoder.ts';
import { fc, test } from '../../law-test.ts';

const ALL = Array.from({ length: 12 }, (_, i) => i);

async function cellsOf(file: Uint8Array): Promise<number[]> {
  const raster = await openGeoTiff(file, { threads: 0 });
  const cells = await raster.read({ column: 0, row: 0, columns: raster.width, rows: raster.height });
  await raster.close();
  return [...(cells as Uint8Array)];
}

/** A tile of 16 × 16 cells that holds the 4 × 3 cells of the raster. */
const tile = Uint8Array.from({ length: 256 }, (_, i) => (i % 16 < 4 && i < 48 ? (i >> 4) * 4 + (i % 16) : 99));
const tiled: Tags = { tileWidth: [16], tileLength: [16], rowsPerStrip: undefined };

describe('a valid TIFF of an unusual layout is read', () => {
  const asTiles = { ...tiled, tileOffsets: [8], stripOffsets: undefined, stripByteCounts: undefined };
  test.each<[string, Tags, Uint8Array]>([
    ['tiles under the tags of strips', { ...tiled, stripByteCounts: [256] }, tile],
    [
      'strips under the tags of tiles',
      { ...asTiles, tileWidth: undefined, tileLength: undefined, rowsPerStrip: [3], tileByteCounts: [12] },
      Uint8Array.from(ALL),
    ],
    ['the rows below the raster are not stored', { ...asTiles, tileByteCounts: [48] }, tile.subarray(0, 48)],
    [
      'the rows below the raster are not stored, deflated',
      { ...asTiles, compression: [8], tileByteCounts: undefined },
      deflateSync(tile.subarray(0, 48)),
    ],
    ['the tile ends with the last cell', { ...asTiles, tileByteCounts: [36] }, tile.subarray(0, 36)],
    ['no byte count of a strip', { stripByteCounts: undefined }, Uint8Array.from(ALL)],
    ['a byte count of 0', { stripByteCounts: [0] }, Uint8Array.from(ALL)],
    [
      'no byte counts of three strips',
      { stripByteCounts: undefined, rowsPerStrip: [1], stripOffsets: [8, 12, 16] },
      Uint8Array.from(ALL),
    ],
    [
      'no byte count of a deflated strip',
      { stripByteCounts: undefined, compression: [8] },
      deflateSync(Uint8Array.from(ALL)),
    ],
    [
      'no byte count of a strip of LZW',
      { stripByteCounts: [0], compression: [5] },
      packLzw(Uint8Array.from(ALL), 4094, true),
    ],
  ])('%s', async (_, tags, strip) => {
    expect(await cellsOf(craftedTiff(tags, strip))).toEqual(ALL);
  });

  test('a count of 0 among several is a block without data, as in GDAL', async () => {
    const tags = { rowsPerStrip: [1], stripOffsets: [8, 12, 16], stripByteCounts: [4, 0, 4], gdalNodata: '77' };
    expect(await cellsOf(craftedTiff(tags))).toEqual([0, 1, 2, 3, 77, 77, 77, 77, 8, 9, 10, 11]);
  });

  test.prop([fc.integer({ min: 0, max: 256 })])(
    'the file may end in the padding of its last tile, and nowhere else',
    async (stored) => {
      // The tile stands behind the directory, at the end of the file.
      const head = craftedTiff({ ...asTiles, tileOffsets: [0], tileByteCounts: [256] });
      const at = craftedTiff({ ...asTiles, tileOffsets: [head.length], tileByteCounts: [256] });
      const file = Buffer.concat([at, tile.subarray(0, stored)]);
      if (stored >= 36) expect(await cellsOf(file)).toEqual(ALL);
      else await expect(openGeoTiff(file)).rejects.toMatchObject({ code: 'format/truncated' });
    },
  );
});
