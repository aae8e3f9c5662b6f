import Flatbush from 'flatbush';
import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import type { DomainPolygons } from '../../algorithms/quadrants/index.ts';
import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';

export type Box = readonly [left: number, bottom: number, right: number, top: number];

/** The bounding box of each polygon. */
export function boxesOf({ polygonRings, ringVertices, x, y }: Polygons | DomainPolygons): Box[] {
  return Array.from({ length: polygonRings.length - 1 }, (_, polygon): Box => {
    const [from, to] = [ringVertices[polygonRings[polygon]!]!, ringVertices[polygonRings[polygon + 1]!]!];
    const [xs, ys] = [x.subarray(from, to), y.subarray(from, to)];
    return [smallestOf(xs), smallestOf(ys), largestOf(xs), largestOf(ys)];
  });
}

/** An index of boxes by their place in the list. */
export function boxIndex(boxes: readonly Box[]): Flatbush {
  const index = new Flatbush(boxes.length);
  for (const [left, bottom, right, top] of boxes) index.add(left, bottom, right, top);
  index.finish();
  return index;
}
