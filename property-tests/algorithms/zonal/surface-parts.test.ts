import { expect } from 'vitest';
import type { RasterSource, Sample } from '../../../algorithms/geometry/raster.ts';
import { surfaceHistogram } from '../../../algorithms/zonal/index.ts';
import {
  countPart,
  createPartSums,
  type PartCounts,
  partsOfRaster,
  type SurfacePart,
  surfacePart,
} from '../../../algorithms/zonal/surface-parts.ts';
import { planSurface } from '../../../algorithms/zonal/surface-plan.ts';
import type { CountJob } from '../../../algorithms/zonal/zonal.ts';
import { snapZones } from '../../../algorithms/zonal/zones-on-grid.ts';
import { openPackedRaster } from '../../../formats/rasters/packed-raster.ts';
import { decodeItems, encodeItems } from '../../../graph/remote/wire.ts';
import type { Context } from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { packedBytes, randomPacked } from '../../fixtures/random-packed.ts';
import { randomCells } from '../../fixtures/random-raster.ts';
import { binnings, corners } from '../../fixtures/random-zonal-jobs.ts';
import { fc, test } from '../../law-test.ts';
import { someStatistics } from '../../support/some-statistics.ts';
import { box, plain, rasterOf, zonesOf } from '../../support/zonal-support.ts';

/** How a surface is cut into parts, and in which order and groups their counts are added. */
interface Ways {
  /** Cells of a part; or, for each raster, the rows at which it is cut, as shares of its height. */
  readonly cut: number | readonly (readonly number[])[];
  readonly order: readonly number[];
  readonly groups: number;
}

const share = fc.double({ min: 0, max: 1, noNaN: true });
const ways: fc.Arbitrary<Ways> = fc.record({
  cut: fc.oneof(
    fc.integer({ min: 1, max: 4000 }),
    fc.array(fc.array(share, { maxLength: 4 }), { minLength: 3, maxLength: 3 }),
  ),
  order: fc.array(fc.nat(), { minLength: 5, maxLength: 20 }),
  groups: fc.integer({ min: 1, max: 3 }),
});

type Job = CountJob & { readonly rasters: readonly RasterSource[] };

/** Sends values to another process and back. */
const sent = async <T>(value: T): Promise<T> => decodeItems(await encodeItems([value]))[0] as T;

/** Counts a surface part by part, as several processes do that send each other plain values. */
async function countInParts(context: Context, job: Job, { cut, order, groups }: Ways): Promise<string> {
  const plan = planSurface(job);
  const parts =
    typeof cut === 'number' ? plan.rasters.flatMap((_, at) => partsOfRaster(plan, at, cut)) : cutAt(plan, cut);
  const counts: PartCounts[] = [];
  for (const each of parts) {
    const part = await sent(each);
    const onGrid = snapZones(job.zones, part.grid);
    counts.push(await sent(await countPart(context, { ...job, raster: job.rasters[part.raster]!, part, onGrid })));
  }
  const place = (at: number): number => order[at % order.length]! % 1000;
  const mixed = counts.map((each, at) => ({ each, at })).sort((a, b) => place(a.at) - place(b.at));
  const sums = createPartSums(plan.counted);
  for (let group = 0; group < groups; group++) {
    const some = createPartSums(plan.counted);
    for (const [at, { each }] of mixed.entries()) if (at % groups === group) some.add(each);
    sums.add(await sent(some.counts()));
  }
  return plain(sums.finish(plan));
}

function cutAt(plan: ReturnType<typeof planSurface>, shares: readonly (readonly number[])[]): SurfacePart[] {
  return plan.rasters.flatMap(({ height }, at) => {
    const rows = [0, 1, ...(shares[at] ?? [])].map((share) => Math.round(share * height)).sort((a, b) => a - b);
    return rows.slice(1).flatMap((end, i) => (rows[i]! < end ? [surfacePart(plan, at, rows[i]!, end)] : []));
  });
}

