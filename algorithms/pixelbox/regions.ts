import type { GridPolygons } from './grid-polygons.ts';

/**
 * Regions of whole pixels: the pixels whose centres are inside polygons on the pixel grid, by the even-odd rule, half-open, so
 * that a centre on a left edge is in and on a right edge out. Of rectilinear polygons that is the polygon itself.
 */
export interface Regions extends GridPolygons {
  /** Boxes of the vertices, half-open: columns left … right − 1, rows top … bottom − 1. Without vertices all are 0. */
  readonly left: Int32Array;
  readonly top: Int32Array;
  readonly right: Int32Array;
  readonly bottom: Int32Array;
}

/**
 * The regions of polygons on the pixel grid. O(vertices).
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [3, 0], [3, 1], [1, 1], [1, 2], [0, 2]]] }');
 * const { right, bottom } = regionsOf(gridPolygons(zones.polygons));
 * [right, bottom]; // [Int32Array [3], Int32Array [2]]
 */
export function regionsOf(polygons: GridPolygons): Regions {
  const { polygonRings, ringVertices, x, y } = polygons;
  const count = polygonRings.length - 1;
  const column = (): Int32Array => new Int32Array(count);
  const boxes = { left: column(), top: column(), right: column(), bottom: column() };
  for (let polygon = 0; polygon < count; polygon++) {
    const start = ringVertices[polygonRings[polygon]!]!;
    const end = ringVertices[polygonRings[polygon + 1]!]!;
    if (start === end) continue;
    let left = x[start]!;
    let top = y[start]!;
    let right = left;
    let bottom = top;
    for (let i = start + 1; i < end; i++) {
      const column = x[i]!;
      const row = y[i]!;
      if (column < left) left = column;
      else if (column > right) right = column;
      if (row < top) top = row;
      else if (row > bottom) bottom = row;
    }
    boxes.left[polygon] = left;
    boxes.top[polygon] = top;
    boxes.right[polygon] = right;
    boxes.bottom[polygon] = bottom;
  }
  return { polygonRings, ringVertices, x, y, ...boxes };
}

/** Vertices of a region. */
export function vertexCount({ polygonRings, ringVertices }: Regions, region: number): number {
  return ringVertices[polygonRings[region + 1]!]! - ringVertices[polygonRings[region]!]!;
}
