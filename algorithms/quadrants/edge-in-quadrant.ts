import {
  add64,
  array,
  bitsToI32,
  bitsToU32,
  type Column,
  fn,
  type I32,
  If,
  i32,
  i64OfI32,
  map,
  select,
  shl64,
  sub64,
  type U32,
  u32,
  Var,
} from '../../primitives/index.ts';
import {
  flipsCorner,
  isAbove,
  isPast,
  type Line,
  lineFrom,
  meetsBox,
  meetsColumn,
  meetsRow,
  passesThrough,
  reachOf,
  sideOfCorner,
  straddles,
} from './edge-line.ts';
import type { Edges } from './edges.ts';
import { type OpenQuadrants, quadrantArrays, quadrantAt } from './open-quadrants.ts';

/** Passages: pairs of an edge and a quadrant that it may pass through, in the order of the edges. */
export interface Passages {
  /**
   * The quadrant of each passage, as an index into the open quadrants or, for passages through leaves, into the leaves.
   */
  readonly quadrant: Column<'u32'>;
  readonly edge: Column<'u32'>;
}

/**
 * Masks of the bits that describe the effect of an edge in a quadrant. `PASSES`, bits 0 to 3: whether the edge passes
 * through child x + 2y. `FLIPS`, bits 4 to 6: whether the path between two corners crosses the edge, and so changes
 * between inside and outside of the polygon (the parity):
 *
 *     2 ─────── 3       bit 4: from corner 0 to 1, along the bottom
 *     │         │       bit 5: from corner 0 to 2, up the left side
 *     0 ─────── 1       bit 6: from corner 2 to 3
 *
 * Corner 0 is the lower left corner of the quadrant, and corner 3 is its centre. All four are lower left corners of
 * children.
 *
 * An edge passes through a quadrant if the edge has a point strictly inside the quadrant. If no edge passes through a
 * quadrant, all points of the quadrant, including those on its left and bottom sides, are inside the polygon, or all
 * are outside. Every point counts as if it were moved infinitely little to the right and, by even less, up. So no edge
 * goes through a corner, and quadrants are half-open.
 */
export const PASSES: number = 0b1111;
export const FLIPS: number = 0b1110000;

const edge = { edge: u32, ends: array(i32) } as const;

const edgeInQuadrant = fn(
  'edgeInQuadrant',
  { quadrant: u32, ...edge, ...quadrantArrays },
  u32,
  ({ quadrant, edge, ends, columns, rows }) => {
    const place = quadrantAt(columns, rows, quadrant);
    const line = lineFrom(ends, edge, place);
    const half = place.shift.sub(1);
    const columnOf = stripWithin(line.ax, line.bx, half);
    const rowOf = stripWithin(line.ay, line.by, half);
    const bits = Var(u32(0));
    // Fast path: most edges are far shorter than quadrants, so they are within one child.
    If(columnOf.or(rowOf).lt(2), () => bits.set(u32(1).shl(columnOf.add(rowOf.shl(1))))).Else(() =>
      bits.set(acrossChildren(line, half)),
    );
    return bits;
  },
);

/**
 * The index (0 or 1) of the strip of width 2^half that strictly contains two coordinates. 2 or more if neither strip
 * contains both.
 */
function stripWithin(a: I32, b: I32, half: U32): U32 {
  const [low, high] = [bitsToU32(a.min(b)), bitsToU32(a.max(b))];
  const strip = low.shr(half);
  const isWithin = strip.eq(high.shr(half)).and(low.ne(strip.shl(half)));
  return select(u32(2), strip, isWithin);
}

function acrossChildren(line: Line, half: U32): U32 {
  const side = bitsToI32(u32(1).shl(half));
  const [right, up] = [shl64({ a: i64OfI32(line.dx), count: half }), shl64({ a: i64OfI32(line.dy), count: half })];
  // From a corner to the corner one child to the right, `sideOfCorner` decreases by dy · side, which is `up`. From a
  // corner to the corner one child up, `sideOfCorner` increases by dx · side, which is `right`.
  const at00 = sideOfCorner(line);
  const at10 = sub64({ a: at00, b: up });
  const at01 = add64({ a: at00, b: right });
  const at11 = add64({ a: at10, b: right });
  const reach = reachOf(right, up);
  const passes = [at00, at10, at01, at11].map((at, child) => {
    const meets = meetsBox(line, side.mul(child & 1), side.mul(child >> 1), side);
    return u32(meets.and(straddles(at, reach))).shl(child);
  });
  const bottom = meetsRow(line, i32(0)).and(isPast(line, at10)).and(isPast(line, at00).not());
  const middle = meetsRow(line, side).and(isPast(line, at11)).and(isPast(line, at01).not());
  const leftSide = meetsColumn(line).and(isAbove(line, at00)).and(isAbove(line, at01).not());
  const flips = u32(bottom).shl(4).or(u32(leftSide).shl(5)).or(u32(middle).shl(6));
  return passes.reduce((bits, bit) => bits.or(bit), flips);
}

const edgeInEnclosing = fn(
  'edgeInEnclosing',
  { quadrant: u32, ...edge, ...quadrantArrays },
  u32,
  ({ quadrant, edge, ends, columns, rows }) => {
    const place = quadrantAt(columns, rows, quadrant);
    const line = lineFrom(ends, edge, place);
    return u32(passesThrough(line, place.shift)).or(u32(flipsCorner(line)).shl(4));
  },
);

/**
 * The effects of edges in quadrants that are to be split, as a view; see {@link PASSES}. Computed exactly in 64 bits.
 */
export function edgesInQuadrants(
  passages: Passages,
  { ends }: Pick<Edges, 'ends'>,
  { column, row }: Pick<OpenQuadrants, 'column' | 'row'>,
): Column<'u32'> {
  return map(edgeInQuadrant, { ...passages, ends, columns: column, rows: row });
}

/**
 * The effects of edges in the initial quadrants, each of which encloses a polygon, as a view. Bit 0: whether the edge
 * passes through the quadrant. Bit 4: whether the edge crosses the ray that goes left from the quadrant's lower left
 * corner.
 */
export function edgesInEnclosing(passages: Passages, edges: Edges, { column, row }: OpenQuadrants): Column<'u32'> {
  return map(edgeInEnclosing, { ...passages, ends: edges.ends, columns: column, rows: row });
}
