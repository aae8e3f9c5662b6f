import fc from 'fast-check';
import { expect, test } from 'vitest';
import { copyEdges, type Edges, makeEdges, uploadEdges } from '../../../algorithms/quadrants/edges.ts';
import {
  DOMAIN_STEPS,
  type DomainPolygons,
  decompose,
  decomposeWhole,
  placeInDomain,
  type Quadrants,
  WORLD,
} from '../../../algorithms/quadrants/index.ts';
import { ArgumentError, GeometryError } from '../../../primitives/checks/errors.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { onEveryBackend } from '../../backends.ts';
import { scaledCount } from '../../cases.ts';
import { LEVELS, polygons, vertex } from '../../support/arbitrary-domain-polygons.ts';
import { edgesByHand, placeOf, type QuadrantByHand, ringsHold, splitByHand } from '../../support/quadrants-by-hand.ts';
import { columnsOfRings, type Ring } from '../../support/ring-columns.ts';

const rowsOf = async (context: Context, quadrants: Quadrants): Promise<QuadrantByHand[]> => {
  const found = await context.read({ ...quadrants, code: { ...quadrants.code } });
  context.dispose(quadrants);
  return Array.from(found.polygon, (polygon, i) => ({
    polygon,
    level: found.level[i]!,
    code: (BigInt(found.code.hi[i]!) << 32n) | BigInt(found.code.lo[i]!),
    boundary: found.boundary[i] === 1,
  }));
};

/** The range of cells that a quadrant covers. Cells are numbered in Morton order. */
function spanOf(level: number, code: bigint): [from: bigint, to: bigint] {
  const shift = BigInt(60 - 2 * level);
  return [code << shift, (code + 1n) << shift];
}

const byHand = (all: readonly (readonly Ring[])[], levels: number): QuadrantByHand[] =>
  all.flatMap((rings, polygon) => splitByHand(polygon, rings, levels));

