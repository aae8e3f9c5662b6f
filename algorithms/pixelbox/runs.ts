import { CapacityError } from '../../primitives/checks/errors.ts';
import type { Regions } from './regions.ts';

/**
 * A table of runs that can grow. A run (from, to, row) flips the pixels between the columns `from` and `to`, in its row
 * and in all rows below. A pixel is inside if it is flipped an odd number of times. The runs of a rectilinear polygon
 * are its horizontal edges. Holes, several rings, rings of either direction and rings that touch need no special cases.
 *
 * Runs are not empty (from ≠ to) and may have either direction. On every vertical line an even number of runs begins or
 * ends.
 */
export interface Runs {
  from: Int32Array;
  to: Int32Array;
  row: Int32Array;
  length: number;
  /** Maximum number of runs that the table may have. */
  readonly max: number;
}

/** Default maximum number of runs: 1.5 GiB of coordinates. */
const MAX_RUNS = 2 ** 27;

/** An empty table with room for `room` runs. */
export function emptyRuns(room: number, max: number = MAX_RUNS): Runs {
  const column = (): Int32Array => new Int32Array(room);
  return { from: column(), to: column(), row: column(), length: 0, max };
}

/** Upper bound of the number of runs of a region. */
export function maxRuns(regions: Regions, region: number): number {
  const { polygonRings, ringVertices, x, y } = regions;
  let runs = 0;
  for (let ring = polygonRings[region]!; ring < polygonRings[region + 1]!; ring++) {
    const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    for (let i = start, j = end - 1; i < end; j = i++) {
      if (y[i] === y[j]) runs++;
      else if (x[i] !== x[j]) runs += 1 + Math.min(Math.abs(x[i]! - x[j]!), Math.abs(y[i]! - y[j]!));
    }
  }
  return runs;
}

/**
 * Appends the runs of a region: its horizontal edges, and the steps of the staircases that replace sloped edges.
 *
 * O(vertices + Σ min(rows, 64 · columns)), where the sum is over the sloped edges. Exact.
 *
 * @throws `CapacityError` `pixelbox/runs` if there would be more runs than allowed.
 */
export function appendRuns(runs: Runs, { polygonRings, ringVertices, x, y }: Regions, region: number): void {
  for (let ring = polygonRings[region]!; ring < polygonRings[region + 1]!; ring++) {
    appendRing(runs, x, y, ringVertices[ring]!, ringVertices[ring + 1]!, region);
  }
}

/**
 * Appends a run wherever the column of the ring changes, from row to row along an edge or from one edge to the next.
 */
function appendRing(runs: Runs, x: Int32Array, y: Int32Array, start: number, end: number, region: number): void {
  let last = end - 1;
  while (last > start && y[last] === y[last - 1]) last--;
  const before = last > start ? last - 1 : end - 1;
  // The column in which the ring reaches its last vertex. The loop starts with the edge from the last to the first
  // vertex.
  let column = lastColumn(x[before]!, y[before]!, x[last]!, y[last]!);
  for (let i = start, j = end - 1; i < end; j = i++) {
    const x0 = x[j]!;
    const y0 = y[j]!;
    const x1 = x[i]!;
    const y1 = y[i]!;
    const step = y0 < y1 ? 1 : -1;
    const isSteep = Math.abs(y1 - y0) > STEEP * Math.abs(x1 - x0);
    for (let row = y0; row !== y1; row += step) {
      const next = x0 === x1 ? x0 : columnInRow(x0, y0, x1, y1, Math.min(row, row + step));
      if (next !== column) addRun(runs, column, next, row, region);
      column = next;
      if (x0 === x1) break;
      if (isSteep) row = lastRowIn(column, x0, y0, x1, y1, row, step);
    }
  }
}

/**
 * Minimum number of rows per column of an edge for which searching for the next column is faster than going row by row.
 */
const STEEP = 64;

/** Starting from `row` and going by `step`, finds the last row in which an edge stays in a column. */
function lastRowIn(column: number, x0: number, y0: number, x1: number, y1: number, row: number, step: number): number {
  let [inside, beyond] = [0, Math.abs(y1 - row)];
  while (beyond - inside > 1) {
    const middle = Math.floor((inside + beyond) / 2);
    const at = row + step * middle;
    if (columnInRow(x0, y0, x1, y1, Math.min(at, at + step)) === column) inside = middle;
    else beyond = middle;
  }
  return row + step * inside;
}

/** The column of an edge in its last row. */
function lastColumn(x0: number, y0: number, x1: number, y1: number): number {
  return y0 === y1 ? x1 : columnInRow(x0, y0, x1, y1, y0 < y1 ? y1 - 1 : y1);
}

function addRun(runs: Runs, from: number, to: number, row: number, region: number): void {
  const { length } = runs;
  if (length === runs.from.length) grow(runs, region);
  runs.from[length] = from;
  runs.to[length] = to;
  runs.row[length] = row;
  runs.length++;
}

function grow(runs: Runs, region: number): void {
  if (runs.length >= runs.max) {
    throw new CapacityError('pixelbox/runs', 'The sloped edges of the polygons cross too many rows of pixels.', {
      expected: `at most ${runs.max} steps of stairs`,
      got: `more by polygon ${region}`,
      remedy: 'Choose larger pixels, or compare the polygons in parts.',
      place: { record: region },
    });
  }
  const larger = emptyRuns(Math.min(runs.max, 2 * runs.length + 64));
  larger.from.set(runs.from);
  larger.to.set(runs.to);
  larger.row.set(runs.row);
  Object.assign(runs, { from: larger.from, to: larger.to, row: larger.row });
}

/**
 * The first column whose pixel in the given row has its centre on or right of an edge: ⌈x − ½⌉, where x is the position
 * of the edge in the middle of the row.
 */
export function columnInRow(x0: number, y0: number, x1: number, y1: number, row: number): number {
  const [run, rise] = y0 < y1 ? [x1 - x0, y1 - y0] : [x0 - x1, y0 - y1];
  // The edge has x − ½ = x0 + ((2 (row − y0) + 1) run − rise) / (2 rise) in the middle of the row.
  const product = (2 * (row - y0) + 1) * run;
  if (Math.abs(product) < 2 ** 52) return x0 + ceilDivide(product - rise, 2 * rise);
  const exact = (2n * BigInt(row - y0) + 1n) * BigInt(run) - BigInt(rise);
  return x0 + Number(ceilDivideBig(exact, 2n * BigInt(rise)));
}

/** ⌈a / b⌉ for b > 0. Corrects the rounding of the f64 quotient, so the result is exact. */
function ceilDivide(a: number, b: number): number {
  const quotient = Math.ceil(a / b);
  const excess = quotient * b - a;
  return excess < 0 ? quotient + 1 : excess >= b ? quotient - 1 : quotient;
}

function ceilDivideBig(a: bigint, b: bigint): bigint {
  return a > 0n ? (a + b - 1n) / b : a / b;
}
