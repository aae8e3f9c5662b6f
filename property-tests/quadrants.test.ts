import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DOMAIN_STEPS, type DomainPolygons, decompose } from '../algorithms/quadrants/index.ts';
import { onEveryBackend } from './backends.ts';
import { type Ring, splitByHand } from './quadrants-by-hand.ts';

const LEVELS = 5;

/** Places on the sides of quadrants, in their middles, next to both, and anywhere. */
const coordinate = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 2 ** LEVELS }).map((side) => side * (DOMAIN_STEPS / 2 ** LEVELS)) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 ** 7 }).map((side) => side * (DOMAIN_STEPS / 2 ** 7)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 2 ** LEVELS - 1 }), fc.constantFrom(-1, 1))
      .map(([side, next]) => side * (DOMAIN_STEPS / 2 ** LEVELS) + next),
  },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: DOMAIN_STEPS }) },
);
const vertex = fc.tuple(coordinate, coordinate);
const anyRing: fc.Arbitrary<Ring> = fc.array(vertex, { maxLength: 8 });
const rectangle: fc.Arbitrary<Ring> = fc.tuple(vertex, vertex).map(([[left, bottom], [right, top]]) => [
  [left, bottom],
  [right, bottom],
  [right, top],
  [left, top],
]);
const near: fc.Arbitrary<Ring> = fc
  .tuple(vertex, fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { minLength: 3, maxLength: 6 }))
  .map(([[x, y], offsets]) =>
    offsets.map(([dx, dy]): [number, number] => [Math.min(DOMAIN_STEPS, x + dx), Math.min(DOMAIN_STEPS, y + dy)]),
  );
const polygon = fc.array(fc.oneof(anyRing, rectangle, near), { maxLength: 3 });
const polygons = fc.array(polygon, { maxLength: 5 });
const budgets = fc.constantFrom(undefined, 1, 200, 1000);

const columns = (all: readonly (readonly Ring[])[]): DomainPolygons => {
  const rings = all.flat();
  const before = (lists: readonly { readonly length: number }[]): Uint32Array => {
    let sum = 0;
    return Uint32Array.from([0, ...lists.map(({ length }) => (sum += length))]);
  };
  return {
    polygonRings: before(all),
    ringVertices: before(rings),
    x: Int32Array.from(rings.flat(), ([x]) => x),
    y: Int32Array.from(rings.flat(), ([, y]) => y),
  };
};

describe('decompose', () => {
  onEveryBackend((opened, { runs }) => {
    test('gives the quadrants that going down from the domain by hand gives', { timeout: 120_000 }, async () => {
      await fc.assert(
        fc.asyncProperty(polygons, fc.integer({ min: 0, max: LEVELS }), budgets, async (all, levels, budget) => {
          const { context } = opened();
          const quadrants = await decompose(context, columns(all), { levels, budget });
          const found = await context.read({ ...quadrants, code: { ...quadrants.code } });
          context.dispose(quadrants);
          const rows = Array.from(found.polygon, (polygon, i) => ({
            polygon,
            level: found.level[i]!,
            code: (BigInt(found.code.hi[i]!) << 32n) | BigInt(found.code.lo[i]!),
            boundary: found.boundary[i] === 1,
          }));
          expect(rows).toEqual(all.flatMap((rings, polygon) => splitByHand(polygon, rings, levels)));
        }),
        { numRuns: 4 * runs },
      );
    });
  });
});
