import { describe, expect } from 'vitest';
import { SAMPLE_BYTES, type Sample } from '../../../algorithms/geometry/raster.ts';
import { crc32c } from '../../../formats/rasters/packed/crc32c.ts';
import { CODEC, emptyEntries, type TileEntries } from '../../../formats/rasters/packed/directory.ts';
import { type PackedLayout, tileGrid } from '../../../formats/rasters/packed/layout.ts';
import { openPackedFile } from '../../../formats/rasters/packed/reader.ts';
import { packedWriter } from '../../../formats/rasters/packed/writer.ts';
import { openPackedRaster } from '../../../formats/rasters/packed-raster.ts';
import { bytesInMemory } from '../../../formats/rasters/tiff/byte-source.ts';
import { caseCount } from '../../cases.ts';
import { expectWholeBlocksOnly } from '../../fixtures/block-windows.ts';
import { bitsOf, cut, packedBytes, type RandomPacked, randomPacked } from '../../fixtures/random-packed.ts';
import { windowAt, windowFractions } from '../../fixtures/random-raster.ts';
import { fc, test } from '../../law-test.ts';

const wholeOf = ({ width, height }: { readonly width: number; readonly height: number }) => ({
  ...{ column: 0, row: 0, columns: width, rows: height },
});

/** Whether cells have data, by the nodata value and the mask. */
function dataOf({ nodata, mask }: RandomPacked, cells: ArrayLike<number>): number[] {
  return Array.from(cells, (value, at) => (value === nodata || mask?.[at] === 0 ? 0 : 1));
}

