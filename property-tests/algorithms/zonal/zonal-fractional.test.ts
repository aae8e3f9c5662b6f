import { describe, expect } from 'vitest';
import { ratio, rootOfRatio } from '../../../algorithms/exact-ratio.ts';
import type { Cells, RasterSource, Sample, Scaling } from '../../../algorithms/geometry/raster.ts';
import { createOverlay, surfaceHistogram, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { checkPartCounts } from '../../../algorithms/zonal/part-counts.ts';
import { countPart, createPartSums, partsOfRaster } from '../../../algorithms/zonal/surface-parts.ts';
import { planSurface } from '../../../algorithms/zonal/surface-plan.ts';
import { snapZones } from '../../../algorithms/zonal/zones-on-grid.ts';
import { CELL_ARRAYS } from '../../../formats/tiff/samples.ts';
import { decodeItems, encodeItems } from '../../../graph/remote/wire.ts';
import { open } from '../../../index.ts';
import { onEveryBackend } from '../../backends.ts';
import { scaledCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { STEPS, sharesOf, unitGrid, type WholeZone, wholeZones } from '../../support/shares-support.ts';
import { isNodata, plain, rasterOf } from '../../support/zonal-support.ts';

const [WIDTH, HEIGHT] = [5, 4];
const coordinate = (cells: number) =>
  fc.oneof(
    fc.integer({ min: -2, max: 2 * cells + 2 }).map((halves) => (halves * STEPS) / 2),
    fc
      .tuple(fc.integer({ min: 0, max: cells }), fc.integer({ min: -2, max: 2 }))
      .map(([cell, by]) => cell * STEPS + by),
    fc.integer({ min: -STEPS, max: (cells + 1) * STEPS }),
  );
const point = fc.tuple(coordinate(WIDTH), coordinate(HEIGHT));
const ring = fc.array(point, { minLength: 3, maxLength: 5 });
const zone: fc.Arbitrary<WholeZone> = fc.array(fc.array(ring, { minLength: 1, maxLength: 2 }), {
  minLength: 1,
  maxLength: 2,
});
const zones = fc.array(zone, { minLength: 1, maxLength: 3 });

/** Values of few kinds and of all magnitudes. */
const integer = (bits: number, isSigned: boolean): fc.Arbitrary<number | bigint> => {
  const [min, max] = isSigned
    ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n]
    : [0n, 2n ** BigInt(bits) - 1n];
  const any = fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max, 0n, 7n));
  return bits === 64 ? any : any.map(Number);
};
const VALUES: { readonly [sample in Sample]: fc.Arbitrary<number | bigint> } = {
  u8: integer(8, false),
  i8: integer(8, true),
  u16: integer(16, false),
  i16: integer(16, true),
  u32: integer(32, false),
  i32: integer(32, true),
  u64: integer(64, false),
  i64: integer(64, true),
  f32: fc.oneof(
    { weight: 4, arbitrary: fc.float({ noNaN: true, noDefaultInfinity: true, min: -1000, max: 1000 }) },
    fc.float({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(-0, 7, Number.NaN, ...[1e-44, 3.4e38, -3.4e38].map(Math.fround)),
  ),
  f64: fc.oneof(
    { weight: 4, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true, min: -1000, max: 1000 }) },
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(-0, 7, Number.NaN, 5e-324, 1.7e308, -1.7e308),
  ),
};
const someCells = fc.constantFrom(...(Object.keys(VALUES) as Sample[])).chain((sample) =>
  fc.record({
    sample: fc.constant(sample),
    cells: fc
      .array(VALUES[sample], { minLength: WIDTH * HEIGHT, maxLength: WIDTH * HEIGHT })
      .map((values) => (CELL_ARRAYS[sample] as unknown as Float64ArrayConstructor).from(values as number[])),
    nodata: fc.constantFrom(undefined, 7),
    scaling: fc.constantFrom<Scaling | undefined>(
      undefined,
      { scale: -0.1, offset: 3.3 },
      { scale: 2 ** -9, offset: -1e9 },
    ),
    hidden: fc.option(fc.array(fc.boolean(), { minLength: WIDTH * HEIGHT, maxLength: WIDTH * HEIGHT }), {
      nil: undefined,
    }),
  }),
);
type SomeCells = typeof someCells extends fc.Arbitrary<infer T> ? T : never;

const STATISTICS = ['cells', 'count', 'nodata', 'min', 'max', 'mean', 'sum', 'variance', 'stdev'] as const;

const PLAINLY = { binning: { kind: 'none' }, pixels: 'fractional' } as const;

function someRaster({ sample, cells, nodata, scaling, hidden }: SomeCells) {
  const own = sample.endsWith('64') && sample !== 'f64' && nodata !== undefined ? BigInt(nodata) : nodata;
  const readMask =
    hidden &&
    (async ({ row, column, rows, columns }: { row: number; column: number; rows: number; columns: number }) =>
      Uint8Array.from({ length: rows * columns }, (_, i) =>
        hidden[(row + Math.floor(i / columns)) * WIDTH + column + (i % columns)] ? 0 : 255,
      ));
  return rasterOf(cells as never, WIDTH, sample, {
    ...{ originY: 0, stepY: 1, scaling, nodata: own as number },
    ...(readMask && { readMask }),
  });
}

