import { readdir, readFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import fc from 'fast-check';
import { decode } from 'fast-png';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildMaqTree, readMaqTree } from '../../algorithms/maq-tree/index.ts';
import { decompose, placeInDomain, WORLD } from '../../algorithms/quadrants/index.ts';
import { parseBuildArguments } from '../../cli/index-arguments.ts';
import { runIndexBuild } from '../../cli/index-build.ts';
import { domainAround } from '../../cli/index-layers.ts';
import { buildParts } from '../../cli/parts.ts';
import { readPolygonLayer } from '../../formats/polygons/open-polygon-layer.ts';
import { encodeMaq, type MaqFile } from '../../formats/results/maq-file.ts';
import { costlyCaseCount } from '../cases.ts';
import { collection, rectangle, zone } from '../support/cli-support.ts';
import { flatGeobufOf, shapefileOf, type WrittenFeature, wktOf } from '../support/polygon-layers-support.ts';
import { openReference } from '../support/reference-context.ts';
import { answer, type IndexWorkshop, openIndexWorkshop, quietLog, shapes, TRIANGLE } from './cli-index-support.ts';

let shop: IndexWorkshop;
beforeAll(async () => {
  shop = await openIndexWorkshop();
});
afterAll(() => shop.remove());

describe('quadrille index build', () => {
  test('writes the same tree as the library, and one line on stdout', async () => {
    const { exitCode, stdout, stderr } = await shop.build(
      '@shapes.geojson',
      '@boxes.geojson',
      '-o',
      '@both.maq',
      '--levels',
      '6',
    );
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /both\.maq: 2 sets, 5 polygons, 23 vertices, [\d,]+ quadrants, [\d,]+ nodes, 6 levels, \d.* kB, \d+\.\d s on reference, at most [\d.]+ [MG]B of memory\.\n$/,
    );
    expect(stderr).toBe('The domain is -180,-180,360: a step is 3.35e-7.\nWrote both.maq.\n');
    expect(await shop.bytesOf('both.maq')).toEqual(await treeByLibrary(['shapes', 'boxes'], 6));
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

  test('prints its figures as JSON with --json', async () => {
    const printed = JSON.parse(await answer(shop.build('@shapes.geojson', '-o', '@j.maq', '--levels', '6', '--json')));
    const { tree } = await shop.treeOf('j.maq');
    expect(printed).toMatchObject({
      backend: 'reference',
      bytes: (await shop.bytesOf('j.maq')).length,
      polygons: 3,
      vertices: 15,
      quadrants: tree.entries.polygon.length,
      nodes: tree.nodes.level.length,
      levels: 6,
      domain: WORLD,
      edges: true,
      sets: [{ name: 'shapes', crs: 'OGC:CRS84', polygons: 3 }],
    });
    expect(printed.seconds).toBeGreaterThan(0);
    expect(printed.peakBytes).toBeGreaterThan(1e6);
  });

  const written: WrittenFeature[] = [
    { name: 'a', parts: [[rectangle(1, 1, 30, 40)]] },
    { name: 'b', parts: [[rectangle(-90, -60, -20, -10), rectangle(-80, -50, -40, -20)], [TRIANGLE]] },
  ] as never;

  test('builds the same tree from every format', async () => {
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
    await answer(shop.build('@f.json', '-o', '@f.maq', '--levels', '5', '--assume-crs', 'EPSG:4326'));
    const expected = await shop.bytesOf('f.maq');
    for (const [name, format] of [
      ['f.ndjson', 'geojson-lines'],
      ['f.topojson', 'topojson'],
      ['f.fgb', 'flatgeobuf'],
      ['f.shp', 'shapefile'],
      ['f.wkt', 'wkt'],
    ] as const) {
      const words = ['-o', '@other.maq', '--levels', '5', '--assume-crs', 'EPSG:4326'];
      await answer(shop.build(`@${name}`, ...words));
      expect([name, await shop.bytesOf('other.maq')]).toEqual([name, expected]);
      await answer(shop.build(`@${name}`, ...words, '--input-format', format));
      expect([name, await shop.bytesOf('other.maq')]).toEqual([name, expected]);
    }
  });

  test('builds the same tree from shuffled features, except for the polygon numbers', async () => {
    const rowsOf = ({ sets, tree: { nodes, entries } }: MaqFile): string[] =>
      Array.from(nodes.level, (level, node) => {
        const from = nodes.firstEntry[node]!;
        const held = Array.from({ length: nodes.entryCount[node]! }, (_, at) => {
          return `${sets[0]!.names[entries.polygon[from + at]!]}:${entries.boundary[from + at]}`;
        });
        return `${level}/${nodes.code.lo[node]}/${nodes.childCount[node]}/${held.sort()}`;
      });
    const expected = rowsOf(await shop.treeOf('shapes.maq'));
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(shapes, { minLength: 3 }), async (shuffled) => {
        await shop.write('shuffled.json', collection(...shuffled));
        await answer(shop.build('@shuffled.json', '-o', '@shuffled.maq', '--levels', '6'));
        expect(rowsOf(await shop.treeOf('shuffled.maq'))).toEqual(expected);
      }),
      { numRuns: costlyCaseCount(5) },
    );
  });

  test('writes the same bytes with any sufficient memory, and on workers', async () => {
    const expected = await shop.bytesOf('shapes.maq');
    for (const words of [
      ['--backend', 'reference', '--memory', '300kB'],
      ['--backend', 'workers', '--workers', '1'],
    ]) {
      await answer(shop.index('build', '@shapes.geojson', '-o', '@again.maq', '--levels', '6', ...words));
      expect(await shop.bytesOf('again.maq')).toEqual(expected);
    }
  });

  test('names polygons by a property, and a layer by its name', async () => {
    const layer = (name: string) => ({ type: 'Polygon', arcs: [[0]], properties: { called: name } });
    await shop.write('layers.json', {
      type: 'Topology',
      arcs: [TRIANGLE],
      objects: { one: layer('x'), two: layer('y') },
    });
    await answer(shop.build('@layers.json', '-o', '@two.maq', '--layer', 'two', '--id', 'called', '--levels', '3'));
    expect((await shop.treeOf('two.maq')).sets).toEqual([{ name: 'layers', crs: 'OGC:CRS84', names: ['y'] }]);
  });

  test('omits edges with --no-edges', async () => {
    await answer(shop.build('@shapes.geojson', '-o', '@bare.maq', '--levels', '6', '--no-edges'));
    expect('edges' in (await shop.treeOf('bare.maq')).tree).toBe(false);
    expect((await shop.bytesOf('bare.maq')).length).toBeLessThan((await shop.bytesOf('shapes.maq')).length);
  });

  const metres = collection(zone('m', rectangle(500_000, 5_000_000, 500_100, 5_000_300)));

  test('chooses a round domain for projected coordinates, and prints it', async () => {
    await shop.write('utm.json', metres);
    const { stdout, stderr } = await shop.build(
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
    expect((await shop.treeOf('utm.maq')).domain).toEqual({ left: 499_968, bottom: 5_000_000, size: 512 });
  });

  test('chooses a domain when coordinates without a system are not longitudes and latitudes', async () => {
    await shop.write('unnamed.json', metres);
    const { exitCode, stderr } = await shop.build('@unnamed.json', '-o', '@unnamed.maq', '--levels', '4');
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('--domain 499968,5000000,512')]);
    expect((await shop.treeOf('unnamed.maq')).sets[0]!.crs).toBeUndefined();
    await answer(shop.build('@utm.json', '-o', '@utm.maq', '--levels', '4', '--assume-crs', 'EPSG:32633'));
    expect((await shop.treeOf('unnamed.maq')).tree).toEqual((await shop.treeOf('utm.maq')).tree);
  });

  test('uses the given domain', async () => {
    await answer(shop.build('@shapes.geojson', '-o', '@d.maq', '--levels', '4', '--domain', '-100,-100,256'));
    expect((await shop.treeOf('d.maq')).domain).toEqual({ left: -100, bottom: -100, size: 256 });
    await answer(shop.build('@shapes.geojson', '-o', '@d.maq', '--levels', '6', '--domain', 'world'));
    expect(await shop.bytesOf('d.maq')).toEqual(await shop.bytesOf('shapes.maq'));
  });

  test('stops at a polygon beyond the domain, or skips and counts it', async () => {
    const words = ['@shapes.geojson', '-o', '@part.maq', '--levels', '6', '--domain', '-180,0,180'];
    const { exitCode, stdout, stderr } = await shop.build(...words);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /record 0: The polygon "frame" is not in the domain\..*--domain left,bottom,size.*--on-bad-record skip/,
    );
    expect(await readdir(shop.folder)).not.toContain('part.maq');
    const skipped = await shop.build(...words, '--on-bad-record', 'skip');
    expect(skipped.stderr).toContain('note: 2 polygons are not in the domain and were skipped: "frame", "island".');
    expect((await shop.treeOf('part.maq')).sets[0]!.names).toEqual(['wedge']);
  });

  test('stops at a record that cannot be read, or skips and counts it', async () => {
    const broken = { type: 'Feature', properties: {}, geometry: { type: 'Polygon', coordinates: [[[0, 'x']]] } };
    await shop.write('broken.json', collection(shapes[0]!, broken, shapes[2]!));
    const { exitCode, stderr } = await shop.build('@broken.json', '-o', '@broken.maq');
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/^quadrille: broken\.json, record 1: /)]);
    const skipped = await shop.build('@broken.json', '-o', '@broken.maq', '--levels', '6', '--on-bad-record', 'skip');
    expect(skipped).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('1 record could not be read') });
    expect((await shop.treeOf('broken.maq')).sets[0]!.names).toEqual(['frame', 'wedge']);
  });

  test('refuses files of different coordinate systems, and names both', async () => {
    const crs = { type: 'name', properties: { name: 'EPSG:32633' } };
    await shop.write('zone33.json', { ...metres, crs });
    const { exitCode, stderr } = await shop.build(
      '@shapes.geojson',
      '@zone33.json',
      '-o',
      '@mixed.maq',
      '--levels',
      '4',
    );
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
    expect((await shop.build('@shapes.geojson', '@behind.json', '-o', '@mixed.maq', '--levels', '4')).stderr).toContain(
      'but behind.json is in EPSG:32633',
    );
  });

  test('notes repeated names of sets, and sets without polygons', async () => {
    await shop.write('empty.json', collection());
    const { exitCode, stderr } = await shop.build('@empty.json', '@empty.json', '-o', '@none.maq');
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('Several files are named "empty"')]);
    expect(stderr).toContain('There are no polygons in the file.');
    expect((await shop.treeOf('none.maq')).tree.nodes.level).toHaveLength(0);
    expect(await answer(shop.query('@none.maq', '--points', '@points.csv'))).toBe('point,set,polygon\n');
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
    expect(new Uint8Array(Buffer.concat(stdout))).toEqual(await shop.bytesOf('shapes.maq'));
  });

  test('plots the tree', async () => {
    const words = ['--plot', '@shapes.svg', '--plot', '@shapes.png', '--levels', '6'];
    expect(await answer(shop.build('@shapes.geojson', '-o', '@drawn.maq', ...words))).toMatch(/^.*drawn\.maq: 1 set/);
    const { tree } = await shop.treeOf('drawn.maq');
    const svg = await readFile(shop.path('shapes.svg'), 'utf8');
    const squares = (color: string): number =>
      [...svg.matchAll(new RegExp(`fill="${color}"[^>]* d="([^"]*)"`, 'g'))].flatMap(([, d]) => [...d!.matchAll(/z/g)])
        .length;
    expect(squares('#ec9e42')).toBe(tree.entries.boundary.filter((each) => each === 1).length);
    expect(svg).toContain(`${tree.entries.polygon.length} quadrants`);
    expect(svg).toMatch(/stroke="#1b1e24"[^>]*d="M/);
    const { width, height, data } = decode(await shop.bytesOf('shapes.png'));
    expect(Math.max(width, height)).toBe(2000);
    const colors = new Set<string>();
    for (let at = 0; at < data.length; at += 3) colors.add([data[at], data[at + 1], data[at + 2]].join());
    expect([colors.has('236,158,66'), colors.has('255,255,255'), colors.has('27,30,36')]).toEqual([true, true, true]);
  });

  test('plots large trees at a coarser level, with a note, and windows in full', async () => {
    // Small triangles far apart: they have few quadrants of level 13.
    const triangle = (x: number, y: number): object =>
      zone(x, [
        [x, y],
        [x + 5, y + 1],
        [x + 2, y + 4],
        [x, y],
      ]);
    await shop.write('far.geojson', collection(triangle(-60, 10), triangle(0, 0), triangle(85, 76)));
    const words = ['-o', '@fine.maq', '--levels', '13', '--plot', '@fine.svg'];
    const { stderr } = await shop.build('@far.geojson', ...words);
    expect(stderr).toMatch(/note: fine\.svg: Drawn to level 11 of 13: smaller squares are less than a pixel\./);
    const whole = await readFile(shop.path('fine.svg'), 'utf8');
    expect(whole.length).toBeLessThan(200_000);
    expect(whole).toContain('Drawn to level 11 of 13');
    await answer(shop.index('info', '@fine.maq', '--plot', '@corner.svg', '--plot-window', '-0.1,-0.1,0.1,0.1'));
    expect(await readFile(shop.path('corner.svg'), 'utf8')).not.toContain('Drawn to level');
  });
});

