import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { caseCount } from '../../cases.ts';
import { craftedTiff, entryOffset, type Tags } from '../../fixtures/crafted-tiff.ts';
import { packLzw } from '../../fixtures/lzw-encoder.ts';
import { geoTiffBytes, randomRaster } from '../../fixtures/random-raster.ts';
import { fc, test } from '../../law-test.ts';
import { readOrRefuse } from './read-or-refuse.ts';

describe('a file that is not a GeoTIFF', () => {
  test.prop([fc.uint8Array({ maxLength: 400 })])('is refused, for any bytes', async (bytes) => {
    expect(await readOrRefuse(bytes)).toBe('refused');
  });

  test.prop(
    [
      fc.uint8Array({ maxLength: 400 }),
      fc.constantFrom('49492a0008000000', '4d4d002a00000008', '49492b00080000001000000000000000'),
    ],
    {
      numRuns: caseCount(300),
    },
  )('after any valid header is read or refused', async (bytes, header) => {
    await readOrRefuse(Buffer.concat([Buffer.from(header, 'hex'), bytes]));
  });

  test('is refused when it is missing, a directory or a device', async () => {
    await expect(openGeoTiff(join(tmpdir(), 'no-such-file.tif'))).rejects.toMatchObject({
      code: 'format/missing-file',
      message: expect.stringContaining('no-such-file.tif'),
    });
    await expect(openGeoTiff(tmpdir())).rejects.toMatchObject({ code: 'format/not-a-file' });
    await expect(openGeoTiff('/dev/null')).rejects.toMatchObject({ code: 'format/not-a-file' });
  });
});

describe('a damaged GeoTIFF', () => {
  const damage = fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), fc.nat(255)), {
    minLength: 1,
    maxLength: 6,
  });

  test.prop([randomRaster, damage], { numRuns: caseCount(400) })(
    'is read or refused, never a crash',
    async (raster, changes) => {
      const file = await geoTiffBytes(raster);
      for (const [place, value] of changes) file[Math.floor(place * file.length)] = value;
      await readOrRefuse(file);
    },
  );

  test.prop([damage], { numRuns: caseCount(400) })('is read or refused with a damaged directory', async (changes) => {
    const file = craftedTiff({ compression: [8], predictor: [2] }, deflateSync(Buffer.alloc(12, 7)));
    const start = file.readUInt32LE(4);
    for (const [place, value] of changes) file[start + Math.floor(place * (file.length - start))] = value;
    await readOrRefuse(file);
  });

  test.prop([randomRaster, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })], { numRuns: caseCount(150) })(
    'is refused when its end is missing',
    async (raster, fraction) => {
      const file = await geoTiffBytes(raster);
      expect(await readOrRefuse(file.subarray(0, Math.floor(fraction * (file.length - 1))))).toBe('refused');
    },
  );

  test('with strips beyond its end is refused, with the number of the strip', async () => {
    await expect(openGeoTiff(craftedTiff({ stripOffsets: [100000] }))).rejects.toMatchObject({
      code: 'format/truncated',
      message: expect.stringContaining('strip 0'),
    });
    await expect(openGeoTiff(craftedTiff({ stripByteCounts: [100000] }))).rejects.toMatchObject({
      code: 'format/truncated',
    });
  });

  const packed = deflateSync(Uint8Array.from({ length: 12 }, (_, i) => i));
  const wrongSum = Uint8Array.from(packed, (byte, i) => (i === packed.length - 1 ? byte ^ 1 : byte));
  test.each([
    ['truncated deflate', 8, packed.subarray(0, 6)],
    ['deflate with a wrong checksum', 8, wrongSum],
    ['deflate of too few bytes', 8, deflateSync(Buffer.alloc(11))],
    ['deflate of far too many bytes', 8, deflateSync(Buffer.alloc(2 ** 25))],
    ['truncated LZW', 5, packLzw(Buffer.alloc(11))],
    ['truncated old LZW, low bit first', 5, Uint8Array.of(0x00, 0x03, 0x04, 0x10, 0x30)],
    ['truncated PackBits', 32773, Uint8Array.of(11, 1, 2, 3)],
  ])('with %s is refused when the block is read', async (_, compression, strip) => {
    const source = await openGeoTiff(craftedTiff({ compression: [compression] }, strip));
    await expect(source.read({ column: 0, row: 0, columns: 4, rows: 3 })).rejects.toMatchObject({
      code: 'format/damaged-tiff',
      place: { block: 0 },
    });
  });

  test('that shrinks after it was opened is refused', async () => {
    const file = join(tmpdir(), `quadrille-shrinks-${process.pid}.tif`);
    await writeFile(file, craftedTiff());
    const source = await openGeoTiff(file);
    await writeFile(file, 'II');
    await expect(source.read({ column: 0, row: 0, columns: 4, rows: 3 })).rejects.toMatchObject({
      code: 'format/truncated',
    });
    await source.close();
    await rm(file);
  });

  const contradictions: [string, Tags][] = [
    ['no width', { imageWidth: undefined }],
    ['a height of 0', { imageLength: [0] }],
    ['no samples', { samplesPerPixel: [0] }],
    ['a planar configuration of 3', { planarConfiguration: [3] }],
    ['fewer strips than the rows need', { rowsPerStrip: [1] }],
    ['too few strip sizes', { rowsPerStrip: [1], stripOffsets: [8, 12, 16], stripByteCounts: [4, 4] }],
    ['no strip sizes and a strip beyond the end', { stripByteCounts: undefined, imageLength: [4000] }],
    ['a strip too short for its cells', { stripByteCounts: [11] }],
    ['a compressed strip too short for its cells', { compression: [8], imageWidth: [5000] }],
    ['tiles of width 0', { tileOffsets: [8], tileByteCounts: [12], tileWidth: [0], tileLength: [16] }],
    ['a float predictor on integers', { compression: [8], predictor: [3] }],
    ['differences of 4 bits', { compression: [8], predictor: [2], bitsPerSample: [4] }],
    ['a float predictor on 1 bit', { compression: [8], predictor: [3], bitsPerSample: [1] }],
    ['a strip too short for its bits', { bitsPerSample: [4], stripByteCounts: [5] }],
    ['a strip too short for its cells of 64 bits', { bitsPerSample: [64] }],
    ['a float predictor on integers of 64 bits', { compression: [8], predictor: [3], bitsPerSample: [64] }],
    ['a strip too short for its halves', { bitsPerSample: [16], sampleFormat: [3] }],
    ['an unknown predictor', { compression: [8], predictor: [9] }],
    ['numbers in place of text', { gdalNodata: [1, 2] }],
    ['text in place of numbers', { modelPixelScale: '1 2 3', imageWidth: '12345' }],
  ];
  test.each(contradictions)('with %s is refused', async (_, tags) => {
    await expect(openGeoTiff(craftedTiff(tags))).rejects.toMatchObject({
      name: 'FormatError',
      remedy: expect.any(String),
    });
  });

  test('with a tag of a billion values is refused before memory is allocated for them', async () => {
    for (const tag of ['bitsPerSample', 'stripOffsets', 'geoKeyDirectory', 'modelTiepoint'] as const) {
      const file = craftedTiff();
      file.writeUInt32LE(2 ** 30, entryOffset(file, tag) + 4);
      await expect(openGeoTiff(file)).rejects.toMatchObject({ name: 'FormatError' });
    }
  });

  test('that claims 2^30 × 2^30 cells in a few bytes is refused', async () => {
    const tags = { imageWidth: [2 ** 30], imageLength: [2 ** 30], rowsPerStrip: [2 ** 30] };
    await expect(openGeoTiff(craftedTiff(tags))).rejects.toMatchObject({ code: 'format/damaged-tiff' });
  });
});

