import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { caseCount } from '../../cases.ts';
import { craftedTiff, type Tags } from '../../fixtures/crafted-tiff.ts';
import { fc, test } from '../../law-test.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-world-file-'));
});
afterEach(() => rm(folder, { recursive: true }));

const UNPLACED: Tags = { modelPixelScale: undefined, modelTiepoint: undefined };

/** Opens a TIFF of the given name, beside which files of the given names and texts stand. */
async function openBeside(files: Readonly<Record<string, string>>, tags: Tags = UNPLACED, name = 'x.tif') {
  await writeFile(join(folder, name), craftedTiff(tags));
  for (const [beside, text] of Object.entries(files)) await writeFile(join(folder, beside), text);
  const raster = await openGeoTiff(join(folder, name));
  await raster.close();
  const { originX, originY, stepX, stepY, crs } = raster;
  const notes = raster.notes.map(({ code, message }) => `${code}: ${message}`);
  return { originX, originY, stepX, stepY, crs, notes };
}

const number = fc.integer({ min: -(2 ** 30), max: 2 ** 30 }).map((sixteenths) => sixteenths / 16);
const step = fc.integer({ min: 1, max: 2 ** 20 }).map((eighths) => eighths / 8);
const NAMES = [
  ['x.tif', 'x.tfw'],
  ['x.tif', 'x.TFW'],
  ['x.tif', 'x.tifw'],
  ['x.tif', 'x.wld'],
  ['x.TIF', 'x.WLD'],
  ['x.tiff', 'x.tfw'],
  ['x.tiff', 'x.tiffw'],
  ['x.y.tiff', 'x.y.TIFFW'],
] as const;

describe('a world file', () => {
  test.prop(
    [fc.constantFrom(...NAMES), step, step, fc.boolean(), number, number, fc.constantFrom('\n', '\r\n', '\r', ' \n\n')],
    { numRuns: caseCount(40) },
  )('places the centre of the upper left cell', async ([name, beside], width, height, isSouthUp, x, y, lineEnd) => {
    const stepY = isSouthUp ? height : -height;
    const text = [width, 0, 0, stepY, x, y].join(lineEnd);
    const found = await openBeside({ [beside]: text }, UNPLACED, name);
    await rm(join(folder, beside));
    expect(found).toMatchObject({ stepX: width, stepY, crs: 'EPSG:32633' });
    expect([found.originX + width / 2, found.originY + stepY / 2]).toEqual([x, y]);
    expect(found.notes).toEqual([expect.stringMatching(/^raster\/world-file: .* gives the position/)]);
  });

  test('places centres also where the TIFF says that cells represent points', async () => {
    const geoKeyDirectory = [1, 1, 0, 2, 1025, 0, 1, 2, 3072, 0, 1, 32633];
    const found = await openBeside({ 'x.tfw': '2\n0\n0\n-2\n1\n-1\n' }, { ...UNPLACED, geoKeyDirectory });
    expect(found).toMatchObject({ originX: 0, originY: 0 });
  });

  test('may have decimal commas and further lines', async () => {
    const found = await openBeside({ 'x.tfw': '0,5\n0\n0\n-5.0E-1\n1\n2\nmetres\n' });
    expect(found).toMatchObject({ originX: 0.75, originY: 2.25, stepX: 0.5, stepY: -0.5 });
  });

  test('is not needed by a TIFF that has a placement of its own, whatever it holds, and a note says so', async () => {
    const found = await openBeside({ 'x.tfw': 'broken' }, {});
    expect(found).toMatchObject({ originX: 100, originY: 200, stepX: 2, stepY: -3 });
    expect(found.notes).toEqual([expect.stringMatching(/^raster\/world-file: .*x\.tfw is ignored/)]);
  });

  test('is taken from .tfw before .wld', async () => {
    const texts = { 'x.wld': '9\n0\n0\n-9\n0\n0', 'x.tfw': '2\n0\n0\n-2\n0\n0' };
    expect(await openBeside(texts)).toMatchObject({ stepX: 2 });
  });

  test.each([
    ['too few lines', '1\n0\n0\n-1\n5\n', 'format/bad-world-file'],
    ['no lines', '', 'format/bad-world-file'],
    ['words', '1\n0\nnone\n-1\n5\n5\n', 'format/bad-world-file'],
    ['two numbers in a line', '1 0\n0\n0\n-1\n5\n5\n', 'format/bad-world-file'],
    ['a rotation', '1\n0.5\n0.5\n-1\n5\n5\n', 'format/unsupported-geotransform'],
    ['a width of zero', '0\n0\n0\n-1\n5\n5\n', 'format/unsupported-geotransform'],
    ['columns from east to west', '-1\n0\n0\n-1\n5\n5\n', 'format/unsupported-geotransform'],
    ['a number beyond f64', '1\n0\n0\n-1\n1e999\n5\n', 'format/unsupported-geotransform'],
  ])('with %s is refused', async (_, text, code) => {
    await expect(openBeside({ 'x.tfw': text })).rejects.toMatchObject({ code, remedy: expect.any(String) });
  });
});
