import type { Vertices } from './rings.ts';

/**
 * Determines the part to which each ring of a polygon belongs, because a Shapefile does not state the parts. A
 * clockwise ring is the outline of a part. Any other ring is a hole in the smallest outline that contains the ring; a
 * ring in no outline becomes a part of its own. If there is at most one outline, all rings belong to part 0.
 *
 * O(vertices) for one outline. Several outlines need O(holes · outlines) comparisons of boxes.
 *
 * @param starts - Index of the first vertex of each ring, followed by the total number of vertices.
 * @param comesRound - Whether x are longitudes, so that a ring that lies a turn beside its place in an outline is in it.
 */
export function partsByDirection(
  { x, y }: Pick<Vertices, 'x' | 'y'>,
  starts: readonly number[],
  comesRound: boolean,
): number[] {
  const rings = starts.slice(1).map((end, ring) => ringOf(x, y, starts[ring]!, end));
  const outlines = [...rings.keys()].filter((ring) => rings[ring]!.area < 0);
  if (outlines.length < 2) return rings.map(() => 0);
  const partOf = new Map(outlines.map((ring, part) => [ring, part]));
  const turns = comesRound ? [0, 360, -360] : [0];
  let parts = outlines.length;
  return rings.map((ring, at) => {
    const own = partOf.get(at);
    if (own !== undefined) return own;
    const around = outlines.filter((outline) => turns.some((turn) => isAround(x, y, rings[outline]!, ring, turn)));
    if (around.length === 0) return parts++;
    return partOf.get(around.reduce((a, b) => (rings[a]!.area >= rings[b]!.area ? a : b)))!;
  });
}

export interface Ring {
  readonly start: number;
  readonly end: number;
  /** Twice the signed area, which is negative for a clockwise ring. */
  readonly area: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
  readonly top: number;
}

/** A ring with its box and its area, from the vertex `start` to `end`, exclusive. */
export function ringOf(x: Float64Array, y: Float64Array, start: number, end: number): Ring {
  let area = 0;
  const box = { left: Infinity, bottom: Infinity, right: -Infinity, top: -Infinity };
  for (let v = start, u = end - 1; v < end; u = v++) {
    // Coordinates are relative to the first vertex, because subtracting large products of absolute coordinates would
    // lose precision far from the origin.
    area += (x[u]! - x[start]!) * (y[v]! - y[start]!) - (x[v]! - x[start]!) * (y[u]! - y[start]!);
    box.left = Math.min(box.left, x[v]!);
    box.right = Math.max(box.right, x[v]!);
    box.bottom = Math.min(box.bottom, y[v]!);
    box.top = Math.max(box.top, y[v]!);
  }
  return { start, end, area, ...box };
}

/**
 * Whether an outline contains a ring that is moved to the right by `turn`. This is decided by the first vertex of the ring
 * that does not lie on the outline.
 */
function isAround(x: Float64Array, y: Float64Array, outline: Ring, ring: Ring, turn: number): boolean {
  const inBox =
    outline.left <= ring.left + turn &&
    outline.right >= ring.right + turn &&
    outline.bottom <= ring.bottom &&
    outline.top >= ring.top;
  if (!inBox) return false;
  for (let v = ring.start; v < ring.end; v++) {
    const side = sideOfOutline(x, y, outline, x[v]! + turn, y[v]!);
    if (side !== 'on') return side === 'in';
  }
  return true;
}

function sideOfOutline(
  x: Float64Array,
  y: Float64Array,
  { start, end }: Ring,
  px: number,
  py: number,
): 'in' | 'on' | 'out' {
  let inside = false;
  for (let v = start, u = end - 1; v < end; u = v++) {
    if (x[v] === px && y[v] === py) return 'on';
    if (y[u]! <= py === y[v]! <= py) continue;
    const crossing = x[u]! + ((py - y[u]!) / (y[v]! - y[u]!)) * (x[v]! - x[u]!);
    if (crossing === px) return 'on';
    if (crossing > px) inside = !inside;
  }
  return inside ? 'in' : 'out';
}
