import {
  array,
  bitsToU32,
  bool,
  type Column,
  type Context,
  fn,
  type I32,
  If,
  i32,
  Let,
  select,
  type U32,
  u32,
  unfoldReduce,
  Var,
  While,
} from '../../primitives/index.ts';
import { boxOf } from './boxes.ts';
import type { DeviceVertices, Regions } from './regions.ts';

/** Rings of narrow regions (one mask word per row), with the coordinates of all vertices in memory of a device. */
export interface RingTable {
  readonly rings: {
    /** Ring `r` has the vertices `begin[r] … end[r] − 1`, at least one. */
    readonly begin: Column<'u32'>;
    readonly end: Column<'u32'>;
    readonly region: Column<'u32'>;
  };
  readonly vertices: DeviceVertices;
}

/** Uploads the rings of the regions in `members`. These regions get consecutive numbers, starting with `first`. */
export function uploadRings(
  context: Context,
  { polygonRings, ringVertices }: Regions,
  vertices: DeviceVertices,
  members: Uint32Array,
  first: number,
): RingTable {
  let room = 0;
  for (let i = 0; i < members.length; i++) room += polygonRings[members[i]! + 1]! - polygonRings[members[i]!]!;
  const [begin, end, region] = [new Uint32Array(room), new Uint32Array(room), new Uint32Array(room)];
  let rings = 0;
  for (let i = 0; i < members.length; i++) {
    for (let ring = polygonRings[members[i]!]!; ring < polygonRings[members[i]! + 1]!; ring++) {
      if (ringVertices[ring] === ringVertices[ring + 1]) continue;
      begin[rings] = ringVertices[ring]!;
      end[rings] = ringVertices[ring + 1]!;
      region[rings++] = first + i;
    }
  }
  const column = (list: Uint32Array): Column<'u32'> => context.column(list.subarray(0, rings));
  return { rings: { begin: column(begin), end: column(end), region: column(region) }, vertices };
}

/**
 * Walks around rings. Wherever the column of a ring changes, flips the bits between the old and the new column in the
 * word of the current row. A later XOR scan down the rows turns the flipped bits into masks.
 *
 * - Work O(vertices + columns that sloped edges pass), span O(vertices of a ring + columns that its sloped edges pass),
 *   for the longest ring.
 */
export function flipAroundRings({ rings, vertices }: RingTable, boxes: Column<'i32'>, words: Column<'u32'>): void {
  unfoldReduce(rings, ringStart, ringStep, 'xor', words, { captures: { boxes, xs: vertices.x, ys: vertices.y } });
}

/** State of a walk along the edges of a ring. Columns are counted from the left of the region's box. */
const place = {
  /** Index of the vertex at which the current edge ends. `x` is the column of the vertex at which the edge starts. */
  at: u32,
  x: i32,
  /** The row that the walk has reached on the current edge. `bits` is a word with 1s from the walk's column on. */
  row: i32,
  bits: u32,
  left: i32,
  /** Index that the word of row 0 would have. Row 0 itself may be outside the region. */
  origin: u32,
} as const;

const vertices = { begin: u32, end: u32, xs: array(i32), ys: array(i32) } as const;

/**
 * Initial state: at the last vertex of a ring, from which an edge leads to the first vertex. The column is the last
 * column of the nearest preceding edge that is not horizontal.
 */
const ringStart = fn(
  'ringStart',
  { ...vertices, region: u32, boxes: array(i32) },
  place,
  ({ begin, end, xs, ys, region, boxes }) => {
    const { left, top, words } = boxOf(boxes, region);
    const last = Var(end.sub(1));
    While(
      () => last.gt(begin).and(ys.at(last).eq(ys.at(last.sub(1)))),
      () => last.set(last.sub(1)),
    );
    const before = select(end.sub(1), last.sub(1), last.gt(begin));
    const edge = edgeBetween(xs.at(before).sub(left), ys.at(before), xs.at(last).sub(left), ys.at(last));
    const column = select(columnInRow(edge, edge.rows.sub(1)), xs.at(last).sub(left), edge.rows.eq(0));
    const origin = words.sub(bitsToU32(top));
    return { at: begin, x: xs.at(end.sub(1)).sub(left), row: ys.at(end.sub(1)), bits: bitsFrom(column), left, origin };
  },
);

