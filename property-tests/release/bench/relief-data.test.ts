import { describe, expect } from 'vitest';
import { surfaceHistogram } from '../../../algorithms/zonal/index.ts';
import { polygonRows } from '../../../bench/data/polygon-rows.ts';
import { type Relief, reliefCopier } from '../../../bench/data/relief-copies.ts';
import { partitionsOf } from '../../../bench/data/table-1.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import { cellsOf, rasterOf, zonesOf } from '../../support/zonal-support.ts';

test('partitions have the cells of the paper, and share none', async () => {
  const partitions = partitionsOf(1);
  const sizes = partitions.map(({ width, height }) => width * height);
  expect([partitions.length, Math.max(...sizes)]).toEqual([36, 745_200_000]);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(20_165_760_000);
  const small = partitionsOf(1 / 900 ** 2);
  const rasters = small.map(({ width, height, ...grid }) =>
    rasterOf(new Uint8Array(width * height), width, 'u8', grid),
  );
  const world = zonesOf([
    [
      [
        [-180, -90],
        [180, -90],
        [180, 90],
        [-180, 90],
      ],
    ],
  ]);
  const { cells, notes } = await surfaceHistogram(openReference(), {
    zones: world,
    rasters,
    binning: { kind: 'none' },
  });
  expect(cells[0]).toBe(BigInt(small.reduce((sum, { width, height }) => sum + width * height, 0)));
  expect(notes.map(({ code }) => code)).not.toContain('zonal/cells-left-out');
});

describe('copies of relief', () => {
  const relief = (width: number, height: number, first: number): Relief => ({
    ...{ file: 'a', width, height },
    cells: Int16Array.from({ length: width * height }, (_, cell) => first + cell),
  });
  const reliefs = [relief(7, 5, 100), relief(300, 40, 1000)];

  test.prop([fc.nat(5000), fc.nat(5000), fc.integer({ min: 1, max: 400 }), fc.nat()], { numRuns: caseCount(100) })(
    'do not depend on how a row is cut, and change by one step of the relief from cell to cell',
    (row, from, count, seed) => {
      const copy = reliefCopier(reliefs, { ...partitionsOf(1)[0]!, width: 6000 }, seed);
      const [whole, single] = [new Int16Array(count), new Int16Array(count)];
      copy(row, from, from + count, whole, 0);
      for (let at = 0; at < count; at++) copy(row, from + at, from + at + 1, single, at);
      expect(whole).toEqual(single);
      for (let at = 1; at < count; at++) {
        if ((from + at) % 2048 !== 0) expect([0, 1, 7, 300]).toContain(Math.abs(whole[at]! - whole[at - 1]!));
      }
    },
  );
});

test.prop(
  [
    fc.array(fc.tuple(fc.double({ min: -3, max: 12, noNaN: true }), fc.double({ min: -3, max: 12, noNaN: true })), {
      minLength: 3,
      maxLength: 7,
    }),
  ],
  {
    numRuns: caseCount(100),
  },
)('rows of a polygon have the cells that zones have', async (ring) => {
  const raster = rasterOf(new Uint8Array(90), 10, 'u8');
  const zones = zonesOf([[ring]]);
  const rows = polygonRows(zones.polygons, raster);
  const cells = rows.reduce(
    (all, row) => all + row.reduce((sum, column, at) => sum + (at % 2 === 0 ? -column : column), 0),
    0,
  );
  const job = { zones, rasters: [raster], binning: { kind: 'none' } as const };
  expect(cellsOf(await surfaceHistogram(openReference(), job))).toEqual([cells]);
});
