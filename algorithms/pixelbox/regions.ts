import { CapacityError } from '../../primitives/errors.ts';
import type { GridPolygons } from './grid-polygons.ts';

/**
 * Regions of whole pixels, as runs along rows. A run (from, to, row) turns the pixels between two columns inside out, in its
 * row and in all rows below: a pixel is inside where an odd number of runs does. The runs of a rectilinear polygon are its
 * level edges; rings, holes, their direction and their touching need no further word.
 *
 * Runs have a length, from ≠ to, in either direction. On every vertical line an even number of runs begins or ends.
 */
export interface Regions {
  /** Runs of region `r` are `runStart[r] … runStart[r + 1] − 1`; length is regions + 1. */
  readonly runStart: Uint32Array;
  readonly runFrom: Int32Array;
  readonly runTo: Int32Array;
  readonly runRow: Int32Array;
  /** The least box that holds all runs, half-open: columns left … right − 1, rows top … bottom − 1. Empty: all 0. */
  readonly left: Int32Array;
  readonly top: Int32Array;
  readonly right: Int32Array;
  readonly bottom: Int32Array;
}

/** Runs that one set of regions may have: a gibibyte and a half of coordinates. */
const MOST_RUNS = 2 ** 27;

/**
 * The regions of polygons on the pixel grid: the pixels whose centres are inside, by the even-odd rule, half-open, so that
 * a centre on a left edge is in and on a right edge out. Of rectilinear polygons that is the polygon itself.
 *
 * Sloped edges become stairs, one run a step: O(vertices + rows that sloped edges cross). Exact.
 *
 * @throws `CapacityError` `pixelbox/runs` where sloped edges make more than 2²⁷ steps altogether.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [3, 0], [3, 1], [1, 1], [1, 2], [0, 2]]] }');
 * const { runRow, right, bottom } = regionsOf(gridPolygons(zones.polygons));
 * [runRow, right[0], bottom[0]]; // [Int32Array [0, 1, 2], 3, 2]
 */
export function regionsOf({ polygonRings, ringVertices, x, y }: GridPolygons): Regions {
  const count = polygonRings.length - 1;
  const runs: Runs = { ...runColumns(x.length >> 1), length: 0 };
  const runStart = new Uint32Array(count + 1);
  const boxes = { left: column(count), top: column(count), right: column(count), bottom: column(count) };
  for (let polygon = 0; polygon < count; polygon++) {
    for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
      addRing(runs, x, y, ringVertices[ring]!, ringVertices[ring + 1]!, polygon);
    }
    runStart[polygon + 1] = runs.length;
    boundRuns(runs, runStart[polygon]!, polygon, boxes);
  }
  const used = (all: Int32Array): Int32Array => all.subarray(0, runs.length);
  return { runStart, runFrom: used(runs.from), runTo: used(runs.to), runRow: used(runs.row), ...boxes };
}

const column = (length: number): Int32Array => new Int32Array(length);

const runColumns = (length: number): RunColumns => ({ from: column(length), to: column(length), row: column(length) });

interface RunColumns {
  from: Int32Array;
  to: Int32Array;
  row: Int32Array;
}

/** Columns that grow. */
interface Runs extends RunColumns {
  length: number;
}

function addRing(runs: Runs, x: Int32Array, y: Int32Array, start: number, end: number, polygon: number): void {
  const { length } = runs;
  // A rectilinear ring has half as many runs as vertices, at most.
  reserve(runs, (end - start) >> 1, polygon);
  if (addLevelEdges(runs, x, y, start, end)) return;
  runs.length = length;
  addStairs(runs, x, y, start, end, polygon);
}

/** The runs of a ring without sloped edges; false where it has one. */
function addLevelEdges(runs: Runs, x: Int32Array, y: Int32Array, start: number, end: number): boolean {
  const { from, to, row } = runs;
  let length = runs.length;
  let last = end - 1;
  while (last > start && y[last] === y[last - 1]) last--;
  // The column of the upright edge before, which the ring comes down or goes up along.
  let column = x[last]!;
  let lastX = x[end - 1]!;
  let lastY = y[end - 1]!;
  for (let i = start; i < end; i++) {
    const hereX = x[i]!;
    const hereY = y[i]!;
    if (hereY !== lastY) {
      if (hereX !== lastX) return false;
      if (lastX !== column) {
        from[length] = column;
        to[length] = lastX;
        row[length] = lastY;
        length++;
        column = lastX;
      }
    }
    lastX = hereX;
    lastY = hereY;
  }
  runs.length = length;
  return true;
}

/** The runs of any ring: from row to row along an edge its column changes, and from edge to edge. */
function addStairs(runs: Runs, x: Int32Array, y: Int32Array, start: number, end: number, polygon: number): void {
  let last = end - 1;
  while (last > start && y[last] === y[last - 1]) last--;
  const before = last > start ? last - 1 : end - 1;
  let column = lastColumn(x[before]!, y[before]!, x[last]!, y[last]!);
  for (let i = start, j = end - 1; i < end; j = i++) {
    const [x0, y0, x1, y1] = [x[j]!, y[j]!, x[i]!, y[i]!];
    const step = y0 < y1 ? 1 : -1;
    for (let row = y0; row !== y1; row += step) {
      const next = x0 === x1 ? x0 : columnInRow(x0, y0, x1, y1, Math.min(row, row + step));
      if (next !== column) addRun(runs, column, next, row, polygon);
      column = next;
      if (x0 === x1) break;
    }
  }
}

/** The column at which an edge reaches its end. */
function lastColumn(x0: number, y0: number, x1: number, y1: number): number {
  return y0 === y1 ? x1 : columnInRow(x0, y0, x1, y1, y0 < y1 ? y1 - 1 : y1);
}

function addRun(runs: Runs, from: number, to: number, row: number, polygon: number): void {
  reserve(runs, 1, polygon);
  const { length } = runs;
  runs.from[length] = from;
  runs.to[length] = to;
  runs.row[length] = row;
  runs.length++;
}

/** Makes room for so many runs more. */
function reserve(runs: Runs, more: number, polygon: number): void {
  const needed = runs.length + more;
  if (needed <= runs.from.length) return;
  if (needed > MOST_RUNS) {
    throw new CapacityError('pixelbox/runs', 'The sloped edges of the polygons cross too many rows of pixels.', {
      expected: `at most ${MOST_RUNS} steps of stairs`,
      got: `more by polygon ${polygon}`,
      remedy: 'Choose larger pixels, or compare the polygons in parts.',
      place: { record: polygon },
    });
  }
  const larger = runColumns(Math.min(MOST_RUNS, 2 * needed));
  larger.from.set(runs.from);
  larger.to.set(runs.to);
  larger.row.set(runs.row);
  Object.assign(runs, larger);
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

/** Where one run of a ring begins another ends, so that the ends alone tell how far they reach. */
function boundRuns({ to, row, length }: Runs, start: number, region: number, boxes: Boxes): void {
  if (start === length) return;
  let left = to[start]!;
  let right = left;
  let top = row[start]!;
  let bottom = top;
  for (let i = start + 1; i < length; i++) {
    const column = to[i]!;
    const y = row[i]!;
    // Without branches, which an outline that winds about would mislead at every turn.
    left ^= (left ^ column) & -Number(column < left);
    right ^= (right ^ column) & -Number(column > right);
    top ^= (top ^ y) & -Number(y < top);
    bottom ^= (bottom ^ y) & -Number(y > bottom);
  }
  boxes.left[region] = left;
  boxes.top[region] = top;
  boxes.right[region] = right;
  boxes.bottom[region] = bottom;
}
