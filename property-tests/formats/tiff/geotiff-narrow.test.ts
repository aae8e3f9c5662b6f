import { deflateSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { caseCount } from '../../cases.ts';
import { craftedTiff, type Tags } from '../../fixtures/crafted-tiff.ts';
import { packLzw } from '../../fixtures/lzw-encoder.ts';
import { windowAt, windowFractions } from '../../fixtures/random-raster.ts';
import { fc, test } from '../../law-test.ts';

/** How a file holds samples: their bits, and the blocks. */
const layouts = fc.record({
  bits: fc.constantFrom(1, 2, 4, 16),
  width: fc.integer({ min: 1, max: 40 }),
  height: fc.integer({ min: 1, max: 20 }),
  bands: fc.integer({ min: 1, max: 4 }),
  tile: fc.option(fc.constantFrom([16, 16], [32, 16]), { nil: undefined }),
  rowsPerStrip: fc.integer({ min: 1, max: 20 }),
  planarConfiguration: fc.constantFrom(1, 2),
  compression: fc.constantFrom(1, 5, 8),
  photometric: fc.constantFrom(0, 1, 3),
  seed: fc.nat(),
});
type Layout = typeof layouts extends fc.Arbitrary<infer L> ? L : never;

/** A sample of the raster, of any bits. */
function sampleAt({ bits, seed }: Layout, band: number, column: number, row: number): number {
  const mixed = Math.imul(seed ^ (column * 40503 + row * 30011 + band * 7919 + 1), 2654435761);
  return (mixed >>> 11) % 2 ** bits;
}

/** The samples of one row of a block as text of 0 and 1, the high bit of each sample first, filled up to whole bytes. */
function rowBits(samples: readonly number[], bits: number): string {
  const text = samples.map((sample) => sample.toString(2).padStart(bits, '0')).join('');
  return text.padEnd(8 * Math.ceil(text.length / 8), '1');
}

/** The file of a raster of narrow samples, made of texts of bits. */
function fileOf(layout: Layout): Buffer {
  const { bits, width, height, bands, tile, planarConfiguration, compression } = layout;
  const [columns, rows] = tile ?? [width, Math.min(height, layout.rowsPerStrip)];
  const planes = planarConfiguration === 2 ? Array.from({ length: bands }, (_, band) => [band]) : undefined;
  const together = [Array.from({ length: bands }, (_, band) => band)];
  const blocks: Buffer[] = [];
  for (const plane of planes ?? together) {
    for (let top = 0; top < height; top += rows!) {
      for (let left = 0; left < width; left += columns!) {
        const lines = Array.from({ length: tile ? rows! : Math.min(rows!, height - top) }, (_, y) =>
          rowBits(
            Array.from({ length: columns! }, (_, x) =>
              plane.map((band) => sampleAt(layout, band, left + x, top + y)),
            ).flat(),
            bits,
          ),
        );
        const bytes = Buffer.from(
          lines
            .join('')
            .match(/.{8}/g)!
            .map((byte) => Number.parseInt(byte, 2)),
        );
        // Files here are little-endian, so the low byte of a float comes first.
        if (bits === 16) bytes.swap16();
        blocks.push(compression === 8 ? deflateSync(bytes) : compression === 5 ? Buffer.from(packLzw(bytes)) : bytes);
      }
    }
  }
  const starts = blocks.map((_, i) => blocks.slice(0, i).reduce((sum, { length }) => sum + length, 8));
  const sizes = blocks.map(({ length }) => length);
  const [offsets, counts] = tile
    ? (['tileOffsets', 'tileByteCounts'] as const)
    : (['stripOffsets', 'stripByteCounts'] as const);
  const tags: Tags = {
    imageWidth: [width],
    imageLength: [height],
    samplesPerPixel: [bands],
    bitsPerSample: Array(bands).fill(bits),
    sampleFormat: Array(bands).fill(bits === 16 ? 3 : 1),
    photometricInterpretation: [layout.photometric],
    planarConfiguration: [planarConfiguration],
    compression: [compression],
    ...(tile
      ? { tileWidth: [columns!], tileLength: [rows!], rowsPerStrip: undefined }
      : { rowsPerStrip: [layout.rowsPerStrip] }),
    ...{ stripOffsets: undefined, stripByteCounts: undefined },
    [offsets]: starts,
    [counts]: sizes,
  };
  return craftedTiff(tags, Buffer.concat(blocks));
}

/** The number that the 16 bits of a float mean, by their text. */
function halfOf(bits: number): number {
  const text = bits.toString(2).padStart(16, '0');
  const [exponent, fraction] = [Number.parseInt(text.slice(1, 6), 2), Number.parseInt(text.slice(6), 2)];
  if (exponent === 31) return fraction > 0 ? Number.NaN : text[0] === '1' ? -Infinity : Infinity;
  const size = exponent === 0 ? fraction / 2 ** 24 : ((1024 + fraction) * 2 ** exponent) / 2 ** 25;
  return text[0] === '1' ? -size : size;
}

describe('samples of few bits', () => {
  test.prop([layouts, fc.array(windowFractions, { minLength: 1, maxLength: 3 }), fc.nat(3)], {
    numRuns: caseCount(2500),
  })('are the cells of any window, in any layout', async (layout, windows, which) => {
    const band = which % layout.bands;
    const source = await openGeoTiff(fileOf(layout), { band: band + 1, threads: 0 });
    expect(source.sample).toBe(layout.bits === 16 ? 'f32' : 'u8');
    for (const fractions of windows) {
      const window = windowAt(fractions, layout);
      const cells = await source.read(window);
      const expected = Array.from({ length: window.columns * window.rows }, (_, i) => {
        const [x, y] = [i % window.columns, Math.floor(i / window.columns)];
        const sample = sampleAt(layout, band, window.column + x, window.row + y);
        return layout.bits === 16 ? halfOf(sample) : sample;
      });
      expect([...cells]).toEqual(expected);
    }
    await source.close();
  });

  test('all floats of 16 bits keep their values', async () => {
    const strip = new Uint8Array(Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits).buffer);
    const tags: Tags = { imageWidth: [256], imageLength: [256], rowsPerStrip: [256] };
    const file = craftedTiff({ ...tags, bitsPerSample: [16], sampleFormat: [3] }, strip);
    const source = await openGeoTiff(file);
    const cells = await source.read({ column: 0, row: 0, columns: 256, rows: 256 });
    expect(cells).toEqual(Float32Array.from({ length: 2 ** 16 }, (_, bits) => halfOf(bits)));
  });

  test('16 bits: a nodata value that is no float of 16 bits is noted', async () => {
    const tags: Tags = { bitsPerSample: [16], sampleFormat: [3] };
    for (const [text, isNoted] of [
      ['-9999', true],
      ['-10000', false],
      ['65504', false],
      ['65520', true],
      ['-3.4028234663852886e+38', true],
      ['5.9604644775390625e-08', false],
      ['2.9802322387695312e-08', true],
      ['nan', false],
      ['-inf', false],
      ['0', false],
    ] as const) {
      const { notes } = await openGeoTiff(craftedTiff({ ...tags, gdalNodata: text }, new Uint8Array(24)));
      expect(notes.map(({ code }) => code)).toEqual(isNoted ? ['raster/nodata-unusable'] : []);
    }
  });
});
