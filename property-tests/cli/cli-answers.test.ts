import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';

let shop: Workshop;

beforeAll(async () => {
  shop = await openWorkshop();
  await shop.writeRaster('raster.tif');
  await shop.writeRaster('wide.tif');
  await shop.write('zones.json', collection(zone('a', rectangle(0, 0, 2, 2)), zone('b', rectangle(2, 0, 4, 3))));
});
afterAll(() => shop.remove());

const zonal = (...words: readonly string[]) => shop.quadrille(['zonal', '--backend', 'reference', ...words]);
const onBoth = (...words: readonly string[]) => zonal('--zones', '@zones.json', '--raster', '@raster.tif', ...words);
/** Returns the stdout of a run. The run must succeed. */
const answer = async (run: ReturnType<typeof zonal>): Promise<string> => {
  const { exitCode, stdout, stderr } = await run;
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return stdout;
};
const statisticsOf = async (zones: object, raster: string, ...words: readonly string[]): Promise<string[]> => {
  await shop.write('these.json', zones);
  const files = ['--zones', '@these.json', '--raster', raster, '--unique', '--out', '@out.csv', '--stats', '-'];
  return (await answer(zonal(...files, ...words))).trimEnd().split('\n').slice(1);
};

describe('outputs', () => {
  test('are CSV on stdout without --out, and with --out -', async () => {
    const expected = 'zone,lower,upper,count\na,4,8,2\na,8,12,2\nb,0,4,2\nb,4,8,2\nb,8,12,2\n';
    expect(await answer(onBoth('--bins', '0:12:4'))).toBe(expected);
    expect(await answer(onBoth('--bins', '0:12:4', '--out', '-'))).toBe(expected);
  });

  test('are statistics on stdout with --stats -', async () => {
    const stats = await answer(onBoth('--bins', '0:12:4', '--out', '@out.csv', '--stats', '-'));
    expect(stats).toBe('zone,cells,nodata,min,max,mean,sum\na,4,0,4,9,6.5,26\nb,6,0,2,11,6.5,39\n');
    expect(await readFile(shop.path('out.csv'), 'utf8')).toContain('a,4,8,2');
  });

  test('are only statistics with --stats and no bins, equal to those beside histograms', async () => {
    const expected = 'zone,cells,nodata,min,max,mean,sum\na,4,0,4,9,6.5,26\nb,6,0,2,11,6.5,39\n';
    expect(await answer(onBoth('--stats', '-'))).toBe(expected);
    expect(await answer(onBoth('--stats', '@alone.csv'))).toBe('');
    expect(await readFile(shop.path('alone.csv'), 'utf8')).toBe(expected);
  });

  test('have the statistics that --stat names, in this order, in CSV and JSON', async () => {
    const named = ['--stat', ' mean,count , nodata,cells,max', '--bins', '0:12:4'];
    const rows = 'zone,mean,count,nodata,cells,max\na,6.5,4,0,4,9\nb,6.5,6,0,6,11\n';
    const picture = await answer(onBoth('--bins', '0:12:4', '--plot', '-'));
    expect(await answer(onBoth(...named, '--out', '@out.json', '--stats', '-', '--plot', '@map.svg'))).toBe(rows);
    expect(await answer(onBoth('--stats', '-', '--stat', 'sum,mean'))).toBe('zone,sum,mean\na,26,6.5\nb,39,6.5\n');
    expect(await readFile(shop.path('map.svg'), 'utf8')).toBe(picture);
    const { zones } = JSON.parse(await readFile(shop.path('out.json'), 'utf8'));
    expect(zones[1]).toMatchObject({ name: 'b', cells: 6, nodata: 0 });
    expect(Object.entries(zones[1].stats)).toEqual(
      Object.entries({ mean: 6.5, count: 6, nodata: 0, cells: 6, max: 11 }),
    );
    // The map needs the mean, which no list has.
    await answer(onBoth('--bins', '0:12:4', '--stats', '@s.csv', '--stat', 'max', '--plot', '@map.svg'));
    expect(await readFile(shop.path('map.svg'), 'utf8')).toBe(picture);
    expect(await readFile(shop.path('s.csv'), 'utf8')).toBe('zone,max\na,9\nb,11\n');
    // A map of another statistic leaves the table as it is.
    const shown = ['--plot', '@map.svg', '--plot-stat', 'stdev', '--out', '@out.json'];
    const table = await answer(onBoth('--bins', '0:12:4', '--stats', '-', '--out', '@out.json'));
    const before = JSON.parse(await readFile(shop.path('out.json'), 'utf8')).zones;
    expect(await answer(onBoth('--bins', '0:12:4', '--stats', '-', ...shown))).toBe(table);
    expect(JSON.parse(await readFile(shop.path('out.json'), 'utf8')).zones).toEqual(before);
    expect(await readFile(shop.path('map.svg'), 'utf8')).toContain('b: stdev 3.304, 6 cells');
    expect(await answer(onBoth('--bins', '0:12:4', '--plot', '-', '--plot-stat', 'mean'))).toBe(picture);
  });

  test('have the share of each value in columns of CSV, and in objects of JSON', async () => {
    await shop.write('apart.json', collection(zone('a', rectangle(0, 0, 2, 1)), zone('b', rectangle(90, 0, 91, 3))));
    const files = ['--zones', '@apart.json', '--raster', '@raster.tif', '--unique', '--stat', 'median,frac,variety'];
    expect(await answer(zonal(...files, '--stats', '-'))).toBe(
      'zone,median,frac_8,frac_9,variety\na,8.5,0.5,0.5,2\nb,,,,0\n',
    );
    const { zones } = JSON.parse(await answer(zonal(...files, '--format', 'json')));
    expect(zones.map(({ stats }: { stats: unknown }) => stats)).toEqual([
      { median: 8.5, frac: { 8: 0.5, 9: 0.5 }, variety: 2 },
      { median: null, frac: {}, variety: 0 },
    ]);
    const { exitCode, stderr } = await zonal(...files, '--raster', '@wide.tif', '--stats', '-');
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('frac has other columns'),
    });
  });

  test('are statistics in JSON where --stats ends in .json, of one raster or several', async () => {
    const statsOf = async (...words: string[]): Promise<unknown> => {
      await answer(onBoth('--stats', '@stats.json', ...words));
      return JSON.parse(await readFile(shop.path('stats.json'), 'utf8'));
    };
    const both = [
      { zone: 'a', cells: 4, nodata: 0, min: 4, max: 9, mean: 6.5, sum: 26 },
      { zone: 'b', cells: 6, nodata: 0, min: 2, max: 11, mean: 6.5, sum: 39 },
    ];
    expect(await statsOf()).toEqual(both);
    const shares = (raster: string) => [
      { raster, zone: 'a', frac: { 4: 0.25, 5: 0.25, 8: 0.25, 9: 0.25 }, median: 6.5 },
      { raster, zone: 'b', frac: expect.objectContaining({ 2: 1 / 6 }), median: 6.5 },
    ];
    expect(await statsOf('--stat', 'frac,median', '--raster', '@wide.tif')).toEqual(
      ['raster.tif', 'wide.tif'].map((name) => shop.path(name)).flatMap(shares),
    );
    await shop.write('none.json', collection());
    await answer(zonal('--zones', '@none.json', '--raster', '@raster.tif', '--stats', '@stats.json'));
    expect(await readFile(shop.path('stats.json'), 'utf8')).toBe('[\n]\n');
  });

  test('with --stats - or --plot - are what was sent to stdout; a note states that histograms are not written', async () => {
    const { exitCode, stdout, stderr } = await onBoth('--bins', '0:12:4', '--stats', '-');
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: await answer(onBoth('--stats', '-')) });
    expect(stderr).toContain(
      'The histograms are not written, because stdout holds the statistics; --out FILE writes them.',
    );
    expect((await onBoth('--stats', '-')).stderr).not.toContain('not written');
    expect(await answer(onBoth('--bins', '0:12:4', '--plot', '-'))).toMatch(/^<svg /);
  });

  test('require bins when histograms are to be written', async () => {
    for (const words of [
      ['--out', '@o.csv'],
      ['--plot', '@p.svg'],
      ['--format', 'json'],
    ]) {
      const { exitCode, stderr } = await onBoth('--stats', '@s.csv', ...words);
      expect({ exitCode, stderr }).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('There are no bins for'),
      });
    }
  });

  test('are a plot on stdout with --plot -', async () => {
    expect(await answer(onBoth('--bins', '0:12:4', '--out', '@out.csv', '--plot', '-'))).toMatch(/^<svg .*<\/svg>\n$/s);
  });

  test('are JSON with --format json, and when --out ends in .json', async () => {
    const onStdout = await answer(onBoth('--bins', '0:12:4', '--format', 'json'));
    expect(await answer(onBoth('--bins', '0:12:4', '--out', '@out.json'))).toBe('');
    for (const text of [onStdout, await readFile(shop.path('out.json'), 'utf8')]) {
      expect(JSON.parse(text)).toMatchObject({
        backend: 'reference',
        gridStep: [2 ** -20, 2 ** -20],
        zones: [
          { name: 'a', cells: 4, stats: { min: 4, max: 9, mean: 6.5, sum: 26 } },
          { name: 'b', cells: 6 },
        ],
      });
    }
    expect(await answer(onBoth('--bins', '0:12:4', '--out', '@out.json', '--format', 'csv'))).toBe('');
    expect(await readFile(shop.path('out.json'), 'utf8')).toContain('zone,lower,upper,count\n');
  });

  test('leave no temporary files, and --quiet silences stderr', async () => {
    const before = await readdir(shop.folder);
    const { exitCode, stderr } = await onBoth('--unique', '--quiet', '--out', '@quiet.csv');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(await readdir(shop.folder)).toEqual([...before, 'quiet.csv'].sort());
  });

  test('come with a note of the grid step on stderr', async () => {
    const { stderr } = await onBoth('--unique');
    expect(stderr).toContain('on a grid of 9.54e-7 × 9.54e-7 raster units');
  });
});

