import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFromIPC } from '@uwdata/flechette';
import { encode } from 'fast-png';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HAS_SQLITE } from '../support/binary-layers-support.ts';
import { openWorkshop, rectangle, type Workshop } from '../support/cli-support.ts';
import { parseCsv } from '../support/parse-csv.ts';

let shop: Workshop;

/**
 * Three tiles (files) in each of the folders `human` and `model`. In tile n, polygon x of `human` has four rows of
 * pixels, n of which it shares with polygon p of `model`.
 */
beforeAll(async () => {
  shop = await openWorkshop();
  for (const folder of ['human', 'model', 'torn', 'out']) await mkdir(shop.path(folder));
  for (const n of [1, 2, 3]) {
    await shop.write(`human/t${n}.txt`, 'x 0,0 4,0 4,4 0,4\ny 10,10 14,10 14,12 10,12\n');
    await shop.write(
      `model/t${n}.txt`,
      `p 0,0 4,0 4,${n} 0,${n}\nq 30,30 31,30 31,31 30,31\nr 40,40 41,40 41,41 40,41\n`,
    );
    await shop.write(`torn/t${n}.txt`, n === 2 ? 'p 0,0 4,0 broken' : `p 0,0 4,0 4,${n} 0,${n}\n`);
  }
});
afterAll(() => shop.remove());

const compare = (...words: readonly string[]) => shop.quadrille(['compare', ...words, '--backend', 'reference']);
const both = (...words: readonly string[]) => compare('@human', '@model', ...words);
/** Returns the stdout of a run. The run must succeed. */
const answer = async (run: ReturnType<typeof compare>): Promise<string> => {
  const { exitCode, stdout, stderr } = await run;
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return stdout;
};
const written = (name: string): Promise<string> => readFile(shop.path(name), 'utf8');