describe('an unsupported GeoTIFF', () => {
  const kinds: [string, Tags, string][] = [
    ['old-style JPEG', { compression: [6] }, 'format/unsupported-compression'],
    ['JPEG of 16 bits', { compression: [7], bitsPerSample: [16] }, 'format/unsupported-compression'],
    ['JPEG of 12 bits', { compression: [7], bitsPerSample: [12] }, 'format/unsupported-compression'],
    ['JPEG of 5 bands together', { compression: [7], samplesPerPixel: [5] }, 'format/unsupported-compression'],
    ['WebP', { compression: [50001] }, 'format/unsupported-compression'],
    ['JPEG XL', { compression: [50002] }, 'format/unsupported-compression'],
    [
      'LERC with a compression of code 9',
      { compression: [34887], lercParameters: [4, 9] },
      'format/unsupported-compression',
    ],
    ['code 12345', { compression: [12345] }, 'format/unsupported-compression'],
    ['f128', { bitsPerSample: [128], sampleFormat: [3] }, 'format/unsupported-sample-type'],
    ['f24', { bitsPerSample: [24], sampleFormat: [3] }, 'format/unsupported-sample-type'],
    ['24-bit unsigned', { bitsPerSample: [24] }, 'format/unsupported-sample-type'],
    ['complex f32', { bitsPerSample: [64], sampleFormat: [6] }, 'format/unsupported-sample-type'],
    ['4-bit signed', { bitsPerSample: [4], sampleFormat: [2] }, 'format/unsupported-sample-type'],
    ['1-bit unsigned, u8', { samplesPerPixel: [2], bitsPerSample: [1, 8] }, 'format/unsupported-sample-type'],
    ['12-bit unsigned', { bitsPerSample: [12] }, 'format/unsupported-sample-type'],
    ['u8, u16', { samplesPerPixel: [2], bitsPerSample: [8, 16] }, 'format/unsupported-sample-type'],
    ['YCbCr colours without JPEG', { photometricInterpretation: [6] }, 'format/unsupported-colours'],
    [
      'YCbCr colours in separate bands',
      { photometricInterpretation: [6], compression: [7], samplesPerPixel: [3], planarConfiguration: [2] },
      'format/unsupported-colours',
    ],
    ['YCbCr colours in 1 bands', { photometricInterpretation: [6], compression: [7] }, 'format/unsupported-colours'],
    ['reversed bits', { fillOrder: [2] }, 'format/unsupported-fill-order'],
  ];
  test.each(kinds)('is refused with the name of the feature: %s', async (name, tags, code) => {
    await expect(openGeoTiff(craftedTiff(tags))).rejects.toMatchObject({
      name: 'FormatError',
      code,
      message: expect.stringContaining(name),
    });
  });

  test.each([0, 2, 1.5, Number.NaN, -1])('with 1 band is refused when band %d is requested', async (band) => {
    await expect(openGeoTiff(craftedTiff(), { band })).rejects.toMatchObject({
      name: 'UsageError',
      code: 'usage/unknown-band',
    });
  });

  test('is read with a note when its orientation is unusual', async () => {
    const { notes } = await openGeoTiff(craftedTiff({ orientation: [4] }));
    expect(notes.map((note) => note.code)).toEqual(['raster/orientation-ignored']);
  });
});
