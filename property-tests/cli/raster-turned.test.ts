import { readdir, rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { openTurnedGeoTiff } from '../../formats/rasters/geotiff.ts';
import { writeTiff } from '../../formats/rasters/geotiff-writer.ts';
import type { Field } from '../../formats/rasters/tiff/directory-writer.ts';
import type { GeoTransform } from '../../formats/rasters/tiff/georeference.ts';
import { costlyCaseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
  await shop.write('zones.json', collection(zone('a', rectangle(0, 0, 3, 3))));
});
afterAll(() => shop.remove());

const run = async (...words: readonly string[]): Promise<string> => {
  const { exitCode, stdout, stderr } = await shop.quadrille(words);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return stdout;
};

/** How a file states its placement: in its tags, in a side file of GDAL, or in a world file beside tie points. */
type Way = 'matrix' | 'side' | 'world';

const [WIDTH, HEIGHT] = [9, 7];
const cells = Int16Array.from({ length: WIDTH * HEIGHT }, (_, i) => (i * 31) % 17);

/** Writes `turned.tif`, whose matrix, side file or world file has these numbers. */
async function writeTurned([x, a, b, y, d, e]: GeoTransform, way: Way, pixelIsPoint: boolean): Promise<void> {
  for (const name of ['turned.tfw', 'turned.tif.aux.xml']) await rm(shop.path(name), { force: true });
  const place: Field =
    way === 'world'
      ? { tag: 'modelTiepoint', type: 'double', values: [0, 0, 0, 1, 2, 0] }
      : { tag: 'modelTransformation', type: 'double', values: [a, b, 0, x, d, e, 0, y, 0, 0, 0, 0, 0, 0, 0, 1] };
  const other: Field = { ...place, values: [5, 0, 0, 6, 0, 7, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1] } as Field;
  if (way === 'world') await shop.write('turned.tfw', [a, d, b, e, x, y].join('\n'));
  if (way === 'side') {
    const text = `<PAMDataset><GeoTransform>${[x, a, b, y, d, e].join(', ')}</GeoTransform></PAMDataset>`;
    await shop.write('turned.tif.aux.xml', text);
  }
  const upright = { width: WIDTH, height: HEIGHT, originX: 0, originY: 0, stepX: 1, stepY: -1 };
  const raster = { ...upright, sample: 'i16', crs: 'EPSG:3035', pixelIsPoint } as const;
  const rows = async ({ row, rows }: { readonly row: number; readonly rows: number }) =>
    cells.slice(row * WIDTH, (row + rows) * WIDTH);
  await writeTiff(shop.path('turned.tif'), raster, rows, { fields: [way === 'side' ? other : place] });
}

/** Numbers of which sums and halves are exact. */
const exact = fc.integer({ min: -(2 ** 20), max: 2 ** 20 }).map((n) => n / 64);
const transforms = fc
  .tuple(exact, exact, exact, exact, exact, exact)
  .filter(([, a, b, , d, e]) => (a !== 0 || d !== 0) && (b !== 0 || e !== 0));
const ways = fc.constantFrom<Way>('matrix', 'side', 'world');

/** The placement of a file. */
async function placeOf(name: string): Promise<GeoTransform> {
  const raster = await openTurnedGeoTiff(shop.path(name), { threads: 0 });
  expect(raster).toMatchObject({ crs: 'EPSG:3035' });
  await raster.close();
  return raster.geoTransform;
}

describe('quadrille raster', () => {
  test.prop([transforms, ways, fc.boolean(), fc.nat(WIDTH - 1), fc.nat(HEIGHT - 1)], { numRuns: costlyCaseCount(60) })(
    'keeps cells that are rotated, sheared or mirrored as they are',
    async (stated, way, isPoint, column, row) => {
      await writeTurned(stated, way, isPoint);
      const [x, a, b, y, d, e] = stated;
      const isCentre = way === 'world' || (way === 'matrix' && isPoint);
      const place = isCentre ? [x - (a + b) / 2, a, b, y - (d + e) / 2, d, e] : stated;
      expect(await placeOf('turned.tif')).toEqual(place);
      await run('raster', 'encode', '@turned.tif', '-o', '@turned.qbp', '--quiet');
      const facts = JSON.parse(await run('raster', 'info', '@turned.qbp', '--check', '--json', '--quiet'));
      expect(facts.geoTransform).toEqual(place);
      await run('raster', 'decode', '@turned.qbp', '-o', '@back.tif', '--quiet');
      expect(await placeOf('back.tif')).toEqual(place);
      const window = [column, row, WIDTH - column, HEIGHT - row].join(',');
      await run('raster', 'decode', '@turned.qbp', '-o', '@part.tif', '--window', window, '--quiet');
      const moved = [place[0]! + column * a + row * b, a, b, place[3]! + column * d + row * e, d, e];
      expect(await placeOf('part.tif')).toEqual(moved);
    },
  );

  test.prop([fc.tuple(...Array.from({ length: 6 }, () => fc.double({ noNaN: true, noDefaultInfinity: true })))], {
    numRuns: costlyCaseCount(20),
  })('keeps the matrix of a GeoTIFF to the bit', async (numbers) => {
    const matrix = numbers.map((number) => (number === 0 ? 1 : number)) as unknown as GeoTransform;
    await writeTurned(matrix, 'matrix', false);
    await run('raster', 'encode', '@turned.tif', '-o', '@turned.qbp', '--quiet');
    await run('raster', 'decode', '@turned.qbp', '-o', '@back.tif', '--quiet');
    expect(await placeOf('back.tif')).toEqual(matrix);
  });

  test.each([
    ['rotated or sheared', [0, 1, 0.25, 3, -0.25, -1]],
    ['rotated or sheared', [0, 0, 1, 3, 1, 0]],
    ['mirrored', [3, -1, 0, 3, 0, -1]],
  ] as const)('lets zonal refuse cells that are %s: %j', async (what, matrix) => {
    await writeTurned(matrix, 'matrix', false);
    await run('raster', 'encode', '@turned.tif', '-o', '@turned.qbp', '--quiet');
    for (const name of ['@turned.tif', '@turned.qbp']) {
      const words = ['zonal', '--zones', '@zones.json', '--raster', name, '--bins', '0:20:1', '--json-log'];
      const { exitCode, stderr } = await shop.quadrille([
        ...words,
        '--assume-crs',
        'EPSG:3035',
        '--backend',
        'reference',
      ]);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining('format/unsupported-geotransform')]);
      expect(stderr).toContain(what);
      expect(stderr).toContain('gdalwarp');
    }
  });

  test('refuses cells without a size', async () => {
    await writeTurned([0, 0, 1, 3, 0, -1], 'matrix', false);
    const { exitCode, stderr } = await shop.quadrille(['raster', 'encode', '@turned.tif', '-o', '@no.qbp', '--quiet']);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('has steps of zero')]);
    expect(await readdir(shop.folder)).not.toContain('no.qbp');
  });
});
