import type { LabelRegions } from '../../algorithms/label-images/label-regions.ts';
import { requireArguments } from '../../primitives/arguments.ts';
import { anInstance, aWhole, aWord, optional, someOptions } from '../../primitives/kinds.ts';
import { gatherRegions, type LabelledRegions, type RegionKind } from './gather-regions.ts';
import { type Labels, rowsOf } from './label-rows.ts';
import { type Corners, linkCorners } from './link-corners.ts';
import { nameRegions } from './name-regions.ts';
import type { PolygonTile } from './result-set.ts';
import { beginPolygonNamed, emptyTile, endPolygon, finishTile } from './tile-columns.ts';

export type { Labels } from './label-rows.ts';

/** Layout of the pixels of an image, and how to trace them. */
export interface TraceLabelsOptions {
  readonly width: number;
  readonly height: number;
  /** Whether a polygon is a connected component of a label (default), or a whole label. */
  readonly regions?: RegionKind | undefined;
}

/**
 * Traces a label image into polygons whose rings run along the edges of pixels: pixel (column, row) is the square from
 * (column, row) to (column + 1, row + 1).
 *
 * There is one polygon per 4-connected component of a label, including holes. It is named `7` if label 7 has one
 * component, and `7#1`, `7#2` … if it has several. With `regions: 'labels'` there is one polygon per label. Polygons
 * are ordered by their first pixels. The polygons represent the image exactly: a pixel's centre is inside a polygon, by
 * the even-odd rule, if and only if it belongs to its region. Rings may touch themselves and each other at corners.
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

/** Traces regions as {@link traceLabels} does. Memory grows with the corners. */
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
  return finishTile(columns);
}

/** Corners of all regions; those of region `r` are `starts[r] … starts[r + 1] − 1`. */
function findCorners(regions: LabelRegions): { corners: Corners; starts: Uint32Array } {
  const starts = new Uint32Array(regions.area.length + 2);
  eachCorner(regions, (region, _x, _y, turn) => {
    starts[region + 1]! += Math.abs(turn);
  });
  for (let region = 1; region < starts.length; region++) starts[region]! += starts[region - 1]!;
  const count = starts[starts.length - 1]!;
  const corners = { x: new Uint32Array(count), y: new Uint32Array(count), turn: new Int8Array(count) };
  // Filling moves the start of region r, which is counted from 1 here, to its end, which is the start of region r + 1.
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

/** Visits the corners of all regions, row by row, by examining the four pixels around every grid point. */
function eachCorner(regions: LabelRegions, visit: Visit): void {
  const { width, height } = regions;
  // The region of every pixel in two rows, from 1. Background is 0, also beyond both ends.
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
 * Visits a point once for every region that has a corner there. A region with several pixels at the point is visited at
 * the first.
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
  // A pixel turns the boundary of its region by +1 on this diagonal and by −1 on the other; turns of pixels in one
  // region add up.
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
