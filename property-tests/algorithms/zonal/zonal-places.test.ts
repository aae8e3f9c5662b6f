import { expect } from 'vitest';
import type { Cells, RasterSource } from '../../../algorithms/geometry/raster.ts';
import { surfaceHistogram } from '../../../algorithms/zonal/index.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
import { onEveryBackend } from '../../backends.ts';
import { fc, test } from '../../law-test.ts';
import { box, isNodata, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const PLACES = ['min_center_x', 'min_center_y', 'max_center_x', 'max_center_y'] as const;

/** Few values of each sample type, with its extremes, so that most zones have ties. */
const VALUES = {
  u8: [0, 1, 7, 255],
  i8: [-128, -1, 7, 127],
  i16: [-32768, -1, 7, 32767],
  u16: [0, 7, 65535],
  i32: [-(2 ** 31), 7, 2 ** 31 - 1],
  u32: [0, 7, 2 ** 32 - 1],
  f32: [-Infinity, -1.5, -1e-40, -0, 0, 1e-40, 7, Number.NaN, 1.5, Infinity].map(Math.fround),
  f64: [-Infinity, -1.5, -1 - 2 ** -52, -1e-320, -0, 0, 1e-320, 7, Number.NaN, 1, 1 + 2 ** -52, Infinity],
  i64: [-(2n ** 63n), -(2n ** 63n) + 1n, -1n, 0n, 7n, 2n ** 32n, 2n ** 63n - 2n, 2n ** 63n - 1n],
  u64: [0n, 1n, 7n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 64n - 2n, 2n ** 64n - 1n],
};
type Kind = keyof typeof VALUES;

const surfaces = fc.record({
  sample: fc.constantFrom(...(Object.keys(VALUES) as Kind[])),
  /** Which of the values occur: often one alone. */
  kinds: fc.array(fc.nat(30), { minLength: 1, maxLength: 4 }),
  width: fc.integer({ min: 1, max: 100 }),
  height: fc.integer({ min: 1, max: 40 }),
  seed: fc.nat(),
  /** Where further rasters begin, in cells of the first. */
  offsets: fc.array(fc.tuple(fc.constantFrom(-20, 0, 9, 0.25), fc.constantFrom(-7, 0, 3.25)), { maxLength: 2 }),
  step: fc.constantFrom([1, -1], [1, 1], [-1, -1], [4, -0.5]),
  origin: fc.constantFrom([0, 0], [-2048, 4096.5]),
  nodata: fc.constantFrom(undefined, 7),
  scaling: fc.constantFrom(undefined, { scale: -0.5, offset: 3 }, { scale: 2, offset: -1 }),
  cut: fc.record({ blockRows: fc.integer({ min: 1, max: 9 }), memoryBytes: fc.constantFrom(2 ** 17, 2 ** 24) }),
});
/** Rectangles, in 64ths of a cell of the first raster, which pass through no centre of a cell. */
const boxes = fc.array(fc.tuple(fc.integer({ min: -10, max: 90 }), fc.integer({ min: -10, max: 40 }), fc.nat(90)), {
  minLength: 1,
  maxLength: 4,
});

onEveryBackend((opened, { runs }) => {
  test.prop([surfaces, boxes], { numRuns: 4 * runs })(
    'places of extremes are the centres of the first cells that have them, by raster, row and column',
    async ({ sample, kinds, width, height, seed, offsets, step, origin, nodata, scaling, cut }, boxes) => {
      const [[stepX, stepY], [originX, originY]] = [step, origin] as [[number, number], [number, number]];
      const rasters = [[0, 0] as const, ...offsets].map(([right, down], at): StoredRaster => {
        const cells = cellsOf(sample, kinds, width * height, seed + at);
        const grid = { stepX, stepY, originX: originX + right * stepX, originY: originY + down * stepY };
        return { ...rasterOf(cells, width, sample, { ...grid, nodata, scaling, blockRows: cut.blockRows }), cells };
      });
      const rectangles = boxes.map(([left, top, size]) => {
        const xs = [left, left + size].map((column) => originX + (column + 3 / 64) * stepX).sort((a, b) => a - b);
        const ys = [top, top + size].map((row) => originY + (row + 3 / 64) * stepY).sort((a, b) => a - b);
        return [xs[0]!, ys[0]!, xs[1]!, ys[1]!] as const;
      });
      const found = await surfaceHistogram(opened().context, {
        ...{ rasters, zones: zonesOf(rectangles.map((corners) => [box(...corners)])), tile: 32 },
        ...{ binning: { kind: 'none' }, statistics: PLACES, memoryBytes: cut.memoryBytes },
      });
      const places = PLACES.map((name) => [...found.statistics[name]]);
      expect(places).toEqual(transposed(rectangles.map((rectangle) => placesByHand(rasters, rectangle))));
    },
  );
});

/** Cells of few values, each of which begins a run of a few equal ones. */
function cellsOf(sample: Kind, kinds: readonly number[], count: number, seed: number): Cells {
  const values: readonly (number | bigint)[] = VALUES[sample];
  let state = seed >>> 0;
  const all = Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return values[kinds[(state >>> 16) % kinds.length]! % values.length]!;
  });
  const { from } = CELL_ARRAYS[sample] as unknown as { from(all: readonly (number | bigint)[]): Cells };
  return from.call(CELL_ARRAYS[sample], all);
}

type StoredRaster = RasterSource & { readonly cells: Cells };
type Rectangle = readonly [left: number, bottom: number, right: number, top: number];

/** The places of the extremes of a rectangle, found cell by cell. */
function placesByHand(rasters: readonly StoredRaster[], rectangle: Rectangle): number[] {
  const isIn = ([left, bottom, right, top]: Rectangle, x: number, y: number): boolean =>
    left <= x && x < right && bottom <= y && y < top;
  let [least, most]: (readonly [value: number | bigint, x: number, y: number] | undefined)[] = [];
  for (const [at, raster] of rasters.entries()) {
    for (const [cell, value] of [...raster.cells].entries()) {
      const x = raster.originX + ((cell % raster.width) + 0.5) * raster.stepX;
      const y = raster.originY + (Math.floor(cell / raster.width) + 0.5) * raster.stepY;
      const isTaken = rasters.slice(0, at).some((before) => isIn(extentOf(before), x, y));
      const lacksData = Number.isNaN(value) || isMissing(raster, value);
      if (isTaken || lacksData || !isIn(rectangle, x, y)) continue;
      if (least === undefined || value < least[0]) least = [value, x, y];
      if (most === undefined || value > most[0]) most = [value, x, y];
    }
  }
  const [min, max] = (rasters[0]!.scaling?.scale ?? 1) < 0 ? [most, least] : [least, most];
  return [min, max].flatMap((found) => (found?.slice(1) as number[] | undefined) ?? [Number.NaN, Number.NaN]);
}

function isMissing({ sample, nodata }: RasterSource, value: number | bigint): boolean {
  if (typeof value === 'bigint') return nodata !== undefined && value === BigInt(nodata);
  return isNodata(sample, value, nodata as number | undefined);
}

function extentOf({ originX, originY, stepX, stepY, width, height }: RasterSource): Rectangle {
  const xs = [originX, originX + width * stepX].sort((a, b) => a - b);
  const ys = [originY, originY + height * stepY].sort((a, b) => a - b);
  return [xs[0]!, ys[0]!, xs[1]!, ys[1]!];
}

function transposed(rows: readonly (readonly number[])[]): number[][] {
  return PLACES.map((_, at) => rows.map((row) => row[at]!));
}
