import type { LabelRegions } from '../../algorithms/label-images/label-regions.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anInstance, aWhole, aWord, optional, someOptions } from '../../primitives/checks/kinds.ts';
import { gatherRegions, type LabelledRegions, type RegionKind } from './gather-regions.ts';
import { type Labels, rowsOf } from './label-rows.ts';
import { type Corners, linkCorners } from './link-corners.ts';
import { componentsNotes, nameRegions } from './name-regions.ts';
import type { PolygonTile } from './result-set.ts';
import { beginPolygonNamed, emptyTile, endPolygon, finishTile } from './tile-columns.ts';

export type { Labels } from './label-rows.ts';

/** Size of a label image, and how to trace it. */
export interface TraceLabelsOptions {
  readonly width: number;
  readonly height: number;
  /**
   * Whether a polygon is a 4-connected component of equal labels (`components`, default), or all pixels with the same
   * label (`labels`).
   */
  readonly regions?: RegionKind | undefined;
}

/**
 * Converts a label image to polygons whose rings follow the edges of pixels. Pixel (column, row) is the square from
 * (column, row) to (column + 1, row + 1).
 *
 * By default, there is one polygon, possibly with holes, per 4-connected component of equal labels. A polygon of label
 * 7 is named `7` if the label has a single component, and `7#1`, `7#2` … if it has several. With `regions: 'labels'`,
 * there is one polygon per label. Polygons are ordered by their first pixels. They represent the image exactly: by the
 * even-odd rule, a pixel's centre is inside a polygon if and only if the pixel belongs to the polygon's region. Rings
 * may touch themselves and each other at corners.
 *
 * O(pixels + corners), sequential, deterministic.
 *
 * @example
 * const { polygons } = traceLabels(Uint8Array.of(0, 7, 7, 7), { width: 2, height: 2 });
 * [polygons.x, polygons.y]; // [Float64Array [1, 2, 2, 0, 0, 1], Float64Array [0, 0, 2, 2, 1, 1]]
 */
export function traceLabels(labels: Labels, options: TraceLabelsOptions): PolygonTile {
  requireArguments('traceLabels', { labels, options }, ARGUMENTS);
  const { width, height, regions = 'components' } = options;
  return traceRegions(gatherRegions(rowsOf(labels, width, height), { regions }));
}

const ARGUMENTS = {
  labels: anInstance(Uint8Array, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array),
  options: someOptions<TraceLabelsOptions>({
    width: aWhole(),
    height: aWhole(),
    regions: optional(aWord(['components', 'labels'])),
  }),
};

/** Converts regions of pixels to polygons, like {@link traceLabels}. Memory grows with the number of corners. */
export function traceRegions({ regions, labels }: LabelledRegions): PolygonTile {
  const { corners, starts } = findCorners(regions);
  const columns = emptyTile(corners.x.length);
  const open = new Int32Array(regions.width + 1).fill(-1);
  const names = nameRegions(labels);
  for (let region = 0; region < labels.length; region++) {
    beginPolygonNamed(columns, names(region));
    linkCorners(columns, corners, starts[region]!, starts[region + 1]!, open);
    endPolygon(columns);
  }
  const tile = finishTile(columns);
  return { ...tile, notes: [...tile.notes, ...componentsNotes(labels)] };
}

/** The corners of all regions, region by region. Region `r` has the corners `starts[r] … starts[r + 1] − 1`. */
function findCorners(regions: LabelRegions): { corners: Corners; starts: Uint32Array } {
  const starts = new Uint32Array(regions.area.length + 2);
  eachCorner(regions, (region, _x, _y, turn) => {
    starts[region + 1]! += Math.abs(turn);
  });
  for (let region = 1; region < starts.length; region++) starts[region]! += starts[region - 1]!;
  const count = starts[starts.length - 1]!;
  const corners = { x: new Uint32Array(count), y: new Uint32Array(count), turn: new Int8Array(count) };
  // This loop numbers regions from 1, and `starts[r]` is the next free position for region r. After the loop,
  // `starts[r]` is the first position of the next region, which is region r if regions are numbered from 0.
  eachCorner(regions, (region, x, y, turn) => {
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

/** Visits the corners of all regions, row by row. Examines the four pixels around every grid point. */
function eachCorner(regions: LabelRegions, visit: Visit): void {
  const { width, height } = regions;
  // The regions of the pixels in the row above and in the row below, numbered from 1. The number 0 stands for the
  // background and for pixels outside the image.
  let [above, below] = [new Uint32Array(width + 1), new Uint32Array(width + 1)];
  for (let y = 0; y <= height; y++) {
    [above, below] = [below, above];
    paintRow(regions, y, below);
    let [upperLeft, lowerLeft] = [0, 0];
    for (let x = 0; x <= width; x++) {
      const [upperRight, lowerRight] = [above[x]!, below[x]!];
      const straight =
        (upperLeft === lowerLeft && upperRight === lowerRight) ||
        (upperLeft === upperRight && lowerLeft === lowerRight);
      if (!straight) visitPoint(upperLeft, upperRight, lowerLeft, lowerRight, x, y, visit);
      upperLeft = upperRight;
      lowerLeft = lowerRight;
    }
  }
}

function paintRow({ height, rowRuns, start, end, region }: LabelRegions, y: number, row: Uint32Array): void {
  row.fill(0);
  if (y === height) return;
  for (let run = rowRuns[y]!; run < rowRuns[y + 1]!; run++) row.fill(region[run]! + 1, start[run]!, end[run]!);
}

/**
 * Visits a grid point once for every region that has a corner at this point. Passes `turn`, a sum over the pixels
 * around the point that belong to the region.
 */
function visitPoint(
  upperLeft: number,
  upperRight: number,
  lowerLeft: number,
  lowerRight: number,
  x: number,
  y: number,
  visit: Visit,
): void {
  // The upper left and the lower right pixel each add 1 to the turn of their region. The other two pixels subtract 1.
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
