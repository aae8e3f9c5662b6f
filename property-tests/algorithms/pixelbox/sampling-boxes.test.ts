import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pixelOnly } from '../../../algorithms/pixelbox/pixel-only.ts';
import { polygonAreas } from '../../../algorithms/pixelbox/polygon-areas.ts';
import { uploadPolygonEdges } from '../../../algorithms/pixelbox/polygon-edges.ts';
import { pixelBox, pixelBoxNoSep, type SampledAreas } from '../../../algorithms/pixelbox/sampling-boxes.ts';
import type { PolygonPairs } from '../../../algorithms/pixelbox/sampling-run.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { Geos } from '../../../bench/peers/geos-areas.ts';
import { polygonPairs } from '../../../bench/polygons/polygon-pairs.ts';
import { bool, Context, constant, copyIf, sequence } from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount, someOf, THOROUGH } from '../../cases.ts';
import { openReference } from '../../support/reference-context.ts';
import { anyRings, bigints, countPixels, gridPolygonsOf, type Rings, rectilinearRings } from './pixelbox-support.ts';

type Measure = (
  context: Context,
  edges: ReturnType<typeof uploadPolygonEdges>,
  pairs: PolygonPairs,
) => Promise<SampledAreas>;
interface Areas {
  readonly intersection: bigint;
  readonly union: bigint;
}

/** Uploads a set of polygons, measures the pairs [p, q] in it, reads the areas, and frees everything. */
async function measure(
  context: Context,
  polygons: readonly Rings[],
  pairs: readonly (readonly [number, number])[],
  how: Measure,
): Promise<Areas[]> {
  const edges = uploadPolygonEdges(context, gridPolygonsOf(polygons));
  const columns = {
    p: context.column(Uint32Array.from(pairs, ([p]) => p)),
    q: context.column(Uint32Array.from(pairs, ([, q]) => q)),
  };
  try {
    const areas = await how(context, edges, columns);
    const read = await context.read(
      areas as never as { intersection: SampledAreas['intersection']; union: SampledAreas['union'] },
    );
    context.dispose(areas);
    const [intersections, unions] = [bigints(read.intersection), bigints(read.union)];
    return intersections.map((intersection, i) => ({ intersection, union: unions[i]! }));
  } finally {
    context.dispose(edges.words, columns);
  }
}

function allPairs(count: number): [number, number][] {
  return Array.from({ length: count * count }, (_, i): [number, number] => [Math.floor(i / count), i % count]);
}

const blockSize = fc.constantFrom(4, 9, 16, 64);
/** Thresholds of many sizes: the smallest split boxes down to single pixels, the largest never split a box. */
const threshold = fc.oneof(fc.integer({ min: 2, max: 40 }), fc.constantFrom(2, 3, 2048, 2 ** 24));
/** Memory limits, some of which allow only a few boxes at a time. */
const memoryBytes = fc.constantFrom(2 ** 28, 40_000, 300_000);
const options = fc.record({
  blockSize,
  threshold,
  memoryBytes,
  start: fc.constantFrom('pair' as const, 'overlap' as const),
});

const polygonsOf = (rings: fc.Arbitrary<Rings>): fc.Arbitrary<Rings[]> =>
  fc.array(rings, { minLength: 1, maxLength: 4 });
const kinds = [
  { kind: 'rectilinear', polygons: polygonsOf(rectilinearRings(12)) },
  { kind: 'any', polygons: polygonsOf(anyRings(12)) },
];

