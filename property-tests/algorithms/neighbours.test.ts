import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  buildPointTree,
  LIST,
  type Metric,
  NO_POINT,
  nearest,
  nearestInTree,
  withinRadius,
} from '../../algorithms/neighbours/index.ts';
import type { Context } from '../../primitives/context/context.ts';
import { onEveryBackend } from '../backends.ts';
import { costlyCaseCount, THOROUGH } from '../cases.ts';
import { assertSame } from '../laws/compare.ts';
import { byDistance, type HostPoints, listsOf, rowOf } from '../support/neighbours-by-hand.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

/** Coordinates of points: scattered, on a lattice, in one place, on a line, clustered with outliers, or not finite. */
const clouds: readonly ((u: number, i: number, d: number) => number)[] = [
  (u) => u,
  (u) => Math.floor(u * 5) - 2,
  () => 7,
  (u, _, d) => (d === 0 ? u : 0.5),
  (u, i) => (i % 97 === 5 ? (u - 0.5) * 1e30 : 1000 + u),
  (u, i) => (i < 3 ? 0 : -74 + u / 5),
  (u, i) =>
    i % 11 === 0 ? [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0][i % 4]! : u * ((i % 3) - 1),
];

function cloud(kind: number, count: number, dimensions: number, seed: number): HostPoints {
  let state = seed >>> 0;
  const elements = Float32Array.from({ length: count * dimensions }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return clouds[kind]!(state / 2 ** 32, Math.floor(i / dimensions), i % dimensions);
  });
  return { elements, dimensions };
}

/**
 * Points near the corners of a cube, so that all points are almost equally far from the middle of the cube. The
 * absolute values of the coordinates range from 600 to 600 + `steps` · 2⁻¹⁴.
 */
function nearlyEquallyFar(count: number, dimensions: number, steps: number, seed: number): HostPoints {
  const { elements } = cloud(0, count * dimensions, 1, seed);
  const moved = elements.map((u) => {
    const size = 600 + Math.floor(((64 * u) % 1) * (steps + 1)) * 2 ** -14;
    return u < 0.5 ? size : -size;
  });
  return { elements: moved, dimensions };
}

const kind = fc.nat(clouds.length - 1);
/** Numbers of points that are close to the sizes of a tree's leaves, of brute-force runs, and of tree levels. */
const count = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constantFrom(64, 65, 127, 129, 300));
const k = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom(LIST, LIST + 1, 40));
const seed = fc.nat(2 ** 20);
const bounded = fc.constantFrom<Metric[]>('l1', 'l2', 'max');
const anyMetric = fc.constantFrom<Metric[]>('l1', 'l2', 'max', { lp: 1 }, 'cosine', 'inner');

const place = (context: Context, { elements, dimensions }: HostPoints) => ({
  elements: context.column(elements),
  dimensions,
});

const queriesOf = ({ elements, dimensions }: HostPoints): Float32Array[] =>
  Array.from({ length: elements.length / dimensions }, (_, i) => rowOf({ elements, dimensions }, i));

