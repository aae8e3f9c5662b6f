import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import { aRecord, type Kind } from '../../primitives/checks/kinds.ts';
import {
  type Column,
  type Context,
  concatenate,
  fn,
  gather,
  lowerBound,
  map,
  scatter,
  sequence,
  sortByKey,
  u32,
  upperBound,
} from '../../primitives/index.ts';
import { moved } from '../plain-functors.ts';
import type { Passages } from './edge-in-quadrant.ts';
import type { Edges } from './edges.ts';

/**
 * The data that determine which points of a boundary quadrant a polygon contains: whether the polygon contains the
 * lower left corner, and which of its edges pass through the quadrant. `corner`, `first` and `count` have one row per
 * quadrant. A quadrant inside a polygon has no edges.
 */
export interface BoundaryEdges {
  /**
   * 1 if the polygon contains the quadrant's lower left corner, else 0. Edges through the corner count as if the corner
   * were moved infinitely little to the right and, by even less, up.
   */
  readonly corner: Column<'u32'>;
  /** Index in `edge` of the quadrant's first edge. `count` is the number of the quadrant's edges. */
  readonly first: Column<'u32'>;
  readonly count: Column<'u32'>;
  /** Indices of edges (rows of `ends`), ascending within a quadrant. */
  readonly edge: Column<'u32'>;
  /** Start x, start y, end x, end y of every edge, in steps of the domain. */
  readonly ends: Column<'i32'>;
}

export const someBoundaryEdges: Kind = aRecord<BoundaryEdges>({
  corner: aColumn('u32'),
  first: aColumn('u32'),
  count: aColumn('u32'),
  edge: aColumn('u32'),
  ends: aColumn('i32'),
});
const cornerOf = fn('cornerOf', { row: u32 }, u32, ({ row }) => row.shr(31));
const difference = fn('difference', { to: u32, from: u32 }, u32, ({ to, from }) => to.sub(from));

/**
 * Sorts passages (pairs of an edge and a leaf that the edge passes through) into the order of the sorted leaves
 * (quadrants that are not split further).
 *
 * @param sorted - For every sorted leaf: its packed `row`, and `leaf`, its index in the unsorted list, which has the
 * leaves of one level after another.
 * @param passages - Passages of every level, with indices into the leaves of the same level. The passages are freed.
 * @param counts - Number of leaves of every level.
 */
export function boundaryEdgesOf(
  context: Context,
  sorted: { readonly leaf: Column<'u32'>; readonly row: Column<'u32'> },
  passages: readonly Passages[],
  counts: readonly number[],
  { ends }: Edges,
): BoundaryEdges {
  return context.scope(() => {
    const leaves = sorted.leaf.length as number;
    let before = 0;
    const all = concatenate(
      passages.map(({ quadrant, edge }, level) => {
        const leaf = map(moved, { place: quadrant, by: before });
        before += counts[level]!;
        return { leaf, edge };
      }),
    );
    context.dispose(passages);
    const rows = sequence(leaves);
    const rowOfLeaf = scatter(rows, sorted.leaf, leaves);
    const bits = { from: 0, to: Math.max(1, 32 - Math.clz32(leaves)) };
    const { keys, values } = sortByKey(gather(rowOfLeaf, all.leaf), all.edge, { bits });
    const first = lowerBound(keys, rows);
    const perRow = context.materialize({
      corner: map(cornerOf, { row: sorted.row }),
      first,
      count: map(difference, { to: upperBound(keys, rows), from: first }),
    });
    return { ...perRow, edge: values, ends };
  });
}
