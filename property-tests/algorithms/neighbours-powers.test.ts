import { afterAll, beforeAll, expect } from 'vitest';
import { buildPointTree, nearest, nearestInTree, withinRadius } from '../../algorithms/neighbours/index.ts';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context/context.ts';
import { onEveryBackend } from '../backends.ts';
import { caseCount, costlyCaseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { assertSame } from '../laws/compare.ts';
import { clouds, LARGEST, withoutSubnormals } from '../support/neighbours-clouds.ts';

let reference: Context;
beforeAll(() => {
  reference = new Context(createReferenceBackend());
});
afterAll(() => reference.close());

const powers = fc.oneof(fc.constantFrom(2, 3, 4, 8, 63, 64), fc.integer({ min: 2, max: 64 }));

/** The distance in f64, which is off by far less than a step of f32. Subnormal coordinates and differences count as 0. */
function distanceByHand(power: number, a: Float32Array, b: Float32Array): number {
  const plain = withoutSubnormals;
  const gaps = Array.from(a, (x, d) => Math.abs(plain(plain(x) - plain(b[d]!))));
  const max = Math.max(...gaps);
  if (!Number.isFinite(max)) return Number.POSITIVE_INFINITY;
  return max === 0 ? 0 : max * gaps.reduce((sum, gap) => sum + (gap / max) ** power, 0) ** (1 / power);
}

onEveryBackend((opened, { name }) => {
  test('distances by powers are near those of real arithmetic, the same by scan, tree and radius, at all scales', async () => {
    await fc.assert(
      fc.asyncProperty(clouds, powers, fc.nat(), async ({ dimensions, count, elements }, power, seed) => {
        const metric = { lp: power };
        const row = (i: number) => elements.subarray(i * dimensions, (i + 1) * dimensions);
        const scan = (on: Context) => {
          const points = { elements: on.column(elements), dimensions };
          return on.read({ ...nearest(on, points, points, { k: count, metric }) });
        };
        const { context } = opened();
        const { ids, distances } = await scan(context);
        const bound = (6 + dimensions / power) * 2 ** -24;
        for (const [i, distance] of distances.entries()) {
          const query = Math.floor(i / count);
          const real = distanceByHand(power, row(query), row(ids[i]!));
          const isNear =
            distance === Number.POSITIVE_INFINITY
              ? real * (1 + bound) > LARGEST
              : Math.abs(distance - real) <= bound * real;
          expect([i, distance, real, isNear]).toEqual([i, distance, real, true]);
          if (i % count === 0) continue;
          const isInOrder = distances[i - 1]! < distance || (distances[i - 1] === distance && ids[i - 1]! < ids[i]!);
          expect([i, isInOrder]).toEqual([i, true]);
        }
        if (name !== 'reference') assertSame({ ids, distances }, await scan(reference));
        if (dimensions !== 2 && dimensions !== 3) return;
        const points = { elements: context.column(elements), dimensions };
        const tree = buildPointTree(context, points);
        const found = await context.read({ ...nearestInTree(context, tree, points, { k: count, metric }) });
        assertSame(found, { ids, distances });
        const radius = distances[seed % distances.length]!;
        const within = await withinRadius(context, tree, points, { radius, metric, sorted: true });
        const isWithin = (_: number, i: number) => distances[i]! <= radius;
        assertSame(await context.read({ ids: within.ids, distances: within.distances }), {
          ids: ids.filter(isWithin),
          distances: distances.filter(isWithin),
        });
        context.dispose(tree, points, within);
      }),
      { numRuns: name === 'reference' ? caseCount(60) : costlyCaseCount(name === 'workers' ? 8 : 3) },
    );
  });

  test('a high power of ordinary, large or small numbers finds the nearest', async () => {
    const { context } = opened();
    for (const scale of [1, 1e-20, 1e-37, 1e37]) {
      const [far, near] = [Math.fround(6 * scale), Math.fround(5 * scale)];
      const points = { elements: context.column(Float32Array.of(0, far, near)), dimensions: 1 };
      const query = { elements: context.column(Float32Array.of(0)), dimensions: 1 };
      // Every power is a kernel of its own, which devices are slow to compile.
      for (const lp of name === 'reference' ? [2, 8, 64] : [64]) {
        const { ids, distances } = nearest(context, points, query, { k: 3, metric: { lp } });
        assertSame(await context.read({ ids, distances }), {
          ids: Uint32Array.of(0, 2, 1),
          distances: Float32Array.of(0, near, far),
        });
      }
    }
  });
});
