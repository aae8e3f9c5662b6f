import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFunction, anInstance, aRecord, aWhole, type Kind } from '../../primitives/checks/kinds.ts';
import { type Regions, someRegions, vertexCount } from './regions.ts';
import { appendRuns, emptyRuns, type Runs } from './runs.ts';

/**
 * Regions as signed sums of quarter planes. For every pixel, Σ sign · [column ≥ x and row ≥ y] over the signed corners
 * of a region is 1 if the pixel is inside the region, else 0. Where boundaries cross or touch in a corner, the sign is
 * ±2.
 */
export interface SignedCorners {
  /** Signed corners of region `r` are `start[r] … start[r + 1] − 1`; length is regions + 1. */
  readonly start: Uint32Array;
  readonly x: Int32Array;
  readonly y: Int32Array;
  readonly sign: Int32Array;
}

/**
 * Finds the signed corners of the regions for which `wanted` returns true; all other regions get none. The ends of a
 * row's runs (horizontal edges, and steps of sloped edges) delimit the stretches in which the row differs from the row
 * above. There is a signed corner wherever the boundary changes from one row to the next, even without a vertex, such
 * as where two rings cross.
 *
 * O(n log n + rows with corners · k) for a region with n corners whose boundary crosses a row at most k times.
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 1], [0, 1]]] }');
 * signedCorners(regionsOf(gridPolygons(zones.polygons)), () => true).sign; // Int32Array [1, -1, -1, 1]
 */
export function signedCorners(regions: Regions, wanted: (region: number) => boolean): SignedCorners {
  requireArguments('signedCorners', { regions, wanted }, { regions: someRegions, wanted: aFunction });
  const count = regions.left.length;
  const start = new Uint32Array(count + 1);
  const found: Growing = { x: [], y: [], sign: [] };
  for (let region = 0; region < count; region++) {
    if (wanted(region)) addRegion(regions, region, found);
    start[region + 1] = found.x.length;
  }
  return { start, x: Int32Array.from(found.x), y: Int32Array.from(found.y), sign: Int32Array.from(found.sign) };
}

interface Growing {
  readonly x: number[];
  readonly y: number[];
  readonly sign: number[];
}

/** Maximum number of runs of a region. The host sorts the ends of runs, so this limits the host's time and memory. */
const MAX_RUNS = 2 ** 24;
const BIAS = 2 ** 31;

function addRegion(regions: Regions, region: number, found: Growing): void {
  const runs = emptyRuns(vertexCount(regions, region), MAX_RUNS);
  appendRuns(runs, regions, region);
  const ends = sortedEnds(runs);
  let boundary: number[] = [];
  for (let i = 0; i < ends.length; ) {
    const row = ends[i + 1]!;
    const turned: number[] = [];
    for (; i < ends.length && ends[i + 1] === row; i += 2) toggle(turned, ends[i]! - BIAS);
    boundary = addRow(boundary, turned, row - BIAS, found);
  }
}

/**
 * The ends of all runs, sorted by row and then by column, as pairs of column and row. Both have 2³¹ added, so that they
 * sort as unsigned numbers.
 */
function sortedEnds({ from, to, row, length }: Runs): Uint32Array {
  const ends = new BigUint64Array(2 * length);
  const words = new Uint32Array(ends.buffer);
  for (let run = 0, at = 0; run < length; run++, at += 4) {
    words[at] = from[run]! + BIAS;
    words[at + 2] = to[run]! + BIAS;
    words[at + 1] = words[at + 3] = row[run]! + BIAS;
  }
  ends.sort();
  return words;
}

/**
 * Appends a column to a list. If the list already ends with this column, removes the column instead. Columns must come
 * in ascending order.
 */
function toggle(columns: number[], x: number): void {
  if (columns.at(-1) === x) columns.pop();
  else columns.push(x);
}

/**
 * Computes the boundary of a row from the boundary of the row above, and adds the corners between both rows to `found`.
 * `boundary` has the columns at which the row above changes between outside and inside, ascending. `turned` has the
 * columns at which stretches that differ between both rows begin and end.
 */
function addRow(boundary: readonly number[], turned: readonly number[], row: number, found: Growing): number[] {
  const next: number[] = [];
  let [above, below] = [0, 0];
  let [b, t] = [0, 0];
  while (b < boundary.length || t < turned.length) {
    const column = Math.min(boundary[b] ?? Number.POSITIVE_INFINITY, turned[t] ?? Number.POSITIVE_INFINITY);
    const crosses = boundary[b] === column ? 1 : 0;
    const turns = turned[t] === column ? 1 : 0;
    b += crosses;
    t += turns;
    const [rightAbove, rightBelow] = [above ^ crosses, below ^ crosses ^ turns];
    const sign = rightBelow - below - (rightAbove - above);
    if (rightBelow !== below) next.push(column);
    if (sign !== 0) {
      found.x.push(column);
      found.y.push(row);
      found.sign.push(sign);
    }
    [above, below] = [rightAbove, rightBelow];
  }
  return next;
}

/**
 * The area of a region in pixels, from its signed corners: Σ sign · (right − x) · (bottom − y), for any point (right,
 * bottom) beyond all corners.
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 3], [0, 3]]] }');
 * signedArea(signedCorners(regionsOf(gridPolygons(zones.polygons)), () => true), 0); // 6n
 */
export function signedArea(corners: SignedCorners, region: number): bigint {
  const kinds = { corners: someCorners, region: aWhole(0, Math.max(0, (corners?.start?.length ?? 2) - 2)) };
  requireArguments('signedArea', { corners, region }, kinds);
  return areaOf(corners, region);
}

const someCorners: Kind = aRecord<SignedCorners>({
  start: anInstance(Uint32Array),
  x: anInstance(Int32Array),
  y: anInstance(Int32Array),
  sign: anInstance(Int32Array),
});

/** Same as {@link signedArea}, without checks of arguments. */
export function areaOf({ start, x, y, sign }: SignedCorners, region: number): bigint {
  let area = 0n;
  for (let i = start[region]!; i < start[region + 1]!; i++) area += BigInt(sign[i]!) * BigInt(x[i]!) * BigInt(y[i]!);
  return area;
}
