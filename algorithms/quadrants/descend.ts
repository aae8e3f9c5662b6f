import { knownRows } from '../../primitives/columns/length.ts';
import { Column, type Context, sequence } from '../../primitives/index.ts';
import { type ChildBits, childrenOf, type SortedChildren, sortChildren } from './children.ts';
import { edgesInEnclosing, edgesInQuadrants, type Passages } from './edge-in-quadrant.ts';
import type { Edges } from './edges.ts';
import type { LeafQuadrants } from './leaves.ts';
import { enclosingQuadrants, type OpenQuadrants } from './open-quadrants.ts';
import { countPassages, noteLooks, passOn } from './passages.ts';

/** A front: the quadrants to be split, and the edges that pass through them. */
export interface Front {
  readonly open: OpenQuadrants;
  readonly passages: Passages;
}

/** Result of a step down by one level. The host knows the lengths of all columns. */
export interface Descent {
  readonly front: Front;
  readonly leaves: LeafQuadrants;
  /** The passages of edges through the leaves, if edges are kept. */
  readonly leafPassages: Passages | undefined;
}

/** Parameters that are the same for all steps. */
export interface DescentRules {
  /** Quadrants with a side of 2^min steps are not split. */
  readonly min: number;
  /** Whether to keep the edges that pass through leaves. */
  readonly keepsEdges: boolean;
}

/**
 * Classifies the initial quadrants, which enclose the polygons. If edges pass through a quadrant, it is split, or
 * settled if its side is only 2^min steps. All other quadrants are settled (inside the polygon) or dropped (outside).
 */
export function enclose(context: Context, edges: Edges, rules: DescentRules): Promise<Descent> {
  const { open, edge } = context.scope(() => ({
    open: context.materialize({ ...enclosingQuadrants(edges, rules.min) }),
    edge: context.materialize(sequence(edges.owner.length)),
  }));
  const passages = { quadrant: edges.owner, edge };
  return settle(context, { open, passages }, edgesInEnclosing(passages, edges, open), 0, rules).finally(() =>
    context.dispose(open, edge),
  );
}

/**
 * Goes down by one level: replaces quadrants by their four children, and assigns each edge to the children that it
 * passes through.
 *
 * - Work O(passages + quadrants), span O(log passages). Waits for the device once.
 */
export function descend(context: Context, edges: Edges, front: Front, rules: DescentRules): Promise<Descent> {
  return settle(context, front, edgesInQuadrants(front.passages, edges, front.open), 2, rules);
}

/** A front (the quadrants of one level) whose edges have been examined and whose children are sorted. */
export interface SortedFront extends SortedChildren {
  /**
   * For each passage of an edge through a quadrant: bits that describe the effect of the edge in the quadrant (see
   * `edge-in-quadrant.ts`), and a mark if the children that the edge passes through are settled.
   */
  readonly look: Column<'u32'>;
  /**
   * Four numbers: children that are split further, settled children, passages of edges through children that are split
   * further, and passages of edges through settled children.
   */
  readonly counts: Column<'u32'>;
}

/** Computes the effects of the edges. Sorts the children into three kinds: split further, settled, and dropped. */
function sortFront(
  context: Context,
  { open, passages }: Front,
  looks: Column<'u32'>,
  bits: ChildBits,
  min: number,
): SortedFront {
  return context.scope(() => {
    const memory = context.allocate(4);
    const counts = new Column(context, 'u32', 4, { kind: 'stored', memory, storage: 'u32', offset: 0 });
    const look = noteLooks(context, looks, passages, open, bits, min);
    countPassages(context, look, memory);
    const children = sortChildren(context, open, { quadrant: passages.quadrant, look }, bits, min, memory);
    return { look, counts, ...children };
  });
}

async function settle(
  context: Context,
  front: Front,
  looks: Column<'u32'>,
  bits: ChildBits,
  { min, keepsEdges }: DescentRules,
): Promise<Descent> {
  const { open, passages } = front;
  const sorted = context.scope(() => sortFront(context, front, looks, bits, min));
  try {
    const { marks, look, rank } = sorted;
    const [openCount, leafCount, passedOn, passedToLeaves] = await context.read(sorted.counts);
    return context.scope(() => {
      const { boundary: _, ...places } = childrenOf(open, marks, knownRows(sorted.goesOn, openCount!), bits);
      const leaves = childrenOf(open, marks, knownRows(sorted.settled, leafCount!), bits);
      return {
        front: {
          open: context.materialize(places),
          passages: passOn(context, passages, look, { to: 'goesOn', rank, bits, length: passedOn! }),
        },
        leaves: context.materialize({ ...leaves }),
        leafPassages: keepsEdges
          ? passOn(context, passages, look, { to: 'settled', rank, bits, length: passedToLeaves! })
          : undefined,
      };
    });
  } finally {
    context.dispose(sorted);
  }
}
