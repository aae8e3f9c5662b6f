import { copyFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { tableFromIPC } from '@uwdata/flechette';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DOMAIN_STEPS, placeInDomain, WORLD } from '../../algorithms/quadrants/index.ts';
import { runIndexQuery } from '../../cli/index-query.ts';
import { parseQueryArguments } from '../../cli/index-query-arguments.ts';
import { queryParts } from '../../cli/parts.ts';
import { parseZones } from '../../formats/polygons/zones.ts';
import { collection, rectangle, zone } from '../support/cli-support.ts';
import { parseCsv } from '../support/parse-csv.ts';
import { flatGeobufOf, shapefileOf, type WrittenFeature } from '../support/polygon-layers-support.ts';
import { ringsHold } from '../support/quadrants-by-hand.ts';
import { answer, type IndexWorkshop, openIndexWorkshop, quietLog, shapes } from './cli-index-support.ts';

let shop: IndexWorkshop;
beforeAll(async () => {
  shop = await openIndexWorkshop();
});
afterAll(() => shop.remove());

const CELL = 360 / 2 ** 6;

describe('quadrille index query --points', () => {
  test('reports the polygons that contain points, by name, and notes points beyond the domain', async () => {
    expect(parseCsv(await answer(shop.query('@shapes.maq', '--points', '@points.csv')))).toEqual([
      ['point', 'set', 'polygon'],
      ['in the island', 'shapes', 'island'],
      ['in the frame', 'shapes', 'frame'],
    ]);
    await shop.write('beyond.csv', 'y;x\n10;10\n10;500\n');
    const { stdout, stderr } = await shop.query('@shapes.maq', '--points', '@beyond.csv');
    expect(stdout).toBe('point,set,polygon\n0,shapes,frame\n');
    expect(stderr).toMatch(/note: 1 point is outside the domain of .*shapes\.maq, and so in no polygon\./);
    expect(stderr).toMatch(/^2 points, 1 of them in polygons: 1 pair, [\d.]+ s on reference\.$/m);
  });

  test('takes points and windows from the columns that --columns names, with a header or without', async () => {
    const usual = await answer(shop.query('@shapes.maq', '--points', '@points.csv'));
    const rows = parseCsv(await readFile(shop.path('points.csv'), 'utf8')).slice(1);
    const lines = (header: string) => `${header}\n${rows.map(([id, x, y]) => `"${id}",${y},999,${x}\n`).join('')}`;
    await shop.write('moved.csv', lines('id,Y of it,x,X of it'));
    await shop.write('bare.csv', lines('').slice(1));
    const named = (...words: readonly string[]) => shop.query('@shapes.maq', ...words);
    expect(await answer(named('--points', '@moved.csv', '--columns', 'x of it, Y of it'))).toBe(usual);
    const bare = ['--points', '@bare.csv', '--no-header', '--id', 'column1'];
    expect(await answer(named(...bare, '--columns', 'column4,column2'))).toBe(usual);
    const windows = await answer(named('--windows', '@windows.csv'));
    await shop.write('boxes.csv', 'a,b,c,d\n35,5,35,5\n-70,-150,-140,-80\n');
    expect(await answer(named('--windows', '@boxes.csv', '--columns', 'b,d,c,a'))).toBe(windows);

    const refused = async (...words: readonly string[]) => (await named(...words)).stderr;
    expect(await refused('--points', '@moved.csv', '--columns', 'x')).toContain('2 names, separated by commas');
    expect(await refused('--points', '@moved.csv', '--columns', 'x,why')).toContain('no column why');
    expect(await refused(...bare, '--columns', 'x,y')).toContain('no column x');
    const layer = ['--points', '@points.geojson', '--columns', 'x,y'];
    await shop.write('points.geojson', { type: 'Point', coordinates: [1, 2] });
    expect(await refused(...layer)).toContain('--columns has no effect with a layer');
    expect(await refused('--polygons', '@shapes.geojson', '--columns', 'x,y')).toContain('no effect with --polygons');
  });

  test('notes points at longitude 180 and latitude 90, once', async () => {
    await shop.write('ends.csv', 'x,y\n180,10\n10,90\n10,10\n');
    const { stderr } = await shop.query('@shapes.maq', '--points', '@ends.csv');
    expect(stderr).toContain(
      'note: 2 points are at longitude 180 or latitude 90: polygons that end there do not hold them.',
    );
    expect(stderr.match(/^note: .*points?/gm)).toHaveLength(1);
  });

  test('equals an even-odd test of all edges, for batches of any size', async () => {
    const point = fc.tuple(fc.integer({ min: -80, max: 100 }), fc.integer({ min: -10, max: 90 }));
    const { zones } = parseZones(JSON.stringify(collection(...shapes)));
    const { polygonRings, ringVertices, x, y } = placeInDomain(zones.polygons, WORLD);
    const ringsOf = (polygon: number) =>
      Array.from({ length: polygonRings[polygon + 1]! - polygonRings[polygon]! }, (_, at) => {
        const ring = polygonRings[polygon]! + at;
        const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
        return Array.from({ length: to - from }, (_, v) => [x[from + v]!, y[from + v]!] as const);
      });
    const step = (degrees: number): number => Math.round(((degrees + 180) / 360) * DOMAIN_STEPS);
    await fc.assert(
      fc.asyncProperty(fc.array(point, { minLength: 5000, maxLength: 6000 }), async (points) => {
        await shop.write('many.csv', `x,y\n${points.map((each) => each.join(',')).join('\n')}`);
        const rows = parseCsv(await answer(shop.query('@shapes.maq', '--points', '@many.csv'))).slice(1);
        const expected = points.flatMap(([lon, lat], at) =>
          zones.names
            .filter((_, p) => ringsHold(ringsOf(p), [step(lon), step(lat)]))
            .map((name) => [`${at}`, 'shapes', name]),
        );
        expect(rows.toSorted()).toEqual(expected.toSorted());
      }),
      { numRuns: 2 },
    );
  });

  test('counts per point or per polygon, zeros included', async () => {
    const counted = (by: string) => answer(shop.query('@shapes.maq', '--points', '@points.csv', '--count', by));
    expect(parseCsv(await counted('query'))).toEqual([
      ['point', 'count'],
      ['in the hole', '0'],
      ['in the island', '1'],
      ['in the frame', '1'],
      ['far, away', '0'],
    ]);
    expect(await counted('polygon')).toBe('set,polygon,count\nshapes,frame,1\nshapes,island,1\nshapes,wedge,0\n');
  });

  test('writes JSON and Arrow', async () => {
    const words = ['@shapes.maq', '--points', '@points.csv', '--id', 'LON', '-o'];
    expect(await answer(shop.query(...words, '@a.json'))).toBe('');
    expect(JSON.parse(await readFile(shop.path('a.json'), 'utf8'))).toEqual([
      { point: '35', set: 'shapes', polygon: 'island' },
      { point: '10', set: 'shapes', polygon: 'frame' },
    ]);
    await answer(shop.query(...words, '@a.arrow'));
    expect(tableFromIPC(await shop.bytesOf('a.arrow')).toArray()).toEqual(
      JSON.parse(await readFile(shop.path('a.json'), 'utf8')),
    );
    expect(await answer(shop.query('@shapes.maq', '--points', '@points.csv', '--format', 'json'))).toMatch(
      /^\[\n\{"point":/,
    );
  });

  test.each([
    ['a missing column', 'a,b\n1,2\n', 'csv/missing-column', /bad\.csv:1: The CSV has no column x or lon/],
    ['an empty file', '', 'csv/missing-column', /an empty file/],
    [
      'a word for a number',
      'x,y\n1,2\n3,four\n',
      'csv/bad-row',
      /bad\.csv:3: The row cannot be read: y is "four", no finite number/,
    ],
    ['too few fields', 'x,y\n\n1\n', 'csv/bad-row', /bad\.csv:3: The row cannot be read: it has 1 of 2 fields/],
    ['a blank for a number', 'x,y\n1,\n', 'csv/bad-row', /y is ""/],
    ['infinity', 'x,y\n1,1e999\n', 'csv/bad-row', /no finite number/],
    ['an unclosed quote', 'x,y,t\n1,2,"a\nb"\n3,4,"c\n', 'csv/open-quote', /bad\.csv:4: A quote is opened/],
    ['bytes that are not text', Buffer.from('x,y\n1,2\xff\n', 'latin1'), 'format/not-utf8', /not UTF-8/],
  ])('refuses %s', async (_, text, code, message) => {
    await shop.write('bad.csv', text);
    const { exitCode, stderr } = await shop.query('@shapes.maq', '--points', '@bad.csv', '-o', '@no.csv', '--json-log');
    const error = JSON.parse(stderr.trimEnd().split('\n').at(-1)!);
    expect([exitCode, error.event, error.code, error.exitCode]).toEqual([2, 'error', code, 2]);
    expect(error.message).toMatch(message);
    expect(await readdir(shop.folder)).not.toContain('no.csv');
  });

  test('reads quotes, delimiters, blank lines and all line ends', async () => {
    await shop.write('odd.csv', '\uFEFF"ID"\t"Longitude"\tlatitude\r\n"a ""b""\nc"\t35\t" 35 "\r\n\r\nd\t1e1\t+10.');
    expect(parseCsv(await answer(shop.query('@shapes.maq', '--points', '@odd.csv')))).toEqual([
      ['point', 'set', 'polygon'],
      ['a "b"\nc', 'shapes', 'island'],
      ['d', 'shapes', 'frame'],
    ]);
  });

  test('skips and counts invalid rows on request', async () => {
    await shop.write('some.csv', 'x,y\n35,35\nx,y\n1\n10,10\n');
    const { stdout, stderr } = await shop.query('@shapes.maq', '--points', '@some.csv', '--on-bad-record', 'skip');
    expect(stdout).toBe('point,set,polygon\n0,shapes,island\n3,shapes,frame\n');
    expect(stderr).toMatch(/note: 2 rows were skipped\. .*some\.csv:3: The row cannot be read/);
  });

  test('numbers points and windows by their row in the file, for any skipped rows and batch sizes', async () => {
    const isGood = fc.array(fc.boolean(), { minLength: 1, maxLength: 9 });
    await fc.assert(
      fc.asyncProperty(isGood, async (pattern) => {
        const rows = Array.from({ length: 5000 }, (_, row) => pattern[row % pattern.length]!);
        const good = rows.flatMap((each, row) => (each ? [`${row}`] : []));
        const skip = ['--on-bad-record', 'skip', '--count', 'query'];
        await shop.write('p.csv', `x,y\n${rows.map((each) => (each ? '10,10' : '10')).join('\n')}`);
        const points = parseCsv(await answer(shop.query('@shapes.maq', '--points', '@p.csv', ...skip)));
        expect(points.slice(1)).toEqual(good.map((row) => [row, '1']));
        const boxes = rows.map((each, row) => (each ? '9,9,10,10' : row % 2 ? '9,9,8,8' : '9,9,,'));
        await shop.write('w.csv', `left,bottom,right,top\n${boxes.join('\n')}`);
        const windows = parseCsv(await answer(shop.query('@shapes.maq', '--windows', '@w.csv', ...skip)));
        expect(windows.slice(1)).toEqual(good.map((row) => [row, '1']));
      }),
      { numRuns: 3 },
    );
  });

  test('treats points that round to the end of the domain as beyond it', async () => {
    await shop.write('end.csv', 'x,y\n180,10\n179.99999999999,10\n10,-180.1\n');
    const { stderr } = await shop.query('@shapes.maq', '--points', '@end.csv');
    expect(stderr).toContain('note: 1 point is at longitude 180');
    expect(stderr).toContain('note: 2 points are outside the domain of');
  });

  test('requires a tree with edges', async () => {
    await answer(shop.build('@shapes.geojson', '-o', '@bare.maq', '--levels', '6', '--no-edges'));
    const { exitCode, stderr } = await shop.query('@bare.maq', '--points', '@points.csv');
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining('was built without edges, which exact answers need'),
    ]);
  });
});

