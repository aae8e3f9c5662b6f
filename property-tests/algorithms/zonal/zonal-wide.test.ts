import { expect } from 'vitest';
import { ratio } from '../../../algorithms/exact-ratio.ts';
import type { Cells, Scaling, WideSample } from '../../../algorithms/geometry/raster.ts';
import { binEdges, createClassifier } from '../../../algorithms/zonal/binning.ts';
import { exactSquares, exactSum, homeGroups, NO_HOMES } from '../../../algorithms/zonal/exact-sums.ts';
import { createFoldTotals, type FoldedWindow } from '../../../algorithms/zonal/fold-totals.ts';
import { foldsOf } from '../../../algorithms/zonal/folds.ts';
import { type ZonalHistogram, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { checkPartCounts } from '../../../algorithms/zonal/part-counts.ts';
import { countPart, createPartSums, type PartCounts, partsOfRaster } from '../../../algorithms/zonal/surface-parts.ts';
import { planSurface } from '../../../algorithms/zonal/surface-plan.ts';
import { createUniqueTotals } from '../../../algorithms/zonal/unique-totals.ts';
import { foldRows } from '../../../algorithms/zonal/zone-folds.ts';
import { snapZones } from '../../../algorithms/zonal/zones-on-grid.ts';
import { open } from '../../../index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount, scaledCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { box, plain, rasterOf, textsOnThreads, zonesOf } from '../../support/zonal-support.ts';

type Stored = number | bigint;

/** Cells of 64 bits, what is asked of them, and what marks those without data. */
interface Draft {
  readonly sample: WideSample;
  readonly cells: Cells;
  readonly edges: readonly number[];
  readonly nodata: Stored | undefined;
  readonly scaling: Scaling | undefined;
}

const exponents = fc.constantFrom([990, 1050], [1008, 1040], [0, 2046], [0, 1], [2046, 2046], [900, 1100]);
const floats = exponents.chain(([min, max]) =>
  fc
    .record({
      sign: fc.constantFrom(0n, 1n),
      exponent: fc.integer({ min: min!, max: max! }),
      fraction: fc.bigInt({ min: 0n, max: 2n ** 52n - 1n }),
    })
    .map(({ sign, exponent, fraction }) => floatOf((sign << 63n) | (BigInt(exponent) << 52n) | fraction)),
);
const oddFloats = fc.constantFrom(0, -0, Number.NaN, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308);
const infinities = fc.constantFrom(Infinity, -Infinity);
const wholes = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
  fc.bigInt({ min: -300n, max: 300n }),
  fc.constantFrom(
    2n ** 53n - 1n,
    2n ** 53n,
    2n ** 53n + 1n,
    2n ** 60n + 1n,
    -(2n ** 53n) - 1n,
    2n ** 32n,
    2n ** 32n - 1n,
  ),
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, 0n, -1n),
);
const edge = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -300, max: 300 }).map((n) => n / 2),
  fc.constantFrom(
    2 ** 53,
    2 ** 53 + 2,
    -(2 ** 53),
    2 ** 63,
    -(2 ** 63),
    2 ** 64,
    2 ** 60,
    2 ** 60 + 256,
    1e19,
    0,
    5e-324,
  ),
  floats,
);
const scalings = fc.record({
  scale: fc.constantFrom(0.1, 1, 3, -0.5, -1e-3, 1e-300),
  offset: fc.constantFrom(0, 7.25, -1e6, 0.1),
});

const cellsOf = (sample: WideSample): fc.Arbitrary<Cells> => {
  const size = { minLength: 1, maxLength: 130 };
  if (sample === 'i64') return fc.array(wholes, size).map((values) => BigInt64Array.from(values));
  if (sample === 'u64') return fc.array(wholes, size).map((values) => BigUint64Array.from(values));
  const finite = fc.array(fc.oneof({ arbitrary: floats, weight: 9 }, oddFloats), size);
  const infinite = fc.oneof(fc.constant([]), fc.constant([]), fc.array(infinities, { maxLength: 2 }));
  return fc.tuple(finite, infinite).map(([a, b]) => Float64Array.from([...a, ...b]));
};

