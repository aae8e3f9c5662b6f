import {
  type ArrayValue,
  array,
  bitsToI32,
  type Column,
  fn,
  type I32,
  i32,
  map,
  mulI32,
  select,
  sequence,
  sub64,
  type U32,
  type U64,
  u32,
  u64,
} from '../../primitives/index.ts';
import { cellArrays, cellAt, edgeOfItem, type Front } from './cells.ts';

/**
 * An edge relative to the corner of its cell: its left end (for a vertical edge its lower end), and the vector to its
 * other end.
 */
export interface Line {
  readonly ax: I32;
  readonly ay: I32;
  readonly dx: I32;
  readonly dy: I32;
}

/** The lines of all edges of a front (cells that are processed together), four words each, as a view. */
export function linesOf({ cells, items }: Front, ends: Column<'i32'>): Column<'i32'> {
  const index = sequence(4 * (items.item.length as number));
  return map(lineWord, { index, cells: items.cell, items: items.item, columns: cells.column, rows: cells.row, ends });
}

const lineWord = fn(
  'lineWord',
  { index: u32, cells: array(u32), items: array(u32), ...cellArrays, ends: array(i32) },
  i32,
  ({ index, cells, items, columns, rows, ends }) => {
    const item = index.shr(2);
    const { x, y } = cellAt(columns, rows, cells.at(item));
    const at = edgeOfItem(items.at(item)).mul(4);
    const [fromX, fromY, toX, toY] = [0, 1, 2, 3].map((word) => ends.at(at.add(word))) as [I32, I32, I32, I32];
    const turns = toX.lt(fromX).or(toX.eq(fromX).and(toY.lt(fromY)));
    const isY = index.and(1).ne(0);
    const [from, to] = [select(fromX, fromY, isY), select(toX, toY, isY)];
    const [left, right] = [select(from, to, turns), select(to, from, turns)];
    return select(left.sub(bitsToI32(select(x, y, isY))), right.sub(left), index.and(2).ne(0));
  },
);

export function lineAt(lines: ArrayValue<'i32'>, index: U32): Line {
  const at = index.mul(4);
  return { ax: lines.at(at), ay: lines.at(at.add(1)), dx: lines.at(at.add(2)), dy: lines.at(at.add(3)) };
}

/** The position of a line's right end. */
export function endOf({ ax, ay, dx, dy }: Line): { readonly x: I32; readonly y: I32 } {
  return { x: ax.add(dx), y: ay.add(dy) };
}

const side = fn('sideOfLine', { ax: i32, ay: i32, dx: i32, dy: i32, x: i32, y: i32 }, u64, ({ ax, ay, dx, dy, x, y }) =>
  sub64({ a: mulI32({ a: dx, b: y.sub(ay) }), b: mulI32({ a: dy, b: x.sub(ax) }) }),
);

/**
 * Twice the signed area of the triangle of a line and a point, below 2⁶³. It is positive if the point is above the
 * line, or left of a vertical line.
 */
export function sideOf(line: Line, x: I32, y: I32): U64 {
  return side({ ...line, x, y });
}

/**
 * The cross product of the vectors of two lines, below 2⁶³. It is positive if the second line is steeper than the
 * first.
 */
export function turnOf(from: Line, to: Line): U64 {
  return sub64({ a: mulI32({ a: from.dx, b: to.dy }), b: mulI32({ a: from.dy, b: to.dx }) });
}
