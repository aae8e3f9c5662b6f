import { assign } from '../cross-compare/assignment.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Squared distances are integers in units of 2^-14 pixels². Distances up to 256 pixels then fit in 32 bits. */
const UNITS = 2 ** 14;

/**
 * Pairs points of two sets one to one within a maximum distance. There are as many pairs as possible and, among all
 * such pairings, the sum of squared distances is minimal. The result maps each paired point of `from` to its partner in
 * `to`.
 */
export function linkPoints(from: readonly Point[], to: readonly Point[], maxDistance: number): Map<number, number> {
  const edges = { row: [] as number[], column: [] as number[], cost: [] as number[] };
  const byX = to.map((_, i) => i).sort((a, b) => to[a]!.x - to[b]!.x || a - b);
  for (const [row, point] of from.entries()) {
    for (let i = firstFrom(byX, to, point.x - maxDistance); i < byX.length; i++) {
      const column = byX[i]!;
      if (to[column]!.x > point.x + maxDistance) break;
      const square = squaredDistance(point, to[column]!);
      if (square > maxDistance * maxDistance) continue;
      edges.row.push(row);
      edges.column.push(column);
      edges.cost.push(Math.round(square * UNITS));
    }
  }
  const chosen = assign(from.length, to.length, edges);
  return new Map(chosen.map((edge) => [edges.row[edge]!, edges.column[edge]!]));
}

export function squaredDistance(a: Point, b: Point): number {
  return (a.x - b.x) ** 2 + (a.y - b.y) ** 2;
}

/** The first position in `order` (point indices, sorted by x) whose point is not left of `x`. */
function firstFrom(order: readonly number[], points: readonly Point[], x: number): number {
  let [low, high] = [0, order.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[order[middle]!]!.x < x) low = middle + 1;
    else high = middle;
  }
  return low;
}
