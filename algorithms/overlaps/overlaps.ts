import { type Column, type Context, constant, fn, map, u32 } from '../../primitives/index.ts';
import { cellsOf, type Front, type QuadrantPairs } from './cells.ts';
import { crowdedCells, splitCells } from './split.ts';
import { markOverlaps } from './walk.ts';

export interface OverlapOptions {
  /** Quadrants with more edges are split first, where that lessens the work. The result is the same. */
  readonly most?: number | undefined;
}

export async function overlapsInQuadrants(
  context: Context,
  pairs: QuadrantPairs,
  edge: Column<'u32'>,
  ends: Column<'i32'>,
  { most = 64 }: OverlapOptions = {},
): Promise<Column<'u32'>> {
  let front = await cellsOf(context, pairs, edge);
  const overlaps = context.scope(() => context.materialize(map(holdBoth, { p: pairs.p.corner, q: pairs.q.corner })));
  try {
    for (;;) {
      const children = await decide(context, front, ends, most, overlaps);
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

const holdBoth = fn('holdBoth', { p: u32, q: u32 }, u32, ({ p, q }) => p.and(q));

/** Marks the pairs of cells that overlap; gives the children of those that are split first, if there are any. */
async function decide(
  context: Context,
  front: Front,
  ends: Column<'i32'>,
  most: number,
  overlaps: Column<'u32'>,
): Promise<Front | undefined> {
  const crowded = await crowdedCells(context, front, most, overlaps);
  try {
    if (crowded.number.length !== 0) return await splitCells(context, front, crowded, ends, overlaps);
    const waits = constant(u32, 0, front.cells.pair.length);
    context.scope(() => markOverlaps(context, front, ends, waits, overlaps));
    return undefined;
  } finally {
    context.dispose(crowded);
  }
}
