import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { craftedTiff, type Tags } from '../fixtures/crafted-tiff.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';

let workshop: Workshop;
beforeAll(async () => {
  workshop = await openWorkshop();
  await workshop.write('zones.json', collection(zone('a', rectangle(0, 0, 2, 2)), zone('b', rectangle(2, 0, 4, 3))));
  await workshop.write('world.json', collection(zone('w', rectangle(-180, -90, 180, 90))));
});
afterAll(() => workshop.remove());

const zonal = (raster: string, ...args: readonly string[]) =>
  workshop.quadrille([
    'zonal',
    '--zones',
    '@zones.json',
    '--raster',
    `@${raster}`,
    '--unique',
    '--backend',
    'reference',
    ...args,
  ]);

/** 4 × 3 cells of size 1 whose lower left corner is at 0, 0. */
const PLACED: Tags = { modelPixelScale: [1, 1, 0], modelTiepoint: [0, 0, 0, 0, 3, 0] };
const keys = (...values: readonly number[]) => [1, 1, 0, values.length / 4, ...values];
const LONLAT = keys(1024, 0, 1, 2, 2048, 0, 1, 4326);
const LAEA = keys(1024, 0, 1, 1, 1026, 34737, 5, 0, 3072, 0, 1, 32767);

/** Counts of the cells of each zone. */
async function cellsIn(raster: string, ...args: readonly string[]): Promise<Record<string, number>> {
  const { stdout, stderr, exitCode } = await zonal(raster, ...args);
  expect(exitCode, stderr).toBe(0);
  const cells: Record<string, number> = {};
  for (const line of stdout.trim().split('\n').slice(1)) {
    const [name, , , count] = line.split(',') as [string, string, string, string];
    cells[name] = (cells[name] ?? 0) + Number(count);
  }
  return cells;
}

describe('zonal with a raster', () => {
  test('counts the cells that share area with a zone under --pixels all-touched', async () => {
    await workshop.write('plain.tif', craftedTiff({ ...PLACED, geoKeyDirectory: LONLAT }));
    await workshop.write(
      'small.json',
      collection(zone('s', rectangle(0.6, 0.6, 1.4, 2)), zone('t', rectangle(2, 0, 4, 3))),
    );
    const counted = async (...args: readonly string[]) => {
      const words = ['--zones', '@small.json', '--raster', '@plain.tif', '--stats', '-', '--backend', 'reference'];
      const { stdout, stderr, exitCode } = await workshop.quadrille(['zonal', ...words, ...args]);
      expect(exitCode, stderr).toBe(0);
      return stdout.split('\n').map((line) => line.split(',').slice(0, 2).join(' '));
    };
    expect((await counted()).slice(1, 3)).toEqual(['s 0', 't 6']);
    expect((await counted('--pixels', 'all-touched')).slice(1, 3)).toEqual(['s 4', 't 6']);
    expect((await zonal('plain.tif', '--pixels', 'touched')).exitCode).toBe(2);
  });

  test('weighs cells by the fractions that are in the zone under --pixels fractional', async () => {
    await workshop.write('plain.tif', craftedTiff({ ...PLACED, geoKeyDirectory: LONLAT }));
    await workshop.write(
      'half.json',
      collection(zone('s', rectangle(0.75, 0.5, 1.25, 2)), zone('t', rectangle(2, 0, 4, 3))),
    );
    const run = (...args: readonly string[]) =>
      workshop.quadrille([
        'zonal',
        '--zones',
        '@half.json',
        '--raster',
        '@plain.tif',
        '--pixels',
        'fractional',
        ...args,
      ]);
    const csv = await run('--stats', '-', '--backend', 'reference');
    const rows = csv.stdout.split('\n').map((line) => line.split(','));
    expect(rows[0]!.slice(0, 4)).toEqual(['zone', 'cells', 'count', 'nodata']);
    expect(rows.slice(1, 3).map((row) => row.slice(0, 3).join(' '))).toEqual(['s 4 0.75', 't 6 6']);
    const json = await run('--stats', '@half-stats.json', '--stat', 'cells,count,nodata', '--backend', 'reference');
    expect(json.exitCode, json.stderr).toBe(0);
    expect(JSON.parse(await readFile(workshop.path('half-stats.json'), 'utf8'))).toEqual([
      { zone: 's', cells: 4, count: 0.75, nodata: 0 },
      { zone: 't', cells: 6, count: 6, nodata: 0 },
    ]);
    const binned = await run('--unique', '--backend', 'reference');
    const areas = { s: 0, t: 0 };
    for (const line of binned.stdout.trimEnd().split('\n').slice(1)) {
      const [zone, , , area] = line.split(',');
      areas[zone as 's' | 't'] += Number(area);
    }
    expect(areas).toEqual({ s: 0.75, t: 6 });
  });

  test('in a user-defined projection is refused, and counts under --assume-crs', async () => {
    await workshop.write('laea.tif', craftedTiff({ ...PLACED, geoKeyDirectory: LAEA, geoAsciiParams: 'LAEA|' }));
    const { exitCode, stderr, stdout } = await zonal('laea.tif');
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/a projected coordinate system of its own called "LAEA".*--assume-crs/s);
    expect(await cellsIn('laea.tif', '--assume-crs', 'EPSG:3035')).toEqual({ a: 4, b: 6 });
  });

  test('in a geocentric system is refused, by its name', async () => {
    const geoKeyDirectory = keys(1024, 0, 1, 3, 2048, 0, 1, 4978);
    await workshop.write('geocentric.tif', craftedTiff({ ...PLACED, geoKeyDirectory }));
    const { exitCode, stderr } = await zonal('geocentric.tif');
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining('states the geocentric coordinate system EPSG:4978'),
    ]);
  });

  test('whose placement is in a world file counts its cells', async () => {
    const tags = { modelPixelScale: undefined, modelTiepoint: undefined, geoKeyDirectory: LONLAT };
    await workshop.write('world-file.tif', craftedTiff(tags));
    await workshop.write('world-file.tfw', '1\n0\n0\n-1\n0.5\n2.5\n');
    expect(await cellsIn('world-file.tif')).toEqual({ a: 4, b: 6 });
  });

  test('whose side file gives placement and system counts its cells by them, with a note', async () => {
    await workshop.write('side.tif', craftedTiff());
    await workshop.write(
      'side.tif.aux.xml',
      '<PAMDataset><SRS>EPSG:4326</SRS><GeoTransform>0,1,0,3,0,-1</GeoTransform></PAMDataset>',
    );
    expect(await cellsIn('side.tif')).toEqual({ a: 4, b: 6 });
    expect((await zonal('side.tif')).stderr).toContain('side.tif.aux.xml gives the geotransform');
  });

  test.each<[string, readonly number[], readonly number[], boolean]>([
    ['a latitude of 103', [1, 1, 0], [0, 0, 0, 0, 103, 0], false],
    ['a longitude of 541', [1, 1, 0], [0, 0, 0, 537.5, 3, 0], false],
    ['a longitude of -541', [1, 1, 0], [0, 0, 0, -541, 3, 0], false],
    ['a latitude of -91', [1, 1, 0], [0, 0, 0, 0, -88, 0], false],
    ['metres', [1000, 1000, 0], [0, 0, 0, 500_000, 5_000_000, 0], false],
    ['nodes at the poles', [120, 90, 0], [0, 0, 0, -240, 135, 0], true],
    ['longitudes to 540', [1, 1, 0], [0, 0, 0, 536, 3, 0], true],
  ])('without a system and with %s', async (_, modelPixelScale, modelTiepoint, isTaken) => {
    const tags: Tags = { modelPixelScale, modelTiepoint, geoKeyDirectory: undefined };
    await workshop.write('silent.tif', craftedTiff(tags));
    const { exitCode, stderr } = await zonal('silent.tif');
    const said = isTaken ? 'is not known; assumed to be that of the zones' : 'cannot be longitudes and latitudes';
    expect([exitCode, stderr]).toEqual([isTaken ? 0 : 2, expect.stringContaining(said)]);
    if (isTaken) return;
    expect(stderr).toContain('--assume-crs EPSG:N');
    expect((await zonal('silent.tif', '--assume-crs', 'EPSG:3035')).exitCode).toBe(0);
  });
});

