import fc from 'fast-check';
import { DOMAIN_STEPS } from '../../algorithms/quadrants/index.ts';
import type { Ring } from './ring-columns.ts';

/** A level of the quadtree. Most coordinates of vertices are multiples of the side of a quadrant on this level. */
export const LEVELS = 5;

/**
 * Coordinates on the sides of quadrants of the level {@link LEVELS}, on the sides of smaller quadrants, one step away
 * from a side of a quadrant of this level, or anywhere in the domain.
 */
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
export const vertex: fc.Arbitrary<[x: number, y: number]> = fc.tuple(coordinate, coordinate);
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

/** Polygons within the domain, whose rings may touch, cross, nest and repeat one another. */
export const polygons: fc.Arbitrary<Ring[][]> = fc.array(polygon, { maxLength: 5 });