onEveryBackend((opened, { name }) => {
  const numRuns = name.startsWith('webgpu') ? costlyCaseCount(6) : THOROUGH ? 40 : 3;

  test('nearest over all points equals the formula, with ties broken by id', async () => {
    const dimensions = fc.constantFrom(1, 2, 3, 5, 16, 33);
    await fc.assert(
      fc.asyncProperty(
        kind,
        count,
        fc.nat(9),
        dimensions,
        k,
        anyMetric,
        seed,
        async (kind, n, m, dimensions, k, metric, seed) => {
          const [points, queries] = [cloud(kind, n, dimensions, seed), cloud(kind, m, dimensions, seed + 1)];
          const found = await opened().run((context) => {
            const { ids, distances } = nearest(context, place(context, points), place(context, queries), { k, metric });
            return { ids, distances };
          });
          assertSame(
            found,
            listsOf(
              k,
              queriesOf(queries).map((query) => byDistance(metric, points, query)),
            ),
          );
        },
      ),
      { numRuns },
    );
  }, 120_000);

  test('nearest over many points equals the formula, whether or not the f32 filter can decide', async () => {
    const far = fc.constantFrom(0, 1, 1000, 1e18, 1e20);
    const counts = fc.constantFrom(1023, 1024, 1500, 2300);
    const [dimensions, k] = [fc.constantFrom(16, 20, 33), fc.constantFrom(1, 10, 11, 12)];
    await fc.assert(
      fc.asyncProperty(kind, counts, fc.nat(4), dimensions, k, far, seed, async (...given) => {
        const [kind, n, m, dimensions, k, offset, seed] = given;
        const moved = ({ elements }: HostPoints) => ({ elements: elements.map((x) => x + offset), dimensions });
        const [points, queries] = [
          moved(cloud(kind, n, dimensions, seed)),
          moved(cloud(kind, m, dimensions, seed + 1)),
        ];
        const found = await opened().run((context) => ({
          ...nearest(context, place(context, points), place(context, queries), { k }),
        }));
        const lists = queriesOf(queries).map((query) => byDistance('l2', points, query));
        assertSame(found, listsOf(k, lists));
      }),
      { numRuns: Math.ceil(numRuns / 2) },
    );
  }, 120_000);

  test('nearest equals the formula when distances differ by less than the error of the filter', async () => {
    const [counts, dimensions] = [fc.constantFrom(1024, 1500), fc.constantFrom(16, 17, 33, 64)];
    const [k, steps] = [fc.constantFrom(1, 2, 10), fc.constantFrom(1, 2, 4, 64)];
    await fc.assert(
      fc.asyncProperty(counts, dimensions, k, steps, seed, async (n, dimensions, k, steps, seed) => {
        const points = nearlyEquallyFar(n, dimensions, steps, seed);
        const queries = nearlyEquallyFar(3, dimensions, steps, seed + 1);
        const found = await opened().run((context) => ({
          ...nearest(context, place(context, points), place(context, queries), { k }),
        }));
        const lists = queriesOf(queries).map((query) => byDistance('l2', points, query));
        assertSame(found, listsOf(k, lists));
      }),
      { numRuns },
    );
  }, 120_000);

  test('nearest in a tree equals nearest over all points', async () => {
    await fc.assert(
      fc.asyncProperty(
        kind,
        count,
        fc.nat(9),
        fc.constantFrom(2, 3),
        k,
        bounded,
        fc.boolean(),
        seed,
        async (...given) => {
          const [kind, n, m, dimensions, k, metric, itself, seed] = given;
          const [points, queries] = [cloud(kind, n, dimensions, seed), cloud(kind, m, dimensions, seed + 1)];
          const found = await opened().run((context) => {
            const tree = buildPointTree(context, place(context, points));
            const others = nearestInTree(context, tree, place(context, queries), { k, metric });
            const own = nearestInTree(context, tree, 'points', { k, metric, itself });
            return { others: { ...others }, own: { ...own } };
          });
          const others = queriesOf(queries).map((query) => byDistance(metric, points, query));
          const own = queriesOf(points).map((query, i) =>
            byDistance(metric, points, query).filter(({ id }) => itself || id !== i),
          );
          assertSame(found, { others: listsOf(k, others), own: listsOf(k, own) });
        },
      ),
      // The squares of an outlier's distances leave f32.
      { numRuns, examples: [[4, 64, 6, 2, 6, 'l2', false, 0]] },
    );
  }, 120_000);

  test('points within a radius equal those of the formula', async () => {
    await fc.assert(
      fc.asyncProperty(kind, count, fc.nat(9), fc.constantFrom(2, 3), bounded, fc.boolean(), seed, async (...given) => {
        const [kind, n, m, dimensions, metric, isOwn, seed] = given;
        const [points, queries] = [cloud(kind, n, dimensions, seed), cloud(kind, m, dimensions, seed + 1)];
        const radius = [0, 0.05, 0.5, 2, Number.POSITIVE_INFINITY][seed % 5]!;
        const { context } = opened();
        const tree = buildPointTree(context, place(context, points));
        const asked = isOwn ? 'points' : place(context, queries);
        const found = await withinRadius(context, tree, asked, { radius, metric, sorted: true });
        const limit = metric === 'l2' ? Math.fround(Math.fround(radius) ** 2) : Math.fround(radius);
        const lists = queriesOf(isOwn ? points : queries).map((query, i) =>
          byDistance(metric, points, query).filter(({ id, distance }) => distance <= limit && !(isOwn && id === i)),
        );
        let sum = 0;
        const offsets = Uint32Array.from([0, ...lists.map(({ length }) => (sum += length))]);
        const all = lists.flat();
        assertSame(await context.read({ ...found }), {
          offsets,
          ids: Uint32Array.from(all, ({ id }) => id),
          distances: Float32Array.from(all, ({ distance }) => distance),
        });
        context.dispose(tree, asked, found);
      }),
      { numRuns },
    );
  }, 120_000);
});

