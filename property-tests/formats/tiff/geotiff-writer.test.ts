import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import type { Window } from '../../../algorithms/geometry/raster.ts';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { type GeoTiffRaster, writeGeoTiff } from '../../../formats/rasters/geotiff-writer.ts';
import { test } from '../../law-test.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-geotiff-writer-'));
});
afterEach(() => rm(folder, { recursive: true }));

const ramp: GeoTiffRaster = { width: 40, height: 30, originX: 3, originY: 60, stepX: 0.5, stepY: -0.25, sample: 'u16' };
const rampCells = ({ row, columns, rows }: Window) =>
  Uint16Array.from({ length: columns * rows }, (_, i) => row * columns + i);

describe('writeGeoTiff', () => {
  test('requests rows of blocks from first to last, once per band when bands are separate', async () => {
    const asked: string[] = [];
    const raster = { ...ramp, bands: 2, tile: { columns: 16, rows: 16 }, interleave: 'band' } as const;
    await writeGeoTiff(join(folder, 'a.tif'), raster, (window, band) => {
      asked.push(`${band}: ${window.column} ${window.row} ${window.columns} ${window.rows}`);
      return rampCells(window);
    });
    expect(asked).toEqual(['1: 0 0 40 16', '1: 0 16 40 14', '2: 0 0 40 16', '2: 0 16 40 14']);
  });

  test.each([
    ['scale and tie point', {}],
    ['a matrix', { placement: 'matrix' }],
    ['the centres of cells', { pixelIsPoint: true }],
    ['a matrix, from south to north', { stepY: 0.25 }],
  ] as const)('georeferences the raster by %s so that it reads back at the same place', async (_, options) => {
    const raster = { ...ramp, crs: 'EPSG:3035', ...options };
    await writeGeoTiff(join(folder, 'a.tif'), raster, rampCells);
    const source = await openGeoTiff(join(folder, 'a.tif'));
    const { originX, originY, stepX, stepY } = raster;
    expect(source).toMatchObject({ originX, originY, stepX, stepY, crs: 'EPSG:3035', geographic: false });
    await source.close();
  });

  test('names longitude and latitude by EPSG:4326', async () => {
    await writeGeoTiff(join(folder, 'a.tif'), { ...ramp, crs: 'OGC:CRS84' }, rampCells);
    const source = await openGeoTiff(join(folder, 'a.tif'));
    expect(source).toMatchObject({ crs: 'EPSG:4326', geographic: true, notes: [] });
    await source.close();
  });

  test('leaves no file when the cells fail to come or do not match', async () => {
    const file = join(folder, 'a.tif');
    const failing = () => Promise.reject(new Error('no cells'));
    await expect(writeGeoTiff(file, ramp, failing)).rejects.toThrow('no cells');
    for (const cells of [new Uint16Array(1), new Uint8Array(40 * 30)]) {
      await expect(writeGeoTiff(file, ramp, () => cells)).rejects.toMatchObject({ code: 'argument/cells' });
    }
    expect(await readdir(folder)).toEqual([]);
  });

  test('refuses a path that cannot be written', async () => {
    const file = join(folder, 'missing', 'a.tif');
    await expect(writeGeoTiff(file, ramp, rampCells)).rejects.toMatchObject({ code: 'format/unwritable-file' });
    await expect(writeGeoTiff(folder, ramp, rampCells)).rejects.toThrow('cannot be written: it is a folder');
  });

  const contradictions: [string, Partial<GeoTiffRaster>][] = [
    ['no rows', { height: 0 }],
    ['half a band', { bands: 0.5 }],
    ['tiles of 10 cells', { tile: { columns: 10, rows: 16 } }],
    ['strips of half a row', { stripRows: 0.5 }],
    ['a predictor without compression', { predictor: 'difference' }],
    ['a float predictor on integers', { compression: 'deflate', predictor: 'float' }],
    ['a scale from south to north', { stepY: 1, placement: 'scale' }],
    ['a coordinate system without a code', { crs: 'mine' }],
  ];
  test.each(contradictions)('refuses %s', async (_, options) => {
    await expect(writeGeoTiff(join(folder, 'a.tif'), { ...ramp, ...options }, rampCells)).rejects.toMatchObject({
      code: 'argument/geotiff-option',
    });
    expect(await readdir(folder)).toEqual([]);
  });
});