describe('quadrille index query --windows', () => {
  test('reports bounds of the common area', async () => {
    const rows = parseCsv(await answer(shop.query('@shapes.maq', '--windows', '@windows.csv')));
    expect(rows.map((row) => row.slice(0, 3))).toEqual([
      ['window', 'set', 'polygon'],
      ['0', 'shapes', 'frame'],
      ['0', 'shapes', 'island'],
    ]);
    // Areas in square degrees: 30 × 30 minus a part of the hole, and a corner of the island.
    for (const [row, area] of [
      [1, 900 - 225],
      [2, 25],
    ] as const) {
      const [min, max] = rows[row]!.slice(3).map(Number) as [number, number];
      expect(min <= area && area <= max).toBe(true);
      expect(max - min).toBeLessThan(area + 30 * 4 * CELL);
    }
  });

  test('omits areas that cannot exceed a threshold, and marks those that surely do', async () => {
    const words = ['@shapes.maq', '--windows', '@windows.csv', '--above'];
    const rows = parseCsv(await answer(shop.query(...words, '200')));
    expect(rows.map(([, , polygon, , , sure]) => [polygon, sure])).toEqual([
      ['polygon', 'sure'],
      ['frame', '1'],
    ]);
    expect(parseCsv(await answer(shop.query(...words, '674')))[1]!.at(-1)).toBe('0');
    expect(parseCsv(await answer(shop.query(...words, '1e6')))).toHaveLength(1);
  });

  test('notes windows that are beyond the domain or have no area', async () => {
    await shop.write(
      'odd-windows.csv',
      'left,bottom,right,top\n180,5,190,9\n-200,5,-180,9\n5,5,5,9\n5,5,9,5.00000000001\n5,5,9,9\n-500,-500,500,500\n',
    );
    const { stdout, stderr } = await shop.query('@shapes.maq', '--windows', '@odd-windows.csv', '--count', 'query');
    expect(stdout).toBe('window,count\n0,0\n1,0\n2,0\n3,0\n4,1\n5,3\n');
    expect(stderr).toMatch(
      /note: 2 windows are outside the domain of .*shapes\.maq, and so without area in any polygon\./,
    );
    expect(stderr).toContain('note: 2 windows have no area and share no area with any polygon.');
  });

  test('counts, works without edges, and refuses inverted windows', async () => {
    await answer(shop.build('@shapes.geojson', '-o', '@bare.maq', '--levels', '6', '--no-edges'));
    expect(await answer(shop.query('@bare.maq', '--windows', '@windows.csv', '--count', 'query'))).toBe(
      'window,count\n0,2\n1,0\n',
    );
    await shop.write('down.csv', 'minx,miny,maxx,maxy\n0,5,9,1\n');
    const { exitCode, stderr } = await shop.query('@shapes.maq', '--windows', '@down.csv');
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining('down.csv:2: The row cannot be read: bottom 5 is above top 1'),
    ]);
  });
});

