import { describe, expect } from 'vitest';
import { createOverlay, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { exactShares, STEPS, type WholeZone, wholeZones } from '../../support/shares-support.ts';
import { plain, rasterOf } from '../../support/zonal-support.ts';

const [WIDTH, HEIGHT] = [4, 3];
const coordinate = (cells: number) =>
  fc.oneof(
    fc.integer({ min: -2, max: 2 * cells + 2 }).map((halves) => (halves * STEPS) / 2),
    fc.integer({ min: -STEPS, max: (cells + 1) * STEPS }),
  );
const point = fc.tuple(coordinate(WIDTH), coordinate(HEIGHT));
const ring = fc.array(point, { minLength: 1, maxLength: 4 });
const zone: fc.Arbitrary<WholeZone> = fc.array(fc.array(ring, { minLength: 1, maxLength: 2 }), {
  minLength: 1,
  maxLength: 2,
});
const zones = fc.array(zone, { minLength: 1, maxLength: 2 });
const cells = Uint8Array.from({ length: WIDTH * HEIGHT }, (_, i) => (i * 37) % 251);
const raster = rasterOf(cells, WIDTH, 'u8', { originY: 0, stepY: 1, nodata: 0 });

describe('all touched cells', () => {
  onEveryBackend((opened) => {
    test.prop([zones, fc.constantFrom('unique', 'none')], { numRuns: caseCount(30) })(
      'are those that share area with a zone, by clipping in whole numbers',
      async (all, kind) => {
        const job = { zones: wholeZones(all), raster, binning: { kind } as const, pixels: 'all-touched' } as const;
        const found = await zonalHistogram(opened().context, job);
        const expected = all.map((): number[] => []);
        for (const key of exactShares(all, raster).keys()) {
          const [zone, row, column] = key.split(':').map(Number) as [number, number, number];
          expected[zone]!.push(cells[row * WIDTH + column]!);
        }
        expect([...found.cells].map(Number)).toEqual(expected.map(({ length }) => length));
        const data = expected.map((values) => values.filter((value) => value !== 0));
        const sums = data.map((values) => (values.length === 0 ? Number.NaN : values.reduce((a, b) => a + b, 0)));
        expect([...found.statistics!.sum]).toEqual(sums);
        expect(plain(found)).toBe(plain(await zonalHistogram(opened().reference, job)));
      },
    );

    test.prop([zones, fc.integer({ min: 32, max: 200 })], { numRuns: caseCount(10) })(
      'are the same in small windows, and beside an overlay that holds centres',
      async (all, width) => {
        const { context } = opened();
        const large = Uint8Array.from({ length: width * 90 }, (_, i) => (i * 37) % 251);
        const wide = rasterOf(large, width, 'u8', { originY: 0, stepY: 1, blockRows: 32 });
        const grown = all.map((parts) =>
          parts.map((part) => part.map((ring) => ring.map(([x, y]) => [20 * x, 15 * y] as const))),
        );
        const job = { zones: wholeZones(grown), raster: wide, binning: { kind: 'unique' } as const };
        const touched = { ...job, pixels: 'all-touched' } as const;
        const [centres, expected] = [await zonalHistogram(context, job), await zonalHistogram(context, touched)];
        const small = await zonalHistogram(context, { ...touched, tile: 32, memoryBytes: 2 ** 18 });
        expect(plain(small)).toBe(plain(expected));
        using overlay = createOverlay(context, job.zones);
        for (let time = 0; time < 2; time++) {
          expect(plain(await zonalHistogram(context, { ...job, overlay }))).toBe(plain(centres));
          expect(plain(await zonalHistogram(context, { ...touched, overlay }))).toBe(plain(expected));
        }
      },
    );
  });
});
