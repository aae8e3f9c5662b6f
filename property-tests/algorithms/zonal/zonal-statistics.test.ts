import { expect } from 'vitest';
import { ratio } from '../../../algorithms/exact-ratio.ts';
import type { NarrowCells, NarrowSample } from '../../../algorithms/geometry/raster.ts';
import { binEdges, createClassifier } from '../../../algorithms/zonal/binning.ts';
import { exactSquares, exactSum, homeGroups, NO_HOMES } from '../../../algorithms/zonal/exact-sums.ts';
import { createFoldTotals, type FoldedWindow } from '../../../algorithms/zonal/fold-totals.ts';
import { foldsOf } from '../../../algorithms/zonal/folds.ts';
import { type Binning, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { foldRows } from '../../../algorithms/zonal/zone-folds.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
import { open } from '../../../index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { box, isNodata, plain, rasterOf, textsOnThreads, zonesOf } from '../../support/zonal-support.ts';

/**
 * Ranges of the biased exponents of f32: a narrow range, a wider range, all finite numbers, the smallest numbers, and
 * the largest numbers.
 */
const exponents = fc.oneof(
  fc.constant({ min: 112, max: 140 }),
  fc.constant({ min: 100, max: 140 }),
  fc.constant({ min: 0, max: 254 }),
  fc.constant({ min: 0, max: 1 }),
  fc.constant({ min: 254, max: 254 }),
);
const float = exponents.chain((range) =>
  fc
    .record({ sign: fc.nat(1), exponent: fc.integer(range), fraction: fc.nat(0x7fffff) })
    .map(({ sign, exponent, fraction }) => ((sign << 31) | (exponent << 23) | fraction) >>> 0),
);
const special = fc.constantFrom(0, 0x80000000, 0x7fc00000, 1, 0x80000001, 0x7f7fffff, 0xff7fffff);
const infinity = fc.constantFrom(0x7f800000, 0xff800000);

const size = { minLength: 1, maxLength: 130 };
const floats = fc
  .tuple(
    fc.array(fc.oneof({ arbitrary: float, weight: 9 }, special), size),
    fc.oneof(fc.constant([]), fc.constant([]), fc.array(infinity, { maxLength: 2 })),
  )
  .map(([finite, infinite]) => new Float32Array(Uint32Array.from([...finite, ...infinite]).buffer));

const integers = fc
  .record({
    sample: fc.constantFrom<Exclude<NarrowSample, 'f32'>>('u8', 'i8', 'u16', 'i16', 'u32', 'i32'),
    words: fc.array(fc.oneof(fc.nat(0xff), fc.constantFrom(-1, -(2 ** 31), 2 ** 31 - 1, 2 ** 15), fc.integer()), size),
  })
  .map(({ sample, words }) => ({ sample, cells: CELL_ARRAYS[sample].from(words) as NarrowCells }));

const draft: fc.Arbitrary<{ readonly sample: NarrowSample; readonly cells: NarrowCells }> = fc.oneof(
  floats.map((cells) => ({ sample: 'f32' as const, cells: cells as NarrowCells })),
  integers,
);

const binnings = fc.constantFrom<Binning>({ kind: 'even', low: 0, high: 1, width: 1 }, { kind: 'none' });

/** The expected minimum, maximum, sum and mean by definition: exact fractions that are rounded once. */
function expected(values: readonly number[]): number[] {
  if (values.length === 0) return Array(4).fill(Number.NaN);
  const bounds = [values.reduce((a, b) => Math.min(a, b)) + 0, values.reduce((a, b) => Math.max(a, b)) + 0];
  const infinite = values.filter((value) => !Number.isFinite(value)).reduce((a, b) => a + b, 0);
  if (infinite !== 0) return [...bounds, infinite, infinite];
  // Every f32 is a multiple of 2⁻¹⁴⁹.
  const sum = values.reduce((total, value) => total + BigInt(value * 2 ** 149), 0n);
  return [...bounds, ratio(sum, 1n << 149n), ratio(sum, BigInt(values.length) << 149n)];
}

onEveryBackend((opened, { runs }) => {
  test.prop([draft, fc.option(fc.nat(9)), binnings], { numRuns: 3 * runs })(
    'statistics are exact for any values and windows',
    async ({ sample, cells }, marked, binning) => {
      const width = cells.length;
      const nodata = marked === null || Number.isNaN(cells[marked]) ? undefined : cells[marked];
      const found = await zonalHistogram(opened().context, {
        zones: zonesOf([[box(0, 0, width, 1)], [box(width >> 1, 0, width, 1)], [box(-9, 0, -5, 1)]]),
        raster: { ...rasterOf(cells, width, sample, { nodata }), blockColumns: 32 },
        binning,
        tile: 32,
      });
      const { minimum, maximum, sum, mean } = found.statistics!;
      const data = (from: number): number[] =>
        [...cells.subarray(from)].filter((cell) => !Number.isNaN(cell) && !isNodata(sample, cell, nodata));
      expect([0, 1, 2].map((zone) => [minimum[zone], maximum[zone], sum[zone], mean[zone]])).toEqual(
        [data(0), data(width >> 1), []].map(expected),
      );
      const counted = [0, 1, 2].map((zone) =>
        [found.cells[zone], found.cells[zone]! - found.nodata[zone]!].map(Number),
      );
      const half = width - (width >> 1);
      expect(counted).toEqual([
        [width, data(0).length],
        [half, data(width >> 1).length],
        [0, 0],
      ]);
      if (binning.kind === 'none')
        expect([found.bins.zone.length, ...found.below, ...found.above].map(Number)).toEqual(Array(7).fill(0));
    },
    300_000,
  );

  test.prop([draft, fc.option(fc.nat(9))], { numRuns: Math.ceil(runs / 2) })(
    'sums and sums of squares are folded exactly',
    async ({ sample, cells }, marked) => {
      const nodata = marked === null || Number.isNaN(cells[marked]) ? undefined : cells[marked];
      const finite = cells.map((cell) => (Number.isFinite(cell) ? cell : 0)) as NarrowCells;
      const { context } = opened();
      const rows = Math.ceil(finite.length / 32);
      const padded = new CELL_ARRAYS[sample](32 * rows);
      padded.set(finite);
      const mask = Uint32Array.from({ length: rows }, (_, row) => {
        const met = Math.min(32, finite.length - 32 * row);
        return met === 32 ? 0xffffffff : 2 ** met - 1;
      });
      const words = padded instanceof Float32Array ? new Uint32Array(padded.buffer) : Uint32Array.from(padded, Number);
      const bits = sample === 'i8' ? 0xff : sample === 'i16' ? 0xffff : 0xffffffff;
      const folds = foldsOf(sample, new Set(['sum', 'squares'] as const));
      const homes = sample === 'f32' ? homeGroups(finite, nodata) : NO_HOMES;
      const columns = context.scope(() => {
        const zone = context.column(Uint32Array.from(mask, (_, row) => (row < 2 ? 0 : 1)));
        const cell = context.column(Uint32Array.from(mask, (_, row) => 32 * row));
        const classifier = createClassifier(context, { sample, nodata }, binEdges({ kind: 'none' }));
        const found = { sample, cells: context.column(words.map((word) => word & bits)), classifier, homes };
        return foldRows(context, folds, { zone, cell, mask: context.column(mask) }, 2, found).folded!;
      });
      const window = (await context.read(columns)) as FoldedWindow;
      context.dispose(columns);
      const totals = createFoldTotals(folds, 2);
      totals.add(Uint32Array.of(0, 1), window, homes, { raster: 0, row: 0, column: 0, columns: 1 });
      const folded = totals.part();
      const power = sample === 'f32' ? 2 ** 149 : 1;
      folded.zone.forEach((zone, row) => {
        const own = [...(zone === 0 ? finite.subarray(0, 64) : finite.subarray(64))];
        const values = own.filter((cell) => !isNodata(sample, cell, nodata)).map((cell) => BigInt(cell * power));
        const [sum, squares] = [folded.sum![row] as bigint, folded.squares![row] as bigint];
        const count = BigInt(values.length);
        const exact = exactSum(sample, sum, count);
        expect(exact.numerator * BigInt(power)).toBe(values.reduce((a, b) => a + b, 0n) * exact.denominator);
        const ofSquares = exactSquares(sample, squares, sum, count);
        const wanted = values.reduce((a, b) => a + b * b, 0n);
        expect(ofSquares.numerator * BigInt(power) ** 2n).toBe(wanted * ofSquares.denominator);
      });
    },
    300_000,
  );
});

test('cells of three groups of magnitudes in many rows give the same sums on workers as on the reference', async () => {
  const [width, height] = [500, 200];
  const cells = Float32Array.from({ length: width * height }, (_, i) => {
    const noise = Math.fround(Math.sin(i) * 1000);
    return i % 997 === 0 ? noise * 1e-30 : i % 1009 === 0 ? noise * 1e20 : noise;
  });
  const job = {
    zones: zonesOf([[box(3, 3, 480, 190)], [box(100, 50, 230, 170)], [box(0.5, 0.5, 20, 20)]]),
    raster: rasterOf(cells, width, 'f32', { nodata: cells[77] }),
    binning: { kind: 'even', low: -1000, high: 1000, width: 250 } as const,
  };
  expect(new Set(await textsOnThreads(job)).size).toBe(1);
});

test('the home group is the one that holds most values, or the one above', () => {
  expect(homeGroups(Float32Array.of(0, 0, 0), undefined)[1]).toBeGreaterThanOrEqual(1);
  expect(homeGroups(Float32Array.of(3.4e38, 1, 2, 300), undefined)[1]).toBe(5);
  expect(homeGroups(Float32Array.of(-3.4e38, 1, 2, 300), Math.fround(-3.4e38))[1]).toBe(5);
  expect(homeGroups(Float32Array.of(1e-30, 1e-29, 1), undefined)[1]).toBeLessThan(4);
});

const side = fc.integer({ min: 0, max: 190 });

test.prop(
  [
    fc.array(fc.tuple(side, side, side, side), { minLength: 1, maxLength: 5 }),
    fc.constantFrom(1, 7, 50, 64),
    fc.boolean(),
  ],
  { numRuns: caseCount(40) },
)('unread parts of a raster can hold anything', async (boxes, block, inOneZone) => {
  const [width, height] = [200, 190];
  const cells = Int16Array.from({ length: width * height }, (_, i) => (i * 7919) % 3001);
  const raster = rasterOf(cells, width, 'i16');
  const rings = boxes.map(([x, y, right, top]) => box(x, y, Math.max(x + 1, right), Math.max(y + 1, top)));
  const zones = zonesOf(inOneZone ? [rings] : rings.map((ring) => [ring]));
  let spoiled = 0;
  const read: typeof raster.read = async (window, signal, isWanted) => {
    const found = await raster.read(window, signal);
    for (let row = window.row; row < window.row + window.rows; row += block) {
      for (let column = window.column; column < window.column + window.columns; column += block) {
        const rows = Math.min(block, window.row + window.rows - row);
        const columns = Math.min(block, window.column + window.columns - column);
        if (isWanted!({ row, column, rows, columns })) continue;
        spoiled++;
        for (let r = row - window.row; r < row - window.row + rows; r++) {
          const from = r * window.columns + column - window.column;
          (found as Int16Array).fill(-12345, from, from + columns);
        }
      }
    }
    return found;
  };
  await using context = await open({ backend: 'reference' });
  const job = { zones, binning: { kind: 'even', low: 0, high: 3000, width: 500 } as const, tile: 32 };
  const whole = plain(await zonalHistogram(context, { ...job, raster }));
  expect(plain(await zonalHistogram(context, { ...job, raster: { ...raster, read } }))).toBe(whole);
  if (boxes.every(([x, , right]) => Math.max(x, right) < 100)) expect(spoiled).toBeGreaterThan(0);
});

test.prop([fc.uniqueArray(fc.tuple(fc.nat(15), fc.nat(3)), { minLength: 1, maxLength: 8, selector: String })], {
  numRuns: caseCount(40),
})('what lies between the parts of a zone is not read', async (places) => {
  // Parts of 20 × 20 cells, each in a square of its own of 100 × 100 cells.
  const [width, height] = [1600, 400];
  const parts = places.map(([x, y]) => box(100 * x + 40, 100 * y + 40, 100 * x + 60, 100 * y + 60));
  const raster = rasterOf(new Uint8Array(width * height).fill(1), width, 'u8');
  const wanted = new Set<string>();
  const read: typeof raster.read = (window, signal, isWanted) => {
    for (let x = 0; x < 16; x++) {
      for (let y = 0; y < 4; y++) {
        if (isWanted!({ column: 100 * x + 40, row: height - 100 * y - 60, columns: 20, rows: 20 }))
          wanted.add(`${x},${y}`);
      }
    }
    return raster.read(window, signal, isWanted);
  };
  await using context = await open({ backend: 'reference' });
  const job = { zones: zonesOf([parts]), binning: { kind: 'none' } as const, tile: 32 };
  const found = await zonalHistogram(context, { ...job, raster: { ...raster, read } });
  expect(found.cells).toEqual(BigUint64Array.of(400n * BigInt(places.length)));
  expect(wanted).toEqual(new Set(places.map(String)));
});
