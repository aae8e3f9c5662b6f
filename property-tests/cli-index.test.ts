import { readdir, readFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { tableFromIPC } from '@uwdata/flechette';
import fc from 'fast-check';
import { decode } from 'fast-png';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildMaqTree, readMaqTree } from '../algorithms/maq-tree/index.ts';
import { DOMAIN_STEPS, decompose, placeInDomain, WORLD } from '../algorithms/quadrants/index.ts';
import { exitCodeOf } from '../cli/failure.ts';
import { parseBuildArguments } from '../cli/index-arguments.ts';
import { runIndexBuild } from '../cli/index-build.ts';
import { domainAround } from '../cli/index-layers.ts';
import { buildParts, queryParts } from '../cli/index-parts.ts';
import { runIndexQuery } from '../cli/index-query.ts';
import { parseQueryArguments } from '../cli/index-query-arguments.ts';
import { Interrupted } from '../cli/interrupt.ts';
import type { Log } from '../cli/log.ts';
import { encodeMaq, type MaqFile, openMaq } from '../formats/maq-file.ts';
import { readPolygonLayer } from '../formats/polygon-layers/open-polygon-layer.ts';
import { parseZones } from '../formats/zones.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from './cli-support.ts';
import { parseCsv } from './parse-csv.ts';
import { flatGeobufOf, shapefileOf, type WrittenFeature, wktOf } from './polygon-layers-support.ts';
import { ringsHold } from './quadrants-by-hand.ts';
import { openReference } from './reference-context.ts';

let shop: Workshop;
const index = (...words: readonly string[]) => shop.quadrille(['index', ...words]);
const build = (...words: readonly string[]) => index('build', ...words, '--backend', 'reference');
const query = (...words: readonly string[]) => index('query', ...words, '--backend', 'reference');
/** What stdout has of a run that must succeed. */
const answer = async (run: ReturnType<typeof index>): Promise<string> => {
  const { exitCode, stdout, stderr } = await run;
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return stdout;
};
const bytesOf = async (name: string): Promise<Uint8Array> => new Uint8Array(await readFile(shop.path(name)));
const treeOf = async (name: string): Promise<MaqFile> => openMaq(await bytesOf(name), { file: name });

const TRIANGLE = [
  [-60, 10],
  [-20, 15],
  [-35, 50],
  [-60, 10],
];
const shapes = [
  zone('frame', rectangle(0, 0, 90, 80), rectangle(20, 20, 60, 60)),
  zone('island', rectangle(30, 30, 40, 41)),
  zone('wedge', TRIANGLE),
];
const CELL = 360 / 2 ** 6;

beforeAll(async () => {
  shop = await openWorkshop();
  await shop.write('shapes.geojson', collection(...shapes));
  await shop.write(
    'boxes.geojson',
    collection(zone('w', rectangle(-70, 0, -30, 30)), zone('e', rectangle(80, 70, 120, 85))),
  );
  await shop.write(
    'points.csv',
    'id,lon,lat\nin the hole,25,25\nin the island,35,35\nin the frame,10,10\n"far, away",-150,-80\n',
  );
  await shop.write('windows.csv', 'left,bottom,right,top\n5,5,35,35\n-150,-80,-140,-70\n');
  expect((await build('@shapes.geojson', '-o', '@shapes.maq', '--levels', '6')).exitCode).toBe(0);
});
afterAll(() => shop.remove());

