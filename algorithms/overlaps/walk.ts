import {
  type ArrayValue,
  array,
  type Bool,
  bitsToI32,
  bitsToU32,
  compareI128,
  For,
  fn,
  type I32,
  If,
  i32,
  mulI64,
  neg64,
  select,
  signI64,
  type U32,
  type U64,
  u32,
  u64OfU32,
  uniform,
  Var,
  type Variable,
  While,
} from '../../primitives/index.ts';
import { BOTH, cellArrays, cellAt, regionOfItem } from './cells.ts';
import { compareShares, isPositive, lineAt, type Segment, type Share, sideOf, turn } from './segment.ts';

/** The part of a segment that lies in its cell, from its left end on. */
interface Stretch {
  readonly entry: Share;
  readonly exit: Share;
  /** Whether it begins at a side. */
  readonly isCut: Bool;
  /** Whether it begins where the segment comes in through the left side. */
  readonly throughLeft: Bool;
  /** Its ordinate where it begins, if it does not come in through the left side. */
  readonly y: I32;
}

interface Cell {
  readonly x: U32;
  readonly y: U32;
  readonly side: I32;
  readonly corner: U32;
  readonly first: U32;
  readonly end: U32;
}

interface Tables {
  readonly columns: ArrayValue<'u32'>;
  readonly rows: ArrayValue<'u32'>;
  readonly firsts: ArrayValue<'u32'>;
  readonly items: ArrayValue<'u32'>;
  readonly lines: ArrayValue<'i32'>;
}

const tables = { ...cellArrays, firsts: array(u32), items: array(u32), lines: array(i32) } as const;

export const alongBottom = fn(
  'alongBottom',
  { cell: u32, ...tables, most: uniform(u32) },
  u32,
  ({ cell: number, most, ...arrays }) => {
    const found = Var(u32(0));
    const cell = cellOf(number, arrays);
    If(isTested(cell, most), () => {
      found.set(walk({ ax: i32(0), ay: i32(0), dx: cell.side, dy: i32(0) }, cell, arrays));
    });
    return found;
  },
);

export const alongEdge = fn(
  'alongEdge',
  { cell: u32, index: u32, ...tables, found: array(u32), most: uniform(u32) },
  u32,
  ({ cell: number, index, found: foundBefore, most, ...arrays }) => {
    const found = Var(u32(0));
    If(foundBefore.at(number).eq(0), () => {
      const cell = cellOf(number, arrays);
      const edge = lineAt(arrays.lines, index);
      If(isTested(cell, most).and(edge.dx.gt(0)), () => found.set(walk(edge, cell, arrays)));
    });
    return found;
  },
);

function cellOf(number: U32, { columns, rows, firsts }: Tables): Cell {
  const { x, y, shift, corner } = cellAt(columns, rows, number);
  const side = bitsToI32(u32(1).shl(shift));
  return { x, y, side, corner, first: firsts.at(number), end: firsts.at(number.add(1)) };
}

function isTested({ first, end, side }: Cell, most: U32): Bool {
  return end.sub(first).le(most).or(side.eq(1));
}

function forEach({ first, end }: Cell, { items, lines }: Tables, body: (other: Segment, region: U32) => void) {
  For(first, end, (i) => {
    body(lineAt(lines, i), regionOfItem(items.at(i)));
  });
}

function stretchIn({ ax, ay, dx, dy }: Segment, side: I32): Stretch {
  const falls = dy.lt(0);
  const denX = dx;
  const denY = dy.abs().max(1);
  const inX = ax.neg().max(0);
  const inY = select(ay.neg(), ay.sub(side), falls).max(0);
  const outX = side.sub(ax).min(denX);
  const outY = select(side.sub(ay), ay, falls).min(denY);
  const [entryX, entryY, exitX, exitY] = [
    share(inX, denX),
    share(inY, denY),
    share(outX, denX),
    share(outY, denY),
  ] as const;
  const throughLeft = inX.gt(0).and(compareShares({ a: entryX, b: entryY }).ge(0));
  return {
    entry: select(entryY, entryX, throughLeft),
    exit: select(exitX, exitY, compareShares({ a: exitY, b: exitX }).lt(0)),
    isCut: inX.gt(0).or(inY.gt(0)),
    throughLeft,
    y: select(ay, select(i32(0), side, falls), inY.gt(0)),
  };
}

function share(num: I32, den: I32): Share {
  return { num: u64OfU32(bitsToU32(num)), den: u64OfU32(bitsToU32(den)) };
}