describe('zones', () => {
  const features = collection(
    { ...zone('first', rectangle(0, 0, 1, 1)), properties: { name: 'north, "cold"', nr: 7 } },
    { ...zone('first', rectangle(1, 0, 2, 1)), properties: { name: 'south', nr: 8 } },
  );
  const names = async (...words: readonly string[]) =>
    (await statisticsOf(features, '@raster.tif', ...words)).map((row) => row.split(',1,0')[0]);

  test('are named by id or by a property, quoted as in RFC 4180; zones of the same name stay separate', async () => {
    expect(await names()).toEqual(['first', 'first']);
    expect(await names('--id', 'nr')).toEqual(['7', '8']);
    expect(await names('--id', 'name')).toEqual(['"north, ""cold"""', 'south']);
  });

  test('without id are named by their index', async () => {
    const all = collection(zone(undefined, rectangle(0, 0, 1, 1)), zone(undefined, rectangle(1, 0, 2, 1)));
    expect(await statisticsOf(all, '@raster.tif')).toEqual(['0,1,0,8,8,8,8', '1,1,0,9,9,9,9']);
  });

  test('come from the named layer', async () => {
    const square = (x: number) => [
      [x, 0],
      [x + 1, 0],
      [x + 1, 1],
      [x, 1],
      [x, 0],
    ];
    const objects = {
      left: { type: 'Polygon', arcs: [[0]], id: 'l' },
      right: { type: 'Polygon', arcs: [[1]], id: 'r' },
    };
    const topology = { type: 'Topology', arcs: [square(0.25), square(1.25)], objects };
    expect(await statisticsOf(topology, '@raster.tif', '--layer', 'right')).toEqual(['r,1,0,9,9,9,9']);
  });
});