describe('quadrille index build', () => {
  test('writes the tree of the library, and says so on stdout in one line', async () => {
    const { exitCode, stdout, stderr } = await build(
      '@shapes.geojson',
      '@boxes.geojson',
      '-o',
      '@both.maq',
      '--levels',
      '6',
    );
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /both\.maq: 2 sets, 5 polygons, 23 vertices, [\d,]+ quadrants, [\d,]+ nodes, 6 levels, \d.* kB, \d+\.\d s on reference, at most \d+ MB of memory\.\n$/,
    );
    expect(stderr).toBe('The domain is -180,-180,360: a step is 3.35e-7.\nWrote both.maq.\n');
    expect(await bytesOf('both.maq')).toEqual(await treeByLibrary(['shapes', 'boxes'], 6));
  });

  async function treeByLibrary(names: readonly string[], levels: number): Promise<Uint8Array> {
    await using context = openReference();
    const layers = await Promise.all(names.map((name) => readPolygonLayer(shop.path(`${name}.geojson`))));
    const quadrants = [];
    for (const { zones } of layers)
      quadrants.push(await decompose(context, placeInDomain(zones.polygons, WORLD), { levels, keepsEdges: true }));
    const tree = await readMaqTree(context, await buildMaqTree(context, quadrants));
    const sets = layers.map(({ zones }, set) => ({ name: names[set]!, crs: zones.crs, names: zones.names }));
    return new Uint8Array(encodeMaq({ domain: WORLD, levels, sets, tree }));
  }

  test('tells its figures as JSON where asked to', async () => {
    const told = JSON.parse(await answer(build('@shapes.geojson', '-o', '@j.maq', '--levels', '6', '--json')));
    const { tree } = await treeOf('j.maq');
    expect(told).toMatchObject({
      backend: 'reference',
      bytes: (await bytesOf('j.maq')).length,
      polygons: 3,
      vertices: 15,
      quadrants: tree.entries.polygon.length,
      nodes: tree.nodes.level.length,
      levels: 6,
      domain: WORLD,
      edges: true,
      sets: [{ name: 'shapes', crs: 'OGC:CRS84', polygons: 3 }],
    });
    expect(told.seconds).toBeGreaterThan(0);
    expect(told.peakBytes).toBeGreaterThan(1e6);
  });

  const written: WrittenFeature[] = [
    { name: 'a', parts: [[rectangle(1, 1, 30, 40)]] },
    { name: 'b', parts: [[rectangle(-90, -60, -20, -10), rectangle(-80, -50, -40, -20)], [TRIANGLE]] },
  ] as never;

  test('gives the same tree out of every format', async () => {
    const geometries = written.map(({ parts }) => ({ type: 'MultiPolygon', coordinates: parts }));
    const features = geometries.map((geometry) => ({ type: 'Feature', properties: {}, geometry }));
    const topology = {
      type: 'Topology',
      arcs: written.flatMap(({ parts }) => parts.flat()),
      objects: {
        all: {
          type: 'GeometryCollection',
          geometries: [
            { type: 'MultiPolygon', arcs: [[[0]]] },
            { type: 'MultiPolygon', arcs: [[[1], [2]], [[3]]] },
          ],
        },
      },
    };
    await Promise.all([
      shop.write('f.json', { type: 'FeatureCollection', features }),
      shop.write('f.ndjson', features.map((feature) => `${JSON.stringify(feature)}\n`).join('')),
      shop.write('f.topojson', topology),
      shop.write('f.fgb', flatGeobufOf(written, 4326)),
      shop.write('f.shp', shapefileOf(written)),
      shop.write('f.wkt', wktOf(written)),
    ]);
    await answer(build('@f.json', '-o', '@f.maq', '--levels', '7', '--assume-crs', 'EPSG:4326'));
    const expected = await bytesOf('f.maq');
    for (const [name, format] of [
      ['f.ndjson', 'geojson-lines'],
      ['f.topojson', 'topojson'],
      ['f.fgb', 'flatgeobuf'],
      ['f.shp', 'shapefile'],
      ['f.wkt', 'wkt'],
    ] as const) {
      const words = ['-o', '@other.maq', '--levels', '7', '--assume-crs', 'EPSG:4326'];
      await answer(build(`@${name}`, ...words));
      expect([name, await bytesOf('other.maq')]).toEqual([name, expected]);
      await answer(build(`@${name}`, ...words, '--input-format', format));
      expect([name, await bytesOf('other.maq')]).toEqual([name, expected]);
    }
  });

  test('gives the same tree of shuffled features, but for the numbers of polygons', async () => {
    const rowsOf = ({ sets, tree: { nodes, entries } }: MaqFile): string[] =>
      Array.from(nodes.level, (level, node) => {
        const from = nodes.firstEntry[node]!;
        const held = Array.from({ length: nodes.entryCount[node]! }, (_, at) => {
          return `${sets[0]!.names[entries.polygon[from + at]!]}:${entries.boundary[from + at]}`;
        });
        return `${level}/${nodes.code.lo[node]}/${nodes.childCount[node]}/${held.sort()}`;
      });
    const expected = rowsOf(await treeOf('shapes.maq'));
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(shapes, { minLength: 3 }), async (shuffled) => {
        await shop.write('shuffled.json', collection(...shuffled));
        await answer(build('@shuffled.json', '-o', '@shuffled.maq', '--levels', '6'));
        expect(rowsOf(await treeOf('shuffled.maq'))).toEqual(expected);
      }),
      { numRuns: 5 },
    );
  });

  test('gives the same bytes within any budget, and on workers', async () => {
    const expected = await bytesOf('shapes.maq');
    for (const words of [
      ['--backend', 'reference', '--budget', '1kB'],
      ['--backend', 'workers', '--workers', '1'],
    ]) {
      await answer(index('build', '@shapes.geojson', '-o', '@again.maq', '--levels', '6', ...words));
      expect(await bytesOf('again.maq')).toEqual(expected);
    }
  });

  test('names polygons by a property, a layer by its name', async () => {
    const layer = (name: string) => ({ type: 'Polygon', arcs: [[0]], properties: { called: name } });
    await shop.write('layers.json', {
      type: 'Topology',
      arcs: [TRIANGLE],
      objects: { one: layer('x'), two: layer('y') },
    });
    await answer(build('@layers.json', '-o', '@two.maq', '--layer', 'two', '--id', 'called', '--levels', '3'));
    expect((await treeOf('two.maq')).sets).toEqual([{ name: 'layers', crs: 'OGC:CRS84', names: ['y'] }]);
  });

  test('leaves edges out where asked to', async () => {
    await answer(build('@shapes.geojson', '-o', '@bare.maq', '--levels', '6', '--no-edges'));
    expect('edges' in (await treeOf('bare.maq')).tree).toBe(false);
    expect((await bytesOf('bare.maq')).length).toBeLessThan((await bytesOf('shapes.maq')).length);
  });

  const metres = collection(zone('m', rectangle(500_000, 5_000_000, 500_100, 5_000_300)));

  test('finds a round domain for other coordinates, and says which', async () => {
    await shop.write('utm.json', metres);
    const { stdout, stderr } = await build(
      '@utm.json',
      '-o',
      '@utm.maq',
      '--levels',
      '4',
      '--assume-crs',
      'EPSG:32633',
    );
    expect(stdout).toContain('1 polygon');
    expect(stderr).toContain('note: The domain is the square that holds all polygons: --domain 499968,5000000,512.\n');
    expect((await treeOf('utm.maq')).domain).toEqual({ left: 499_968, bottom: 5_000_000, size: 512 });
  });

  test('finds it too where a file turns out to hold no longitudes and latitudes', async () => {
    await shop.write('unnamed.json', metres);
    const { exitCode, stderr } = await build('@unnamed.json', '-o', '@unnamed.maq', '--levels', '4');
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('--domain 499968,5000000,512')]);
    expect((await treeOf('unnamed.maq')).sets[0]!.crs).toBeUndefined();
    await answer(build('@utm.json', '-o', '@utm.maq', '--levels', '4', '--assume-crs', 'EPSG:32633'));
    expect((await treeOf('unnamed.maq')).tree).toEqual((await treeOf('utm.maq')).tree);
  });

  test('takes the domain that it is given', async () => {
    await answer(build('@shapes.geojson', '-o', '@d.maq', '--levels', '4', '--domain', '-100,-100,256'));
    expect((await treeOf('d.maq')).domain).toEqual({ left: -100, bottom: -100, size: 256 });
    await answer(build('@shapes.geojson', '-o', '@d.maq', '--levels', '6', '--domain', 'world'));
    expect(await bytesOf('d.maq')).toEqual(await bytesOf('shapes.maq'));
  });

  test('stops at a polygon beyond the domain, or leaves it out and counts it', async () => {
    const words = ['@shapes.geojson', '-o', '@part.maq', '--levels', '6', '--domain', '-180,0,180'];
    const { exitCode, stdout, stderr } = await build(...words);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /record 0: The polygon "frame" is not in the domain\..*--domain left,bottom,size.*--on-bad-record skip/,
    );
    expect(await readdir(shop.folder)).not.toContain('part.maq');
    const skipped = await build(...words, '--on-bad-record', 'skip');
    expect(skipped.stderr).toContain('note: 2 polygons are not in the domain and were left out: "frame", "island".');
    expect((await treeOf('part.maq')).sets[0]!.names).toEqual(['wedge']);
  });

  test('stops at a record that cannot be read, or leaves it out and counts it', async () => {
    const broken = { type: 'Feature', properties: {}, geometry: { type: 'Polygon', coordinates: [[[0, 'x']]] } };
    await shop.write('broken.json', collection(shapes[0]!, broken, shapes[2]!));
    const { exitCode, stderr } = await build('@broken.json', '-o', '@broken.maq');
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/^quadrille: broken\.json, record 1: /)]);
    const skipped = await build('@broken.json', '-o', '@broken.maq', '--levels', '6', '--on-bad-record', 'skip');
    expect(skipped).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('1 record could not be read') });
    expect((await treeOf('broken.maq')).sets[0]!.names).toEqual(['frame', 'wedge']);
  });

  test('refuses files of different coordinate systems, and names both', async () => {
    const crs = { type: 'name', properties: { name: 'EPSG:32633' } };
    await shop.write('zone33.json', { ...metres, crs });
    const { exitCode, stderr } = await build('@shapes.geojson', '@zone33.json', '-o', '@mixed.maq');
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining(
        'shapes.geojson is in OGC:CRS84, but zone33.json is in EPSG:32633. Reproject one of them',
      ),
    ]);
    await shop.write(
      'behind.json',
      `{"type":"FeatureCollection","features":${JSON.stringify([shapes[0]])},"crs":${JSON.stringify(crs)}}`,
    );
    expect((await build('@shapes.geojson', '@behind.json', '-o', '@mixed.maq')).stderr).toContain(
      'but behind.json is in EPSG:32633',
    );
  });

  test('notes names of sets that are the same, and a set without polygons', async () => {
    await shop.write('empty.json', collection());
    const { exitCode, stderr } = await build('@empty.json', '@empty.json', '-o', '@none.maq');
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('Several sets are called "empty"')]);
    expect(stderr).toContain('There are no polygons in the file.');
    expect((await treeOf('none.maq')).tree.nodes.level).toHaveLength(0);
    expect(await answer(query('@none.maq', '--points', '@points.csv'))).toBe('point,set,polygon\n');
  });

  test('writes the tree to stdout in place of the line', async () => {
    const stdout: Buffer[] = [];
    const stream = new Writable({
      write(chunk, _, done) {
        stdout.push(Buffer.from(chunk));
        done();
      },
    });
    const options = parseBuildArguments([
      shop.path('shapes.geojson'),
      '-o',
      '-',
      '--levels',
      '6',
      '--backend',
      'reference',
    ]);
    const beforeExit = (): void => undefined;
    await runIndexBuild(options, buildParts, {
      log: quietLog(),
      stdout: stream,
      signal: new AbortController().signal,
      beforeExit,
    });
    expect(new Uint8Array(Buffer.concat(stdout))).toEqual(await bytesOf('shapes.maq'));
  });

  test('draws the tree', async () => {
    const words = ['--plot', '@shapes.svg', '--plot', '@shapes.png', '--levels', '6'];
    expect(await answer(build('@shapes.geojson', '-o', '@drawn.maq', ...words))).toMatch(/^.*drawn\.maq: 1 set/);
    const { tree } = await treeOf('drawn.maq');
    const svg = await readFile(shop.path('shapes.svg'), 'utf8');
    const squares = (color: string): number =>
      [...svg.matchAll(new RegExp(`fill="${color}"[^>]* d="([^"]*)"`, 'g'))].flatMap(([, d]) => [...d!.matchAll(/z/g)])
        .length;
    expect(squares('#ec9e42')).toBe(tree.entries.boundary.filter((each) => each === 1).length);
    expect(svg).toContain(`${tree.entries.polygon.length} quadrants`);
    expect(svg).toMatch(/stroke="#1b1e24"[^>]*d="M/);
    const { width, height, data } = decode(await bytesOf('shapes.png'));
    expect(Math.max(width, height)).toBe(2000);
    const colors = new Set<string>();
    for (let at = 0; at < data.length; at += 3) colors.add([data[at], data[at + 1], data[at + 2]].join());
    expect([colors.has('236,158,66'), colors.has('255,255,255'), colors.has('27,30,36')]).toEqual([true, true, true]);
  });

  test('draws large trees coarser, and says so; or a window of them', async () => {
    const words = ['-o', '@fine.maq', '--levels', '13', '--plot', '@fine.svg'];
    const { stderr } = await build('@shapes.geojson', ...words);
    expect(stderr).toMatch(/note: fine\.svg: Drawn to level 11 of 13: smaller squares are less than a pixel\./);
    const whole = await readFile(shop.path('fine.svg'), 'utf8');
    expect(whole.length).toBeLessThan(200_000);
    expect(whole).toContain('Drawn to level 11 of 13');
    await answer(index('info', '@fine.maq', '--plot', '@corner.svg', '--plot-window', '-0.1,-0.1,0.1,0.1'));
    expect(await readFile(shop.path('corner.svg'), 'utf8')).not.toContain('Drawn to level');
  });
});