/**
 * A step along a ring: a vertical edge, a horizontal edge, or the part of a sloped edge within one column. If the
 * column changes, emits a _run_ (see `runs.ts`): the bits between the old and the new column. A run flips the pixels of
 * the current row and of all rows below.
 */
const ringStep = fn(
  'ringStep',
  { ...place, ...vertices },
  { more: bool, emits: bool, state: place, value: { index: u32, value: u32 } },
  ({ at, x, row, bits, left, origin, begin, end, xs, ys }) => {
    const toX = xs.at(at).sub(left);
    const toRow = ys.at(at);
    const next = { at: Var(at.add(1)), x: Var(toX), row: Var(toRow) };
    const nextBits = Var(select(bitsFrom(toX), bits, toRow.eq(row)));
    If(toX.ne(x).and(toRow.ne(row)), () => {
      const from = ys.at(select(at, end, at.eq(begin)).sub(1));
      const edge = edgeBetween(x, from, toX, toRow);
      const column = Let(columnInRow(edge, row.sub(from).abs()));
      nextBits.set(bitsFrom(column));
      const until = Let(rowsUntilNextColumn(edge, column));
      If(until.lt(edge.rows), () => {
        next.at.set(at);
        next.x.set(x);
        next.row.set(select(from.sub(until), from.add(until), toRow.gt(from)));
      });
    });
    const turned = bits.xor(nextBits);
    return {
      more: next.at.lt(end),
      emits: turned.ne(0),
      state: { ...next, bits: nextBits, left, origin },
      value: { index: origin.add(bitsToU32(row)), value: turned },
    };
  },
);

/** The bits of a word from a column on; 0 if the column is 32 or more. */
export function bitsFrom(column: I32): U32 {
  return select(u32(0), u32(2 ** 32 - 1).shl(bitsToU32(column)), column.lt(32));
}

/**
 * An edge of a narrow region. It begins at column `x` and passes `run` columns. `run` is negative if the edge goes
 * left. `rows` · |`run`| is below 2²⁷, so computations with such products do not overflow.
 */
interface Edge {
  readonly x: I32;
  readonly run: I32;
  readonly rows: I32;
}

function edgeBetween(x0: I32, y0: I32, x1: I32, y1: I32): Edge {
  return { x: x0, run: x1.sub(x0), rows: y1.sub(y0).abs() };
}

/**
 * The first column whose pixel in the given row has its centre on or right of an edge. Rows count from the start of the
 * edge. If the edge has gone t columns (a fraction) to the right by the middle of the row, the result is ⌈t − ½⌉
 * columns right of `x`. If the edge has gone t columns to the left, the result is ⌊t + ½⌋ columns left of `x`. Both
 * cases are computed as one quotient, rounded down.
 */
function columnInRow({ x, run, rows }: Edge, row: I32): I32 {
  const passed = row
    .mul(2)
    .add(1)
    .mul(run.abs())
    .add(rows)
    .sub(i32(run.gt(0)))
    .div(rows.mul(2));
  return select(x.sub(passed), x.add(passed), run.gt(0));
}

/** Number of rows from the start of a sloped edge to its last row in the given column, inclusive. */
function rowsUntilNextColumn({ x, run, rows }: Edge, column: I32): I32 {
  const passed = column.sub(x).abs();
  const width = run.abs();
  return rows
    .mul(passed.mul(2).add(1))
    .sub(width)
    .sub(i32(run.lt(0)))
    .div(width.mul(2))
    .add(1);
}
