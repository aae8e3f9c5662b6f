import { mkdir, readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { openReference } from '../support/reference-context.ts';
import { zonalHere, zonalOnQueue } from './zonal-queue-support.ts';

let shop: Workshop;
const context = openReference();

beforeAll(async () => {
  shop = await openWorkshop();
  await mkdir(shop.path('queue'));
  const zones = [
    zone('a', rectangle(0, 0, 2, 3)),
    zone('b', rectangle(2, 0, 6, 3)),
    zone('c', rectangle(30, 0, 31, 1)),
  ];
  await shop.write('zones.json', collection(...zones));
  const cells = Array.from({ length: 12 }, (_, cell) => cell / 3 - 1);
  const strips = { sample: 'f32', stripRows: 1 } as const;
  await shop.writeRaster('left.tif', { ...strips, nodata: 0 }, cells);
  await shop.writeRaster('right.tif', { ...strips, originX: 3 }, cells.toReversed());
  await shop.writeRaster('away.tif', { ...strips, originX: -60 }, cells);
});
afterAll(() => shop.remove());

const left = async (): Promise<string[]> => readdir(shop.path('queue'));

describe('zonal on a queue', () => {
  test.each([
    ['one raster', ['@left.tif'], ['--bins', '-1:3:0.5']],
    ['statistics', ['@left.tif'], ['--stats', '-']],
    ['JSON', ['@left.tif'], ['--unique', '--format', 'json']],
    ['several rasters', ['@left.tif', '@away.tif', '@right.tif'], ['--unique', '--format', 'json']],
    ['rows of several rasters', ['@left.tif', '@away.tif', '@right.tif'], ['--bins', '-1:3:0.5']],
    ['parts of a surface', ['@left.tif', '@away.tif', '@right.tif'], ['--merge', '--unique', '--format', 'json']],
    ['no zone on the raster', ['@away.tif'], ['--unique', '--format', 'json']],
    ['a plot', ['@left.tif', '@right.tif'], ['--unique', '--out', '@out.csv', '--plot', '-']],
  ])('gives the bytes of one process: %s', async (_, rasters, args) => {
    const words = [...rasters.flatMap((raster) => ['--raster', raster]), ...args];
    const expected = await zonalHere(shop, words);
    for (const partCells of [1, 6, 1000]) {
      const { stdout, error } = await zonalOnQueue(shop, context, words, { partCells });
      expect(error).toBeUndefined();
      expect(stdout).toBe(expected);
    }
    expect(await left()).toEqual([]);
  });
});
