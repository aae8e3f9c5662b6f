import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildMaqTree } from '../../../algorithms/maq-tree/index.ts';
import { DOMAIN_STEPS, decompose, WORLD } from '../../../algorithms/quadrants/index.ts';
import {
  joinPolygons,
  placePoints,
  type QueryPolygons,
  queryPoints,
  queryPolygons,
} from '../../../algorithms/queries/index.ts';
import { ArgumentError } from '../../../primitives/checks/errors.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { onEveryBackend } from '../../backends.ts';
import { scaledCount, THOROUGH } from '../../cases.ts';
import { LEVELS, polygons } from '../../support/arbitrary-domain-polygons.ts';
import { overlapByHand } from '../../support/overlaps-by-hand.ts';
import { type QuadrantByHand, splitByHand } from '../../support/quadrants-by-hand.ts';
import { columnsOfRings, type Ring } from '../../support/ring-columns.ts';

const DOMAIN = { x: 0, y: 0, side: DOMAIN_STEPS };

async function join(context: Context, sets: Ring[][][], asked: Ring[][], levels: number, capacity?: number) {
  const options = { levels, keepsEdges: true } as const;
  const quadrants = [];
  for (const set of sets) quadrants.push(await decompose(context, columnsOfRings(set), options));
  const tree = await buildMaqTree(context, quadrants);
  const queries = await decompose(context, columnsOfRings(asked), options);
  const candidates = await queryPolygons(context, tree, queries, { capacity });
  const pairs = await joinPolygons(context, tree, queries, { capacity });
  const [filtered, rows] = [await rowsOf(context, candidates), await rowsOf(context, pairs)];
  const touching = candidatesByHand(sets, asked, levels);
  expect(filtered).toEqual(touching);
  context.dispose(quadrants, tree, queries, candidates, pairs);
  return rows;
}

/** The expected candidates: pairs of polygons in which a quadrant of one polygon contains a quadrant of the other. */
function candidatesByHand(sets: Ring[][][], asked: Ring[][], levels: number): number[][] {
  const piecesOf = (set: Ring[][]) => set.map((rings, polygon) => splitByHand(polygon, rings, levels));
  const trees = sets.map(piecesOf);
  const holds = (a: QuadrantByHand, b: QuadrantByHand): boolean =>
    a.level <= b.level && b.code >> BigInt(2 * (b.level - a.level)) === a.code;
  return piecesOf(asked).flatMap((own, query) =>
    trees.flatMap((tree, set) =>
      tree.flatMap((pieces, polygon) =>
        own.some((a) => pieces.some((b) => holds(a, b) || holds(b, a))) ? [[query, set, polygon]] : [],
      ),
    ),
  );
}

async function rowsOf(
  context: Context,
  pairs: QueryPolygons,
): Promise<[query: number, set: number, polygon: number][]> {
  const { query, set, polygon } = await context.read({ ...pairs });
  return Array.from(query, (number, i) => [number, set[i]!, polygon[i]!]);
}

onEveryBackend((opened, { runs }) => {
  test('the join returns the polygons that share area, as a test by hand over the whole plane', {
    timeout: 240_000,
  }, async () => {
    const capacities = fc.constantFrom(undefined, 1, 9);
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(polygons, polygons),
        polygons,
        fc.integer({ min: 0, max: LEVELS + 1 }),
        capacities,
        async (sets, others, levels, capacity) => {
          const { context } = opened();
          const { liveBytes } = context.backend.counters;
          // Some queries are polygons of the first set, so that a query and a polygon share all edges.
          const asked = [...others, ...sets[0].slice(0, 2)];
          const found = await join(context, sets, asked, levels, capacity);
          expect(context.backend.counters.liveBytes).toBe(liveBytes);
          const expected = asked.flatMap((p, query) =>
            sets.flatMap((set, s) =>
              set.flatMap((q, polygon) => (overlapByHand({ p, q, ...DOMAIN }).overlaps ? [[query, s, polygon]] : [])),
            ),
          );
          expect(found).toEqual(expected);
        },
      ),
      { numRuns: scaledCount(runs, 1 / 2, 1 / 3) },
    );
  });

  test('neighbours in a partition of the plane do not join, at any level', async () => {
    const { context } = opened();
    const [a, b] = [DOMAIN_STEPS / 3, DOMAIN_STEPS / 2].map(Math.floor) as [number, number];
    const centre = [a, b] as const;
    const corners: Ring = [
      [0, 0],
      [DOMAIN_STEPS, 0],
      [DOMAIN_STEPS, DOMAIN_STEPS],
      [0, DOMAIN_STEPS],
    ];
    const triangles = corners.map((corner, i): Ring[] => [[corner, corners[(i + 1) % 4]!, centre]]);
    for (const levels of THOROUGH ? [0, 1, 5, 9] : [0, 1, 5]) {
      const found = await join(context, [triangles], triangles, levels);
      expect(found).toEqual([0, 1, 2, 3].map((number) => [number, 0, number]));
    }
  });

  test('refused: boundary quadrants of different sizes, a capacity of 0', async () => {
    const { context } = opened();
    const triangle: Ring[] = [
      [
        [1, 1],
        [DOMAIN_STEPS - 1, 7],
        [9, DOMAIN_STEPS - 5],
      ],
    ];
    const [coarse, fine] = await Promise.all(
      [3, 5].map((levels) => decompose(context, columnsOfRings([triangle]), { levels, keepsEdges: true })),
    );
    const { liveBytes } = context.backend.counters;
    for (const [tree, queries] of [
      [coarse!, fine!],
      [fine!, coarse!],
    ] as const) {
      const built = await buildMaqTree(context, [tree]);
      const refusal = joinPolygons(context, built, queries);
      await expect(refusal).rejects.toThrow(expect.objectContaining({ code: 'queries/levels' }));
      await expect(joinPolygons(context, built, queries, { capacity: 0 })).rejects.toThrow(ArgumentError);
      context.dispose(built);
    }
    expect(context.backend.counters.liveBytes).toBe(liveBytes);
    context.dispose(coarse, fine);
  });

  test('refused: quadrants and trees without edges', async () => {
    const { context } = opened();
    const triangle = columnsOfRings([
      [
        [
          [1, 1],
          [9, 1],
          [1, 9],
        ],
      ],
    ]);
    const plain = await decompose(context, triangle, { levels: 3 });
    const kept = await decompose(context, triangle, { levels: 3, keepsEdges: true });
    const trees = { plain: await buildMaqTree(context, [plain]), kept: await buildMaqTree(context, [kept]) };
    const refused = expect.objectContaining({ code: 'queries/edges' });
    await expect(joinPolygons(context, trees.plain as never, kept)).rejects.toThrow(refused);
    await expect(joinPolygons(context, trees.kept, plain as never)).rejects.toThrow(refused);
    const points = placePoints(context, { x: [1], y: [1] }, WORLD);
    await expect(queryPoints(context, trees.plain as never, points)).rejects.toThrow(refused);
    context.dispose(plain, kept, trees, points);
  });
});
