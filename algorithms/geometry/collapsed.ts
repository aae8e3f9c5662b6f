import type { Polygons } from './polygons.ts';

/**
 * The polygons that have width and height, but lose either on the integer grid to which their vertices were snapped, so
 * that they have no area there. O(vertices).
 *
 * @param x - Coordinates of the vertices on the grid, in the order of `polygons`. `y` likewise.
 */
export function collapsedPolygons(polygons: Polygons, x: ArrayLike<number>, y: ArrayLike<number>): number[] {
  const { polygonRings, ringVertices } = polygons;
  const found: number[] = [];
  for (let polygon = 0; polygon + 1 < polygonRings.length; polygon++) {
    const [from, to] = [ringVertices[polygonRings[polygon]!]!, ringVertices[polygonRings[polygon + 1]!]!];
    const collapses = isLevel(x, from, to) || isLevel(y, from, to);
    if (to > from && collapses && !isLevel(polygons.x, from, to) && !isLevel(polygons.y, from, to)) found.push(polygon);
  }
  return found;
}

function isLevel(numbers: ArrayLike<number>, from: number, to: number): boolean {
  for (let v = from + 1; v < to; v++) if (numbers[v] !== numbers[from]) return false;
  return true;
}
