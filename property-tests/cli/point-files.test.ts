import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { geoParquetOf, HAS_SQLITE, wkbBytes } from '../support/binary-layers-support.ts';
import type { Ending } from '../support/cli-support.ts';
import { zipOf } from '../support/zip-support.ts';
import { type IndexWorkshop, openIndexWorkshop } from './cli-index-support.ts';

const FIXTURES = join(import.meta.dirname, '..', 'fixtures', 'point-layers');
const COMPANIONS = ['points.dbf', 'points.shx', 'points.prj', 'points.cpg'];
const WRITTEN = ['points.csv', 'points.geojson', 'points.geojsonl', 'points.fgb', 'points.shp', 'points.gpkg'];
/** Files of the same points, of which GDAL wrote all but the last three. */
const FILES = [...WRITTEN, 'points.zip', 'geo.parquet', 'table.parquet'].filter(
  (file) => HAS_SQLITE || file !== 'points.gpkg',
);

let shop: IndexWorkshop;
beforeAll(async () => {
  shop = await openIndexWorkshop();
  for (const file of [...WRITTEN, ...COMPANIONS]) await copyFile(join(FIXTURES, file), shop.path(file));
  const parts = ['points.shp', ...COMPANIONS].map(async (file) => [file, await readFile(shop.path(file))] as const);
  await shop.write('points.zip', zipOf(Object.fromEntries(await Promise.all(parts))));
  const rows = (await readFile(shop.path('points.csv'), 'utf8'))
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','));
  const name = { name: 'name', data: rows.map(([name]) => name!), type: 'STRING' } as const;
  const number = (column: number) => rows.map((row) => Number(row[column]));
  const geometries = rows.map((_, row) => pointOf(number(1)[row]!, number(2)[row]!));
  await shop.write('geo.parquet', geoParquetOf(geometries, { columns: [name] }));
  const [lon, lat] = ['lon', 'lat'].map(
    (called, at) => ({ name: called, data: number(at + 1), type: 'DOUBLE' }) as const,
  );
  // Columns of coordinates win over geometries, which are other ones here.
  await shop.write(
    'table.parquet',
    geoParquetOf(
      rows.map(() => pointOf(0, 0)),
      { columns: [name, lon!, lat!] },
    ),
  );
});
afterAll(() => shop.remove());

const pointOf = (x: number, y: number): Uint8Array =>
  wkbBytes((to) => {
    to.head(1);
    to.position(x, y);
  });

/** The words that name a file: of the GeoPackage, which has several layers, also the layer. */
const withLayer = (file: string, option = '--layer'): string[] => [
  `@${file}`,
  ...(file === 'points.gpkg' ? [option, 'points'] : []),
];
const neighbours = (...words: readonly string[]): Promise<Ending> =>
  shop.quadrille(['neighbours', ...words, '--backend', 'reference']);
const query = (...words: readonly string[]): Promise<Ending> => shop.query('@shapes.maq', ...words);
const answered = async (run: Promise<Ending>): Promise<string> => {
  const { exitCode, stdout, stderr } = await run;
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return stdout;
};

describe('the same points in every format', () => {
  const named = ['--id', 'name', '-k', '3'];
  test.each(FILES)('have the same neighbours, as points and as queries: %s', async (file) => {
    const own = withLayer(file);
    for (const metric of ['l2', 'sphere']) {
      const options = [...named, '--metric', metric];
      expect(await answered(neighbours(...own, ...options))).toBe(
        await answered(neighbours('@points.csv', ...options)),
      );
    }
    const asking = ['--queries', '@points.csv', '--query-id', 'name'];
    const asked = ['--queries', ...withLayer(file, '--query-layer'), '--query-id', 'name'];
    const expected = await answered(neighbours('@points.csv', ...named, ...asking));
    expect(await answered(neighbours(...own, ...named, ...asking))).toBe(expected);
    expect(await answered(neighbours('@points.csv', ...named, ...asked))).toBe(expected);
    expect(await answered(neighbours(...own, '-k', '2'))).toBe(await answered(neighbours('@points.csv', '-k', '2')));
  });

  test.each(FILES)('are in the same polygons: %s', async (file) => {
    const own = withLayer(file);
    for (const options of [['--id', 'name'], ['--count', 'polygon'], []]) {
      // Without a name, the key of a GeoPackage names points, and counts from 1.
      if (options.length === 0 && file === 'points.gpkg') continue;
      const expected = await answered(query('--points', '@points.csv', ...options));
      expect(expected.split('\n').length).toBeGreaterThan(3);
      expect(await answered(query('--points', ...own, ...options))).toBe(expected);
    }
  });
});

