import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromArrayBuffer } from 'geotiff';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { type Cells, isWide, type RasterGrid, type Window } from '../../../algorithms/geometry/raster.ts';
import { type GeoTiffSource, openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { type GeoTiffRaster, writeGeoTiff } from '../../../formats/rasters/geotiff-writer.ts';
import { caseCount } from '../../cases.ts';
import { craftedTiff } from '../../fixtures/crafted-tiff.ts';
import {
  bytesOf,
  geoTiffBytes,
  randomCells,
  randomRaster,
  sliceBytes,
  windowAt,
  windowFractions,
} from '../../fixtures/random-raster.ts';
import { fc, test } from '../../law-test.ts';

const whole = ({ width, height }: RasterGrid): Window => ({ column: 0, row: 0, columns: width, rows: height });

describe('openGeoTiff', () => {
  test.prop([randomRaster], { numRuns: caseCount(150) })(
    'reads every band as it was written, bit for bit',
    async (written) => {
      const file = await geoTiffBytes(written);
      for (const [index, cells] of written.bands.entries()) {
        const source = await openGeoTiff(file, { band: index + 1 });
        expect(source).toMatchObject({ width: written.raster.width, sample: written.raster.sample });
        expect(bytesOf(await source.read(whole(source))).equals(bytesOf(cells))).toBe(true);
      }
    },
  );

  test.prop([randomRaster, fc.array(windowFractions, { minLength: 1, maxLength: 8 }), fc.nat(4096)], {
    numRuns: caseCount(100),
  })(
    'reads windows that are slices of the whole, in sequence and in parallel',
    async (written, fractions, keepBytes) => {
      const source = await openGeoTiff(await geoTiffBytes(written), { keepBytes });
      const windows = fractions.map((fraction) => windowAt(fraction, source));
      const expected = windows.map((window) => sliceBytes(written.bands[0]!, source.width, window));
      for (const [index, window] of windows.entries()) {
        expect(bytesOf(await source.read(window))).toEqual(expected[index]);
      }
      const together = await Promise.all(windows.map((window) => source.read(window)));
      expect(together.map(bytesOf)).toEqual(expected);
    },
  );

  test.prop([randomRaster], { numRuns: caseCount(40) })(
    'agrees with geotiff.js on little-endian files',
    async (drawn) => {
      const written = { ...drawn, raster: { ...drawn.raster, byteOrder: 'little' as const } };
      const { sample, predictor } = written.raster;
      // It reads no integers of 64 bits, and no differences of f64.
      fc.pre(!isWide(sample) || (sample === 'f64' && predictor !== 'difference'));
      const file = await geoTiffBytes(written);
      const image = await (await fromArrayBuffer(new Uint8Array(file).buffer)).getImage();
      const rasters = await image.readRasters({ interleave: false });
      const source = await openGeoTiff(file);
      expect([...(await source.read(whole(source)))]).toEqual([...(rasters[0] as Cells)]);
    },
  );

  test('reads samples that are not word-aligned', async () => {
    const bytes = [...new Uint8Array(Float32Array.from({ length: 12 }, (_, i) => i / 8).buffer)];
    const strips = Buffer.from([...bytes.slice(0, 32), 0, ...bytes.slice(32)]);
    const tags = {
      bitsPerSample: [32],
      sampleFormat: [3],
      rowsPerStrip: [2],
      stripOffsets: [8, 41],
      stripByteCounts: [32, 16],
    };
    const source = await openGeoTiff(craftedTiff(tags, strips));
    expect([...(await source.read({ column: 1, row: 1, columns: 3, rows: 2 }))]).toEqual(
      [5, 6, 7, 9, 10, 11].map((value) => value / 8),
    );
  });

  test('returns the nodata value, the placement and the coordinate system of the file', async () => {
    const raster = {
      width: 4,
      height: 3,
      originX: 10.5,
      originY: 60.25,
      stepX: 0.1,
      stepY: -0.2,
      sample: 'i16',
    } as const;
    const bytes = await geoTiffBytes({
      raster: { ...raster, crs: 'EPSG:4326', nodata: -9999 },
      bands: [new Int16Array(12)],
    });
    expect(await openGeoTiff(bytes)).toMatchObject({ ...raster, crs: 'EPSG:4326', geographic: true, nodata: -9999 });
  });

  test('closes its file, even when it refuses it', async () => {
    const before = await openFiles();
    const folder = await mkdtemp(join(tmpdir(), 'quadrille-geotiff-'));
    await writeFile(join(folder, 'good.tif'), craftedTiff());
    await writeFile(join(folder, 'bad.tif'), craftedTiff({ compression: [6] }));
    const source = await openGeoTiff(join(folder, 'good.tif'));
    await source.read(whole(source));
    await source.close();
    await source.close();
    await expect(openGeoTiff(join(folder, 'bad.tif'))).rejects.toMatchObject({
      code: 'format/unsupported-compression',
    });
    await expect(source.read(whole(source))).rejects.toMatchObject({ code: 'format/closed' });
    await rm(folder, { recursive: true });
    expect(await openFiles()).toBe(before);
  });
});

/**
 * The number of files that this process has open. Only Linux tells this number; on other systems, the test cannot
 * notice files that stay open.
 */
async function openFiles(): Promise<number> {
  return process.platform === 'linux' ? (await readdir('/proc/self/fd')).length : 0;
}

describe('a window', () => {
  test.each([
    ['left of the raster', { column: -1, row: 0, columns: 1, rows: 1 }],
    ['beyond its last column', { column: 3, row: 0, columns: 2, rows: 1 }],
    ['beyond its last row', { column: 0, row: 3, columns: 1, rows: 1 }],
    ['of half a cell', { column: 0, row: 0, columns: 0.5, rows: 1 }],
    ['of NaN cells', { column: 0, row: 0, columns: Number.NaN, rows: 1 }],
  ])('%s is refused', async (_, window) => {
    const source = await openGeoTiff(craftedTiff());
    await expect(source.read(window)).rejects.toMatchObject({ code: 'argument/window-outside' });
  });

  test('of no cells is read as no cells', async () => {
    const source = await openGeoTiff(craftedTiff());
    expect(await source.read({ column: 4, row: 3, columns: 0, rows: 0 })).toHaveLength(0);
  });

  test('rejects with the reason of an abort, before and while reading', async () => {
    const raster = { ...ramp, width: 64, height: 4096, compression: 'deflate' } as const;
    const file = await geoTiffBytes({ raster, bands: [randomCells('u16', 64 * 4096, 1, 256)] });
    const source = await openGeoTiff(file);
    const controller = new AbortController();
    const reading = source.read(whole(source), controller.signal);
    controller.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    await expect(source.read(whole(source), controller.signal)).rejects.toThrow('enough');
    expect(await source.read({ column: 0, row: 0, columns: 1, rows: 1 })).toHaveLength(1);
  });
});

const ramp = { width: 64, height: 64, originX: 0, originY: 0, stepX: 1, stepY: -1, sample: 'u16' } as const;

describe('placement', () => {
  const place = async (tags: Parameters<typeof craftedTiff>[0]) => {
    const { originX, originY, stepX, stepY, crs, geographic, notes } = await openGeoTiff(craftedTiff(tags));
    return { originX, originY, stepX, stepY, crs, geographic, notes: notes.map((note) => note.code) };
  };
  const keys = (...values: number[]) => [1, 1, 0, values.length / 4, ...values];

  test('by scale and tie point puts the tie point at its cell', async () => {
    expect(await place({ modelTiepoint: [1, 2, 0, 100, 200, 0] })).toMatchObject({
      originX: 98,
      originY: 206,
      stepX: 2,
      stepY: -3,
      crs: 'EPSG:32633',
      geographic: false,
    });
  });

  test('by points shifts by half a cell to the north-west corner', async () => {
    const geoKeyDirectory = keys(1024, 0, 1, 1, 1025, 0, 1, 2, 3072, 0, 1, 32633);
    expect(await place({ geoKeyDirectory })).toMatchObject({ originX: 99, originY: 201.5 });
  });

  test('by a matrix can run from south to north, and shifts points to the south-west corner', async () => {
    const modelTransformation = [0.5, 0, 0, 7, 0, 0.25, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1];
    const tags = { modelPixelScale: undefined, modelTiepoint: undefined, modelTransformation };
    expect(await place(tags)).toMatchObject({ originX: 7, originY: 8, stepX: 0.5, stepY: 0.25 });
    const geoKeyDirectory = keys(1025, 0, 1, 2);
    expect(await place({ ...tags, geoKeyDirectory })).toMatchObject({ originX: 6.75, originY: 7.875 });
  });

  test('by a negative scale is north-up, with a note, as in GDAL', async () => {
    expect(await place({ modelPixelScale: [2, -3, 0] })).toMatchObject({
      stepY: -3,
      notes: ['raster/negative-scale'],
    });
  });

  test.each([
    ['a projected system', keys(1024, 0, 1, 1, 3072, 0, 1, 5070), 'EPSG:5070', false],
    ['a geographic system', keys(1024, 0, 1, 2, 2048, 0, 1, 4269), 'EPSG:4269', true],
    ['the base of a projected system', keys(1024, 0, 1, 1, 2048, 0, 1, 4269, 3072, 0, 1, 5070), 'EPSG:5070', false],
    ['no model but a geographic system', keys(2048, 0, 1, 4326), 'EPSG:4326', true],
    ['a user-defined projected system', keys(1024, 0, 1, 1, 2048, 0, 1, 4326, 3072, 0, 1, 32767), undefined, false],
    ['a user-defined geographic system', keys(1024, 0, 1, 2, 2048, 0, 1, 32767), undefined, true],
    ['nothing', undefined, undefined, false],
  ])('reads the coordinate system when the keys state %s', async (_, geoKeyDirectory, crs, geographic) => {
    const notes = crs === undefined ? ['raster/crs-unknown'] : [];
    expect(await place({ geoKeyDirectory })).toMatchObject({ crs, geographic, notes });
  });

  test.each([
    ['a projected', [1024, 0, 1, 1, 3072, 0, 1, 32767, 3073, 34737, 9, 4], 'a projected'],
    ['a projected one without further keys', [1024, 0, 1, 1, 1026, 34737, 9, 4], 'a projected'],
    ['a geographic', [1024, 0, 1, 2, 2048, 0, 1, 32767, 2049, 34737, 9, 4], 'a geographic'],
    ['no model but a linear unit, as a projected', [1026, 34737, 9, 4, 3076, 0, 1, 9001], 'a projected'],
    ['a geocentric', [1024, 0, 1, 3, 1026, 34737, 9, 4, 2048, 0, 1, 32767], 'a geocentric'],
    ['a user-defined kind of', [1024, 0, 1, 32767, 1026, 34737, 9, 4], 'a'],
  ])('describes %s coordinate system without a code by its kind and name', async (_, values, kind) => {
    const tags = { geoKeyDirectory: keys(...values), geoAsciiParams: 'abc|My plane|' };
    const { crs, ownCrs } = await openGeoTiff(craftedTiff(tags));
    expect(crs).toBeUndefined();
    expect(ownCrs).toBe(`${kind} coordinate system of its own called "My plane", without an EPSG code`);
  });

  test('names a geocentric coordinate system by its code', async () => {
    const { crs, ownCrs } = await openGeoTiff(craftedTiff({ geoKeyDirectory: keys(1024, 0, 1, 3, 2048, 0, 1, 4978) }));
    expect([crs, ownCrs]).toEqual([undefined, 'the geocentric coordinate system EPSG:4978']);
  });

  test.each([
    ['no keys', undefined],
    ['an undefined model', keys(1024, 0, 1, 0)],
    ['longitudes and latitudes alone', keys(1024, 0, 1, 2)],
    ['a code', keys(1024, 0, 1, 1, 3072, 0, 1, 5070)],
  ])('describes no system of its own with %s', async (_, geoKeyDirectory) => {
    expect((await openGeoTiff(craftedTiff({ geoKeyDirectory }))).ownCrs).toBeUndefined();
  });

  test.each([
    ['no placement', { modelPixelScale: undefined, modelTiepoint: undefined }, 'format/no-geotransform'],
    ['only tie points', { modelPixelScale: undefined }, 'format/no-geotransform'],
    ['a scale of zero', { modelPixelScale: [0, 3, 0] }, 'format/unsupported-geotransform'],
    ['a scale that is NaN', { modelPixelScale: [Number.NaN, 3, 0] }, 'format/unsupported-geotransform'],
    ['columns from east to west', { modelPixelScale: [-2, 3, 0] }, 'format/unsupported-geotransform'],
    [
      'a rotation',
      { modelPixelScale: undefined, modelTransformation: [1, 0.1, 0, 0, 0.1, 1, 0, 0] },
      'format/unsupported-geotransform',
    ],
    [
      'gradians',
      { geoKeyDirectory: keys(1024, 0, 1, 2, 2048, 0, 1, 4326, 2054, 0, 1, 9105) },
      'format/unsupported-geotransform',
    ],
  ])('with %s is refused', async (_, tags, code) => {
    await expect(place(tags)).rejects.toMatchObject({ name: 'FormatError', code, remedy: expect.any(String) });
  });
});

describe('nodata', () => {
  const nodataOf = async (sample: [number, number], gdalNodata: string | undefined, nodata?: number) => {
    const [bits, format] = sample;
    const tags = { bitsPerSample: [bits], sampleFormat: [format], gdalNodata };
    const source = await openGeoTiff(craftedTiff(tags, new Uint8Array((12 * bits) / 8)), { nodata });
    return [source.nodata, source.notes.map((note) => note.code)];
  };
  const u8: [number, number] = [8, 1];
  const i16: [number, number] = [16, 2];
  const f32: [number, number] = [32, 3];

  test.each([
    ['u8', u8, '255', 255],
    ['i16', i16, '-9999.0', -9999],
    ['i16', i16, ' -32768 ', -32768],
    ['f32', f32, '0.1', Math.fround(0.1)],
    ['f32', f32, '-3.4028234663852886e+038', -(2 - 2 ** -23) * 2 ** 127],
    ['f32', f32, 'nan', Number.NaN],
    ['f32', f32, '-inf', Number.NEGATIVE_INFINITY],
    ['f32', f32, '-1.#INF', Number.NEGATIVE_INFINITY],
    ['f32', f32, '1.#INF00', Number.POSITIVE_INFINITY],
    ['f32', f32, '1.#QNAN', Number.NaN],
    ['f32', f32, '-1.#IND', Number.NaN],
    ['f32', f32, ' -nan ', Number.NaN],
    ['f32', f32, '-9999,5', -9999.5],
    ['i16', i16, '-9999 m', -9999],
  ])('of a band of %s is the text rounded to the type (%#)', async (_, sample, text, value) => {
    expect(await nodataOf(sample, text)).toEqual([value, []]);
  });

  test.each([
    ['u8', u8, '256'],
    ['u8', u8, '-1'],
    ['u8', u8, 'nan'],
    ['i16', i16, 'none'],
    ['i16', i16, '0x10'],
    ['u8', u8, '-0.4'],
    ['u8', u8, '255.5'],
    ['i16', i16, '32768'],
    ['i16', i16, 'inf'],
  ])('of a band of %s is ignored when out of range, with a note (%#)', async (_, sample, text) => {
    expect(await nodataOf(sample, text)).toEqual([undefined, ['raster/nodata-unusable']]);
  });

  test.each([
    ['u8', u8, '0.5', 0],
    ['u8', u8, '254.7', 254],
    ['i16', i16, '-1.5', -1],
    ['i16', i16, '-32768.5', -32768],
    ['f32', f32, '1e-50', 0],
    ['f32', f32, '-1.7976931348623157e+308', Number.NEGATIVE_INFINITY],
  ])('of a band of %s that no cell can have marks the cells that GDAL masks, with a note (%#)', async (...given) => {
    const [, sample, text, value] = given;
    expect(await nodataOf(sample, text)).toEqual([value, ['raster/nodata-rounded']]);
  });

  test('of the caller overrides that of the file', async () => {
    expect(await nodataOf(i16, '-9999', 7)).toEqual([7, []]);
    expect(await nodataOf(i16, undefined, 7.4)).toEqual([7, ['raster/nodata-rounded']]);
    expect(await nodataOf(u8, '3', 300)).toEqual([undefined, ['raster/nodata-unusable']]);
  });

  test('fills blocks that were never written, or 0 when there is none', async () => {
    for (const [nodata, fill] of [
      [-5, -5],
      [undefined, 0],
    ] as const) {
      const file = await written({ ...ramp, sample: 'i16', nodata, stripRows: 8 }, ({ row, columns, rows }) =>
        row === 8 ? undefined : new Int16Array(columns * rows).fill(3),
      );
      expect(file.notes).toMatchObject([{ code: 'raster/crs-unknown' }, { code: 'raster/sparse-blocks', count: 1 }]);
      expect([...(await file.read({ column: 63, row: 7, columns: 1, rows: 10 }))]).toEqual([
        3,
        fill,
        fill,
        fill,
        fill,
        fill,
        fill,
        fill,
        fill,
        3,
      ]);
      await file.close();
    }
  });
});

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-geotiff-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function written(raster: GeoTiffRaster, cells: Parameters<typeof writeGeoTiff>[2]): Promise<GeoTiffSource> {
  await writeGeoTiff(join(folder, 'a.tif'), raster, cells);
  return openGeoTiff(join(folder, 'a.tif'));
}

describe('memory', () => {
  test.each([
    ['a single strip', 3000, 'raster/single-block', 'one compressed block of 17 MiB'],
    ['several strips', 2999, 'raster/large-blocks', 'compressed blocks of 17 MiB'],
  ])('holds large compressed strips as a whole, with a note: %s', async (_, stripRows, code, words) => {
    const side = 3000;
    const raster = { ...ramp, width: side, height: side, stripRows, compression: 'deflate' } as const;
    const cells = randomCells('u16', side * side, 1, 1);
    const source = await written(raster, ({ row, rows }) => cells.slice(row * side, (row + rows) * side));
    const note = source.notes.find((other) => other.code === code);
    expect(note?.message).toContain(`${words}, which cannot be read in windows`);
    expect(note?.message).toContain('gdal_translate -co TILED=YES');
    expect(await source.read({ column: 2999, row: 2999, columns: 1, rows: 1 })).toHaveLength(1);
    await source.close();
    await expect(openGeoTiff(join(folder, 'a.tif'), { maxBlockBytes: 2 ** 20 })).rejects.toMatchObject({
      code: 'format/block-too-large',
      message: expect.stringContaining('cannot be read in windows'),
      remedy: expect.stringContaining('gdal_translate -co TILED=YES'),
    });
  });

  test.each([
    ['strips of 16 MiB', 'deflate', 2796],
    ['a single uncompressed strip', 'none', 3000],
  ] as const)('is not noted for %s', async (_, compression, stripRows) => {
    const raster = { ...ramp, width: 3000, height: 3000, stripRows, compression } as const;
    const source = await written(raster, ({ rows }) => new Uint16Array(rows * 3000));
    expect(source.notes.map(({ code }) => code)).not.toContain('raster/single-block');
    expect(source.notes.map(({ code }) => code)).not.toContain('raster/large-blocks');
    await source.close();
  });

  test('reads an uncompressed raster of one strip in windows', async () => {
    const side = 3000;
    const cells = randomCells('u16', side * side, 1, 256);
    const source = await written({ ...ramp, width: side, height: side, stripRows: side }, () => cells);
    expect(source.blockRows).toBeLessThan(side);
    const window = { column: 17, row: 600, columns: 100, rows: 1500 };
    expect(bytesOf(await source.read(window))).toEqual(sliceBytes(cells, side, window));
    await source.close();
  });
});
