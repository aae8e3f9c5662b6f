import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { FillRule } from '../../../algorithms/geometry/polygons.ts';
import { buildMaqTree } from '../../../algorithms/maq-tree/index.ts';
import {
  DOMAIN_STEPS,
  type Domain,
  type DomainPolygons,
  decompose,
  decomposeDepthFirst,
  decomposeWhole,
  placeInDomain,
  type Quadrants,
} from '../../../algorithms/quadrants/index.ts';
import {
  areasByRegion,
  joinPolygons,
  placePoints,
  queryPoints,
  queryPolygons,
} from '../../../algorithms/queries/index.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { onEveryBackend, plainBackends } from '../../backends.ts';
import { scaledCount, someOf } from '../../cases.ts';
import { LEVELS, polygons as ringSets, vertex } from '../../support/arbitrary-domain-polygons.ts';
import { overlapByHand } from '../../support/overlaps-by-hand.ts';
import { ringsHold, splitByHand } from '../../support/quadrants-by-hand.ts';
import { columnsOfRings, type Ring } from '../../support/ring-columns.ts';

/** A domain whose grid has steps of length 1, so that coordinates count steps. */
const STEPS: Domain = { left: 0, bottom: 0, size: DOMAIN_STEPS };
const PLANE = { x: 0, y: 0, side: DOMAIN_STEPS };

/** A polygon: a list of parts with their rings. */
type Parts = readonly (readonly Ring[])[];

/** Polygons whose parts touch, cross, nest and repeat one another. */
const polygons: fc.Arbitrary<Parts[]> = fc.array(ringSets, { maxLength: 3 });

function placed(all: readonly Parts[], fill?: FillRule): DomainPolygons {
  const { polygonRings, ringVertices, x, y } = columnsOfRings(all.map((parts) => parts.flat()));
  const ringParts = Uint32Array.from(all.flatMap((parts) => parts.flatMap((rings, part) => rings.map(() => part))));
  return placeInDomain(
    { polygonRings, ringVertices, ringParts, x: Float64Array.from(x), y: Float64Array.from(y) },
    STEPS,
    { fill },
  );
}

interface Row {
  readonly polygon: number;
  readonly level: number;
  readonly code: bigint;
  readonly boundary: number;
}

async function rowsOf(context: Context, quadrants: Quadrants): Promise<Row[]> {
  const { polygon, code, level, boundary } = quadrants;
  const found = await context.read({ polygon, lo: code.lo, hi: code.hi, level, boundary });
  return Array.from(found.polygon, (polygon, i) => ({
    polygon,
    level: found.level[i]!,
    code: (BigInt(found.hi[i]!) << 32n) | BigInt(found.lo[i]!),
    boundary: found.boundary[i]!,
  }));
}

const startOf = ({ level, code }: Row): bigint => code << BigInt(60 - 2 * level);
const endOf = ({ level, code }: Row): bigint => (code + 1n) << BigInt(60 - 2 * level);

/**
 * For each pair of polygons, the minimum and maximum of the area that they share, in square grid steps. An area shared
 * with a boundary quadrant counts only for the maximum.
 */
function sharedByRows(regions: readonly Row[], polygons: readonly Row[]): Map<string, [min: bigint, max: bigint]> {
  const shared = new Map<string, [bigint, bigint]>();
  for (const a of regions.filter(({ boundary }) => boundary < 2)) {
    for (const b of polygons.filter(({ boundary }) => boundary < 2)) {
      // One of the two quadrants contains the other, or they share no area.
      const smaller = a.level < b.level ? b : a;
      const [from, to] = [startOf(smaller), endOf(smaller)];
      if (from < startOf(a) || from < startOf(b) || to > endOf(a) || to > endOf(b)) continue;
      const [min, max] = shared.get(`${a.polygon} ${b.polygon}`) ?? [0n, 0n];
      const isSure = a.boundary === 0 && b.boundary === 0;
      shared.set(`${a.polygon} ${b.polygon}`, [isSure ? min + to - from : min, max + to - from]);
    }
  }
  return shared;
}

const numbers = fc.constantFrom(-1, 0, 1);
const points = fc.array(
  fc.oneof(
    vertex,
    fc.tuple(vertex, numbers, numbers).map(([[x, y], dx, dy]) => [x + dx, y + dy] as const),
  ),
  { maxLength: 12 },
);
const levelsOfTrees = fc.integer({ min: 0, max: LEVELS + 1 });