describe.each(someOf(kinds, 1))('areas of polygons: $kind', ({ polygons }) => {
  onEveryBackend((opened, { runs }) => {
    const agrees = async (all: readonly Rings[], how: Measure): Promise<void> => {
      const pairs = allPairs(all.length);
      const found = await measure(opened().context, all, pairs, how);
      expect(found).toEqual(pairs.map(([p, q]) => countPixels(all[p]!, all[q]!)));
    };
    test('PixelBox equals counting pixels, for every threshold, block size, start box and memory limit', async () => {
      await fc.assert(
        fc.asyncProperty(polygons, options, (all, how) =>
          agrees(all, (context, edges, pairs) => pixelBox(context, edges, edges, pairs, how)),
        ),
        { numRuns: runs },
      );
    }, 240_000);
    test('NoSep equals counting pixels', async () => {
      await fc.assert(
        fc.asyncProperty(polygons, options, (all, { start: _, ...how }) =>
          agrees(all, (context, edges, pairs) => pixelBoxNoSep(context, edges, edges, pairs, how)),
        ),
        { numRuns: runs },
      );
    }, 240_000);
    test('PixelOnly equals counting pixels', async () => {
      await fc.assert(
        fc.asyncProperty(polygons, blockSize, (all, block) =>
          agrees(all, (context, edges, pairs) => pixelOnly(context, edges, edges, pairs, { blockSize: block })),
        ),
        { numRuns: runs },
      );
    }, 240_000);
  });
});

/**
 * Adds two pixels at opposite corners, so that all polygons have the same minimum bounding rectangle (MBR). A grid of
 * 2^k × 2^k cells divides this rectangle along pixel borders.
 */
function framed(rings: Rings): Rings {
  const pixel = (x: number, y: number) =>
    [
      [x, y],
      [x + 1, y],
      [x + 1, y + 1],
      [x, y + 1],
    ] as const;
  return [...rings, pixel(-8, -8), pixel(7, 7)];
}

function rectangle(left: number, bottom: number, right: number, top: number): Rings {
  return [
    [
      [left, bottom],
      [right, bottom],
      [right, top],
      [left, top],
    ],
  ];
}

describe('areas past 2^32', () => {
  onEveryBackend((opened, { name, runs }) => {
    test('grow with the square of the scale, up to the limits of coordinates', async () => {
      const scale = fc.constantFrom(2 ** 12, 2 ** 20, 2 ** 27);
      await fc.assert(
        fc.asyncProperty(
          polygonsOf(rectilinearRings(8)),
          scale,
          options,
          async (all, times, { start: _, threshold: __, ...how }) => {
            fc.pre(how.blockSize !== 9);
            const frames = all.map(framed);
            const scaled = frames.map((rings) =>
              rings.map((ring) => ring.map(([x, y]) => [x * times, y * times] as const)),
            );
            const pairs = allPairs(all.length);
            const found = await measure(opened().context, scaled, pairs, (context, edges, columns) =>
              pixelBox(context, edges, edges, columns, { ...how, memoryBytes: 2 ** 20 }),
            );
            const factor = BigInt(times) ** 2n;
            const expected = pairs.map(([p, q]) => countPixels(frames[p]!, frames[q]!));
            expect(found).toEqual(
              expected.map(({ intersection, union }) => ({
                intersection: intersection * factor,
                union: union * factor,
              })),
            );
          },
        ),
        { numRuns: runs },
      );
    }, 240_000);

    // Other backends take about ten seconds for boundaries of this length.
    if (!THOROUGH && name !== 'workers') return;
    test('are exact when boundaries cross boxes', async () => {
      const side = 70_000;
      const triangle: Rings = [
        [
          [0, 0],
          [side, 0],
          [0, side],
        ],
      ];
      const rectangles = [rectangle(0, 0, side, 65_537), rectangle(333, 17, side + 7, 65_000)];
      const common = BigInt(side - 333) * BigInt(65_000 - 17);
      const [first, second] = [BigInt(side) * 65_537n, BigInt(side + 7 - 333) * BigInt(65_000 - 17)];
      const pairs = [
        [0, 1],
        [0, 0],
      ] as const;
      expect(
        await measure(opened().context, rectangles, pairs, (context, edges, columns) =>
          pixelBoxNoSep(context, edges, edges, columns),
        ),
      ).toEqual([
        { intersection: common, union: first + second - common },
        { intersection: first, union: first },
      ]);
      const half = (BigInt(side) * BigInt(side - 1)) / 2n;
      const found = await measure(opened().context, [triangle], [[0, 0]], (context, edges, columns) =>
        pixelBox(context, edges, edges, columns, { memoryBytes: 2 ** 22 }),
      );
      expect(found).toEqual([{ intersection: half, union: half }]);
    }, 240_000);
  });
});

