import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { type AreaMethod, type AreaPlan, planAreas, type RegionPairs } from '../../../algorithms/pixelbox/area-plan.ts';
import { regionsOn } from '../../../algorithms/pixelbox/device-regions.ts';
import { GRID_LIMIT } from '../../../algorithms/pixelbox/grid-polygons.ts';
import { type PairAreaOptions, pairAreas } from '../../../algorithms/pixelbox/pair-areas.ts';
import { type Regions, regionsOf } from '../../../algorithms/pixelbox/regions.ts';
import { gridPolygons } from '../../../algorithms/pixelbox/snap-to-pixels.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import { dealToBackends, dealtBackends, onEveryBackend } from '../../backends.ts';
import { scaledCount } from '../../cases.ts';
import {
  type RectilinearOptions,
  type RectilinearPairs,
  rectilinearPairs,
} from '../../support/arbitrary-rectilinear.ts';
import { columnsOfRings } from '../../support/ring-columns.ts';

const sidesOf = ({ first, second }: RectilinearPairs): { p: Regions; q: Regions } => ({
  p: regionsOf(gridPolygons(first)),
  q: regionsOf(gridPolygons(second)),
});

/** Pairs of polygon i of the first side and polygon i of the second side, for every i. */
const inOrder = (count: number): RegionPairs => {
  const each = Uint32Array.from({ length: count }, (_, i) => i);
  return { p: each, q: each };
};

/** Limits boxes to a size for which every method can draw all pixels. */
const SMALL: RectilinearOptions = { extent: 100, reach: 2 ** 30 };
const LARGE: RectilinearOptions = {};

const CASES: readonly { name: string; method: AreaMethod | 'auto'; shapes: RectilinearOptions; share: number }[] = [
  { name: 'small, by masks', method: 'masks', shapes: SMALL, share: 1 },
  { name: 'narrow, by masks', method: 'masks', shapes: { extent: 32 }, share: 1 },
  { name: 'of any size, by corners', method: 'corners', shapes: LARGE, share: 1 },
  { name: 'small, by corners', method: 'corners', shapes: SMALL, share: 1 },
  { name: 'of any size, by sweep', method: 'sweep', shapes: LARGE, share: 0.3 },
  { name: 'of any size, by automatic choice', method: 'auto', shapes: LARGE, share: 1 },
  { name: 'small, by automatic choice', method: 'auto', shapes: SMALL, share: 1 },
];

const casesOn = dealToBackends(CASES);

