import { spawn } from 'node:child_process';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { geoParquetOfFeatures } from '../support/binary-layers-support.ts';
import { builtCommand } from '../support/built-package.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { flatGeobufOf } from '../support/polygon-layers-support.ts';

const BIN = await builtCommand();
let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
  await shop.writeRaster('r.tif');
  await shop.write('zones.json', ZONES);
});
afterAll(() => shop.remove());

const RINGS = { a: rectangle(0, 0, 2, 2), b: rectangle(1, 1, 4, 3) };
const ZONES = collection(...Object.entries(RINGS).map(([name, ring]) => zone(name, ring)));
const LINES = Object.entries(RINGS).map(([name, ring]) => JSON.stringify(zone(name, ring)));
const QUESTION = ['--raster', 'r.tif', '--stats', '-', '--backend', 'reference'];
const written = Object.entries(RINGS).map(([name, ring]) => ({ name, parts: [[ring as [number, number][]]] }));
const CSV = ['name,wkt', ...Object.entries(RINGS).map(([name, ring]) => `${name},"POLYGON ((${ring.map((each) => each.join(' ')).join(', ')}))"`)]; // biome-ignore format: one line

/** Starts the command with zones from its stdin. */
function start(...words: string[]) {
  const child = spawn(process.execPath, [BIN, 'zonal', '--zones', '-', ...QUESTION, ...words], { cwd: shop.folder });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  // If the process ends early, the pipe is closed, which is no error here.
  child.stdin.on('error', () => undefined);
  const ended = new Promise<{ exitCode: number | null; stdout: string; stderr: string }>((resolve) => {
    child.on('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
  return { child, ended };
}

async function piped(bytes: string | Uint8Array, ...words: string[]) {
  const { child, ended } = start(...words);
  child.stdin.end(bytes);
  return ended;
}

describe('zones on standard input', () => {
  test.each([
    ['GeoJSON', JSON.stringify(ZONES), []],
    ['gzipped GeoJSON', gzipSync(JSON.stringify(ZONES)), []],
    ['GeoJSON by lines', LINES.join('\n'), []],
    ['CSV', CSV.join('\n'), ['--id', 'name', '--assume-crs', 'EPSG:4326']],
    ['FlatGeobuf', flatGeobufOf(written, 4326), ['--id', 'name']],
  ])('give the rows of the same zones in a file: %s', async (_, bytes, words) => {
    const file = await shop.quadrille(['zonal', '--zones', '@zones.json', '--raster', '@r.tif', ...QUESTION.slice(2)]);
    const { exitCode, stdout, stderr } = await piped(bytes, ...words);
    expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: 0, stdout: file.stdout });
  });

  test.each([
    [[], geoParquetOfFeatures(written), /standard input: Polygons in .* can only be read from a file\..*Name the file/],
    [[], JSON.stringify(ZONES).slice(0, -9), /standard input:1:\d+, record 1: The text is not valid JSON/],
    [[], '', /standard input: The format of the file is not known/],
    [['--memory', '64MB'], 'x'.repeat(2 ** 27), /standard input: The file is too large to be held in memory/],
    [
      ['--queue', 'redis://nowhere', '--queue-folder', '.'],
      JSON.stringify(ZONES),
      /zones are on standard input\. Write them to a file/,
    ],
  ])('are refused with what to do: %j', async (words, bytes, said) => {
    const { exitCode, stdout, stderr } = await piped(bytes, ...words);
    expect([exitCode === 0, stdout]).toEqual([false, '']);
    expect(stderr).toMatch(said);
  });

  test('are refused when standard input is a terminal', async () => {
    const before = Object.getOwnPropertyDescriptor(process.stdin, 'isTTY');
    Object.defineProperty(process.stdin, 'isTTY', { value: true, configurable: true });
    try {
      const words = ['zonal', '--zones', '-', '--raster', '@r.tif', ...QUESTION.slice(2)];
      const { exitCode, stderr } = await shop.quadrille(words);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Standard input is a terminal')]);
    } finally {
      if (before === undefined) delete (process.stdin as { isTTY?: boolean }).isTTY;
      else Object.defineProperty(process.stdin, 'isTTY', before);
    }
  });

  test('that do not end are waited for until Ctrl-C', async () => {
    const { child, ended } = start();
    child.stdin.write('{ "type": "FeatureCollection", "features": [');
    await new Promise((resolve) => setTimeout(resolve, 1500));
    child.kill('SIGINT');
    const killed = performance.now();
    const { exitCode, stdout, stderr } = await ended;
    expect(performance.now() - killed).toBeLessThan(5000);
    expect([exitCode, stdout]).toEqual([130, '']);
    expect(stderr).toContain('SIGINT');
  });
});
