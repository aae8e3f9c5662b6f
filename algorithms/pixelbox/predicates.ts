import { Break, For, If, Let, Var, While } from '../../primitives/functors/control.ts';
import { array, bool, fn, i32, u32, u64, uniform } from '../../primitives/functors/functor.ts';
import { eq64 } from '../../primitives/functors/standard/wide.ts';
import type { ArrayValue, Bool, I32, U32 } from '../../primitives/functors/value.ts';
import {
  type Column,
  type ColumnsOf,
  type Context,
  constant,
  gather,
  map,
  scatterReduce,
  sequence,
} from '../../primitives/index.ts';
import { isSet } from '../plain-functors.ts';
import { edgeAt, edgesOf, forEachEdge, positionFunctors } from './box-position.ts';
import { polygonAreas } from './polygon-areas.ts';
import { EDGE_STRIDE, type PolygonEdges, requireRectilinear } from './polygon-edges.ts';
import { planOf, requireSampled, type SamplingOptions } from './sampling-boxes.ts';
import { measurePairs, type PolygonPairs, type Sampled, withStoredPairs } from './sampling-run.ts';

/*
 * DE-9IM relations between rectilinear polygons. A polygon stands for the closure of the pixels inside it by the
 * even-odd rule. Its sides and corners belong to the polygon. Parts that enclose no pixel (a ring without area, an edge
 * traversed there and back) do not. A polygon without pixels has no relation to other polygons.
 */

/**
 * Whether p contains q: q has pixels, and all of them are in p. Sides may touch. Computed from areas, as the paper
 * proposes: ‖p ∩ q‖ = ‖q‖.
 *
 * - Work, waits, determinism and errors are those of {@link pixelBox}. Exact.
 *
 * @throws `ArgumentError` `pixelbox/not-rectilinear` for polygons with sloped edges.
 *
 * Source: Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU Hybrid
 * Systems, 2012, section 3.4.
 * @example
 * const squares = { polygonRings: Uint32Array.of(0, 1, 2), ringVertices: Uint32Array.of(0, 4, 8),
 *   x: Int32Array.of(0, 9, 9, 0, 0, 3, 3, 0), y: Int32Array.of(0, 0, 9, 9, 0, 0, 3, 3) };
 * const edges = uploadPolygonEdges(ctx, squares);
 * const pairs = { p: ctx.column(Uint32Array.of(0, 1)), q: ctx.column(Uint32Array.of(1, 0)) };
 * await ctx.read(await contains(ctx, edges, edges, pairs)); // Uint8Array [1, 0]
 */
export async function contains(
  context: Context,
  p: PolygonEdges,
  q: PolygonEdges,
  pairs: PolygonPairs,
  options: SamplingOptions = {},
): Promise<Column<'bool'>> {
  return withIntersections('contains', { context, p, q, pairs, options }, (stored, shared) => {
    const area = gather(polygonAreas(context, q), stored.pairs.q);
    return context.materialize(map(isWhole, { shared, area }));
  });
}

/**
 * Whether p and q touch: their closures have a point in common, but their interiors have none. Tests edges against
 * edges, as the paper proposes. Interiors may have common points although no edges cross. The paper detects this case
 * by testing vertices; here the area of intersection decides, which also distinguishes equal polygons from neighbours.
 *
 * - Work is that of {@link intersects}. Waits, determinism, errors and source are those of {@link contains}. Exact.
 *
 * @example
 * const squares = { polygonRings: Uint32Array.of(0, 1, 2), ringVertices: Uint32Array.of(0, 4, 8),
 *   x: Int32Array.of(0, 9, 9, 0, 9, 12, 12, 9), y: Int32Array.of(0, 0, 9, 9, 9, 9, 11, 11) };
 * const edges = uploadPolygonEdges(ctx, squares);
 * const pairs = { p: ctx.column(Uint32Array.of(0, 1)), q: ctx.column(Uint32Array.of(1, 1)) };
 * await ctx.read(await touches(ctx, edges, edges, pairs)); // Uint8Array [1, 0]
 */
export async function touches(
  context: Context,
  p: PolygonEdges,
  q: PolygonEdges,
  pairs: PolygonPairs,
  options: SamplingOptions = {},
): Promise<Column<'bool'>> {
  return withIntersections('touches', { context, p, q, pairs, options }, (stored, shared) => {
    const flag = closuresMeet(stored, shared);
    return context.materialize(map(isSet, { flag }));
  });
}

/**
 * Whether p and q have a point in common. A point on sides or corners is enough.
 *
 * - Work is that of {@link pixelBox}, plus O(edges of p · edges of q) for pairs without common area. Waits,
 *   determinism, errors and source are those of {@link contains}. Exact.
 *
 * @example
 * const squares = { polygonRings: Uint32Array.of(0, 1, 2), ringVertices: Uint32Array.of(0, 4, 8),
 *   x: Int32Array.of(0, 9, 9, 0, 9, 12, 12, 9), y: Int32Array.of(0, 0, 9, 9, 9, 9, 11, 11) };
 * const edges = uploadPolygonEdges(ctx, squares);
 * const pairs = { p: ctx.column(Uint32Array.of(0, 1)), q: ctx.column(Uint32Array.of(1, 1)) };
 * await ctx.read(await intersects(ctx, edges, edges, pairs)); // Uint8Array [1, 1]
 */
