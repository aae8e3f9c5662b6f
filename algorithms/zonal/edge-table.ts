import { type ArrayParameter, array, type Functor, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { ArrayValue, U32 } from '../../primitives/functors/value.ts';
import { type Column, type Context, expand, map, scatterReduce, sequence, slice } from '../../primitives/index.ts';
import type { RasterGrid } from '../geometry/raster.ts';
import { centreOfRow, crossedColumn, divideEdge, forCrossedEdges } from '../geometry/row-crossings.ts';
import { BAND_ROWS, Bands } from './bands.ts';
import { quotientAt, setQuotient } from './edge-quotients.ts';
import type { LineTable } from './fractions/line-table.ts';
import type { PlacedZones } from './placement.ts';
import { ABSENT, type WindowPlan, ZONE_FIELDS, ZONE_STRIDE } from './window-plan.ts';

/** Number of words of an edge. */
const EDGE_STRIDE = 12;

/** Edges that cross at most this many rows take no more words as points than as edges, and less time. */
const FEW_ROWS = 4;

/** Points at which edges cross rows of cells: the zone or sheet, the row, and the first column past the edge. */
type Points = {
  readonly zone: Column<'u32'>;
  readonly row: Column<'u32'>;
  readonly column: Column<'u32'>;
};

/**
 * The edges of all zones on the device, by bands of rows. Those that cross few rows are points, one for each row; the
 * crossings of others are computed from the numbers of the edge.
 */
export interface EdgeTable {
  readonly points: Points;
  readonly pointBands: Bands;
  readonly edges: Column<'u32'>;
  readonly edgeBands: Bands;
  /** For each row, the number of crossings of edges in all rows above it. */
  readonly crossingsBefore: Float64Array;
  /** The outlines of zones, if the cells that they enter count as well. */
  readonly lines?: LineTable | undefined;
}

/** The columns of a table of edges. */
export function columnsOfEdges({ points, edges, lines }: EdgeTable): readonly Column<'u32'>[] {
  return [...Object.values(points), edges, ...(lines === undefined ? [] : [lines.lines, lines.order, lines.edges])];
}

/** Uploads the edges of placed zones, each with the numbers from which its crossings with rows are computed. */
export function uploadEdges(context: Context, placed: PlacedZones, grid: RasterGrid): EdgeTable {
  const { polygons, shifts, sheets, oddSheets } = placed;
  const options = { shifts, ringSheets: sheets?.ringSheets, oddSheets };
  const { column, row } = polygons;
  const westward = grid.stepX < 0;
  const [pointBands, edgeBands] = [new Bands(grid.height), new Bands(grid.height)];
  const changes = new Float64Array(grid.height + 1);
  forCrossedEdges(polygons, grid, options, (_zone, _upper, _lower, _shift, firstRow, rows) => {
    const end = firstRow + rows;
    if (rows <= FEW_ROWS) {
      for (let at = firstRow; at < end; at++) pointBands.count(at, 1);
      return;
    }
    changes[firstRow]!++;
    changes[end]!--;
    for (let at = firstRow; at < end; at = nextBand(at)) edgeBands.count(at, 1);
  });
  const count = Math.max(1, pointBands.total());
  const points = { zone: new Uint32Array(count), row: new Uint32Array(count), column: new Uint32Array(count) };
  const edges = new Uint32Array(Math.max(1, edgeBands.total()) * EDGE_STRIDE);
  forCrossedEdges(polygons, grid, options, (zone, upper, lower, shift, firstRow, rows) => {
    const end = firstRow + rows;
    const u0 = column[upper]! + shift;
    const v0 = row[upper]!;
    const u1 = column[lower]! + shift;
    const v1 = row[lower]!;
    if (rows <= FEW_ROWS) {
      for (let at = firstRow; at < end; at++) {
        const point = pointBands.next(at);
        points.zone[point] = zone;
        points.row[point] = at;
        points.column[point] = crossedColumn(u0, v0, u1, v1, centreOfRow(at), westward);
      }
      return;
    }
    for (let at = firstRow; at < end; at = nextBand(at)) {
      const line = divideEdge(u0, v0, u1, v1, centreOfRow(at), westward);
      const place = edgeBands.next(at) * EDGE_STRIDE;
      edges[place] = zone;
      edges[place + 1] = at;
      edges[place + 2] = Math.min(end, nextBand(at)) - at;
      edges[place + 3] = line.firstColumn;
      edges[place + 4] = line.columnStep;
      setQuotient(edges, place + 5, { start: line.start, rest: line.rest, divisor: v1 - v0 });
    }
  });
  return {
    points: {
      zone: context.column(points.zone),
      row: context.column(points.row),
      column: context.column(points.column),
    },
    edges: context.column(edges),
    ...{ pointBands, edgeBands, crossingsBefore: integrateTwice(changes) },
  };
}

/** The first row of the band after that of a row. */
function nextBand(row: number): number {
  return (Math.floor(row / BAND_ROWS) + 1) * BAND_ROWS;
}

/**
 * For each row, the number of crossings in all rows above it. `changes` is the number of edges that start in a row
 * minus the number that end there.
 */
function integrateTwice(changes: Float64Array): Float64Array {
  const before = new Float64Array(changes.length);
  let open = 0;
  let total = 0;
  for (let row = 0; row < changes.length; row++) {
    before[row] = total;
    open += changes[row]!;
    total += open;
  }
  return before;
}

type Word = typeof u32;
type UniformWord = ReturnType<typeof uniform<'u32'>>;

/** What crossings are placed with in a window. */
type Placing = {
  /** The number of each zone or sheet in the window, and the table of those in it. */
  readonly local: ArrayParameter<'u32'>;
  readonly zones: ArrayParameter<'u32'>;
  readonly firstRow: UniformWord;
  readonly endRow: UniformWord;
  readonly firstColumn: UniformWord;
  readonly columns: UniformWord;
  readonly tile: UniformWord;
};
const PLACING: Placing = {
  ...{ local: array(u32), zones: array(u32), firstRow: uniform(u32), endRow: uniform(u32) },
  ...{ firstColumn: uniform(u32), columns: uniform(u32), tile: uniform(u32) },
};
type Placed = { readonly local: ArrayValue<'u32'>; readonly zones: ArrayValue<'u32'> } & {
  readonly [name in 'firstRow' | 'endRow' | 'firstColumn' | 'columns' | 'tile']: U32;
};
type Flip = { readonly word: Word; readonly bits: Word };

/**
 * The bit that a crossing flips in the bitmap of its zone: the bit of the first cell to the right of the crossing. If
 * the bitmap or the window ends to the left of the crossing, this is the bit after the last cell of the row, which may
 * be the first bit of the next row. The extra flip does not set cells of the next row, because each row has an even
 * number of crossings.
 */
function flipOf(local: U32, row: U32, column: U32, { zones, firstRow, firstColumn, columns, tile }: Placed) {
  const zone = local.mul(ZONE_STRIDE);
  const field = (offset: number): U32 => zones.at(zone.add(offset));
  const width = field(ZONE_FIELDS.tileColumns).mul(tile);
  const down = row.sub(firstRow).sub(field(ZONE_FIELDS.firstTileRow).mul(tile));
  const left = field(ZONE_FIELDS.firstTileColumn).mul(tile);
  const across = column.sub(firstColumn).sub(left);
  // A column west of the bitmap is negative, so as u32 it is at least 2³¹.
  const bit = select(across.min(width).min(columns.sub(left)), u32(0), across.ge(0x80000000));
  return {
    word: field(ZONE_FIELDS.word)
      .add(down.mul(width.shr(5)))
      .add(bit.shr(5)),
    bits: u32(1).shl(bit.and(31)),
  };
}

const flipOfPoint: Functor<{ readonly zone: Word; readonly row: Word; readonly column: Word } & Placing, Flip> = fn(
  'flipOfPoint',
  { zone: u32, row: u32, column: u32, ...PLACING },
  { word: u32, bits: u32 },
  ({ zone, row, column, ...placed }) => {
    const local = placed.local.at(zone);
    const isIn = row.ge(placed.firstRow).and(row.lt(placed.endRow)).and(local.ne(ABSENT));
    const { word, bits } = flipOf(local, row, column, placed);
    return { word: select(u32(ABSENT), word, isIn), bits };
  },
);

const crossingCount = fn(
  'crossingCount',
  { edge: u32, edges: array(u32), local: array(u32), firstRow: uniform(u32), endRow: uniform(u32) },
  u32,
  ({ edge, edges, local, firstRow, endRow }) => {
    const at = edge.mul(EDGE_STRIDE);
    const from = edges.at(at.add(1));
    const first = from.max(firstRow);
    const end = from.add(edges.at(at.add(2))).min(endRow);
    const active = local.at(edges.at(at)).ne(ABSENT);
    return select(u32(0), end.sub(first), end.gt(first).and(active));
  },
);

const flipOfEdge: Functor<
  { readonly edge: Word; readonly rank: Word; readonly edges: ArrayParameter<'u32'> } & Placing,
  Flip
> = fn(
  'flipOfEdge',
  { edge: u32, rank: u32, edges: array(u32), ...PLACING },
  { word: u32, bits: u32 },
  ({ edge, rank, edges, ...placed }) => {
    const at = edge.mul(EDGE_STRIDE);
    const from = edges.at(at.add(1));
    const k = from.max(placed.firstRow).sub(from).add(rank);
    const whole = edges.at(at.add(3)).add(k.mul(edges.at(at.add(4))));
    const column = whole.add(quotientAt(edges, at.add(5), k).quotient);
    return flipOf(placed.local.at(edges.at(at)), from.add(k), column, placed);
  },
);

/**
 * Flips a bit for every crossing of an edge with a row of a window, in the bitmaps of the zones in it.
 *
 * @param zones - The table of the zones in the window.
 */
export function flipCrossings(
  context: Context,
  { points, pointBands, edges, edgeBands, crossingsBefore }: EdgeTable,
  { window, tile, local }: WindowPlan,
  zones: Column<'u32'>,
  bitmaps: Column<'u32'>,
): void {
  const endRow = window.row + window.rows;
  const placing = {
    ...{ local: context.column(local), zones, tile, endRow },
    ...{ firstRow: window.row, firstColumn: window.column, columns: window.columns },
  };
  const flip = ({ bits, word }: { readonly bits: Column<'u32'>; readonly word: Column<'u32'> }): void =>
    scatterReduce(bits, word, 'xor', bitmaps);
  const [firstPoint, endPoint] = pointBands.of(window.row, window.rows);
  if (endPoint > firstPoint) flip(map(flipOfPoint, { ...slice(points, firstPoint, endPoint), ...placing }));
  const [firstEdge, endEdge] = edgeBands.of(window.row, window.rows);
  if (endEdge === firstEdge) return;
  const edge = sequence(endEdge - firstEdge, firstEdge);
  const counts = map(crossingCount, { edge, edges, local: placing.local, firstRow: window.row, endRow });
  const capacity = crossingsBefore[endRow]! - crossingsBefore[window.row]!;
  flip(expand({ edge }, counts, flipOfEdge, { capacity, captures: { edges, ...placing } }));
}