describe('domainAround', () => {
  const at = fc.double({ min: -1e9, max: 1e9, noNaN: true }).map((value) => Math.round(value * 1e6) / 1e6);
  test('holds the extent, in a square of a power of two at a multiple of an eighth of it', () => {
    fc.assert(
      fc.property(at, at, at, at, (a, b, c, d) => {
        const extent = { left: Math.min(a, b), right: Math.max(a, b), bottom: Math.min(c, d), top: Math.max(c, d) };
        const { left, bottom, size } = domainAround(extent);
        expect(Number.isInteger(Math.log2(size))).toBe(true);
        expect([left / (size / 8), bottom / (size / 8)].every(Number.isInteger)).toBe(true);
        expect(left <= extent.left && extent.right < left + size).toBe(true);
        expect(bottom <= extent.bottom && extent.top < bottom + size).toBe(true);
      }),
    );
  });
});

describe('quadrille index info', () => {
  test('tells what is in a tree', async () => {
    const { tree } = await treeOf('shapes.maq');
    const told = JSON.parse(await answer(index('info', '@shapes.maq', '--json')));
    const inside = tree.entries.boundary.filter((each) => each === 0).length;
    expect(told).toMatchObject({
      bytes: (await bytesOf('shapes.maq')).length,
      levels: 6,
      domain: WORLD,
      sets: [{ name: 'shapes', crs: 'OGC:CRS84', polygons: 3 }],
      nodes: tree.nodes.level.length,
      entries: { inside, boundary: tree.entries.boundary.length - inside },
      edges: { edges: 15 },
      checksum: 'ok',
    });
    const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
    expect(sum(told.nodesPerLevel)).toBe(told.nodes);
    expect(sum(Object.values(told.bytesPerPart))).toBe(told.bytes);
    const text = await answer(index('info', '@shapes.maq'));
    expect(text).toContain('shapes: 3 polygons, OGC:CRS84');
    expect(text).toContain('checksum ok');
  });

  test('refuses what is no tree, or a damaged one', async () => {
    const whole = await bytesOf('shapes.maq');
    const changed = whole.slice();
    changed[200]! ^= 1;
    const newer = whole.slice();
    newer[8] = 9;
    await Promise.all([
      shop.write('cut.maq', whole.subarray(0, 1000)),
      shop.write('head.maq', whole.subarray(0, 40)),
      shop.write('changed.maq', changed),
      shop.write('newer.maq', newer),
      shop.write('nothing.maq', new Uint8Array()),
    ]);
    for (const [name, why] of [
      ['cut.maq', 'not as long as it says'],
      ['head.maq', 'ends in its header'],
      ['changed.maq', 'have changed'],
      ['newer.maq', 'another version'],
      ['nothing.maq', 'no file of a MAQ-tree'],
      ['shapes.geojson', 'no file of a MAQ-tree'],
      ['missing.maq', 'There is no such file'],
      ['.', 'This is a directory'],
    ] as const) {
      const { exitCode, stdout, stderr } = await index('info', `@${name}`);
      expect([exitCode, stdout, stderr]).toEqual([2, '', expect.stringContaining(why)]);
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    }
  });
});