describe('zonal notes', () => {
  test('zones that collapse on the grid of the raster, by their names', async () => {
    await workshop.writeRaster('r.tif');
    const thin = zone('thin', rectangle(0.5, 0.2, 0.5 + 2 ** -23, 2));
    const flat = zone('flat', rectangle(0.2, 0.5, 2, 0.5 + 2 ** -23));
    await workshop.write('thin.json', collection(zone('a', rectangle(0, 0, 2, 2)), thin, flat));
    const { stderr } = await workshop.quadrille([
      'zonal',
      '--zones',
      '@thin.json',
      '--raster',
      '@r.tif',
      '--unique',
      '--backend',
      'reference',
    ]);
    expect(stderr).toMatch(/2 zones are narrower than a step of the raster's grid.*"thin", "flat"\./);
    expect(stderr).not.toContain('No centre of a cell');
  });

  test('nothing of a zone around the whole world', async () => {
    await workshop.writeRaster('global.tif', {
      width: 4,
      height: 3,
      originX: -180,
      originY: 90,
      stepX: 90,
      stepY: -60,
    });
    const { stdout, stderr } = await workshop.quadrille([
      'zonal',
      '--zones',
      '@world.json',
      '--raster',
      '@global.tif',
      '--unique',
      '--backend',
      'reference',
    ]);
    expect(stdout.trim().split('\n')).toHaveLength(13);
    expect(stderr).not.toContain('antimeridian');
  });

  test('zones by line as they are read', async () => {
    await workshop.writeRaster('r.tif');
    const lines = [zone('a', rectangle(0, 0, 2, 2)), null, zone('b', rectangle(2, 0, 4, 3))];
    await workshop.write('zones.geojsonl', lines.map((line) => JSON.stringify(line)).join('\n'));
    const run = await workshop.quadrille([
      'zonal',
      '--zones',
      '@zones.geojsonl',
      '--raster',
      '@r.tif',
      '--unique',
      '--backend',
      'reference',
    ]);
    expect(run.stdout).toBe((await zonal('r.tif')).stdout);
    expect(run.stderr).toContain('1 record is null or lacks its geometry');
  });
});