onEveryBackend((opened, { runs }) => {
  test('decompose gives the same quadrants as a recursive descent on the host', {
    timeout: 120_000,
  }, async () => {
    const bounds = fc.constantFrom(undefined, 1, 800, 4000);
    await fc.assert(
      fc.asyncProperty(polygons, fc.integer({ min: 0, max: LEVELS }), bounds, async (all, levels, memoryBytes) => {
        const { context } = opened();
        const quadrants = await decompose(context, columnsOfRings(all), { levels, memoryBytes });
        expect(await rowsOf(context, quadrants)).toEqual(byHand(all, levels));
      }),
      { numRuns: scaledCount(runs, 4, 2) },
    );
  });

  test('a boundary quadrant keeps the edges that cross it, and whether its corner is inside', {
    timeout: 120_000,
  }, async () => {
    const bounds = fc.constantFrom(undefined, 1, 800);
    await fc.assert(
      fc.asyncProperty(polygons, fc.integer({ min: 0, max: LEVELS }), bounds, async (all, levels, memoryBytes) => {
        const { context } = opened();
        const { edges, ...quadrants } = await decompose(context, columnsOfRings(all), {
          levels,
          memoryBytes,
          keepsEdges: true,
        });
        const { edge, ends, ...rows } = edges;
        const kept = {
          ...(await context.read({ ...rows })),
          edge: await context.read(edge),
          ends: await context.read(ends),
        };
        context.dispose(edges);
        for (const [row, { polygon, level, code, boundary }] of (await rowsOf(context, quadrants)).entries()) {
          const byHand = edgesByHand(all[polygon]!, placeOf(level, code));
          expect(kept.corner[row] === 1).toBe(byHand.corner);
          const own = kept.edge.subarray(kept.first[row], kept.first[row]! + kept.count[row]!);
          expect(Array.from(own, (each) => [...kept.ends.subarray(4 * each, 4 * each + 4)].map(BigInt))).toEqual(
            boundary ? byHand.edges : [],
          );
        }
      }),
      { numRuns: scaledCount(runs, 2, 1) },
    );
  });

  const edgesIn = async (context: Context, edges: Edges): Promise<unknown> => {
    const { ends, owner, polygons } = edges;
    const found = await context.read({ ends, owner, ...polygons });
    context.dispose(edges);
    return found;
  };

  test('edges made on the device equal those made on the host, without edges of length 0', async () => {
    const small = fc.integer({ min: 0, max: 2 });
    const rings = fc.array(fc.array(fc.tuple(small, small), { maxLength: 5 }), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(rings, { maxLength: 6 }), async (all) => {
        const { context } = opened();
        const { liveBytes } = context.backend.counters;
        const asked = columnsOfRings(all);
        const made = makeEdges(context, asked);
        expect(await edgesIn(context, made)).toEqual(await edgesIn(context, copyEdges(context, asked)));
        expect(context.backend.counters.liveBytes).toBe(liveBytes);
      }),
      { numRuns: runs },
    );
  });

  test('edges of rings with many vertices are the same on the device and on the host', async () => {
    const { context } = opened();
    const triangle = (i: number): Ring => [
      [i, i],
      [i + 5, i],
      [i, i % 7 === 0 ? i : i + 3],
    ];
    const asked = columnsOfRings(Array.from({ length: 6000 }, (_, i) => [triangle(i)]));
    const uploaded = await edgesIn(context, uploadEdges(context, asked));
    expect(uploaded).toEqual(await edgesIn(context, copyEdges(context, asked)));
  });

  test('inside quadrants lie in their polygon, and quadrants of a polygon are disjoint', async () => {
    const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await fc.assert(
      fc.asyncProperty(polygons, fc.integer({ min: 0, max: LEVELS }), share, share, async (all, levels, u, v) => {
        const { context } = opened();
        const rows = await rowsOf(context, await decompose(context, columnsOfRings(all), { levels }));
        for (const [i, { polygon, level, code, boundary }] of rows.entries()) {
          const next = rows[i + 1];
          if (next?.polygon === polygon) {
            expect(spanOf(level, code)[1]).toBeLessThanOrEqual(spanOf(next.level, next.code)[0]);
          }
          if (boundary) continue;
          const { column, row } = placeOf(level, code);
          const side = DOMAIN_STEPS / 2 ** level;
          // `u * side` is exact, whereas `column + u` could be rounded up to the next column.
          const point = [column * side + Math.floor(u * side), row * side + Math.floor(v * side)] as const;
          expect(ringsHold(all[polygon]!, point)).toBe(true);
        }
      }),
      { numRuns: runs },
    );
  });

  test('inside quadrants of a partition of the plane are disjoint, and all quadrants together cover it', async () => {
    const corners: Ring = [
      [0, 0],
      [DOMAIN_STEPS, 0],
      [DOMAIN_STEPS, DOMAIN_STEPS],
      [0, DOMAIN_STEPS],
    ];
    await fc.assert(
      fc.asyncProperty(vertex, fc.integer({ min: 0, max: LEVELS + 1 }), async (centre, levels) => {
        const { context } = opened();
        const triangles = corners.map((corner, i): Ring[] => [[corner, corners[(i + 1) % 4]!, centre]]);
        const rows = await rowsOf(context, await decompose(context, columnsOfRings(triangles), { levels }));
        const spans = rows
          .map(({ level, code, boundary }) => ({ span: spanOf(level, code), boundary }))
          .sort((a, b) => (a.span[0] < b.span[0] ? -1 : a.span[0] > b.span[0] ? 1 : 0));
        let end = 0n;
        let inside = 0n;
        for (const { span, boundary } of spans) {
          expect(span[0]).toBeLessThanOrEqual(end);
          if (!boundary) {
            expect(span[0]).toBeGreaterThanOrEqual(inside);
            inside = span[1];
          }
          if (span[1] > end) end = span[1];
        }
        expect(end).toBe(2n ** 60n);
      }),
      { numRuns: runs },
    );
  });

  test('decomposeWhole gives the same quadrants', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(polygons, fc.integer({ min: 0, max: LEVELS }), async (all, levels) => {
        const { context } = opened();
        const quadrants = await decomposeWhole(context, columnsOfRings(all), { levels });
        expect(await rowsOf(context, quadrants)).toEqual(byHand(all, levels));
      }),
      { numRuns: scaledCount(runs, 2, 1) },
    );
  });

  test('quadrants at the last of 30 levels have a side of one step', async () => {
    const { context } = opened();
    const [low, high] = [DOMAIN_STEPS - 3, DOMAIN_STEPS];
    const triangle: Ring = [
      [low, low],
      [high, low],
      [low, high],
    ];
    const quadrants = await decompose(context, columnsOfRings([[triangle]]), { levels: 30 });
    expect(await rowsOf(context, quadrants)).toEqual(byHand([[triangle]], 30));
  });

  test('no memory leaks, even after a failure', async () => {
    const { context } = opened();
    const { liveBytes } = context.backend.counters;
    const square: Ring = [
      [0, 0],
      [DOMAIN_STEPS, 0],
      [DOMAIN_STEPS, DOMAIN_STEPS],
      [1, DOMAIN_STEPS],
    ];
    for (const memoryBytes of [undefined, 1]) {
      context.dispose(await decompose(context, columnsOfRings([[square], [square]]), { levels: 5, memoryBytes }));
    }
    await expect(decompose(context, columnsOfRings([[square]]), { levels: 31 })).rejects.toThrow(ArgumentError);
    await expect(decompose(context, columnsOfRings([[square]]), { levels: 5, memoryBytes: 0 })).rejects.toThrow(
      ArgumentError,
    );
    expect(context.backend.counters.liveBytes).toBe(liveBytes);
  });
});

test('coordinates outside the domain are refused, with the polygon', () => {
  const ring = { polygonRings: Uint32Array.of(0, 0, 1), ringVertices: Uint32Array.of(0, 1) };
  for (const [x, y] of [
    [180.1, 0],
    [0, -180.1],
    [Number.NaN, 0],
    [0, Number.POSITIVE_INFINITY],
  ] as const) {
    const polygons = { ...ring, x: Float64Array.of(x), y: Float64Array.of(y) };
    const refused = (): DomainPolygons => placeInDomain(polygons, WORLD);
    expect(refused).toThrow(GeometryError);
    expect(refused).toThrow(expect.objectContaining({ code: 'geometry/beyond-domain' }));
  }
  const nowhere = { left: 0, bottom: Number.NaN, size: 1 };
  expect(() => placeInDomain({ ...ring, x: Float64Array.of(0), y: Float64Array.of(0) }, nowhere)).toThrow(
    ArgumentError,
  );
});
