import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildMaqTree } from '../../../algorithms/maq-tree/index.ts';
import { DOMAIN_STEPS, type Domain, decompose, WORLD } from '../../../algorithms/quadrants/index.ts';
import { placePoints, queryPoints } from '../../../algorithms/queries/index.ts';
import { mulberry32 } from '../../../bench/shared/random.ts';
import { onEveryBackend } from '../../backends.ts';
import { LEVELS, polygons, vertex } from '../../support/arbitrary-domain-polygons.ts';
import { ringsHold } from '../../support/quadrants-by-hand.ts';
import { expectRefusal, openReference } from '../../support/reference-context.ts';
import { columnsOfRings, type Ring } from '../../support/ring-columns.ts';

/** A domain whose grid has steps of length 1, so that coordinates count steps. */
const STEPS: Domain = { left: 0, bottom: 0, size: DOMAIN_STEPS };

type Point = readonly [x: number, y: number];
const next = fc.constantFrom(-1, 0, 1);
const points = fc.array(
  fc.oneof(
    vertex,
    fc.tuple(vertex, next, next).map(([[x, y], dx, dy]): Point => [x + dx, y + dy]),
  ),
  {
    maxLength: 12,
  },
);

onEveryBackend((opened, { runs }) => {
  test('points are in the same polygons as by an even-odd test of all edges', {
    timeout: 120_000,
  }, async () => {
    const sets = fc.tuple(polygons, polygons);
    await fc.assert(
      fc.asyncProperty(sets, points, fc.integer({ min: 0, max: LEVELS + 1 }), async (sets, others, levels) => {
        const { context } = opened();
        const { liveBytes } = context.backend.counters;
        // The points are arbitrary ones and vertices, which are on edges.
        const asked: Point[] = [...sets.flat(3).slice(0, 12), ...others];
        const quadrants = [];
        for (const set of sets)
          quadrants.push(await decompose(context, columnsOfRings(set), { levels, keepsEdges: true }));
        const tree = await buildMaqTree(context, quadrants);
        const placed = placePoints(context, { x: asked.map(([x]) => x), y: asked.map(([, y]) => y) }, STEPS);
        const pairs = await queryPoints(context, tree, placed);
        const found = await context.read({ ...pairs });
        context.dispose(quadrants, tree, placed, pairs);
        expect(context.backend.counters.liveBytes).toBe(liveBytes);

        const expected = asked.flatMap((point, number) =>
          sets.flatMap((set, s) =>
            set.flatMap((rings, p) => (ringsHold(rings, point) ? [[number, s, p].join(' ')] : [])),
          ),
        );
        const rows = Array.from(found.point, (point, i) => [point, found.set[i], found.polygon[i]].join(' '));
        expect(rows.toSorted()).toEqual(expected.toSorted());
        expect([...found.point]).toEqual([...found.point].sort((a, b) => a - b));
      }),
      { numRuns: 3 * runs },
    );
  });

  test('many points in a large tree find what they find in parts', { timeout: 120_000 }, async () => {
    const { context } = opened();
    const { liveBytes } = context.backend.counters;
    const quadrants = await decompose(context, columnsOfRings(CROSSING), { levels: 12, keepsEdges: true });
    const tree = await buildMaqTree(context, [quadrants]);
    expect(tree.nodes.level.length).toBeGreaterThan(2 ** 15);
    await fc.assert(
      fc.asyncProperty(fc.array(manyPoints, { minLength: 4, maxLength: 4 }), async (parts) => {
        const answers = [];
        for (const part of [parts.flat(), ...parts]) {
          const placed = placePoints(context, { x: part.map(([x]) => x), y: part.map(([, y]) => y) }, STEPS);
          const pairs = await queryPoints(context, tree, placed);
          answers.push(await context.read({ ...pairs }));
          context.dispose(placed, pairs);
        }
        const [all, ...ofParts] = answers.map(({ point, set, polygon }) => ({ point: [...point], set, polygon }));
        const firsts = parts.map((_, k) => parts.slice(0, k).flat().length);
        expect(all!.point).toEqual(ofParts.flatMap(({ point }, k) => point.map((at) => at + firsts[k]!)));
        for (const name of ['set', 'polygon'] as const)
          expect(all![name].join()).toBe(ofParts.flatMap((part) => [...part[name]]).join());
      }),
      { numRuns: runs },
    );
    context.dispose(quadrants, tree);
    expect(context.backend.counters.liveBytes).toBe(liveBytes);
  });
});

/** Two triangles that overlap, along whose edges there are many quadrants, and a small one beside an edge. */
const CROSSING = [
  [
    [1, 7],
    [DOMAIN_STEPS - 3, DOMAIN_STEPS / 5],
    [DOMAIN_STEPS / 3, DOMAIN_STEPS - 1],
  ],
  [
    [DOMAIN_STEPS / 2, 0],
    [DOMAIN_STEPS - 1, DOMAIN_STEPS - 1],
    [5, DOMAIN_STEPS / 2],
  ],
  [
    [DOMAIN_STEPS / 2, 1],
    [DOMAIN_STEPS / 2 + 9, 1],
    [DOMAIN_STEPS / 2, 12],
  ],
].map((ring): Ring[] => [ring.map(([x, y]): [number, number] => [Math.floor(x!), Math.floor(y!)])]);

/** So many points that four times as many are sorted before they walk: anywhere, on vertices, and outside the domain. */
const manyPoints = fc.integer().map((seed) => {
  const random = mulberry32(seed);
  const vertices = CROSSING.flat(2);
  return Array.from({ length: 2 ** 12 + (seed & 1) }, (): Point => {
    if (random() < 0.8) return [(DOMAIN_STEPS + 1) * random() - 1, (DOMAIN_STEPS + 1) * random()];
    const [x, y] = vertices[Math.floor(vertices.length * random())]!;
    return [x + 20 * random() - 10, y + 20 * random() - 10];
  });
});

test('points round to the nearest step; points outside the domain are in no polygon', async () => {
  await using context = openReference();
  const placed = placePoints(
    context,
    { x: [0.1, -180, 180, -1e9, Number.POSITIVE_INFINITY], y: [1, 2, 3, 4, 5] },
    WORLD,
  );
  expect([...(await context.read(placed.x))]).toEqual([
    Math.round((180.1 / 360) * DOMAIN_STEPS),
    0,
    DOMAIN_STEPS,
    DOMAIN_STEPS,
    DOMAIN_STEPS,
  ]);
});

test('refused: points with one coordinate, coordinates that are not numbers', () => {
  const context = openReference();
  expectRefusal(context, 'queries/points', () => placePoints(context, { x: [0], y: [] }, WORLD));
  expectRefusal(context, 'queries/points', () => placePoints(context, { x: [0], y: [Number.NaN] }, WORLD));
});
