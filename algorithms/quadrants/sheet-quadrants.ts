import {
  add64,
  array,
  bool,
  type Column,
  type Context,
  copyIf,
  exclusiveScan,
  expand,
  fn,
  gather,
  ltU64,
  map,
  maxU64,
  monoid,
  plus,
  runHeads,
  segmentedScan,
  select,
  sequence,
  shl64,
  type U32,
  type U64,
  u32,
  u64,
} from '../../primitives/index.ts';
import { allOrNone } from '../free-on-failure.ts';
import type { Sheets } from '../geometry/sheets.ts';
import { bitsUpTo, orderRows } from '../order-rows.ts';
import type { BoundaryEdges } from './boundary-edges.ts';
import { DOMAIN_BITS, type DomainPolygons } from './domain.ts';
import type { Quadrants, QuadrantsWithEdges } from './leaves.ts';

/**
 * Splits polygons whose parts may overlap. `split` fills all rings of a polygon by the even-odd rule. So each sheet (a
 * group of parts that do not overlap) is passed to `split` as a polygon of its own, and the quadrants of a polygon's
 * sheets are then united. Polygons without sheets cost nothing here.
 *
 * - Work O(quadrants), plus sorting them. Span O(log quadrants). Waits for the device once or twice if there are
 *   sheets.
 */
export async function uniteSheets(
  context: Context,
  polygons: DomainPolygons,
  split: (polygons: DomainPolygons) => Promise<Quadrants | QuadrantsWithEdges>,
): Promise<Quadrants | QuadrantsWithEdges> {
  if (polygons.sheets === undefined) return split(polygons);
  const { sheets, polygonOf } = sheetsAsPolygons(polygons, polygons.sheets);
  const ofSheets = await split(sheets);
  let isKept = false;
  try {
    const made = await united(context, ofSheets, polygonOf);
    isKept = true;
    return made;
  } finally {
    context.dispose(isKept ? withoutEnds(ofSheets) : ofSheets);
  }
}

/** All columns of quadrants except the end points of edges, which are shared by all rows. */
function withoutEnds(quadrants: Quadrants | QuadrantsWithEdges): object {
  if (!('edges' in quadrants)) return quadrants;
  const { ends: _, ...edges } = quadrants.edges;
  return { ...quadrants, edges };
}

/**
 * Makes every sheet (a group of parts that do not overlap) a polygon of its own, and returns the original polygon of
 * each sheet. The sheets of a polygon are adjacent.
 */
function sheetsAsPolygons(
  { polygonRings, ringVertices, x, y }: DomainPolygons,
  { ringSheets, furtherOf }: Sheets,
): { readonly sheets: DomainPolygons; readonly polygonOf: Uint32Array } {
  const polygons = polygonRings.length - 1;
  const polygonOf: number[] = [];
  const [rings, vertices] = [[0], [0]];
  const [sheetX, sheetY] = [new Int32Array(x.length), new Int32Array(y.length)];
  let [further, at] = [0, 0];
  const addSheet = (polygon: number, sheet: number): void => {
    for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
      if (ringSheets[ring] !== sheet) continue;
      const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
      sheetX.set(x.subarray(from, to), at);
      sheetY.set(y.subarray(from, to), at);
      at += to - from;
      vertices.push(at);
    }
    rings.push(vertices.length - 1);
    polygonOf.push(polygon);
  };
  for (let polygon = 0; polygon < polygons; polygon++) {
    addSheet(polygon, polygon);
    for (; furtherOf[further] === polygon; further++) addSheet(polygon, polygons + further);
  }
  const sheets = {
    polygonRings: Uint32Array.from(rings),
    ringVertices: Uint32Array.from(vertices),
    x: sheetX,
    y: sheetY,
  };
  return { sheets, polygonOf: Uint32Array.from(polygonOf) };
}

/**
 * Turns quadrants of sheets into quadrants of their polygons. Waits for the device once, or twice if there are edges.
 */
async function united(
  context: Context,
  ofSheets: Quadrants | QuadrantsWithEdges,
  polygonOf: Uint32Array,
): Promise<Quadrants | QuadrantsWithEdges> {
  const kept = context.scope(() => uncovered(context, ofSheets, polygonOf));
  try {
    const { row, ...rows } = gather(kept, sequence(await context.count(kept)));
    const { polygon, level, boundary, ...code } = context.scope(() => context.materialize(withFurther(rows)));
    const quadrants = { polygon, code, level, boundary };
    if (!('edges' in ofSheets)) return quadrants;
    const [edges] = await allOrNone(context, [edgesOfRows(context, row, ofSheets.edges), quadrants]);
    return { ...quadrants, edges };
  } finally {
    context.dispose(kept);
  }
}

