import { describe, expect, it } from 'vitest';
import { ratio, rootOfRatio } from '../../../algorithms/exact-ratio.ts';
import type { RasterSource, Sample } from '../../../algorithms/geometry/raster.ts';
import { createOverlay, type Pixels, surfaceHistogram, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
import { open } from '../../../index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount, scaledCount, THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  EXACT,
  exact,
  HEIGHT,
  type SharedCell,
  type SomeCells,
  sharesByZone,
  someCells,
  someRaster,
  splitCells,
  WIDTH,
  zones,
} from '../../support/fractional-support.ts';
import { ONE, STEPS, type WholeZone, wholeZones } from '../../support/shares-support.ts';
import { box, isNodata, plain, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const STATISTICS = ['weighted_mean', 'weighted_sum', 'weighted_variance', 'weighted_stdev'] as const;
const NONE = { kind: 'none' } as const;
const FULL = { minLength: WIDTH * HEIGHT, maxLength: WIDTH * HEIGHT };

interface SomeWeights {
  readonly sample: Sample;
  readonly values: readonly number[];
  readonly nodata: number | undefined;
}

/** Weights of all magnitudes, of both signs, 0, without data, and few of them infinite. */
const WEIGHTS: { readonly [sample in Exclude<Sample, 'i64' | 'u64'>]: fc.Arbitrary<number> } = {
  u8: fc.constantFrom(0, 1, 9, 200, 255),
  i8: fc.constantFrom(0, 1, 9, -3, 127, -128),
  u16: fc.integer({ min: 0, max: 65535 }),
  i16: fc.integer({ min: -32768, max: 32767 }),
  u32: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  i32: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  f32: fc.oneof(
    { weight: 6, arbitrary: fc.float({ noNaN: true, min: 0, max: 100 }) },
    { weight: 2, arbitrary: fc.float({ noNaN: true, noDefaultInfinity: true }) },
    fc.constantFrom(0, 9, -0),
  ),
  f64: fc.oneof(
    { weight: 6, arbitrary: fc.double({ noNaN: true, min: 0, max: 100 }) },
    { weight: 2, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
    fc.constantFrom(0, 9, -0, 5e-324, 1.7e308),
  ),
};
const flaws = fc.constantFrom(undefined, undefined, undefined, Number.NaN, Number.POSITIVE_INFINITY);
const someWeights: fc.Arbitrary<SomeWeights> = fc
  .constantFrom(...(Object.keys(WEIGHTS) as (keyof typeof WEIGHTS)[]))
  .chain((sample) =>
    fc.record({
      sample: fc.constant<Sample>(sample),
      values: fc
        .tuple(fc.array(WEIGHTS[sample], FULL), flaws, fc.nat(19))
        .map(([values, flaw, at]) => (flaw === undefined || !sample.startsWith('f') ? values : values.with(at, flaw))),
      nodata: fc.constantFrom(undefined, undefined, 9),
    }),
  );

function weightsRaster({ sample, values, nodata }: SomeWeights): RasterSource {
  const cells = (CELL_ARRAYS[sample] as unknown as Float64ArrayConstructor).from(values);
  return rasterOf(cells as never, WIDTH, sample, { originY: 0, stepY: 1, nodata });
}

/** The shares of the cells of zones, in units of 2⁻³⁰. Those of whole cells are found by counting the cells' numbers. */
async function cellsOfZones(
  context: Parameters<typeof zonalHistogram>[0],
  all: readonly WholeZone[],
  pixels: Pixels,
): Promise<readonly ReadonlyMap<number, number>[]> {
  if (pixels === 'fractional') return sharesByZone(all);
  const numbers = Uint8Array.from({ length: WIDTH * HEIGHT }, (_, i) => i);
  const raster = rasterOf(numbers, WIDTH, 'u8', { originY: 0, stepY: 1 });
  const job = { zones: wholeZones(all), raster, pixels, binning: { kind: 'unique' }, statistics: false } as const;
  const { bins } = await zonalHistogram(context, job);
  const found = all.map(() => new Map<number, number>());
  for (const [row, zone] of bins.zone.entries()) found[zone]!.set(bins.lower[row]!, ONE);
  return found;
}

/** The statistics of a zone, cell by cell, in whole numbers. */
function byHand(given: SomeCells, { sample, values, nodata }: SomeWeights, shares: ReadonlyMap<number, number>) {
  const [scale, offset] = [exact(given.scaling?.scale ?? 1), exact(given.scaling?.offset ?? 0) << EXACT];
  const missing = STATISTICS.map(() => Number.NaN);
  let [w, first, second, isNegative, cells] = [0n, 0n, 0n, false, 0];
  for (const [cell, share] of shares) {
    const [data] = splitCells(given, new Map([[cell, share]])).data as [SharedCell | undefined];
    if (data === undefined) continue;
    const weight = values[cell]!;
    if (!Number.isFinite(weight) || isNodata(sample, weight, nodata)) return missing;
    if (typeof data.value === 'number' && !Number.isFinite(data.value)) return missing;
    cells++;
    isNegative ||= weight < 0;
    const [x, own] = [exact(data.value) * scale + offset, exact(weight) * data.share];
    [w, first, second] = [w + own, first + own * x, second + own * x * x];
  }
  if (cells === 0) return missing;
  const sum = ratio(first, BigInt(ONE) << (3n * EXACT));
  if (w === 0n || (w < 0n && !isNegative)) return [Number.NaN, sum, Number.NaN, Number.NaN];
  const mean = ratio(w < 0n ? -first : first, (w < 0n ? -w : w) << (2n * EXACT));
  const distance = w * second - first * first;
  const spread = distance < 0n && !isNegative ? 0n : distance;
  const square = (w * w) << (4n * EXACT);
  return [mean, sum, ratio(spread, square), spread < 0n ? Number.NaN : rootOfRatio(spread, square)];
}

/** Cells and weights that no run may miss: those of the rows of a raster, in a zone for each row and one for all. */
const rows = [0, 1, 2, 3].map((row) => rectangle(0.25, row + 0.25, 4.5, row + 1));
const EXAMPLE_ZONES: WholeZone[] = [...rows, rectangle(-1, -1, 6, 6)];
function rectangle(left: number, top: number, right: number, bottom: number): WholeZone {
  const corners = [left, top, right, top, right, bottom, left, bottom].map((at) => at * STEPS);
  return [[[0, 2, 4, 6].map((at) => [corners[at]!, corners[at + 1]!] as const)]];
}
function example(
  sample: Sample,
  values: readonly (readonly (number | bigint)[])[],
  weights: readonly [Sample, ...(readonly number[])[]],
  changes: Partial<SomeCells> = {},
): [WholeZone[], SomeCells, SomeWeights, Pixels] {
  const [weight, ...masses] = weights;
  const cells = (CELL_ARRAYS[sample] as unknown as Float64ArrayConstructor).from(values.flat() as number[]);
  const some = { sample, cells, nodata: 7, scaling: undefined, hidden: undefined, ...changes };
  return [EXAMPLE_ZONES, some, { sample: weight, values: masses.flat(), nodata: 9 }, 'fractional'];
}
const EXAMPLES = [
  // Of both signs; that add up to 0, or to less; and 0 with either sign.
  example(
    'f32',
    [
      [1, 2, 3, 4, 5],
      [1, 2, 3, 4, 5],
      [-1, 2, 3, 7, 1e30],
      [0.5, 7, 7, -0, 4],
    ],
    [...['f32', [-1, 2, -3, 4, 0.5], [0.75, -1, 0, 1, -0.5], [-2, -1, 0, 9, -3], [-0, -0, 0, -0, 0]]] as never,
  ),
  // No weight, beside values and beside none; infinite values; subnormals.
  example(
    'f32',
    [
      [1, 2, 3, 4, 5],
      [1, 7, Number.NaN, 4, 5],
      [Infinity, 2, 3, 4, 5],
      [1e-45, 2e-40, 1, 0, 0],
    ],
    [
      ...['f64', [1, 9, 1, 1, 1], [1, 9, Number.NaN, Infinity, 1], [1, 1, 1, 1, 1], [5e-324, 1e-310, 0, 0, 1e-320]],
    ] as never,
  ),
  example(
    'i64',
    [
      [-(2n ** 63n), 2n ** 63n - 1n, 7n, 1n, 0n],
      [1n, 2n, 3n, 4n, 5n],
      [7n, 7n, 7n, 7n, 7n],
      [-1n, -2n, -3n, -4n, 0n],
    ],
    [...['u8', [1, 2, 9, 255, 3], [9, 9, 9, 1, 1], [1, 2, 3, 4, 5], [0, 0, 0, 0, 0]]] as never,
    { hidden: Array.from({ length: 20 }, (_, cell) => cell === 3 || (cell > 4 && cell < 8)) },
  ),
  example(
    'i16',
    [
      [-32768, 32767, 7, 1, 0],
      [1, 2, 3, 4, 5],
      [-1, 0, 1, 2, 3],
      [6, 7, 8, 9, 10],
    ],
    [
      ...['f64', [1e308, 1.7e308, 9, 1e-300, -3], [1, 1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5], [-1, -1, -1, -1, -1]],
    ] as never,
    { scaling: { scale: -0.1, offset: 3.3 } },
  ),
];
const somePixels = fc.constantFrom<Pixels>('center', 'all-touched', 'fractional');

describe('statistics with the weights of a raster', () => {
  onEveryBackend((opened, { name: backend, runs }) => {
    const isReference = backend === 'reference';
    const examples = THOROUGH || isReference ? EXAMPLES : EXAMPLES.slice(0, 1);
    const stated = test.prop([zones, someCells, someWeights, somePixels], {
      ...{ examples, numRuns: examples.length + scaledCount(runs, isReference ? 3 : 0.5, isReference ? 2 : 0) },
      endOnFailure: true,
    });
    const law: Parameters<typeof stated>[1] = async (all, given, weights, pixels) => {
      const { context, reference } = opened();
      const rasters = { raster: someRaster(given), weights: weightsRaster(weights) };
      const job = { zones: wholeZones(all), ...rasters, pixels, binning: NONE, statistics: STATISTICS } as const;
      const found = await zonalHistogram(context, job);
      const shares = await cellsOfZones(reference, all, pixels);
      for (const [zone, own] of shares.entries())
        expect(STATISTICS.map((name) => found.statistics[name][zone])).toEqual(byHand(given, weights, own));
      if (!isReference) expect(plain(found)).toBe(plain(await zonalHistogram(reference, job)));
    };
    // A software GPU takes seconds to compile the sums of a pair of types. By default, it has those of the next law.
    const hasAll = THOROUGH || !backend.startsWith('webgpu');
    if (hasAll) stated('are those of exact sums, rounded once, and the same bytes', law);

    it('many windows have the bytes of one on the reference, with masks and nodata values', async () => {
      const { context, reference } = opened();
      const side = 64;
      let reads = 0;
      const cellsBy = (of: (cell: number) => number) => Float32Array.from({ length: side ** 2 }, (_, i) => of(i));
      const cells = cellsBy((i) => ((i * 7919) % 1013) - 300);
      const masses = cellsBy((i) => 2 ** (i % 97 === 0 ? 70 - (i % 140) : 0) * (((i * 31) % 17) - 3));
      // Weights lack where values do, and in the last rows: on the left by the mask, on the right by their nodata value.
      const isLacking = (i: number) => cells[i] === 5 || i > 60 * side;
      const isHidden = (i: number) => isLacking(i) && i % side < 32;
      const raster = rasterOf(cells, side, 'f32', { nodata: 5, blockColumns: side, blockRows: 32 });
      const stated = rasterOf(
        masses.map((mass, i) => (isLacking(i) && !isHidden(i) ? -9999 : mass)),
        side,
        'f32',
        {
          nodata: -9999,
          readMask: async ({ row, column, rows: height, columns }) =>
            Uint8Array.from({ length: height * columns }, (_, at) =>
              isHidden((row + Math.floor(at / columns)) * side + column + (at % columns)) ? 0 : 255,
            ),
        },
      );
      const read: RasterSource['read'] = (...given) => {
        reads++;
        return stated.read(...given);
      };
      const rings = [
        [box(3.3, 5.4, 60.5, 50.25)],
        [box(20.1, 8, 40, 63.7), box(25, 30, 30, 40)],
        [box(40, 1.5, 63, 30)],
        [box(1, 1.5, 20, 30)],
      ];
      const job = {
        zones: zonesOf(rings),
        raster,
        binning: NONE,
        pixels: hasAll ? 'fractional' : 'center',
        statistics: STATISTICS,
      } as const;
      const one = await zonalHistogram(reference, { ...job, weights: { ...stated, read } });
      expect(reads).toBe(1);
      const many = await zonalHistogram(context, {
        ...job,
        weights: { ...stated, read },
        tile: 32,
        memoryBytes: hasAll ? 250_000 : 150_000,
      });
      expect(reads).toBeGreaterThan(2);
      expect(plain(many)).toBe(plain(one));
      const bare = rasterOf(
        masses.map((mass, i) => (isLacking(i) ? Number.NaN : mass)),
        side,
        'f32',
      );
      expect(plain(await zonalHistogram(context, { ...job, weights: bare }))).toBe(plain(one));
      expect([...one.statistics.weighted_mean].map(Number.isFinite)).toEqual([true, true, false, false]);
    });
  });

  test.prop([zones, someCells, somePixels, fc.array(fc.integer({ min: -9, max: 9 }), FULL)], {
    numRuns: caseCount(100),
    endOnFailure: true,
  })(
    'weights of 1 give those without weights, and factors matter to sums alone',
    async (all, given, pixels, masses) => {
      await using context = await open({ backend: 'reference' });
      const statisticsOf = async (values: readonly number[]) => {
        const weights = weightsRaster({ sample: 'f32', values, nodata: undefined });
        const statistics = [...STATISTICS, 'mean', 'sum', 'variance', 'stdev'] as const;
        const job = { zones: wholeZones(all), raster: someRaster(given), weights, pixels, binning: NONE, statistics };
        return (await zonalHistogram(context, job)).statistics;
      };
      const { mean, sum, variance, stdev, ...weighted } = await statisticsOf(masses.map(() => 1));
      const [ownMean, ownSum, ownVariance, ownStdev] = STATISTICS.map((name) => weighted[name]);
      expect([ownMean, ownSum, ownVariance, ownStdev]).toEqual([mean, sum, variance, stdev]);
      const [one, twice] = [await statisticsOf(masses), await statisticsOf(masses.map((mass) => 2 * mass))];
      // Subnormal sums are rounded to other bits.
      const doubled = one.weighted_sum.map((own) => 2 * own);
      expect(twice.weighted_sum.map((own, at) => (Math.abs(own) < 1e-300 ? doubled[at]! : own))).toEqual(doubled);
      for (const name of ['weighted_mean', 'weighted_variance', 'weighted_stdev'] as const)
        expect(twice[name]).toEqual(one[name]);
    },
  );

  it.each([
    ['u8', 255, 'f32'],
    ['u64', 2n ** 64n - 1n, 'f64'],
    ['f32', 2 - 2 ** -23, 'f32'],
    ['f64', 2 - 2 ** -52, 'f64'],
  ] as const)('the largest sums of rows have room: %s', async (sample, value, weight) => {
    await using context = await open({ backend: 'reference' });
    // Every bit of weights and values is 1, and each row of 32 cells has another exponent. Shares are small, and so what
    // they differ from whole cells is large.
    const cells = (CELL_ARRAYS[sample] as unknown as Float64ArrayConstructor).from(
      Array(32 ** 2).fill(value) as number[],
    );
    // A variance below 0 is not taken for 0 where weights are negative.
    const mass = weight === 'f32' ? 2 ** -23 - 2 : 2 ** -52 - 2;
    const masses = Array.from({ length: 32 ** 2 }, (_, i) => mass * 2 ** Math.floor(i / 32));
    const weights = rasterOf(CELL_ARRAYS[weight].from(masses), 32, weight);
    const some = zonesOf(Array.from({ length: 32 }, (_, row) => [box(0, row, 32, row + 2 ** -18)]));
    const raster = rasterOf(cells as never, 32, sample);
    const job = { zones: some, raster, weights, pixels: 'fractional', binning: NONE, statistics: STATISTICS } as const;
    const { statistics } = await zonalHistogram(context, job);
    expect(statistics.weighted_mean).toEqual(new Float64Array(32).fill(Number(value)));
    expect(statistics.weighted_variance).toEqual(new Float64Array(32));
  });

  it('rasters that are read by blocks have the bytes of those that are read by rows, and statistics do not depend on others', async () => {
    await using context = await open({ backend: 'reference' });
    const cells = Uint8Array.from({ length: 64 ** 2 }, (_, i) => (i * 37) % 251);
    const own = rasterOf(cells, 64, 'u8');
    const blocks: RasterSource = {
      ...{ ...own, blockColumns: 64, blockRows: 64 },
      readBlocks: () => Promise.reject(new Error('Blocks of other places than the weights.')),
    };
    const common = { zones: zonesOf([[box(2.5, 3.5, 50, 60.2)]]), binning: NONE, weights: own } as const;
    const job = { ...common, pixels: 'fractional', statistics: STATISTICS } as const;
    const found = await zonalHistogram(context, { ...job, raster: blocks });
    expect(plain(found)).toBe(plain(await zonalHistogram(context, { ...job, raster: own })));
    const some = { ...job, statistics: ['weighted_sum', 'median', 'weighted_mean', 'count'] } as const;
    const counted: RasterSource[] = [];
    const surface = { ...some, rasters: [blocks], onCounted: (raster: RasterSource) => void counted.push(raster) };
    const { statistics } = await surfaceHistogram(context, surface);
    expect(statistics.weighted_mean).toEqual(found.statistics.weighted_mean);
    expect(statistics.weighted_sum).toEqual(found.statistics.weighted_sum);
    expect(counted[0]).toBe(blocks);
  });

  it('several rasters on an overlay have their own weighted statistics', async () => {
    await using context = await open({ backend: 'reference' });
    const side = 64;
    const rasterBy = (factor: number) =>
      rasterOf(
        Uint8Array.from({ length: side ** 2 }, (_, i) => (i * factor) % 101),
        side,
        'u8',
      );
    const some = zonesOf([[box(2.5, 3.5, 50, 60.2)], [box(20, 1, 63, 30)]]);
    using overlay = createOverlay(context, some);
    for (const pixels of ['center', 'fractional'] as const) {
      for (const [values, masses] of [
        [3, 7],
        [5, 11],
      ] as const) {
        const rasters = { raster: rasterBy(values), weights: rasterBy(masses) };
        const job = { zones: some, ...rasters, pixels, binning: NONE, statistics: STATISTICS } as const;
        expect(plain(await zonalHistogram(context, { ...job, overlay }))).toBe(
          plain(await zonalHistogram(context, job)),
        );
      }
    }
  });
});

describe('weights that cannot be used', () => {
  const raster = rasterOf(new Uint8Array(20), 5, 'u8', { crs: 'EPSG:3857' });
  const jobOf = (weights?: Partial<RasterSource>) => ({
    ...{ zones: zonesOf([[box(0, 0, 3, 3)]]), raster, binning: NONE },
    ...(weights && { weights: { ...raster, ...weights } }),
  });
  const mean = ['weighted_mean'];
  it.each([
    ['zonal/weights-missing', jobOf(), mean],
    ['zonal/weights-unused', jobOf({}), ['mean']],
    ['zonal/weights-grid', jobOf({ originX: 1 }), mean],
    ['zonal/weights-grid', jobOf({ width: 4 }), mean],
    ['zonal/weights-crs', jobOf({ crs: 'EPSG:4326' }), mean],
    ['zonal/weights-samples', jobOf({ sample: 'i64' }), mean],
    ['zonal/weights-scaling', jobOf({ scaling: { scale: 2, offset: 0 } }), mean],
  ] as const)('are refused: %s', async (code, job, statistics) => {
    await using context = await open({ backend: 'reference' });
    await expect(zonalHistogram(context, { ...job, statistics })).rejects.toMatchObject({ code });
  });

  it.each(['weighted_frac', 'constructor', '__proto__'])('a name of no statistic is refused: %s', async (name) => {
    await using context = await open({ backend: 'reference' });
    const job = { ...jobOf({}), statistics: [name] };
    await expect(zonalHistogram(context, job)).rejects.toMatchObject({
      code: 'zonal/statistic',
      message: expect.stringContaining(name),
    });
  });
});
