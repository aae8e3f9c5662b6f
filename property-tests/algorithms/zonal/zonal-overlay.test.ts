import { expect } from 'vitest';
import type { RasterSource, Sample } from '../../../algorithms/geometry/raster.ts';
import { createOverlay, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { openPackedRaster } from '../../../formats/rasters/packed-raster.ts';
import { ArgumentError } from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { packedBytes, randomPacked } from '../../fixtures/random-packed.ts';
import { randomCells } from '../../fixtures/random-raster.ts';
import { binnings, corners } from '../../fixtures/random-zonal-jobs.ts';
import { fc, test } from '../../law-test.ts';
import { box, plain, type Rings, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const LIKE_FIRST = { grid: {}, fill: 'union', tile: 32 } as const;

/** How the rasters of a series differ. */
const rasters = fc
  .array(
    fc.record({
      sample: fc.constantFrom<Sample>('u8', 'i16', 'i32', 'f32'),
      seed: fc.integer(),
      nodata: fc.constantFrom(undefined, 7, -9999),
      isMasked: fc.boolean(),
      blockRows: fc.constantFrom(1, 32, 40),
      /** Most rasters have the first grid; some are moved, turned or smaller. */
      grid: fc.constantFrom<Partial<RasterSource>>({}, {}, {}, {}, {}, {}, { originX: 3 }, { stepY: 1, originY: 0 }),
      fill: fc.constantFrom('union' as const, 'union' as const, 'union' as const, 'even-odd' as const),
      tile: fc.constantFrom(32, 32, 32, 64),
    }),
    { minLength: 2, maxLength: 6 },
  )
  // A mask of the first raster must not change what is kept for the second.
  .map((all) => all.map((raster, at) => (at < 2 ? { ...raster, ...LIKE_FIRST, isMasked: at === 0 } : raster)));

/** Zones of two parts, which may overlap, on a grid of some columns and rows. */
const ringsOf = (boxes: readonly (readonly number[])[], across: number, down: number): Rings[] =>
  boxes.map(([x0, y0, x1, y1]) =>
    [0, 0.1].map((by) => {
      const xs = [x0!, x1!].map((x) => (x + by) * across).sort((a, b) => a - b);
      const ys = [y0!, y1!].map((y) => (y + by) * down).sort((a, b) => a - b);
      return box(xs[0]!, ys[0]!, xs[1]!, ys[1]!);
    }),
  );

/** Rows of squares, each as far from the one before it as `step` says; `size` is their side in cells. */
const tinyZones = fc.array(
  fc.record({
    column: fc.oneof(fc.integer({ min: -1, max: 130 }), fc.constantFrom(31, 32, 63, 64, 96, 128)),
    row: fc.oneof(fc.integer({ min: -1, max: 130 }), fc.constantFrom(31, 32, 63, 64, 96, 128)),
    size: fc.constantFrom(0.1, 0.4, 1, 1.5, 2, 7, 33),
    count: fc.integer({ min: 1, max: 40 }),
    step: fc.constantFrom(0, 0.25, 1, 3.5),
  }),
  { minLength: 1, maxLength: 6 },
);

type TinyZones = Readonly<Record<'column' | 'row' | 'size' | 'count' | 'step', number>>;

function boxesOf({ column, row, size, count, step }: TinyZones): Rings[] {
  return Array.from({ length: count }, (_, at) => {
    const [x, y] = [column + at * step, row + (at % 3) * step];
    return [box(x, y, x + size, y + size)];
  });
}

/** The numbers of cells whose centre is in a square, and of those without data. Left and bottom edges belong to it. */
function countIn(
  cells: Uint8Array,
  side: number,
  [x0, y0]: readonly [number, number],
  [x1, y1]: readonly [number, number],
  nodata: number | undefined,
): [bigint, bigint] {
  let [all, lacking] = [0n, 0n];
  // Rows grow downwards from the top edge of the raster.
  for (let row = Math.max(0, Math.floor(side - y1)); row < Math.min(side, side - y0 + 1); row++) {
    for (let column = Math.max(0, Math.floor(x0)); column < Math.min(side, x1); column++) {
      const [x, y] = [column + 0.5, side - row - 0.5];
      if (x < x0 || x >= x1 || y < y0 || y >= y1) continue;
      all++;
      if (cells[row * side + column] === nodata) lacking++;
    }
  }
  return [all, lacking];
}

onEveryBackend((opened, { runs }) => {
  const size = { width: fc.integer({ min: 4, max: 120 }), height: fc.integer({ min: 4, max: 90 }) };
  const memory = fc.constantFrom(1, 2000, 2 ** 20, 2 ** 20, 2 ** 20);

  test.prop([fc.record(size), corners, binnings, rasters, memory, fc.constantFrom(30_000, 2 ** 24, 2 ** 24)], {
    numRuns: runs,
  })(
    'rasters that share an overlay give the bytes that they give alone',
    async ({ width, height }, boxes, binning, series, memoryBytes, windowBytes) => {
      const { context } = opened();
      const zones = zonesOf(ringsOf([[0.1, 0.1, 0.9, 0.9], ...boxes], width, height));
      using overlay = createOverlay(context, zones, { memoryBytes });
      for (const { sample, seed, nodata, isMasked, blockRows, grid, ...job } of series) {
        const raster = rasterOf(randomCells(sample, width * height, seed, 250), width, sample, {
          ...{ nodata, blockRows, ...grid },
          ...(isMasked && {
            readMask: async ({ row, columns, rows }) =>
              Uint8Array.from({ length: columns * rows }, (_, cell) => (row * columns + cell) % 7),
          }),
        });
        const alone = {
          ...job,
          zones,
          raster,
          binning,
          memoryBytes: binning.kind === 'unique' ? 2 ** 24 : windowBytes,
        };
        const expected = await zonalHistogram(context, alone).then(plain, String);
        expect(await zonalHistogram(context, { ...alone, overlay }).then(plain, String)).toBe(expected);
        expect(overlay.bytes).toBeLessThanOrEqual(memoryBytes);
      }
    },
  );

  test.prop([tinyZones, fc.integer(), fc.constantFrom(32, 64), fc.constantFrom(2 ** 15, 2 ** 24), binnings], {
    numRuns: runs,
    examples: [
      [[{ column: 1, row: 1, size: 0.4, count: 2000, step: 0 }], 1, 32, 2 ** 24, { kind: 'none' }],
      [[{ column: 20, row: 60, size: 7, count: 20, step: 3.5 }], 2, 64, 2 ** 24, { kind: 'none' }],
    ],
  })(
    'many small zones, at borders of tiles and windows or in one cell, give the bytes that they give alone, and those of a loop',
    async (groups, seed, tile, memoryBytes, binning) => {
      const { context } = opened();
      const side = 130;
      const zones = zonesOf(groups.flatMap(boxesOf));
      using overlay = createOverlay(context, zones);
      for (const nodata of [undefined, 3]) {
        const cells = randomCells('u8', side * side, seed + (nodata ?? 0), 250) as Uint8Array;
        const raster = rasterOf(cells, side, 'u8', { nodata, blockRows: 32 });
        const job = { zones, raster, binning, tile, memoryBytes };
        const shared = await zonalHistogram(context, { ...job, overlay }).catch(String);
        const alone = await zonalHistogram(context, job).catch(String);
        if (typeof shared === 'string' || typeof alone === 'string') {
          expect(shared).toBe(alone);
          return;
        }
        expect(plain(shared)).toBe(plain(alone));
        const { cells: found, nodata: lacking } = shared;
        const expected = groups.flatMap(boxesOf).map(([ring]) => countIn(cells, side, ring![0]!, ring![2]!, nodata));
        expect(Array.from(found, (count, zone) => [count, lacking[zone]])).toEqual(expected);
      }
    },
  );

  test.prop([randomPacked, corners, binnings], { numRuns: runs })(
    'encoded rasters, counted at once and again, give the bytes that they give alone',
    async (packed, boxes, binning) => {
      const { context } = opened();
      const raster = await openPackedRaster(await packedBytes(packed, undefined, { codec: 'auto' }));
      const { width, height, originX, originY, stepX, stepY } = raster;
      const rings = ringsOf(boxes, width, height).map((parts) =>
        parts.map((part) => part.map(([x, y]) => [originX + x * stepX, originY + y * stepY] as const)),
      );
      const zones = zonesOf(rings);
      using overlay = createOverlay(context, zones);
      for (const statistics of [false, true, false]) {
        const job = { zones, raster, binning, statistics, tile: 32 };
        expect(plain(await zonalHistogram(context, { ...job, overlay }))).toBe(
          plain(await zonalHistogram(context, job)),
        );
      }
    },
  );

  test('jobs at the same time share an overlay', async () => {
    const { context } = opened();
    const zones = zonesOf([[box(3, 3, 90, 90)], [box(50, 50, 150, 85), box(60, 55, 70, 95)]]);
    using overlay = createOverlay(context, zones);
    const jobs = [1, 2, 3, 4].map((seed) => {
      const raster = rasterOf(randomCells('u8', 96 * 96, seed, 250), 96, 'u8', { blockRows: 32 });
      return { zones, raster, binning: { kind: 'unique' }, tile: 32 } as const;
    });
    const alone = await Promise.all(jobs.map((job) => zonalHistogram(context, job)));
    const shared = await Promise.all(jobs.map((job) => zonalHistogram(context, { ...job, overlay })));
    expect(shared.map(plain)).toEqual(alone.map(plain));
  });

  test('what is kept is made once, bounded, and given back', async () => {
    const { context } = opened();
    const zones = zonesOf([[box(3, 3, 90, 90)]]);
    const raster = rasterOf(new Uint8Array(96 * 96), 96, 'u8', { blockRows: 32 });
    const job = { zones, raster, binning: { kind: 'none' }, tile: 32 } as const;
    await zonalHistogram(context, job);
    const before = context.backend.counters.liveBytes;
    const overlay = createOverlay(context, zones);
    await zonalHistogram(context, { ...job, overlay });
    const { bytes } = overlay;
    // Rows of 87 × 3 words, with three words each.
    expect(bytes).toBe(87 * 3 * 12);
    await zonalHistogram(context, { ...job, overlay });
    expect(overlay.bytes).toBe(bytes);
    expect(context.backend.counters.liveBytes).toBeGreaterThan(before);
    overlay.dispose();
    overlay.dispose();
    expect(overlay.bytes).toBe(0);
    expect(context.backend.counters.liveBytes).toBe(before);
    await zonalHistogram(context, { ...job, overlay });
    expect(overlay.bytes).toBe(bytes);
    overlay.dispose();
  });

  test('an overlay of other zones is refused', async () => {
    const { context } = opened();
    const zones = zonesOf([[box(3, 3, 90, 90)]]);
    const overlay = createOverlay(context, zonesOf([[box(3, 3, 90, 90)]]));
    const raster = rasterOf(new Uint8Array(96 * 96), 96, 'u8');
    const counting = zonalHistogram(context, { zones, raster, binning: { kind: 'none' }, overlay });
    await expect(counting).rejects.toThrow(ArgumentError);
    await expect(counting).rejects.toMatchObject({ code: 'zonal/overlay' });
  });
});