describe('a packed raster', () => {
  test.prop([randomPacked, fc.constantFrom(1, 2 ** 20)], { numRuns: caseCount(600) })(
    'holds the cells and the mask of every band, bit for bit',
    async (raster, memoryBytes) => {
      const bytes = await packedBytes(raster, memoryBytes);
      for (const [at, cells] of raster.bands.entries()) {
        const source = await openPackedRaster(bytes, { band: at + 1 });
        expect(source).toMatchObject({ sample: raster.layout.sample, nodata: raster.nodata });
        expect(bitsOf(await source.read(wholeOf(source)))).toEqual(bitsOf(cells));
        const mask = await source.readMask?.(wholeOf(source));
        expect(mask && [...mask]).toEqual(raster.mask && dataOf(raster, cells));
      }
    },
  );

  test.prop([randomPacked, windowFractions])(
    'is read window by window and block by block as a whole is cut',
    async (raster, fractions) => {
      const { width, tileColumns, tileRows } = raster.layout;
      const source = await openPackedRaster(await packedBytes(raster));
      const window = windowAt(fractions, source);
      expect(bitsOf(await source.read(window))).toEqual(bitsOf(cut(raster.bands[0]!, width, window)));
      const { cells, starts } = await source.readBlocks!(wholeOf(source));
      const across = Math.ceil(width / tileColumns);
      const placed = Array.from(raster.bands[0]!, (_, at) => {
        const [x, y] = [at % width, Math.floor(at / width)];
        const start = starts[Math.floor(y / tileRows) * across + Math.floor(x / tileColumns)]!;
        return cells[start + (y % tileRows) * tileColumns + (x % tileColumns)]!;
      });
      expect(placed).toEqual([...raster.bands[0]!]);
    },
  );

  test.prop([randomPacked, windowFractions])(
    'refuses to read by blocks what cuts a block',
    async (raster, fractions) => {
      const source = await openPackedRaster(await packedBytes(raster));
      await expectWholeBlocksOnly(source, windowAt(fractions, source));
    },
  );

  test.prop([randomPacked])(
    'takes at most 1 % more than its cells and masks, besides what its edges take',
    async (raster) => {
      const { width, height, bands, sample } = raster.layout;
      const cells = width * height * bands;
      const bits = raster.mask === undefined ? 0 : Math.ceil(cells / 8) + tileGrid(raster.layout).tiles;
      const { length } = await packedBytes(raster);
      const kept = 1000 + 120 * bands + 36 * tileGrid(raster.layout).tiles;
      expect(length).toBeLessThanOrEqual(1.01 * (cells * SAMPLE_BYTES[sample] + bits) + kept);
    },
  );

  test.prop([randomPacked])('has minimum and maximum of the cells with data in its directory', async (raster) => {
    const { width, height, tileColumns, tileRows, sample } = raster.layout;
    const file = await openPackedFile(bytesInMemory(await packedBytes(raster)));
    const entries = await file.entries(1);
    const cells = raster.bands[0]!;
    const data = dataOf(raster, cells);
    for (let tile = 0, top = 0; top < height; top += tileRows) {
      for (let left = 0; left < width; left += tileColumns, tile++) {
        const window = {
          ...{ column: left, row: top },
          ...{ columns: Math.min(tileColumns, width - left), rows: Math.min(tileRows, height - top) },
        };
        const has = cut(Uint8Array.from(data), width, window);
        const words = bitsOf(cut(cells, width, window))
          .filter((_, at) => has[at] === 1)
          .map((bits) => ordered(sample, bits));
        const found = [entries.minimum[tile], entries.maximum[tile]];
        words.sort((a, b) => a - b);
        expect(found).toEqual([words[0] ?? 0, words.at(-1) ?? 0]);
        if (new Set(words).size <= 1 && raster.mask === undefined) expect(entries.codec[tile]).toBe(CODEC.constant);
      }
    }
  });

  test('has zeros after payloads that do not end on a word, wherever it was passed on', async () => {
    const layout: PackedLayout = {
      ...{ width: 40, height: 8, bands: 1, sample: 'u32' },
      ...{ tileColumns: 4, tileRows: 8 },
    };
    const parts: Uint8Array[] = [];
    const writer = packedWriter(layout, async (bytes) => void parts.push(Uint8Array.from(bytes)));
    const lengths = Array.from({ length: 10 }, (_, at) => 3 * 2 ** 16 + 1001 * at);
    const entry = { ...{ codec: 1, mask: 0, maskBytes: 0 }, ...{ first: 0, minimum: 0, maximum: 0 } };
    for (const length of lengths) {
      writer.add({ ...entry, payload: new Uint8Array(length).fill(0xff) });
      await writer.flush();
    }
    await writer.end({ geoTransform: [0, 1, 0, 0, 0, 1], geographic: false, bands: [{}] });
    expect(parts.length).toBeGreaterThan(3);
    const bytes = Buffer.concat(parts);
    let at = 64;
    for (const length of lengths) {
      expect(bytes.subarray(at, at + length).every((byte) => byte === 0xff)).toBe(true);
      const end = at + ((length + 3) & ~3);
      expect([...bytes.subarray(at + length, end)]).toEqual(Array(end - at - length).fill(0));
      at = end;
    }
  });

  test('has entries that are read piece by piece, and bands that begin inside a piece', async () => {
    const layout: PackedLayout = {
      ...{ width: 400, height: 960, bands: 3, sample: 'u32' },
      ...{ tileColumns: 4, tileRows: 8 },
    };
    const parts: Uint8Array[] = [];
    const writer = packedWriter(layout, async (bytes) => void parts.push(Uint8Array.from(bytes)));
    const tiles = 12_000;
    const payloadOf = (at: number): Uint8Array => new Uint8Array(at % 7).fill(at);
    const tileOf = (at: number) => ({
      ...{ codec: at % 3, mask: (at % 3) + 128, maskBytes: (at % 7) >> 1, first: 7 * at },
      ...{ minimum: at, maximum: 2 ** 32 - 1 - at },
    });
    for (let at = 0; at < 3 * tiles; at++) writer.add({ ...tileOf(at), payload: payloadOf(at) });
    await writer.end({ geoTransform: [0, 1, 0, 0, 0, 1], geographic: false, bands: [{}, {}, {}] });
    const file = await openPackedFile(bytesInMemory(Buffer.concat(parts)));
    let end = 64;
    for (let at = 0, band = 1; band <= 3; band++) {
      const entries = await file.entries(band);
      const expected = emptyEntries(tiles);
      for (let tile = 0; tile < tiles; tile++, at++) {
        const payload = payloadOf(at);
        const offset = payload.length === 0 ? 0 : end;
        const entry = { ...tileOf(at), offset, bytes: payload.length, checksum: crc32c(payload) };
        for (const [name, value] of Object.entries(entry)) expected[name as keyof TileEntries][tile] = value;
        end += (payload.length + 3) & ~3;
      }
      for (const name of Object.keys(entries) as (keyof TileEntries)[]) {
        expect(Buffer.compare(Buffer.from(entries[name].buffer), Buffer.from(expected[name].buffer)), name).toBe(0);
      }
    }
  });
});

/** The word that has the order of the values, of the stored bits of a cell. */
function ordered(sample: Sample, bits: number): number {
  if (sample.startsWith('u')) return bits;
  if (sample === 'f32') return (bits >= 0x80000000 ? ~bits : bits | 0x80000000) >>> 0;
  const half = 2 ** (8 * SAMPLE_BYTES[sample] - 1);
  return bits >= half ? bits - half : bits + half;
}
