import { describe, expect } from 'vitest';
import type { RasterSource, Sample } from '../../../algorithms/geometry/raster.ts';
import {
  type Binning,
  surfaceHistogram,
  type ZonalHistogram,
  zonalHistogram,
} from '../../../algorithms/zonal/index.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { randomCells } from '../../fixtures/random-raster.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import { box, cellsOf, plain, type Rings, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const reference = openReference();

/** A rectangle of cells. */
interface Part {
  readonly column: number;
  readonly row: number;
  readonly columns: number;
  readonly rows: number;
}

/** Cuts a rectangle into two again and again: each cut takes the place in the list, and whether it runs along a row. */
function cutUp(whole: Part, cuts: readonly (readonly [which: number, where: number, alongRow: boolean])[]): Part[] {
  const parts = [whole];
  for (const [which, where, alongRow] of cuts) {
    const at = which % parts.length;
    const { column, row, columns, rows } = parts[at]!;
    const first = Math.round(where * (alongRow ? rows : columns));
    if (first === 0 || first === (alongRow ? rows : columns)) continue;
    const halves = alongRow
      ? [
          { column, row, columns, rows: first },
          { column, row: row + first, columns, rows: rows - first },
        ]
      : [
          { column, row, columns: first, rows },
          { column: column + first, row, columns: columns - first, rows },
        ];
    parts.splice(at, 1, ...halves);
  }
  return parts;
}

/** A part of a raster as a raster of its own, as a program writes it that computes its origin. */
function partOf(raster: RasterSource, { column, row, columns, rows }: Part): RasterSource {
  const moved = (window: Part): Part => ({ ...window, column: window.column + column, row: window.row + row });
  const { readMask } = raster;
  return {
    ...raster,
    width: columns,
    height: rows,
    originX: raster.originX + column * raster.stepX,
    originY: raster.originY + row * raster.stepY,
    blockColumns: columns,
    read: (window) => raster.read(moved(window)),
    ...(readMask && { readMask: (window: Part) => readMask(moved(window)) }),
  };
}

/** A mask that hides every seventh cell. */
const maskOf =
  (width: number) =>
  async ({ column, row, columns, rows }: Part): Promise<Uint8Array> =>
    Uint8Array.from({ length: columns * rows }, (_, at) => {
      const cell = (row + Math.floor(at / columns)) * width + column + (at % columns);
      return cell % 7 === 0 ? 0 : 1;
    });

/** The same words for one raster and for several. */
const inOneWord = (text: string): string =>
  text.replaceAll('the rasters', 'the raster').replaceAll('The rasters span', 'The raster spans');

const cuts = fc.array(fc.tuple(fc.nat(20), fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean()), {
  minLength: 1,
  maxLength: 7,
});
const share = fc.double({ min: -0.2, max: 1.2, noNaN: true });
const ring = fc.array(fc.tuple(share, share), { minLength: 3, maxLength: 6 });
const binnings = fc.constantFrom<Binning>(
  { kind: 'even', low: -40000, high: 40000, width: 5000 },
  { kind: 'unique' },
  { kind: 'none' },
);
const wholes = fc.record({
  width: fc.integer({ min: 1, max: 90 }),
  height: fc.integer({ min: 1, max: 70 }),
  sample: fc.constantFrom<Sample>('u8', 'i16', 'i32', 'f32'),
  seed: fc.integer(),
  origin: fc.constantFrom([0, 0], [-122.300416666, 37.25041666], [179.95, -0.3]),
  step: fc.constantFrom([1 / 1200, -1 / 1200], [0.1, 0.3], [-0.7, -0.25]),
  geographic: fc.boolean(),
  nodata: fc.constantFrom(undefined, 7, -9999),
  scaling: fc.constantFrom(undefined, { scale: -0.1, offset: 3.3 }),
  isMasked: fc.boolean(),
});

onEveryBackend((opened, { runs }) => {
  test.prop([wholes, fc.array(ring, { minLength: 1, maxLength: 5 }), cuts, fc.nat(), binnings], { numRuns: 4 * runs })(
    'the parts of a raster give the bytes of the whole',
    async ({ origin, step, seed, isMasked, ...whole }, rings, ways, order, binning) => {
      const { width, height, sample } = whole;
      const cells = randomCells(sample, width * height, seed, 250);
      const [originX, originY] = origin as [number, number];
      const [stepX, stepY] = step as [number, number];
      const grid = { originX, originY, stepX, stepY, ...(isMasked && { readMask: maskOf(width) }) };
      const raster = rasterOf(cells, width, sample, { ...whole, ...grid });
      const parts = cutUp({ column: 0, row: 0, columns: width, rows: height }, ways).map((part) =>
        partOf(raster, part),
      );
      const first = order % parts.length;
      const rasters = [...parts.slice(first).reverse(), ...parts.slice(0, first)];
      const onMap = (ring: readonly (readonly [number, number])[]): Rings[number] =>
        ring.map(([x, y]) => [originX + x * width * stepX, originY + y * height * stepY] as const);
      const zones = zonesOf(rings.map((ring) => [onMap(ring)]));
      const { context } = opened();
      const expected = await zonalHistogram(context, { zones, raster, binning, tile: 32 });
      const got = await surfaceHistogram(context, { zones, rasters, binning, tile: 32 });
      expect(inOneWord(plain(got))).toBe(plain(expected));
    },
  );
});

/** Rasters of whole numbers on grids that halves and quarters give exactly, so that plain arithmetic places centres. */
const others = fc.record({
  columns: fc.integer({ min: 1, max: 40 }),
  rows: fc.integer({ min: 1, max: 30 }),
  left: fc.integer({ min: -40, max: 40 }),
  top: fc.integer({ min: -40, max: 40 }),
  stepX: fc.constantFrom(1, 1, 1, 0.5, 1.25, -1),
  stepY: fc.constantFrom(-1, -1, -1, -0.5, 1.5, 1),
  turns: fc.constantFrom(0, 0, 1, -1),
});

type Other = typeof others extends fc.Arbitrary<infer T> ? T : never;

const rasterAt = ({ columns, rows, left, top, stepX, stepY, turns }: Other, geographic: boolean): RasterSource =>
  rasterOf(new Uint8Array(columns * rows).fill(1), columns, 'u8', {
    originX: left + (geographic ? 360 * turns : 0),
    originY: top,
    stepX,
    stepY,
    geographic,
  });

const isWithin = (value: number, a: number, b: number): boolean => Math.min(a, b) <= value && value < Math.max(a, b);

/** Cells of the rasters whose centres lie in a box, and how many of these lie in an earlier raster. */
function countByHand(rasters: readonly RasterSource[], [left, bottom, right, top]: readonly number[]) {
  let [counted, leftOut] = [0, 0];
  const turned = (x: number): number[] => (rasters[0]!.geographic ? [x - 720, x - 360, x, x + 360, x + 720] : [x]);
  for (const [at, { originX, originY, stepX, stepY, width, height }] of rasters.entries()) {
    for (let cell = 0; cell < width * height; cell++) {
      const x = originX + ((cell % width) + 0.5) * stepX;
      const y = originY + (Math.floor(cell / width) + 0.5) * stepY;
      if (!turned(x).some((turn) => isWithin(turn, left!, right!)) || !isWithin(y, bottom!, top!)) continue;
      const isTaken = rasters
        .slice(0, at)
        .some(
          (other) =>
            isWithin(y, other.originY, other.originY + other.height * other.stepY) &&
            turned(x).some((turn) => isWithin(turn, other.originX, other.originX + other.width * other.stepX)),
        );
      if (isTaken) leftOut++;
      else counted++;
    }
  }
  return { counted, leftOut };
}

const leftOutOf = ({ notes }: ZonalHistogram): number =>
  notes.find(({ code }) => code === 'zonal/cells-left-out')?.count ?? 0;

const corners = fc.tuple(...[0, 1].map(() => fc.integer({ min: -50, max: 10 })), fc.integer({ min: 1, max: 60 }));

test.prop([fc.array(others, { minLength: 2, maxLength: 4 }), corners, fc.boolean()], { numRuns: caseCount(300) })(
  'a cell whose centre lies in an earlier raster is left out, on grids that differ, too',
  async (given, [left, bottom, size], geographic) => {
    const rasters = given.map((other) => rasterAt(other, geographic));
    const edges = [left!, bottom!, left! + size!, bottom! + size!] as const;
    const job = { zones: zonesOf([[box(...edges)]]), rasters, binning: { kind: 'unique' } as const, tile: 32 };
    const got = await surfaceHistogram(reference, job);
    const { counted, leftOut } = countByHand(rasters, edges);
    expect(cellsOf(got)).toEqual([counted]);
    expect(leftOutOf(got)).toBe(leftOut);
    expect(Array.from(got.bins.count, Number)).toEqual(counted === 0 ? [] : [counted]);
  },
);

describe('rasters of a surface', () => {
  const ones = (grid: Partial<RasterSource> = {}, cells = new Uint8Array(4).fill(1)): RasterSource =>
    rasterOf(cells, 2, 'u8', { crs: 'EPSG:3035', ...grid });
  const job = (...rasters: RasterSource[]) => ({
    zones: zonesOf([[box(0, 0, 4, 2)]]),
    rasters,
    binning: { kind: 'unique' } as const,
  });

  test('that overlap count by the first named, also where it has no data', async () => {
    const [first, second] = [ones({ nodata: 1 }), ones({ originX: 1 }, new Uint8Array(4).fill(2))];
    const got = await surfaceHistogram(reference, job(first, second));
    expect([cellsOf(got), Array.from(got.nodata), Array.from(got.bins.count)]).toEqual([[6], [4n], [2n]]);
    expect(leftOutOf(got)).toBe(2);
  });

  test.each([
    ['zonal/surface-samples', { sample: 'i8', read: async () => new Int8Array(4) }],
    ['zonal/surface-scaling', { scaling: { scale: 2, offset: 0 } }],
    ['zonal/surface-crs', { crs: 'EPSG:32632' }],
    ['zonal/surface-crs', { crs: undefined }],
  ] as const)('that disagree are refused by name: %s', async (code, change) => {
    const rasters = job(ones({ file: 'a.tif' }), ones({ file: 'b.tif' }), ones({ file: 'c.tif', ...change }));
    const error = await surfaceHistogram(reference, rasters).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, place: { file: 'c.tif' }, remedy: expect.any(String) });
    expect(String(error)).toContain('a.tif and c.tif');
  });

  test('may have nodata values of their own, near which f32 values have no data either', async () => {
    const cells = Float32Array.of(-9999.001, 1, -3.3999995e38, 1);
    const of = (nodata: number | undefined, originX: number): RasterSource =>
      rasterOf(cells, 2, 'f32', { nodata, originX });
    const rasters = [of(-9999, 0), of(undefined, 2), of(Math.fround(-3.4e38), 4)];
    const zones = zonesOf([[box(0, 0, 6, 2)]]);
    const binning = { kind: 'edges', edges: [-10000, 0, 2] } as const;
    const got = await surfaceHistogram(reference, { zones, rasters, binning });
    expect([cellsOf(got), Array.from(got.nodata), Array.from(got.bins.count)]).toEqual([[12], [2n], [2n, 6n]]);
    expect(got.notes.find(({ code }) => code === 'zonal/near-nodata')?.count).toBe(2);
  });

  test('are handed back when they have been counted, and progress counts the cells of all', async () => {
    const events: string[] = [];
    const named = (file: string): RasterSource =>
      ones({
        file,
        read: async () => {
          events.push(`read ${file}`);
          return new CELL_ARRAYS.u8(4);
        },
      });
    await surfaceHistogram(reference, {
      ...job(named('a'), { ...named('b'), originX: 2 }),
      onCounted: async ({ file }) => void events.push(`done ${file}`),
      onProgress: (done, all) => void events.push(`${done} of ${all}`),
    });
    const orderOf = (...some: string[]): string[] => some.sort((a, b) => events.indexOf(a) - events.indexOf(b));
    expect(orderOf('8 of 8', '4 of 8')).toEqual(['4 of 8', '8 of 8']);
    for (const file of ['a', 'b'])
      expect(orderOf(`done ${file}`, `read ${file}`)).toEqual([`read ${file}`, `done ${file}`]);
    expect(new Set(events)).toEqual(new Set(['read a', 'read b', '4 of 8', '8 of 8', 'done a', 'done b']));
  });

  test('fail with what fails in handing one back, and free what they took', async () => {
    const { liveBuffers } = reference.backend.counters;
    const failing = { ...job(ones(), ones({ originX: 2 })), onCounted: () => Promise.reject(new Error('Not closed.')) };
    await expect(surfaceHistogram(reference, failing)).rejects.toThrow('Not closed.');
    const unreadable = ones({ originX: 2, read: () => Promise.reject(new Error('Not read.')) });
    await expect(surfaceHistogram(reference, job(ones(), unreadable))).rejects.toThrow('Not read.');
    expect(reference.backend.counters.liveBuffers).toBe(liveBuffers);
  });

  test('that lie wholly in earlier ones are not read', async () => {
    const unread = ones({ read: () => Promise.reject(new Error('It was read.')) });
    const got = await surfaceHistogram(reference, job(ones(), unread));
    expect([cellsOf(got), leftOutOf(got)]).toEqual([[4], 4]);
  });
});