describe('records that are no points', () => {
  const feature = (geometry: unknown, name: string) => ({ type: 'Feature', properties: { name }, geometry });
  const point = (x: number, y: number) => ({ type: 'Point', coordinates: [x, y] });
  const several = { type: 'MultiPoint', coordinates: [[1, 2], [3, 4]] }; // biome-ignore format: two positions
  const square = { type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]]] }; // biome-ignore format: four positions
  const write = (...geometries: readonly unknown[]) =>
    shop.write('odd.geojson', {
      type: 'FeatureCollection',
      features: geometries.map((geometry, at) => feature(geometry, `n${at}`)),
    });

  test.each([
    [several, '2 points'],
    [square, 'a geometry of another kind'],
    [{ type: 'GeometryCollection', geometries: [point(0, 0), square] }, 'a geometry of another kind'],
  ])('are refused by name, or left out with their number kept: %j', async (geometry, got) => {
    await write(point(10, 10), geometry, point(11, 10), { type: 'MultiPoint', coordinates: [[12, 10]] });
    for (const run of [neighbours('@odd.geojson', '-k', '1'), query('--points', '@odd.geojson', '--id', 'name')]) {
      const { exitCode, stdout, stderr } = await run;
      expect([exitCode, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/The record "(1|n1)" is not a single point/);
      expect(stderr).toContain(got);
    }
    const skip = ['--on-bad-record', 'skip'];
    const left = await neighbours('@odd.geojson', '-k', '1', ...skip);
    expect(left.stdout).toBe('query,rank,id,distance\n0,1,2,1\n2,1,0,1\n3,1,2,1\n');
    expect(left.stderr).toContain('1 row of odd.geojson without finite coordinates was skipped');
    const found = await query('--points', '@odd.geojson', ...skip);
    expect(found.stdout).toBe('point,set,polygon\n0,shapes,frame\n2,shapes,frame\n3,shapes,frame\n');
    expect(found.stderr).toContain('1 row was skipped');
  });

  test('without a geometry are rows without coordinates', async () => {
    await write(point(10, 10), null, point(11, 10));
    expect(await neighbours('@odd.geojson', '-k', '1')).toMatchObject({ exitCode: 2, stdout: '' });
    const { stdout } = await neighbours('@odd.geojson', '-k', '1', '--on-bad-record', 'skip');
    expect(stdout).toBe('query,rank,id,distance\n0,1,2,1\n2,1,0,1\n');
  });
});

describe('systems and columns of points', () => {
  const metres = {
    type: 'FeatureCollection',
    features: [{ type: 'Feature', properties: { x: 'a' }, geometry: { type: 'Point', coordinates: [500_000, 5] } }],
    crs: { type: 'name', properties: { name: 'EPSG:32633' } },
  };

  test('points of another system are refused, also if the file states it behind them', async () => {
    await shop.write('metres.geojson', metres);
    const refusals = [
      neighbours('@metres.geojson', '-k', '1', '--queries', '@points.geojson'),
      query('--points', '@metres.geojson'),
    ];
    for (const run of refusals) {
      const { exitCode, stdout, stderr } = await run;
      expect([exitCode, stdout]).toEqual([2, '']);
      expect(stderr).toContain('EPSG:32633');
    }
  });

  test('columns and layers are refused where there are none', async () => {
    await shop.write('metres.geojson', metres);
    const refusals: [Promise<Ending>, string][] = [
      [neighbours('@points.geojson', '-k', '1', '--columns', 'lon,lat'), 'no columns are their coordinates'],
      [neighbours('@points.csv', '-k', '1', '--layer', 'points'), 'has no layer "points"'],
      [neighbours('@points.geojson', '-k', '1', '--id', 'none'), 'There is no "none"'],
      [neighbours('@metres.geojson', '-k', '1', '--id', 'x'), 'coordinates called "x" already'],
      [query('--points', '@points.csv', '--layer', 'points'), '--layer has no effect with a table of points'],
      [query('--points', '@points.csv', '--assume-crs', 'EPSG:4326'), '--assume-crs has no effect'],
    ];
    for (const [run, said] of refusals) {
      const { exitCode, stdout, stderr } = await run;
      expect([exitCode, stdout, stderr]).toEqual([2, '', expect.stringContaining(said)]);
    }
  });

  test('layers of a GeoPackage are named, and its MultiPoints are points if they have one', async () => {
    const runs = [
      neighbours('@points.gpkg', '-k', '3', '--id', 'name', '--layer', 'multi'),
      neighbours('@points.gpkg', '-k', '3', '--layer', 'several'),
    ] as const;
    const [multi, several] = await Promise.all(runs);
    if (HAS_SQLITE) {
      expect(multi.stdout).toBe(await answered(neighbours('@points.csv', '-k', '3', '--id', 'name')));
      expect(several.stderr).toContain('40 points');
    } else expect(multi.stderr).toContain('Node 24');
    expect([several.exitCode, several.stdout]).toEqual([2, '']);
  });
});
