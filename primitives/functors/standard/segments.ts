import { bool, type Functor, fn, i32, u64 } from '../functor.ts';
import type { Bool, I32 } from '../value.ts';
import { select } from './choose.ts';
import { orientation32, orientation64, type Point32, type Point64, point32, point64 } from './orientation.ts';
import type { BoolShape, I32Shape, U64Shape } from './shapes.ts';
import { ltI64, maxI64, minI64, type U64 } from './wide.ts';

/*
 * The half-open rule of the whole library, exact on the integer grid with y up: a point on a left or bottom edge of a
 * polygon is inside, a point on a right or top edge outside. An edge meets the row of a point if one end is at or below
 * the row and the other is above. (A vertex on the row counts as below, so a chain through it meets the row once, and a
 * horizontal edge never.) A point is inside if the number of edges that meet its row strictly to its right is odd.
 */

/** The parameters of {@link edgeMeetsRow32}: the y coordinates of an edge's ends and of a horizontal line. */
export type RowOperands<C> = { readonly fromY: C; readonly toY: C; readonly y: C };
/** The parameters of {@link crossesRightOf32}: the ends of an edge, and a point. */
export type EdgeAndPoint<P> = { readonly from: P; readonly to: P; readonly point: P };
/** The parameters of {@link segmentsIntersect32}: the ends of the segments ab and cd. */
export type TwoSegments<P> = { readonly a: P; readonly b: P; readonly c: P; readonly d: P };

/**
 * Whether an edge whose ends have the y coordinates `fromY` and `toY` crosses the horizontal line at `y`. An edge
 * includes its lower end but not its upper end. Law: reversing the edge does not change the result.
 *
 * @example
 * const y = ctx.column(Int32Array.of(-1, 0, 5));
 * const edge = { fromY: constant(i32, 0, 3), toY: constant(i32, 5, 3) };
 * await ctx.read(map(edgeMeetsRow32, { ...edge, y })); // Uint8Array [0, 1, 0]
 */
export const edgeMeetsRow32: Functor<RowOperands<I32Shape>, BoolShape> = fn(
  'edgeMeetsRow32',
  { fromY: i32, toY: i32, y: i32 },
  bool,
  ({ fromY, toY, y }) => fromY.le(y).ne(toY.le(y)),
);

/**
 * {@link edgeMeetsRow32} for two's complement coordinates of 64 bits.
 *
 * @example
 * const [fromY, toY, y] = [0n, 5n, 4n].map((row) => ctx.column64(BigUint64Array.of(row)));
 * await ctx.read(map(edgeMeetsRow64, { fromY, toY, y })); // Uint8Array [1]
 */
export const edgeMeetsRow64: Functor<RowOperands<U64Shape>, BoolShape> = fn(
  'edgeMeetsRow64',
  { fromY: u64, toY: u64, y: u64 },
  bool,
  ({ fromY, toY, y }) => ltI64({ a: y, b: fromY }).ne(ltI64({ a: y, b: toY })),
);

/**
 * Whether an edge crosses the horizontal line through `point`, with the crossing strictly to the right of `point`. A
 * point is inside a polygon by the even-odd rule if the number of such crossings is odd. Any two x coordinates must
 * differ by less than 2³¹, and so must any two y coordinates.
 *
 * Laws: reversing the edge does not change the result; an even number of edges of a closed polygon cross the line,
 * counted on both sides of the point and at the point.
 *
 * @example
 * const points = { x: ctx.column(Int32Array.of(1, 4)), y: ctx.column(Int32Array.of(2, 2)) };
 * const corner = (x, y) => ({ x: constant(i32, x, 2), y: constant(i32, y, 2) });
 * const flips = map(crossesRightOf32, { from: corner(3, 0), to: corner(3, 5), point: points });
 * await ctx.read(flips); // Uint8Array [1, 0]
 */
export const crossesRightOf32: Functor<EdgeAndPoint<Point32>, BoolShape> = fn(
  'crossesRightOf32',
  { from: point32, to: point32, point: point32 },
  bool,
  ({ from, to, point }) => {
    const upwards = from.y.le(point.y);
    const meets = edgeMeetsRow32({ fromY: from.y, toY: to.y, y: point.y });
    return meets.and(liesLeft(orientation32({ a: from, b: to, c: point }), upwards));
  },
);