/** Takes the state from the corner of a cell to where a stretch begins, past one edge. */
function pass(state: Variable<'u32'>, other: Segment, region: U32, edge: Segment, stretch: Stretch): void {
  const { throughLeft, y } = stretch;
  const row = y.sub(i32(edge.dy.lt(0)));
  const spansLeft = other.ax.le(0).and(other.ax.add(other.dx).gt(0));
  const spansRow = other.ay.le(row).ne(other.ay.add(other.dy).le(row)).and(throughLeft.not());
  If(spansLeft.or(spansRow), () => {
    const aboveCorner = isAbove(sideOf(other, i32(0), i32(0)), other.dy.lt(0));
    const aboveTurn = isAbove(sideOf(other, i32(0), y), edge.dy.ge(0));
    const aboveStart = isAboveStart(other, edge, stretch);
    const flips = select(
      spansLeft.and(aboveCorner.ne(aboveTurn)).ne(spansRow.and(aboveTurn.ne(aboveStart))),
      aboveCorner.ne(aboveStart),
      throughLeft,
    );
    If(flips, () => state.set(state.xor(region)));
  });
}

function isAbove(at: U64, onLine: Bool): Bool {
  return isPositive(at).or(isZero(at).and(onLine));
}

function isZero({ lo, hi }: U64): Bool {
  return lo.or(hi).eq(0);
}

function isAboveStart(other: Segment, edge: Segment, { entry, isCut }: Stretch): Bool {
  const steeper = turn(edge, other);
  const along = sideOf(other, edge.ax, edge.ay);
  const order = Var(signI64({ a: along }));
  If(isCut, () =>
    order.set(compareI128({ a: mulI64({ a: along, b: entry.den }), b: mulI64({ a: entry.num, b: steeper }) })),
  );
  return order.gt(0).or(order.eq(0).and(isPositive(steeper).not()));
}

interface MovingShare {
  readonly num: { readonly lo: Variable<'u32'>; readonly hi: Variable<'u32'> };
  readonly den: { readonly lo: Variable<'u32'>; readonly hi: Variable<'u32'> };
}

function movingShare({ num, den }: Share): MovingShare {
  return { num: { lo: Var(num.lo), hi: Var(num.hi) }, den: { lo: Var(den.lo), hi: Var(den.hi) } };
}

function setShare(moving: MovingShare, { num, den }: Share): void {
  moving.num.lo.set(num.lo);
  moving.num.hi.set(num.hi);
  moving.den.lo.set(den.lo);
  moving.den.hi.set(den.hi);
}

function walk(edge: Segment, cell: Cell, arrays: Tables): U32 {
  const stretch = stretchIn(edge, cell.side);
  const state = Var(cell.corner);
  const at = movingShare(stretch.entry);
  const isFirst = Var(u32(1));
  const goesOn = Var(u32(1));
  While(
    () => goesOn.ne(0),
    () => {
      const next = movingShare(stretch.exit);
      const flips = Var(u32(0));
      goesOn.set(0);
      forEach(cell, arrays, (other, region) => {
        If(isFirst.ne(0), () => pass(state, other, region, edge, stretch));
        forCrossing(edge, other, (crossing) => {
          If(compareShares({ a: at, b: crossing }).lt(0), () => {
            const order = compareShares({ a: crossing, b: next });
            If(order.lt(0), () => {
              setShare(next, crossing);
              flips.set(region);
              goesOn.set(1);
            }).ElseIf(
              () => order.eq(0).and(goesOn.ne(0)),
              () => flips.set(flips.xor(region)),
            );
          });
        });
      });
      isFirst.set(0);
      If(state.ne(BOTH), () => state.set(state.xor(flips)));
      If(state.eq(BOTH), () => goesOn.set(0));
      setShare(at, next);
    },
  );
  return u32(state.eq(BOTH));
}

function forCrossing(edge: Segment, other: Segment, body: (at: Share) => void): void {
  const meets = other.ax.lt(edge.ax.add(edge.dx)).and(other.ax.add(other.dx).gt(edge.ax));
  const low = (of: Segment): I32 => of.ay.add(of.dy.min(0));
  const high = (of: Segment): I32 => of.ay.add(of.dy.max(0));
  If(meets.and(low(other).le(high(edge))).and(high(other).ge(low(edge))), () => {
    const from = sideOf(edge, other.ax, other.ay);
    const to = sideOf(edge, other.ax.add(other.dx), other.ay.add(other.dy));
    const upwards = isPositive(to);
    If(isPositive(from).ne(upwards), () => {
      const along = sideOf(other, edge.ax, edge.ay);
      const steeper = turn(edge, other);
      const num = select(neg64({ a: along }), along, upwards);
      If(isPositive(num), () => body({ num, den: select(neg64({ a: steeper }), steeper, upwards) }));
    });
  });
}
