import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decomposeDepthFirst } from '../../../algorithms/quadrants/depth-first.ts';
import { DOMAIN_BITS, DOMAIN_STEPS, decompose, type Quadrants } from '../../../algorithms/quadrants/index.ts';
import { ArgumentError } from '../../../primitives/checks/errors.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { onEveryBackend, plainBackends } from '../../backends.ts';
import { scaledCount, someOf } from '../../cases.ts';
import { polygons as anyPolygons } from '../../support/arbitrary-domain-polygons.ts';
import type { QuadrantByHand } from '../../support/quadrants-by-hand.ts';
import { columnsOfRings, type Ring } from '../../support/ring-columns.ts';

const LEVELS = 7;
const split = fc.constantFrom(4, 16, 64);

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

/** The level of the smallest quadrant that contains the bounding box of a polygon's edges, but at most `levels`. */
function enclosingLevel(rings: readonly Ring[], levels: number): number {
  const ends = rings.flatMap((ring) =>
    ring.filter(([x, y], i) => {
      const [[u, v], [s, t]] = [ring.at(i - 1)!, ring[(i + 1) % ring.length]!];
      return x !== u || y !== v || x !== s || y !== t;
    }),
  );
  const isWithin = (values: readonly number[], side: number): boolean => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const from = Math.min(Math.floor(low / side), DOMAIN_STEPS / side - 1);
    return high <= (from + 1) * side;
  };
  let level = levels;
  for (; level > 0; level--) {
    const side = DOMAIN_STEPS / 2 ** level;
    if (
      isWithin(
        ends.map(([x]) => x),
        side,
      ) &&
      isWithin(
        ends.map(([, y]) => y),
        side,
      )
    )
      break;
  }
  return level;
}

/**
 * Splits inside quadrants to the size that a depth-first decomposition gives them. The decomposition descends
 * `perSplit` levels at a time, so it may pass the level at which a quadrant is first known to be inside.
 */
function cutDown(
  quadrants: readonly QuadrantByHand[],
  all: readonly (readonly Ring[])[],
  levels: number,
  perSplit: number,
): QuadrantByHand[] {
  const enclosing = all.map((rings) => enclosingLevel(rings, levels));
  return quadrants.flatMap((quadrant) => {
    const from = enclosing[quadrant.polygon]!;
    const level = Math.min(levels, from + perSplit * Math.ceil((quadrant.level - from) / perSplit));
    const bits = 2 * (level - quadrant.level);
    return Array.from({ length: 2 ** bits }, (_, part) => ({
      ...quadrant,
      level,
      code: (quadrant.code << BigInt(bits)) + BigInt(part),
    }));
  });
}

onEveryBackend((opened, { runs }) => {
  test('decomposeDepthFirst gives the quadrants of decompose, with inside quadrants split to the next split level', {
    timeout: 120_000,
  }, async () => {
    const levels = fc.integer({ min: 0, max: LEVELS });
    await fc.assert(
      fc.asyncProperty(anyPolygons, levels, split, async (all, levels, split) => {
        const { context } = opened();
        const polygons = columnsOfRings(all);
        const found = await decomposeDepthFirst(context, polygons, { levels, split: split as 4 });
        const expected = await rowsOf(context, await decompose(context, polygons, { levels }));
        expect(await rowsOf(context, found)).toEqual(cutDown(expected, all, levels, Math.log2(split) / 2));
      }),
      { numRuns: scaledCount(runs, 1, 1 / 2) },
    );
  });

  test('quadrants at the last of 30 levels have a side of one step', async () => {
    const { context } = opened();
    const corner = DOMAIN_STEPS / 2 + 1;
    const rings: Ring[] = [
      [
        [corner - 9, corner],
        [corner + 9, corner],
        [corner, corner + 20],
      ],
    ];
    const polygons = columnsOfRings([rings]);
    for (const split of someOf([16, 64] as const, 1)) {
      const found = await decomposeDepthFirst(context, polygons, { levels: DOMAIN_BITS, split });
      const expected = await rowsOf(context, await decompose(context, polygons, { levels: DOMAIN_BITS }));
      expect(await rowsOf(context, found)).toEqual(cutDown(expected, [rings], DOMAIN_BITS, Math.log2(split) / 2));
    }
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
    const polygons = columnsOfRings([[square], [square]]);
    context.dispose(await decomposeDepthFirst(context, polygons, { levels: 5 }));
    await expect(decomposeDepthFirst(context, polygons, { levels: 31 })).rejects.toThrow(ArgumentError);
    await expect(decomposeDepthFirst(context, polygons, { levels: 5, split: 8 as 4 })).rejects.toThrow(
      expect.objectContaining({ code: 'quadrants/split' }),
    );
    expect(context.backend.counters.liveBytes).toBe(liveBytes);
  });
});

onEveryBackend(
  (opened) => {
    test('the host waits far less often than there are rounds', async () => {
      const { context } = opened();
      const triangle: Ring = [
        [0, 0],
        [DOMAIN_STEPS, 0],
        [1, DOMAIN_STEPS],
      ];
      const { readbacks } = context.backend.counters;
      const found = await decomposeDepthFirst(context, columnsOfRings([[triangle]]), {
        levels: 8,
        split: 4,
      });
      const waits = context.backend.counters.readbacks - readbacks;
      const boundary = (await rowsOf(context, found)).filter(({ boundary }) => boundary).length;
      // Every round splits one quadrant into four, so the number of rounds is at least boundary ÷ 4.
      expect(waits).toBeLessThan(boundary / 4 / 5);
    });
  },
  someOf(plainBackends, 1),
);
