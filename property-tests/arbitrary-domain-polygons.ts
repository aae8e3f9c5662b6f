import fc from 'fast-check';
import { DOMAIN_STEPS } from '../algorithms/quadrants/index.ts';
import type { Ring } from './ring-columns.ts';

/** Places on the sides of quadrants of a level, in their middles, next to both, and anywhere. */
function coordinateOf(level: number): fc.Arbitrary<number> {
  const side = DOMAIN_STEPS / 2 ** level;
  const last = 2 ** level;
  return fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: last }).map((at) => at * side) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 4 * last }).map((at) => (at * side) / 4) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.integer({ min: 1, max: last - 1 }), fc.constantFrom(-1, 1))
        .map(([at, next]) => at * side + next),
    },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: DOMAIN_STEPS }) },
  );
}

/** A few polygons of a few rings each, in steps of the domain: anything, rectangles, and what is only a few steps wide. */
export function domainPolygons(level: number): fc.Arbitrary<Ring[][]> {
  const vertex = fc.tuple(coordinateOf(level), coordinateOf(level));
  const anyRing: fc.Arbitrary<Ring> = fc.array(vertex, { maxLength: 8 });
  const rectangle: fc.Arbitrary<Ring> = fc.tuple(vertex, vertex).map(([[left, bottom], [right, top]]) => [
    [left, bottom],
    [right, bottom],
    [right, top],
    [left, top],
  ]);
  const small: fc.Arbitrary<Ring> = fc
    .tuple(vertex, fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { minLength: 3, maxLength: 6 }))
    .map(([[x, y], offsets]) =>
      offsets.map(([dx, dy]): [number, number] => [Math.min(DOMAIN_STEPS, x + dx), Math.min(DOMAIN_STEPS, y + dy)]),
    );
  return fc.array(fc.array(fc.oneof(anyRing, rectangle, small), { maxLength: 3 }), { maxLength: 5 });
}
