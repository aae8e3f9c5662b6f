import { readdir, readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LONGEST_RECORD } from '../../formats/tables/csv/scan.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
  await shop.write('zones.json', collection(zone('a', rectangle(0, 0, 4, 3))));
  await shop.writeRaster('raster.tif');
});
afterAll(() => shop.remove());

const zonal = (zones: string, ...more: string[]) =>
  shop.quadrille(['zonal', '--zones', zones, '--raster', '@raster.tif', '--backend', 'reference', '--quiet', ...more]);

describe('edges of bins', () => {
  test('are printed as short decimals, and equal the same edges written out', async () => {
    const even = await zonal('@zones.json', '--bins', '-1:11.5:0.05');
    const edges = Array.from({ length: 251 }, (_, i) => Number(`${-100 + 5 * i}e-2`)).join(',');
    const written = await zonal('@zones.json', '--edges', edges);
    expect(even).toEqual(written);
    expect(even.exitCode).toBe(0);
    for (const number of even.stdout.match(/-?\d+\.\d+/g) ?? []) expect(number).toMatch(/^-?\d+\.\d{1,2}$/);
  });
});

describe('gzipped zones', () => {
  test('are decompressed', async () => {
    const plain = await readFile(shop.path('zones.json'));
    await shop.write('zones.json.gz', new Uint8Array(gzipSync(plain)));
    expect(await zonal('@zones.json.gz', '--unique')).toEqual(await zonal('@zones.json', '--unique'));
  });

  test('that are truncated are reported as truncated', async () => {
    const whole = gzipSync(await readFile(shop.path('zones.json')));
    await shop.write('cut.json.gz', new Uint8Array(whole.subarray(0, whole.length / 2)));
    const { exitCode, stderr } = await zonal('@cut.json.gz', '--unique');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /^quadrille: cut\.json\.gz: The gzip stream is damaged or cut off\. .+ Fetch or write the file again\.\n$/,
    );
  });
});

describe('a URL', () => {
  for (const address of [
    'https://example.org/zones.json',
    'https://me:secret@example.org/zones.json?key=secret#secret',
    's3://me:secret@bucket/zones.json',
    '/vsicurl/https://me:sec/ret@example.org/z?key=secret',
  ]) {
    test(`${address} is reported as a URL, with a remedy`, async () => {
      const { exitCode, stderr } = await zonal(address, '--unique');
      expect(exitCode).toBe(2);
      expect(stderr).toContain('This is an address, and only rasters are read from addresses.');
      expect(stderr).not.toMatch(/secret|sec\/ret/);
    });
  }

  test('is not assumed when only a file is missing', async () => {
    expect((await zonal('@missing.json', '--unique')).stderr).toContain('There is no such file.');
  });
});

test('an endless line of a CSV is reported as too long; an unclosed quote only when one is open', async () => {
  await shop.write('set.wkt', 'POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))\n');
  const built = await shop.quadrille([
    'index',
    'build',
    '@set.wkt',
    '-o',
    '@set.maq',
    '--levels',
    '4',
    '--backend',
    'reference',
  ]);
  expect(built.exitCode).toBe(0);
  const ask = async (text: string) => {
    await shop.write('points.csv', `x,y\n${text}`);
    return shop.quadrille(['index', 'query', '@set.maq', '--points', '@points.csv', '--backend', 'reference']);
  };
  const long = await ask('1'.repeat(LONGEST_RECORD + 1));
  expect([long.exitCode, long.stderr]).toEqual([2, expect.stringContaining('A line is too long to be a row.')]);
  const quoted = await ask(`"${'1'.repeat(LONGEST_RECORD + 1)}`);
  expect([quoted.exitCode, quoted.stderr]).toEqual([2, expect.stringContaining('A quote is opened and not closed.')]);
});

test('help states what exact results are exact to', async () => {
  const said = async (...words: string[]) =>
    (await shop.quadrille([...words, '--help'])).stdout.replaceAll(/\s+/g, ' ');
  expect(await said('index', 'query')).toMatch(/exact on the tree's grid.*37 mm/);
  expect(await said('compare')).toContain('sloped edges are sampled at the centres of pixels');
  expect(await said()).toMatch(/129 by SIGHUP.*130 by SIGINT.*143 by SIGTERM/);
  expect(await said('tune')).toContain('quadrille bench and quadrille tune take it with --tuning FILE');
});

const COMMANDS = [
  ...[
    'zonal',
    'compare',
    'track',
    'neighbours',
    'table',
    'worker',
    'devices',
    'bench',
    'tune',
    'queue',
    'index',
    'raster',
  ],
  ...['index build', 'index query', 'index info', 'raster encode', 'raster decode', 'raster info'],
];

test('no line of help is longer than 127 characters', async () => {
  const long: string[] = [];
  for (const command of COMMANDS) {
    const { stdout } = await shop.quadrille([...command.split(' '), '--help']);
    expect(stdout, command).not.toBe('');
    for (const line of stdout.split('\n')) if (line.length > 127) long.push(`${command}: ${line}`);
  }
  expect(long).toEqual([]);
});

test('counts of things are in the singular for one of them', async () => {
  const folder = new URL('../../cli/', import.meta.url);
  const plural = /(?<!× )\$\{(?:grouped|number)\((?:[^()]|\([^()]*\))*\)\} (?:[a-z]+s|vertices)\b/g;
  expect(['$', '{grouped(Math.round(rate))} queries'].join('')).toMatch(plural);
  const found: string[] = [];
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.ts')) continue;
    const source = await readFile(new URL(file, folder), 'utf8');
    for (const [text] of source.matchAll(plural)) found.push(`${file}: ${text}: write it with counted(…)`);
  }
  expect(found).toEqual([]);
});