describe('quadrille index query --polygons', () => {
  test('reports exactly the polygons that share area, with bounds of the area', async () => {
    const { stdout, stderr } = await shop.query('@shapes.maq', '--polygons', '@boxes.geojson');
    expect(stderr).toMatch(/^2 query polygons, 2 of them sharing area with polygons: 2 pairs, /m);
    const rows = parseCsv(stdout);
    expect(rows.map((row) => row.slice(0, 3))).toEqual([
      ['query', 'set', 'polygon'],
      ['w', 'shapes', 'wedge'],
      ['e', 'shapes', 'frame'],
    ]);
    const [min, max] = rows[2]!.slice(3).map(Number) as [number, number];
    expect(min <= 100 && 100 <= max).toBe(true);
  });

  test('omits polygons that only share quadrants, except with --filter-only, which needs no edges', async () => {
    const near = collection(
      zone('beside the island', rectangle(40.1, 41.1, 43, 44)),
      zone('touching', rectangle(40, 30, 45, 41)),
    );
    await shop.write('near.json', near);
    expect(await answer(shop.query('@shapes.maq', '--polygons', '@near.json'))).toBe('query,set,polygon,min,max\n');
    await answer(shop.build('@shapes.geojson', '-o', '@bare.maq', '--levels', '6', '--no-edges'));
    for (const tree of ['@shapes.maq', '@bare.maq']) {
      const rows = parseCsv(await answer(shop.query(tree, '--polygons', '@near.json', '--filter-only')));
      expect(rows.slice(1).map(([name, , polygon, min]) => [name, polygon, min])).toEqual([
        ['beside the island', 'island', '0'],
        ['touching', 'island', '0'],
      ]);
    }
    expect((await shop.query('@bare.maq', '--polygons', '@near.json')).stderr).toContain('or use --filter-only');
  });

  test('applies the given names, thresholds and counts', async () => {
    const words = ['@shapes.maq', '--polygons', '@boxes.geojson'];
    expect(parseCsv(await answer(shop.query(...words, '--above', '90'))).map((row) => row.at(-1))).toEqual([
      'sure',
      '1',
      '0',
    ]);
    expect(await answer(shop.query(...words, '--count', 'polygon'))).toBe(
      'set,polygon,count\nshapes,frame,1\nshapes,island,0\nshapes,wedge,1\n',
    );
    expect(await answer(shop.query(...words, '--count', 'query'))).toBe('query,count\nw,1\ne,1\n');
    expect(await answer(shop.query(...words, '--memory', '300kB'))).toBe(await answer(shop.query(...words)));
    expect((await shop.query(...words, '--id', 'name')).stderr).toContain('There is no "name" in feature 0');
  });

  test('refuses queries in another coordinate system, and takes those that leave the domain', async () => {
    const { exitCode, stderr } = await shop.query(
      '@shapes.maq',
      '--polygons',
      '@boxes.geojson',
      '--assume-crs',
      'EPSG:3857',
    );
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/shapes\.maq is in OGC:CRS84, but .*boxes\.geojson is in EPSG:3857/),
    ]);
    await shop.write(
      'wide.json',
      collection(zone('wide', rectangle(-200, 0, 10, 10)), zone('ok', rectangle(1, 1, 2, 2))),
    );
    const { stdout, stderr: notes } = await shop.query('@shapes.maq', '--polygons', '@wide.json', '--count', 'query');
    expect(stdout).toBe('query,count\nwide,1\nok,1\n');
    expect(notes).toContain(
      '1 polygon leaves the domain of the tree, outside of which there is nothing to find: "wide"',
    );
  });

  test('over a tree of 0 to 64, a square from -5 to 15 finds the polygons within it', async () => {
    const flat = ['--assume-crs', 'EPSG:3857'];
    await shop.write(
      'inner.json',
      collection(zone('in', rectangle(10, 10, 20, 20)), zone('out', rectangle(30, 30, 40, 40))),
    );
    await shop.write(
      'asked.json',
      collection(
        zone('asked', rectangle(-5, -5, 15, 15)),
        zone('tiny', rectangle(5, 5, 5 + 1e-9, 6)),
        // Both are led around the domain, which makes them narrower but takes no area from them.
        zone('far', rectangle(-1000, 1, -900, 5)),
        zone('through', rectangle(-1000, 2, 1000, 3)),
      ),
    );
    const built = await shop.build('@inner.json', ...flat, '--domain', '0,0,64', '--levels', '6', '-o', '@inner.maq');
    expect(built.exitCode).toBe(0);
    const { stdout, stderr: told } = await shop.query('@inner.maq', '--polygons', '@asked.json', ...flat);
    expect(stdout).toBe('query,set,polygon,min,max\nasked,inner,in,25,25\n');
    expect(told).toContain(
      'note: 1 polygon is narrower than a step of the domain\'s grid and without area on it: "tiny"',
    );
  });
});

