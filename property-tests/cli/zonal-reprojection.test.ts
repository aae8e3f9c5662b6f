import { copyFile, mkdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PartitionParts } from '../../cli/zonal-partition.ts';
import { zonalParts } from '../../cli/zonal-parts.ts';
import { someOf } from '../cases.ts';
import images from '../fixtures/reprojected.json' with { type: 'json' };
import { farFromEdges } from '../formats/reprojection/far-from-edges.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';
import { shapefileOf } from '../support/polygon-layers-support.ts';
import { openReference } from '../support/reference-context.ts';
import { zonalHere, zonalOnQueue } from './zonal-queue-support.ts';

let workshop: Workshop;
const context = openReference();

beforeAll(async () => {
  workshop = await openWorkshop();
});
afterAll(() => workshop.remove());

type Case = (typeof images.cases)[number];

const SIZE = 100;

const closed = (ring: readonly (readonly number[])[]) => ({ type: 'Polygon', coordinates: [[...ring, ring[0]]] });
const inCrs = (name: string, geometry: object) => ({
  type: 'FeatureCollection',
  crs: { type: 'name', properties: { name } },
  features: [{ type: 'Feature', id: 'z', properties: {}, geometry }],
});

/** A raster of SIZE × SIZE cells around an image, and the image. */
function around({ image }: Case) {
  const [x, y] = [0, 1].map((odd) => image.filter((_, at) => at % 2 === odd)) as [number[], number[]];
  const step = Math.max(Math.max(...x) - Math.min(...x), Math.max(...y) - Math.min(...y)) / (SIZE - 2);
  const grid = {
    originX: Math.min(...x) - step,
    originY: Math.min(...y) + (SIZE - 1) * step,
    stepX: step,
    stepY: -step,
  };
  return { x, y, step, grid };
}

async function cellsOf(...args: readonly string[]): Promise<{ cells: number; stderr: string }> {
  const { stdout, stderr, exitCode } = await workshop.quadrille([
    'zonal',
    ...args,
    ...['--stats', '-', '--stat', 'cells', '--backend', 'reference'],
  ]);
  expect(exitCode, stderr).toBe(0);
  return { cells: Number(/^z,(\d+)$/m.exec(stdout)![1]), stderr };
}