describe('outlines of segmented pixels', () => {
  onEveryBackend((opened) => {
    test('have the same areas as in GEOS, touching corners and holes included, at the scales of the paper', async () => {
      const geos = await Geos.open();
      const { context } = opened();
      for (const scale of someOf([1, 5], 1)) {
        const [tile] = polygonPairs({ pairs: caseCount(300), tiles: 1, scale, seed: scale });
        const { first, second, pairs } = tile!;
        const [p, q] = [first, second].map((polygons) => uploadPolygonEdges(context, polygons));
        const columns = { p: context.column(pairs.p), q: context.column(pairs.q) };
        const areas = await pixelBox(context, p!, q!, columns);
        const found = await context.read({ intersection: areas.intersection.lo, union: areas.union.lo });
        const [ofP, ofQ] = [first, second].map((polygons) => ({
          ...polygons,
          x: Float64Array.from(polygons.x),
          y: Float64Array.from(polygons.y),
        }));
        const expected = Array.from(pairs.p, (_, i) => geos.areas(ofP!, pairs.p[i]!, ofQ!, pairs.q[i]!));
        expect(found.intersection).toEqual(Uint32Array.from(expected, ({ intersection }) => intersection));
        expect(found.union).toEqual(Uint32Array.from(expected, ({ union }) => union));
        context.dispose(areas, columns, p!.words, q!.words);
      }
    }, 120_000);
  });
});

describe('pairs', () => {
  const squares = [rectangle(0, 0, 9, 9), rectangle(6, 8, 15, 17), rectangle(90, 0, 99, 9), []];

  test('can be in any order, repeated, views, and counted by the device', async () => {
    const context = openReference();
    const pairs = [...allPairs(4), ...allPairs(4).reverse(), [1, 0] as const];
    const found = await measure(context, squares, pairs, (_, edges, columns) =>
      pixelBox(context, edges, edges, columns),
    );
    const chosen = await measure(context, squares, pairs, (_, edges, columns) => {
      const counted = copyIf({ ...columns }, constant(bool, true, pairs.length));
      return pixelBox(context, edges, edges, counted);
    });
    expect(chosen).toEqual(found);
    expect(found).toEqual(pairs.map(([p, q]) => countPixels(squares[p]!, squares[q]!)));
    const views = await measure(
      context,
      squares,
      [
        [0, 0],
        [1, 1],
        [2, 2],
      ],
      (_, edges) => pixelBox(context, edges, edges, { p: sequence(3), q: sequence(3, 1) }),
    );
    expect(views.map(({ intersection }) => intersection)).toEqual([3n, 0n, 0n]);
    await context.close();
  });

  test('can be none', async () => {
    const context = openReference();
    for (const how of [pixelBox, pixelBoxNoSep, pixelOnly]) {
      expect(await measure(context, squares, [], (_, edges, columns) => how(context, edges, edges, columns))).toEqual(
        [],
      );
      expect(await measure(context, [], [], (_, edges, columns) => how(context, edges, edges, columns))).toEqual([]);
    }
    await context.close();
  });

  test('of polygons of two tables use the numbers of each table', async () => {
    const context = openReference();
    const [p, q] = [squares, squares.toReversed()].map((all) => uploadPolygonEdges(context, gridPolygonsOf(all)));
    const pairs = { p: context.column(Uint32Array.of(0, 0)), q: context.column(Uint32Array.of(2, 3)) };
    const { intersection, union } = await pixelBox(context, p!, q!, pairs);
    expect(await context.read({ intersection: intersection.lo, union: union.lo })).toEqual({
      intersection: Uint32Array.of(3, 81),
      union: Uint32Array.of(159, 81),
    });
    await context.close();
  });
});

