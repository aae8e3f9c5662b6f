import { expect } from 'vitest';
import type { Cells } from '../../../algorithms/geometry/raster.ts';
import { type StatisticColumn, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
import { open } from '../../../index.ts';
import { onEveryBackend } from '../../backends.ts';
import { randomCells } from '../../fixtures/random-raster.ts';
import { fc, test } from '../../law-test.ts';
import { ALL_STATISTICS, someStatistics } from '../../support/some-statistics.ts';
import { BY_HAND } from '../../support/statistics-by-hand.ts';
import { box, isNodata, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const binnings = fc.constantFrom(
  { kind: 'none' } as const,
  { kind: 'unique' } as const,
  { kind: 'even', low: 0, high: 4, width: 2 } as const,
);

onEveryBackend((opened, { runs }) => {
  test.prop([someStatistics, fc.integer(), fc.constantFrom('u8' as const, 'i16' as const, 'f32' as const), binnings], {
    numRuns: Math.ceil(runs / 2),
  })(
    'a list gives the statistics that it names, in its order, and those that a job has without a list',
    async (...given) => {
      const [statistics, seed, sample, binning] = given;
      const raster = rasterOf(randomCells(sample, 90, seed, 9), 9, sample, { nodata: 7 });
      const zones = zonesOf([[box(0, 0, 5, 10)], [box(2.2, 3.1, 9, 7)], [box(-9, 0, -5, 1)]]);
      const { context } = opened();
      const named = await zonalHistogram(context, { zones, raster, binning, statistics });
      const { statistics: four, ...plainly } = await zonalHistogram(context, { zones, raster, binning });
      expect({ ...named, statistics: undefined }).toEqual({ ...plainly, statistics: undefined });
      expect(Object.keys(named.statistics)).toEqual(statistics);
      const { cells, nodata } = plainly;
      const known = {
        ...{ min: four!.minimum, max: four!.maximum, mean: four!.mean, sum: four!.sum },
        ...{ cells, nodata, count: cells.map((all, zone) => all - nodata[zone]!) },
      };
      for (const [name, column] of Object.entries(known)) {
        if (statistics.includes(name)) expect(named.statistics[name]).toEqual(column);
      }
    },
  );
});

/** Values of few kinds, so that there are ties, and of all magnitudes. */
const values = {
  u8: fc.oneof(fc.nat(3), fc.nat(255)),
  i16: fc.oneof(
    fc.integer({ min: -2, max: 2 }),
    fc.constantFrom(-32768, 32767),
    fc.integer({ min: -32768, max: 32767 }),
  ),
  i32: fc.oneof(fc.integer({ min: -2, max: 2 }), fc.integer()),
  u32: fc.oneof(fc.nat(3), fc.nat(2 ** 32 - 1)),
  f32: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(-0, 0, 0.1, -0.1, 7, 1e-40).map(Math.fround) },
    { weight: 3, arbitrary: fc.float({ noNaN: true, noDefaultInfinity: true, min: -1000, max: 1000 }) },
    fc.float({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(Number.NaN, Math.fround(3.4e38)),
  ),
  f64: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(-0, 0, 0.1, -0.1, 7) },
    fc.integer().map((units) => units * 2 ** -40),
    fc.constantFrom(Number.NaN, 2 ** -150, 1e60, -1e60),
  ),
  i64: fc.oneof(
    fc.bigInt({ min: -2n, max: 2n }),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constantFrom(2n ** 60n, 2n ** 60n + 1n),
  ),
  u64: fc.oneof(
    fc.bigInt({ min: 0n, max: 3n }),
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    fc.constantFrom(2n ** 60n, 2n ** 60n + 1n),
  ),
};
type Kind = keyof typeof values;
const rasters = fc.constantFrom(...(Object.keys(values) as Kind[])).chain((sample) =>
  fc
    .record({
      cells: fc.array<number | bigint>(values[sample], { minLength: 3, maxLength: 120 }),
      infinite: sample.startsWith('f') ? fc.subarray([-Infinity, Infinity]) : fc.constant([]),
      isInfinite: fc.boolean(),
    })
    .map(({ cells, infinite, isInfinite }) => {
      const all = isInfinite ? [...cells, ...infinite] : cells;
      return { sample, cells: cellsFrom(sample, all.slice(all.length % 3)) };
    }),
);
const scalings = fc.constantFrom(undefined, { scale: -0.1, offset: 3.3 }, { scale: 2 ** -9, offset: -1e9 });

