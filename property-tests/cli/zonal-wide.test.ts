import { mkdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test as plainTest } from 'vitest';
import type { AnyHistogram } from '../../algorithms/zonal/index.ts';
import { columnPrefixes } from '../../cli/zonal-columns.ts';
import { wideOutput } from '../../cli/zonal-tables.ts';
import { parseZones } from '../../formats/polygons/zones.ts';
import { wideTables } from '../../formats/results/zonal-table.ts';
import type { FileChunks } from '../../formats/text/text-chunks.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { arrowTexts } from '../support/arrow-texts.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { parseCsv } from '../support/parse-csv.ts';
import { ALL_STATISTICS } from '../support/some-statistics.ts';

/** Files, their numbers of bands, and what stands before their columns where nothing else would have the same. */
const RASTERS = [
  { name: 'deep/a.tif', bands: 1, stem: 'a' },
  { name: 'deep/er/a.tif', bands: 1, stem: 'a' },
  { name: 'three.tif', bands: 3, stem: 'three' },
  { name: '2024.03 ="x", y.tif', bands: 2, stem: '2024.03 ="x", y' },
  { name: 'wide.i64.tif', bands: 1, stem: 'wide.i64' },
  { name: 'right.tif', bands: 3, stem: 'right' },
] as const;

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
  await mkdir(shop.path('deep/er'), { recursive: true });
  const named = (id: string, at: number, properties: object) => ({
    ...zone(id, rectangle(at, 0, at + 2, 3)),
    properties,
  });
  await shop.write(
    'zones.json',
    collection(
      named('a', 0, { name: '=We, "st"', a_mean: 12 }),
      named('=b', 2, { name: '' }),
      named('outside', 40, { name: 'none', a_mean: 3 }),
    ),
  );
  for (const [at, { name, bands }] of RASTERS.entries()) {
    const cells = Array.from({ length: 12 * bands }, (_, cell) => (cell * (at + 5)) % 7);
    if (name.startsWith('wide')) {
      const large = cells.map((cell) => 2n ** 60n + BigInt(cell));
      await shop.writeRaster(name, { sample: 'i64' }, large as never);
    } else await shop.writeRaster(name, { bands, sample: 'i16', originX: name === 'right.tif' ? 1 : 0 }, cells);
  }
});
afterAll(() => shop.remove());

async function statsOf(words: readonly string[], file = 'out.csv') {
  const args = ['zonal', '--zones', '@zones.json', '--backend', 'reference', ...words, '--stats', `@${file}`];
  const { exitCode, stderr } = await shop.quadrille(args);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return { bytes: await readFile(shop.path(file)), stderr };
}

