import { type SnappedPolygons, STEPS_PER_CELL } from './grid.ts';
import type { RasterGrid } from './raster.ts';

/**
 * Where edges cross the centre lines of raster rows, as columns with one element per edge. Crossing k of an edge is in
 * the raster row `firstRow + k`. The first cell of that row whose centre is past the edge has the column
 *
 *   `firstColumn + k · columnStep + ⌊(start + k · rest) / height⌋`
 *
 * All numbers are integers, so this is exact. The formula splits the slope Δcolumn / Δrow into whole columns per row,
 * `columnStep`, and a remainder, `rest`, below `height` = Δrow.
 */
export interface RowCrossings {
  /**
   * The zone to which the edge belongs. If zones are split into sheets (groups of parts that do not overlap), the sheet
   * of the edge.
   */
  readonly zone: Uint32Array;
  readonly firstRow: Int32Array;
  /** Number of rows that the edge crosses. */
  readonly rows: Uint32Array;
  readonly firstColumn: Int32Array;
  readonly columnStep: Int32Array;
  readonly start: Float64Array;
  readonly rest: Float64Array;
  readonly height: Float64Array;
}

const CELL = STEPS_PER_CELL;
const HALF = STEPS_PER_CELL / 2;

export interface RowCrossingsOptions {
  /**
   * For each zone, how far its copies are shifted along the columns, in grid steps. Longitudes wrap around, so a zone
   * may have several copies.
   */
  readonly shifts: readonly (readonly number[])[];
  /**
   * For each ring, its sheet (a group of parts that do not overlap). If given, the column `zone` of the result holds
   * sheets instead of zones.
   */
  readonly ringSheets?: Uint32Array | undefined;
  /**
   * For each zone or sheet, the sheet of its copies at odd positions in `shifts`. Default: the same as of the others.
   */
  readonly oddSheets?: Uint32Array | undefined;
}

/**
 * Receives an edge that crosses rows of cells: its zone or sheet, the vertices at its upper and its lower end, how far its
 * columns are shifted, and the rows. No numbers of other kinds than vertices have, which would be boxed for every call.
 */
export type CrossedEdge = (
  zone: number,
  upper: number,
  lower: number,
  shift: number,
  firstRow: number,
  rows: number,
) => void;

/**
 * The row crossings of all edges of snapped polygons, clipped to the rows of the raster.
 *
 * Areas are half-open in map space: a centre on a left or bottom edge is inside, a centre on a right or top edge is
 * outside.
 */
export function rowCrossings(polygons: SnappedPolygons, grid: RasterGrid, options: RowCrossingsOptions): RowCrossings {
  const { column, row } = polygons;
  const capacity = countEdges(polygons, options);
  const columns = {
    zone: new Uint32Array(capacity),
    firstRow: new Int32Array(capacity),
    rows: new Uint32Array(capacity),
    firstColumn: new Int32Array(capacity),
    columnStep: new Int32Array(capacity),
    start: new Float64Array(capacity),
    rest: new Float64Array(capacity),
    height: new Float64Array(capacity),
  };
  let length = 0;
  forCrossedEdges(polygons, grid, options, (zone, upper, lower, shift, firstRow, rows) => {
    const [v0, v1] = [row[upper]!, row[lower]!];
    const ends = [column[upper]! + shift, v0, column[lower]! + shift, v1] as const;
    const line = divideEdge(...ends, centreOfRow(firstRow), grid.stepX < 0);
    columns.zone[length] = zone;
    columns.firstRow[length] = firstRow;
    columns.rows[length] = rows;
    columns.firstColumn[length] = line.firstColumn;
    columns.columnStep[length] = line.columnStep;
    columns.start[length] = line.start;
    columns.rest[length] = line.rest;
    columns.height[length++] = v1 - v0;
  });
  const whole = Object.entries(columns).map(([name, numbers]) => [name, numbers.slice(0, length)]);
  return Object.fromEntries(whole) as typeof columns;
}

/** The number of edges of all copies of all zones, including edges that cross no row. */
function countEdges(
  { polygonRings, ringVertices }: SnappedPolygons,
  { shifts }: Pick<RowCrossingsOptions, 'shifts'>,
): number {
  let edges = 0;
  for (let zone = 0; zone + 1 < polygonRings.length; zone++) {
    const vertices = ringVertices[polygonRings[zone + 1]!]! - ringVertices[polygonRings[zone]!]!;
    edges += vertices * shifts[zone]!.length;
  }
  return edges;
}

/** Calls `call` for all edges that {@link rowCrossings} returns, in their order. */
export function forCrossedEdges(
  polygons: SnappedPolygons,
  grid: RasterGrid,
  { shifts, ringSheets, oddSheets }: RowCrossingsOptions,
  call: CrossedEdge,
): void {
  for (let zone = 0; zone + 1 < polygons.polygonRings.length; zone++) {
    const copies = shifts[zone]!;
    for (let copy = 0; copy < copies.length; copy++) {
      for (let ring = polygons.polygonRings[zone]!; ring < polygons.polygonRings[zone + 1]!; ring++) {
        const sheet = ringSheets?.[ring] ?? zone;
        const own = copy % 2 === 0 ? sheet : (oddSheets?.[sheet] ?? sheet);
        crossRing(polygons, ring, own, copies[copy]!, grid, call);
      }
    }
  }
}

