import { type Functor, fn, i32, u64 } from '../functor.ts';
import type { I32Shape, U64Shape } from './shapes.ts';
import { compareI64, sub64 } from './wide.ts';
import { compareI128, mulI32, mulI64 } from './wide-products.ts';

/** The shape type of a point with i32 coordinates. */
export type Point32 = { readonly x: I32Shape; readonly y: I32Shape };
/** The shape type of a point whose coordinates are two's complement 64-bit integers. */
export type Point64 = { readonly x: U64Shape; readonly y: U64Shape };

/** The shape of a point with i32 coordinates, for parameters of functors. */
export const point32: Point32 = { x: i32, y: i32 };
/** The shape of a point with 64-bit coordinates, for parameters of functors. */
export const point64: Point64 = { x: u64, y: u64 };

/** The parameters of {@link orientation32} and {@link orientation64}: three points. */
export type ThreePoints<P> = { readonly a: P; readonly b: P; readonly c: P };

/**
 * Tells on which side of the line from a to b the point c is: 1 if c is to the left (a, b, c are counter-clockwise if y
 * points up), 0 if c is on the line, −1 if c is to the right. The result is exact.
 *
 * Any two x coordinates must differ by less than 2³¹, and so must any two y coordinates. Then every difference is an
 * i32. The result is the sign of (b.x − a.x)(c.y − a.y) − (b.y − a.y)(c.x − a.x). The two products, of magnitude at
 * most 2⁶², are compared as i64 instead of subtracted, because their difference would take 65 bits.
 *
 * Laws: swapping two points negates the result; translating all three points does not change the result; the result is
 * 0 if two points coincide.
 *
 * @example
 * const at = (x, y) => ({ x: constant(i32, x, 2), y: constant(i32, y, 2) });
 * const c = { x: ctx.column(Int32Array.of(1, 1)), y: ctx.column(Int32Array.of(3, 0)) };
 * await ctx.read(map(orientation32, { a: at(0, 0), b: at(2, 2), c })); // Int32Array [1, -1]
 */
export const orientation32: Functor<ThreePoints<Point32>, I32Shape> = fn(
  'orientation32',
  { a: point32, b: point32, c: point32 },
  i32,
  ({ a, b, c }) =>
    compareI64({
      a: mulI32({ a: b.x.sub(a.x), b: c.y.sub(a.y) }),
      b: mulI32({ a: b.y.sub(a.y), b: c.x.sub(a.x) }),
    }),
);

/**
 * The functor {@link orientation32} for 64-bit coordinates, which must differ by less than 2⁶³. The products, of
 * magnitude at most 2¹²⁶, are compared as i128.
 *
 * @example
 * const at = (x, y) => ({ x: ctx.column64(BigUint64Array.of(x)), y: ctx.column64(BigUint64Array.of(y)) });
 * const far = 2n ** 40n;
 * await ctx.read(map(orientation64, { a: at(0n, 0n), b: at(far, far), c: at(far, far - 1n) })); // Int32Array [-1]
 */
export const orientation64: Functor<ThreePoints<Point64>, I32Shape> = fn(
  'orientation64',
  { a: point64, b: point64, c: point64 },
  i32,
  ({ a, b, c }) =>
    compareI128({
      a: mulI64({ a: sub64({ a: b.x, b: a.x }), b: sub64({ a: c.y, b: a.y }) }),
      b: mulI64({ a: sub64({ a: b.y, b: a.y }), b: sub64({ a: c.x, b: a.x }) }),
    }),
);
