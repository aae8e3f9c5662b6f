import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aWhole, optional, someOptions } from '../../primitives/checks/kinds.ts';
import { type Column, type Context, fn, map, u32 } from '../../primitives/index.ts';
import { freeOnFailure } from '../free-on-failure.ts';
import { cellsOf, type Front, type QuadrantPairs, somePairs } from './cells.ts';
import { crowdedCells, splitCells } from './split.ts';
import { prepareWalks, walk } from './walks.ts';

export interface OverlapOptions {
  /**
   * A quadrant with more edges than this, counting both regions, is split first if splitting reduces the work. The
   * result does not depend on this option. Default 16.
   */
  readonly maxEdges?: number | undefined;
}

/**
 * Whether two regions share area in a quadrant, row by row: 1 if some point strictly inside the quadrant has a
 * neighbourhood inside both regions, else 0. Regions that only touch share no area. An edge that is traversed there and
 * back encloses no area.
 *
 * A region is filled by the even-odd rule over its closed rings. Two things give the part of a region in the quadrant:
 * whether the region contains the lower left corner, and a list of exactly those edges that have a point strictly
 * inside the quadrant. A region that contains the whole quadrant contains the corner and has no edges there. Edges may
 * cross, touch, coincide and cancel out in any way, both within one region and between the two regions.
 *
 * Exact in integers. Each common area of both regions has a leftmost point. At this point, the area is just above an
 * edge or just above the bottom of the quadrant. So walks just above the bottom and just above every edge, from
 * crossing to crossing, pass all common areas. The proof is in `walk.ts`. Most rows are decided early: both regions
 * contain the corner, or one region is absent, or the regions are neighbours that share all their edges in the
 * quadrant, or the first walks find a common area.
 *
 * - Work O(Σ n² + n · c) for n edges of both regions in a row, and c crossings on the walk along each edge. Splitting
 *   reduces this to about O(n log n) if edges are spread out. Span O(n · c) for the longest row. Waits for the device
 *   twice, and twice more for every level of splitting. Memory O(Σ n), about 12 words an edge.
 * - The same bytes on every backend, for all options. A number of rows that is known only on the device is accepted.
 *   Without rows, the result is empty.
 *
 * @param pairs - The quadrants, and the positions of each region's edges in `edge`.
 * @param edge - Indices of edges in `ends`. Rows may share them.
 * @param ends - Start x, start y, end x, end y of every edge, in steps from 0 to 2³⁰, or less than 2²⁹ beyond; no edge
 *   has length 0.
 * @throws `ArgumentError` `overlaps/max-edges`; `column/size` if the rows have 2³⁰ edges or more.
 * @example
 * // In the quadrant of 4 × 4 steps at the origin p is what lies below x + y = 5, and q what lies above x + y = 4.
 * const region = (corner, first) => ({ corner: ctx.column(Uint32Array.of(corner)), first: ctx.column(Uint32Array.of(first)),
 *   count: ctx.column(Uint32Array.of(1)) });
 * const pairs = { column: ctx.column(Uint32Array.of(4)), row: ctx.column(Uint32Array.of(0)), p: region(1, 0), q: region(0, 1) };
 * const ends = ctx.column(Int32Array.of(5, 0, 0, 5, 0, 4, 4, 0));
 * await ctx.read(await overlapsInQuadrants(ctx, pairs, ctx.column(Uint32Array.of(0, 1)), ends)); // Uint32Array [1]
 */
export async function overlapsInQuadrants(
  context: Context,
  pairs: QuadrantPairs,
  edge: Column<'u32'>,
  ends: Column<'i32'>,
  options: OverlapOptions = {},
): Promise<Column<'u32'>> {
  requireArguments('overlapsInQuadrants', { context, pairs, edge, ends, options }, ARGUMENTS);
  const { maxEdges: max = 16 } = options;
  let front = await cellsOf(context, pairs, edge);
  const overlaps = freeOnFailure(context, front, () =>
    context.scope(() => context.materialize(map(holdBoth, { p: pairs.p.corner, q: pairs.q.corner }))),
  );
  try {
    for (;;) {
      const children = await decide(context, front, ends, max, overlaps);
      if (children === undefined) return overlaps;
      context.dispose(front);
      front = children;
    }
  } catch (error) {
    context.dispose(overlaps);
    throw error;
  } finally {
    context.dispose(front);
  }
}

const ARGUMENTS = {
  context: aContext,
  pairs: somePairs,
  edge: aColumn('u32'),
  ends: aColumn('i32'),
  options: someOptions<OverlapOptions>({ maxEdges: optional(aWhole(0, 2 ** 32 - 1, 'overlaps/max-edges')) }),
};

const holdBoth = fn('holdBoth', { p: u32, q: u32 }, u32, ({ p, q }) => p.and(q));

/**
 * Decides cells by walks along their bottoms and edges, except cells that are split. Returns the children of the split
 * cells, if there are any. Waits for the device once or twice.
 */
async function decide(
  context: Context,
  front: Front,
  ends: Column<'i32'>,
  max: number,
  overlaps: Column<'u32'>,
): Promise<Front | undefined> {
  const walks = context.scope(() => prepareWalks(context, front, ends));
  try {
    context.scope(() => walk(context, front, walks, 'first', overlaps));
    const crowded = await crowdedCells(context, front, walks, max, overlaps);
    try {
      if (crowded.number.length !== 0) return await splitCells(context, front, walks, crowded, ends, overlaps);
      context.scope(() => walk(context, front, walks, 'rest', overlaps));
      return undefined;
    } finally {
      context.dispose(crowded);
    }
  } finally {
    context.dispose(walks);
  }
}
