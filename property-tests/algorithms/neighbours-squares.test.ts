import { afterAll, beforeAll, expect } from 'vitest';
import { buildPointTree, NO_POINT, nearest, nearestInTree, withinRadius } from '../../algorithms/neighbours/index.ts';
import { pairsWithin } from '../../algorithms/neighbours/pairs-within.ts';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context/context.ts';
import { onEveryBackend } from '../backends.ts';
import { caseCount, costlyCaseCount, THOROUGH } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { assertSame } from '../laws/compare.ts';
import { rounded, squaresByHand } from '../support/neighbours-by-hand.ts';
import { clouds, withoutSubnormals } from '../support/neighbours-clouds.ts';

let reference: Context;
beforeAll(() => {
  reference = new Context(createReferenceBackend());
});
afterAll(() => reference.close());

/** The exact sum of squares, in units of 2^−298, or undefined if it is not finite. */
function exactSquares(a: Float32Array, b: Float32Array): bigint | undefined {
  const whole = (x: number): bigint => BigInt(withoutSubnormals(x) * 2 ** 149);
  if (![...a, ...b].every(Number.isFinite)) return undefined;
  return a.reduce((sum, x, d) => sum + (whole(x) - whole(b[d]!)) ** 2n, 0n);
}

const wholeOf = (x: number): bigint => BigInt(x * 2 ** 298);

onEveryBackend((opened, { name }) => {
  // Software devices are slow to compile kernels, above all those with long lists.
  const isShort = name.startsWith('webgpu') && !THOROUGH;
  const long = isShort ? 3 : 30;

  test('squared distances have the order of real arithmetic, the same by scan, tree, radius and pairs, at all scales', async () => {
    await fc.assert(
      fc.asyncProperty(clouds, fc.nat(), async ({ dimensions, count, elements }, seed) => {
        const row = (i: number) => elements.subarray(i * dimensions, (i + 1) * dimensions);
        const { context } = opened();
        const points = { elements: context.column(elements), dimensions };
        const queries = Array.from({ length: count }, (_, query) =>
          Array.from({ length: count }, (_, id) => ({ id, square: squaresByHand(row(query), row(id)) })).sort((a, b) =>
            a.square === b.square ? a.id - b.id : a.square - b.square,
          ),
        );
        const all = queries.flat();
        const none = { id: NO_POINT, square: Number.POSITIVE_INFINITY };
        const listsOf = (k: number) => {
          const lists = queries.flatMap((list) => Array.from({ length: k }, (_, j) => list[j] ?? none));
          return {
            ids: Uint32Array.from(lists, ({ id }) => id),
            distances: Float32Array.from(lists, ({ square }) => square),
          };
        };
        for (const k of new Set([3, long])) {
          assertSame(await context.read({ ...nearest(context, points, points, { k }) }), listsOf(k));
        }
        const tree = dimensions === 2 || dimensions === 3 ? buildPointTree(context, points) : undefined;
        if (tree !== undefined) {
          assertSame(await context.read({ ...nearestInTree(context, tree, points, { k: long }) }), listsOf(long));
        }
        if (isShort) return;
        const radius = Math.fround(Math.sqrt(all[seed % all.length]!.square));
        const limit = radius < Number.POSITIVE_INFINITY ? rounded(radius ** 2) : Number.POSITIVE_INFINITY;
        const within = all.filter(({ square }) => square <= limit);
        const pairs = await context.read({ ...pairsWithin(context, points, points, { radius, metric: 'l2' }) });
        const byId = queries.flatMap((list, query) =>
          list
            .filter(({ square }) => square <= limit)
            .map(({ id, square }) => ({ query, id, square }))
            .sort((a, b) => a.id - b.id),
        );
        assertSame(pairs, {
          query: Uint32Array.from(byId, ({ query }) => query),
          id: Uint32Array.from(byId, ({ id }) => id),
          distance: Float32Array.from(byId, ({ square }) => square),
        });
        if (tree !== undefined) {
          const found = await withinRadius(context, tree, points, { radius, sorted: true });
          assertSame(await context.read({ ids: found.ids, distances: found.distances }), {
            ids: Uint32Array.from(within, ({ id }) => id),
            distances: Float32Array.from(within, ({ square }) => square),
          });
          context.dispose(tree, found);
        }
        context.dispose(points);
      }),
      {
        numRuns: name === 'reference' ? caseCount(25) : costlyCaseCount(name === 'workers' ? 10 : 1),
        examples: [[{ dimensions: 2, count: 3, elements: Float32Array.of(0, 0, 3e-20, 0, 2e-20, 0) }, 0]],
      },
    );
  });
});

test('rounded sums of squares are near the exact ones', () => {
  fc.assert(
    fc.property(clouds, ({ dimensions, count, elements }) => {
      const row = (i: number) => elements.subarray(i * dimensions, (i + 1) * dimensions);
      for (let id = 0; id < count; id++) {
        const [square, exact] = [squaresByHand(row(0), row(id)), exactSquares(row(0), row(id))];
        if (exact === undefined || square === Number.POSITIVE_INFINITY) continue;
        const off = wholeOf(square) - exact;
        // Differences below 2^−126 count as 0.
        const bound = BigInt(dimensions + 3) * exact + (BigInt(dimensions) << (298n - 252n + 24n));
        expect((off < 0n ? -off : off) * 2n ** 24n <= bound).toBe(true);
      }
    }),
    { numRuns: caseCount(100) },
  );
});