const drafts: fc.Arbitrary<Draft> = fc.constantFrom<WideSample>('i64', 'u64', 'f64').chain((sample) =>
  fc
    .record({
      cells: cellsOf(sample),
      edges: fc.uniqueArray(edge, { minLength: 2, maxLength: 40, selector: (e) => e + 0 }),
      marked: fc.option(fc.nat(9), { nil: undefined }),
      scaling: fc.option(scalings, { nil: undefined }),
      own: fc.boolean(),
    })
    .map(({ cells, edges, marked, scaling, own }) => {
      const values = [...(cells as Float64Array)] as Stored[];
      // Edges at the cells' own values, if those are numbers.
      const near = own ? values.slice(0, 20).map(Number).filter(Number.isFinite) : [];
      const all = [...new Set([...edges, ...near].map((each) => each + 0))].sort((a, b) => a - b);
      return { sample, cells, edges: all, nodata: marked === undefined ? undefined : values[marked], scaling };
    }),
);

const PLAIN = { nodata: undefined, scaling: undefined };
const TINY = Float64Array.of(-0, 0, 5e-324, -5e-324, 1, Number.NaN, -0);
/** Nine cells around 1000, and cells two and more groups of exponents away. */
const SPREAD = Float64Array.from([
  ...Array.from({ length: 9 }, (_, i) => 1000 + i / 3),
  ...[
    2 ** -30,
    -(2 ** -17),
    2 ** -60,
    -(2 ** -61),
    2 ** -100,
    1e-200,
    -3e-310,
    1e300,
    -1e299,
    2 ** 40,
    1.7976931348623157e308,
  ],
]);

/** Cells that no run may miss: signs of 0, the ends of each type, and sums of many magnitudes. */
const EDGES: [Draft][] = [
  [{ ...PLAIN, sample: 'f64', cells: TINY, edges: [-1, -5e-324, 0, 5e-324, 1] }],
  [{ ...PLAIN, sample: 'f64', cells: TINY, edges: [-1, 0, 1], nodata: -0 }],
  [{ ...PLAIN, sample: 'f64', cells: SPREAD, edges: [-1e299, 0, 1000, 1001, 1.7976931348623157e308] }],
  [
    {
      ...PLAIN,
      sample: 'u64',
      cells: BigUint64Array.of(2n ** 64n - 1n, 0n, 2n ** 53n + 1n, 2n ** 53n, 2n ** 32n, 2n ** 32n - 1n),
      edges: [0, 2 ** 32, 2 ** 53, 2 ** 53 + 2, 2 ** 64],
    },
  ],
  [
    {
      ...PLAIN,
      sample: 'i64',
      cells: BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n, -1n, 0n, -(2n ** 32n), 2n ** 63n - 2n),
      edges: [-(2 ** 63), -(2 ** 32), -0.5, 2 ** 63],
      nodata: 2n ** 63n - 1n,
    },
  ],
  [
    {
      sample: 'i64',
      cells: BigInt64Array.of(2n ** 60n, 2n ** 60n + 1n, -(2n ** 60n), 5n),
      edges: [-(2 ** 59), 0, 2 ** 59],
      nodata: 2n ** 60n,
      scaling: { scale: -0.5, offset: 7.25 },
    },
  ],
];

function floatOf(bits: bigint): number {
  return new Float64Array(BigUint64Array.of(bits).buffer)[0]!;
}

/** A finite number in units of 2⁻¹⁰⁷⁴. */
function unitsOf(value: Stored): bigint {
  if (typeof value === 'bigint') return value << 1074n;
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0]!;
  const [exponent, fraction] = [(bits >> 52n) & 0x7ffn, bits & (2n ** 52n - 1n)];
  const size = exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n);
  return value < 0 ? -size : size;
}

const scaledOf = ({ scaling }: Draft, stored: Stored): Stored =>
  scaling === undefined ? stored : Number(stored) * scaling.scale + scaling.offset;