describe('accepted unusual input', () => {
  test('no zones at all: exit code 0 and a note', async () => {
    expect(await statisticsOf(collection(), '@raster.tif')).toEqual([]);
    const files = ['--zones', '@these.json', '--raster', '@raster.tif', '--unique', '--format', 'json'];
    const { exitCode, stdout, stderr } = await zonal(...files);
    const message = 'There are no zones in the file.';
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ zones: [], notes: [{ code: 'zones/none', message }] });
    expect(stderr).toContain(`note: ${message}\n`);
  });

  const cases: [what: string, zones: object, rows: string[], codes: (readonly [string, number])[]][] = [
    [
      'an unclosed ring',
      zone('z', rectangle(0, 0, 1, 1).slice(0, 4)),
      ['z,1,0,8,8,8,8'],
      [['zones/unclosed-rings', 1]],
    ],
    ['an empty ring', zone('z', rectangle(0, 0, 1, 1), []), ['z,1,0,8,8,8,8'], [['zones/empty-rings', 1]]],
    [
      'a zero-area ring',
      zone('z', rectangle(0, 0, 1, 1), [
        [0, 0],
        [1, 1],
        [0, 0],
      ]),
      ['z,1,0,8,8,8,8'],
      [['zones/zero-area-rings', 1]],
    ],
    ['a zone wholly outside', zone('z', rectangle(9, 0, 10, 1)), ['z,0,0,,,,'], [['zonal/zones-outside', 1]]],
    [
      'a zone partly outside',
      zone('z', rectangle(3, 0, 10, 1)),
      ['z,1,0,11,11,11,11'],
      [['zonal/zones-partly-outside', 1]],
    ],
    [
      'a zone without geometry',
      { type: 'Feature', id: 'z', geometry: null },
      ['z,0,0,,,,'],
      [['zones/no-geometry', 1]],
    ],
    [
      'duplicate ids',
      collection(zone('z', rectangle(0, 0, 1, 1)), zone('z', rectangle(1, 0, 2, 1))),
      ['z,1,0,8,8,8,8', 'z,1,0,9,9,9,9'],
      [['zones/duplicate-names', 1]],
    ],
  ];

  test.each(cases)(
    '%s: exit code 0, and a note on stderr, in the JSON and in the log',
    async (_, zones, rows, codes) => {
      expect(await statisticsOf(zones, '@raster.tif')).toEqual(rows);
      const files = ['--zones', '@these.json', '--raster', '@raster.tif', '--unique', '--format', 'json'];
      const { stdout, stderr } = await zonal(...files);
      const { notes } = JSON.parse(stdout) as {
        notes: { code: string; message: string; zone: string; count: number }[];
      };
      expect(notes.map(({ code, count }) => [code, count])).toEqual(codes);
      for (const { message, zone } of notes) {
        expect(stderr).toContain(`note: ${message}\n`);
        expect(message).toContain('"z"');
        expect(zone).toBe('z');
      }
      expect(await notesLogged(...files)).toEqual(notes.map((note) => ({ event: 'note', ...note })));
    },
  );

  test('one compressed strip that cannot be read in windows: exit code 0 and a note', async () => {
    const size = { width: 4200, height: 4200, stepX: 0.01, stepY: -0.01 };
    await shop.writeRaster(
      'strip.tif',
      { ...size, stripRows: 4200, compression: 'deflate' },
      new Uint8Array(4200 ** 2),
    );
    const files = ['--zones', '@zones.json', '--raster', '@strip.tif', '--unique', '--format', 'json'];
    const onWorkers = (...words: readonly string[]) => shop.quadrille(['zonal', '--backend', 'workers', ...words]);
    const { exitCode, stdout, stderr } = await onWorkers(...files);
    expect(exitCode).toBe(0);
    const { notes } = JSON.parse(stdout) as { notes: { code: string; message: string }[] };
    expect(notes.map(({ code }) => code)).toEqual(['raster/single-block']);
    expect(notes[0]!.message).toContain('cannot be read in windows');
    expect(stderr).toContain(`note: ${notes[0]!.message}\n`);
    const logged = await onWorkers(...files, '--json-log');
    expect(notesIn(logged.stderr)).toEqual([{ event: 'note', ...notes[0] }]);
  });

  async function notesLogged(...words: readonly string[]): Promise<object[]> {
    return notesIn((await zonal(...words, '--json-log')).stderr);
  }

  function notesIn(jsonLog: string): object[] {
    const log = jsonLog
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    return log.filter(({ event }) => event === 'note');
  }
});