onEveryBackend((opened, { runs }) => {
  test('a point is in a polygon once if any part contains it', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.tuple(polygons, polygons), points, levelsOfTrees, async (sets, others, levels) => {
        const { context } = opened();
        const { liveBytes } = context.backend.counters;
        const asked = [...sets.flat(4).slice(0, 12), ...others];
        const expected = (holds: (parts: Parts, point: Ring[number]) => boolean): string[] =>
          asked.flatMap((point, number) =>
            sets.flatMap((set, s) => set.flatMap((parts, p) => (holds(parts, point) ? [`${number} ${s} ${p}`] : []))),
          );
        const ask = async (fill: FillRule | undefined): Promise<string[]> => {
          const quadrants = [];
          for (const set of sets) {
            quadrants.push(await decompose(context, placed(set, fill), { levels, keepsEdges: true }));
          }
          const tree = await buildMaqTree(context, quadrants);
          const at = placePoints(context, { x: asked.map(([x]) => x), y: asked.map(([, y]) => y) }, STEPS);
          const pairs = await queryPoints(context, tree, at);
          const found = await context.read({ ...pairs });
          context.dispose(quadrants, tree, at, pairs);
          return Array.from(found.point, (point, i) => `${point} ${found.set[i]} ${found.polygon[i]}`).sort();
        };
        expect(await ask(undefined)).toEqual(
          expected((parts, point) => parts.some((rings) => ringsHold(rings, point))).sort(),
        );
        expect(await ask('even-odd')).toEqual(expected((parts, point) => ringsHold(parts.flat(), point)).sort());
        expect(context.backend.counters.liveBytes).toBe(liveBytes);
      }),
      { numRuns: scaledCount(runs, 1, 1 / 2) },
    );
  });

  test('quadrants of a polygon are disjoint, except those of its different sheets', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(polygons, levelsOfTrees, async (all, levels) => {
        const { context } = opened();
        const quadrants = await decompose(context, placed(all), { levels });
        const rows = await rowsOf(context, quadrants);
        context.dispose(quadrants);
        for (const [i, row] of rows.entries()) {
          const before = rows[i - 1];
          if (row.boundary !== 0) expect(row.level).toBe(levels);
          if (row.boundary === 2) expect(before).toEqual({ ...row, boundary: before!.boundary || NaN });
          else if (before?.polygon === row.polygon) expect(startOf(row)).toBeGreaterThanOrEqual(endOf(before));
          if (before !== undefined) expect(row.polygon).toBeGreaterThanOrEqual(before.polygon);
        }
        // The quadrants of a polygon must cover all cells of the inside quadrants of its parts, and no cell outside of
        // all quadrants of its parts.
        const cellsOf = (some: readonly Pick<Row, 'polygon' | 'level' | 'code'>[]): Set<string> =>
          new Set(
            some.flatMap(({ polygon, level, code }) => {
              const below = levels - level;
              return Array.from(
                { length: 4 ** below },
                (_, i) => `${polygon} ${(code << BigInt(2 * below)) + BigInt(i)}`,
              );
            }),
          );
        const byHand = all.flatMap((parts, polygon) => parts.flatMap((rings) => splitByHand(polygon, rings, levels)));
        const [covered, possible] = [cellsOf(rows), cellsOf(byHand)];
        expect([...covered].filter((cell) => !possible.has(cell))).toEqual([]);
        // A part without area may cross another part of the same sheet (parts that do not overlap). A quadrant inside
        // the other part then becomes a boundary quadrant. So boundary quadrants may cover these cells, too.
        for (const cell of cellsOf(byHand.filter(({ boundary }) => !boundary))) expect(covered.has(cell)).toBe(true);
      }),
      { numRuns: scaledCount(runs, 1, 1 / 2) },
    );
  });

  test('every split gives the same quadrants', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(polygons, levelsOfTrees, async (all, levels) => {
        const { context } = opened();
        const own = placed(all);
        const made = [
          await decompose(context, own, { levels }),
          await decompose(context, own, { levels, memoryBytes: 800 }),
          await decomposeWhole(context, own, { levels }),
          await decomposeDepthFirst(context, own, { levels, split: 4 }),
        ];
        const [first, ...others] = await Promise.all(made.map((quadrants) => rowsOf(context, quadrants)));
        context.dispose(made);
        for (const other of others) expect(other).toEqual(first);
      }),
      { numRuns: Math.ceil(runs / 3) },
    );
  });
});

onEveryBackend(
  (opened, { runs }) => {
    test('polygons join where any of their parts share area; common area counts once', {
      timeout: 240_000,
    }, async () => {
      await fc.assert(
        fc.asyncProperty(polygons, polygons, levelsOfTrees, async (all, others, levels) => {
          const { context } = opened();
          const { liveBytes } = context.backend.counters;
          const asked = [...others, ...all.slice(0, 1)];
          const quadrants = await decompose(context, placed(all), { levels, keepsEdges: true });
          const regions = await decompose(context, placed(asked), { levels, keepsEdges: true });
          const tree = await buildMaqTree(context, [quadrants]);
          const [candidates, joined, areas] = [
            await queryPolygons(context, tree, regions),
            await joinPolygons(context, tree, regions),
            await areasByRegion(context, tree, regions),
          ];
          const pairsOf = async ({ query, polygon }: typeof joined): Promise<string[]> => {
            const found = await context.read({ query, polygon });
            return Array.from(found.query, (number, i) => `${number} ${found.polygon[i]}`);
          };
          const share = (a: Parts, b: Parts): boolean =>
            a.some((p) => b.some((q) => overlapByHand({ p, q, ...PLANE }).overlaps));
          expect(await pairsOf(joined)).toEqual(
            asked.flatMap((a, query) => all.flatMap((b, polygon) => (share(a, b) ? [`${query} ${polygon}`] : []))),
          );
          const byRows = sharedByRows(await rowsOf(context, regions), await rowsOf(context, quadrants));
          expect((await pairsOf(candidates)).toSorted()).toEqual([...byRows.keys()].sort());
          const { region, polygon, min, max } = areas;
          const found = await context.read({ region, polygon, min: { ...min }, max: { ...max } });
          const steps = ({ lo, hi }: typeof found.min, i: number): bigint => (BigInt(hi[i]!) << 32n) | BigInt(lo[i]!);
          expect(
            new Map(
              Array.from(found.region, (number, i) => [
                `${number} ${found.polygon[i]}`,
                [steps(found.min, i), steps(found.max, i)],
              ]),
            ),
          ).toEqual(byRows);
          context.dispose(quadrants, regions, tree, candidates, joined, areas);
          expect(context.backend.counters.liveBytes).toBe(liveBytes);
        }),
        { numRuns: Math.ceil(runs / 3) },
      );
    });
  },
  someOf(plainBackends, 1),
);
