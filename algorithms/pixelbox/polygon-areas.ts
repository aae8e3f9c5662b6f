import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { If, Let, Var, While } from '../../primitives/functors/control.ts';
import { type ArrayParameter, array, type Functor, fn, u32, u64 } from '../../primitives/functors/functor.ts';
import { bitsToI32, bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { add64, sub64 } from '../../primitives/functors/standard/wide.ts';
import { mulU32 } from '../../primitives/functors/standard/wide-products.ts';
import type { ArrayValue, Bool, I32, U32 } from '../../primitives/functors/value.ts';
import {
  type ColumnsOf,
  type Context,
  constant,
  expand,
  map,
  plus,
  reduceByKey,
  scatter,
  sequence,
} from '../../primitives/index.ts';
import { edgeAt, edgesOf, forEachEdge } from './box-position.ts';
import {
  EDGE_STRIDE,
  POLYGON_FIELDS,
  POLYGON_STRIDE,
  type PolygonEdges,
  requireRectilinear,
  someEdges,
} from './polygon-edges.ts';

/**
 * The areas of rectilinear polygons in pixels, as u64: PolyArea in the paper of Wang and others, 2012. It is the
 * shoelace formula, which for horizontal and vertical edges is the sum of ±x · height over the vertical edges.
 *
 * The paper takes the sign from the direction of a simple ring. Here the sign follows from the even-odd rule. If the
 * number of edges to the right of an edge is even in a row, the edge is a right boundary of the region in this row, and
 * counts as positive. Otherwise the edge counts as negative in this row. So rings may have any direction and nesting,
 * and may cross, touch and overlap themselves and each other.
 *
 * - Work O(edges · (edges of the same polygon) · (changes of sign along an edge)), span the work of one edge. Exact.
 *   Does not wait for the device.
 *
 * @throws `ArgumentError` `pixelbox/not-rectilinear` for polygons that are not rectilinear.
 * @example
 * const frame = { polygonRings: Uint32Array.of(0, 2), ringVertices: Uint32Array.of(0, 4, 8),
 *   x: Int32Array.of(0, 5, 5, 0, 1, 2, 2, 1), y: Int32Array.of(0, 0, 5, 5, 1, 1, 2, 2) };
 * await ctx.read(polygonAreas(ctx, uploadPolygonEdges(ctx, frame))); // { lo: Uint32Array [24], hi: Uint32Array [0] }
 */
export function polygonAreas(context: Context, edges: PolygonEdges): ColumnsOf<typeof u64> {
  requireArguments('polygonAreas', { context, edges }, { context: aContext, edges: someEdges });
  requireRectilinear(edges);
  const { polygons, rising, words } = edges;
  return context.scope(() => {
    if (rising === 0) return context.materialize({ lo: constant(u32, 0, polygons), hi: constant(u32, 0, polygons) });
    const polygon = sequence(polygons);
    const counts = map(risingEdges, { polygon, words });
    const parts = expand({ polygon }, counts, signedArea, { capacity: rising, captures: { words } });
    const { keys, values } = reduceByKey(parts.polygon, parts.area, plus(u64));
    return scatter(values, keys, polygons);
  });
}

const risingEdges = fn('risingEdges', { polygon: u32, words: array(u32) }, u32, ({ polygon, words }) => {
  const { first, horizontal } = edgesOf(words, polygon);
  return horizontal.sub(first).div(EDGE_STRIDE);
});

type SignedAreaParameters = {
  readonly polygon: typeof u32;
  readonly rank: typeof u32;
  readonly words: ArrayParameter<'u32'>;
};
type PolygonArea = { readonly polygon: typeof u32; readonly area: typeof u64 };

/** The contribution of a vertical edge to the area of its polygon, modulo 2⁶⁴. */
const signedArea: Functor<SignedAreaParameters, PolygonArea> = fn(
  'signedArea',
  { polygon: u32, rank: u32, words: array(u32) },
  { polygon: u32, area: u64 },
  ({ polygon, rank, words }) => {
    const { first } = edgesOf(words, polygon);
    const at = Let(first.add(rank.mul(EDGE_STRIDE)));
    const { lowX: x, lowY, highY } = edgeAt(words, at);
    const left = bitsToI32(words.at(polygon.mul(POLYGON_STRIDE).add(POLYGON_FIELDS.left)));
    const across = bitsToU32(x.sub(left));
    const [lo, hi] = [Var(u32(0)), Var(u32(0))];
    const y = Var(lowY);
    While(
      () => y.lt(highY),
      () => {
        const { even, until } = edgesRightOf(words, polygon, at, x, Let(y), highY);
        const part = mulU32({ a: across, b: bitsToU32(until.sub(y)) });
        const sum = { lo: Let(lo), hi: Let(hi) };
        const next = select(sub64({ a: sum, b: part }), add64({ a: sum, b: part }), even);
        lo.set(next.lo);
        hi.set(next.hi);
        y.set(until);
      },
    );
    return { polygon, area: { lo, hi } };
  },
);

/**
 * `even`: whether an even number of edges is to the right of the edge `own` in row `y`. `until`: the end of the range
 * of rows, from `y` upwards, in which the value of `even` is the same. Among coincident edges, later ones count as
 * right of earlier ones.
 */
function edgesRightOf(
  words: ArrayValue<'u32'>,
  polygon: U32,
  own: U32,
  x: I32,
  y: I32,
  highY: I32,
): { readonly even: Bool; readonly until: I32 } {
  const parity = Var(u32(0));
  const until = Var(highY);
  const { first, horizontal } = edgesOf(words, polygon);
  forEachEdge(words, first, horizontal, (edge, at) => {
    const isRight = edge.lowX.gt(x).or(edge.lowX.eq(x).and(at.gt(own)));
    If(isRight.and(edge.highY.gt(y)), () => {
      const meets = edge.lowY.le(y);
      parity.set(parity.xor(u32(meets)));
      until.set(until.min(select(edge.lowY, edge.highY, meets)));
    });
  });
  return { even: parity.eq(0), until: Let(until) };
}