/**
 * {@link crossesRightOf32} for two's complement 64-bit coordinates, which must differ by less than 2⁶³.
 *
 * @example
 * const at = (x, y) => ({ x: ctx.column64(BigUint64Array.of(x)), y: ctx.column64(BigUint64Array.of(y)) });
 * const edge = { from: at(3n, 0n), to: at(3n, 5n) };
 * await ctx.read(map(crossesRightOf64, { ...edge, point: at(1n, 2n) })); // Uint8Array [1]
 */
export const crossesRightOf64: Functor<EdgeAndPoint<Point64>, BoolShape> = fn(
  'crossesRightOf64',
  { from: point64, to: point64, point: point64 },
  bool,
  ({ from, to, point }) => {
    const upwards = ltI64({ a: point.y, b: from.y }).not();
    const meets = edgeMeetsRow64({ fromY: from.y, toY: to.y, y: point.y });
    return meets.and(liesLeft(orientation64({ a: from, b: to, c: point }), upwards));
  },
);

/** Whether the point is left of an edge that goes up, or right of an edge that goes down. */
function liesLeft(orientation: I32, upwards: Bool): Bool {
  return orientation.eq(select(i32(-1), 1, upwards));
}

/**
 * Whether the segments ab and cd, including their ends, have a point in common. A segment may be a single point. Any
 * two x coordinates must differ by less than 2³¹, and so must any two y coordinates.
 *
 * Laws: reversing or swapping segments does not change the result; the result is true if an end of one segment is on
 * the other segment.
 *
 * @example
 * const at = (x, y) => ({ x: constant(i32, x, 1), y: ctx.column(Int32Array.of(y)) });
 * await ctx.read(map(segmentsIntersect32, { a: at(0, 0), b: at(4, 4), c: at(0, 4), d: at(4, 0) })); // Uint8Array [1]
 */
export const segmentsIntersect32: Functor<TwoSegments<Point32>, BoolShape> = fn(
  'segmentsIntersect32',
  { a: point32, b: point32, c: point32, d: point32 },
  bool,
  ({ a, b, c, d }) => {
    const straddles = orientation32({ a, b, c })
      .mul(orientation32({ a, b, c: d }))
      .le(0)
      .and(
        orientation32({ a: c, b: d, c: a })
          .mul(orientation32({ a: c, b: d, c: b }))
          .le(0),
      );
    return straddles.and(overlap32(a.x, b.x, c.x, d.x)).and(overlap32(a.y, b.y, c.y, d.y));
  },
);

/**
 * {@link segmentsIntersect32} for two's complement 64-bit coordinates, which must differ by less than 2⁶³.
 *
 * @example
 * const at = (x, y) => ({ x: ctx.column64(BigUint64Array.of(x)), y: ctx.column64(BigUint64Array.of(y)) });
 * const cross = { a: at(0n, 0n), b: at(4n, 4n), c: at(0n, 4n), d: at(1n, 3n) };
 * await ctx.read(map(segmentsIntersect64, cross)); // Uint8Array [0]
 */
export const segmentsIntersect64: Functor<TwoSegments<Point64>, BoolShape> = fn(
  'segmentsIntersect64',
  { a: point64, b: point64, c: point64, d: point64 },
  bool,
  ({ a, b, c, d }) => {
    const straddles = orientation64({ a, b, c })
      .mul(orientation64({ a, b, c: d }))
      .le(0)
      .and(
        orientation64({ a: c, b: d, c: a })
          .mul(orientation64({ a: c, b: d, c: b }))
          .le(0),
      );
    return straddles.and(overlap64(a.x, b.x, c.x, d.x)).and(overlap64(a.y, b.y, c.y, d.y));
  },
);

/**
 * Whether the intervals from a to b and from c to d overlap. Collinear segments intersect if both their x intervals and
 * their y intervals overlap.
 */
function overlap32(a: I32, b: I32, c: I32, d: I32): Bool {
  return a
    .min(b)
    .le(c.max(d))
    .and(c.min(d).le(a.max(b)));
}

function overlap64(a: U64, b: U64, c: U64, d: U64): Bool {
  const above = ltI64({ a: maxI64({ a: c, b: d }), b: minI64({ a, b }) });
  const below = ltI64({ a: maxI64({ a, b }), b: minI64({ a: c, b: d }) });
  return above.or(below).not();
}
