import { describe, expect } from 'vitest';
import { ratio, rootOfRatio } from '../../../algorithms/exact-ratio.ts';
import type { Cells, RasterSource } from '../../../algorithms/geometry/raster.ts';
import { createOverlay, surfaceHistogram, type ZonalJob, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { checkPartCounts } from '../../../algorithms/zonal/part-counts.ts';
import { countPart, createPartSums, partsOfRaster } from '../../../algorithms/zonal/surface-parts.ts';
import { planSurface } from '../../../algorithms/zonal/surface-plan.ts';
import { snapZones } from '../../../algorithms/zonal/zones-on-grid.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
import { decodeItems, encodeItems } from '../../../graph/remote/wire.ts';
import { open } from '../../../index.ts';
import { onEveryBackend } from '../../backends.ts';
import { scaledCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  areaOf,
  EXACT,
  exact,
  HEIGHT,
  inCells,
  ring,
  type SomeCells,
  scaledBy,
  sharesByZone,
  someCells,
  someRaster,
  splitCells,
  WIDTH,
  zones,
} from '../../support/fractional-support.ts';
import { square, wholeZones } from '../../support/shares-support.ts';
import { plain, rasterOf } from '../../support/zonal-support.ts';

const STATISTICS = ['cells', 'count', 'nodata', 'min', 'max', 'mean', 'sum', 'variance', 'stdev'] as const;

/** What jobs ask for: sums, ranks that are selected, ranks among all values, and bins. */
const RANKS = ['median', 'quantile(0.9)', 'quantile_disc(0.07)'];
const EVEN = { kind: 'even', low: -100, high: 200, width: 30 } as const;
const WANTED: readonly Pick<ZonalJob<boolean | readonly string[]>, 'binning' | 'statistics'>[] = [
  { binning: { kind: 'none' }, statistics: STATISTICS },
  { binning: { kind: 'none' }, statistics: RANKS },
  { binning: { kind: 'none' }, statistics: [...RANKS, 'mode', 'minority', 'variety', 'frac'] },
  { binning: EVEN, statistics: false },
  { binning: EVEN, statistics: ['mean', ...RANKS] },
  { binning: { kind: 'unique' }, statistics: RANKS },
];

const PLAINLY = { binning: { kind: 'none' }, pixels: 'fractional' } as const;

/** The statistics of cells with the shares that they have in a zone, in whole numbers. */
function byHand(given: SomeCells, shares: ReadonlyMap<number, number>) {
  const { scaling } = given;
  const { data, lacking } = splitCells(given, shares);
  const weight = areaOf(data);
  const scaled = data.map(({ value }) => scaledBy(scaling, value));
  const terms = data.map(({ value, share }) => ({
    x: exact(value) * exact(scaling?.scale ?? 1) + (exact(scaling?.offset ?? 0) << EXACT),
    share,
  }));
  const unit = 2n * EXACT;
  const sum = terms.reduce((all, { x, share }) => all + share * x, 0n);
  const squares = terms.reduce((all, { x, share }) => all + share * x * x, 0n);
  const spread = weight * squares - sum * sum;
  const hasWeight = weight > 0n;
  return {
    cells: BigInt(shares.size),
    count: inCells(weight),
    nodata: inCells(areaOf(lacking)),
    min: data.length === 0 ? Number.NaN : Math.min(...scaled),
    max: data.length === 0 ? Number.NaN : Math.max(...scaled),
    mean: hasWeight ? ratio(sum, weight << unit) : Number.NaN,
    sum: data.length === 0 ? Number.NaN : ratio(sum, 1n << (unit + 30n)),
    variance: hasWeight ? (spread > 0n ? ratio(spread, (weight * weight) << (2n * unit)) : 0) : Number.NaN,
    stdev: hasWeight ? (spread > 0n ? rootOfRatio(spread, (weight * weight) << (2n * unit)) : 0) : Number.NaN,
  };
}

describe('statistics by fractions', () => {
  onEveryBackend((opened, { runs }) => {
    test.prop([zones, someCells, fc.constantFrom('union' as const, 'even-odd' as const)], {
      numRuns: scaledCount(runs, 2, 1),
    })(
      'are those of whole numbers with the shares of cells, rounded once, and the same bytes',
      async (all, given, fill) => {
        const raster = someRaster(given);
        const job = {
          ...{ zones: wholeZones(all), raster, fill },
          ...{ ...PLAINLY, statistics: STATISTICS },
        };
        const found = await zonalHistogram(opened().context, job);
        for (const [zone, shares] of (await sharesByZone(all, fill)).entries()) {
          const own = Object.fromEntries(STATISTICS.map((name) => [name, found.statistics[name][zone]]));
          expect({ zone, ...own }).toEqual({ zone, ...byHand(given, shares) });
        }
        expect(found.areas).toMatchObject({ count: found.statistics.count, nodata: found.statistics.nodata });
        expect(plain(found)).toBe(plain(await zonalHistogram(opened().reference, job)));
      },
    );

    test.prop([ring, someCells], { numRuns: Math.ceil(runs / 2) })(
      'of a zone and of what is left of the plane are together those of all cells',
      async (ring, given) => {
        const plane = square(2 ** 30);
        const job = { zones: wholeZones([[[ring]], [[plane, ring]]]), raster: someRaster(given) };
        const { areas } = await zonalHistogram(opened().context, { ...job, ...PLAINLY });
        const area = (zone: number): number => areas!.count[zone]! + areas!.nodata[zone]!;
        // Areas are multiples of 2⁻³⁰, so their sum is exact. What is negative by rounding is given as 0.
        if (Math.min(...areas!.count, ...areas!.nodata) > 0) expect(area(0) + area(1)).toBe(WIDTH * HEIGHT);
        else expect(Math.abs(area(0) + area(1) - WIDTH * HEIGHT)).toBeLessThan(2 ** -25);
      },
    );

    test.prop(
      [
        zones,
        someCells,
        fc.integer({ min: 33, max: 50 }),
        fc.nat(),
        fc.constantFrom(32, 64),
        fc.constantFrom(...WANTED),
      ],
      { numRuns: Math.ceil(runs / 3) },
    )('are the same in small windows, beside an overlay, in parts, and in several rasters', async (...given) => {
      const [all, kind, width, cut, tile, wanted] = given;
      const { context } = opened();
      const height = 45;
      const at = (i: number): number => (i * 7919 + (i >> 3)) % kind.cells.length;
      const { from } = CELL_ARRAYS[kind.sample] as unknown as { from(all: readonly unknown[]): Cells };
      const many = from.call(
        CELL_ARRAYS[kind.sample],
        Array.from({ length: width * height }, (_, i) => kind.cells[at(i)]),
      );
      const { sample, nodata, scaling } = someRaster(kind);
      const grid = { originY: 0, stepY: 1, blockRows: 32, nodata, scaling };
      const whole = rasterOf(many, width, sample, grid);
      const grown = all.map((parts) =>
        parts.map((part) => part.map((ring) => ring.map(([x, y]) => [9 * x, 11 * y] as const))),
      );
      const job = { zones: wholeZones(grown), pixels: 'fractional', ...wanted, tile } as const;
      const expected = plain(await zonalHistogram(context, { ...job, raster: whole }));
      const small = { ...job, tile: 32, memoryBytes: 2 ** 20, raster: whole };
      expect(plain(await zonalHistogram(context, small))).toBe(expected);
      using overlay = createOverlay(context, job.zones);
      for (let time = 0; time < 2; time++)
        expect(plain(await zonalHistogram(context, { ...job, raster: whole, overlay }))).toBe(expected);
      const first = 1 + (cut % (height - 1));
      const rows = (top: number, bottom: number): RasterSource =>
        rasterOf(many.slice(top * width, bottom * width), width, sample, { ...grid, originY: top });
      // The second raster begins above the end of the first, whose cells count.
      const rasters = [rows(0, first), rows(Math.max(0, first - 3), height)];
      const { notes, gridStep, ...found } = await surfaceHistogram(context, { ...job, rasters });
      const { notes: _, gridStep: __, ...ofWhole } = await zonalHistogram(context, { ...job, raster: whole });
      expect(plain(found as never)).toBe(plain(ofWhole as never));
      const plan = planSurface({ ...job, rasters: [whole] });
      const sums = createPartSums(plan.counted);
      for (const part of partsOfRaster(plan, 0, 1000).reverse()) {
        const onGrid = snapZones(job.zones, part.grid);
        const counts = await countPart(context, { ...job, raster: whole, part, onGrid });
        const [sent] = decodeItems(await encodeItems([counts]));
        sums.add(checkPartCounts(sent, plan.counted));
      }
      expect(plain(sums.finish(plan))).toBe(expected);
    });
  });

  test('of samples are refused', async () => {
    await using context = await open({ backend: 'reference' });
    const job = { zones: wholeZones([]), raster: rasterOf(new Uint8Array(1), 1, 'u8'), pixels: 'fractional' } as const;
    for (const name of ['variance_samp', 'stdev_samp']) {
      const refused = zonalHistogram(context, { ...job, ...PLAINLY, statistics: ['mean', name] });
      await expect(refused).rejects.toMatchObject({ code: 'zonal/fractional-statistic', got: name });
    }
  });
});