type Rows = Readonly<Record<'polygon' | 'lo' | 'hi' | 'level' | 'boundary', Column<'u32'>>>;

/**
 * Removes the quadrants that are within an inside quadrant of another sheet of the same polygon. The result is ordered
 * by polygon and position. At the same position, larger quadrants come first, then inside quadrants. `row` is the row
 * of each quadrant in the input.
 */
function uncovered(
  context: Context,
  { polygon: sheet, code, level, boundary }: Quadrants,
  polygonOf: Uint32Array,
): Rows & { readonly row: Column<'u32'> } {
  const polygon = context.materialize(gather(context.column(polygonOf), sheet));
  const row = orderRows(polygon.length, [
    { key: boundary, bits: 1 },
    { key: level, bits: bitsUpTo(DOMAIN_BITS) },
    { key: map(firstPlace, { lo: code.lo, hi: code.hi, level }), bits: 2 * DOMAIN_BITS },
    { key: polygon, bits: bitsUpTo(polygonOf.at(-1)!) },
  ]);
  const sorted = context.materialize(gather({ polygon, lo: code.lo, hi: code.hi, level, boundary }, row));
  const { lo, hi, ...others } = sorted;
  const ends = map(insideEnd, { lo, hi, level: others.level, boundary: others.boundary });
  const covered = segmentedScan(ends, runHeads(others.polygon), max, { kind: 'exclusive' });
  const isFree = map(startsAt, { lo, hi, level: others.level, from: covered });
  return copyIf({ ...sorted, row }, context.materialize(isFree));
}

/** The Morton code of a quadrant's first point, at the full resolution of the domain. */
function placeOf(code: U64, level: U32): U64 {
  return shl64({ a: code, count: u32(DOMAIN_BITS).sub(level).shl(1) });
}

const firstPlace = fn('firstPlace', { lo: u32, hi: u32, level: u32 }, u64, ({ lo, hi, level }) =>
  placeOf({ lo, hi }, level),
);

/** The Morton code after the last point of an inside quadrant; 0 for a boundary quadrant. */
const insideEnd = fn(
  'insideEnd',
  { lo: u32, hi: u32, level: u32, boundary: u32 },
  u64,
  ({ lo, hi, level, boundary }) => {
    const next = add64({ a: { lo, hi }, b: { lo: u32(1), hi: u32(0) } });
    return select(placeOf(next, level), { lo: u32(0), hi: u32(0) }, boundary.eq(1));
  },
);

const max = monoid({ of: u64, identity: { lo: 0, hi: 0 }, combine: maxU64 });

/** Whether a quadrant starts at or after a Morton code. */
const startsAt = fn('startsAt', { lo: u32, hi: u32, level: u32, from: u64 }, bool, ({ lo, hi, level, from }) =>
  ltU64({ a: placeOf({ lo, hi }, level), b: from }).not(),
);

/** Sets `boundary` to 2 for a boundary quadrant that follows the same quadrant of another sheet. */
function withFurther(rows: Rows): Rows {
  const { polygon, lo, hi, level, boundary } = rows;
  const isFirst = runHeads({ polygon, lo, hi, level });
  return { ...rows, boundary: map(numberOfSheet, { boundary, isFirst }) };
}

const numberOfSheet = fn('numberOfSheet', { boundary: u32, isFirst: bool }, u32, ({ boundary, isFirst }) =>
  select(boundary.shl(1), boundary, isFirst),
);

/** Copies the edges of the quadrants with the given row indices. Waits for the device once. */
async function edgesOfRows(
  context: Context,
  row: Column<'u32'>,
  { corner, first, count, edge, ends }: BoundaryEdges,
): Promise<BoundaryEdges> {
  const perRow = context.scope(() => {
    const own = gather({ corner, from: first, count }, row);
    return context.materialize({ ...own, first: exclusiveScan(own.count, plus(u32)) });
  });
  const { from, ...kept } = perRow;
  try {
    const edges = await expand({ from }, perRow.count, edgeAt, { captures: { edges: edge } });
    return { ...kept, edge: edges, ends };
  } catch (error) {
    context.dispose(kept);
    throw error;
  } finally {
    context.dispose(from);
  }
}

const edgeAt = fn('edgeAt', { from: u32, rank: u32, edges: array(u32) }, u32, ({ from, rank, edges }) =>
  edges.at(from.add(rank)),
);