const surfaces = fc.record({
  width: fc.integer({ min: 1, max: 60 }),
  height: fc.integer({ min: 1, max: 50 }),
  sample: fc.constantFrom<Sample>('u8', 'i16', 'i32', 'f32'),
  seed: fc.integer(),
  /** Where further rasters begin, in cells of the first. */
  offsets: fc.array(fc.tuple(fc.integer({ min: -30, max: 30 }), fc.constantFrom(-20, 0, 0.5, 13)), { maxLength: 2 }),
  origin: fc.constantFrom([0, 0], [-122.300416666, 37.25041666], [179.95, -0.3]),
  step: fc.constantFrom([1 / 1200, -1 / 1200], [0.1, 0.3], [-0.7, -0.25]),
  geographic: fc.boolean(),
  nodata: fc.constantFrom(undefined, 7, -9999),
  scaling: fc.constantFrom(undefined, { scale: -0.1, offset: 3.3 }),
  isMasked: fc.boolean(),
  statistics: fc.oneof(fc.boolean(), someStatistics),
  fill: fc.constantFrom('union' as const, 'even-odd' as const),
});

onEveryBackend((opened, { runs }) => {
  test.prop([surfaces, corners, binnings, ways], { numRuns: runs })(
    'the counts of parts of a surface, added in any order, are those of the surface',
    async ({ origin, step, seed, isMasked, offsets, statistics, fill, ...whole }, boxes, binning, ways) => {
      const { width, height, sample } = whole;
      const [originX, originY] = origin as [number, number];
      const [stepX, stepY] = step as [number, number];
      const rasters = [[0, 0] as const, ...offsets].map(([right, down], at) =>
        rasterOf(randomCells(sample, width * height, seed + at, 250), width, sample, {
          ...whole,
          ...{ stepX, stepY, originX: originX + right * stepX, originY: originY + down * stepY },
          ...(isMasked && {
            readMask: async ({ row, columns, rows }) =>
              Uint8Array.from({ length: columns * rows }, (_, cell) => (row * columns + cell) % 7),
          }),
        }),
      );
      const [across, down] = [width * stepX, height * stepY];
      // Each zone has two parts, which may overlap.
      const rings = boxes.map(([x0, y0, x1, y1]) =>
        [0, 0.1].map((by) => {
          const xs = [x0!, x1!].map((x) => originX + (x + by) * across).sort((a, b) => a - b);
          const ys = [y0!, y1!].map((y) => originY + (y + by) * down).sort((a, b) => a - b);
          return box(xs[0]!, ys[0]!, xs[1]!, ys[1]!);
        }),
      );
      const job = { zones: zonesOf(rings), rasters, binning, statistics, fill, tile: 32 };
      const { context } = opened();
      expect(await countInParts(context, job, ways)).toBe(plain(await surfaceHistogram(context, job)));
    },
  );

  test.prop([randomPacked.filter(({ layout: { sample } }) => sample !== 'f32'), corners, binnings, ways], {
    numRuns: runs,
  })('parts are read by blocks, by encoded tiles or by rows', async (packed, boxes, binning, ways) => {
    const raster = await openPackedRaster(await packedBytes(packed, undefined, { codec: 'auto' }));
    const { width, height, originX, originY, stepX, stepY } = raster;
    const rings = boxes.map(([x0, y0, x1, y1]) => {
      const xs = [x0!, x1!].map((x) => originX + x * width * stepX).sort((a, b) => a - b);
      const ys = [y0!, y1!].map((y) => originY + y * height * stepY).sort((a, b) => a - b);
      return [box(xs[0]!, ys[0]!, xs[1]!, ys[1]!)];
    });
    const job = { zones: zonesOf(rings), rasters: [raster], binning, statistics: false, tile: 32 };
    const { context } = opened();
    expect(await countInParts(context, job, ways)).toBe(plain(await surfaceHistogram(context, job)));
  });
});

test('rows without zones are in no part', () => {
  const raster = rasterOf(new Uint8Array(100 * 4), 4, 'u8', { blockRows: 8 });
  const zones = zonesOf([[box(0, 70, 4, 90)], [box(5, 0, 9, 20)], []]);
  const plan = planSurface({ zones, rasters: [raster], binning: { kind: 'none' } });
  const rows = (cells: number) => partsOfRaster(plan, 0, cells).map(({ firstRow, endRow }) => [firstRow, endRow]);
  expect(rows(32)).toEqual([
    [8, 16],
    [16, 24],
    [24, 32],
  ]);
  expect(rows(400)).toEqual([[0, 100]]);
});
