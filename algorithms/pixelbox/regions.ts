import { CapacityError } from '../../primitives/errors.ts';
import type { GridPolygons } from './grid-polygons.ts';

/**
 * Regions of whole pixels, each given by its corners alone: a pixel (i, j) is inside if the corners (x, y) with x ≤ i and
 * y ≤ j are odd in number. The outline of a rectilinear polygon has them where it turns; rings, holes, their direction and
 * their touching need no further word. Corners that occur twice cancel.
 *
 * On every horizontal and on every vertical line there is an even number of corners.
 */
export interface Regions {
  /** Corners of region `r` are `cornerStart[r] … cornerStart[r + 1] − 1`; length is regions + 1. */
  readonly cornerStart: Uint32Array;
  readonly x: Int32Array;
  readonly y: Int32Array;
  /** The least box that holds all corners, half-open: columns left … right − 1, rows top … bottom − 1. Empty: all 0. */
  readonly left: Int32Array;
  readonly top: Int32Array;
  readonly right: Int32Array;
  readonly bottom: Int32Array;
}

/** Corners that one set of regions may have: a gibibyte of coordinates. */
const MOST_CORNERS = 2 ** 27;

/**
 * The regions of polygons on the pixel grid: the pixels whose centres are inside, by the even-odd rule, half-open, so that
 * a centre on a left edge is in and on a right edge out. Of rectilinear polygons that is the polygon itself.
 *
 * Sloped edges become stairs, one corner a step: O(vertices + rows that sloped edges cross). Exact.
 *
 * @throws `CapacityError` `pixelbox/corners` where sloped edges cross more than 2²⁷ rows altogether.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [3, 0], [3, 1], [1, 1], [1, 2], [0, 2]]] }');
 * const { x, y, right, bottom } = regionsOf(gridPolygons(zones.polygons));
 * [x.length, right[0], bottom[0]]; // [6, 3, 2]
 */
export function regionsOf({ polygonRings, ringVertices, x, y }: GridPolygons): Regions {
  const count = polygonRings.length - 1;
  const corners = new Corners(x.length + 2);
  const cornerStart = new Uint32Array(count + 1);
  const boxes = { left: column(count), top: column(count), right: column(count), bottom: column(count) };
  for (let polygon = 0; polygon < count; polygon++) {
    for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
      addRing(corners, x, y, ringVertices[ring]!, ringVertices[ring + 1]!, polygon);
    }
    cornerStart[polygon + 1] = corners.length;
    boundCorners(corners, cornerStart[polygon]!, polygon, boxes);
  }
  return { cornerStart, x: corners.x.slice(0, corners.length), y: corners.y.slice(0, corners.length), ...boxes };
}

const column = (length: number): Int32Array => new Int32Array(length);

/** Two columns that grow. */
class Corners {
  x: Int32Array;
  y: Int32Array;
  length = 0;

  constructor(capacity: number) {
    this.x = column(capacity);
    this.y = column(capacity);
  }
}

function addRing(corners: Corners, x: Int32Array, y: Int32Array, from: number, to: number, polygon: number): void {
  const first = corners.length;
  for (let i = from, before = to - 1; i < to; before = i++) {
    if (y[before] === y[i]) continue;
    if (x[before] === x[i]) {
      addCorner(corners, x[i]!, y[before]!, first, polygon);
      addCorner(corners, x[i]!, y[i]!, first, polygon);
    } else {
      addStairs(corners, x[before]!, y[before]!, x[i]!, y[i]!, first, polygon);
    }
  }
  joinEnds(corners, first);
}

/** A ring that was begun in the middle of a straight line has left the same corner at both ends. */
function joinEnds(corners: Corners, first: number): void {
  const { x, y, length } = corners;
  const last = length - 1;
  if (last <= first || x[first] !== x[last] || y[first] !== y[last]) return;
  x[first] = x[last - 1]!;
  y[first] = y[last - 1]!;
  corners.length -= 2;
}

/** Where a line goes on straight it would leave the corner that it came to at once: the two cancel. */
function addCorner(corners: Corners, x: number, y: number, first: number, polygon: number): void {
  const last = corners.length - 1;
  if (last >= first && corners.x[last] === x && corners.y[last] === y) {
    corners.length = last;
    return;
  }
  if (corners.length === corners.x.length) grow(corners, polygon);
  corners.x[corners.length] = x;
  corners.y[corners.length] = y;
  corners.length++;
}

function grow(corners: Corners, polygon: number): void {
  const length = Math.min(MOST_CORNERS, corners.length * 2);
  if (length === corners.length) {
    throw new CapacityError('pixelbox/corners', 'The sloped edges of the polygons cross too many rows of pixels.', {
      expected: `at most ${MOST_CORNERS} corners`,
      got: `more by polygon ${polygon}`,
      remedy: 'Choose larger pixels, or compare the polygons in parts.',
      place: { record: polygon },
    });
  }
  const { x, y } = corners;
  corners.x = column(length);
  corners.y = column(length);
  corners.x.set(x);
  corners.y.set(y);
}

/** The stairs of pixels along a sloped edge, from its start to its end: in every row it passes at a whole column. */
function addStairs(
  corners: Corners,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  first: number,
  polygon: number,
): void {
  const [firstRow, lastRow, step] = y0 < y1 ? [y0, y1 - 1, 1] : [y0 - 1, y1, -1];
  for (let row = firstRow; ; row += step) {
    const at = columnInRow(x0, y0, x1, y1, row);
    const [near, far] = step > 0 ? [row, row + 1] : [row + 1, row];
    addCorner(corners, at, near, first, polygon);
    addCorner(corners, at, far, first, polygon);
    if (row === lastRow) return;
  }
}

/** The first column whose centre is on or right of the edge, in the middle of a row: ⌈x − ½⌉. */
export function columnInRow(x0: number, y0: number, x1: number, y1: number, row: number): number {
  const [run, rise] = y0 < y1 ? [x1 - x0, y1 - y0] : [x0 - x1, y0 - y1];
  // x − ½ = x0 + ((2 (row − y0) + 1) run − rise) / (2 rise)
  const product = (2 * (row - y0) + 1) * run;
  if (Math.abs(product) < 2 ** 52) return x0 + ceilDivide(product - rise, 2 * rise);
  const exact = (2n * BigInt(row - y0) + 1n) * BigInt(run) - BigInt(rise);
  return x0 + Number(ceilDivideBig(exact, 2n * BigInt(rise)));
}

/** ⌈a / b⌉ for b > 0, exact though the quotient of doubles is rounded. */
function ceilDivide(a: number, b: number): number {
  const quotient = Math.ceil(a / b);
  const excess = quotient * b - a;
  return excess < 0 ? quotient + 1 : excess >= b ? quotient - 1 : quotient;
}

function ceilDivideBig(a: bigint, b: bigint): bigint {
  return a > 0n ? (a + b - 1n) / b : a / b;
}

type Boxes = Pick<Regions, 'left' | 'top' | 'right' | 'bottom'>;

function boundCorners({ x, y, length }: Corners, start: number, region: number, boxes: Boxes): void {
  if (start === length) return;
  let [left, top, right, bottom] = [x[start]!, y[start]!, x[start]!, y[start]!];
  for (let i = start + 1; i < length; i++) {
    left = Math.min(left, x[i]!);
    right = Math.max(right, x[i]!);
    top = Math.min(top, y[i]!);
    bottom = Math.max(bottom, y[i]!);
  }
  boxes.left[region] = left;
  boxes.top[region] = top;
  boxes.right[region] = right;
  boxes.bottom[region] = bottom;
}
