import type { GridPolygons } from '../pixelbox/grid-polygons.ts';

/**
 * Minimum bounding rectangles as columns, in pixels; `right` and `bottom` are the first column and row outside.
 *
 * A polygon without vertices has the box that meets nothing: `left` and `top` above `right` and `bottom`.
 */
export interface Boxes {
  readonly left: Int32Array;
  readonly top: Int32Array;
  readonly right: Int32Array;
  readonly bottom: Int32Array;
}

const [LEAST, MOST] = [-(2 ** 31), 2 ** 31 - 1];

/**
 * The box of every polygon. O(vertices).
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[1, 2], [4, 2], [4, 3], [1, 3]]] }');
 * const { left, top, right, bottom } = boxesOf(gridPolygons(zones.polygons));
 * [left[0], top[0], right[0], bottom[0]]; // [1, 2, 4, 3]
 */
export function boxesOf({ polygonRings, ringVertices, x, y }: GridPolygons): Boxes {
  const polygons = polygonRings.length - 1;
  const left = new Int32Array(polygons).fill(MOST);
  const top = new Int32Array(polygons).fill(MOST);
  const right = new Int32Array(polygons).fill(LEAST);
  const bottom = new Int32Array(polygons).fill(LEAST);
  for (let polygon = 0; polygon < polygons; polygon++) {
    const end = ringVertices[polygonRings[polygon + 1]!]!;
    for (let v = ringVertices[polygonRings[polygon]!]!; v < end; v++) {
      left[polygon] = Math.min(left[polygon]!, x[v]!);
      right[polygon] = Math.max(right[polygon]!, x[v]!);
      top[polygon] = Math.min(top[polygon]!, y[v]!);
      bottom[polygon] = Math.max(bottom[polygon]!, y[v]!);
    }
  }
  return { left, top, right, bottom };
}
