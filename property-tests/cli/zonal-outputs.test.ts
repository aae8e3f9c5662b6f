import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readZones } from '../../formats/polygons/read-zones.ts';
import { arrowTexts } from '../support/arrow-texts.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { parseCsv } from '../support/parse-csv.ts';

let workshop: Workshop;
beforeAll(async () => {
  workshop = await openWorkshop();
  const named = (id: string, at: number, properties: object) => ({
    ...zone(id, rectangle(at, 0, at + 2, 3)),
    properties,
  });
  await workshop.write(
    'zones.json',
    collection(
      named('a', 0, { name: 'We, "st"', pop: 12, count: 3, frac_4: true, mixed: 1 }),
      named('b', 2, { name: '', mixed: { of: [1] } }),
    ),
  );
  await workshop.writeRaster('r.tif', {}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  await workshop.writeRaster('s.tif', {}, [0, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});
afterAll(() => workshop.remove());

const zonal = (...args: readonly string[]) =>
  workshop.quadrille(['zonal', '--zones', '@zones.json', '--backend', 'reference', ...args]);

describe('zonal with files that end in .arrow', () => {
  test('writes the tables of several rasters as one, with the types of their columns', async () => {
    const words = ['--raster', '@r.tif', '--raster', '@s.tif', '--include-field', 'pop,name', '--bins', '0:12:3'];
    const written = await zonal(...words, '--stats', '@stats.arrow', '--out', '@out.arrow');
    expect(written.exitCode, written.stderr).toBe(0);
    const expected = await zonal(...words, '--stats', '-', '--out', '@out.csv');
    const stats = arrowTexts(await readFile(workshop.path('stats.arrow')));
    expect([stats.names, ...stats.rows]).toEqual(parseCsv(expected.stdout));
    const bins = arrowTexts(await readFile(workshop.path('out.arrow')));
    expect(bins.names.join()).toBe('raster,zone,pop,name,kind,lower,upper,count');
    const csv = parseCsv(await readFile(workshop.path('out.csv'), 'utf8')).slice(1);
    expect(bins.rows.map((row) => row.toSpliced(4, 1))).toEqual(csv);
    expect(new Set(bins.rows.map((row) => row[4]))).toEqual(new Set(['bin']));
  });

  test('refuses rasters whose smallest values have different types', async () => {
    const wide = Array.from({ length: 12 }, (_, cell) => BigInt(cell));
    await workshop.writeRaster('w.tif', { sample: 'i64' }, wide as never);
    const words = ['--raster', '@r.tif', '--raster', '@w.tif', '--stats', '@mixed.arrow'];
    const { stderr, exitCode } = await zonal(...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('one Arrow file cannot hold their column min');
  });
});

describe('zonal with --stats that ends in .geojson or .fgb', () => {
  const layerOf = async (...words: readonly string[]) => {
    const run = await zonal(...words, '--stats', '@layer.geojson', '--include-field', 'pop,name');
    expect(run.exitCode, run.stderr).toBe(0);
    const table = await zonal(...words, '--stats', '-', '--include-field', 'pop,name');
    const layer = JSON.parse(await readFile(workshop.path('layer.geojson'), 'utf8'));
    const again = await zonal(...words, '--stats', '@layer.fgb', '--include-field', 'pop,name');
    expect(again.exitCode, again.stderr).toBe(0);
    const read = await readZones(workshop.path('layer.fgb'), { attributes: 'all' });
    return { stderr: run.stderr, features: layer.features, read, rows: parseCsv(table.stdout) };
  };

  test('writes the zones with the rows of the table', async () => {
    const { features, read, rows, stderr } = await layerOf('--raster', '@r.tif');
    const [header, ...lines] = rows;
    expect(Object.keys(features[0].properties)).toEqual(header);
    const texts = features.map(({ properties }: { properties: object }) =>
      Object.values(properties).map((value) => (value === null ? '' : String(value))),
    );
    expect(texts).toEqual(lines);
    expect(features[1].geometry).toEqual({ type: 'Polygon', coordinates: [rectangle(2, 0, 4, 3)] });
    expect(read.attributes!.map(({ name }) => name)).toEqual(header);
    expect(stderr).not.toContain('no code');
  });

  test('has a feature of each zone for each raster, or one with --wide', async () => {
    const both = ['--raster', '@r.tif', '--raster', '@s.tif'];
    const { features, read, rows } = await layerOf(...both);
    expect([features.length, read.zones.names.length, rows.length]).toEqual([4, 4, 5]);
    expect(features[3].geometry).toEqual(features[1].geometry);
    const wide = await layerOf(...both, '--wide');
    expect([wide.features.length, wide.read.zones.names.length]).toEqual([2, 2]);
    expect(Object.keys(wide.features[0].properties)).toEqual(wide.rows[0]);
  });

  test('notes that a system is unknown, which readers of GeoJSON would take for longitudes and latitudes', async () => {
    await workshop.write('plain.csv', 'wkt\n"POLYGON((0 0,2 0,2 3,0 0))"\n');
    const words = ['zonal', '--zones', '@plain.csv', '--raster', '@r.tif', '--stats', '@plain.geojson'];
    const { exitCode, stderr } = await workshop.quadrille([...words, '--backend', 'reference']);
    expect([exitCode, stderr]).toEqual([
      0,
      expect.stringMatching(/The coordinate system of the zones is unknown.*--zones-crs EPSG:N/),
    ]);
  });
});

describe('zonal --band', () => {
  const words = ['--include-field', 'pop', '--stats', '-', '--stat', 'sum,max'];
  const one = async (raster: string, band: number) => {
    const run = await zonal('--raster', raster, '--band', `${band}`, ...words);
    expect(run.exitCode, run.stderr).toBe(0);
    return parseCsv(run.stdout);
  };
  beforeAll(async () => {
    const bands = { bands: 3, sample: 'i16' } as const;
    await workshop.writeRaster(
      'three.tif',
      bands,
      Array.from({ length: 36 }, (_, at) => (at * 37) % 101),
    );
    await workshop.writeRaster(
      'more.tif',
      bands,
      Array.from({ length: 36 }, (_, at) => -at),
    );
    await workshop.writeRaster(
      'right.tif',
      { ...bands, originX: 2 },
      Array.from({ length: 36 }, (_, at) => at),
    );
  });

  test('counts bands as they are counted one by one, in rows of their own', async () => {
    const [header, ...rows] = parseCsv((await zonal('--raster', '@three.tif', '--band', '3,1', ...words)).stdout);
    expect(header).toEqual(['band', 'zone', 'pop', 'sum', 'max']);
    const expected = await Promise.all([3, 1].map(async (band) => (await one('@three.tif', band)).slice(1)));
    expect(rows).toEqual([3, 1].flatMap((band, at) => expected[at]!.map((row) => [`${band}`, ...row])));
    const all = parseCsv((await zonal('--raster', '@three.tif', '--band', 'all', ...words)).stdout);
    expect(all.slice(1).map(([band]) => band)).toEqual(['1', '1', '2', '2', '3', '3']);
    expect(await zonal('--raster', '@r.tif', '--band', 'all', ...words)).toMatchObject({
      stdout: (await zonal('--raster', '@r.tif', ...words)).stdout,
    });
  });

  test('counts the bands of several rasters, by themselves or as one surface', async () => {
    const several = ['--raster', '@three.tif', '--raster', '@more.tif', '--raster', '@r.tif', '--band', 'all'];
    const [header, ...rows] = parseCsv((await zonal(...several, ...words)).stdout);
    expect(header!.slice(0, 3)).toEqual(['raster', 'band', 'zone']);
    const names = ['three.tif', 'more.tif'].flatMap((name) => [1, 2, 3].map((band) => [name, band] as const));
    const expected = [...names, ['r.tif', 1] as const].map(async ([name, band]) =>
      (await one(`@${name}`, band)).slice(1).map((row) => [workshop.path(name), `${band}`, ...row]),
    );
    expect(rows).toEqual((await Promise.all(expected)).flat());
    const parts = ['--raster', '@three.tif', '--raster', '@right.tif', '--merge'];
    const merged = parseCsv((await zonal(...parts, '--band', '2,1', ...words)).stdout);
    const alone = [2, 1].map(async (band) => {
      const run = await zonal(...parts, '--band', `${band}`, ...words);
      return parseCsv(run.stdout)
        .slice(1)
        .map((row) => [`${band}`, ...row]);
    });
    expect(merged.slice(1)).toEqual((await Promise.all(alone)).flat());
    expect(
      await zonal('--raster', '@three.tif', '--raster', '@r.tif', '--merge', '--band', 'all', ...words),
    ).toMatchObject({ exitCode: 2, stdout: '' });
  });

  test('names bands in JSON and Arrow, and says once where all are', async () => {
    const run = await zonal('--raster', '@three.tif', '--band', '1,2', '--bins', '0:200:50', '--format', 'json');
    const { source, rasters, zones } = JSON.parse(run.stdout) as {
      readonly source: object;
      readonly rasters: readonly object[];
      readonly zones: readonly { readonly band: number; readonly name: string }[];
    };
    expect(Object.keys(source)).toEqual(['zones', 'raster']);
    expect(rasters).toMatchObject([{ band: 1, sample: 'i16' }, { band: 2 }]);
    expect(zones.map(({ band, name }) => [band, name])).toEqual([
      [1, 'a'],
      [1, 'b'],
      [2, 'a'],
      [2, 'b'],
    ]);
    expect(run.stderr).toContain('inside in 2 bands');
    const expected = await zonal('--raster', '@three.tif', '--band', '1,2', ...words);
    await zonal('--raster', '@three.tif', '--band', '1,2', ...words.with(3, '@bands.arrow'));
    const table = arrowTexts(await readFile(workshop.path('bands.arrow')));
    expect([table.names, ...table.rows]).toEqual(parseCsv(expected.stdout));
  });

  test('refuses bands that are none, stand twice or do not exist, and frac of several', async () => {
    for (const [band, stat] of [
      ['0', 'sum'],
      ['1,1', 'sum'],
      ['1,x', 'sum'],
      ['4', 'sum'],
      ['1,4', 'sum'],
      ['1,2', 'frac'],
    ]) {
      const run = await zonal('--raster', '@three.tif', '--band', band!, '--stats', '-', '--stat', stat!);
      expect([run.exitCode, run.stdout]).toEqual([2, '']);
    }
  });
});

describe('zonal --include-field', () => {
  test('writes attributes after the zone, in the order of the list, into every output', async () => {
    const run = await zonal(
      ...['--raster', '@r.tif', '--raster', '@s.tif', '--include-field', 'pop,name', '--include-field', 'mixed'],
      ...['--stats', '-', '--stat', 'count,min', '--out', '@out.json', '--bins', '0:12:12'],
    );
    expect(run.exitCode, run.stderr).toBe(0);
    const path = (name: string): string => workshop.path(name);
    expect(run.stdout.split('\n')).toEqual([
      'raster,zone,pop,name,mixed,count,min',
      ...['r.tif', 's.tif'].flatMap((raster) => [
        `${path(raster)},a,12,"We, ""st""",1,6,0`,
        `${path(raster)},b,,"","{""of"":[1]}",6,2`,
      ]),
      '',
    ]);
    expect(run.stderr).toContain(
      '1 attribute has values of several kinds, or lists or objects, and is given as text: "mixed"',
    );
    const { zones } = JSON.parse(await readFile(path('out.json'), 'utf8')) as {
      zones: { raster: string; attributes: object }[];
    };
    expect(zones.map(({ attributes }) => attributes)).toEqual(
      [0, 1].flatMap(() => [
        { pop: 12, name: 'We, "st"', mixed: '1' },
        { pop: null, name: '', mixed: '{"of":[1]}' },
      ]),
    );
  });

  test('renames attributes that would have the name of another column, with a note', async () => {
    const all = ['--raster', '@r.tif', '--include-field', 'all', '--stats', '-', '--stat'];
    const run = await zonal(...all, 'frac,count');
    expect(run.stdout.split('\n')[0]).toMatch(/^zone,name,pop,zone_count,zone_frac_4,mixed,frac_0,/);
    expect(run.stderr).toContain('2 attributes are written with zone_ before the name');
    const other = await zonal(...all, 'mean');
    expect(other.stdout.split('\n')[0]).toBe('zone,name,pop,count,frac_4,mixed,mean');
  });

  test('refuses names that no zone has, that stand twice, and all beside others', async () => {
    const refused = async (...names: readonly string[]) => {
      const words = names.flatMap((name) => ['--include-field', name]);
      const { stdout, stderr, exitCode } = await zonal('--raster', '@r.tif', '--stats', '-', ...words);
      expect([stdout, exitCode === 0]).toEqual(['', false]);
      return stderr;
    };
    expect(await refused('nam')).toContain('There are "name", "pop", "count", "frac_4", "mixed".');
    expect(await refused('name', 'pop,name')).toContain('names name twice');
    expect(await refused('all,name')).toContain('names all attributes, and others');
    expect(await refused('name,')).toContain('has an empty name');
  });
});