/** The stored values of the cells from one on that have data: those that are no NaN and do not equal the nodata value. */
function dataOf({ cells, nodata }: Draft, from: number): Stored[] {
  const own = [...(cells.subarray(from) as Float64Array)] as Stored[];
  return own.filter((cell) => !Number.isNaN(cell) && cell !== nodata);
}

/** Orders numbers and bigints. */
function inOrder(a: Stored, b: Stored): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function least(values: readonly Stored[]): Stored {
  return values.toSorted(inOrder)[0]!;
}

function most(values: readonly Stored[]): Stored {
  return values.toSorted(inOrder).at(-1)!;
}

/** The statistics of stored values by definition: exact fractions, rounded once. */
function statisticsOf(draft: Draft, stored: readonly Stored[]): number[] {
  if (stored.length === 0) return Array(4).fill(Number.NaN);
  const values = stored.map((each) => scaledOf(draft, each));
  const bounds = [least(values), most(values)].map((bound) => Number(bound) + 0);
  const endless = stored.filter((value) => typeof value === 'number' && !Number.isFinite(value)) as number[];
  if (endless.length > 0) {
    const sum = endless.map((value) => Number(scaledOf(draft, value))).reduce((a, b) => a + b);
    return [...bounds, sum, sum];
  }
  const { scale, offset } = draft.scaling ?? { scale: 1, offset: 0 };
  const sum = stored.map(unitsOf).reduce((a, b) => a + b, 0n);
  const scaled = sum * unitsOf(scale) + ((BigInt(stored.length) * unitsOf(offset)) << 1074n);
  return [...bounds, ratio(scaled, 1n << 2148n), ratio(scaled, BigInt(stored.length) << 2148n)];
}

const zones = (width: number) => zonesOf([[box(0, 0, width, 1)], [box(width >> 1, 0, width, 1)], [box(-9, 0, -5, 1)]]);

function job({ sample, cells, nodata, scaling }: Draft, binning: object, memoryBytes?: number) {
  const raster = { ...rasterOf(cells, cells.length, sample, { nodata, scaling }), blockColumns: 32 };
  return { zones: zones(cells.length), raster, binning: binning as never, tile: 32, memoryBytes };
}

function binsOf({ bins, exact, nodata, below, above }: ZonalHistogram, zone: number): object {
  const rows = [...bins.zone.keys()].filter((row) => bins.zone[row] === zone);
  return {
    bins: rows.map((row) => [exact?.values?.[row] ?? bins.lower[row]!, bins.upper[row]!, Number(bins.count[row])]),
    outside: [nodata, below, above].map((each) => Number(each[zone])),
  };
}

function expectExact(found: ZonalHistogram, draft: Draft, zone: number, stored: readonly Stored[]): void {
  const isExact = draft.sample !== 'f64' && draft.scaling === undefined;
  expect(found.exact !== undefined).toBe(isExact);
  if (!isExact) return;
  const { min, max } = found.exact!.statistics;
  expect([min![zone], max![zone]]).toEqual(stored.length === 0 ? [0n, 0n] : [least(stored), most(stored)]);
}