onEveryBackend((opened, { runs }) => {
  test.prop([rasters, scalings, fc.boolean(), binnings], { numRuns: 2 * runs })(
    'every statistic is that of its definition, rounded once',
    async ({ sample, cells }, scaling, isMarked, binning) => {
      const nodata = isMarked && !sample.endsWith('64') ? 7 : undefined;
      const raster = { ...rasterOf(cells, 3, sample, { nodata, scaling }), blockRows: 5 };
      const { height } = raster;
      const middle = height >> 1;
      const zones = zonesOf([[box(0, 0, 3, height)], [box(1, middle, 3, height)], [box(-9, 0, -5, 1)]]);
      const { statistics } = await zonalHistogram(opened().context, {
        ...{ zones, raster, binning, tile: 32 },
        statistics: ALL_STATISTICS,
      });
      const inside = [() => true, (at: number) => at % 3 > 0 && at < 3 * (height - middle), () => false];
      for (const [zone, isIn] of inside.entries()) {
        const own = [...cells].filter((_, at) => isIn(at));
        const lacks = (cell: number | bigint): boolean => typeof cell === 'number' && isNodata(sample, cell, nodata);
        const stored = own.filter((cell) => !Number.isNaN(cell) && !lacks(cell));
        for (const [name, define] of Object.entries(BY_HAND)) {
          const isEmpty = stored.length === 0 && !['cells', 'count', 'nodata', 'variety'].includes(name);
          const expected = isEmpty
            ? name === 'frac'
              ? []
              : Number.NaN
            : define({ stored, cells: own.length, scaling });
          expect({ name, zone, found: foundOf(statistics[name]!, zone) }).toEqual({ name, zone, found: expected });
        }
      }
    },
  );
});

/** Cells of a sample type. */
function cellsFrom(sample: Kind, cells: readonly (number | bigint)[]): Cells {
  const { from } = CELL_ARRAYS[sample] as unknown as { from(all: readonly (number | bigint)[]): Cells };
  return from.call(CELL_ARRAYS[sample], cells);
}

/** The statistic of a zone; of one of values, pairs of value and share. */
function foundOf(column: StatisticColumn, zone: number): unknown {
  if (!('share' in column)) return column[zone];
  const rows = [...column.zone.keys()].filter((row) => column.zone[row] === zone);
  return rows.map((row) => [column.value[row], column.share[row]]);
}

test('a deviation halfway between two numbers is the even one', async () => {
  await using context = await open({ backend: 'reference' });
  const raster = rasterOf(Uint8Array.of(8, 2), 2, 'u8', { scaling: { scale: -0.1, offset: 3.3 } });
  const job = { raster, zones: zonesOf([[box(0, 0, 2, 1)]]), binning: { kind: 'none' } as const };
  const { statistics } = await zonalHistogram(context, { ...job, statistics: ['stdev'] });
  expect(statistics.stdev[0]).toBe(3 * 0.1);
  expect(BY_HAND.stdev!({ stored: [8, 2], cells: 2, scaling: raster.scaling })).toBe(3 * 0.1);
});

test('statistics of values are refused beyond the memory for them, and others are not', async () => {
  await using context = await open({ backend: 'reference' });
  const cells = Uint16Array.from({ length: 128 * 256 }, (_, i) => i);
  const raster = { ...rasterOf(cells, 256, 'u16'), blockRows: 128 };
  const zones = zonesOf([[box(0, 0, 256, 128)]]);
  const job = { zones, raster, binning: { kind: 'none' }, tile: 32, memoryBytes: 300_000 } as const;
  const { statistics } = await zonalHistogram(context, { ...job, statistics: ['stdev', 'count'] });
  expect([statistics.count[0], statistics.stdev[0]]).toEqual([32768n, Math.sqrt((32768 ** 2 - 1) / 12)]);
  const ranked = await zonalHistogram(context, { ...job, statistics: ['median', 'quantile(0.9)'] });
  expect(ranked.statistics).toEqual({ median: Float64Array.of(16383.5), 'quantile(0.9)': Float64Array.of(29490.3) });
  for (const name of ['mode', 'variety', 'frac']) {
    const refused = zonalHistogram(context, { ...job, statistics: [name] });
    await expect(refused).rejects.toMatchObject({ code: 'zonal/unique-memory-bytes' });
  }
});

test('names that are none are refused, with the one that was meant', async () => {
  await using context = await open({ backend: 'reference' });
  const job = { zones: zonesOf([]), raster: rasterOf(new Uint8Array(1), 1, 'u8'), binning: { kind: 'none' } as const };
  const refused = (statistics: unknown) => zonalHistogram(context, { ...job, statistics: statistics as never });
  await expect(refused('mean')).rejects.toThrow('a boolean, or names of statistics');
  await expect(refused([])).rejects.toThrow('names of statistics');
  await expect(refused(['mean', 3])).rejects.toThrow('statistics[1] of zonalHistogram');
  await expect(refused(['meean'])).rejects.toMatchObject({ code: 'zonal/statistic', remedy: 'Did you mean mean?' });
  await expect(refused(['mean', 'sum', 'mean'])).rejects.toMatchObject({ remedy: 'Name mean once.' });
  for (const [name, meant] of [
    ...[
      'percentile_90',
      'p90',
      'P90',
      'percentile(90)',
      'pct90',
      'PERCENTILE_CONT(0.9)',
      'percentile(.9)',
      'quantile_0.9',
    ].map((each) => [each, 'quantile(0.9)'] as const),
    ...[
      ['p1', 'quantile(0.01)'],
      ['percentile_99.9', 'quantile(0.999)'],
      ['percentile_disc(0.5)', 'quantile_disc(0.5)'],
    ],
  ])
    await expect(refused([name])).rejects.toMatchObject({ remedy: `Did you mean ${meant}?` });
});