onEveryBackend((opened, backend) => {
  for (const { name, method, shapes, share } of casesOn(backend)) {
    test(`areas of pairs that are ${name} equal a count of cells`, { timeout: 300_000 }, async () => {
      const options = fc.constantFrom<PairAreaOptions>(
        { method },
        { method, memoryBytes: 256 },
        { method, memoryBytes: 1 },
      );
      await fc.assert(
        fc.asyncProperty(rectilinearPairs({ ...shapes, maxPairs: 12 }), options, async (pairs, option) => {
          const { context } = opened();
          const { p, q } = sidesOf(pairs);
          const found = await pairAreas(context, p, q, inOrder(pairs.areas.length), option);
          const there = { p: await regionsOn(context, p), q: await regionsOn(context, q) };
          expect(await pairAreas(context, there.p, there.q, inOrder(pairs.areas.length), option)).toEqual(found);
          context.dispose(there);
          expect([...found.intersection]).toEqual(pairs.areas.map(({ intersection }) => intersection));
          expect([...found.p]).toEqual(pairs.areas.map(({ first }) => first));
          expect([...found.q]).toEqual(pairs.areas.map(({ second }) => second));
        }),
        { numRuns: Math.ceil(backend.runs * share) },
      );
    });
  }

  test('pairs can be in any order and repeated', { timeout: 300_000 }, async () => {
    const input = rectilinearPairs({ extent: 60, maxPairs: 6 }).chain((pairs) => {
      const region = fc.nat({ max: Math.max(0, pairs.areas.length - 1) });
      const list = fc.array(fc.tuple(region, region), { maxLength: pairs.areas.length === 0 ? 0 : 40 });
      return fc.record({ pairs: fc.constant(pairs), list, method: fc.constantFrom('masks', 'corners', 'auto') });
    });
    await fc.assert(
      fc.asyncProperty(input, async ({ pairs, list, method }) => {
        const { p, q } = sidesOf(pairs);
        const numbers = { p: Uint32Array.from(list, ([a]) => a), q: Uint32Array.from(list, ([, b]) => b) };
        const found = await pairAreas(opened().context, p, q, numbers, {
          method: method as AreaMethod,
          memoryBytes: 400,
        });
        const turned = await pairAreas(opened().context, q, p, { p: numbers.q, q: numbers.p }, { method: 'sweep' });
        expect(turned.intersection).toEqual(found.intersection);
        expect(turned.p).toEqual(found.q);
      }),
      { numRuns: Math.ceil(backend.runs / 3) },
    );
  });

  const axis = (side: number) => fc.integer({ min: 0, max: side });
  const ring = (width: number, height: number) => fc.array(fc.tuple(axis(width), axis(height)), { maxLength: 8 });
  const polygons = fc
    .record({ width: fc.constantFrom(1, 5, 32, 33), height: fc.constantFrom(4, 30, 3000) })
    .chain(({ width, height }) =>
      fc.array(fc.array(ring(width, height), { maxLength: 3 }), { minLength: 1, maxLength: 6 }),
    );

  test('polygons with slopes drawn on the device have the same areas as by their corners', {
    timeout: 300_000,
  }, async () => {
    const input = fc.record({ polygons, far: fc.constantFrom(0, -GRID_LIMIT, GRID_LIMIT - 3000), both: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(input, async ({ polygons, far, both }) => {
        const { context } = opened();
        const moved = polygons.map((rings) => rings.map((each) => each.map(([x, y]) => [x + far, y + far] as const)));
        const grid = columnsOfRings(moved);
        const here = regionsOf(grid);
        const there = await regionsOn(context, grid);
        const each = inOrder(polygons.length).p;
        const pairs = { p: each, q: each.toReversed() };
        const found = await pairAreas(context, there, both ? there : here, pairs, { method: 'masks' });
        context.dispose(there);
        expect(found).toEqual(await pairAreas(context, here, here, pairs, { method: 'corners' }));
      }),
      { numRuns: scaledCount(backend.runs, 4, 2) },
    );
  });

  test('boxes found on the device equal those found on the host', { timeout: 300_000 }, async () => {
    const far = fc.constantFrom(-GRID_LIMIT, 1 - GRID_LIMIT, -1, 0, 7, GRID_LIMIT - 1, GRID_LIMIT);
    const input = fc.array(fc.array(fc.array(fc.tuple(far, far), { maxLength: 5 }), { maxLength: 3 }), {
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(input, async (polygons) => {
        const grid = columnsOfRings(polygons);
        const { vertices, ...regions } = await regionsOn(opened().context, grid);
        opened().context.dispose(vertices);
        expect(regions).toEqual(regionsOf(grid));
      }),
      { numRuns: backend.runs },
    );
  });

  test('no memory leaks', async () => {
    const pairs = fc.sample(rectilinearPairs({ maxPairs: 10 }), { numRuns: 3, seed: 7 });
    const { counters } = opened().context.backend;
    const before = { buffers: counters.liveBuffers, bytes: counters.liveBytes };
    for (const method of ['masks', 'corners', 'sweep', 'auto'] as const) {
      for (const each of pairs) {
        const { p, q } = sidesOf(each);
        await pairAreas(opened().context, p, q, inOrder(each.areas.length), { method });
        const there = await regionsOn(opened().context, p);
        await pairAreas(opened().context, there, q, inOrder(each.areas.length), { method });
        opened().context.dispose(there);
      }
    }
    expect({ buffers: counters.liveBuffers, bytes: counters.liveBytes }).toEqual(before);
  });
}, dealtBackends());

const rectangle = (width: number, height: number): [number, number][] => [
  [0, 0],
  [width, 0],
  [width, height],
  [0, height],
];

/** A comb with `teeth` teeth, each one pixel wide, with gaps of one pixel. */
const comb = (teeth: number): [number, number][] => [
  ...Array.from({ length: teeth }, (_, i): [number, number][] => [
    [2 * i, 1],
    [2 * i, teeth],
    [2 * i + 1, teeth],
    [2 * i + 1, 1],
  ]).flat(),
  [2 * teeth, 1],
  [2 * teeth, 0],
  [0, 0],
];

const regionOf = (...rings: [number, number][][]): Regions =>
  regionsOf(
    gridPolygons({
      polygonRings: Uint32Array.from({ length: rings.length + 1 }, (_, i) => i),
      ringVertices: Uint32Array.from([0, ...rings.map((_, i) => rings.slice(0, i + 1).flat().length)]),
      x: Float64Array.from(rings.flat(), ([x]) => x),
      y: Float64Array.from(rings.flat(), ([, y]) => y),
    }),
  );

describe('pairAreas refuses', () => {
  const square = (): Regions => regionOf(rectangle(4, 4));
  const one = Uint32Array.of(0);
  const context = new Context(createReferenceBackend());
  const areas = (pairs: RegionPairs, options: PairAreaOptions = {}) =>
    pairAreas(context, square(), square(), pairs, options);

  test('pairs of missing regions and pair columns of different lengths', async () => {
    const refused = expect.objectContaining({ code: 'pixelbox/pairs' });
    await expect(areas({ p: Uint32Array.of(1), q: one })).rejects.toThrow(refused);
    await expect(areas({ p: one, q: Uint32Array.of(7) })).rejects.toThrow(refused);
    await expect(areas({ p: Uint32Array.of(0, 0), q: one })).rejects.toThrow(refused);
  });

  test('wrong methods and memory limits', async () => {
    const pairs = { p: one, q: one };
    const method = areas(pairs, { method: 'foo' as AreaMethod });
    await expect(method).rejects.toThrow(expect.objectContaining({ code: 'pixelbox/method' }));
    for (const memoryBytes of [0, -1, Number.NaN]) {
      await expect(areas(pairs, { memoryBytes })).rejects.toThrow(
        expect.objectContaining({ code: 'pixelbox/memory-bytes' }),
      );
    }
  });

  test('no memory leaks when there is no room for the corners of both sides', async () => {
    const { counters } = context.backend;
    const before = counters.liveBuffers;
    for (let bytes = 64; bytes < 4096; bytes += 64) {
      const small = new Context(createReferenceBackend({ limits: { memoryBytes: bytes } }));
      const each = { p: one, q: one };
      await pairAreas(small, square(), square(), each, { method: 'corners' }).catch(() => undefined);
      await small.sync().catch(() => undefined);
      expect(small.backend.counters.liveBuffers).toBe(0);
      await small.close();
    }
    expect(counters.liveBuffers).toBe(before);
  });
});

test('regions that no pair of a batch refers to take no memory', async () => {
  const backend = createReferenceBackend();
  const allocate = vi.spyOn(backend, 'allocate');
  const context = new Context(backend);
  const [count, rows, memoryBytes] = [100, 50, 4000];
  const regions = regionOf(...Array.from({ length: count }, () => rectangle(20, rows)));
  const each = new Uint32Array(count);
  const { intersection } = await pairAreas(context, regions, regions, { p: each, q: each }, { memoryBytes });
  expect([...intersection]).toEqual(new Array(count).fill(BigInt(20 * rows)));
  expect(4 * Math.max(...allocate.mock.calls.map(([words]) => words))).toBeLessThanOrEqual(memoryBytes);
  await context.close();
});

describe('the choice of a method', () => {
  const [few, small, toothed] = [rectangle(1_000_000, 1_000_000), rectangle(20, 30), comb(3000)];
  const choose = (p: [number, number][], q: [number, number][]): AreaPlan =>
    planAreas(regionOf(p), regionOf(q), inOrder(1), 'auto');

  test('draws regions whose masks are small', () => {
    expect([...choose(small, small).narrow]).toEqual([0]);
  });

  test('sums the corners of regions with few corners and many pixels', () => {
    expect([...choose(few, small).corners32]).toEqual([0]);
    expect([...choose(few, few).corners64]).toEqual([0]);
  });

  test('sweeps regions with large masks and many corners', () => {
    const scaled = toothed.map(([x, y]): [number, number] => [x * 1000, y * 1000]);
    expect([...choose(scaled, scaled).sweep]).toEqual([0]);
  });

  test('covers every pair exactly once', () => {
    fc.assert(
      fc.property(
        rectilinearPairs({ maxPairs: 30 }),
        fc.constantFrom('auto', 'masks', 'corners', 'sweep'),
        (pairs, method) => {
          const { p, q } = sidesOf(pairs);
          const plan = planAreas(p, q, inOrder(pairs.areas.length), method as AreaMethod);
          const { narrow, banded, corners32, corners64, sweep } = plan;
          const listed = [narrow, banded, corners32, corners64, sweep].flatMap((list) => [...list]);
          expect(listed.toSorted((a, b) => a - b)).toEqual([...inOrder(pairs.areas.length).p]);
        },
      ),
    );
  });
});
