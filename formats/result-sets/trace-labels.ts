import { type Corners, linkCorners } from './link-corners.ts';
import type { PolygonTile } from './result-set.ts';
import { beginPolygonNamed, emptyTile, endPolygon, finishTile } from './tile-columns.ts';

/** A label a pixel, row by row; 0 is background. */
export type Labels = Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array;

/**
 * Traces a label image into polygons whose rings run along the edges of pixels: pixel (column, row) is the square from
 * (column, row) to (column + 1, row + 1).
 *
 * One polygon a 4-connected component of a label, holes included, called `7` where label 7 has one component and `7#1`,
 * `7#2` … where it has several; or, by `labels`, one polygon a label. Polygons are in the order of their first pixels.
 * The image is told back exactly: a pixel's centre is inside those polygons, even-odd, whose region it belongs to.
 * Rings may touch themselves and each other at corners.
 *
 * O(pixels + corners), sequential, deterministic.
 *
 * @example
 * const { polygons } = traceLabels(Uint8Array.of(0, 7, 7, 7), 2, 2);
 * [polygons.x, polygons.y]; // [Float64Array [1, 2, 2, 0, 0, 1], Float64Array [0, 0, 2, 2, 1, 1]]
 */
export function traceLabels(
  labels: Labels,
  width: number,
  height: number,
  regions: 'components' | 'labels' = 'components',
): PolygonTile {
  const map = regions === 'labels' ? regionsByLabel(labels) : regionsByComponent(labels, width, height);
  const { corners, starts } = findCorners(map, width, height);
  const columns = emptyTile(corners.x.length);
  const open = new Int32Array(width + 1).fill(-1);
  const names = nameRegions(map.labels);
  for (let region = 0; region < map.labels.length; region++) {
    beginPolygonNamed(columns, names(region));
    linkCorners(columns, corners, starts[region]!, starts[region + 1]!, open);
    endPolygon(columns);
  }
  return finishTile(columns);
}

/** Which region a pixel belongs to, from 1, and which label a region has. */
interface RegionMap {
  readonly ofPixel: Uint32Array;
  readonly labels: readonly number[];
}

function regionsByLabel(labels: Labels): RegionMap {
  const ofPixel = new Uint32Array(labels.length);
  const regions = new Map<number, number>([[0, 0]]);
  for (let pixel = 0, last = 0, region = 0; pixel < labels.length; pixel++) {
    const label = labels[pixel]!;
    if (label !== last) {
      region = regions.get(label) ?? regions.size;
      regions.set(label, region);
      last = label;
    }
    ofPixel[pixel] = region;
  }
  return { ofPixel, labels: [...regions.keys()].slice(1) };
}

function regionsByComponent(labels: Labels, width: number, height: number): RegionMap {
  const ofPixel = new Uint32Array(labels.length);
  // Runs of one label in a row, joined to those above them; a run's parent never comes after it.
  const parent: number[] = [0];
  for (let row = 0, pixel = 0; row < height; row++) {
    for (let column = 0; column < width; column++, pixel++) {
      const label = labels[pixel]!;
      if (label === 0) continue;
      const left = column > 0 && labels[pixel - 1] === label ? ofPixel[pixel - 1]! : 0;
      const above = row > 0 && labels[pixel - width] === label ? ofPixel[pixel - width]! : 0;
      if (left === 0 && above === 0) ofPixel[pixel] = parent.push(parent.length) - 1;
      else ofPixel[pixel] = left === 0 ? above : left;
      if (left !== 0 && above !== 0 && left !== above) join(parent, left, above);
    }
  }
  return numberComponents(labels, ofPixel, parent);
}

function join(parent: number[], a: number, b: number): void {
  const [rootA, rootB] = [rootOf(parent, a), rootOf(parent, b)];
  if (rootA < rootB) parent[rootB] = rootA;
  else parent[rootA] = rootB;
}

/** The first of all that are joined, with the way to it halved. */
function rootOf(parent: number[], member: number): number {
  let at = member;
  while (parent[at] !== at) {
    parent[at] = parent[parent[at]!]!;
    at = parent[at]!;
  }
  return at;
}

