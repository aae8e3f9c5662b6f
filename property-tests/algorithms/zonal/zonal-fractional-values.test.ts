import { describe, expect } from 'vitest';
import { ratio } from '../../../algorithms/exact-ratio.ts';
import type { Cells, RasterSource } from '../../../algorithms/geometry/raster.ts';
import { surfaceHistogram, type ZonalJob, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
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
  type SharedCell,
  type SomeCells,
  scaledBy,
  sharesByZone,
  someCells,
  someRaster,
  splitCells,
  WIDTH,
  zones,
} from '../../support/fractional-support.ts';
import { STEPS, square, type WholeZone, wholeZones } from '../../support/shares-support.ts';
import { plain, rasterOf } from '../../support/zonal-support.ts';

/** Shares of quantiles, in thousandths. */
const SHARES = [0, 70, 250, 500, 900, 1000];
const RANKS: readonly string[] = [
  'median',
  ...SHARES.flatMap((share) => [`quantile(${share / 1000})`, `quantile_disc(${share / 1000})`]),
];
const PAIRS = ['mode', 'minority', 'variety'] as const;

/** Jobs that list values or slots with their shares. */
const LISTED: readonly Pick<ZonalJob<boolean | readonly string[]>, 'binning' | 'statistics'>[] = [
  { binning: { kind: 'none' }, statistics: RANKS },
  { binning: { kind: 'unique' }, statistics: [...PAIRS, 'frac'] },
  { binning: { kind: 'edges', edges: [-500, -1, 0, 7, 8, 900] }, statistics: false },
];

/** The values of a zone in ascending order, each with its cells. */
function valuesOf({ scaling }: SomeCells, data: readonly SharedCell[]) {
  const found = new Map<number | bigint, SharedCell[]>();
  for (const cell of data) {
    // −0 is 0.
    const stored = cell.value === 0 ? 0 : cell.value;
    found.set(stored, [...(found.get(stored) ?? []), cell]);
  }
  const isReversed = scaling !== undefined && scaling.scale < 0;
  return Array.from(found, ([stored, cells]) => ({ stored, cells }))
    .sort((a, b) => (a.stored < b.stored ? -1 : 1) * (isReversed ? -1 : 1))
    .map(({ stored, cells }) => ({ x: scaling === undefined ? stored : scaledBy(scaling, stored), cells }));
}

/** Statistics of single values, cell by cell, in fractions of whole numbers. */
function byHand(given: SomeCells, shares: ReadonlyMap<number, number>) {
  const { data } = splitCells(given, shares);
  const values = valuesOf(given, data);
  const positive = (cells: readonly SharedCell[]): bigint =>
    cells.reduce((sum, { share }) => sum + (share > 0n ? share : 0n), 0n);
  // Each cell has the area of all cells of its value over their number: a common denominator makes it whole.
  const common = values.reduce((product, { cells }) => product * BigInt(cells.length), 1n);
  const cells = values.flatMap(({ x, cells: own }) =>
    own.map(() => ({ x, area: (positive(own) * common) / BigInt(own.length) })),
  );
  const all = cells.reduce((sum, { area }) => sum + area, 0n);
  const last = BigInt(cells.length - 1);
  let before = 0n;
  const places = cells.map(({ area }, k) => {
    const place = BigInt(k) * area + last * before;
    before += area;
    return place;
  });
  const isKnown = areaOf(data) > 0n && all > 0n;
  const quantile = (share: number): number => {
    if (!isKnown) return Number.NaN;
    const sought = BigInt(share) * last * all;
    // The last cell whose place is not beyond.
    let left = 0;
    while (left + 1 < cells.length && places[left + 1]! * 1000n <= sought) left++;
    const [low, high] = [cells[left]!, cells[Math.min(left + 1, cells.length - 1)]!];
    const [passed, whole] = [sought - places[left]! * 1000n, ((places[left + 1] ?? 0n) - places[left]!) * 1000n];
    if (passed === 0n || low.x === high.x) return Number(low.x);
    if (!Number.isFinite(Number(low.x) - Number(high.x)) && typeof low.x === 'number') {
      if (!Number.isFinite(low.x) || !Number.isFinite(high.x as number)) return Number(low.x) + Number(high.x);
    }
    return ratio(exact(low.x) * (whole - passed) + exact(high.x) * passed, whole << EXACT);
  };
  const discrete = (share: number): number => {
    if (!isKnown) return Number.NaN;
    let area = 0n;
    return Number(
      values.find(({ cells: own }) => {
        area += positive(own);
        return area * 1000n >= BigInt(share) * positive(data);
      })!.x,
    );
  };
  // What is equal after scaling is one value. Integers that are not scaled are equal only if all their bits are.
  const merged = new Map<number | bigint, SharedCell[]>();
  for (const { x, cells: own } of values) merged.set(x, [...(merged.get(x) ?? []), ...own]);
  const areas = Array.from(merged, ([x, own]) => ({ x: Number(x), area: areaOf(own), count: own.length }));
  const best = (isBetter: (a: bigint, b: bigint) => boolean): number =>
    areaOf(data) > 0n ? areas.reduce((best, each) => (isBetter(each.area, best.area) ? each : best)).x : Number.NaN;
  return {
    ranks: [quantile(500), ...SHARES.flatMap((share) => [quantile(share), discrete(share)])],
    pairs: [best((a, b) => a > b), best((a, b) => a < b), BigInt(areas.length)],
    areas,
    data,
  };
}