describe('refused arguments', () => {
  const attempt = async (
    polygons: readonly Rings[],
    pair: readonly [number, number],
    how: Measure,
  ): Promise<unknown> => {
    const context = openReference();
    const live = context.backend.counters.liveBuffers;
    const error = await measure(context, polygons, [pair], how).catch((thrown: unknown) => thrown);
    expect(context.backend.counters.liveBuffers).toBe(live);
    await context.close();
    return error;
  };
  const square = rectangle(0, 0, 90, 90);
  test.each([
    ['pixelbox/block-size', { blockSize: 1 }],
    ['pixelbox/block-size', { blockSize: 60 }],
    ['pixelbox/block-size', { blockSize: 33 ** 2 }],
    ['pixelbox/threshold', { threshold: 1 }],
    ['pixelbox/threshold', { threshold: 2.5 }],
    ['pixelbox/threshold', { threshold: 2 ** 24 + 1 }],
    ['pixelbox/memory-bytes', { memoryBytes: 0 }],
    ['pixelbox/memory-bytes', { memoryBytes: 2000 }],
  ])('%s: %o', async (code, options) => {
    expect(
      await attempt([square], [0, 0], (context, edges, pairs) => pixelBox(context, edges, edges, pairs, options)),
    ).toMatchObject({ code });
  });
  test('pairs of missing polygons', async () => {
    for (const pair of [
      [0, 1],
      [1, 0],
    ] as const) {
      expect(
        await attempt([square], pair, (context, edges, pairs) => pixelBox(context, edges, edges, pairs)),
      ).toMatchObject({ code: 'pixelbox/polygon', got: 1 });
    }
  });
  test('MBRs of too many pixels for PixelOnly', async () => {
    const large = rectangle(-(2 ** 30), 0, 2 ** 30, 2 ** 30);
    expect(
      await attempt([large], [0, 0], (context, edges, pairs) => pixelOnly(context, edges, edges, pairs)),
    ).toMatchObject({ code: 'pixelbox/pixels', got: 2 ** 61 });
  });
  test('coordinates beyond the grid, and sloped polygons in an area by vertical edges', async () => {
    const context = openReference();
    const beyond = gridPolygonsOf([square, rectangle(0, 0, 2 ** 30 + 1, 1)]);
    expect(() => uploadPolygonEdges(context, beyond)).toThrow(
      expect.objectContaining({ code: 'geometry/beyond-grid', place: { record: 1 } }),
    );
    const sloped = uploadPolygonEdges(
      context,
      gridPolygonsOf([
        [
          [
            [0, 0],
            [2, 0],
            [0, 2],
          ],
        ],
      ]),
    );
    expect(() => polygonAreas(context, sloped)).toThrow(expect.objectContaining({ code: 'pixelbox/not-rectilinear' }));
    await context.close();
  });
});

test('the host waits as often as documented, and no memory leaks', async () => {
  const context = openReference();
  const edges = uploadPolygonEdges(context, gridPolygonsOf([rectangle(0, 0, 201, 201), rectangle(77, 77, 300, 300)]));
  const pairs = { p: context.column(Uint32Array.of(0)), q: context.column(Uint32Array.of(1)) };
  const { counters } = context.backend;
  const [live, before] = [counters.liveBuffers, counters.readbacks];
  const areas = await pixelBox(context, edges, edges, pairs);
  // Four readbacks find the largest MBR (minimum bounding rectangle). Two more are for the batch of pairs that is
  // processed at once, and two for the 64 sub-boxes of this batch.
  expect(counters.readbacks - before).toBe(8);
  context.dispose(areas);
  // The row count of `expand` stays in memory until the host next waits for the device, here in `sync`.
  await context.sync();
  expect(counters.liveBuffers).toBe(live);
  await context.close();
});

test('tables of boxes stay within memoryBytes for any number of boxes', async () => {
  const memoryBytes = 2 ** 18;
  // Besides `memoryBytes`, the limit has room for all other data: a polygon, a pair, its areas, and sums over all rows
  // of a launch.
  const context = new Context(createReferenceBackend({ limits: { memoryBytes: memoryBytes + 2 ** 12 } }));
  const edges = uploadPolygonEdges(
    context,
    gridPolygonsOf([rectangle(0, 0, 1999, 1999), rectangle(777, 778, 3001, 3001)]),
  );
  const pairs = { p: context.column(Uint32Array.of(0)), q: context.column(Uint32Array.of(1)) };
  for (const how of someOf([pixelBox, pixelBoxNoSep], 1)) {
    const areas = await how(context, edges, edges, pairs, { threshold: 2, memoryBytes });
    const { lo } = await context.read(areas.intersection);
    expect(lo).toEqual(Uint32Array.of((1999 - 777) * (1999 - 778)));
    context.dispose(areas);
  }
  await context.close();
});
