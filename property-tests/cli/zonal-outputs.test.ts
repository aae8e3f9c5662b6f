import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
    expect(other.stdout.split('\n')[0]).toBe('zone,name,pop,zone_count,frac_4,mixed,mean');
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