describe('neighbours', () => {
  const context = openReference();
  const plane = { elements: context.column(Float32Array.of(0, 0, 3, 4, 1, 1, 5, 5)), dimensions: 2 };
  const tree = buildPointTree(context, plane);

  test('are found in several rounds for k above a thousand', async () => {
    const points = cloud(1, 1500, 2, 5);
    const placed = place(context, points);
    const query = { elements: context.column(Float32Array.of(0.25, 0.5)), dimensions: 2 };
    const expected = listsOf(1024, [byDistance('l2', points, Float32Array.of(0.25, 0.5))]);
    const own = buildPointTree(context, placed);
    assertSame(await context.read({ ...nearest(context, placed, query, { k: 1024 }) }), expected);
    assertSame(await context.read({ ...nearestInTree(context, own, query, { k: 1024 }) }), expected);
  });

  test('equal those of f64 where f32 is exact', async () => {
    const lattice = Float32Array.from({ length: 600 }, (_, i) => (Math.imul(i, 2654435761) >>> 24) - 128);
    const points = { elements: context.column(lattice), dimensions: 3 };
    const { ids } = nearest(context, points, points, { k: 3 });
    const distance = (i: number, j: number): number =>
      [0, 1, 2].reduce((sum, d) => sum + (lattice[3 * i + d]! - lattice[3 * j + d]!) ** 2, 0);
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    const expected = numbers.flatMap((i) =>
      numbers.toSorted((a, b) => distance(i, a) - distance(i, b) || a - b).slice(0, 3),
    );
    expect(await context.read(ids)).toEqual(Uint32Array.from(expected));
  });

  test('refuse unsupported options', () => {
    const odd = { elements: plane.elements, dimensions: 3 };
    const line = { elements: plane.elements, dimensions: 1 };
    expectRefusal(context, 'neighbours/points', () => nearest(context, odd, plane, { k: 1 }));
    expectRefusal(context, 'neighbours/dimensions', () => nearest(context, plane, line, { k: 1 }));
    expectRefusal(context, 'neighbours/k', () => nearest(context, plane, plane, { k: 0 }));
    expectRefusal(context, 'neighbours/metric', () => nearest(context, plane, plane, { k: 1, metric: { lp: 0.5 } }));
    expectRefusal(context, 'neighbours/dimensions', () => buildPointTree(context, line));
    expectRefusal(context, 'neighbours/metric', () => nearestInTree(context, tree, plane, { k: 1, metric: 'cosine' }));
  });

  test('refuse an invalid radius', async () => {
    const call = withinRadius(context, tree, plane, { radius: Number.NaN });
    await expect(call).rejects.toMatchObject({ code: 'neighbours/radius' });
  });

  test('with NaN are within no finite radius, however large', async () => {
    const points = { elements: context.column(Float32Array.of(0, 0, Number.NaN, 1, 2e30, 0)), dimensions: 2 };
    const withNaN = buildPointTree(context, points);
    for (const [radius, metric] of [
      [1e39, 'l2'],
      [1e39, 'l1'],
      [1e39, { lp: 2 }],
    ] as const) {
      const call = withinRadius(context, withNaN, plane, { radius, metric });
      await expect(call).rejects.toMatchObject({ code: 'neighbours/radius' });
    }
    const query = { elements: context.column(Float32Array.of(0, 0)), dimensions: 2 };
    for (const metric of ['l1', 'l2', 'max', { lp: 2 }, { lp: 64 }] as const) {
      const idsWithin = async (radius: number) =>
        context.read((await withinRadius(context, withNaN, query, { radius, metric, sorted: true })).ids);
      expect(await idsWithin(1e30)).toEqual(Uint32Array.of(0));
      expect(await idsWithin(3e30)).toEqual(Uint32Array.of(0, 2));
      expect(await idsWithin(Number.POSITIVE_INFINITY)).toEqual(Uint32Array.of(0, 2, 1));
    }
    const { ids } = await withinRadius(context, withNaN, query, { radius: -0 });
    expect(await context.read(ids)).toEqual(Uint32Array.of(0));
  });

  test('beyond the number of points are NO_POINT at infinite distance', async () => {
    const { ids, distances } = nearest(context, plane, plane, { k: 5 });
    expect([...(await context.read(ids))].filter((id) => id === NO_POINT)).toHaveLength(4);
    expect([...(await context.read(distances))].filter((each) => each === Number.POSITIVE_INFINITY)).toHaveLength(4);
  });
});
