import { DOMAIN_BITS, type DomainPolygons } from '../../algorithms/quadrants/index.ts';

/** The edges of polygons as plain arrays, one polygon after another. Edges of length 0 are left out. */
export interface SerialEdges {
  /** Four numbers per edge: x and y of its start, x and y of its end. */
  readonly ends: Int32Array;
  /** The index of each polygon's first edge, and finally the total number of edges. */
  readonly first: Uint32Array;
}

export function serialEdgesOf({ polygonRings, ringVertices, x, y }: DomainPolygons): SerialEdges {
  const ends = new Int32Array(4 * x.length);
  const first = new Uint32Array(polygonRings.length);
  let at = 0;
  for (let polygon = 0; polygon + 1 < polygonRings.length; polygon++) {
    for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
      const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
      for (let v = start, u = end - 1; v < end; u = v++) {
        if (x[u] === x[v] && y[u] === y[v]) continue;
        ends[at] = x[u]!;
        ends[at + 1] = y[u]!;
        ends[at + 2] = x[v]!;
        ends[at + 3] = y[v]!;
        at += 4;
      }
    }
    first[polygon + 1] = at / 4;
  }
  return { ends: ends.subarray(0, at), first };
}

/** A quadrant, given by its lower left corner and by `shift`. Its side is 2^`shift` steps of the domain's grid. */
export interface SerialQuadrant {
  readonly x: number;
  readonly y: number;
  readonly shift: number;
}

/** The smallest quadrant that contains the edges `from` to `to` − 1. Its side is at least 2^`min` steps. */
export function enclosingQuadrant(ends: Int32Array, from: number, to: number, min: number): SerialQuadrant {
  let [left, bottom, right, top] = [2 ** 31, 2 ** 31, -1, -1];
  for (let at = 4 * from; at < 4 * to; at += 4) {
    const [x, y] = [ends[at + 2]!, ends[at + 3]!];
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < bottom) bottom = y;
    if (y > top) top = y;
  }
  const cell = (coordinate: number): number => Math.min(coordinate, 2 ** DOMAIN_BITS - 1);
  const [x0, y0] = [cell(left), cell(bottom)];
  const differ = (x0 ^ cell(Math.max(right - 1, left))) | (y0 ^ cell(Math.max(top - 1, bottom)));
  const shift = Math.max(min, 32 - Math.clz32(differ));
  const corner = (at: number): number => Math.floor(at / 2 ** shift) * 2 ** shift;
  return { x: corner(x0), y: corner(y0), shift };
}

/**
 * A number with the sign of dy · ax − dx · ay, for factors of 31 bits. If the products are exact in doubles, or their
 * difference is far enough from 0, doubles are used; otherwise BigInt.
 */
export function sideOf(ax: number, ay: number, dx: number, dy: number): number {
  const p = dy * ax;
  const q = dx * ay;
  const difference = p - q;
  if (Math.abs(difference) > 2048 || (Math.abs(p) <= EXACT && Math.abs(q) <= EXACT)) return difference;
  return Number(BigInt(dy) * BigInt(ax) - BigInt(dx) * BigInt(ay));
}

const EXACT = 2 ** 53;

/**
 * Whether an edge passes through the interior of a square. Coordinates are relative to the square's lower left corner.
 */
export function passes(ax: number, ay: number, bx: number, by: number, side: number): boolean {
  if (Math.min(ax, bx) >= side || Math.max(ax, bx) <= 0 || Math.min(ay, by) >= side || Math.max(ay, by) <= 0)
    return false;
  const dx = bx - ax;
  const dy = by - ay;
  let above = false;
  let below = false;
  for (let corner = 0; corner < 4; corner++) {
    const at = sideOf(ax - (corner & 1) * side, ay - (corner >> 1) * side, dx, dy);
    if (at > 0) above = true;
    if (at < 0) below = true;
  }
  return above && below;
}

/**
 * Whether an edge changes the even-odd parity of a point, that is, crosses the point's row at the point or to the left
 * of the point. Coordinates are relative to the point.
 */
export function flips(ax: number, ay: number, bx: number, by: number): boolean {
  return ay <= 0 !== by <= 0 && isPast(sideOf(ax, ay, bx - ax, by - ay), by - ay);
}

/**
 * Whether a point is on an edge or to the right of the edge. The edge must cross the point's row. `at` is the result of
 * {@link sideOf} for the edge, relative to the point.
 */
export function isPast(at: number, dy: number): boolean {
  return dy > 0 ? at <= 0 : at >= 0;
}
