import {
  type ArrayValue,
  type Bool,
  bool,
  compareI128,
  For,
  type I32,
  If,
  i32,
  ltI64,
  mulI64,
  neg64,
  select,
  signI64,
  type U32,
  type U64,
  u32,
  u64OfU32,
  Var,
  type Variable,
  While,
} from '../../primitives/index.ts';
import { BOTH, regionOfItem } from './cells.ts';
import { endOf, type Line, lineAt, sideOf, turnOf } from './lines.ts';
import { compareShares, moveShare, movingShare, type Share, shareOf } from './shares.ts';

/*
 * Whether two regions share area in a cell.
 *
 * The edges of both regions cut the open cell into faces. Each face is inside or outside p, and inside or outside q.
 * Let F be a face inside both, and v the minimum of its closure, by x and then by y. At v, F fills a wedge between two
 * directions to the right of v. The lower direction is not vertical, because v is the minimum. So F lies just above the
 * bottom of the cell, or just above an edge e that continues to the right of v. Hence it is enough to walk just above
 * the bottom and just above every edge that is not vertical, over the part inside the cell, and to check which regions
 * contain the faces passed.
 *
 * The face changes at crossings: another edge crosses the line of e if one of its ends is above the line and the other
 * is on or below this line. The walk reaches F at v: either the walk begins at v, or the upper side of the wedge belongs
 * to an edge that leaves e upwards at v, and so crosses e. (If the upper side belonged to the cell's left side or top,
 * the walk would begin at v.) All crossings at one place flip the parities before the parities are checked. So edges that
 * touch e, end on e or share a point with other edges are no special cases. Edges along e do not cross e, and coincident
 * edges flip once each.
 *
 * A crossing is a share num / den of e, both below 2⁶³, and shares are compared by products of 128 bits. The first
 * face follows from the corner of the cell, on a path inside the cell: up along its left side to the height of the
 * start of the walk, then to the right. The corner stands for a point to its right and then above, and the start of a
 * walk stands for a point ahead on e and then above. This decides on which side of a line a point on the line is.
 */

/** A cell in a functor: its side, the regions that contain its lower left corner, and the range of its edges. */
export interface OverlapCell {
  readonly side: I32;
  readonly corner: U32;
  readonly first: U32;
  readonly end: U32;
}

/**
 * Columns from which a functor reads edges: `items` tells the region of each edge, `lines` has the line of each edge.
 */
export interface EdgeArrays {
  readonly items: ArrayValue<'u32'>;
  readonly lines: ArrayValue<'i32'>;
}

/**
 * Walks just above `line`, along the part of `line` that is inside the cell. Returns 1 if the walk passes a face (an
 * area between edges) that both regions contain, else 0. The line must not be vertical.
 */
export function overlapsAlong(
  line: Line,
  { side, corner, first, end }: OverlapCell,
  { items, lines }: EdgeArrays,
): U32 {
  const stretch = stretchOf(line, side);
  const state = Var(corner);
  const at = movingShare(stretch.from);
  const isFirst = Var(bool(true));
  const goesOn = Var(bool(true));
  While(
    () => goesOn,
    () => {
      const next = movingShare(stretch.to);
      const flips = Var(u32(0));
      goesOn.set(false);
      For(first, end, (i) => {
        const other = lineAt(lines, i);
        const region = regionOfItem(items.at(i));
        If(isFirst, () => passOnTheWay(state, other, region, line, stretch));
        forCrossing(line, other, (crossing) => {
          If(compareShares({ a: at, b: crossing }).lt(0), () => {
            const order = compareShares({ a: crossing, b: next });
            If(order.lt(0), () => {
              moveShare(next, crossing);
              flips.set(region);
              goesOn.set(true);
            }).ElseIf(
              () => order.eq(0).and(goesOn),
              () => flips.set(flips.xor(region)),
            );
          });
        });
      });
      isFirst.set(false);
      If(state.ne(BOTH), () => state.set(state.xor(flips)));
      If(state.eq(BOTH), () => goesOn.set(false));
      moveShare(at, next);
    },
  );
  return u32(state.eq(BOTH));
}

/** The part of a line inside its cell. */
interface Stretch {
  readonly from: Share;
  readonly to: Share;
  /** Whether the line starts outside the cell. `throughLeft`: whether the line enters through the cell's left side. */
  readonly comesIn: Bool;
  readonly throughLeft: Bool;
  /** The height at which the stretch begins. Unused if `throughLeft` is true. */
  readonly height: I32;
}