/** Two integers that are the same as f64. */
const SAME_AS_F64: [WholeZone[], SomeCells] = [
  [
    [
      [
        [
          [0, 218155],
          [0, 0],
          [1048577, 0],
        ],
      ],
    ],
  ],
  {
    sample: 'i64',
    cells: BigInt64Array.from({ length: 20 }, (_, at) => (at === 1 ? 512n - 2n ** 63n : -(2n ** 63n))),
    nodata: undefined,
    scaling: undefined,
    hidden: undefined,
  },
];

/** Whole cells of different values, whose areas reach shares of their sum exactly, with values turned around or not. */
const TIES = [undefined, { scale: -0.1, offset: 3.3 }].map((scaling): [number, number, SomeCells] => {
  const cells = Int16Array.from({ length: 20 }, (_, at) => (at * 7) % 20);
  return [0, 4, { sample: 'i16', cells, nodata: undefined, scaling, hidden: undefined }];
});

describe('statistics of single values by fractions', () => {
  onEveryBackend((opened, { runs }) => {
    test.prop([zones, someCells], { numRuns: scaledCount(runs, 1, 0.5), examples: [SAME_AS_F64] })(
      'are those of the cells in order, however they are found, and the same bytes',
      async (all, given) => {
        const { context, reference } = opened();
        const job = { zones: wholeZones(all), raster: someRaster(given), pixels: 'fractional' } as const;
        const plainly = { ...job, binning: { kind: 'none' } } as const;
        const selected = await zonalHistogram(context, { ...plainly, statistics: RANKS });
        const listed = { ...job, binning: { kind: 'unique' }, statistics: [...RANKS, ...PAIRS, 'frac'] } as const;
        const among = await zonalHistogram(context, listed);
        const { frac } = among.statistics as unknown as { frac: { zone: Uint32Array; share: Float64Array } };
        let row = 0;
        let bin = 0;
        for (const [zone, shares] of (await sharesByZone(all)).entries()) {
          const { ranks, pairs, areas, data } = byHand(given, shares);
          expect(RANKS.map((name) => selected.statistics[name]![zone as never])).toEqual(ranks);
          expect(RANKS.map((name) => among.statistics[name]![zone as never])).toEqual(ranks);
          expect(PAIRS.map((name) => among.statistics[name]![zone as never])).toEqual(pairs);
          const whole = areaOf(data);
          for (const { x, area, count } of areas) {
            expect(frac.zone[row]).toBe(zone);
            const share = whole > 0n ? (area > 0n ? ratio(area, whole) : 0) : Number.NaN;
            expect(frac.share[row++]).toBe(share);
            if (!Number.isFinite(x)) continue;
            expect([among.bins.zone[bin], among.bins.lower[bin], among.bins.count[bin]]).toEqual([
              zone,
              x,
              BigInt(count),
            ]);
            expect(among.areas!.bins[bin++]).toBe(inCells(area));
          }
        }
        expect(row).toBe(frac.zone.length);
        expect(bin).toBe(among.bins.zone.length);
        expect(plain(among)).toBe(plain(await zonalHistogram(reference, listed)));
      },
    );

    test.prop([zones, someCells, fc.integer({ min: 1, max: HEIGHT - 1 }), fc.constantFrom(...LISTED)], {
      numRuns: Math.max(4, scaledCount(runs, 1, 0.5)),
    })('are those of the first raster where rasters overlap', async (all, given, end, wanted) => {
      const job = { zones: wholeZones(all), pixels: 'fractional', ...wanted } as const;
      const whole = { ...given, hidden: undefined };
      const rows = (top: number, cells: Cells): RasterSource => ({
        ...someRaster({ ...whole, cells: cells as never }),
        ...{ originY: top, height: cells.length / WIDTH },
      });
      const first = rows(0, given.cells.slice(0, end * WIDTH));
      // The second raster begins above the end of the first and has other cells there.
      const below = given.cells.slice((end - 1) * WIDTH);
      below.set(given.cells.slice(given.cells.length - WIDTH) as never);
      const rasters = [first, rows(end - 1, below)];
      const { notes, gridStep, ...found } = await surfaceHistogram(opened().context, { ...job, rasters });
      const alone = { ...job, raster: someRaster(whole) };
      const { notes: _, gridStep: __, ...expected } = await zonalHistogram(opened().reference, alone);
      expect(plain(found as never)).toBe(plain(expected as never));
    });

    test.prop([zones, someCells], { numRuns: scaledCount(runs, 1, 0.5) })(
      'bins have the areas of their cells, which together are those of the zone',
      async (all, given) => {
        const edges = [-500, -1, 0, 7, 8, 900];
        const job = { zones: wholeZones(all), raster: someRaster(given), pixels: 'fractional' } as const;
        const binned = { ...job, binning: { kind: 'edges', edges }, statistics: false } as const;
        const { bins, areas, ...found } = await zonalHistogram(opened().context, binned);
        for (const [zone, shares] of (await sharesByZone(all)).entries()) {
          const { data, lacking } = splitCells(given, shares);
          const between = (low: number, high: number): number =>
            inCells(
              areaOf(
                data.filter(({ value }) => {
                  const x = scaledBy(given.scaling, value);
                  return low <= x && x < high;
                }),
              ),
            );
          const own = Array.from(bins.zone.keys()).filter((row) => bins.zone[row] === zone);
          expect(own.map((row) => areas!.bins[row])).toEqual(
            own.map((row) => between(bins.lower[row]!, bins.upper[row]!)),
          );
          expect([areas!.below[zone], areas!.above[zone]]).toEqual([
            between(-Infinity, edges[0]!),
            inCells(areaOf(data.filter(({ value }) => scaledBy(given.scaling, value) >= edges.at(-1)!))),
          ]);
          expect([areas!.count[zone], areas!.nodata[zone]]).toEqual([inCells(areaOf(data)), inCells(areaOf(lacking))]);
          expect(found.cells[zone]).toBe(BigInt(shares.size));
        }
        const touched = await zonalHistogram(opened().context, { ...binned, pixels: 'all-touched' });
        expect({ ...found, bins }).toEqual({ ...touched, areas: undefined });
      },
    );

    test.prop([zones, someCells], { numRuns: Math.ceil(runs / 2) })(
      'do not depend on the direction of rings',
      async (all, given) => {
        const turned = all.map((parts) => parts.map((part) => part.map((ring) => ring.toReversed())));
        const job = { raster: someRaster(given), pixels: 'fractional', binning: { kind: 'unique' } } as const;
        const statistics = [...RANKS, ...PAIRS, 'frac'];
        const found = [all, turned].map((zones) =>
          zonalHistogram(opened().context, { ...job, statistics, zones: wholeZones(zones) }),
        );
        expect(plain(await found[0]!)).toBe(plain(await found[1]!));
      },
    );

    test.prop([fc.integer({ min: 0, max: WIDTH }), fc.integer({ min: 0, max: WIDTH }), someCells], {
      numRuns: Math.ceil(runs / 2) + TIES.length,
      examples: TIES,
    })('of whole cells are those by centres', async (left, right, given) => {
      const across = [left * STEPS, right * STEPS, right * STEPS, left * STEPS];
      const box = [0, 0, 3 * STEPS, 3 * STEPS].map((y, i) => [across[i]!, y] as const);
      const job = { zones: wholeZones([[[box]]]), raster: someRaster(given), binning: { kind: 'unique' } } as const;
      const statistics = [...RANKS, ...PAIRS, 'frac'];
      const { context } = opened();
      const { areas, notes, ...found } = await zonalHistogram(context, { ...job, statistics, pixels: 'fractional' });
      const { notes: _, ...centres } = await zonalHistogram(context, { ...job, statistics });
      expect(plain(found as never)).toBe(plain(centres as never));
      expect(areas!.bins).toEqual(Float64Array.from(centres.bins.count, Number));
    });

    test.prop([fc.constantFrom('f32' as const, 'i32' as const, 'u16' as const), fc.nat(), fc.boolean()], {
      numRuns: scaledCount(1, 3, 1),
      examples: [
        ['i32', 5, false],
        ['f32', 5, true],
      ],
    })('are the same where zones do not fit in memory, and are read twice', async (sample, seed, isReversed) => {
      const [width, height] = [184, 2600];
      const cells = new CELL_ARRAYS[sample](width * height);
      // The largest values lie so far apart that the neighbours of one have other upper bits.
      for (let at = 0; at < cells.length; at++) {
        const number = Math.imul(at ^ seed, 2_654_435_761);
        cells[at] = at % 8000 === 7 ? 2 ** 28 + (number >>> 2) : number >> 12;
      }
      const scaling = isReversed ? { scale: -0.1, offset: 3.3 } : undefined;
      const raster = { ...rasterOf(cells, width, sample, { originY: 0, stepY: 1, scaling }), blockRows: 32 };
      const at = (x: number, y: number) => [Math.round(x * STEPS), Math.round(y * STEPS)] as const;
      const side = Array.from({ length: 52 }, (_, i) => 50 * i + 0.7);
      const large = [...side.map((y) => at(183.2 - (y % 3), y)), ...side.toReversed().map((y) => at(0.3 + (y % 2), y))];
      const small = [at(3.3, 90.1), at(40.5, 90.7), at(33, 111.9)];
      const job = { zones: wholeZones([[[large]], [[small]]]), raster, pixels: 'fractional', tile: 32 } as const;
      const wanted = {
        ...job,
        binning: { kind: 'none' },
        statistics: [isReversed ? 'quantile(0.00005)' : 'quantile(0.99995)'],
      } as const;
      const { context } = opened();
      const expected = await zonalHistogram(context, wanted);
      const readings = new Uint8Array(height);
      const read: typeof raster.read = (window, ...others) => {
        if (window.column === 0) for (let row = 0; row < window.rows; row++) readings[window.row + row]!++;
        return raster.read(window, ...others);
      };
      const again = { ...wanted, raster: { ...raster, read }, memoryBytes: 1_720_000 };
      expect(plain(await zonalHistogram(context, again))).toBe(plain(expected));
      expect(Math.max(...readings)).toBe(sample === 'u16' ? 1 : 2);
    });

    test.prop([ring, someCells], { numRuns: Math.ceil(runs / 2) })(
      'areas of bins of a zone and of what is left of the plane are together the numbers of cells',
      async (ring, given) => {
        const plane = square(2 ** 30);
        const zones = wholeZones([[[ring]], [[plane, ring]], [[plane]]]);
        const job = { zones, raster: someRaster(given), pixels: 'fractional', binning: { kind: 'unique' } } as const;
        const { bins, areas } = await zonalHistogram(opened().context, { ...job, statistics: ['frac'] });
        const totals = new Map<number, number>();
        let [sign, isRough] = [1, false];
        for (const [row, zone] of bins.zone.entries()) {
          sign = zone === 2 ? -1 : 1;
          totals.set(bins.lower[row]!, (totals.get(bins.lower[row]!) ?? 0) + sign * areas!.bins[row]!);
          isRough ||= areas!.bins[row] === 0;
        }
        for (const left of totals.values()) {
          // What is negative by rounding is given as 0.
          if (isRough) expect(Math.abs(left)).toBeLessThan(2 ** -25);
          else expect(left).toBe(0);
        }
      },
    );
  });
});