describe('quadrille index query --points', () => {
  test('tells which polygons hold points, by name, and notes those beyond the domain', async () => {
    expect(parseCsv(await answer(query('@shapes.maq', '--points', '@points.csv')))).toEqual([
      ['point', 'set', 'polygon'],
      ['in the island', 'shapes', 'island'],
      ['in the frame', 'shapes', 'frame'],
    ]);
    await shop.write('beyond.csv', 'y;x\n10;10\n10;500\n');
    const { stdout, stderr } = await query('@shapes.maq', '--points', '@beyond.csv');
    expect(stdout).toBe('point,set,polygon\n0,shapes,frame\n');
    expect(stderr).toMatch(/note: 1 point is beyond the domain of .*shapes\.maq, and in no polygon\./);
    expect(stderr).toMatch(/^2 points, 1 of them in polygons: 1 pair, [\d.]+ s on reference\.$/m);
  });

  test('answers as an even-odd test of all edges does, of batches of any size', async () => {
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
        const rows = parseCsv(await answer(query('@shapes.maq', '--points', '@many.csv'))).slice(1);
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

  test('counts for each point or each polygon, those without any as well', async () => {
    const counted = (by: string) => answer(query('@shapes.maq', '--points', '@points.csv', '--count', by));
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
    expect(await answer(query(...words, '@a.json'))).toBe('');
    expect(JSON.parse(await readFile(shop.path('a.json'), 'utf8'))).toEqual([
      { point: '35', set: 'shapes', polygon: 'island' },
      { point: '10', set: 'shapes', polygon: 'frame' },
    ]);
    await answer(query(...words, '@a.arrow'));
    expect(tableFromIPC(await bytesOf('a.arrow')).toArray()).toEqual(
      JSON.parse(await readFile(shop.path('a.json'), 'utf8')),
    );
    expect(await answer(query('@shapes.maq', '--points', '@points.csv', '--format', 'json'))).toMatch(
      /^\[\n\{"point":/,
    );
  });

  test.each([
    ['no column', 'a,b\n1,2\n', 'csv/missing-column', /bad\.csv:1: The CSV has no column x or lon/],
    ['no text', '', 'csv/missing-column', /an empty file/],
    [
      'a word',
      'x,y\n1,2\n3,four\n',
      'csv/bad-row',
      /bad\.csv:3: The row cannot be read: y is "four", no finite number/,
    ],
    ['too few fields', 'x,y\n\n1\n', 'csv/bad-row', /bad\.csv:3: The row cannot be read: it has 1 of 2 fields/],
    ['a blank', 'x,y\n1,\n', 'csv/bad-row', /y is ""/],
    ['infinity', 'x,y\n1,1e999\n', 'csv/bad-row', /no finite number/],
    ['an open quote', 'x,y,t\n1,2,"a\nb"\n3,4,"c\n', 'csv/open-quote', /bad\.csv:4: A quote is opened/],
    ['bytes that are no text', Buffer.from('x,y\n1,2\xff\n', 'latin1'), 'format/not-utf8', /not UTF-8/],
  ])('refuses %s', async (_, text, code, message) => {
    await shop.write('bad.csv', text);
    const { exitCode, stderr } = await query('@shapes.maq', '--points', '@bad.csv', '-o', '@no.csv', '--json-log');
    const error = JSON.parse(stderr.trimEnd().split('\n').at(-1)!);
    expect([exitCode, error.event, error.code, error.exitCode]).toEqual([2, 'error', code, 2]);
    expect(error.message).toMatch(message);
    expect(await readdir(shop.folder)).not.toContain('no.csv');
  });

  test('reads quotes, delimiters, blank lines and line ends of all kinds', async () => {
    await shop.write('odd.csv', '\uFEFF"ID"\t"Longitude"\tlatitude\r\n"a ""b""\nc"\t35\t" 35 "\r\n\r\nd\t1e1\t+10.');
    expect(parseCsv(await answer(query('@shapes.maq', '--points', '@odd.csv')))).toEqual([
      ['point', 'set', 'polygon'],
      ['a "b"\nc', 'shapes', 'island'],
      ['d', 'shapes', 'frame'],
    ]);
  });

  test('leaves bad rows out and counts them, where asked to', async () => {
    await shop.write('some.csv', 'x,y\n35,35\nx,y\n1\n10,10\n');
    const { stdout, stderr } = await query('@shapes.maq', '--points', '@some.csv', '--on-bad-record', 'skip');
    expect(stdout).toBe('point,set,polygon\n0,shapes,island\n1,shapes,frame\n');
    expect(stderr).toMatch(/note: 2 rows were left out\. .*some\.csv:3: The row cannot be read/);
  });

  test('needs edges', async () => {
    await answer(build('@shapes.geojson', '-o', '@bare.maq', '--levels', '6', '--no-edges'));
    const { exitCode, stderr } = await query('@bare.maq', '--points', '@points.csv');
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining('was built without edges, which exact answers need'),
    ]);
  });
});

describe('quadrille index query --windows', () => {
  test('tells least and most of the common area', async () => {
    const rows = parseCsv(await answer(query('@shapes.maq', '--windows', '@windows.csv')));
    expect(rows.map((row) => row.slice(0, 3))).toEqual([
      ['window', 'set', 'polygon'],
      ['0', 'shapes', 'frame'],
      ['0', 'shapes', 'island'],
    ]);
    // 30 × 30 degrees less the part of the hole, and a corner of the island.
    for (const [row, area] of [
      [1, 900 - 225],
      [2, 25],
    ] as const) {
      const [least, most] = rows[row]!.slice(3).map(Number) as [number, number];
      expect(least <= area && area <= most).toBe(true);
      expect(most - least).toBeLessThan(area + 30 * 4 * CELL);
    }
  });

  test('leaves areas out that cannot be above a threshold, and tells which surely are', async () => {
    const words = ['@shapes.maq', '--windows', '@windows.csv', '--above'];
    const rows = parseCsv(await answer(query(...words, '200')));
    expect(rows.map(([, , polygon, , , sure]) => [polygon, sure])).toEqual([
      ['polygon', 'sure'],
      ['frame', '1'],
    ]);
    expect(parseCsv(await answer(query(...words, '674')))[1]!.at(-1)).toBe('0');
    expect(parseCsv(await answer(query(...words, '1e6')))).toHaveLength(1);
  });

  test('counts, works without edges, and refuses windows that are upside down', async () => {
    await answer(build('@shapes.geojson', '-o', '@bare.maq', '--levels', '6', '--no-edges'));
    expect(await answer(query('@bare.maq', '--windows', '@windows.csv', '--count', 'query'))).toBe(
      'window,count\n0,2\n1,0\n',
    );
    await shop.write('down.csv', 'minx,miny,maxx,maxy\n0,5,9,1\n');
    const { exitCode, stderr } = await query('@shapes.maq', '--windows', '@down.csv');
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining('down.csv:2: The row cannot be read: bottom 5 is above top 1'),
    ]);
  });
});