describe('domainAround', () => {
  const at = fc.double({ min: -1e9, max: 1e9, noNaN: true }).map((value) => Math.round(value * 1e6) / 1e6);
  test('contains the extent in a square of a power of two, aligned to an eighth of its size', () => {
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
  test('describes a tree', async () => {
    const { tree } = await shop.treeOf('shapes.maq');
    const printed = JSON.parse(await answer(shop.index('info', '@shapes.maq', '--json')));
    const inside = tree.entries.boundary.filter((each) => each === 0).length;
    expect(printed).toMatchObject({
      bytes: (await shop.bytesOf('shapes.maq')).length,
      levels: 6,
      domain: WORLD,
      sets: [{ name: 'shapes', crs: 'OGC:CRS84', polygons: 3 }],
      nodes: tree.nodes.level.length,
      entries: { inside, boundary: tree.entries.boundary.length - inside },
      edges: { edges: 15 },
      checksum: 'ok',
    });
    const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
    expect(sum(printed.nodesPerLevel)).toBe(printed.nodes);
    expect(sum(Object.values(printed.bytesPerPart))).toBe(printed.bytes);
    const text = await answer(shop.index('info', '@shapes.maq'));
    expect(text).toContain('shapes: 3 polygons, OGC:CRS84');
    expect(text).toContain('checksum ok');
  });

  test('refuses files that are not trees, and damaged trees', async () => {
    const whole = await shop.bytesOf('shapes.maq');
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
      ['nothing.maq', 'not a MAQ-tree file'],
      ['shapes.geojson', 'not a MAQ-tree file'],
      ['missing.maq', 'There is no such file'],
      ['.', 'This is a directory'],
    ] as const) {
      const { exitCode, stdout, stderr } = await shop.index('info', `@${name}`);
      expect([exitCode, stdout, stderr]).toEqual([2, '', expect.stringContaining(why)]);
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    }
  });
});

test('progress reports bytes, polygons and quadrants', async () => {
  const { stderr } = await shop.build('@shapes.geojson', '-o', '@p.maq', '--levels', '6', '--json-log');
  const events = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { size } = { size: (await shop.bytesOf('shapes.geojson')).length };
  const quadrants = (await shop.treeOf('p.maq')).tree.entries.polygon.length;
  expect(events.filter(({ event }) => event === 'progress').at(-1)).toMatchObject({
    doneBytes: size,
    totalBytes: size,
    polygons: 3,
    quadrants,
  });
  expect(events.at(-1)).toMatchObject({ event: 'result', polygons: 3, backend: 'reference' });
  expect((await shop.build('@shapes.geojson', '-o', '@p.maq', '--quiet')).stderr).toBe('');
});
