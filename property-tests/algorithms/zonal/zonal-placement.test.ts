import { describe, expect } from 'vitest';
import type { FillRule } from '../../../algorithms/geometry/polygons.ts';
import type { RasterSource, Window } from '../../../algorithms/geometry/raster.ts';
import { zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { jobWindows } from '../../../algorithms/zonal/job-windows.ts';
import { planWindow, type WindowPlan, type ZoneBoxes } from '../../../algorithms/zonal/window-plan.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import { box, cellsOf, plain, type Rings, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const context = openReference();
const binning = { kind: 'unique' } as const;

/** A raster of the whole earth with ten degrees per cell, in which all cells have different values. */
function world(west: number): RasterSource {
  const cells = Uint16Array.from({ length: 36 * 18 }, (_, i) => {
    // The value of a cell is derived from its longitude, not from its column, so that the value does not depend on
    // where the raster begins.
    const longitude = (west + (i % 36) * 10 + 720) % 360;
    return Math.floor(i / 36) * 36 + longitude / 10;
  });
  return rasterOf(cells, 36, 'u16', { originX: west, originY: 90, stepX: 10, stepY: -10, geographic: true });
}

/** Several worlds beside each other. */
function repeatedWorld(west: number, turns: number): RasterSource {
  const width = 36 * turns;
  const cells = Uint16Array.from(
    { length: width * 18 },
    (_, i) => Math.floor(i / width) * 36 + (((i % width) + 36) % 36),
  );
  return rasterOf(cells, width, 'u16', { originX: west, originY: 90, stepX: 10, stepY: -10, geographic: true });
}

const count = (raster: RasterSource, all: readonly Rings[]) =>
  zonalHistogram(context, { zones: zonesOf(all), raster, binning });
const notesOf = async (raster: RasterSource, all: readonly Rings[]) =>
  (await count(raster, all)).notes.map(({ code, zone, count }) => [code, zone, count]);

const degree = fc.integer({ min: -90, max: 90 });
const ring = fc.array(fc.tuple(fc.integer({ min: -180, max: 180 }), degree), { minLength: 3, maxLength: 7 });
const zones = fc.array(fc.array(ring, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 4 });
const turned = (all: readonly Rings[], degrees: number): Rings[] =>
  all.map((rings) => rings.map((vertices) => vertices.map(([x, y]) => [x + degrees, y] as const)));

describe('longitudes', () => {
  test.prop([zones, fc.constantFrom(-180, 0, -170, 40), fc.constantFrom(-720, -360, 360)])(
    'are taken modulo 360, wherever raster and zones begin',
    async (all, west, turn) => {
      const expected = plain(await count(world(-180), all));
      expect(plain(await count(world(west), all))).toBe(expected);
      expect(plain(await count(world(-180), turned(all, turn)))).toBe(expected);
    },
  );

  test('of zones across the seam of a raster from 0 to 360 wrap around', async () => {
    const acrossGreenwich = [box(-20, 0, 20, 10)];
    const acrossDateLine = [box(170, 0, 190, 10)];
    expect(cellsOf(await count(world(0), [acrossGreenwich, acrossDateLine]))).toEqual([4, 2]);
    expect(cellsOf(await count(world(-180), [acrossGreenwich, acrossDateLine]))).toEqual([4, 2]);
    expect([...(await count(world(0), [acrossGreenwich])).bins.lower]).toEqual([288, 289, 322, 323]);
  });

  test('of a zone wider than the earth are counted once', async () => {
    expect(cellsOf(await count(world(0), [[box(-180, 0, 180, 10)]]))).toEqual([36]);
    expect(cellsOf(await count(world(0), [[box(-180, 0, 200, 10)]]))).toEqual([36]);
    expect(cellsOf(await count(world(-180), [[box(-182.2, -90, 182.2, 90)]]))).toEqual([36 * 18]);
    // A hole is filled where another copy covers it.
    expect(cellsOf(await count(world(0), [[box(-200, 0, 200, 10), box(-180, 0, -150, 10)]]))).toEqual([35]);
  });

  const wide = fc.array(fc.tuple(fc.integer({ min: -400, max: 300 }), degree), { minLength: 3, maxLength: 6 });

  test.prop(
    [
      fc.array(fc.array(wide, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(-180, 0, 40),
      fc.constantFrom<FillRule>('union', 'even-odd'),
      fc.boolean(),
    ],
    { numRuns: caseCount(300) },
  )('of zones up to two turns wide hold what any of their copies holds', async (all, west, fill, parted) => {
    const zones = zonesOf(all);
    const ringParts = Uint32Array.from(all.flatMap((rings) => rings.map((_, part) => part)));
    const polygons = parted ? { ...zones.polygons, ringParts } : zones.polygons;
    const counted = async (raster: RasterSource): Promise<Set<number>[]> => {
      const { bins } = await zonalHistogram(context, { zones: { ...zones, polygons }, raster, binning, fill });
      const values = all.map(() => new Set<number>());
      bins.zone.forEach((zone, row) => {
        expect(bins.count[row]).toBe(1n);
        values[zone]!.add(bins.lower[row]!);
      });
      return values;
    };
    // A raster of a plane with all turns beside each other, whose cells have the values of the earth's.
    const plane = { ...repeatedWorld(-720, 4), geographic: false };
    const expected = await zonalHistogram(context, { zones: { ...zones, polygons }, raster: plane, binning, fill });
    const sets = all.map(() => new Set<number>());
    expected.bins.zone.forEach((zone, row) => void sets[zone]!.add(expected.bins.lower[row]!));
    expect(await counted(world(west))).toEqual(sets);
  });

  test('of a raster that is not geographic do not wrap around', async () => {
    const raster = { ...world(0), geographic: false };
    expect(cellsOf(await count(raster, [[box(-20, 0, 20, 10)], [box(360, 0, 380, 10)]]))).toEqual([2, 0]);
  });
});

describe('a raster of nodes, with the same meridian at both ends', () => {
  // 361 columns of 1° whose centres are at -180° to 180°.
  const nodes = rasterOf(new Uint8Array(361 * 180).fill(1), 361, 'u8', {
    ...{ originX: -180.5, originY: 90, stepX: 1, stepY: -1, geographic: true },
  });

  test('counts the meridian twice, and a note says so', async () => {
    const found = await count(nodes, [[box(-180, -90, 180, 90)], [box(179.6, 0, 180.4, 10)], [box(0, 0, 1, 1)]]);
    expect(cellsOf(found)).toEqual([361 * 180, 20, 1]);
    const notes = found.notes.filter(({ code }) => code === 'zonal/repeated-columns');
    expect(notes).toMatchObject([{ count: 180 }]);
    expect(notes[0]!.message).toContain('Column 361 of the raster repeats column 1');
  });

  test('has the note whatever the zones are, and other rasters do not', async () => {
    expect(await notesOf(nodes, [[box(0, 0, 1, 1)]])).toEqual([['zonal/repeated-columns', undefined, 180]]);
    expect(await notesOf(world(-180), [[box(0, 0, 10, 10)]])).toEqual([]);
    expect(await notesOf({ ...nodes, geographic: false }, [[box(0, 0, 1, 1)]])).toEqual([]);
    const [note] = (await count(repeatedWorld(-180, 2), [[box(0, 0, 10, 10)]])).notes;
    expect(note).toMatchObject({ code: 'zonal/repeated-columns', count: 36 * 18 });
    expect(note!.message).toContain('Columns 37 to 72 of the raster repeat columns 1 to 36');
  });
});

describe('notes', () => {
  const raster = rasterOf(new Uint8Array(100), 10, 'u8');

  test.each<[string, Rings, string | undefined]>([
    ['inside', [box(1, 1, 9, 9)], undefined],
    ['identical to the raster', [box(0, 0, 10, 10)], undefined],
    ['beside the raster', [box(20, 1, 30, 9)], 'zonal/zones-outside'],
    ['touching it on the left', [box(-5, 1, 0, 9)], 'zonal/zones-outside'],
    ['touching it on the right', [box(10, 1, 15, 9)], 'zonal/zones-outside'],
    ['touching it from above', [box(1, 10, 9, 12)], 'zonal/zones-outside'],
    ['touching it from below', [box(1, -3, 9, 0)], 'zonal/zones-outside'],
    ['across its right edge', [box(5, 1, 15, 9)], 'zonal/zones-partly-outside'],
    ['across its upper edge', [box(1, 5, 9, 11)], 'zonal/zones-partly-outside'],
    ['with a part elsewhere', [box(1, 1, 9, 9), box(20, 1, 30, 9)], 'zonal/zones-partly-outside'],
    ['between centres', [box(1.6, 1.6, 1.9, 1.9)], 'zonal/zones-without-cells'],
    ['without geometry, as its reader reports', [], undefined],
  ])('of a zone %s', async (_, rings, code) => {
    const others: Rings = [box(2, 2, 3, 3)];
    expect(await notesOf(raster, [others, rings])).toEqual(code === undefined ? [] : [[code, '1', 1]]);
  });

  test('are merged by kind, with the first names and a count', async () => {
    const outside: Rings = [box(20, 1, 30, 9)];
    const { notes, cells } = await count(raster, [outside, outside, outside, outside, outside]);
    expect(notes).toEqual([
      {
        code: 'zonal/zones-outside',
        message:
          '5 zones lie wholly outside the raster: "0", "1", "2" and others. The raster spans x from 0 to 10 and ' +
          'y from 0 to 10; the zones span x from 20 to 30 and y from 1 to 9.',
        zone: '0',
        count: 5,
      },
    ]);
    expect(Array.from(cells)).toEqual([0n, 0n, 0n, 0n, 0n]);
  });

  const messageOf = async (grid: RasterSource, all: readonly Rings[]) => (await count(grid, all)).notes[0]!.message;

  test('state no extents when the raster intersects a zone', async () => {
    const [inside, outside]: Rings[] = [[box(1, 1, 9, 9)], [box(20, 1, 30, 9)]];
    expect(await messageOf(raster, [inside!, outside!])).toBe('1 zone lies wholly outside the raster: "1".');
  });

  test('state extents in the coordinates of the files, for any orientation of the raster', async () => {
    const southUp = { ...raster, originX: 43.1, originY: -3.3, stepX: 0.01, stepY: 0.01 };
    const northUp = { ...southUp, originY: -3.2, stepY: -0.01 };
    for (const grid of [southUp, northUp]) {
      expect(await messageOf(grid, [[], [box(1, 2, 3, 4)], [box(5, 6, 7, 8.5)]])).toContain(
        'The raster spans x from 43.1 to 43.2 and y from -3.3 to -3.2; the zones span x from 1 to 7 and y from 2 to 8.5.',
      );
    }
  });

  const place = fc.integer({ min: -60, max: 60 });
  const size = fc.integer({ min: 1, max: 20 });
  const swapped = (all: readonly Rings[]): Rings[] =>
    all.map((rings) => rings.map((vertices) => vertices.map(([x, y]) => [y, x] as const)));

  test.prop([fc.array(fc.tuple(place, place, size, size), { minLength: 1, maxLength: 3 }), place, place, fc.boolean()])(
    'suggest swapped coordinates exactly when no zone intersects the raster unless they are swapped',
    async (boxes, originX, originY, geographic) => {
      const grid = { ...raster, originX, originY, geographic };
      const all = boxes.map(([x, y, width, height]): Rings => [box(x, y, x + width, y + height)]);
      const outside = async (zones: readonly Rings[]): Promise<boolean> =>
        cellsOf(await count(grid, zones)).every((cells) => cells === 0);
      const tells = (await count(grid, all)).notes.some(({ message }) =>
        message.includes(geographic ? 'if longitude and latitude of the zones were' : 'if x and y of the zones were'),
      );
      expect(tells).toBe((await outside(all)) && !(await outside(swapped(all))));
    },
  );

  test('take swapped longitudes modulo 360', async () => {
    const asia = rasterOf(new Uint8Array(100), 10, 'u8', { originX: 100, stepX: 10, geographic: true });
    expect(await messageOf(asia, [[box(1, -185, 9, -175)]])).toContain('were swapped: check their order.');
    expect(await messageOf(asia, [[box(1, -20, 9, -10)]])).not.toContain('swapped');
  });

  test('take longitudes modulo 360', async () => {
    expect(await notesOf(world(0), [[box(-20, 0, 20, 10)], [box(-180, -90, 180, 90)]])).toEqual([]);
    const asia = rasterOf(new Uint8Array(100), 10, 'u8', { originX: 100, stepX: 10, geographic: true });
    expect(await notesOf(asia, [[box(-200, 1, -180, 9), box(170, 1, 180, 9)]])).toEqual([]);
    expect(await notesOf(asia, [[box(-100, 1, 0, 9)]])).toEqual([['zonal/zones-outside', '0', 1]]);
    expect(await notesOf(asia, [[box(-170, 1, -150, 9)]])).toEqual([['zonal/zones-partly-outside', '0', 1]]);
  });
});

describe('progress', () => {
  const side = 300;
  const block = fc.constantFrom(
    { blockColumns: side, blockRows: 1 },
    { blockColumns: 64, blockRows: 64 },
    { blockColumns: 16, blockRows: 200 },
  );
  const place = fc.integer({ min: 0, max: side - 1 });

  test.prop([
    fc.array(fc.tuple(place, place), { minLength: 1, maxLength: 4 }),
    block,
    fc.integer({ min: 14, max: 20 }),
  ])('grows to the number of all cells, for any windows and skipped windows', async (corners, blocks, memoryBits) => {
    const raster = rasterOf(new Uint8Array(side * side), side, 'u8', blocks);
    const all = corners.map(([x, y]): Rings => [box(x, y, x + 40, y + 40)]);
    let read = 0;
    const counted: RasterSource['read'] = (window) => {
      read += window.rows * window.columns;
      // Windows without zones are not decoded.
      expect(corners.some((corner) => meets(window, corner))).toBe(true);
      return raster.read(window);
    };
    const seen: number[] = [];
    await zonalHistogram(context, {
      zones: zonesOf(all),
      raster: { ...raster, read: counted },
      binning: { kind: 'edges', edges: [0, 1] },
      statistics: false,
      memoryBytes: 2 ** memoryBits,
      onProgress: (done, total) => {
        expect(total).toBe(side * side);
        expect(done).toBeGreaterThanOrEqual(read > 0 && seen.length === 0 ? 1 : 0);
        seen.push(done);
      },
    });
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(seen.at(-1)).toBe(side * side);
    expect(read).toBeLessThanOrEqual(side * side);
  });

  /** Whether a window intersects or touches the square of 40 cells at a corner. */
  function meets({ column, row, columns, rows }: Window, [x, y]: readonly [number, number]): boolean {
    const top = side - y - 40;
    return column <= x + 40 && column + columns >= x && row <= top + 40 && row + rows >= top;
  }

  const planOn = (boxes: ZoneBoxes) => (window: Window) => planWindow(window, boxes, boxes.zone.length, 64);

  const large = { width: 100_000, height: 3000, blockColumns: 512, blockRows: 512 };
  const column = fc.integer({ min: 0, max: large.width - 1 });

  test.prop([fc.array(column, { minLength: 1, maxLength: 3 }), fc.boolean()])(
    'counts skipped windows as passed when windows are narrower than the raster',
    (columns, halved) => {
      const raster = rasterOf(new Uint8Array(1), 1, 'u8', large);
      const limits = {
        tile: 64,
        memoryBytes: 2 ** 20,
        bytesOf: ({ window }: WindowPlan) => (halved ? window.rows * 2 ** 12 : 0),
      };
      const windowsFor = (boxes: ZoneBoxes) =>
        [...jobWindows(raster, { ...limits, planOf: planOn(boxes) })].map(({ plan, passedCells }) => {
          const { row, column, rows, columns } = plan.window;
          return JSON.stringify({ row, column, rows, columns, passedCells });
        });
      const all = windowsFor(boxesOf([[0, large.width]]));
      expect(all.length).toBeGreaterThan(2);
      expect(JSON.parse(all.at(-1)!)).toMatchObject({ passedCells: large.width * large.height });
      const some = windowsFor(boxesOf(columns.map((first) => [first, first + 1])));
      expect(some.length).toBeLessThan(all.length);
      // With `halved`, the windows in `some` and `all` may differ: a window without zones is not split into halves. The
      // second half of a split window ends where the whole window would end.
      if (!halved) expect(all).toEqual(expect.arrayContaining(some));
      const ends = some.map((window) => JSON.parse(window));
      for (const { row, column, rows, columns, passedCells } of ends) {
        const above = row - (row % 512);
        expect(passedCells).toBeGreaterThanOrEqual(above * large.width + rows * columns);
        expect(passedCells).toBeLessThanOrEqual((above + 512) * large.width);
        expect(column + columns).toBeLessThanOrEqual(large.width);
      }
    },
  );

  const [columnsOfBlock, rowsOfBlock] = [fc.integer({ min: 64, max: 20_000 }), fc.integer({ min: 64, max: 3000 })];

  const encodedRows = fc.constantFrom(undefined, 0, 64, 3000);

  test.prop([columnsOfBlock, rowsOfBlock, encodedRows])(
    'windows of a job use each block in consecutive windows only',
    (blockColumns, blockRows, encoded) => {
      const raster = rasterOf(new Uint8Array(1), 1, 'u8', { width: 20_000, height: 3000, blockColumns, blockRows });
      const isEncoded =
        encoded === undefined ? undefined : ({ window }: WindowPlan): boolean => window.row + window.rows <= encoded;
      const limits = { tile: 64, memoryBytes: 0, bytesOf: () => 0, isEncoded };
      const blocksOf = (start: number, cells: number, size: number): number[] => {
        const first = Math.floor(start / size);
        return Array.from({ length: Math.floor((start + cells - 1) / size) - first + 1 }, (_, i) => first + i);
      };
      const lastSeen = new Map<string, number>();
      let cells = 0;
      [...jobWindows(raster, { ...limits, planOf: planOn(boxesOf([[0, 20_000]])) })].forEach(({ plan }, at) => {
        const { row, column, rows, columns } = plan.window;
        // The counters of the statistics have room for at most 2^24 cells.
        expect(rows * columns).toBeLessThanOrEqual(isEncoded?.(plan) === true ? 2 ** 25 : 2 ** 24);
        cells += rows * columns;
        for (const down of blocksOf(row, rows, blockRows)) {
          for (const across of blocksOf(column, columns, blockColumns)) {
            const name = `${down}/${across}`;
            expect(lastSeen.get(name) ?? at - 1).toBe(at - 1);
            lastSeen.set(name, at);
          }
        }
      });
      expect(cells).toBe(20_000 * 3000);
    },
  );

  function boxesOf(ranges: readonly (readonly [first: number, end: number])[]): ZoneBoxes {
    return {
      zone: Uint32Array.from(ranges, (_, zone) => zone),
      firstColumn: Float64Array.from(ranges, ([first]) => first),
      endColumn: Float64Array.from(ranges, ([, end]) => end),
      firstRow: new Float64Array(ranges.length),
      endRow: new Float64Array(ranges.length).fill(large.height),
    };
  }
});