describe('zonal --wide', () => {
  const statistics = fc.shuffledSubarray([...ALL_STATISTICS], { minLength: 1, maxLength: 3 });
  const question = fc.record({
    rasters: fc.shuffledSubarray([...RASTERS], { minLength: 1, maxLength: 3 }),
    all: fc.boolean(),
    stat: fc.option(statistics, { nil: undefined }),
    attributes: fc.boolean(),
  });

  const values = { rasters: [RASTERS[4], RASTERS[2]], all: true, stat: ['frac', 'max'], attributes: true };
  test.prop([question], { numRuns: caseCount(40), examples: [[values]] })(
    'has the rows of each raster and band beside each other, in CSV, JSON and Arrow',
    async ({ rasters, all, stat, attributes }) => {
      const more = [...(stat === undefined ? [] : ['--stat', stat.join()])];
      const fields = attributes ? ['--include-field', 'name'] : [];
      const counted = rasters.flatMap((raster) =>
        Array.from({ length: all ? raster.bands : 1 }, (_, band) => ({ raster, band: band + 1 })),
      );
      const columns: string[][] = [];
      const objects: object[] = [{}, {}, {}];
      for (const { raster, band } of counted) {
        const isTwice = rasters.filter(({ stem }) => stem === raster.stem).length > 1;
        const several = all && raster.bands > 1;
        const name = rasters.length === 1 ? [] : [isTwice ? shop.path(raster.name) : raster.stem];
        const prefix = [...name, ...(several ? [`band_${band}`] : []), ''].join('_');
        const words = ['--raster', `@${raster.name}`, '--band', `${band}`, ...more];
        const [, ...own] = transposed(parseCsv(`${(await statsOf(words)).bytes}`));
        columns.push(...own.map(([header, ...cells]) => [`${prefix}${header}`, ...cells]));
        const rows = JSON.parse(`${(await statsOf(words, 'out.json')).bytes}`) as object[];
        for (const [at, { zone: _, ...members }] of rows.entries() as Iterable<[number, Record<string, unknown>]>) {
          for (const [key, value] of Object.entries(members))
            Object.assign(objects[at]!, { [`${prefix}${key}`]: value });
        }
      }
      const words = [...rasters.flatMap(({ name }) => ['--raster', `@${name}`]), ...more, ...fields, '--wide'];
      if (all) words.push('--band', 'all');
      const first = [['zone', 'a', '=b', 'outside'], ...(attributes ? [['name', '=We, "st"', '', 'none']] : [])];
      const expected = transposed([...first, ...columns]);
      expect(parseCsv(`${(await statsOf(words)).bytes}`)).toEqual(expected);
      const arrow = arrowTexts((await statsOf(words, 'out.arrow')).bytes);
      expect([arrow.names, ...arrow.rows]).toEqual(expected);
      const names = ['=We, "st"', '', 'none'];
      expect(JSON.parse(`${(await statsOf(words, 'out.json')).bytes}`)).toEqual(
        ['a', '=b', 'outside'].map((id, at) => ({
          zone: id,
          ...(attributes && { name: names[at] }),
          ...objects[at],
        })),
      );
    },
  );

  plainTest('of one surface is the plain table, or has columns for its bands', async () => {
    const merged = ['--raster', '@three.tif', '--raster', '@right.tif', '--merge', '--stat', 'sum,cells'];
    expect((await statsOf([...merged, '--wide'])).bytes).toEqual((await statsOf(merged)).bytes);
    const bands = parseCsv(`${(await statsOf([...merged, '--band', '3,1', '--wide'])).bytes}`);
    expect(bands[0]).toEqual(['zone', 'band_3_sum', 'band_3_cells', 'band_1_sum', 'band_1_cells']);
    const alone = await Promise.all(
      [3, 1].map(async (band) => parseCsv(`${(await statsOf([...merged, '--band', `${band}`], `${band}.csv`)).bytes}`)),
    );
    const cells = alone[0]!.map(([name], at) => [name!, ...alone.flatMap((table) => table[at]!.slice(1))]);
    expect(bands.slice(1)).toEqual(cells.slice(1));
  });

  plainTest('says which rasters are named by their paths, and which attributes get other names', async () => {
    const words = ['--raster', '@deep/a.tif', '--raster', '@three.tif', '--stat', 'mean', '--include-field', 'all'];
    const { bytes, stderr } = await statsOf([...words, '--wide']);
    expect(`${bytes}`.split('\n')[0]).toBe('zone,name,zone_a_mean,a_mean,three_mean');
    expect(stderr).toContain('1 attribute is written with zone_ before the name, because it has the name of another');
    const same = await statsOf([...words, '--raster', '@deep/er/a.tif', '--wide']);
    expect(same.stderr).toContain('Columns of 2 rasters begin with their paths, as their names would be the same');
    expect(`${(await statsOf(words)).bytes}`.split('\n')[0]).toBe('raster,zone,name,a_mean,mean');
  });

  plainTest('leaves histograms in rows, and needs a table of statistics', async () => {
    const words = ['--raster', '@deep/a.tif', '--raster', '@three.tif', '--bins', '0:8:4'];
    await statsOf([...words, '--wide', '--out', '@wide-bins.csv']);
    await statsOf([...words, '--out', '@bins.csv']);
    expect(await readFile(shop.path('wide-bins.csv'), 'utf8')).toBe(await readFile(shop.path('bins.csv'), 'utf8'));
    const { exitCode, stderr } = await shop.quadrille(['zonal', '--zones', '@zones.json', ...words, '--wide']);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--wide is the layout of --stats')]);
  });

  plainTest('is refused after the first raster if the statistics of all do not fit in memory', async () => {
    const zones = 1000;
    const histogram = histogramOf(zones);
    const output = (memory: number) =>
      wideOutput(
        'o.csv',
        ['a_', 'b_'],
        { zones: parseZones(JSON.stringify(collection())).zones, attributes: undefined, quoteFormulas: false },
        memory,
        write,
      );
    const written: string[] = [];
    const write = async (_: string, chunks: FileChunks): Promise<void> => {
      for await (const chunk of chunks) written.push(`${chunk}`);
    };
    const bytes = 4 * 2 * 3 * 8 * zones;
    await expect(output(bytes - 4).add({}, histogram)).rejects.toThrow(
      expect.objectContaining({ code: 'memory/limit', remedy: expect.stringContaining('leave --wide out') }),
    );
    const fits = output(bytes);
    await fits.add({}, histogram);
    await fits.add({}, histogram);
    await fits.end();
    expect(written.join('').split('\n')[1]).toBe('zone0,0.5,0.5');
  });

  plainTest('writes Arrow in parts, so that not all is held twice', () => {
    const histogram = histogramOf(700);
    const tables = Array.from({ length: 3000 }, (_, at) => ({ ...histogram, prefix: `r${at}_` }));
    const parts = [...wideTables(tables, {})].map(({ rows }) => rows);
    expect(parts.map(({ rows }) => rows)).toEqual([350, 350]);
    const zones = parts.flatMap(({ rows, columns }) => {
      const column = columns.zone as { codes: Uint32Array; dictionary: readonly string[] };
      return Array.from({ length: rows }, (_, row) => column.dictionary[column.codes[row]!]);
    });
    expect(zones).toEqual(histogram.names);
  });
});

