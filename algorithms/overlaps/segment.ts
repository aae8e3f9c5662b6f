import {
  type ArrayValue,
  array,
  type Bool,
  bitsToI32,
  type Column,
  compareI128,
  type Functor,
  fn,
  type I32,
  i32,
  ltI64,
  map,
  mulI32,
  mulU64,
  select,
  sequence,
  sub64,
  type U32,
  type U64,
  u32,
  u64,
  u64OfU32,
  type ValuesOf,
} from '../../primitives/index.ts';
import { cellArrays, cellAt, edgeOfItem, type Front } from './cells.ts';

/** An edge seen from the corner of a quadrant: its left end, of a vertical one the lower, and the way to the other. */
export interface Segment {
  readonly ax: I32;
  readonly ay: I32;
  readonly dx: I32;
  readonly dy: I32;
}

const lineWord = fn(
  'lineWord',
  { index: u32, cells: array(u32), items: array(u32), ...cellArrays, ends: array(i32) },
  i32,
  ({ index, cells, items, columns, rows, ends }) => {
    const number = index.shr(2);
    const at = edgeOfItem(items.at(number)).mul(4);
    const axis = index.and(1);
    const { x, y } = cellAt(columns, rows, cells.at(number));
    const [fromX, toX] = [ends.at(at), ends.at(at.add(2))];
    const [fromY, toY] = [ends.at(at.add(1)), ends.at(at.add(3))];
    const turned = toX.lt(fromX).or(toX.eq(fromX).and(toY.lt(fromY)));
    const [from, to] = [select(fromX, fromY, axis.ne(0)), select(toX, toY, axis.ne(0))];
    const left = select(from, to, turned);
    const right = select(to, from, turned);
    return select(left.sub(bitsToI32(select(x, y, axis.ne(0)))), right.sub(left), index.and(2).ne(0));
  },
);

/** The edges as ax, ay, dx, dy. */
export function linesOf({ cells, items }: Front, ends: Column<'i32'>): Column<'i32'> {
  const arrays = { cells: items.cell, items: items.item, columns: cells.column, rows: cells.row, ends };
  return map(lineWord, { index: sequence(4 * (items.item.length as number)), ...arrays });
}

export function lineAt(lines: ArrayValue<'i32'>, index: U32): Segment {
  const at = index.mul(4);
  return { ax: lines.at(at), ay: lines.at(at.add(1)), dx: lines.at(at.add(2)), dy: lines.at(at.add(3)) };
}

/** Above 0 where a point lies above a segment's line, left of it where that is vertical: twice the area of their triangle. */
const side = fn(
  'sideOfSegment',
  { ax: i32, ay: i32, dx: i32, dy: i32, x: i32, y: i32 },
  u64,
  ({ ax, ay, dx, dy, x, y }) => sub64({ a: mulI32({ a: dx, b: y.sub(ay) }), b: mulI32({ a: dy, b: x.sub(ax) }) }),
);

export function sideOf(segment: Segment, x: I32, y: I32): U64 {
  return side({ ...segment, x, y });
}

/** Above 0 where a segment is steeper than another. */
export function turn(from: Segment, to: Segment): U64 {
  return sub64({ a: mulI32({ a: from.dx, b: to.dy }), b: mulI32({ a: from.dy, b: to.dx }) });
}

export function isPositive(a: U64): Bool {
  return ltI64({ a: u64OfU32(u32(0)), b: a });
}

/** The shape of a {@link Share}. */
export type ShareShape = { readonly num: typeof u64; readonly den: typeof u64 };
/** A share of a segment, from its left end on: `num / den`, neither below 0, `den` not 0, both at most 2⁶¹. */
export type Share = ValuesOf<ShareShape>;

const share: ShareShape = { num: u64, den: u64 };

/** −1, 0 or 1 as a share is smaller than, the same as or larger than another. */
export const compareShares: Functor<{ readonly a: ShareShape; readonly b: ShareShape }, typeof i32> = fn(
  'compareShares',
  { a: share, b: share },
  i32,
  ({ a, b }) => compareI128({ a: mulU64({ a: a.num, b: b.den }), b: mulU64({ a: b.num, b: a.den }) }),
);
