import { aColumn } from '../../primitives/argument-kinds.ts';
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
  uniform,
  upperBound,
} from '../../primitives/index.ts';
import { aRecord, type Kind } from '../../primitives/kinds.ts';
import type { Passages } from './edge-in-quadrant.ts';
import type { Edges } from './edges.ts';

/**
 * Which points of a boundary quadrant its polygon holds: whether the lower left corner, and which edges pass through, each of
 * which turns that into its opposite. One row a quadrant in the first three columns; a quadrant inside has no edges.
 */
export interface BoundaryEdges {
  /** 1 where the polygon holds the quadrant's lower left corner: a point stands for what lies to its right and above. */
  readonly corner: Column<'u32'>;
  /** Where the quadrant's edges start in `edge`, and how many they are. */
  readonly first: Column<'u32'>;
  readonly count: Column<'u32'>;
  /** Numbers of edges, ascending within a quadrant. */
  readonly edge: Column<'u32'>;
  /** From x, from y, to x, to y of every edge, in steps of the domain. */
  readonly ends: Column<'i32'>;
}

export const someBoundaryEdges: Kind = aRecord<BoundaryEdges>({
  corner: aColumn('u32'),
  first: aColumn('u32'),
  count: aColumn('u32'),
  edge: aColumn('u32'),
  ends: aColumn('i32'),
});

const moved = fn('moved', { place: u32, by: uniform(u32) }, u32, ({ place, by }) => place.add(by));
const cornerOf = fn('cornerOf', { row: u32 }, u32, ({ row }) => row.shr(31));
const difference = fn('difference', { to: u32, from: u32 }, u32, ({ to, from }) => to.sub(from));

/**
 * Brings the passages of all levels into the order of the sorted leaves.
 *
 * @param sorted - `row` of every sorted leaf, and its number among those of all levels, one level after the other.
 * @param passages - Of every level, with numbers among the leaves of the level; freed.
 * @param counts - Leaves of every level.
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