describe('coordinates without a coordinate system', () => {
  const pixels = zone('z', rectangle(0, 0, 100, 200));
  const side = { width: 4, height: 3, originY: 300, stepX: 50, stepY: -100 };

  test('that are not longitudes are those of a projected raster, or of --assume-crs', async () => {
    await shop.writeRaster('plane.tif', { ...side, crs: 'EPSG:32633' });
    expect(await statisticsOf(pixels, '@plane.tif')).toEqual(['z,4,0,4,9,6.5,26']);
    await shop.writeRaster('plane.tif', { ...side, crs: 'EPSG:4326' });
    const assumed = ['--assume-crs', 'EPSG:32633'];
    expect(await statisticsOf(pixels, '@plane.tif', ...assumed)).toEqual(['z,4,0,4,9,6.5,26']);
    const files = ['--zones', '@these.json', '--raster', '@plane.tif', '--unique'];
    expect((await zonal(...files)).exitCode).toBe(2);
    expect((await zonal(...files, ...assumed)).stderr).not.toContain('note: ');
  });
});

describe('longitudes', () => {
  const world = { width: 36, height: 18, originY: 90, stepX: 10, stepY: -10, sample: 'u16' } as const;
  const cells = (west: number) => Array.from({ length: 36 * 18 }, (_, i) => (((i % 36) * 10 + west + 360) % 360) / 10);

  beforeAll(async () => {
    await shop.writeRaster('east.tif', { ...world, originX: 0 }, cells(0));
    await shop.writeRaster('both.tif', { ...world, originX: -180 }, cells(-180));
  });

  test.each(['@east.tif', '@both.tif'])('of zones and raster can start at different meridians: %s', async (raster) => {
    const zones = collection(
      zone('greenwich', rectangle(-20, 0, 20, 10)),
      zone('west', rectangle(-100, 0, -80, 10)),
      zone('east', rectangle(260, 0, 280, 10)),
    );
    expect(await statisticsOf(zones, raster)).toEqual([
      'greenwich,4,0,0,35,17.5,70',
      'west,2,0,26,27,26.5,53',
      'east,2,0,26,27,26.5,53',
    ]);
  });

  const fiji = zone('fiji', [
    [170, 0],
    [-170, 0],
    [-170, 10],
    [170, 10],
    [170, 0],
  ]);

  test.each(['@east.tif', '@both.tif'])(
    'that jump by more than 180 degrees are used as written, or unwrapped on request: %s',
    async (raster) => {
      const both = ['--zones', '@these.json', '--raster', raster, '--unique'];
      expect(await statisticsOf(fiji, raster)).toEqual(['fiji,34,0,0,35,17.5,595']);
      expect((await zonal(...both)).stderr).toMatch(/^note: 1 ring jumps by more than 180 degrees.+"fiji"\.$/m);
      const unwrap = ['--antimeridian', 'unwrap'];
      expect(await statisticsOf(fiji, raster, ...unwrap)).toEqual(['fiji,2,0,17,18,17.5,35']);
      expect((await zonal(...both, ...unwrap)).stderr).toContain(
        'note: 1 ring was read as crossing the antimeridian, in: "fiji".\n',
      );
    },
  );
});