function numberComponents(labels: Labels, ofPixel: Uint32Array, parent: number[]): RegionMap {
  const regions = new Uint32Array(parent.length);
  let count = 0;
  for (let member = 1; member < parent.length; member++) {
    const root = rootOf(parent, member);
    regions[member] = root === member ? ++count : regions[root]!;
  }
  const labelOf: number[] = new Array(count);
  for (let pixel = 0; pixel < ofPixel.length; pixel++) {
    const region = regions[ofPixel[pixel]!]!;
    ofPixel[pixel] = region;
    if (region > 0) labelOf[region - 1] = labels[pixel]!;
  }
  return { ofPixel, labels: labelOf };
}

/** Corners of all regions; those of region `r` (from 0) are `starts[r] … starts[r + 1] − 1`. */
function findCorners(map: RegionMap, width: number, height: number): { corners: Corners; starts: Uint32Array } {
  const starts = new Uint32Array(map.labels.length + 2);
  eachCorner(map.ofPixel, width, height, (region, _x, _y, turn) => {
    starts[region + 1]! += Math.abs(turn);
  });
  for (let region = 1; region < starts.length; region++) starts[region]! += starts[region - 1]!;
  const count = starts[starts.length - 1]!;
  const corners = { x: new Uint32Array(count), y: new Uint32Array(count), turn: new Int8Array(count) };
  // Filling moves the start of region r, which is counted from 1 here, to its end: where region r + 1 starts.
  eachCorner(map.ofPixel, width, height, (region, x, y, turn) => {
    for (let times = Math.abs(turn); times > 0; times--) {
      const at = starts[region]!++;
      corners.x[at] = x;
      corners.y[at] = y;
      corners.turn[at] = turn;
    }
  });
  return { corners, starts };
}

type Visit = (region: number, x: number, y: number, turn: number) => void;

/** Visits the corners of all regions, row by row: looks at the four pixels around every point of the grid. */
function eachCorner(ofPixel: Uint32Array, width: number, height: number, visit: Visit): void {
  for (let y = 0; y <= height; y++) {
    const [above, below] = [(y - 1) * width, y * width];
    let [upperLeft, lowerLeft] = [0, 0];
    for (let x = 0; x <= width; x++) {
      const upperRight = x < width && y > 0 ? ofPixel[above + x]! : 0;
      const lowerRight = x < width && y < height ? ofPixel[below + x]! : 0;
      const straight =
        (upperLeft === lowerLeft && upperRight === lowerRight) ||
        (upperLeft === upperRight && lowerLeft === lowerRight);
      if (!straight) visitPoint(upperLeft, upperRight, lowerLeft, lowerRight, x, y, visit);
      upperLeft = upperRight;
      lowerLeft = lowerRight;
    }
  }
}

/** Visits a point once for every region that has a corner there: regions that have several pixels, at the first. */
function visitPoint(
  upperLeft: number,
  upperRight: number,
  lowerLeft: number,
  lowerRight: number,
  x: number,
  y: number,
  visit: Visit,
): void {
  // A pixel turns the boundary of its region by +1 on this diagonal, −1 on the other; pixels of one region add up.
  const pair = upperRight === lowerLeft ? -2 : -1;
  if (upperLeft > 0) {
    const turn =
      1 + Number(lowerRight === upperLeft) - Number(upperRight === upperLeft) - Number(lowerLeft === upperLeft);
    if (turn !== 0) visit(upperLeft, x, y, turn);
  }
  if (upperRight > 0 && upperRight !== upperLeft) {
    const turn = pair + Number(lowerRight === upperRight);
    if (turn !== 0) visit(upperRight, x, y, turn);
  }
  if (lowerLeft > 0 && lowerLeft !== upperLeft && lowerLeft !== upperRight) {
    if (lowerRight !== lowerLeft) visit(lowerLeft, x, y, -1);
  }
  const alone = lowerRight !== upperLeft && lowerRight !== upperRight && lowerRight !== lowerLeft;
  if (lowerRight > 0 && alone) visit(lowerRight, x, y, 1);
}

/** Calls regions by their labels, with a number behind where a label has several. */
function nameRegions(labels: readonly number[]): (region: number) => string {
  const total = new Map<number, number>();
  for (const label of labels) total.set(label, (total.get(label) ?? 0) + 1);
  const seen = new Map<number, number>();
  return (region) => {
    const label = labels[region]!;
    if (total.get(label) === 1) return String(label);
    const number = (seen.get(label) ?? 0) + 1;
    seen.set(label, number);
    return `${label}#${number}`;
  };
}