/** Every f64 is a multiple of 2^-1074. */
const EXACT = 1074n;
function exact(value: number | bigint): bigint {
  if (typeof value === 'bigint') return value << EXACT;
  let [rest, bits] = [value, EXACT];
  while (!Number.isInteger(rest)) [rest, bits] = [rest * 2, bits - 1n];
  return BigInt(rest) << bits;
}

/** The statistics of cells with the shares that they have in a zone, in whole numbers. */
function byHand({ sample, cells, nodata, scaling, hidden }: SomeCells, shares: ReadonlyMap<number, number>) {
  const all = [...shares].map(([cell, share]) => ({
    cell,
    value: cells[cell] as number | bigint,
    share: BigInt(share),
  }));
  const lacks = ({ cell, value }: (typeof all)[number]): boolean =>
    hidden?.[cell] === true ||
    Number.isNaN(value) ||
    (typeof value === 'bigint' ? nodata !== undefined && value === BigInt(nodata) : isNodata(sample, value, nodata));
  const data = all.filter((each) => !lacks(each));
  const area = (some: typeof all): bigint => some.reduce((sum, { share }) => sum + share, 0n);
  const inCells = (units: bigint): number => (units > 0n ? ratio(units, 2n ** 30n) : 0);
  const [weight, scaled] = [
    area(data),
    data.map(({ value }) =>
      scaling === undefined ? Number(value) + 0 : Number(value) * scaling.scale + scaling.offset + 0,
    ),
  ];
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
    cells: BigInt(all.length),
    count: inCells(weight),
    nodata: inCells(area(all.filter(lacks))),
    min: data.length === 0 ? Number.NaN : Math.min(...scaled),
    max: data.length === 0 ? Number.NaN : Math.max(...scaled),
    mean: hasWeight ? ratio(sum, weight << unit) : Number.NaN,
    sum: data.length === 0 ? Number.NaN : ratio(sum, 1n << (unit + 30n)),
    variance: hasWeight ? (spread > 0n ? ratio(spread, (weight * weight) << (2n * unit)) : 0) : Number.NaN,
    stdev: hasWeight ? (spread > 0n ? rootOfRatio(spread, (weight * weight) << (2n * unit)) : 0) : Number.NaN,
  };
}

/** The shares of the cells of each zone, by their numbers in the raster. */
async function sharesByZone(all: readonly WholeZone[], fill?: 'union' | 'even-odd'): Promise<Map<number, number>[]> {
  await using context = await open({ backend: 'reference' });
  const found = await sharesOf(context, wholeZones(all), unitGrid(WIDTH, HEIGHT), { fill });
  const byZone = all.map(() => new Map<number, number>());
  for (const [key, share] of found) {
    const [zone, row, column] = key.split(':').map(Number) as [number, number, number];
    byZone[zone]!.set(row * WIDTH + column, share);
  }
  return byZone;
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
        expect(found.areas).toEqual({ count: found.statistics.count, nodata: found.statistics.nodata });
        expect(plain(found)).toBe(plain(await zonalHistogram(opened().reference, job)));
      },
    );

    test.prop([ring, someCells], { numRuns: Math.ceil(runs / 2) })(
      'of a zone and of what is left of the plane are together those of all cells',
      async (ring, given) => {
        const far = 2 ** 30;
        const plane = [
          [-far, -far],
          [far, -far],
          [far, far],
          [-far, far],
        ] as const;
        const job = { zones: wholeZones([[[ring]], [[plane, ring]]]), raster: someRaster(given) };
        const { areas } = await zonalHistogram(opened().context, { ...job, ...PLAINLY });
        const area = (zone: number): number => areas!.count[zone]! + areas!.nodata[zone]!;
        // Areas are multiples of 2⁻³⁰, so their sum is exact. What is negative by rounding is given as 0.
        if (Math.min(...areas!.count, ...areas!.nodata) > 0) expect(area(0) + area(1)).toBe(WIDTH * HEIGHT);
        else expect(Math.abs(area(0) + area(1) - WIDTH * HEIGHT)).toBeLessThan(2 ** -25);
      },
    );

    test.prop([zones, someCells, fc.integer({ min: 33, max: 50 }), fc.nat(), fc.constantFrom(32, 64)], {
      numRuns: Math.ceil(runs / 4),
    })('are the same in small windows, beside an overlay, in parts, and in several rasters', async (...given) => {
      const [all, kind, width, cut, tile] = given;
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
      const job = { zones: wholeZones(grown), ...PLAINLY, statistics: STATISTICS, tile };
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

  test('of values and samples are refused, and so are bins', async () => {
    await using context = await open({ backend: 'reference' });
    const job = { zones: wholeZones([]), raster: rasterOf(new Uint8Array(1), 1, 'u8'), pixels: 'fractional' } as const;
    for (const name of ['median', 'quantile(0.9)', 'mode', 'variety', 'frac', 'variance_samp', 'stdev_samp']) {
      const refused = zonalHistogram(context, { ...job, ...PLAINLY, statistics: ['mean', name] });
      await expect(refused).rejects.toMatchObject({ code: 'zonal/fractional-statistic', got: name });
    }
    const binned = zonalHistogram(context, { ...job, binning: { kind: 'unique' } });
    await expect(binned).rejects.toMatchObject({ code: 'zonal/fractional-bins' });
  });
});
