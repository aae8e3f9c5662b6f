import { expect } from 'vitest';
import { ratio } from '../../../algorithms/exact-ratio.ts';
import type { NarrowCells } from '../../../algorithms/geometry/raster.ts';
import { exactSquares, exactSum } from '../../../algorithms/zonal/exact-sums.ts';
import type { Binning } from '../../../algorithms/zonal/index.ts';
import type { StatisticRecords } from '../../../algorithms/zonal/statistic-kinds.ts';
import { countPart, createPartSums, partsOfRaster } from '../../../algorithms/zonal/surface-parts.ts';
import { planSurface } from '../../../algorithms/zonal/surface-plan.ts';
import { DEFAULT_STATISTICS } from '../../../algorithms/zonal/zone-statistics.ts';
import { snapZones } from '../../../algorithms/zonal/zones-on-grid.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
import { onEveryBackend } from '../../backends.ts';
import { fc, test } from '../../law-test.ts';
import { box, rasterOf, zonesOf } from '../../support/zonal-support.ts';

/** The lower median, and the variance of stored values. A new statistic is one such record. */
const records: StatisticRecords = {
  ...DEFAULT_STATISTICS,
  median: {
    name: 'lower median',
    meaning: 'the lower of two values in the middle',
    ofValues(values, counts) {
      const half = (Array.from(counts).reduce((a, b) => a + b) + 1n) / 2n;
      let passed = 0n;
      return values.find((_, i) => {
        passed += counts[i]!;
        return passed >= half;
      })!;
    },
  },
  variance: {
    name: 'variance',
    meaning: 'of stored values',
    folds: ['sum', 'squares'],
    of({ sum, squares }, count, { sample }) {
      const [first, second] = [exactSum(sample, sum, count), exactSquares(sample, squares, sum, count)];
      const [square, scale] = [first.numerator ** 2n, first.denominator ** 2n];
      const numerator = count * second.numerator * scale - square * second.denominator;
      return ratio(numerator, scale * second.denominator * count ** 2n);
    },
  },
};

const value = fc.oneof({ arbitrary: fc.integer({ min: -9, max: 9 }), weight: 5 }, fc.constantFrom(-Infinity, Infinity));

const samples = fc.constantFrom('i16' as const, 'f32' as const);
const binnings = fc.constantFrom<Binning>(
  { kind: 'none' },
  { kind: 'unique' },
  { kind: 'even', low: 0, high: 4, width: 2 },
);

onEveryBackend((opened) => {
  test.prop([fc.array(value, { minLength: 1, maxLength: 90 }), samples, binnings, fc.constantFrom(20, 64, 999)], {
    numRuns: 4,
  })('a statistic of either kind is one record, whatever the bins and parts', async (given, sample, binning, cells) => {
    const finite = sample === 'f32' ? given : given.map((each) => (Number.isFinite(each) ? each : 4));
    const stored = CELL_ARRAYS[sample].from(finite) as NarrowCells;
    const { length } = stored;
    const raster = { ...rasterOf(stored, 1, sample, { nodata: 3 }), blockRows: 16 };
    const zones = zonesOf([[box(0, 0, 1, length)], [box(0, length >> 1, 1, length)], [box(-9, 0, -5, 1)]]);
    const job = { zones, rasters: [raster], binning, tile: 32, statistics: records };
    const plan = planSurface(job);
    const sums = createPartSums(plan.counted);
    for (const part of partsOfRaster(plan, 0, cells)) {
      const onGrid = snapZones(zones, part.grid);
      sums.add(await countPart(opened().context, { ...job, raster, part, onGrid }));
    }
    const found = sums.finish(plan).statistics as unknown as Readonly<Record<string, Float64Array>>;
    expect(Object.keys(found)).toEqual(Object.keys(records));
    // Rows begin at the top.
    for (const [zone, from] of [0, length >> 1, length].entries()) {
      const data = [...stored.subarray(0, length - from)].filter((cell) => cell !== 3).sort((a, b) => a - b);
      expect(found.median![zone]).toBe(data[(data.length - 1) >> 1] ?? Number.NaN);
      expect(found.minimum![zone]).toBe(data[0] ?? Number.NaN);
      if (data.length === 0) expect(found.variance![zone]).toBeNaN();
      if (data.length === 0 || !data.every(Number.isFinite)) continue;
      const mean = (of: (cell: number) => number): number =>
        data.reduce((sum, cell) => sum + of(cell), 0) / data.length;
      expect(found.variance![zone]).toBeCloseTo(mean((cell) => cell ** 2) - mean((cell) => cell) ** 2, 9);
    }
  });
});