function stretchOf({ ax, ay, dx, dy }: Line, side: I32): Stretch {
  const falls = dy.lt(0);
  const tall = dy.abs().max(1);
  const beforeX = ax.neg().max(0);
  const beforeY = select(ay.neg(), ay.sub(side), falls).max(0);
  const [fromX, fromY] = [shareOf(beforeX, dx), shareOf(beforeY, tall)];
  const toX = shareOf(side.sub(ax).min(dx), dx);
  const toY = shareOf(select(side.sub(ay), ay, falls).min(tall), tall);
  const throughLeft = beforeX.gt(0).and(compareShares({ a: fromX, b: fromY }).ge(0));
  return {
    from: select(fromY, fromX, throughLeft),
    to: select(toX, toY, compareShares({ a: toY, b: toX }).lt(0)),
    comesIn: beforeX.gt(0).or(beforeY.gt(0)),
    throughLeft,
    height: select(ay, select(i32(0), side, falls), beforeY.gt(0)),
  };
}

/**
 * Updates `state` (the regions that contain the current face, as bits) on the path from the cell's corner to the start
 * of the walk above `line`. Flips the bit `region` if the edge `other` of this region crosses the path an odd number of
 * times. The path goes up and then to the right, or only up if the walk starts on the left side of the cell.
 */
function passOnTheWay(state: Variable<'u32'>, other: Line, region: U32, line: Line, stretch: Stretch): void {
  const { throughLeft, height } = stretch;
  const end = endOf(other);
  // The path turns right between the heights `row` and `row + 1`: below `height` if the line falls, else above
  // `height`.
  const row = height.sub(i32(line.dy.lt(0)));
  const meetsUp = other.ax.le(0).and(end.x.gt(0));
  const meetsAcross = other.ay.le(row).ne(end.y.le(row)).and(throughLeft.not());
  If(meetsUp.or(meetsAcross), () => {
    const corner = isAbove(sideOf(other, i32(0), i32(0)), other.dy.lt(0));
    const bend = isAbove(sideOf(other, i32(0), height), line.dy.ge(0));
    const start = isStartAbove(other, line, stretch);
    const flips = select(
      meetsUp.and(corner.ne(bend)).ne(meetsAcross.and(bend.ne(start))),
      corner.ne(start),
      throughLeft,
    );
    If(flips, () => state.set(state.xor(region)));
  });
}

function isAbove(at: U64, whereOn: Bool): Bool {
  return isPositive(at).or(at.lo.or(at.hi).eq(0).and(whereOn));
}

function isPositive(a: U64): Bool {
  return ltI64({ a: u64OfU32(u32(0)), b: a });
}

/** Whether the start of the walk above `line` is above the line `other`. */
function isStartAbove(other: Line, line: Line, { from, comesIn }: Stretch): Bool {
  const turn = turnOf(line, other);
  const at = sideOf(other, line.ax, line.ay);
  const order = Var(signI64({ a: at }));
  If(comesIn, () => {
    order.set(compareI128({ a: mulI64({ a: at, b: from.den }), b: mulI64({ a: from.num, b: turn }) }));
  });
  return order.gt(0).or(order.eq(0).and(isPositive(turn).not()));
}

/**
 * Calls `body` with the position where another edge crosses the walk just above a line, if this position is after the
 * line's left end.
 */
function forCrossing(line: Line, other: Line, body: (at: Share) => void): void {
  const [lineEnd, otherEnd] = [endOf(line), endOf(other)];
  const [low, high] = [line.ay.min(lineEnd.y), line.ay.max(lineEnd.y)];
  const inColumns = other.ax.lt(lineEnd.x).and(otherEnd.x.gt(line.ax));
  const inRows = other.ay.min(otherEnd.y).le(high).and(other.ay.max(otherEnd.y).gt(low));
  If(inColumns.and(inRows), () => {
    const rises = isPositive(sideOf(line, otherEnd.x, otherEnd.y));
    If(isPositive(sideOf(line, other.ax, other.ay)).ne(rises), () => {
      const at = sideOf(other, line.ax, line.ay);
      const turn = turnOf(line, other);
      const num = select(neg64({ a: at }), at, rises);
      If(isPositive(num), () => body({ num, den: select(neg64({ a: turn }), turn, rises) }));
    });
  });
}
