import {
  type ArrayValue,
  add64,
  type Bool,
  bitsToI32,
  bool,
  type I32,
  If,
  i32,
  i64OfI32,
  ltI64,
  mulI32,
  select,
  shl64,
  sub64,
  type U32,
  type U64,
  u32,
  Var,
} from '../../primitives/index.ts';

/**
 * An edge from (ax, ay) to (bx, by), relative to a reference point such as a corner of a quadrant. The vector from its
 * start to its end is (dx, dy).
 */
export interface Line {
  readonly ax: I32;
  readonly ay: I32;
  readonly bx: I32;
  readonly by: I32;
  readonly dx: I32;
  readonly dy: I32;
}

/** A point to which edges are made relative, in steps of the domain. */
export interface Place {
  readonly x: U32;
  readonly y: U32;
}

export function lineFrom(ends: ArrayValue<'i32'>, edge: U32, { x, y }: Place): Line {
  const at = edge.mul(4);
  const [left, bottom] = [bitsToI32(x), bitsToI32(y)];
  const [ax, bx] = [ends.at(at).sub(left), ends.at(at.add(2)).sub(left)];
  const [ay, by] = [ends.at(at.add(1)).sub(bottom), ends.at(at.add(3)).sub(bottom)];
  return { ax, ay, bx, by, dx: bx.sub(ax), dy: by.sub(ay) };
}

/**
 * Twice the signed area of the triangle of an edge and its reference point, a corner of a quadrant. The area is
 * positive if the corner is left of the edge, and negative if the corner is right of the edge.
 */
export function sideOfCorner({ ax, ay, dx, dy }: Line): U64 {
  return sub64({ a: mulI32({ a: dy, b: ax }), b: mulI32({ a: dx, b: ay }) });
}

/**
 * Whether the bounding box of an edge contains a point strictly inside a square. The square has its lower left corner
 * at (x, y).
 */
export function meetsBox({ ax, ay, bx, by }: Line, x: I32, y: I32, side: I32): Bool {
  const inColumns = ax.min(bx).lt(x.add(side)).and(ax.max(bx).gt(x));
  const inRows = ay.min(by).lt(y.add(side)).and(ay.max(by).gt(y));
  return inColumns.and(inRows);
}

/**
 * How much {@link sideOfCorner} varies over a square: its maximum and minimum minus its value at the lower left corner.
 * `right` and `up` are the edge's dx and dy times the side of the square.
 */
export function reachOf(right: U64, up: U64): { readonly highest: U64; readonly lowest: U64 } {
  const zero = { lo: u32(0), hi: u32(0) };
  const left = sub64({ a: zero, b: up });
  const positive = (a: U64): U64 => select(a, zero, isNegative(a));
  const negative = (a: U64): U64 => select(zero, a, isNegative(a));
  return {
    highest: add64({ a: positive(right), b: positive(left) }),
    lowest: add64({ a: negative(right), b: negative(left) }),
  };
}

/**
 * Whether a square has corners strictly on both sides of a line. `at` is the value of {@link sideOfCorner} at the
 * square's lower left corner. `highest` and `lowest` come from {@link reachOf}.
 */
export function straddles(at: U64, { highest, lowest }: { readonly highest: U64; readonly lowest: U64 }): Bool {
  return isPositive(add64({ a: at, b: highest })).and(isNegative(add64({ a: at, b: lowest })));
}

function isNegative({ hi }: U64): Bool {
  return bitsToI32(hi).lt(0);
}

function isPositive(a: U64): Bool {
  return ltI64({ a: { lo: u32(0), hi: u32(0) }, b: a });
}

export function meetsRow({ ay, by }: Line, y: I32): Bool {
  return ay.le(y).ne(by.le(y));
}

export function meetsColumn({ ax, bx }: Line): Bool {
  return ax.le(0).ne(bx.le(0));
}

/**
 * Whether a point is on an edge or to the right of it. The edge must cross the horizontal line through the point. `at`
 * is the value of {@link sideOfCorner} at the point.
 */
export function isPast({ dy }: Line, at: U64): Bool {
  return select(isNegative(at), isPositive(at), dy.gt(0)).not();
}

/**
 * Whether an edge passes above a point, or passes through the point and rises to the right. The edge must cross the
 * vertical line through the point. `at` is the value of {@link sideOfCorner} at the point.
 */
export function isAbove({ dx, dy }: Line, at: U64): Bool {
  const over = select(isPositive(at), isNegative(at), dx.gt(0));
  const through = at.lo.or(at.hi).eq(0);
  const rises = dy.ne(0).and(dx.gt(0).eq(dy.gt(0)));
  return over.or(through.and(rises));
}

/**
 * Whether an edge passes through a square with a side of 2^shift steps. The edge is relative to the square's lower left
 * corner.
 */
export function passesThrough(line: Line, shift: U32): Bool {
  const [right, up] = [line.dx, line.dy].map((d) => shl64({ a: i64OfI32(d), count: shift })) as [U64, U64];
  const meets = meetsBox(line, i32(0), i32(0), bitsToI32(u32(1).shl(shift)));
  return meets.and(straddles(sideOfCorner(line), reachOf(right, up)));
}

/**
 * Whether an edge crosses the ray that goes left from its reference corner, and so flips the corner between inside and
 * outside.
 */
export function flipsCorner(line: Line): Bool {
  return meetsRow(line, i32(0)).and(isPast(line, sideOfCorner(line)));
}

/**
 * Whether a path from a quadrant's corner to a point in the quadrant changes between inside and outside at an edge. The
 * path goes along the bottom to the point's column, then up.
 */
export function flipsWay(ends: ArrayValue<'i32'>, edge: U32, corner: Place, point: Place): Bool {
  const fromBend = lineFrom(ends, edge, { x: point.x, y: corner.y });
  const [crossesRow, crossesColumn] = [meetsRow(fromBend, i32(0)), meetsColumn(fromBend)];
  const flips = Var(bool(false));
  // Most edges cross neither line, or one.
  If(crossesRow.or(crossesColumn), () => {
    const side = sideOfCorner(fromBend);
    If(crossesRow.and(isPast(fromBend, side)), () => {
      const fromCorner = lineFrom(ends, edge, corner);
      flips.set(isPast(fromCorner, sideOfCorner(fromCorner)).not());
    });
    If(crossesColumn.and(isAbove(fromBend, side)), () => {
      const fromPoint = lineFrom(ends, edge, point);
      flips.set(flips.eq(isAbove(fromPoint, sideOfCorner(fromPoint))));
    });
  });
  return flips;
}
