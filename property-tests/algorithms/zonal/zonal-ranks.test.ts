import { expect } from 'vitest';
import type { NarrowSample, RasterSource } from '../../../algorithms/geometry/raster.ts';
import { createOverlay, surfaceHistogram, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
import { open } from '../../../index.ts';
import { onEveryBackend } from '../../backends.ts';
import { THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { BY_HAND } from '../../support/statistics-by-hand.ts';
import { box, isNodata, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const RANKED = ['median', 'quantile(0.37)', 'quantile_disc(0.37)'] as const;

type Box = readonly [left: number, bottom: number, right: number, top: number];

interface Cased {
  readonly sample: NarrowSample;
  readonly cells: ArrayLike<number>;
  readonly width: number;
  readonly nodata: number | undefined;
  readonly scaling: { readonly scale: number; readonly offset: number } | undefined;
}

/** The statistics of a zone, from its sorted values. */
function byHand(
  { sample, cells, width, nodata, scaling }: Cased,
  [left, bottom, right, top]: Box,
  names: readonly string[] = RANKED,
): number[] {
  const height = cells.length / width;
  const own: number[] = [];
  for (let row = Math.max(0, height - top); row < Math.min(height, height - bottom); row++) {
    for (let x = Math.max(0, left); x < Math.min(width, right); x++) own.push(cells[row * width + x]!);
  }
  // Sorted as numbers, which takes less time than what the statistics do to sort them.
  const data = own.filter((cell) => !Number.isNaN(cell) && !isNodata(sample, cell, nodata));
  const stored = Array.from(Float64Array.from(data).sort());
  if (stored.length === 0) return names.map(() => Number.NaN);
  return names.map((name) => BY_HAND[name]!({ stored, cells: own.length, scaling }) as number);
}

const SAMPLES = ['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'f32'] as const;

/** Numbers that are hard to tell apart by some of their digits, or that lie far apart. */
const numbers: Readonly<Record<NarrowSample, fc.Arbitrary<number>>> = {
  u8: fc.nat(255),
  i8: fc.integer({ min: -128, max: 127 }),
  u16: fc.nat(65535),
  i16: fc.integer({ min: -32768, max: 32767 }),
  u32: fc.oneof(fc.nat(2 ** 32 - 1), fc.constantFrom(0, 1, 2 ** 21, 2 ** 32 - 1)),
  i32: fc.oneof(fc.integer(), fc.constantFrom(-(2 ** 31), -1, 0, 2 ** 31 - 1)),
  f32: fc.oneof(
    fc.float({ noNaN: true }),
    fc.float({ noNaN: true, min: 100, max: 101 }),
    fc.constantFrom(-0, 0, 1e-45, -1e-45, Number.NaN, Infinity, -Infinity).map(Math.fround),
  ),
};

const scalings = fc.constantFrom(undefined, { scale: -0.1, offset: 3.3 }, { scale: 2 ** -9, offset: -1e9 });

/** Cells that repeat some numbers, some of them often. */
const cased = fc.constantFrom(...SAMPLES).chain((sample) =>
  fc.record({
    sample: fc.constant(sample),
    some: fc.array(numbers[sample], { minLength: 1, maxLength: 40 }),
    width: fc.integer({ min: 1, max: 90 }),
    height: fc.integer({ min: 1, max: 130 }),
    stride: fc.constantFrom(1, 7, 50),
    scaling: scalings,
    isMarked: fc.boolean(),
  }),
);
const side = fc.integer({ min: -10, max: 140 });
const boxes = fc
  .array(fc.tuple(side, side, side, side), { minLength: 1, maxLength: 5 })
  .map((all) => all.map(([a, b, c, d]): Box => [Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d)]));
const cuts = fc.record({
  tile: fc.constantFrom(32, 64),
  blockRows: fc.constantFrom(1, 32, 200),
  memoryBytes: fc.constantFrom(2 ** 17, 2 ** 19, 2 ** 24),
});

function drawn(given: {
  readonly sample: NarrowSample;
  readonly some: readonly number[];
  readonly width: number;
  readonly height: number;
  readonly stride: number;
  readonly scaling: Cased['scaling'];
  readonly isMarked: boolean;
}): Cased & { readonly cells: RasterCells } {
  const { sample, some, width, height, stride, scaling, isMarked } = given;
  const cells = new CELL_ARRAYS[sample](width * height);
  for (let at = 0; at < cells.length; at++) cells[at] = some[(at + Math.floor((at * stride) / 13)) % some.length]!;
  const marked = isMarked ? some.find((each) => Number.isFinite(each)) : undefined;
  return { sample, cells, width, nodata: marked, scaling };
}

type RasterCells = InstanceType<(typeof CELL_ARRAYS)[NarrowSample]>;

onEveryBackend((opened, { runs }) => {
  const given = {
    ...{ sample: 'i16' as const, some: Array.from({ length: 40 }, (_, i) => (i * 7919) % 20011), stride: 7 as const },
    ...{ width: 90, height: 130, scaling: { scale: -0.1, offset: 3.3 } as const, isMarked: true },
  };
  const zones: Box[] = [
    [0, 0, 90, 130],
    [5, 3, 80, 60],
    [20, 61, 90, 120],
  ];
  // Values are turned around, and zones end in several windows.
  const examples: [typeof given, Box[], { tile: 32; blockRows: 1; memoryBytes: number }, boolean][] = [
    [given, zones, { tile: 32 as const, blockRows: 1 as const, memoryBytes: 3 * 2 ** 15 }, false],
  ];
  test.prop([cased, boxes, cuts, fc.boolean()], { numRuns: runs, examples })(
    'statistics of ranks are those of the sorted values, wherever windows are cut',
    async (chosen, zones, { blockRows, ...limits }, isShared) => {
      const own = drawn(chosen);
      const { cells, width, sample, nodata, scaling } = own;
      const raster = rasterOf(cells, width, sample, { nodata, scaling, blockRows });
      const { context } = opened();
      const given = zonesOf(zones.map((each) => [box(...each)]));
      const overlay = isShared ? createOverlay(context, given) : undefined;
      const job = { zones: given, raster, binning: { kind: 'none' }, statistics: RANKED, overlay, ...limits } as const;
      // The second job finds what the first one kept.
      for (const { statistics } of [await zonalHistogram(context, job), await zonalHistogram(context, job)]) {
        for (const [zone, place] of zones.entries()) {
          expect(RANKED.map((name) => statistics[name][zone])).toEqual(byHand(own, place));
        }
      }
      overlay?.dispose();
    },
  );
});

/** A raster that counts how often each of its rows is read. */
function watched(raster: RasterSource): { readonly raster: RasterSource; readonly readings: Uint8Array } {
  const readings = new Uint8Array(raster.height);
  const read: RasterSource['read'] = (window, ...others) => {
    // Windows of a row lie side by side, so that only those of the first column tell.
    if (window.column === 0) for (let row = 0; row < window.rows; row++) readings[window.row + row]!++;
    return raster.read(window, ...others);
  };
  return { raster: { ...raster, read }, readings };
}

/** Values of all magnitudes, or such that differ in their last bits only. */
const large = fc.record({
  sample: fc.constantFrom('f32' as const, 'i32' as const, 'u16' as const),
  factor: fc.constantFrom(1, 40_503, 2_654_435_761),
  near: fc.boolean(),
  scaling: scalings,
  // The two ranks of a median may need counters of their own.
  name: THOROUGH ? fc.constantFrom(...RANKED) : fc.constant(RANKED[2]),
});

onEveryBackend((opened, { runs }) => {
  test.prop([large], { numRuns: Math.ceil(runs / 30) })(
    'zones that do not fit in memory are read twice, only where they lie, and give the same statistics',
    async ({ sample, factor, near, scaling, name }) => {
      // Counters for one rank take half a megabyte.
      const names = [name];
      const [width, height, memoryBytes] = THOROUGH ? [900, 1280, 1_060_000] : [400, 1280, 600_000];
      const cells = new CELL_ARRAYS[sample](width * height);
      for (let at = 0; at < cells.length; at++) {
        const number = Math.imul(at, factor) >>> 0;
        cells[at] = near ? 1000 + (sample === 'f32' ? number / 2 ** 33 : number % 1000) : number - 2 ** 31;
      }
      const own = { sample, cells, width, nodata: undefined, scaling };
      // The first zone is too large; the others are complete early, lie in its windows, or in no window of it.
      const places: Box[] = [
        [0, 660, width, 1240],
        [30, 1230, 90, 1280],
        [200, 820, 330, 920],
        [10, 10, 300, 40],
      ];
      const zones = zonesOf(places.map((each) => [box(...each)]));
      const { raster, readings } = watched({ ...rasterOf(cells, width, sample, { scaling }), blockRows: 32 });
      const job = { zones, raster, binning: { kind: 'none' }, statistics: names, tile: 32 } as const;
      const { statistics } = await zonalHistogram(opened().context, { ...job, memoryBytes });
      const expected = places.map((place) => byHand(own, place, names));
      expect(places.map((_, zone) => names.map((name) => statistics[name]![zone]))).toEqual(expected);
      // 16 bits tell all values of 16 bits.
      const again = sample === 'u16' ? 1 : 2;
      expect([readings[0], readings[39], readings.subarray(64, 600).every((times) => times === again)]).toEqual([
        again,
        again,
        true,
      ]);
      expect(readings[1279]).toBe(1);
    },
  );
});

test('values and counters that do not fit in memory are refused', async () => {
  await using context = await open({ backend: 'reference' });
  const cells = Float32Array.from({ length: 256 * 640 }, (_, at) => at);
  const raster = { ...rasterOf(cells, 256, 'f32'), blockRows: 32 };
  const zones = zonesOf([[box(0, 0, 256, 640)]]);
  const job = { zones, raster, binning: { kind: 'none' }, statistics: ['median'], tile: 32 } as const;
  const refused = zonalHistogram(context, { ...job, memoryBytes: 300_000 });
  await expect(refused).rejects.toMatchObject({ code: 'zonal/rank-memory-bytes' });
  const { statistics } = await zonalHistogram(context, { ...job, memoryBytes: 600_000 });
  expect(statistics.median[0]).toBe((256 * 640 - 1) / 2);
});

const parts = fc.record({
  rows: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 3 }),
  overlap: fc.nat(5),
  order: fc.boolean(),
});

onEveryBackend((opened, { runs }) => {
  test.prop([cased, boxes, cuts, parts], { numRuns: Math.ceil(runs / 2) })(
    'ranks that are selected equal those among all values, for the rasters of a surface too',
    async (given, places, { blockRows, ...limits }, { rows, overlap, order }) => {
      const { cells, width, sample, nodata, scaling } = drawn(given);
      const height = cells.length / width;
      const rasters: RasterSource[] = [];
      for (let row = 0, part = 0; row < height; row += rows[part++ % rows.length]!) {
        const end = Math.min(height, row + rows[part % rows.length]! + overlap);
        const own = cells.slice(row * width, end * width);
        const grid = { originY: height - row, nodata, scaling, blockRows };
        rasters.push(rasterOf(own, width, sample, grid));
      }
      if (order) rasters.reverse();
      const closed: RasterSource[] = [];
      const onCounted = (raster: RasterSource): void => void closed.push(raster);
      const zones = zonesOf(places.map((each) => [box(...each)]));
      const job = { zones, rasters, binning: { kind: 'even', low: 0, high: 90, width: 30 }, ...limits } as const;
      const selected = await surfaceHistogram(opened().context, {
        ...job,
        onCounted,
        statistics: ['stdev', ...RANKED],
      });
      const collected = await surfaceHistogram(opened().context, {
        ...job,
        memoryBytes: 2 ** 24,
        statistics: ['stdev', ...RANKED, 'variety'],
      });
      const { variety, ...others } = collected.statistics;
      expect(variety).toHaveLength(places.length);
      expect(selected).toEqual({ ...collected, statistics: others });
      expect(new Set(closed)).toEqual(new Set(rasters));
      expect(closed).toHaveLength(rasters.length);
    },
  );
});
