import { Break, If, Let, Var, While } from '../../primitives/functors/control.ts';
import { type ArrayParameter, array, bool, type Functor, fn, i32, u32 } from '../../primitives/functors/functor.ts';
import { bitsToI32, bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { BoolShape, I32Shape, U32Shape } from '../../primitives/functors/standard/shapes.ts';
import { ltU64 } from '../../primitives/functors/standard/wide.ts';
import { mulU32 } from '../../primitives/functors/standard/wide-products.ts';
import type { ArrayValue, Bool, I32, U32 } from '../../primitives/functors/value.ts';
import { EDGE_STRIDE, POLYGON_FIELDS, POLYGON_STRIDE } from './polygon-edges.ts';

/*
 * All tests in this file are exact. Coordinates are integers up to ±2³⁰, so their differences have magnitudes below
 * 2³², and products of two differences are compared as u64.
 */

/** Position of a box: every pixel of the box is outside the polygon. */
export const OUTSIDE = 0;
/** Position of a box: every pixel of the box is inside the polygon. */
export const INSIDE = 1;
/** Position of a box: the polygon's boundary passes through the box. */
export const HOVER = 2;

/** A pixel, given by its lower left corner, and a polygon in a table of {@link PolygonEdges}. */
export type PixelParameters = {
  readonly polygon: U32Shape;
  readonly x: I32Shape;
  readonly y: I32Shape;
  readonly words: ArrayParameter<'u32'>;
};
/** A box of at least one pixel, and a polygon in a table of {@link PolygonEdges}. */
export type BoxParameters = {
  readonly polygon: U32Shape;
  readonly left: I32Shape;
  readonly bottom: I32Shape;
  readonly right: I32Shape;
  readonly top: I32Shape;
  readonly words: ArrayParameter<'u32'>;
};

/** Tests of the positions of pixels and boxes relative to polygons, for rectilinear or for all polygons. */
export interface PositionFunctors {
  /**
   * Whether the pixel's centre is in the polygon: PixelInPoly in the paper of Wang and others, 2012. The centre is
   * inside if a ray from the centre to the right crosses an odd number of edges. Half-open, as everywhere in this
   * library: a centre on a left or bottom edge is inside.
   */
  readonly pixelInPolygon: Functor<PixelParameters, BoolShape>;
  /**
   * The position of a box: BoxPosition in the paper of Wang and others, 2012, by its Lemma 1. {@link HOVER} if an edge
   * of the polygon has a point strictly inside the box. This test combines the lemma's conditions (i) and (ii). An edge
   * that crosses a side of the box or ends in the box has such a point; an edge that only runs along a side has none.
   * If no edge has such a point, the position of the box is that of its middle pixel.
   */
  readonly boxPosition: Functor<BoxParameters, U32Shape>;
}

/**
 * Creates the position tests. If `rectilinear` is true, the tests accept only polygons with horizontal and vertical
 * edges, and need only comparisons. Otherwise the tests accept all polygons.
 *
 * Source: Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU Hybrid
 * Systems, 2012, Lemma 1.
 *
 * @example
 * const square = { polygonRings: Uint32Array.of(0, 1), ringVertices: Uint32Array.of(0, 4),
 *   x: Int32Array.of(0, 9, 9, 0), y: Int32Array.of(0, 0, 9, 9) };
 * const { words } = uploadPolygonEdges(ctx, square);
 * const { boxPosition } = positionFunctors(true);
 * const [left, right] = [[0, 8, 9], [4, 12, 12]].map((xs) => ctx.column(Int32Array.from(xs)));
 * const [bottom, top, polygon] = [constant(i32, 0, 3), constant(i32, 4, 3), constant(u32, 0, 3)];
 * await ctx.read(map(boxPosition, { polygon, left, bottom, right, top, words })); // Uint32Array [1, 2, 0]
 */
export function positionFunctors(rectilinear: boolean): PositionFunctors {
  return rectilinear ? rectilinearFunctors : anyFunctors;
}

function definePositions(rectilinear: boolean): PositionFunctors {
  const pixelInPolygon = fn(
    'pixelInPolygon',
    { polygon: u32, x: i32, y: i32, words: array(u32) },
    bool,
    ({ polygon, x, y, words }) => {
      const { first, horizontal } = edgesOf(words, polygon);
      const parity = Var(u32(0));
      forEachEdge(words, first, horizontal, (edge) => {
        parity.set(parity.xor(u32(crossesRight(edge, x, y, rectilinear))));
      });
      return parity.ne(0);
    },
  );
  const boxPosition = fn(
    'boxPosition',
    { polygon: u32, left: i32, bottom: i32, right: i32, top: i32, words: array(u32) },
    u32,
    ({ polygon, words, ...box }) => {
      const { first, horizontal, end } = edgesOf(words, polygon);
      const x = middleOf(box.left, box.right);
      const y = middleOf(box.bottom, box.top);
      const position = Var(u32(OUTSIDE));
      const leaveIfMet = (edge: Edge): void => {
        If(meetsBox(edge, box, rectilinear), () => {
          position.set(HOVER);
          Break();
        });
      };
      forEachEdge(words, first, horizontal, (edge) => {
        leaveIfMet(edge);
        position.set(position.xor(u32(crossesRight(edge, x, y, rectilinear))));
      });
      If(position.ne(HOVER), () => forEachEdge(words, horizontal, end, leaveIfMet));
      return position;
    },
  );
  return { pixelInPolygon, boxPosition };
}

const rectilinearFunctors = definePositions(true);
const anyFunctors = definePositions(false);

interface Edge {
  readonly lowX: I32;
  readonly lowY: I32;
  readonly highX: I32;
  readonly highY: I32;
}

interface Box {
  readonly left: I32;
  readonly bottom: I32;
  readonly right: I32;
  readonly top: I32;
}

/**
 * Reads where the edges of a polygon are in the table, as indices of words. The rising edges are from `first` to below
 * `horizontal`, the horizontal edges from `horizontal` to below `end`.
 */
export function edgesOf(words: ArrayValue<'u32'>, polygon: U32): { first: U32; horizontal: U32; end: U32 } {
  const header = polygon.mul(POLYGON_STRIDE);
  return {
    first: words.at(header.add(POLYGON_FIELDS.first)),
    horizontal: words.at(header.add(POLYGON_FIELDS.horizontal)),
    end: words.at(header.add(POLYGON_FIELDS.end)),
  };
}

/** Calls `body` for each edge of a range of the table, given by indices of words. */
export function forEachEdge(words: ArrayValue<'u32'>, from: U32, to: U32, body: (edge: Edge, at: U32) => void): void {
  const next = Var(from);
  While(
    () => next.lt(to),
    () => {
      const at = Let(next);
      next.set(next.add(EDGE_STRIDE));
      body(edgeAt(words, at), at);
    },
  );
}

/** Reads the edge at an index of the table. */
export function edgeAt(words: ArrayValue<'u32'>, at: U32): Edge {
  const word = (offset: number): I32 => bitsToI32(words.at(at.add(offset)));
  return { lowX: word(0), lowY: word(1), highX: word(2), highY: word(3) };
}

/** The middle pixel of the range from `low` to below `high`. Avoids overflow: the length of the range may be 2³¹. */
function middleOf(low: I32, high: I32): I32 {
  return low.add(bitsToI32(bitsToU32(high.sub(low)).shr(1)));
}

/** Whether an edge crosses the row of a pixel's centre, strictly right of the centre. The edge points upwards. */
function crossesRight(edge: Edge, x: I32, y: I32, rectilinear: boolean): Bool {
  const { lowX, lowY, highX, highY } = edge;
  const meetsRow = lowY.le(y).and(y.lt(highY));
  if (rectilinear) return meetsRow.and(x.lt(lowX));
  const crosses = Var(x.lt(lowX.min(highX)));
  // Most edges are entirely right or left of the pixel. Products are needed only if the pixel is horizontally between
  // the ends of the edge.
  If(meetsRow.and(crosses.not()).and(x.lt(lowX.max(highX))), () => crosses.set(slantsRight(edge, x, y)));
  return meetsRow.and(crosses);
}

/**
 * Whether a pixel's centre is left of an edge. The centre must be in the edge's bounding box. Compares run ÷ rise of
 * two vectors: the edge, and the vector from the edge's lower end to the centre. The vector to the centre is doubled,
 * so that it has integer coordinates.
 */
function slantsRight({ lowX, lowY, highX, highY }: Edge, x: I32, y: I32): Bool {
  const rise = bitsToU32(highY.sub(lowY));
  const up = bitsToU32(y.sub(lowY)).shl(1).or(1);
  const leansRight = lowX.lt(highX);
  const run = bitsToU32(select(lowX.sub(highX), highX.sub(lowX), leansRight));
  const across = select(bitsToU32(lowX.sub(x)).shl(1).sub(1), bitsToU32(x.sub(lowX)).shl(1).or(1), leansRight);
  const ofCentre = mulU32({ a: across, b: rise });
  const ofEdge = mulU32({ a: run, b: up });
  return select(ltU64({ a: ofEdge, b: ofCentre }), ltU64({ a: ofCentre, b: ofEdge }), leansRight);
}

/** Whether an edge has a point strictly inside a box. */
function meetsBox(edge: Edge, box: Box, rectilinear: boolean): Bool {
  const { lowX, lowY, highX, highY } = edge;
  const beside = rectilinear ? { min: lowX, max: highX } : { min: lowX.min(highX), max: lowX.max(highX) };
  const overlaps = beside.min
    .lt(box.right)
    .and(beside.max.gt(box.left))
    .and(lowY.lt(box.top))
    .and(highY.gt(box.bottom));
  if (rectilinear) return overlaps;
  const meets = Var(overlaps);
  If(overlaps, () => meets.set(linePassesThrough(edge, box)));
  return meets;
}

/**
 * Whether the line of an edge separates corners of a box, given that the edge's bounding box overlaps the box. Tests
 * only the two corners farthest from the line, in coordinates relative to the edge's lower end. If the edge leans left,
 * x coordinates are mirrored.
 */
function linePassesThrough({ lowX, lowY, highX, highY }: Edge, { left, bottom, right, top }: Box): Bool {
  const leansRight = lowX.lt(highX);
  const run = bitsToU32(select(lowX.sub(highX), highX.sub(lowX), leansRight));
  const rise = bitsToU32(highY.sub(lowY));
  const near = select(lowX.sub(right), left.sub(lowX), leansRight);
  const far = bitsToU32(select(lowX.sub(left), right.sub(lowX), leansRight));
  const upper = bitsToU32(top.sub(lowY));
  const lower = bottom.sub(lowY);
  const leftOfTop = ltU64({ a: mulU32({ a: rise, b: bitsToU32(near) }), b: mulU32({ a: run, b: upper }) });
  const rightOfBottom = ltU64({ a: mulU32({ a: run, b: bitsToU32(lower) }), b: mulU32({ a: rise, b: far }) });
  return near.lt(0).or(leftOfTop).and(lower.le(0).or(rightOfBottom));
}
