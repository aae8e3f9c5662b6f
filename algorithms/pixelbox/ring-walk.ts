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

/** Rings of narrow regions, whose vertices are in memory of a device. */
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
 * Walks around rings. For every run, flips its bits in the word of its row.
 *
 * - Work O(vertices + columns that sloped edges pass), span O(vertices of a ring + columns that its sloped edges pass),
 *   for the longest ring.
 */
export function flipAroundRings({ rings, vertices }: RingTable, boxes: Column<'i32'>, words: Column<'u32'>): void {
  unfoldReduce(rings, ringStart, ringStep, 'xor', words, { captures: { boxes, xs: vertices.x, ys: vertices.y } });
}

/**
 * State of a walk around a ring, which moves along its edges. Columns are counted from the left of the region's box.
 */
const place = {
  /** Index of the vertex at which the current edge ends. `x` is the column of the vertex at which the edge starts. */
  at: u32,
  x: i32,
  /** The row on the edge that the walk has reached. `bits` are the bits of a row from the walk's column on. */
  row: i32,
  bits: u32,
  left: i32,
  /** Index of the word of row 0, which may be outside the region. */
  origin: u32,
} as const;

const vertices = { begin: u32, end: u32, xs: array(i32), ys: array(i32) } as const;

/** Initial state: at the first vertex of a ring, in the column where the last edge that is not horizontal ends. */
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
 * column changes, flips the pixels between the old and the new column in this row and all rows below. This is a _run_
 * of `runs.ts`.
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
 * left. The product of its numbers of rows and columns is below 2²⁷, so no product overflows.
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
 * The first column whose centre is on an edge or right of it, in the middle of a row. Computed from a quotient rounded
 * down: if the edge has passed t columns (a fraction) to the right, the result is ⌈t − ½⌉ columns right of `x`; if t
 * columns to the left, ⌊t + ½⌋ columns left of `x`.
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

/** Number of rows of a sloped edge up to the row in which it leaves the given column. */
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