describe('quadrille compare', () => {
  test('prints J′ on stdout, and a summary on stderr', async () => {
    const { exitCode, stdout, stderr } = await both();
    expect([exitCode, stdout]).toEqual([0, '0.5\n']);
    const [similarity, polygons, matches, run] = stderr.split('\n');
    expect(similarity).toBe('J′ 0.5000: mean ratio of 3 pairs with common area, of 3 candidates.');
    expect(polygons).toMatch(/^6 polygons in .*human, 3 missing from .*model; 9 polygons in .*model, 6 missing from/);
    expect(matches).toBe('2 matches from 0.5 on (optimal): precision 0.222, recall 0.333, F1 0.267, mean IoU 0.625.');
    expect(run).toMatch(/^3 tiles, \d+\.\d s on reference\.$/);
  });

  const FIXTURES = join(import.meta.dirname, '..', 'fixtures', 'polygon-layers');
  test.each(['shapes.shp', 'shapes.parquet', 'shapes.fgb', ...(HAS_SQLITE ? ['shapes.gpkg'] : [])])(
    'gives the same figures for %s as for the same polygons in GeoJSON',
    async (file) => {
      await shop.write('moved.txt', 'a 9.6,47.3 11.7,47.3 11.7,47.9 9.6,47.9\n');
      const figures = async (set: string): Promise<unknown> => {
        const options = ['--id-column', 'code', '--pixel-size', '0.001', '--out', '-'];
        const {
          source: _source,
          notes: _notes,
          ...same
        } = JSON.parse(await answer(compare(set, '@moved.txt', ...options)));
        return same;
      };
      expect(await figures(join(FIXTURES, file))).toEqual(await figures(join(FIXTURES, 'shapes.geojson')));
    },
  );

  test('compares two layers of one file, in GeoPackage where Node has SQLite', async () => {
    const file = join(FIXTURES, 'shapes.gpkg');
    const layers = ['--layer-a', 'shapes', '--layer-b', 'shapes', '--id-column', 'code', '--pixel-size', '0.01'];
    const both = await compare(file, file, ...layers);
    expect(both).toMatchObject(HAS_SQLITE ? { exitCode: 0, stdout: '1\n' } : { exitCode: 2, stdout: '' });
    expect(both.stderr).toContain(HAS_SQLITE ? '3 matches' : 'Node 24');
    expect(await compare(file, file, '--layer-a', 'none')).toMatchObject({ exitCode: 2, stdout: '' });
  });

  test('prints no header of a table before it refuses an input', async () => {
    await shop.write('broken.txt', 'p 0,0 4,0 broken');
    const refused = await compare('@human/t1.txt', '@broken.txt', '--pairs', '-');
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toContain('broken.txt');
  });

  test('writes every requested output, and no other file', async () => {
    const files = ['out/o.json', 'out/p.csv', 'out/t.json', 'out/m.arrow', 'out/h.svg', 'out/r.html', 'out/tr.json'];
    const options = ['out', 'pairs', 'tiles', 'missing', 'plot', 'report', 'trace'];
    const stdout = await answer(both(...options.flatMap((option, i) => [`--${option}`, `@${files[i]}`])));
    expect(stdout).toBe('0.5\n');
    expect((await readdir(shop.path('out'))).sort()).toEqual(files.map((file) => file.slice(4)).sort());
    expect(JSON.parse(await written('out/o.json'))).toMatchObject({
      backend: 'reference',
      similarity: 0.5,
      pairs: 3,
      polygons: { a: 6, b: 9 },
      missing: { a: 3, b: 6 },
      matching: { minIou: 0.5, method: 'optimal', matches: 2, meanIou: 0.625 },
      tiles: { compared: 3, onlyA: 0, onlyB: 0, skipped: 0 },
    });
    expect(parseCsv(await written('out/p.csv'))).toEqual([
      ['tile', 'a', 'b', 'area_a', 'area_b', 'intersection', 'union', 'iou', 'matched'],
      ['t1', 'x', 'p', '16', '4', '4', '16', '0.25', '0'],
      ['t2', 'x', 'p', '16', '8', '8', '16', '0.5', '1'],
      ['t3', 'x', 'p', '16', '12', '12', '16', '0.75', '1'],
    ]);
    expect(JSON.parse(await written('out/t.json'))[2]).toEqual({
      tile: 't3',
      polygons_a: 2,
      polygons_b: 3,
      missing_a: 1,
      missing_b: 2,
      candidates: 1,
      pairs: 1,
      similarity: 0.75,
      matches: 1,
    });
    const missing = tableFromIPC(new Uint8Array(await readFile(shop.path('out/m.arrow'))));
    expect(missing.toArray().slice(0, 3)).toEqual([
      { tile: 't1', set: 'a', id: 'y' },
      { tile: 't1', set: 'b', id: 'q' },
      { tile: 't1', set: 'b', id: 'r' },
    ]);
    expect(await written('out/h.svg')).toContain('J′ 0.500');
    expect(await written('out/r.html')).toMatch(/<h2>Tiles least alike<\/h2>.*t1/s);
    const events = JSON.parse(await written('out/tr.json')).traceEvents as { readonly name: string }[];
    expect(events.some(({ name }) => name.includes('aggregate'))).toBe(true);
  });

  test('writes one output to stdout, in place of J′', async () => {
    expect(await answer(both('--tiles', '-', '--format', 'json'))).toMatch(/^\[\n\{"tile":"t1",.*\]\n$/s);
    expect(await answer(both('--missing', '-'))).toMatch(/^tile,set,id\nt1,a,y\n/);
    expect(JSON.parse(await answer(both('--out', '-')))).toMatchObject({ similarity: 0.5 });
  });

  test('compares two files of any names, with larger pixels', async () => {
    await shop.write('one.wkt', 'POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))\n');
    expect(await answer(compare('@one.wkt', '@human/t1.txt', '--pixel-size', '2'))).toBe('1\n');
  });

  test('prints NaN when no pair has common area, null in JSON, and why', async () => {
    await shop.write('far.txt', 'z 900,900 901,900 901,901 900,901\n');
    const { exitCode, stdout, stderr } = await compare(
      '@far.txt',
      '@human/t1.txt',
      '--out',
      '@out/none.json',
      '--plot',
      '@out/none.svg',
    );
    expect([exitCode, stdout]).toEqual([0, 'NaN\n']);
    expect(stderr).toContain('the mean of no ratios is not defined');
    const summary = JSON.parse(await written('out/none.json'));
    expect([summary.similarity, summary.similarityNote, summary.matching.meanIou]).toEqual([
      null,
      expect.any(String),
      null,
    ]);
    expect(await written('out/none.svg')).toContain('No pair of polygons has common area.');
  });

  test('matches from the given threshold on, by the given method', async () => {
    const { matching } = JSON.parse(await answer(both('--min-iou', '0.25', '--match', 'greedy', '--out', '-')));
    expect(matching).toMatchObject({ minIou: 0.25, method: 'greedy', matches: 3, meanIou: 0.5 });
  });

  test('stops at a tile that cannot be read, names it, and writes nothing', async () => {
    const { exitCode, stdout, stderr } = await compare('@human', '@torn', '--out', '@out/stopped.json');
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^note: .*--on-error skip.*\nquadrille: torn\/t2\.txt:1/);
    expect(await readdir(shop.path('out'))).not.toContain('stopped.json');
  });

  test('skips a tile that cannot be read on request, and names it', async () => {
    const { exitCode, stdout, stderr } = await compare(
      '@human',
      '@torn',
      '--on-error',
      'skip',
      '--out',
      '@out/skipped.json',
    );
    expect([exitCode, stdout]).toEqual([0, '0.5\n']);
    expect(stderr).toMatch(/^note: The tile "t2" is skipped: torn\/t2\.txt:1/);
    expect(stderr).toContain('1 of 3 tiles could not be read: the tile was left out of all figures.');
    const { tiles, skipped } = JSON.parse(await written('out/skipped.json'));
    expect([tiles, skipped]).toEqual([
      { compared: 2, onlyA: 0, onlyB: 0, skipped: 1 },
      [expect.objectContaining({ tile: 't2' })],
    ]);
  });

  test('notes images of different sizes, with both sizes', async () => {
    const image = (width: number, height: number) =>
      encode({ width, height, data: new Uint8Array(width * height).fill(1), channels: 1, depth: 8 });
    await shop.write('small.png', image(4, 3));
    await shop.write('large.png', image(4, 6));
    const { exitCode, stdout, stderr } = await compare('@small.png', '@large.png');
    expect([exitCode, stdout]).toEqual([0, '0.5\n']);
    expect(stderr).toMatch(/^note: The tile "small" has 4 × 3 pixels in the first set and 4 × 6 in the second/);
    expect((await compare('@small.png', '@small.png')).stderr).not.toContain('pixels in the first set');
  });

  test('names the tile whose geometries were skipped', async () => {
    const polygon = { type: 'Polygon', coordinates: [rectangle(0, 0, 2, 2)] };
    const features = [polygon, { type: 'Point', coordinates: [0, 0] }].map((geometry) => ({
      type: 'Feature',
      properties: {},
      geometry,
    }));
    await shop.write('odd.geojson', { type: 'FeatureCollection', features });
    const { stderr } = await compare('@odd.geojson', '@odd.geojson');
    expect(stderr).toMatch(/^note: odd\.geojson: 1 record has geometry other than polygons, which was left out/m);
  });

  test('fails when every tile is skipped, and writes nothing', async () => {
    await mkdir(shop.path('all-torn'));
    await shop.write('all-torn/t1.txt', 'p 0,0 4,\n');
    const words = ['@all-torn', '@all-torn', '--on-error', 'skip', '--out', '@out/none-left.json'];
    const { exitCode, stdout, stderr } = await compare(...words);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /^note: The tile "t1" is skipped: all-torn\/t1\.txt:1.*\nquadrille: No tile could be compared/,
    );
    expect(await readdir(shop.path('out'))).not.toContain('none-left.json');
  });

  test('notes vertices moved to the pixel grid, and tiles of only one set', async () => {
    await mkdir(shop.path('more'));
    await shop.write('more/t1.txt', 'p 0,0 4,0 4,2.4 0,2.4\n');
    await shop.write('more/t9.txt', 'p 0,0 4,0 4,2 0,2\n');
    const { stdout, stderr } = await compare('@human', '@more');
    expect(stdout).toBe('0.5\n');
    expect(stderr).toContain('2 tiles are in human alone');
    expect(stderr).toContain('1 tile is in more alone');
    expect(stderr).toContain('2 vertices lie between the corners of pixels');
  });

  test('logs JSON with --json-log', async () => {
    const { stderr } = await both('--json-log');
    const events = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.at(-1)).toMatchObject({ event: 'result', similarity: 0.5, tiles: 3, backend: 'reference' });
    expect(events.filter(({ event }) => event === 'progress').at(-1)).toMatchObject({ doneTiles: 3, totalTiles: 3 });
  });

  test.each([
    [['@human'], 'B is missing'],
    [[], 'A is missing'],
    [['@human', '@model', 'third'], "The word 'third' is neither an option"],
    [['@human', '@nowhere'], 'There is no such file'],
    [['@human', '@model', '--min-iou', '0'], 'above 0 and at most 1'],
    [['@human', '@model', '--min-iou', '1.5'], 'above 0 and at most 1'],
    [['@human', '@model', '--pixel-size', '-1'], 'above 0'],
    [['@human', '@model', '--match', 'optimum'], 'Did you mean optimal'],
    [['@human', '@model', '--pairs', '@out/p.xlsx'], 'which does not match .xlsx'],
    [['@human', '@model', '--out', '@out/o.csv'], 'which does not match .csv'],
    [['@human', '@model', '--report', '@out/r.pdf'], 'which does not match .pdf'],
    [['@human', '@model', '--pairs', '-', '--tiles', '-'], 'cannot both write to stdout'],
    [['@human', '@model', '--migrate', 'on'], 'has no effect with --backend reference'],
    [['@human', '@model', '--pairs', '@human/pairs.csv'], 'among the tiles of'],
    [['@human/t1.txt', '@model/t1.txt', '--pairs', '@model/t1.txt', '--format', 'csv'], 'both read and written'],
    [['@human', '@out/nothing'], 'There is no such file'],
  ])('refuses %j', async (words, why) => {
    const { exitCode, stdout, stderr } = await compare(...words);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(why);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test('refuses sets without common tile names', async () => {
    await mkdir(shop.path('others'));
    for (const n of [7, 8]) await shop.write(`others/t${n}.txt`, 'p 0,0 4,0 4,2 0,2\n');
    const { exitCode, stderr } = await compare('@human', '@others');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('The two sets have no tile name in common.');
  });

  test('has a help page', async () => {
    const { stdout } = await shop.quadrille(['compare', '--help']);
    for (const option of ['--pairs', '--min-iou', '--on-error', '--migrate']) expect(stdout).toContain(option);
  });
});

