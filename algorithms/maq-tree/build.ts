import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFlag, anArrayOf, optional, someOptions } from '../../primitives/checks/kinds.ts';
import {
  ArgumentError,
  type Column,
  type Context,
  constant,
  exclusiveScan,
  gather,
  maximum,
  plus,
  reduce,
  reduceByKey,
  u32,
} from '../../primitives/index.ts';
import { freeOnFailure } from '../free-on-failure.ts';
import { bitsUpTo, orderRows } from '../order-rows.ts';
import type { Quadrants, QuadrantsWithEdges } from '../quadrants/leaves.ts';
import { buildFromHost, suitsHost } from './build-from-host.ts';
import {
  aQuadrantSet,
  type ConcatenatedSets,
  concatenateSets,
  numberedParts,
  partsOf,
  type QuadrantSet,
  type SetRows,
} from './concatenate-sets.ts';
import { childrenOf, nextOf } from './links.ts';
import { tableOfNodes } from './node-table.ts';
import { type CountedNodes, hasChildren, openNodes, placeIn } from './preorder.ts';
import type { MaqExtent, MaqNodes, MaqTree, MaqTreeWithEdges } from './tree.ts';

export interface BuildMaqTreeOptions {
  /**
   * Whether to free the quadrants of the sets once they are copied. This halves the memory that building takes. Default
   * false.
   */
  readonly frees?: boolean | undefined;
}

/**
 * Builds the quadtree over the quadrants of one or more sets of polygons, which may overlap. Every quadrant and all its
 * ancestors are nodes.
 *
 * Quadrants are sorted by position, larger ones first. This is the preorder of the tree, except for ancestors that are
 * no polygon's quadrant. Such ancestors are inserted before the first quadrant inside them. Then one stable sort by
 * level brings the nodes into the order of the tree. Nodes with equal parents are then adjacent, and their number is
 * the parent's number of children.
 *
 * - The tree does not depend on the order of the quadrants, and is the same on every backend.
 * - Work O(nodes), plus sorting quadrants and nodes. Span O(log nodes). Waits for the device twice.
 * - The tree holds the polygons' edges in each quadrant if the quadrants of all sets hold them.
 * - A set may be given in parts, for example from a file that is read in batches. The result is the tree of the whole
 *   set. It has the same bytes if the parts are in the order of their polygons.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon
 * Data on GPUs, 2014, section 4.2, where the tree is built level by level, from the smallest quadrants upwards.
 *
 * @param sets - Quadrants of one domain; sets are numbered in the order given.
 * @throws `ArgumentError` `maq-tree/no-sets` if there is no set, or a set without parts.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const quadrants = await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 });
 * const tree = await buildMaqTree(ctx, [quadrants]);
 * await ctx.read({ level: tree.nodes.level, children: tree.nodes.childCount });
 * // { level: Uint32Array [0, 1, 2, 2], children: Uint32Array [1, 2, 0, 0] }
 */
export function buildMaqTree<Q extends Quadrants>(
  context: Context,
  sets: readonly QuadrantSet<Q>[],
  options?: BuildMaqTreeOptions,
): Promise<Q extends QuadrantsWithEdges ? MaqTreeWithEdges : MaqTree>;
export async function buildMaqTree(
  context: Context,
  sets: readonly QuadrantSet[],
  options: BuildMaqTreeOptions = {},
): Promise<MaqTree | MaqTreeWithEdges> {
  requireArguments('buildMaqTree', { context, sets, options }, ARGUMENTS);
  const { frees = false } = options;
  const without = sets.findIndex((set) => partsOf(set).length === 0);
  if (sets.length === 0 || without >= 0) {
    throw new ArgumentError('maq-tree/no-sets', 'A tree is built over quadrants, and none were given.', {
      expected: 'the quadrants of one set of polygons or more',
      got: without < 0 ? 'no set' : `sets[${without}] without parts`,
    });
  }
  const parts = numberedParts(sets);
  if (context.backend.name === 'workers' && suitsHost(parts)) {
    return buildFromHost(context, parts, sets.length).finally(() => {
      if (frees) context.dispose(sets);
    });
  }
  return buildOnDevice(context, sets, frees);
}