describe('a coordinate system with a name but no code', () => {
  beforeAll(async () => {
    const fields: WrittenFeature[] = [0, 1, 2].map((at) => ({
      name: `${at}`,
      parts: [[rectangle(at, 1, at + 1, 2)]] as never,
    }));
    await shop.write('named.shp', shapefileOf(fields));
    await shop.write('named.prj', 'PROJCS["Moon_Grid",GEOGCS["Moon",DATUM["Moon",SPHEROID["Moon",1737400,0]]]]');
    await answer(shop.build('@named.shp', '-o', '@named.maq', '--levels', '6'));
    await shop.write('coded.fgb', flatGeobufOf(fields, 25832));
  });

  test('is not suggested for --assume-crs, which takes codes', async () => {
    for (const ending of [
      await shop.query('@named.maq', '--polygons', '@coded.fgb'),
      await shop.build('@named.shp', '@coded.fgb', '-o', '@both.maq'),
    ]) {
      expect(ending.exitCode).toBe(2);
      expect(ending.stderr).toMatch(/named\.(maq|shp) is in Moon_Grid, but .*coded\.fgb is in EPSG:25832\./);
      expect(ending.stderr).toContain('ogr2ogr -t_srs EPSG:25832;');
      expect(ending.stderr).toContain('say so with --assume-crs EPSG:25832.');
    }
  });

  test('is overridden by --assume-crs', async () => {
    const words = ['@named.maq', '--polygons', '@coded.fgb', '--count', 'query'];
    const rows = parseCsv(await answer(shop.query(...words, '--assume-crs', 'EPSG:25832')));
    expect(rows.slice(1).map(([, count]) => count)).toEqual(['1', '1', '1']);
  });
});

