import fc from 'fast-check';
import { expect, test } from 'vitest';
import { linkPoints, type Point, squaredDistance } from '../../../algorithms/cell-tracking/link-cells.ts';

const point = fc.record({ x: fc.integer({ min: 0, max: 12 }), y: fc.integer({ min: 0, max: 12 }) });
const points = fc.array(point, { maxLength: 5 });

/**
 * The best pairing, found by trying all pairings. Returns the number of pairs, and the sum of the pairs' squared
 * distances.
 */
function bestByTrial(from: readonly Point[], to: readonly Point[], distance: number): readonly [number, number] {
  const [first, ...rest] = from;
  if (first === undefined) return [0, 0];
  let best = bestByTrial(rest, to, distance);
  for (const [i, partner] of to.entries()) {
    const square = squaredDistance(first, partner);
    if (square > distance * distance) continue;
    const [pairs, sum] = bestByTrial(rest, to.toSpliced(i, 1), distance);
    if (pairs + 1 > best[0] || (pairs + 1 === best[0] && sum + square < best[1])) best = [pairs + 1, sum + square];
  }
  return best;
}

test('points are paired one to one: as many pairs as possible, with the least sum of squared distances', () => {
  fc.assert(
    fc.property(points, points, fc.integer({ min: 0, max: 15 }), (from, to, distance) => {
      const links = linkPoints(from, to, distance);
      expect(new Set(links.values()).size).toBe(links.size);
      const squares = Array.from(links, ([a, b]) => squaredDistance(from[a]!, to[b]!));
      for (const square of squares) expect(square).toBeLessThanOrEqual(distance * distance);
      expect([links.size, squares.reduce((a, b) => a + b, 0)]).toEqual(bestByTrial(from, to, distance));
    }),
  );
});