describe('quadrille compare of parts that overlap', () => {
  const square = (left: number, top: number, side: number): [number, number][] => [
    [left, top],
    [left + side, top],
    [left + side, top + side],
    [left, top + side],
    [left, top],
  ];
  const rings = [square(0, 0, 10), square(5, 0, 10)];
  const wkt = `MULTIPOLYGON (${rings.map((ring) => `((${ring.map((at) => at.join(' ')).join(', ')}))`).join(', ')})`;
  const files: Readonly<Record<string, string>> = {
    'parts.wkt': wkt,
    'parts.csv': `id;wkt\n0;${wkt}\n`,
    'parts.geojson': JSON.stringify({ type: 'MultiPolygon', coordinates: rings.map((ring) => [ring]) }),
    'parts.json': JSON.stringify({
      images: [{ id: 1, file_name: 'whole.png' }],
      annotations: [{ id: 0, image_id: 1, segmentation: rings.map((ring) => ring.slice(0, -1).flat()) }],
    }),
  };

  test.each(Object.keys(files))('in %s unites them, or uses even-odd with --fill, with a note', async (file) => {
    await shop.write(file, files[file]!);
    await shop.write('whole.txt', '0 0,0 20,0 20,10 0,10\n');
    const united = await compare(`@${file}`, '@whole.txt');
    expect([united.exitCode, united.stdout]).toEqual([0, '0.75\n']);
    expect(united.stderr).toMatch(
      /note: .*: 1 polygon has parts that overlap; what several of them cover is inside and counts once: "0"\.\n/,
    );
    const cancelled = await compare(`@${file}`, '@whole.txt', '--fill', 'even-odd');
    expect([cancelled.exitCode, cancelled.stdout]).toEqual([0, '0.5\n']);
    expect(cancelled.stderr).toMatch(
      /note: .*: 1 polygon has parts that overlap; by the even-odd rule what two of them cover is outside: "0"\.\n/,
    );
  });

  test('fails when their outlines need too much memory', async () => {
    const steep = '((0 0, 500000000 1000000000, 0 1000000000, 0 0))';
    await shop.write('steep.wkt', `MULTIPOLYGON (${steep}, ${steep})`);
    await shop.write('any.txt', '0 0,0 15,0 15,10 0,10\n');
    const { exitCode, stderr } = await compare('@steep.wkt', '@any.txt', '--memory', '64MB');
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('have too many corners')]);
  });
});