describe('values', () => {
  const everywhere = zone('z', rectangle(0, 0, 4, 3));
  const unique = async (...words: readonly string[]) => {
    await shop.write('all.json', everywhere);
    return (await answer(zonal('--zones', '@all.json', '--raster', '@f32.tif', ...words)))
      .trimEnd()
      .split('\n')
      .slice(1);
  };
  const values = [0.1, 0.1, -0, 0, Number.NaN, Infinity, -Infinity, -9999.9, 1e-40, 16777217, 2 ** 70, 0.3];

  test('of f32 are printed as their f64; −0 is 0, NaN is nodata, infinities are below and above', async () => {
    await shop.writeRaster('f32.tif', { sample: 'f32' }, values);
    expect(await unique('--unique')).toEqual([
      'z,-9999.900390625,-9999.900390625,1',
      'z,0,0,2',
      'z,9.99994610111476e-41,9.99994610111476e-41,1',
      'z,0.10000000149011612,0.10000000149011612,2',
      'z,0.30000001192092896,0.30000001192092896,1',
      'z,16777216,16777216,1',
      'z,1.1805916207174113e+21,1.1805916207174113e+21,1',
      'z,nodata,,1',
      'z,below,,1',
      'z,above,,1',
    ]);
  });

  test.each([
    ['-9999.9', 'z,nodata,,2', 9],
    ['0.1', 'z,nodata,,3', 9],
    ['-0', 'z,nodata,,3', 9],
    ['nan', 'z,nodata,,1', 10],
    ['inf', 'z,nodata,,2', 9],
  ])('of nodata are rounded to the type of the band: --nodata %s', async (nodata, row, rows) => {
    await shop.writeRaster('f32.tif', { sample: 'f32' }, values);
    const found = await unique('--unique', '--nodata', nodata);
    expect(found).toContain(row);
    expect(found).toHaveLength(rows);
    await shop.writeRaster('f32.tif', { sample: 'f32', nodata }, values);
    expect(await unique('--unique')).toEqual(found);
  });

  test('are compared exactly with edges: 0.1 and 0.3 of f32 are above those of f64, and hi is excluded', async () => {
    await shop.writeRaster('f32.tif', { sample: 'f32' }, values);
    expect(await unique('--edges', '0,0.1,0.10000000149011612,0.3,0.30000001192092896')).toEqual([
      'z,0,0.1,3',
      'z,0.10000000149011612,0.3,2',
      'z,nodata,,1',
      'z,below,,2',
      'z,above,,4',
    ]);
    expect(await unique('--bins', '0:0.3:0.1', '--out', '-')).toEqual([
      'z,0,0.1,3',
      'z,0.1,0.2,2',
      'z,nodata,,1',
      'z,below,,2',
      'z,above,,4',
    ]);
  });

  test('that are infinite in statistics are words in CSV and in JSON', async () => {
    await shop.writeRaster('f32.tif', { sample: 'f32' }, [...values.slice(0, 6), ...values.slice(7), 1]);
    expect(await statisticsOf(everywhere, '@f32.tif')).toEqual(['z,12,1,-9999.900390625,Infinity,Infinity,Infinity']);
    const { zones } = JSON.parse((await unique('--unique', '--format', 'json')).join('\n').replace(/^/, '{"zones":['));
    expect(zones[0].stats.max).toBe('Infinity');
  });
});