describe('coordinate systems that are only called unknown', () => {
  const unknown = (meridian: number): string =>
    `PROJCS["unknown",GEOGCS["unknown",DATUM["Unknown based on WGS 84 ellipsoid",SPHEROID["WGS 84",6378137,298.257223563]]],` +
    `PROJECTION["Transverse_Mercator"],PARAMETER["central_meridian",${meridian}],UNIT["metre",1]]`;
  const POINTS = join(import.meta.dirname, '..', 'fixtures', 'point-layers', 'points');
  const MERIDIANS = { a: 9, same: 9, b: 12 };

  beforeAll(async () => {
    const fields: WrittenFeature[] = [{ name: '0', parts: [[rectangle(1, 1, 2, 2)]] as never }];
    for (const [name, meridian] of Object.entries(MERIDIANS)) {
      await shop.write(`${name}.shp`, shapefileOf(fields));
      await shop.write(`${name}.prj`, unknown(meridian));
      for (const ending of ['shp', 'shx', 'dbf'])
        await copyFile(`${POINTS}.${ending}`, shop.path(`points-${name}.${ending}`));
      await shop.write(`points-${name}.prj`, unknown(meridian));
    }
    await answer(shop.build('@a.shp', '-o', '@a.maq', '--levels', '6'));
  });

  const runs = (other: string) => [
    shop.build('@a.shp', `@${other}.shp`, '-o', `@a-${other}.maq`, '--levels', '6'),
    shop.query('@a.maq', '--polygons', `@${other}.shp`),
    shop.query('@a.maq', '--points', `@points-${other}.shp`),
    shop.quadrille(['neighbours', '@points-a.shp', '--queries', `@points-${other}.shp`, '-k', '1']),
  ];

  test('are the same if their definitions are', async () => {
    for (const ending of await Promise.all(runs('same'))) expect(ending).toMatchObject({ exitCode: 0 });
  });

  test('are different if their definitions are, and errors say where', async () => {
    for (const { exitCode, stderr } of await Promise.all(runs('b'))) {
      expect(exitCode).toBe(2);
      expect(stderr).toMatch(/ is in ….*_meridian",9\].*, but .* is in ….*_meridian",12\]/);
    }
  });

  test('are noted by compare if they differ', async () => {
    const notes = async (other: string) =>
      (await shop.quadrille(['compare', '@a.shp', `@${other}.shp`, '--backend', 'reference'])).stderr;
    expect(await notes('b')).toContain('coordinates are compared as they are.');
    expect(await notes('same')).not.toContain('coordinates are compared');
  });
});

test('a closed pipe ends the output without an error', async () => {
  await shop.write('long.csv', `x,y\n${'10,10\n'.repeat(20_000)}`);
  let chunks = 0;
  const stdout = new Writable({
    write(_chunk, _encoding, done) {
      chunks++;
      done(chunks > 2 ? Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }) : null);
    },
  });
  stdout.on('error', () => undefined);
  const options = parseQueryArguments([
    shop.path('shapes.maq'),
    '--points',
    shop.path('long.csv'),
    '--backend',
    'reference',
  ]);
  const { signal } = new AbortController();
  await runIndexQuery(options, queryParts, { log: quietLog(), stdout, signal, beforeExit: () => undefined });
  expect(chunks).toBe(3);
});
