import type { Metric } from '../../algorithms/neighbours/index.ts';
import { withoutSubnormals } from './neighbours-clouds.ts';

const { fround } = Math;

/** Points, with one array per coordinate. */
export interface HostPoints {
  readonly elements: Float32Array;
  readonly dimensions: number;
}

/** Rounds to the 24 bits of an f32, but with the exponents of f64. */
export function rounded(x: number): number {
  if (x === 0 || !Number.isFinite(x)) return x;
  const scale = 2 ** Math.floor(Math.log2(x));
  return Math.fround(x / scale) * scale;
}

/** The sum of squares, from the first dimension to the last, every operation rounded to 24 bits, in f64. */
export function squaresByHand(a: Float32Array, b: Float32Array): number {
  const plain = withoutSubnormals;
  const sum = a.reduce((sum, x, d) => {
    const between = Math.abs(plain(Math.fround(plain(x) - plain(b[d]!))));
    return rounded(sum + rounded(between * between));
  }, 0);
  // Keys have no place for more, which is the square of more than the largest f32.
  return sum < 2 ** 258 ? sum : Number.POSITIVE_INFINITY;
}

/**
 * The distance of two points by the documented formula of the metric. Sums are accumulated in the order of the
 * dimensions, and every operation is rounded to 24 bits. Only the squares of `l2` may leave f32. If the result is NaN,
 * the distance is +∞. Of `{ lp }`, only `{ lp: 1 }` has such a formula.
 */
function distanceByHand(metric: Metric, a: Float32Array, b: Float32Array): number {
  if (metric === 'l2') return squaresByHand(a, b);
  let [sum, dot, aa, bb] = [0, 0, 0, 0];
  for (const [d, x] of a.entries()) {
    const y = b[d]!;
    const between = fround(x - y);
    const size = Math.abs(between);
    if (metric === 'l1' || (metric as { lp?: number }).lp === 1) sum = fround(sum + size);
    else if (metric === 'max') sum = Number.isNaN(sum) || Number.isNaN(size) ? Number.NaN : Math.max(sum, size);
    dot = fround(dot + fround(x * y));
    aa = fround(aa + fround(x * x));
    bb = fround(bb + fround(y * y));
  }
  if (metric === 'inner') sum = fround(0 - dot);
  if (metric === 'cosine') {
    const [left, right] = [fround(Math.sqrt(aa)), fround(Math.sqrt(bb))];
    sum = fround(1 - (left === 0 || right === 0 ? 0 : fround(dot / fround(left * right))));
  }
  return Number.isNaN(sum) ? Number.POSITIVE_INFINITY : sum + 0;
}

export interface Near {
  readonly id: number;
  readonly distance: number;
}

/** All points, sorted by their distance from a query, and by id if distances are equal. */
export function byDistance(metric: Metric, points: HostPoints, query: Float32Array): Near[] {
  const count = points.elements.length / points.dimensions;
  return Array.from({ length: count }, (_, id) => ({
    id,
    distance: distanceByHand(metric, query, rowOf(points, id)),
  })).sort((a, b) => (a.distance === b.distance ? a.id - b.id : a.distance - b.distance));
}

export function rowOf({ elements, dimensions }: HostPoints, row: number): Float32Array {
  return elements.subarray(row * dimensions, (row + 1) * dimensions);
}

/**
 * Makes every list exactly k entries long: cuts longer lists, and pads shorter lists with entries that have the id
 * 2³² − 1 and the distance +∞.
 */
export function listsOf(k: number, lists: readonly (readonly Near[])[]): { ids: Uint32Array; distances: Float32Array } {
  const none: Near = { id: 2 ** 32 - 1, distance: Number.POSITIVE_INFINITY };
  const all = lists.flatMap((list) => Array.from({ length: k }, (_, j) => list[j] ?? none));
  return {
    ids: Uint32Array.from(all, ({ id }) => id),
    distances: Float32Array.from(all, ({ distance }) => distance),
  };
}