export async function intersects(
  context: Context,
  p: PolygonEdges,
  q: PolygonEdges,
  pairs: PolygonPairs,
  options: SamplingOptions = {},
): Promise<Column<'bool'>> {
  return withIntersections('intersects', { context, p, q, pairs, options }, (stored, shared) => {
    const flag = closuresMeet(stored, shared);
    return context.materialize(map(isSetOrShared, { flag, shared }));
  });
}

/**
 * Measures the areas of intersection of all pairs, passes them to `body`, and frees them when `body` has returned.
 * `body` runs in a scope of the context.
 */
async function withIntersections(
  call: string,
  asked: Sampled & { readonly options: SamplingOptions },
  body: (stored: Sampled, shared: ColumnsOf<typeof u64>) => Column<'bool'>,
): Promise<Column<'bool'>> {
  requireSampled(call, asked);
  const { context, p, q, options } = asked;
  for (const edges of [p, q]) requireRectilinear(edges);
  const plan = { ...planOf(options), direct: false, overlap: options.start !== 'pair' };
  return withStoredPairs(asked, async (stored) => {
    const { lo, hi } = (await measurePairs(stored, plan)).intersection;
    try {
      return context.scope(() => body(stored, { lo, hi }));
    } finally {
      context.dispose(lo, hi);
    }
  });
}

const isWhole = fn('isWhole', { shared: u64, area: u64 }, bool, ({ shared, area }) =>
  eq64({ a: shared, b: area }).and(area.lo.or(area.hi).ne(0)),
);
const isSetOrShared = fn('isSetOrShared', { flag: u32, shared: u64 }, bool, ({ flag, shared }) =>
  flag.or(shared.lo).or(shared.hi).ne(0),
);

/** Number of threads that share the edges of p in each pair. */
const LANES = 32;

/** For each pair: 1 if p and q have no common area, but a common point on their sides or corners; else 0. */
function closuresMeet({ context, p, q, pairs }: Sampled, { lo, hi }: ColumnsOf<typeof u64>): Column<'u32'> {
  const flags = context.materialize(constant(u32, 0, lo.length));
  const { pair, meets } = map(edgesMeet, {
    index: sequence(lo.capacity * LANES),
    lanes: LANES,
    ...pairs,
    lo,
    hi,
    wordsP: p.words,
    wordsQ: q.words,
  });
  scatterReduce(meets, pair, 'or', flags);
  return flags;
}

/**
 * Whether an edge of p meets an edge of q in a point of both closures (the polygons with their sides and corners). Each
 * of the `lanes` threads of a pair tests every `lanes`-th edge of p. If two edges share a stretch, only the ends of the
 * stretch are tested. Testing the ends is enough. An edge may be a side of its polygon only in part, because other
 * edges cancel the remaining part. But every side ends at the end of some edge, and so does a stretch that two sides
 * share.
 */
const edgesMeet = fn(
  'edgesMeet',
  {
    index: u32,
    lanes: uniform(u32),
    p: array(u32),
    q: array(u32),
    lo: array(u32),
    hi: array(u32),
    wordsP: array(u32),
    wordsQ: array(u32),
  },
  { pair: u32, meets: u32 },
  ({ index, lanes, p, q, lo, hi, wordsP, wordsQ }) => {
    const pair = index.div(lanes);
    const [polygonP, polygonQ] = [p.at(pair), q.at(pair)];
    const ofP = edgesOf(wordsP, polygonP);
    const ofQ = edgesOf(wordsQ, polygonQ);
    const meets = Var(u32(0));
    const next = Var(ofP.first.add(index.sub(pair.mul(lanes)).mul(EDGE_STRIDE)));
    const isOpen = lo.at(pair).or(hi.at(pair)).eq(0);
    While(
      () => isOpen.and(meets.eq(0)).and(next.lt(ofP.end)),
      () => {
        const a = edgeAt(wordsP, Let(next));
        forEachEdge(wordsQ, ofQ.first, ofQ.end, (b) => {
          const [left, right] = [a.lowX.max(b.lowX), a.highX.min(b.highX)];
          const [bottom, top] = [a.lowY.max(b.lowY), a.highY.min(b.highY)];
          const inBoth = (x: I32, y: I32): Bool =>
            inClosure(wordsP, polygonP, x, y).and(inClosure(wordsQ, polygonQ, x, y));
          If(left.le(right).and(bottom.le(top)), () => {
            meets.set(u32(inBoth(left, bottom)));
            If(meets.eq(0), () => meets.set(u32(inBoth(right, top))));
            If(meets.ne(0), () => Break());
          });
        });
        next.set(next.add(lanes.mul(EDGE_STRIDE)));
      },
    );
    return { pair, meets };
  },
);

/** Whether a point is in the closure of a polygon: one of the four pixels around it is in the polygon. */
function inClosure(words: ArrayValue<'u32'>, polygon: U32, x: I32, y: I32): Bool {
  const around = Var(u32(0));
  For(0, 4, (i) => {
    const [px, py] = [x.sub(i32(i.and(1))), y.sub(i32(i.shr(1)))];
    around.set(around.or(u32(positionFunctors(true).pixelInPolygon({ polygon, x: px, y: py, words }))));
  });
  return around.ne(0);
}
