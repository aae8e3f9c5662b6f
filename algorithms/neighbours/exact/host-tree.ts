import { filled, piecewise, type Stretches } from '../../stretches.ts';
import type { Norm } from './norms.ts';
import type { Space, Vectors } from './space.ts';

/**
 * A tree of boxes around vectors in f64, for the queries that f32 cannot decide. Every node halves its points along the
 * longest side of its box.
 *
 * Source: Friedman, Bentley and Finkel, An Algorithm for Finding Best Matches in Logarithmic Expected Time, 1977.
 */
export interface HostTree {
  /** Visits points in an order that leads to near ones first. */
  visit(query: Float64Array, error: number, visitor: Visitor): void;
}

/** What a search does on its way through the tree. */
export interface Visitor {
  /** Whether points at this distance or farther are still wanted, of which `minPoint` is the smallest number. */
  wants(least: number, minPoint: number): boolean;
  /** Whether a point is wanted, or a point with a larger number at the same distance from the query. */
  wantsAll(point: number): boolean;
  point(point: number): void;
}

/** Maximum number of points of a leaf, in few dimensions. */
const LEAF = 8;
/**
 * Number of points of a leaf for each coordinate of a point, in many dimensions. Of 10,000 evenly spread points in 20 to
 * 100 dimensions, few are ruled out. With small leaves, their boxes took longer than comparing all points, 2 to 3 times;
 * with these, 1.3 times as long, and clusters take a quarter.
 */
const LEAF_PER_COORDINATE = 2;

/** Relative rounding error of bounds, with a margin. */
const SHARE = 2 ** -40;

/** Number of points that a selection moves between two pauses. */
const MOVED = 2 ** 14;

export function* hostTree(space: Space, { vectors, error }: Vectors): Stretches<HostTree> {
  const { width, norm } = space;
  const count = vectors.length / width;
  const order = yield* filled(new Uint32Array(count), (i) => i);
  const levels = Math.max(0, Math.ceil(Math.log2(Math.max(1, count / Math.max(LEAF, LEAF_PER_COORDINATE * width)))));
  const [mins, maxs] = [new Float64Array(width * 2 ** (levels + 1)), new Float64Array(width * 2 ** (levels + 1))];
  const firsts = new Uint32Array(2 ** (levels + 1));
  const pending: [node: number, from: number, to: number][] = count === 0 ? [] : [[1, 0, count]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [node, from, to] = next;
    const axis = yield* setBox(node, from, to);
    if (node >= 2 ** levels) continue;
    const middle = (from + to) >> 1;
    yield* select(axis, from, to - 1, middle);
    pending.push([2 * node, from, middle], [2 * node + 1, middle, to]);
  }

  /** Sets the box and the smallest number of a node, and returns the axis of the longest side. */
  function* setBox(node: number, from: number, to: number): Stretches<number> {
    let first = Number.POSITIVE_INFINITY;
    const at = node * width;
    mins.fill(Number.POSITIVE_INFINITY, at, at + width);
    maxs.fill(Number.NEGATIVE_INFINITY, at, at + width);
    yield* piecewise(from, to, (from, to) => {
      for (let i = from; i < to; i++) {
        const point = order[i]!;
        first = Math.min(first, point);
        for (let d = 0; d < width; d++) {
          const x = vectors[point * width + d]!;
          if (x < mins[at + d]!) mins[at + d] = x;
          if (x > maxs[at + d]!) maxs[at + d] = x;
        }
      }
    });
    yield;
    firsts[node] = first;
    let longest = 0;
    const side = (d: number): number => maxs[at + d]! - mins[at + d]!;
    for (let d = 1; d < width; d++) if (side(d) > side(longest)) longest = d;
    return longest;
  }

  /** Hoare's selection: moves the points with the smallest coordinates before the place `middle`. */
  function* select(axis: number, first: number, last: number, middle: number): Stretches<void> {
    let moves = 0;
    let [left, right] = [first, last];
    while (left < right) {
      const pivot = vectors[order[(left + right) >> 1]! * width + axis]!;
      let [i, j] = [left, right];
      while (i <= j) {
        while (vectors[order[i]! * width + axis]! < pivot) i++;
        while (vectors[order[j]! * width + axis]! > pivot) j--;
        if (i > j) break;
        const moved = order[i]!;
        order[i++] = order[j]!;
        order[j--] = moved;
        if (++moves % MOVED === 0) yield;
      }
      if (middle <= j) right = j;
      else if (middle >= i) left = i;
      else return;
    }
  }

  /** Whether all points of a node have the same vector, and thereby the same distance. */
  function isOnePlace(at: number): boolean {
    for (let d = 0; d < width; d++) if (mins[at + d] !== maxs[at + d]) return false;
    return true;
  }

  const boundOf = norm.of === undefined ? productBound(mins, maxs, width) : gapBound(norm.of, mins, maxs, width);
  const trustsVectors = space.isFaithful || error === 0;

  return {
    visit(query, queryError, visitor) {
      if (count === 0) return;
      const margin = width * (error + queryError);
      const least = (node: number): number => space.leastOf(boundOf(query, node * width, margin));
      const visitNode = (node: number, from: number, to: number, bound: number): void => {
        if (!visitor.wants(bound, firsts[node]!)) return;
        if (to - from > 1 && trustsVectors && isOnePlace(node * width) && !visitor.wantsAll(firsts[node]!)) return;
        if (node >= 2 ** levels) {
          for (let i = from; i < to; i++) visitor.point(order[i]!);
          return;
        }
        const middle = (from + to) >> 1;
        const [left, right] = [least(2 * node), least(2 * node + 1)];
        // At the same distance, smaller numbers come first, so that the larger ones are not wanted any more.
        const isLeftFirst = left < right || (left === right && firsts[2 * node]! < firsts[2 * node + 1]!);
        if (isLeftFirst) visitNode(2 * node, from, middle, left);
        visitNode(2 * node + 1, middle, to, right);
        if (!isLeftFirst) visitNode(2 * node, from, middle, left);
      };
      visitNode(1, 0, count, least(1));
    },
  };
}

/** A lower bound of the norm between a query and the vectors in a box, whose errors add up to `margin`. */
type Bound = (query: Float64Array, at: number, margin: number) => number;

function gapBound(of: NonNullable<Norm['of']>, mins: Float64Array, maxs: Float64Array, width: number): Bound {
  return (query, at, margin) => {
    let [sum, squares, max] = [0, 0, 0];
    for (let d = 0; d < width; d++) {
      const gap = Math.max(0, mins[at + d]! - query[d]!, query[d]! - maxs[at + d]!);
      sum += gap;
      squares += gap * gap;
      if (gap > max) max = gap;
    }
    return Math.max(0, of(sum, squares, max) * (1 - SHARE) - margin);
  };
}

/** The smallest negated inner product of a query with a vector in a box, minus its rounding error. */
function productBound(mins: Float64Array, maxs: Float64Array, width: number): Bound {
  return (query, at) => {
    let [sum, size] = [0, 0];
    for (let d = 0; d < width; d++) {
      const product = Math.max(query[d]! * mins[at + d]!, query[d]! * maxs[at + d]!);
      sum -= product;
      size += Math.abs(product);
    }
    return size < Number.MAX_VALUE ? sum - size * SHARE - Number.MIN_VALUE * width : Number.NEGATIVE_INFINITY;
  };
}