/** Builds the tree by launches. */
export async function buildOnDevice(
  context: Context,
  sets: readonly QuadrantSet[],
  frees = false,
): Promise<MaqTree | MaqTreeWithEdges> {
  const all = context.scope(() => concatenateSets(sets));
  if (frees) context.dispose(sets);
  try {
    return await growTree(context, all, sets.length);
  } catch (error) {
    context.dispose(all.edge, all.ends);
    throw error;
  } finally {
    context.dispose(all.rows, all.rowEdges);
  }
}

const ARGUMENTS = {
  context: aContext,
  sets: anArrayOf(aQuadrantSet),
  options: someOptions<BuildMaqTreeOptions>({ frees: optional(aFlag) }),
};

async function growTree(
  context: Context,
  { rows, rowEdges, edge, ends }: ConcatenatedSets,
  sets: number,
): Promise<MaqTree | MaqTreeWithEdges> {
  const extent = await extentOf(context, rows, sets);
  const preorder = preorderOf(context, rows, extent);
  try {
    const nodes = await nodesOf(context, rows, preorder, extent);
    return freeOnFailure(context, nodes, () =>
      context.scope(() => {
        const { polygon, set, boundary, level } = rows;
        const order = orderRows(level.length, [{ key: level, bits: bitsUpTo(extent.levels) }], preorder);
        const entries = context.materialize(gather({ polygon, set, boundary }, order));
        const table = tableOfNodes(context, nodes);
        if (rowEdges === undefined) return { nodes, entries, extent, table };
        const perEntry = context.materialize(gather({ ...rowEdges }, order));
        return { nodes, entries, extent, table, edges: { ...perEntry, edge, ends } };
      }),
    );
  } finally {
    context.dispose(preorder);
  }
}

/** Finds the limits of a tree: the highest level and the highest polygon index + 1. Waits for the device once. */
async function extentOf(context: Context, { polygon, level }: SetRows, sets: number): Promise<MaqExtent> {
  const max = context.scope(() => ({ polygon: reduce(polygon, maximum(u32)), level: reduce(level, maximum(u32)) }));
  try {
    const { polygon, level } = await context.read(max);
    return { levels: level[0]!, sets, polygons: polygon[0]! + 1 };
  } finally {
    context.dispose(max);
  }
}

/** Row indices in preorder: by position, larger quadrants first, then by set and polygon. */
function preorderOf(context: Context, rows: SetRows, { levels, sets, polygons }: MaqExtent): Column<'u32'> {
  const { polygon, set, level } = rows;
  const keys = [
    { key: polygon, bits: bitsUpTo(polygons - 1) },
    { key: set, bits: bitsUpTo(sets - 1) },
    { key: level, bits: bitsUpTo(levels) },
    { key: placeIn(rows, levels), bits: 2 * levels },
  ];
  return context.scope(() => context.materialize(orderRows(polygon.length, keys)));
}

/** Returns all nodes, ordered by level, and by Morton code within a level. Waits for the device once. */
async function nodesOf(
  context: Context,
  rows: SetRows,
  preorder: Column<'u32'>,
  { levels }: MaqExtent,
): Promise<MaqNodes> {
  const own = context.scope(() => {
    const { level, lo, hi } = gather({ level: rows.level, lo: rows.lo, hi: rows.hi }, preorder);
    const { keys, values } = reduceByKey({ level, lo, hi }, constant(u32, 1, preorder.length), plus(u32));
    return { ...keys, entryCount: values };
  });
  try {
    const nodes = await openNodes(own);
    try {
      return context.scope(() => linkNodes(context, nodes, levels));
    } finally {
      context.dispose(nodes);
    }
  } finally {
    context.dispose(own);
  }
}

/**
 * Sorts nodes from preorder to the order of levels, and finds the children, the first entry and the successor of each
 * node.
 */
function linkNodes(context: Context, nodes: CountedNodes, levels: number): MaqNodes {
  const marked = { ...nodes, isParent: hasChildren(nodes.level) };
  const byLevel = orderRows(nodes.level.length, [{ key: nodes.level, bits: bitsUpTo(levels) }]);
  const { lo, hi, level, entryCount, isParent } = context.materialize(gather(marked, byLevel));
  const children = context.materialize({ ...childrenOf({ level, lo, hi }, isParent) });
  return context.materialize({
    code: { lo, hi },
    level,
    ...children,
    firstEntry: exclusiveScan(entryCount, plus(u32)),
    entryCount,
    next: nextOf({ level, lo, hi }, isParent, children),
  });
}
