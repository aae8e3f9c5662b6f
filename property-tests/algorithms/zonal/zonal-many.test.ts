import { afterAll, beforeAll, describe, expect } from 'vitest';
import { snapToGrid } from '../../../algorithms/geometry/grid.ts';
import type { Zones } from '../../../algorithms/geometry/polygons.ts';
import { rowCrossings } from '../../../algorithms/geometry/row-crossings.ts';
import { sheetsOf } from '../../../algorithms/geometry/sheets.ts';
import { zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { placeZones } from '../../../algorithms/zonal/placement.ts';
import { type Context, open } from '../../../index.ts';
import { THOROUGH } from '../../cases.ts';
import { test } from '../../law-test.ts';
import { cellsOf, rasterOf } from '../../support/zonal-support.ts';

let context: Context;
beforeAll(async () => {
  context = await open({ backend: 'workers', workers: 2 });
});
afterAll(() => context.close());

/**
 * Squares with `side` cells to a side, in rows of `across` squares. Columns are written directly, because `zonesOf`
 * takes too long for so many zones.
 */
function squares(count: number, across: number, side: number): Zones['polygons'] {
  const [x, y] = [new Float64Array(4 * count), new Float64Array(4 * count)];
  for (let square = 0; square < count; square++) {
    const [left, bottom] = [side * (square % across), side * Math.floor(square / across)];
    x.set([left, left + side, left + side, left], 4 * square);
    y.set([bottom, bottom, bottom + side, bottom + side], 4 * square);
  }
  const starts = Uint32Array.from({ length: count + 1 }, (_, square) => square);
  return { polygonRings: starts, ringVertices: starts.map((start) => 4 * start), x, y };
}

/** A raster of as many cells as the squares cover, with values from 0 to 250. */
const rasterUnder = (width: number, height: number) =>
  rasterOf(
    Uint8Array.from({ length: width * height }, (_, cell) => cell % 251),
    width,
    'u8',
  );

const eachZone = (count: number): Zones['names'] => Array.from({ length: count }, (_, zone) => String(zone));

const MANY = 125_000;

/** {@link MANY} parts of one zone that cover a raster of 500 × 250 cells, and a further part over the first of them. */
function overlappingParts(): Zones['polygons'] & { readonly ringParts: Uint32Array } {
  const polygons = squares(MANY + 1, 500, 1);
  polygons.x.set([0, 1, 1, 0], 4 * MANY);
  polygons.y.set([0, 0, 1, 1], 4 * MANY);
  const ringParts = Uint32Array.from({ length: MANY + 1 }, (_, part) => part);
  return { ...polygons, polygonRings: Uint32Array.of(0, MANY + 1), ringParts };
}

// A call with an argument for each zone or part ends in a RangeError at these numbers.
describe('very many', () => {
  test('zones are placed and cross the rows of a raster', () => {
    const raster = rasterUnder(500, 250);
    const placed = placeZones(snapToGrid(squares(MANY, 500, 1), raster), raster);
    const { zone, firstRow, firstColumn } = rowCrossings(placed.polygons, raster, { shifts: placed.shifts });
    // Each zone has a left and a right edge.
    expect(zone).toHaveLength(2 * MANY);
    const wrong = zone.findIndex((of, edge) => {
      const row = 249 - Math.floor(of / 500);
      return of !== edge >> 1 || firstRow[edge] !== row || firstColumn[edge]! - (of % 500) !== edge % 2;
    });
    expect(wrong).toBe(-1);
  });

  test('parts of one zone, two of which overlap, make two sheets', () => {
    const { ringSheets, furtherOf } = sheetsOf(overlappingParts())!;
    expect([...furtherOf]).toEqual([0]);
    expect(ringSheets.filter((sheet) => sheet === 1)).toHaveLength(1);
  });

  if (!THOROUGH) return;

  test('zones of one cell have a row each', async () => {
    const zones: Zones = { names: eachZone(MANY), polygons: squares(MANY, 500, 1), crs: undefined };
    const found = await zonalHistogram(context, { zones, raster: rasterUnder(500, 250), binning: { kind: 'none' } });
    expect(found.cells.every((cells) => cells === 1n)).toBe(true);
    const wrong = found.statistics!.sum.findIndex((sum, zone) => {
      const cell = (249 - Math.floor(zone / 500)) * 500 + (zone % 500);
      return sum !== cell % 251;
    });
    expect(wrong).toBe(-1);
  });

  test('parts of one zone, two of which overlap, are united', async () => {
    const zones: Zones = { names: ['one'], polygons: overlappingParts(), crs: undefined };
    const found = await zonalHistogram(context, { zones, raster: rasterUnder(500, 250), binning: { kind: 'none' } });
    expect(cellsOf(found)).toEqual([MANY]);
    expect(found.notes.map(({ code }) => code)).toEqual(['zonal/overlapping-parts']);
  });

  test('zones of 16 cells are right, a million of them', async () => {
    const zones: Zones = { names: eachZone(1_000_000), polygons: squares(1_000_000, 1000, 4), crs: undefined };
    const binning = { kind: 'even', low: 0, high: 251, width: 251 } as const;
    const found = await zonalHistogram(context, { zones, raster: rasterUnder(4000, 4000), binning });
    expect(found.cells.every((cells) => cells === 16n)).toBe(true);
    expect(found.bins.count.every((cells) => cells === 16n)).toBe(true);
  });
});