onEveryBackend((opened, { runs }) => {
  test.prop([drafts], { numRuns: scaledCount(runs, 3, 1) + EDGES.length, examples: EDGES })(
    'cells of 64 bits: bins have the values from their lower edges to below their upper ones; statistics are exact',
    async (draft) => {
      const found = await zonalHistogram(opened().context, job(draft, { kind: 'edges', edges: draft.edges }));
      const { minimum, maximum, sum, mean } = found.statistics!;
      const { edges, cells } = draft;
      for (const [zone, from] of [0, cells.length >> 1].entries()) {
        const stored = dataOf(draft, from);
        expect([minimum[zone], maximum[zone], sum[zone], mean[zone]]).toEqual(statisticsOf(draft, stored));
        expectExact(found, draft, zone, stored);
        const reached = stored.map((each) => edges.findLastIndex((at) => at <= scaledOf(draft, each)));
        const met = [...new Set(reached)].filter((bin) => bin >= 0 && bin < edges.length - 1).sort((a, b) => a - b);
        const count = (bin: number): number => reached.filter((other) => other === bin).length;
        expect(binsOf(found, zone)).toEqual({
          bins: met.map((bin) => [edges[bin], edges[bin + 1], count(bin)]),
          outside: [cells.length - from - stored.length, count(-1), count(edges.length - 1)],
        });
      }
    },
    300_000,
  );

  test.prop([drafts], { numRuns: scaledCount(runs, 2, 1) + EDGES.length, examples: EDGES })(
    'cells of 64 bits: unique values are told apart to the last bit, in order',
    async (draft) => {
      const found = await zonalHistogram(opened().context, job(draft, { kind: 'unique' }));
      for (const [zone, from] of [0, draft.cells.length >> 1].entries()) {
        const stored = dataOf(draft, from);
        const values = stored.map((each) => scaledOf(draft, each)).map((each) => (each === 0 ? 0 : each));
        const finite = values.filter((each) => typeof each === 'bigint' || Number.isFinite(each));
        const all = [...new Set(finite)].sort(inOrder);
        expect(binsOf(found, zone)).toEqual({
          bins: all.map((each) => [each, Number(each), finite.filter((other) => other === each).length]),
          outside: [
            draft.cells.length - from - stored.length,
            values.filter((each) => each === -Infinity).length,
            values.filter((each) => each === Infinity).length,
          ],
        });
      }
    },
    300_000,
  );

  test.prop([drafts], { numRuns: Math.ceil(runs / 2) + EDGES.length, examples: EDGES })(
    'cells of 64 bits: sums and sums of squares are folded exactly',
    async (draft) => {
      const { sample, nodata } = draft;
      const isNumber = (cell: Stored): boolean => typeof cell === 'bigint' || Number.isFinite(cell);
      const cells = (draft.cells as Float64Array).map((cell) => (isNumber(cell) ? cell : 0)) as Cells;
      const { context } = opened();
      const rows = Math.ceil(cells.length / 32);
      const padded = new Uint32Array(64 * rows);
      padded.set(new Uint32Array(cells.buffer));
      const mask = Uint32Array.from({ length: rows }, (_, row) => {
        const met = Math.min(32, cells.length - 32 * row);
        return met === 32 ? 0xffffffff : 2 ** met - 1;
      });
      const folds = foldsOf(sample, new Set(['sum', 'squares'] as const));
      const homes = sample === 'f64' ? homeGroups(cells, nodata) : NO_HOMES;
      const columns = context.scope(() => {
        const zone = context.column(Uint32Array.from(mask, (_, row) => (row < 2 ? 0 : 1)));
        const cell = context.column(Uint32Array.from(mask, (_, row) => 32 * row));
        const classifier = createClassifier(context, { sample, nodata }, binEdges({ kind: 'none' }));
        const found = { sample, cells: context.column(padded), classifier, homes };
        return foldRows(context, folds, { zone, cell, mask: context.column(mask) }, 2, found).folded!;
      });
      const window = (await context.read(columns)) as FoldedWindow;
      context.dispose(columns);
      const totals = createFoldTotals(folds, 2);
      totals.add(Uint32Array.of(0, 1), window, homes, { raster: 0, row: 0, column: 0, columns: 1 });
      const folded = totals.part();
      folded.zone.forEach((zone, row) => {
        const own = dataOf(
          { ...draft, cells: zone === 0 ? (cells.subarray(0, 64) as Cells) : cells },
          zone === 0 ? 0 : 64,
        );
        const [sum, squares] = [folded.sum![row] as bigint, folded.squares![row] as bigint];
        const count = BigInt(own.length);
        const units = own.map(unitsOf);
        const exact = exactSum(sample, sum, count);
        expect(exact.numerator << 1074n).toBe(units.reduce((a, b) => a + b, 0n) * exact.denominator);
        const ofSquares = exactSquares(sample, squares, sum, count);
        expect(ofSquares.numerator << 2148n).toBe(units.reduce((a, b) => a + b * b, 0n) * ofSquares.denominator);
      });
    },
    300_000,
  );
});

