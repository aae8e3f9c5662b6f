import type { Polygons } from '../../../algorithms/geometry/polygons.ts';

/** A rectangle in map coordinates. The rectangle is empty if `left` is greater than `right`. */
export interface MapExtent {
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  readonly top: number;
}

const EMPTY: MapExtent = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };

/** The smallest rectangle that contains all given rectangles; undefined if all of them are empty. */
export function unionOf(extents: Iterable<MapExtent>): MapExtent | undefined {
  let union = EMPTY;
  for (const { left, right, bottom, top } of extents) {
    union = {
      left: Math.min(union.left, left),
      right: Math.max(union.right, right),
      bottom: Math.min(union.bottom, bottom),
      top: Math.max(union.top, top),
    };
  }
  return union.left <= union.right ? union : undefined;
}

/** The intersection of two rectangles. If the rectangles do not intersect, the result is `a`. */
export function intersectionOf(a: MapExtent, b: MapExtent): MapExtent {
  const shared = {
    left: Math.max(a.left, b.left),
    right: Math.min(a.right, b.right),
    bottom: Math.max(a.bottom, b.bottom),
    top: Math.min(a.top, b.top),
  };
  return shared.left < shared.right && shared.bottom < shared.top ? shared : a;
}

/** The bounds of every ring, in the coordinates of the file. */
export function ringExtents({ ringVertices, x, y }: Polygons): MapExtent[] {
  return Array.from({ length: ringVertices.length - 1 }, (_, ring) => {
    const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    const [left, right] = range(x, start, end);
    const [bottom, top] = range(y, start, end);
    return { left, right, bottom, top };
  });
}

function range(values: Float64Array, start: number, end: number): [low: number, high: number] {
  let [low, high] = [Infinity, -Infinity];
  for (let i = start; i < end; i++) {
    low = Math.min(low, values[i]!);
    high = Math.max(high, values[i]!);
  }
  return [low, high];
}

/** A rectangle moved along x by `shift`. */
export function moved({ left, right, bottom, top }: MapExtent, shift: number): MapExtent {
  return { left: left + shift, right: right + shift, bottom, top };
}
