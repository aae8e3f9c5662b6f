import { type SnappedPolygons, STEPS_PER_CELL } from '../geometry/grid.ts';
import type { Sheets } from '../geometry/sheets.ts';
import { rangeOf } from './vertex-ranges.ts';

/** A rectangle in grid steps, around parts of a sheet (group of parts of a zone that do not overlap). */
export interface PartBox {
  readonly sheet: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/**
 * Maximum number of boxes of a sheet. More boxes would leave out more of the cells between its parts, but every window
 * looks at every box.
 */
const MAX_BOXES = 16;

/** Two boxes become one if that adds at most the area of a smallest tile. */
const FREE_AREA = (32 * STEPS_PER_CELL) ** 2;

/**
 * Boxes around the parts of each sheet. Parts that lie far apart have boxes of their own, so that what lies between them
 * is not read.
 *
 * - Cost O(rings).
 */
export function partBoxes({ polygonRings, ringVertices, column, row }: SnappedPolygons, sheets?: Sheets): PartBox[] {
  const boxes: PartBox[] = [];
  for (let zone = 0; zone + 1 < polygonRings.length; zone++) {
    const ofSheet = new Map<number, PartBox[]>();
    for (let ring = polygonRings[zone]!; ring < polygonRings[zone + 1]!; ring++) {
      const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
      if (from === to) continue;
      const sheet = sheets?.ringSheets[ring] ?? zone;
      const [left, right] = rangeOf(column, from, to);
      const [top, bottom] = rangeOf(row, from, to);
      const box = { sheet, left, right, top, bottom };
      const others = ofSheet.get(sheet);
      if (others === undefined) ofSheet.set(sheet, [box]);
      else addBox(others, box);
    }
    for (const found of ofSheet.values()) for (const box of found) boxes.push(box);
  }
  return boxes;
}

/** Adds a box, or extends the box that grows least by it. */
function addBox(boxes: PartBox[], box: PartBox): void {
  let nearest = boxes[0]!;
  let least = Infinity;
  for (const other of boxes) {
    const growth = areaOf(union(other, box)) - areaOf(other) - areaOf(box);
    if (growth < least) [nearest, least] = [other, growth];
  }
  if (least > FREE_AREA && boxes.length < MAX_BOXES) boxes.push(box);
  else Object.assign(nearest, union(nearest, box));
}

function union(a: PartBox, b: PartBox): Omit<PartBox, 'sheet'> {
  return {
    left: Math.min(a.left, b.left),
    right: Math.max(a.right, b.right),
    top: Math.min(a.top, b.top),
    bottom: Math.max(a.bottom, b.bottom),
  };
}

function areaOf({ left, right, top, bottom }: Omit<PartBox, 'sheet'>): number {
  return (right - left) * (bottom - top);
}
