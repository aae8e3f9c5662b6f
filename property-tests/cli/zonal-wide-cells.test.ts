import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { craftedTiff, type Tags } from '../fixtures/crafted-tiff.ts';
import { arrowTexts } from '../support/arrow-texts.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { parseCsv } from '../support/parse-csv.ts';

let workshop: Workshop;
beforeAll(async () => {
  workshop = await openWorkshop();
  await workshop.write('zones.json', collection(zone('a', rectangle(0, 0, 2, 3)), zone('b', rectangle(2, 0, 4, 3))));
  await workshop.write(
    'i64.tif',
    raster(BigInt64Array.from(NEAR_2_60), { sampleFormat: [2], gdalNodata: '1152921504606846979' }),
  );
  await workshop.write('u64.tif', raster(BigUint64Array.from(NEAR_2_60, (each) => each + 2n ** 63n)));
  await workshop.write('f64.tif', raster(Float64Array.from(NEAR_1), { sampleFormat: [3], gdalNodata: '1' }));
});
afterAll(() => workshop.remove());

/** The rows of a raster of 4 × 3 cells: neighbours around 2⁶⁰, which are one f64. */
const NEAR_2_60 = [0n, 1n, 2n, 3n, 0n, 1n, 2n, 3n, 0n, 1n, 1n, 1n].map((each) => 2n ** 60n + each);
const NEAR_1 = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 1, 1].map((each) => 1 + each * 2 ** -52);

const LONLAT = [1, 1, 0, 2, 1024, 0, 1, 2, 2048, 0, 1, 4326];

/** 4 × 3 cells of size 1 whose lower left corner is at 0, 0. */
function raster(cells: BigInt64Array | BigUint64Array | Float64Array, tags: Tags = {}): Buffer {
  const placed: Tags = { modelPixelScale: [1, 1, 0], modelTiepoint: [0, 0, 0, 0, 3, 0], geoKeyDirectory: LONLAT };
  return craftedTiff({ ...placed, bitsPerSample: [64], ...tags }, new Uint8Array(cells.buffer));
}

async function count(
  file: string,
  ...args: readonly string[]
): Promise<{ bins: string[]; stats: string[]; stderr: string }> {
  const words = ['--zones', '@zones.json', '--raster', `@${file}`, '--unique', '--backend', 'reference'];
  const { exitCode, stdout, stderr } = await workshop.quadrille(['zonal', ...words, '--stats', '@stats.csv', ...args]);
  expect(exitCode, stderr).toBe(0);
  const stats = (await readFile(workshop.path('stats.csv'), 'utf8')).trim().split('\n').slice(1);
  return { bins: stdout.trim().split('\n').slice(1), stats, stderr };
}

describe('zonal with cells of 64 bits', () => {
  test('prints all digits of integers, and says what is rounded', async () => {
    const { bins, stats, stderr } = await count('i64.tif');
    const at = (low: number): string => `${2n ** 60n + BigInt(low)}`;
    expect(bins).toEqual([
      `a,${at(0)},${at(0)},3`,
      `a,${at(1)},${at(1)},3`,
      `b,${at(1)},${at(1)},2`,
      `b,${at(2)},${at(2)},2`,
      'b,nodata,,2',
    ]);
    expect(stats.map((row) => row.split(',').slice(0, 5).join())).toEqual([
      `a,6,0,${at(0)},${at(1)}`,
      `b,6,2,${at(1)},${at(2)}`,
    ]);
    expect(stderr).toContain('Integers beyond 2^53 occur');
  });

  test('takes a nodata value of any digits', async () => {
    const { bins } = await count('u64.tif', '--nodata', `${2n ** 63n + 2n ** 60n + 1n}`);
    expect(bins.at(-1)).toBe('b,nodata,,2');
    expect(bins.at(-2)).toBe(`b,${2n ** 63n + 2n ** 60n + 3n},${2n ** 63n + 2n ** 60n + 3n},2`);
  });

  test('gives integers beyond 2^53 as texts in JSON', async () => {
    const words = ['--zones', '@zones.json', '--raster', '@i64.tif', '--unique', '--backend', 'reference'];
    const { exitCode, stderr } = await workshop.quadrille(['zonal', ...words, '--out', '@all.json']);
    expect(exitCode, stderr).toBe(0);
    const { zones } = JSON.parse(await readFile(workshop.path('all.json'), 'utf8'));
    expect(zones[0].bins[1]).toEqual({ lower: '1152921504606846977', upper: '1152921504606846977', count: 3 });
    expect(zones[1].stats).toMatchObject({ min: '1152921504606846977', max: '1152921504606846978' });
  });

  test('prints all digits of statistics that are one of the values, whatever the output', async () => {
    const at = (low: number): string => `${2n ** 60n + BigInt(low)}`;
    const names = ['min', 'max', 'mode', 'minority', 'quantile_disc(0.5)'];
    // One of both values of each zone, the larger for max only.
    const expected = [names.map((name) => at(name === 'max' ? 1 : 0)), names.map((name) => at(name === 'max' ? 2 : 1))];
    const words = ['--zones', '@zones.json', '--backend', 'reference', '--stat', [...names, 'frac'].join()];
    for (const rasters of [['@i64.tif'], ['@i64.tif', '@u64.tif']]) {
      for (const pixels of ['center', 'all-touched', 'fractional']) {
        const inputs = [...rasters.flatMap((name) => ['--raster', name]), '--pixels', pixels];
        if (rasters.length > 1) inputs.push('--wide');
        const prefix = rasters.length > 1 ? 'i64_' : '';
        for (const file of ['s.csv', 's.json', 's.arrow']) {
          const args = ['zonal', ...words, ...inputs, '--stats', `@${file}`];
          const { exitCode, stderr } = await workshop.quadrille(args);
          expect(exitCode, stderr).toBe(0);
        }
        const [header, ...rows] = parseCsv(await readFile(workshop.path('s.csv'), 'utf8'));
        const cells = names.map((name) => header!.indexOf(`${prefix}${name}`));
        expect(rows.map((row) => cells.map((cell) => row[cell]))).toEqual(expected);
        const fractions = header!.filter((name) => name.startsWith(`${prefix}frac_`));
        expect(fractions).toEqual([0, 1, 2].map((low) => `${prefix}frac_${at(low)}`));
        const zones = JSON.parse(await readFile(workshop.path('s.json'), 'utf8')) as Record<string, object>[];
        expect(zones.map((row) => names.map((name) => row[`${prefix}${name}`]))).toEqual(expected);
        expect(zones.map((row) => Object.keys(row[`${prefix}frac`]!))).toEqual([
          [at(0), at(1)],
          [at(1), at(2)],
        ]);
        const arrow = arrowTexts(await readFile(workshop.path('s.arrow')));
        expect([arrow.names, ...arrow.rows]).toEqual([header, ...rows]);
      }
    }
  });

  test('tells f64 apart to the last bit, and takes only equal ones for nodata', async () => {
    const { bins, stderr } = await count('f64.tif');
    expect(bins).toEqual([
      `a,${NEAR_1[1]},${NEAR_1[1]},3`,
      'a,nodata,,3',
      `b,${NEAR_1[1]},${NEAR_1[1]},2`,
      `b,${NEAR_1[2]},${NEAR_1[2]},2`,
      `b,${NEAR_1[3]},${NEAR_1[3]},2`,
    ]);
    expect(stderr).not.toContain('Integers');
  });

  test('are refused by packed rasters', async () => {
    const { exitCode, stderr } = await workshop.quadrille(['raster', 'encode', '@f64.tif', '-o', '@f64.qbp']);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('A packed raster has no cells of f64.')]);
  });
});