describe('quadrille index query --polygons', () => {
  test('tells exactly which polygons share area, with bounds for it', async () => {
    const rows = parseCsv(await answer(query('@shapes.maq', '--polygons', '@boxes.geojson')));
    expect(rows.map((row) => row.slice(0, 3))).toEqual([
      ['query', 'set', 'polygon'],
      ['w', 'shapes', 'wedge'],
      ['e', 'shapes', 'frame'],
    ]);
    const [least, most] = rows[2]!.slice(3).map(Number) as [number, number];
    expect(least <= 100 && 100 <= most).toBe(true);
  });

  test('leaves out what only shares quadrants, but for --filter-only, which needs no edges', async () => {
    const near = collection(
      zone('beside the island', rectangle(40.1, 41.1, 43, 44)),
      zone('touching', rectangle(40, 30, 45, 41)),
    );
    await shop.write('near.json', near);
    expect(await answer(query('@shapes.maq', '--polygons', '@near.json'))).toBe('query,set,polygon,least,most\n');
    await answer(build('@shapes.geojson', '-o', '@bare.maq', '--levels', '6', '--no-edges'));
    for (const tree of ['@shapes.maq', '@bare.maq']) {
      const rows = parseCsv(await answer(query(tree, '--polygons', '@near.json', '--filter-only')));
      expect(rows.slice(1).map(([name, , polygon, least]) => [name, polygon, least])).toEqual([
        ['beside the island', 'island', '0'],
        ['touching', 'island', '0'],
      ]);
    }
    expect((await query('@bare.maq', '--polygons', '@near.json')).stderr).toContain('or use --filter-only');
  });

  test('takes the names, thresholds and counts that it is asked for', async () => {
    const words = ['@shapes.maq', '--polygons', '@boxes.geojson'];
    expect(parseCsv(await answer(query(...words, '--above', '90'))).map((row) => row.at(-1))).toEqual([
      'sure',
      '1',
      '0',
    ]);
    expect(await answer(query(...words, '--count', 'polygon'))).toBe(
      'set,polygon,count\nshapes,frame,1\nshapes,island,0\nshapes,wedge,1\n',
    );
    expect(await answer(query(...words, '--count', 'query'))).toBe('query,count\nw,1\ne,1\n');
    expect(await answer(query(...words, '--budget', '1kB'))).toBe(await answer(query(...words)));
    expect((await query(...words, '--id', 'name')).stderr).toContain('There is no "name" in feature 0');
  });

  test('refuses queries in another coordinate system, and beyond the domain', async () => {
    const { exitCode, stderr } = await query(
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
    const beyond = await query('@shapes.maq', '--polygons', '@wide.json');
    expect([beyond.exitCode, beyond.stderr]).toEqual([
      2,
      expect.stringMatching(/wide\.json, record 0: The polygon "wide" is not in the domain/),
    ]);
    const { stdout, stderr: notes } = await query(
      '@shapes.maq',
      '--polygons',
      '@wide.json',
      '--on-bad-record',
      'skip',
      '--count',
      'query',
    );
    expect(stdout).toBe('query,count\nok,1\n');
    expect(notes).toContain('1 polygon is not in the domain and was left out: "wide"');
  });
});

describe('bad usage', () => {
  test.each([
    [['index'], 'No command is given. See quadrille index --help.'],
    [['index', 'biuld'], 'Did you mean index build?'],
    [['index', 'build'], 'FILE is missing'],
    [['index', 'build', '@shapes.geojson'], '--out is missing'],
    [['index', 'build', '@nowhere.json', '-o', '@x.maq'], 'nowhere.json: There is no such file'],
    [['index', 'build', '@points.csv', '-o', '@x.maq'], 'of no format that polygons are read from'],
    [['index', 'build', '@shapes.geojson', '-o', '@shapes.geojson'], 'not what .geojson says'],
    [['index', 'build', '@shapes.maq', '-o', '@shapes.maq'], 'both read and written'],
    [['index', 'build', '@shapes.geojson', '-o', '@no/x.maq'], 'its folder does not exist'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--levels', '31'], 'not a whole number from 0 to 30'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--domain', '1,2'], 'not of the form left,bottom,size'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--domain', '1,2,0'], 'a size of 0'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--plot', '@x.gif'], 'names no format that is drawn'],
    [['index', 'build', '@shapes.geojson', '-o', '-', '--plot', '-'], 'cannot both write to stdout'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--leevls', '3'], 'Did you mean --levels?'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--layer', 'a'], 'has no layer'],
    [['index', 'build', '@shapes.geojson', '-o', '@x.maq', '--input-format', 'wkb'], 'Did you mean wkt?'],
    [['index', 'info'], 'TREE is missing'],
    [['index', 'info', '@shapes.maq', '--plot-window', '1,2,3'], 'is no rectangle'],
    [['index', 'query', '@shapes.maq'], 'Nothing says what to ask'],
    [['index', 'query', '@shapes.maq', '--points', '@points.csv', '--windows', '@windows.csv'], 'exclude each other'],
    [['index', 'query', '@shapes.maq', '--points', '@points.csv', '--above', '3'], '--above means nothing to --points'],
    [['index', 'query', '@shapes.maq', '--windows', '@windows.csv', '--above', '-3'], 'not 0 or above'],
    [['index', 'query', '@shapes.maq', '--points', '@points.csv', '-o', '@x.xlsx'], 'not what .xlsx says'],
    [['index', 'query', '@shapes.maq', '--points', '@points.csv', '-o', '@points.csv'], 'both read and written'],
    [['index', 'query', '@shapes.maq', '--points', '@nowhere.csv'], 'nowhere.csv: There is no such file'],
    [['index', 'query', '@points.csv', '--points', '@points.csv'], 'no file of a MAQ-tree'],
    [
      ['index', 'query', '@shapes.maq', '--points', '@points.csv', '--backend', 'workers', '--adapter', 'software'],
      'means nothing',
    ],
  ])('is told in one line: %j', async (words, why) => {
    const before = await readdir(shop.folder);
    const { exitCode, stdout, stderr } = await shop.quadrille(words);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(why);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(await readdir(shop.folder)).toEqual(before);
  });

  test.each([
    [
      ['index', '--help'],
      ['index build', 'index info', 'index query'],
    ],
    [
      ['index', 'build', '--help'],
      ['--levels', '--domain', '--no-edges', '--plot'],
    ],
    [
      ['index', 'info', '--help'],
      ['--json', '--plot-window'],
    ],
    [
      ['index', 'query', '-h'],
      ['--points', '--count', '--above', '--filter-only'],
    ],
  ])('has a help page: %j', async (words, told) => {
    const stdout = await answer(shop.quadrille(words));
    for (const each of told) expect(stdout).toContain(each);
    expect(stdout.split('\n').every((line) => line.length <= 131)).toBe(true);
  });
});