test.prop([drafts, fc.constantFrom('unique' as const, 'none' as const), fc.constantFrom(40, 64)], {
  numRuns: caseCount(40),
})('cells of 64 bits: parts that other processes count add up', async (draft, kind, cells) => {
  await using context = await open({ backend: 'reference' });
  const raster = {
    ...rasterOf(draft.cells, 1, draft.sample, { nodata: draft.nodata, scaling: draft.scaling }),
    blockRows: 16,
  };
  const { length } = draft.cells;
  const zones = zonesOf([[box(0, 0, 1, length)], [box(0, length >> 1, 1, length)]]);
  const whole = { zones, rasters: [raster], binning: { kind }, tile: 32 };
  const plan = planSurface(whole);
  const sums = createPartSums(plan.counted);
  for (const part of partsOfRaster(plan, 0, cells)) {
    const counts = await countPart(context, { ...whole, raster, part, onGrid: snapZones(zones, part.grid) });
    expect(() => checkPartCounts(spoiledIntegers(counts), plan.counted)).toThrow();
    sums.add(checkPartCounts(structuredClone(counts), plan.counted));
  }
  expect(plain(sums.finish(plan) as ZonalHistogram)).toBe(
    plain(await zonalHistogram(context, { zones, raster, binning: { kind }, tile: 32 })),
  );
});

/** Counts with minima that no cell can have. */
function spoiledIntegers(counts: PartCounts): unknown {
  const { zone, minimum } = counts.statistics!;
  if (zone.length === 0) return undefined;
  const isBig = Array.isArray(minimum);
  const wrong = isBig
    ? [-(2n ** 63n) - 1n, ...minimum.slice(1)]
    : Float64Array.from(minimum as Float64Array, () => Number.NaN);
  return { ...counts, statistics: { ...counts.statistics, minimum: wrong } };
}

test.prop([drafts, fc.constantFrom('unique', 'none')], { numRuns: caseCount(40) })(
  'cells of 64 bits: smaller windows do not change the result',
  async (draft, kind) => {
    await using context = await open({ backend: 'reference' });
    const long = draft.cells.constructor as unknown as { from(cells: unknown): Cells };
    const cells = long.from(Array.from({ length: 700 }, (_, i) => draft.cells[i % draft.cells.length]!));
    const whole = plain(await zonalHistogram(context, job({ ...draft, cells }, { kind })));
    expect(plain(await zonalHistogram(context, job({ ...draft, cells }, { kind }, 400_000)))).toBe(whole);
  },
);

test('cells of 64 bits: pairs of zone and value take 20 bytes of the memory for them', () => {
  const rows = { zone: Uint32Array.of(0, 0, 1), value: Uint32Array.of(7, 7, 7), high: Uint32Array.of(1, 2, 1) };
  const add = (bytes: number): void =>
    createUniqueTotals('u64', bytes).addRows({ ...rows, count: Uint32Array.of(1, 1, 1) });
  add(60);
  expect(() => add(59)).toThrow(expect.objectContaining({ code: 'zonal/unique-memory-bytes' }));
});

test('f64 of many magnitudes in many rows give the same sums on workers as on the reference', async () => {
  const [width, height] = [300, 120];
  const cells = Float64Array.from({ length: width * height }, (_, i) => {
    const noise = Math.sin(i) * 1000;
    return i % 97 === 0 ? noise * 1e-200 : i % 101 === 0 ? noise * 1e250 : noise;
  });
  const draft = {
    zones: zonesOf([[box(3, 3, 280, 110)], [box(100, 50, 230, 117)], [box(0.5, 0.5, 20, 20)]]),
    raster: rasterOf(cells, width, 'f64', { nodata: cells[77] }),
    binning: { kind: 'even', low: -1000, high: 1000, width: 250 } as const,
  };
  expect(new Set(await textsOnThreads(draft)).size).toBe(1);
});