/** Names that attributes share with columns of some outputs, and others that look like them. */
const NAMES = [
  ...['zone', 'raster', 'band', 'kind', 'lower', 'upper', 'count', 'cells', 'nodata', 'mean', 'zone_mean', 'frac_0'],
  ...['frac_x', 'frac', 'a_mean', 'a_nodata', 'a_count', 'a_lower', 'three_mean', 'three_band_1_mean', 'band_1_mean'],
  ...['a_frac_1', 'three_band_2_frac_0', 'min', 'sum'],
];

test.prop(
  [
    fc.subarray(NAMES, { minLength: 1 }),
    fc.record({
      rasters: fc.constantFrom(['deep/a.tif'], ['deep/a.tif', 'three.tif'], ['three.tif']),
      all: fc.boolean(),
      wide: fc.boolean(),
      stat: fc.constantFrom(undefined, 'mean', 'frac,count', 'min,mean'),
      areas: fc.boolean(),
      out: fc.constantFrom(undefined, 'csv', 'json', 'arrow'),
      stats: fc.constantFrom('csv', 'json', 'arrow'),
    }),
  ],
  { numRuns: caseCount(75) },
)('attributes keep their names but where another column of an output has them', async (names, question) => {
  const { rasters, all, stat, areas, out, stats } = question;
  const isFrac = stat === 'frac,count';
  const wide = question.wide || (isFrac && stats !== 'json');
  const properties = Object.fromEntries(names.map((name, at) => [name, at]));
  const zones = collection({ ...zone('z', rectangle(0, 0, 3, 3)), properties });
  await shop.write('named.json', zones);
  const words = [...rasters.flatMap((name) => ['--raster', `@${name}`]), '--backend', 'reference'];
  if (all) words.push('--band', 'all');
  if (wide) words.push('--wide');
  if (stat !== undefined) words.push('--stat', stat);
  if (areas) words.push('--pixels', 'fractional');
  if (out !== undefined) words.push('--bins', '0:8:4', '--out', `@h.${out}`);
  const columnsOf = async (...more: readonly string[]): Promise<(readonly string[])[]> => {
    const args = ['zonal', '--zones', '@named.json', ...words, '--stats', `@s.${stats}`, ...more];
    const { exitCode, stderr } = await shop.quadrille(args);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    const files = [`s.${stats}`, ...(out === undefined || out === 'json' ? [] : [`h.${out}`])];
    return Promise.all(files.map(async (file) => namesIn(file, await readFile(shop.path(file)))));
  };
  const taken = new Set((await columnsOf()).flat());
  for (const columns of await columnsOf('--include-field', 'all')) {
    expect(new Set(columns).size).toBe(columns.length);
    const own = columns.slice(columns.indexOf('zone') + 1).slice(0, names.length);
    const expected = names.map((name) => {
      let free = name;
      while (taken.has(free) || (free !== name && names.includes(free))) free = `zone_${free}`;
      return free;
    });
    expect(own).toEqual(expected);
  }
});