describe('zonal with zones in another system than the raster', () => {
  // Where an edge goes around the globe, a few points of it do not make the zone.
  const withCodes = images.cases.filter(({ to, ring }) => {
    const turns = ring.some(([x], at) => Math.abs(x! - ring[(at + 1) % ring.length]![0]!) === 360);
    return Number(to.slice(5)) < 32767 && !(turns && ring.length < 6);
  });
  test.for(someOf(withCodes, 5))(`counts the cells that ${images.by} counts, from $from to $to`, async (one) => {
    const { x, y, step, grid } = around(one);
    const name = `${one.from}-${one.to}`.replaceAll(':', '');
    await workshop.writeRaster(
      `${name}.tif`,
      { width: SIZE, height: SIZE, ...grid, crs: one.to },
      new Uint8Array(SIZE * SIZE),
    );
    await workshop.write(`${name}.json`, inCrs(one.from, closed(one.ring)));
    await workshop.write(`${name}-gdal.json`, inCrs(one.to, closed(x.map((value, at) => [value, y[at]!]))));
    const raster = ['--raster', `@${name}.tif`];
    const [own, gdal] = [
      await cellsOf('--zones', `@${name}.json`, ...raster),
      await cellsOf('--zones', `@${name}-gdal.json`, ...raster),
    ];
    // Cells whose centre is so near an edge that a tenth of a cell may decide.
    const centres = Array.from({ length: SIZE * SIZE }, (_, cell) => ({
      x: [grid.originX + ((cell % SIZE) + 0.5) * step],
      y: [grid.originY - (Math.floor(cell / SIZE) + 0.5) * step],
    }));
    const unclear = centres.filter((centre) => farFromEdges(centre, { x, y }, step) < 0.1).length;
    expect(own.cells).toBeGreaterThan(SIZE);
    expect(Math.abs(own.cells - gdal.cells)).toBeLessThanOrEqual(unclear);
    expect(unclear).toBeLessThan(SIZE);
    expect(own.stderr).toMatch(
      new RegExp(
        `The zones were brought from ${one.from} to ${one.to} by proj4 2\\.\\d+\\.\\d+\\..* points? w.+ added along edges`,
      ),
    );
    expect(gdal.stderr).not.toContain('brought');
  });

  test('says so in JSON, too', async () => {
    await workshop.writeRaster('utm.tif', {
      originX: 400_000,
      originY: 5_400_000,
      stepX: 25_000,
      stepY: -25_000,
      crs: 'EPSG:32632',
    });
    await workshop.write(
      'deg.json',
      inCrs(
        'EPSG:4326',
        closed([
          [8, 48],
          [9, 48],
          [9, 49],
        ]),
      ),
    );
    const words = [
      '--zones',
      '@deg.json',
      '--raster',
      '@utm.tif',
      '--unique',
      '--format',
      'json',
      '--backend',
      'reference',
    ];
    const { stdout, stderr } = await workshop.quadrille(['zonal', ...words]);
    expect(
      JSON.parse(stdout).notes.map(({ code }: { code: string }) => code),
      stderr,
    ).toContain('zones/reprojected');
  });

  test('takes systems from --zones-crs and --raster-crs, by code or definition', async () => {
    const ring = [
      [8, 48],
      [9, 48],
      [9, 49],
    ];
    await workshop.write(
      'plain.csv',
      `id,wkt\nz,"POLYGON ((${[...ring, ring[0]!].map((place) => place.join(' ')).join(', ')}))"\n`,
    );
    await workshop.writeRaster('silent.tif', {
      originX: 400_000,
      originY: 5_400_000,
      stepX: 25_000,
      stepY: -25_000,
      crs: undefined,
    });
    const files = ['--zones', '@plain.csv', '--id', 'id', '--raster', '@silent.tif'];
    const wanted = await cellsOf('--zones', '@deg.json', '--raster', '@utm.tif');
    expect(wanted.cells).toBe(5);
    const zones = ['--zones-crs', '+proj=longlat +datum=WGS84 +no_defs'];
    expect((await cellsOf(...files, ...zones, '--raster-crs', 'EPSG:32632')).cells).toBe(5);
    const utm = '+proj=tmerc +lon_0=9 +k=0.9996 +x_0=500000 +datum=WGS84';
    expect((await cellsOf(...files, '--zones-crs', 'epsg:4326', '--raster-crs', utm)).cells).toBe(5);
    const { exitCode, stderr } = await workshop.quadrille([
      'zonal',
      ...files,
      '--unique',
      ...zones,
      '--assume-crs',
      'EPSG:4326',
    ]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--zones-crs and --raster-crs')]);
    expect((await workshop.quadrille(['zonal', ...files, '--unique', '--zones-crs', 'nowhere'])).exitCode).toBe(2);
  });

  test('takes the definition from the .prj file where nothing names a code', async () => {
    const prj =
      'PROJCS["Our_Albers",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["Degree",0.0174532925199433]],PROJECTION["Albers"],PARAMETER["False_Easting",100],PARAMETER["False_Northing",0],PARAMETER["Central_Meridian",9],PARAMETER["Standard_Parallel_1",40],PARAMETER["Standard_Parallel_2",50],PARAMETER["Latitude_Of_Origin",48],UNIT["Meter",1]]';
    const triangle = [
      [-70_000, 20_000],
      [60_000, 110_000],
      [60_000, 20_000],
    ];
    await workshop.write('albers.shp', shapefileOf([{ parts: [[triangle.map(([x, y]) => [x!, y!] as const)]] }]));
    await workshop.write('albers.prj', prj);
    const { stdout, stderr, exitCode } = await workshop.quadrille([
      ...[
        'zonal',
        '--zones',
        '@albers.shp',
        '--raster',
        '@utm.tif',
        '--stats',
        '-',
        '--stat',
        'cells',
        '--backend',
        'reference',
      ],
    ]);
    expect(exitCode, stderr).toBe(0);
    expect(stdout).toBe('zone,cells\n0,4\n');
    expect(stderr).toContain('from Our_Albers to EPSG:32632');
  });

  test('counts the same on a queue, whose workers must bring zones to the same places', async () => {
    await mkdir(workshop.path('queue'));
    await copyFile(workshop.path('deg.json'), workshop.path('zones.json'));
    const words = ['--raster', '@utm.tif', '--unique'];
    const { stdout, error } = await zonalOnQueue(workshop, context, words);
    expect([error, stdout]).toEqual([undefined, await zonalHere(workshop, words)]);
    const otherwise: PartitionParts['reprojectZones'] = async (read, to, options) => {
      const brought = await zonalParts.reprojectZones(read, to, options);
      brought.zones.polygons.x[0]! += 1e-6;
      return brought;
    };
    const { error: found } = await zonalOnQueue(workshop, context, words, {
      workerParts: { reprojectZones: otherwise },
    });
    expect(found).toMatchObject({ code: 'zonal/other-zones', remedy: expect.stringContaining('proj4') });
  });

  test('leaves zones out that have no place there, if told', async () => {
    const far = {
      type: 'Feature',
      id: 'far',
      properties: {},
      geometry: closed([
        [100, 10],
        [101, 10],
        [101, 11],
      ]),
    };
    const zones = inCrs(
      'EPSG:4326',
      closed([
        [8, 48],
        [9, 48],
        [9, 49],
      ]),
    );
    await workshop.write('two.json', { ...zones, features: [far, ...zones.features] });
    const words = ['--zones', '@two.json', '--raster', '@utm.tif'];
    const stopped = await workshop.quadrille(['zonal', ...words, '--unique']);
    expect(stopped.exitCode).toBe(2);
    expect(stopped.stderr).toMatch(/two\.json, record 0: Zone "far" .*--on-bad-record skip/);
    const { cells, stderr } = await cellsOf(...words, '--on-bad-record', 'skip');
    expect(cells).toBe(5);
    expect(stderr).toMatch(/1 zone could not be projected and was left out: "far"/);
  });
});