function crossRing(
  { ringVertices, row }: SnappedPolygons,
  ring: number,
  zone: number,
  shift: number,
  { height, stepY }: RasterGrid,
  call: CrossedEdge,
): void {
  // The lower end of an edge in map space is the end with the larger row number if row 0 is in the north.
  const northUp = stepY < 0;
  const from = ringVertices[ring]!;
  const to = ringVertices[ring + 1]!;
  for (let i = from, before = to - 1; i < to; before = i++) {
    const isDown = row[before]! <= row[i]!;
    const upper = isDown ? before : i;
    const lower = isDown ? i : before;
    const first = (row[upper]! - HALF) / CELL;
    const last = (row[lower]! - HALF) / CELL;
    const firstRow = Math.max(0, northUp ? Math.floor(first) + 1 : Math.ceil(first));
    const endRow = Math.min(height, northUp ? Math.floor(last) + 1 : Math.ceil(last));
    if (endRow > firstRow) call(zone, upper, lower, shift, firstRow, endRow - firstRow);
  }
}

/** The centre line of a row of cells, in grid steps. */
export function centreOfRow(row: number): number {
  return row * CELL + HALF;
}

/**
 * The first column whose centre is at or past an edge (strictly past if `westward`) on the line `row = centre`: that of
 * {@link divideEdge}. Columns that are clear without exact numbers take a fraction of the time.
 */
export function crossedColumn(
  u0: number,
  v0: number,
  u1: number,
  v1: number,
  centre: number,
  westward: boolean,
): number {
  // Of coordinates up to 2^50 steps, this is less than a step off.
  const columns = (((centre - v0) * (u1 - u0)) / (v1 - v0) + (u0 - HALF)) / CELL;
  const whole = Math.floor(columns);
  const isClear = columns - whole > UNCLEAR && whole + 1 - columns > UNCLEAR;
  return isClear ? whole + 1 : divideEdge(u0, v0, u1, v1, centre, westward).firstColumn;
}

/** Four steps, in cells. */
const UNCLEAR = 4 / STEPS_PER_CELL;

interface DividedEdge {
  readonly firstColumn: number;
  readonly columnStep: number;
  readonly start: number;
  readonly rest: number;
}

/**
 * Finds the first column whose centre is at or past the edge (strictly past if `westward`) on the line `row = centre`.
 * Also returns the other numbers of the formula in {@link RowCrossings}, which gives this column for each further row.
 */
export function divideEdge(
  u0: number,
  v0: number,
  u1: number,
  v1: number,
  centre: number,
  westward: boolean,
): DividedEdge {
  const run = u1 - u0;
  const height = v1 - v0;
  const cell = Math.floor(u0 / CELL);
  const inCell = u0 - cell * CELL;
  const product = (centre - v0) * run;
  const offset = height * (HALF - inCell);
  // Below this size every step is exact in f64. Larger values use BigInt.
  if (Math.abs(product) + Math.abs(offset) >= 2 ** 52) return divideLargeEdge(u0, v0, u1, v1, centre, westward);
  const columns = (product - offset) / CELL;
  const numerator = westward ? Math.floor(columns) + height : Math.ceil(columns) + height - 1;
  const whole = floorDivide(numerator, height);
  const columnStep = floorDivide(run, height);
  return {
    firstColumn: cell + whole,
    columnStep,
    start: numerator - whole * height,
    rest: run - columnStep * height,
  };
}

function floorDivide(a: number, b: number): number {
  const quotient = Math.floor(a / b);
  const rest = a - quotient * b;
  return rest < 0 ? quotient - 1 : rest >= b ? quotient + 1 : quotient;
}

/** Same as {@link divideEdge} for edges of any size, with BigInt. */
export function divideLargeEdge(
  u0: number,
  v0: number,
  u1: number,
  v1: number,
  centre: number,
  westward: boolean,
): DividedEdge {
  const cellSteps = BigInt(CELL);
  const run = BigInt(u1 - u0);
  const height = BigInt(v1 - v0);
  const exact = BigInt(centre - v0) * run - height * (BigInt(HALF) - BigInt(u0));
  const floor = floorDivideBig(exact, cellSteps);
  const ceiling = floor * cellSteps === exact ? floor : floor + 1n;
  const numerator = westward ? floor + height : ceiling + height - 1n;
  const whole = floorDivideBig(numerator, height);
  const columnStep = floorDivideBig(run, height);
  return {
    firstColumn: Number(whole),
    columnStep: Number(columnStep),
    start: Number(numerator - whole * height),
    rest: Number(run - columnStep * height),
  };
}

function floorDivideBig(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}
