import { readFile } from 'node:fs/promises';
import { deflateSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { LERC_SAMPLES, type LercSample } from '../../../formats/rasters/tiff/lerc.ts';
import { CELL_ARRAYS, SAMPLE_FORMAT } from '../../../formats/rasters/tiff/samples.ts';
import { caseCount } from '../../cases.ts';
import { craftedTiff, type Tags } from '../../fixtures/crafted-tiff.ts';
import { encodeLerc, type LercBlob, withSum } from '../../fixtures/lerc-encoder.ts';
import { bytesOf, randomCells } from '../../fixtures/random-raster.ts';
import { zstdFrame } from '../../fixtures/zstd-frame.ts';
import { fc, test } from '../../law-test.ts';
import { readOrRefuse } from './read-or-refuse.ts';

const PACKINGS = [(blob: Buffer) => blob, (blob: Buffer) => deflateSync(blob), (blob: Buffer) => zstdFrame([blob])];

interface Block {
  readonly sample: LercSample;
  readonly columns: number;
  readonly rows: number;
  readonly bands: number;
  /** One blob of all bands, or one blob for each. */
  readonly isTogether: boolean;
  readonly packing: number;
  /** For each band, which cells have values; the same in all bands if they are together. */
  readonly masks: readonly (readonly boolean[])[];
  readonly values: readonly number[];
}

const NODATA = 7;
const maskOf = (cells: number) =>
  fc.oneof(
    fc.constant(Array<boolean>(cells).fill(true)),
    fc.constant(Array<boolean>(cells).fill(false)),
    fc.nat(cells - 1).map((one) => Array.from({ length: cells }, (_, cell) => cell === one)),
    fc.array(fc.boolean(), { minLength: cells, maxLength: cells }),
  );

const block: fc.Arbitrary<Block> = fc
  .record({
    sample: fc.constantFrom(...LERC_SAMPLES),
    columns: fc.integer({ min: 1, max: 20 }),
    rows: fc.integer({ min: 1, max: 9 }),
    bands: fc.integer({ min: 1, max: 3 }),
    isTogether: fc.boolean(),
    packing: fc.nat(2),
    seed: fc.integer(),
    levels: fc.constantFrom(1, 2, 256),
  })
  .chain(({ seed, levels, ...shape }) => {
    const cells = shape.columns * shape.rows;
    const [values] = [randomCells(shape.sample, cells * shape.bands, seed, levels)];
    return fc.tuple(...Array.from({ length: shape.bands }, () => maskOf(cells))).map((masks) => ({
      ...shape,
      values: Array.from(values as ArrayLike<number>, (value) => (Number.isFinite(value) ? Number(value) : 1)),
      masks: shape.isTogether ? masks.map(() => masks[0]!) : masks,
    }));
  });

function blobsOf({ sample, columns, rows, bands, isTogether, masks, values }: Block): Buffer {
  const shape = { sample, columns, rows };
  if (isTogether) return encodeLerc({ ...shape, depth: bands, values, mask: masks[0]! });
  const each = masks.map((mask, band) => {
    const own = values.filter((_, i) => i % bands === band);
    return encodeLerc({ ...shape, depth: 1, values: own, mask });
  });
  return Buffer.concat(each);
}

function tagsOf({ sample, columns, rows, bands, packing }: Omit<Block, 'masks' | 'values'>): Tags {
  return {
    compression: [34887],
    lercParameters: [4, packing],
    imageWidth: [columns],
    imageLength: [rows],
    rowsPerStrip: [rows],
    samplesPerPixel: [bands],
    bitsPerSample: Array<number>(bands).fill(8 * CELL_ARRAYS[sample].BYTES_PER_ELEMENT),
    sampleFormat: Array<number>(bands).fill(SAMPLE_FORMAT[sample]),
  };
}

const isFloat = (sample: LercSample): boolean => sample === 'f32' || sample === 'f64';

describe('LERC', () => {
  test.prop([block], { numRuns: caseCount(400) })('has its values, and cells without any are missing', async (of) => {
    const packed = PACKINGS[of.packing]!(blobsOf(of));
    const tiff = craftedTiff({ ...tagsOf(of), gdalNodata: isFloat(of.sample) ? undefined : String(NODATA) }, packed);
    for (let band = 1; band <= of.bands; band++) {
      const source = await openGeoTiff(tiff, { band });
      const cells = await source.read({ column: 0, row: 0, columns: of.columns, rows: of.rows });
      const expected = of.masks[band - 1]!.map((isThere, cell) =>
        isThere ? of.values[cell * of.bands + band - 1]! : isFloat(of.sample) ? Number.NaN : NODATA,
      );
      expect(bytesOf(cells)).toEqual(bytesOf(CELL_ARRAYS[of.sample].from(expected)));
    }
  });

  const plain: LercBlob = {
    ...{ sample: 'u8', columns: 4, rows: 3, depth: 1 },
    values: Array.from({ length: 12 }, (_, i) => i),
    mask: Array<boolean>(12).fill(true),
  };
  const shape = { sample: 'u8', columns: 4, rows: 3, bands: 1, isTogether: true, packing: 0 } as const;
  const whole = { column: 0, row: 0, columns: 4, rows: 3 };
  const readWith = async (blob: Uint8Array, tags: Tags = {}, nodata?: number): Promise<number[]> => {
    const source = await openGeoTiff(craftedTiff({ ...tagsOf(shape), ...tags }, blob), { nodata });
    return Array.from((await source.read(whole)) as Uint8Array);
  };

  test('of version 6 may mark samples without a value by one of its own', async () => {
    const blob = encodeLerc({ ...plain, depth: 2, values: [...plain.values, ...plain.values], none: 5 });
    const bands = { ...shape, bands: 2 };
    for (const band of [1, 2]) {
      const tiff = craftedTiff({ ...tagsOf(bands), gdalNodata: '99' }, blob);
      const cells = [...(await (await openGeoTiff(tiff, { band })).read(whole))];
      const own = Array.from({ length: 12 }, (_, cell) => (2 * cell + band - 1) % 12);
      expect(cells).toEqual(own.map((value) => (value === 5 ? 99 : value)));
    }
    const unmarked = await openGeoTiff(craftedTiff(tagsOf(bands), blob));
    await expect(unmarked.read(whole)).rejects.toMatchObject({ code: 'format/unmarked-cells' });
  });

  test('of integers without a nodata value is refused where cells are missing, unless one is given', async () => {
    const mask = plain.values.map((value) => value !== 5);
    const blob = encodeLerc({ ...plain, mask });
    await expect(readWith(blob)).rejects.toMatchObject({ code: 'format/unmarked-cells', place: { block: 0 } });
    expect(await readWith(blob, {}, 99)).toEqual(plain.values.map((value) => (value === 5 ? 99 : value)));
  });

  test.each<[string, (blob: Buffer) => Uint8Array]>([
    ['bytes behind it', (blob) => Buffer.concat([blob, Buffer.from('more')])],
    ['a missing end', (blob) => blob.subarray(0, -1)],
    ['a head alone', (blob) => blob.subarray(0, 40)],
    ['another magic', (blob) => Buffer.concat([Buffer.from('Lerc3 '), blob.subarray(6)])],
    ['a wrong checksum', (blob) => Buffer.concat([blob.subarray(0, -1), Buffer.of(blob.at(-1)! ^ 1)])],
    ['two bands', (blob) => Buffer.concat([blob, blob])],
    ['more columns', () => encodeLerc({ ...plain, columns: 6, rows: 2 })],
    ['more samples of a cell', () => encodeLerc({ ...plain, depth: 2, values: [...plain.values, ...plain.values] })],
    ['other samples', () => encodeLerc({ ...plain, sample: 'u16' })],
  ])('with %s is refused', async (_, change) => {
    await expect(readWith(change(encodeLerc(plain)))).rejects.toMatchObject({
      code: 'format/damaged-tiff',
      remedy: expect.any(String),
      place: { block: 0 },
    });
  });

  test('of version 1 is refused by name', async () => {
    await expect(readWith(Buffer.from('CntZImage and more bytes'))).rejects.toMatchObject({
      code: 'format/unsupported-compression',
      message: expect.stringContaining('LERC of version 1'),
    });
  });

  test.each([65_000, 2 ** 31 - 1])(
    'that declares %d × as many cells is refused before it takes memory',
    async (size) => {
      const bomb = encodeLerc(plain);
      for (const at of [14, 18]) bomb.writeInt32LE(size, at);
      const before = process.memoryUsage().rss;
      await expect(readWith(withSum(bomb))).rejects.toMatchObject({ code: 'format/damaged-tiff' });
      expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 26);
    },
  );

  test('of an alpha band as a mask has 0 and 255', async () => {
    const values = Array.from({ length: 36 }, (_, i) => 100 + i);
    const mask = Array.from({ length: 12 }, (_, cell) => cell % 5 !== 0);
    const tags = { ...tagsOf({ ...shape, bands: 4 }), photometricInterpretation: [2], extraSamples: [2] };
    const tiff = craftedTiff(tags, encodeLerc({ ...plain, depth: 3, values, mask }));
    const alpha = await openGeoTiff(tiff, { band: 4 });
    expect([...(await alpha.read(whole))]).toEqual(mask.map((isThere) => (isThere ? 255 : 0)));
    const green = await openGeoTiff(tiff, { band: 2 });
    const there = [...(await green.readMask!(whole, undefined))].map((byte) => byte !== 0);
    expect(there).toEqual(mask);
    const cells = await green.read(whole);
    for (const [cell, isThere] of mask.entries()) if (isThere) expect(cells[cell]).toBe(values[3 * cell + 1]);
  });

  test('with an error above that of its type has a note if a nodata value is set', async () => {
    const codesOf = async (maxError: number, gdalNodata?: string): Promise<string[]> => {
      const tiff = craftedTiff({ ...tagsOf(shape), gdalNodata }, encodeLerc({ ...plain, maxError }));
      return (await openGeoTiff(tiff)).notes.map(({ code }) => code);
    };
    expect([await codesOf(2, '3'), await codesOf(2), await codesOf(0.5, '3')]).toEqual([
      ['raster/lossy-nodata'],
      [],
      [],
    ]);
  });

  const seeds = ['u8-lerc', 'i8-lerc-tiles', 'i32-lerc-bigtiff', 'f32-lerc-lossy', 'f32-lerc-holes'];
  const change = fc.tuple(fc.nat(), fc.nat(255));
  test.prop([fc.constantFrom(...seeds), fc.array(change, { minLength: 1, maxLength: 4 }), fc.nat(9)], {
    numRuns: caseCount(600),
  })('of GDAL that is damaged is read or refused, also with a right checksum', async (seed, changes, where) => {
    const tiff = await readFile(new URL(`../../fixtures/gdal/${seed}.tif`, import.meta.url));
    const at = tiff.indexOf('Lerc2 ');
    const blob = tiff.subarray(at, at + tiff.readInt32LE(at + 34));
    // The packed values more often than the head.
    const from = where === 0 ? 0 : 66;
    for (const [place, byte] of changes) blob[from + (place % (blob.length - from))] = byte;
    withSum(blob);
    await readOrRefuse(tiff);
  });

  test.prop([block, fc.array(change, { minLength: 1, maxLength: 4 }), fc.boolean()], { numRuns: caseCount(600) })(
    'that is damaged is read or refused',
    async (of, changes, sumsUp) => {
      const blob = blobsOf({ ...of, isTogether: true, masks: of.masks.map(() => of.masks[0]!) });
      for (const [at, byte] of changes) blob[at % blob.length] = byte;
      const packed = PACKINGS[of.packing]!(sumsUp ? withSum(blob) : blob);
      await readOrRefuse(craftedTiff({ ...tagsOf(of), gdalNodata: '7' }, packed));
    },
  );
});
