import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { RasterSource } from '../../../algorithms/geometry/raster.ts';
import { crossedColumn, divideEdge, divideLargeEdge } from '../../../algorithms/geometry/row-crossings.ts';
import { type Binning, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { readZones } from '../../../formats/polygons/read-zones.ts';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { Context, open } from '../../../index.ts';
import { dealtWorkers, onEveryBackend } from '../../backends.ts';
import { caseCount, someOf, THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openTestBackend } from '../../support/webgpu-support.ts';
import { plain, type Rings, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const counties = 'examples/counties-10m.json';
const ndvi = 'examples/ndvi.tif';
const relief = 'examples/relief.tif';

let reference: Context;
let workers: Context;
let webgpu: Context;

beforeAll(async () => {
  reference = await open({ backend: 'reference' });
  workers = await open({ backend: 'workers', workers: 2 });
  webgpu = new Context(await openTestBackend());
});
afterAll(async () => {
  await Promise.all([reference, workers, webgpu].map((context) => context?.close()));
});

/**
 * Even-odd test in map space. Points on left and bottom edges are inside. The test is exact, because coordinates are
 * small multiples of ¼.
 */
function holds(rings: Rings, px: number, py: number): boolean {
  let inside = false;
  for (const ring of rings) {
    ring.forEach(([x1, y1], i) => {
      const [x0, y0] = ring[(i + ring.length - 1) % ring.length]!;
      const [[ax, ay], [bx, by]] =
        y0 < y1
          ? [
              [x0, y0],
              [x1, y1],
            ]
          : [
              [x1, y1],
              [x0, y0],
            ];
      if (ay <= py && py < by && (py - ay) * (bx - ax) <= (px - ax) * (by - ay)) inside = !inside;
    });
  }
  return inside;
}

const coordinate = fc.integer({ min: -40, max: 200 }).map((quarters) => quarters / 4);
const ring = fc.array(fc.tuple(coordinate, coordinate), { minLength: 3, maxLength: 8 });
const polygons = fc.array(fc.array(ring, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 5 });
const bins: Binning = { kind: 'edges', edges: [10, 60, 200] };

describe('cells counted per zone', () => {
  const southUp = fc.boolean();
  const westward = fc.boolean();
  // With four rows in a unit, edges cross up to 152 rows, which are more than a band of the table of edges has.
  const rowsPerUnit = fc.constantFrom(1, 4);
  test.prop([polygons, southUp, westward, fc.constantFrom(32, 64), rowsPerUnit], { numRuns: caseCount(40) })(
    'are the cells whose centre is inside by even-odd, for any direction of rows and columns',
    async (all, up, west, tile, dense) => {
      const [width, height] = [45, 38 * dense];
      const cells = Uint8Array.from({ length: width * height }, (_, i) => (i * 37) % 256);
      const grid = {
        ...(up ? { originY: 0, stepY: 1 / dense } : { originY: 38, stepY: -1 / dense }),
        ...(west ? { originX: width, stepX: -1 } : {}),
        nodata: 77,
      };
      const raster = rasterOf(cells, width, 'u8', grid);
      const found = await zonalHistogram(reference, { zones: zonesOf(all), raster, binning: bins, tile });
      const expected = all.map((rings) => {
        const values: number[] = [];
        cells.forEach((value, i) => {
          const x = raster.originX + ((i % width) + 0.5) * raster.stepX;
          const y = raster.originY + (Math.floor(i / width) + 0.5) * raster.stepY;
          if (holds(rings, x, y)) values.push(value);
        });
        return values;
      });
      const count = (test_: (value: number) => boolean) =>
        expected.map((values) => BigInt(values.filter(test_).length));
      expect([...found.cells]).toEqual(count(() => true));
      expect([...found.nodata]).toEqual(count((value) => value === 77));
      expect([...found.below]).toEqual(count((value) => value < 10));
      expect([...found.above]).toEqual(count((value) => value >= 200));
      const binned = expected.flatMap((values, zone) =>
        [
          [10, 60],
          [60, 200],
        ].flatMap(([low, high]) => {
          const inBin = values.filter((value) => value >= low! && value < high! && value !== 77).length;
          return inBin === 0 ? [] : [[zone, low, high, BigInt(inBin)]];
        }),
      );
      const { bins: b } = found;
      expect([...b.zone].map((zone, i) => [zone, b.lower[i], b.upper[i], b.count[i]])).toEqual(binned);
      expected.forEach((values, zone) => {
        const data = values.filter((value) => value !== 77);
        const sum = data.reduce((total, value) => total + value, 0);
        expect(found.statistics!.sum[zone]).toEqual(data.length === 0 ? Number.NaN : sum);
        expect(found.statistics!.mean[zone]).toEqual(data.length === 0 ? Number.NaN : sum / data.length);
        expect(found.statistics!.minimum[zone]).toEqual(data.length === 0 ? Number.NaN : Math.min(...data));
        expect(found.statistics!.maximum[zone]).toEqual(data.length === 0 ? Number.NaN : Math.max(...data));
      });
    },
  );

  onEveryBackend(
    (opened) =>
      test.prop(
        [polygons, fc.array(fc.double({ noDefaultInfinity: true, noNaN: true }), { minLength: 9, maxLength: 9 })],
        { numRuns: caseCount(15) },
      )('are the same bytes, for f32 with one row per value', async (all, values) => {
        const cells = Float32Array.from({ length: 50 * 50 }, (_, i) => values[(i * 7) % 9]!);
        const job = { zones: zonesOf(all), raster: rasterOf(cells, 50, 'f32'), binning: { kind: 'unique' } as const };
        expect(plain(await zonalHistogram(opened().context, job))).toBe(plain(await zonalHistogram(reference, job)));
      }),
    dealtWorkers(),
  );

  onEveryBackend((opened) =>
    test.prop([polygons, fc.constantFrom(32, 64)], { numRuns: caseCount(8) })(
      'are the sums of those in finer bins, however many',
      async (all, tile) => {
        const cells = Uint8Array.from({ length: 130 * 70 }, (_, i) => (i * 37) % 256);
        const raster = rasterOf(cells, 130, 'u8', { nodata: 77 });
        const counted = async (step: number) => {
          const edges = Array.from({ length: 192 / step + 1 }, (_, i) => 32 + i * step);
          const job = { zones: zonesOf(all), raster, tile, binning: { kind: 'edges', edges } as const };
          return zonalHistogram(opened().context, job);
        };
        const [coarse, fine] = [await counted(64), await counted(0.25)];
        const sums = new Map<string, bigint>();
        fine.bins.zone.forEach((zone, i) => {
          const key = `${zone} ${32 + 64 * Math.floor((fine.bins.lower[i]! - 32) / 64)}`;
          sums.set(key, (sums.get(key) ?? 0n) + fine.bins.count[i]!);
        });
        const { bins } = coarse;
        expect(new Map([...bins.zone].map((zone, i) => [`${zone} ${bins.lower[i]}`, bins.count[i]]))).toEqual(sums);
        for (const name of ['cells', 'nodata', 'below', 'above'] as const) expect(fine[name]).toEqual(coarse[name]);
      },
    ),
  );

  test.prop([polygons, fc.constantFrom<Binning>(bins, { kind: 'unique' })], { numRuns: THOROUGH ? 10 : 5 })(
    'are the same without statistics',
    async (all, binning) => {
      const cells = Uint8Array.from({ length: 45 * 38 }, (_, i) => (i * 37) % 256);
      const job = { zones: zonesOf(all), raster: rasterOf(cells, 45, 'u8', { nodata: 77 }), binning };
      const { statistics, ...counted } = await zonalHistogram(reference, job);
      expect(statistics).toBeDefined();
      expect(await zonalHistogram(reference, { ...job, statistics: false })).toEqual({
        ...counted,
        statistics: undefined,
      });
    },
  );

  test('of a square on the grid of centres: left and bottom edges are inside, right and top edges are outside', async () => {
    const square = [
      [
        [1.5, 1.5],
        [4.5, 1.5],
        [4.5, 4.5],
        [1.5, 4.5],
      ],
    ] as const;
    const raster = rasterOf(new Uint8Array(36), 6, 'u8');
    const edges = { kind: 'edges', edges: [0, 1] } as const;
    const { cells } = await zonalHistogram(reference, { zones: zonesOf([square]), raster, binning: edges });
    // Nine cell centres are inside: x and y are 1.5, 2.5 or 3.5.
    expect(cells[0]).toBe(9n);
  });
});

/** A test with the counties takes half a minute, so `npm test` uses the states. */
const layer = THOROUGH ? 'counties' : 'states';

describe(`real ${layer} on a real raster`, () => {
  const bins05 = { kind: 'even', low: 0, high: 1, width: 0.05 } as const;
  /**
   * The mainland in a raster with cells of 0.1°, whose upper left corner is at 180° West and 72° North: the cells from
   * 126° to 66° West and from 24° to 50° North.
   */
  const mainland = ({ readBlocks: _, ...raster }: RasterSource): RasterSource => {
    const [left, top] = [540, 220];
    return {
      ...raster,
      width: 600,
      height: 260,
      originX: raster.originX + left * raster.stepX,
      originY: raster.originY + top * raster.stepY,
      read: ({ column, row, ...size }, signal) =>
        raster.read({ ...size, column: column + left, row: row + top }, signal),
    };
  };
  const count = async (context: Context): Promise<string> => {
    const { zones } = await readZones(counties, { layer });
    const raster = await openGeoTiff(ndvi, {});
    try {
      return plain(
        await zonalHistogram(context, { zones, raster: THOROUGH ? raster : mainland(raster), binning: bins05 }),
      );
    } finally {
      await raster.close();
    }
  };

  test('give the same bytes on reference, workers and WebGPU', async () => {
    const expected = await count(reference);
    expect(BigInt(JSON.parse(expected).cells[0])).toBeGreaterThan(0n);
    for (const context of someOf([workers, webgpu], 1)) expect(await count(context)).toBe(expected);
  }, 240_000);
});

test('a raster with nodata gives the same bytes on all backends, in several windows', async () => {
  const raster = await openGeoTiff(relief, {});
  const at = (u: number, v: number): [number, number] => [
    raster.originX + u * raster.width * raster.stepX,
    raster.originY + v * raster.height * raster.stepY,
  ];
  const zones = zonesOf([
    [[at(-0.1, 0.2), at(0.9, -0.1), at(1.2, 0.8), at(0.4, 1.1)]],
    [
      [at(0.1, 0.1), at(0.9, 0.1), at(0.9, 0.9), at(0.1, 0.9)],
      [at(0.3, 0.3), at(0.6, 0.35), at(0.5, 0.7)],
    ],
  ]);
  const job = { zones, raster, binning: { kind: 'even', low: 200, high: 3200, width: 200 } as const };
  const expected = await zonalHistogram(reference, job);
  expect(expected.nodata[0]).toBeGreaterThan(0n);
  for (const context of someOf([workers, webgpu], 1))
    expect(plain(await zonalHistogram(context, job))).toBe(plain(expected));
  // With a memory limit of 100,000 bytes, windows are smaller than by default. The result must not change.
  expect(plain(await zonalHistogram(workers, { ...job, memoryBytes: 100_000 }))).toBe(plain(expected));
  await raster.close();
}, 120_000);

const upTo = (bits: bigint) => fc.bigInt({ min: 0n, max: 2n ** bits - 1n });
test.prop(
  [
    fc.constantFrom(1n, 20n, 33n, 48n).chain(upTo),
    upTo(49n),
    upTo(28n),
    upTo(28n),
    fc.integer({ min: -1, max: 1 }),
    fc.boolean(),
  ],
  { numRuns: 2000 },
)(
  'the column in which an edge crosses a row is that of a division in big integers, also right beside a centre',
  (before, slope, row, column, beside, westward) => {
    // On the centre line of the row, the edge is beside / height steps beside the centre of the column.
    const above = before + 1n;
    const height = 2n * above + 1n;
    const turns = slope / height;
    const [centre, target] = [row, column].map((cell) => cell * 2n ** 20n + 2n ** 19n) as [bigint, bigint];
    const u0 = target - turns * above + BigInt(beside);
    const u1 = u0 + turns * height - 2n * BigInt(beside);
    const edge = [u0, centre - above, u1, centre - above + height, centre].map(Number);
    const line = [...(edge as [number, number, number, number, number]), westward] as const;
    const past = beside > 0 || (beside === 0 && westward) ? 1 : 0;
    expect(crossedColumn(...line)).toBe(Number(column) + past);
    expect(divideLargeEdge(...line).firstColumn).toBe(Number(column) + past);
  },
);

const steps = fc.integer({ min: -(2 ** 34), max: 2 ** 34 });
test.prop([steps, steps, steps, fc.integer({ min: 1, max: 2 ** 31 }), fc.boolean()])(
  'an edge divided in f64 equals the same division in big integers',
  (u0, v0, u1, height, westward) => {
    const centre = Math.floor((v0 + height / 2) / 2 ** 20) * 2 ** 20 + 2 ** 19;
    const arguments_ = [u0, v0, u1, v0 + height, centre, westward] as const;
    expect(divideEdge(...arguments_)).toEqual(divideLargeEdge(...arguments_));
  },
);