function quietLog(): Log {
  const ignore = (): void => undefined;
  return { progressEvery: 0, note: ignore, progress: ignore, clearProgress: ignore, summary: ignore, error: ignore };
}

describe('Ctrl-C', () => {
  const surroundings = (at: (controller: AbortController) => Partial<Log>, stdout: Writable) => {
    const controller = new AbortController();
    return {
      log: { ...quietLog(), ...at(controller) },
      stdout,
      signal: controller.signal,
      beforeExit: (): void => undefined,
    };
  };
  const interrupt = (controller: AbortController): void => controller.abort(new Interrupted('SIGINT'));
  const sink = (take: () => void = () => undefined) =>
    new Writable({
      write(_chunk, _encoding, done) {
        take();
        done();
      },
    });
  const failureOf = async (run: Promise<void>): Promise<Error> =>
    run.then(
      () => expect.unreachable(),
      (error) => error,
    );

  test('while building leaves no file behind', async () => {
    const before = await readdir(shop.folder);
    const words = [shop.path('shapes.geojson'), '-o', shop.path('stopped.maq'), '--plot', shop.path('stopped.svg')];
    const options = parseBuildArguments([...words, '--backend', 'reference']);
    let files: readonly string[] = [];
    const stopping = surroundings((controller) => ({ progress: () => interrupt(controller) }), sink());
    const parts = {
      ...buildParts,
      async openContext(...args: Parameters<typeof buildParts.openContext>) {
        files = await readdir(shop.folder);
        return buildParts.openContext(...args);
      },
    };
    const error = await failureOf(runIndexBuild(options, parts, stopping));
    expect([exitCodeOf(error), error.message]).toEqual([130, 'Stopped by SIGINT; nothing was written.']);
    expect(files.filter((name) => name.endsWith('.tmp'))).toHaveLength(2);
    expect(await readdir(shop.folder)).toEqual(before);
  });

  test('while answering leaves no file behind, and says where stdout has a part', async () => {
    await shop.write('long.csv', `x,y\n${'10,10\n'.repeat(20_000)}`);
    const before = await readdir(shop.folder);
    const words = [shop.path('shapes.maq'), '--points', shop.path('long.csv'), '--backend', 'reference'];
    const toFile = parseQueryArguments([...words, '-o', shop.path('stopped.csv')]);
    const atFirst = (controller: AbortController) => ({
      progress: ({ done }: { readonly done: number }) => {
        if (done > 0) interrupt(controller);
      },
    });
    const error = await failureOf(runIndexQuery(toFile, queryParts, surroundings(atFirst, sink())));
    expect([exitCodeOf(error), error.message]).toEqual([130, 'Stopped by SIGINT; nothing was written.']);
    const onStdout = await failureOf(
      runIndexQuery(parseQueryArguments(words), queryParts, surroundings(atFirst, sink())),
    );
    expect(onStdout.message).toMatch(/the output on stdout is incomplete, and no file was written/);
    expect(await readdir(shop.folder)).toEqual(before);
  });
});

test('a reader that goes away ends the answers, and is no failure', async () => {
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

test('progress tells bytes, polygons and quadrants', async () => {
  const { stderr } = await build('@shapes.geojson', '-o', '@p.maq', '--levels', '6', '--json-log');
  const events = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { size } = { size: (await bytesOf('shapes.geojson')).length };
  const quadrants = (await treeOf('p.maq')).tree.entries.polygon.length;
  expect(events.filter(({ event }) => event === 'progress').at(-1)).toMatchObject({
    doneBytes: size,
    totalBytes: size,
    polygons: 3,
    quadrants,
  });
  expect(events.at(-1)).toMatchObject({ event: 'result', polygons: 3, backend: 'reference' });
  expect((await build('@shapes.geojson', '-o', '@p.maq', '--quiet')).stderr).toBe('');
});