/** The columns of a table, or the members of an object of its JSON. */
function namesIn(file: string, bytes: Buffer): readonly string[] {
  if (file.endsWith('.arrow')) return arrowTexts(bytes).names;
  return file.endsWith('.json') ? Object.keys(JSON.parse(`${bytes}`)[0] as object) : parseCsv(`${bytes}`)[0]!;
}

const part = fc.constantFrom('a', 'a_band_1', 'a.tif', 'b', 'a_weighted', 'a.tif_band_1');
const path = fc
  .tuple(fc.constantFrom('', 'x/', 'x/y/'), part, fc.constantFrom('', '.tif', '.qbp', '.tif_band_1'))
  .map((parts) => parts.join(''));
const counted = fc
  .uniqueArray(fc.tuple(path, fc.subarray([1, 2, 3], { minLength: 1 })), { minLength: 1, selector: ([name]) => name })
  .map((files) => files.flatMap(([name, bands]) => bands.map((band) => ({ path: name, band }))));

test.prop([counted, fc.subarray(['mean', 'weighted_mean', 'frac', 'band_1_mean'], { minLength: 1 })], {
  numRuns: caseCount(300),
})('columns have names of their own, by stems where these suffice, or are refused', (bands, statistics) => {
  let found: ReturnType<typeof columnPrefixes>;
  try {
    found = columnPrefixes(bands, statistics);
  } catch (error) {
    expect(error).toMatchObject({ code: 'zonal/same-columns' });
    return;
  }
  const names = found.prefixes.flatMap((prefix) => statistics.map((name) => `${prefix}${name}`));
  expect(new Set(names).size).toBe(names.length);
  const byStem = bands.map(({ path: file, band }) => {
    const several = bands.filter((other) => other.path === file).length > 1;
    const stem = file.replace(/^.*\//, '').replace(/(.)\.[^.]*$/, '$1');
    return { stem: `${stem}_`, path: `${file}_`, band: several ? `band_${band}_` : '' };
  });
  for (const [at, { stem, path: file, band }] of byStem.entries())
    expect([`${stem}${band}`, `${file}${band}`]).toContain(found.prefixes[at]);
  const stems = byStem.flatMap(({ stem, band }) => statistics.map((name) => `${stem}${band}${name}`));
  const suffice = new Set(stems).size === stems.length;
  expect(found.notes.length).toBe(suffice ? 0 : 1);
  if (suffice) expect(found.prefixes).toEqual(byStem.map(({ stem, band }) => `${stem}${band}`));
});

function transposed(table: readonly (readonly string[])[]): string[][] {
  return table[0]!.map((_, at) => table.map((row) => row[at]!));
}

function histogramOf(zones: number): AnyHistogram {
  const [counts, none] = [new BigUint64Array(zones), new Float64Array()];
  return {
    names: Array.from({ length: zones }, (_, at) => `zone${at}`),
    ...{ binning: { kind: 'none' }, sample: 'u8', gridStep: [1, 1], notes: [] },
    bins: { zone: new Uint32Array(), lower: none, upper: none, count: new BigUint64Array() },
    ...{ cells: counts, nodata: counts, below: counts, above: counts },
    statistics: { mean: new Float64Array(zones).fill(0.5) },
  };
}
