import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anInstance, aRecord, type Kind, optional } from '../../primitives/checks/kinds.ts';
import type { Context } from '../../primitives/index.ts';
import { tableOfNodes } from './node-table.ts';
import { aMaqTree, anExtent, type MaqExtent, type MaqTree, type MaqTreeWithEdges } from './tree.ts';

/** A {@link MaqTree} in host memory: the same columns, as arrays. */
export interface HostMaqTree {
  readonly nodes: {
    readonly code: { readonly lo: Uint32Array; readonly hi: Uint32Array };
    readonly level: Uint32Array;
    readonly firstChild: Uint32Array;
    readonly childCount: Uint32Array;
    readonly firstEntry: Uint32Array;
    readonly entryCount: Uint32Array;
    readonly next: Uint32Array;
  };
  readonly entries: {
    readonly polygon: Uint32Array;
    readonly set: Uint32Array;
    readonly boundary: Uint32Array;
  };
  readonly extent: MaqExtent;
}

/** A {@link MaqTreeWithEdges} in host memory. */
export interface HostMaqTreeWithEdges extends HostMaqTree {
  readonly edges: {
    readonly corner: Uint32Array;
    readonly first: Uint32Array;
    readonly count: Uint32Array;
    readonly edge: Uint32Array;
    readonly ends: Int32Array;
  };
}

const words = anInstance(Uint32Array);

/** Validator of host trees, with or without edges. */
export const aHostTree: Kind = aRecord<HostMaqTreeWithEdges>({
  nodes: aRecord<HostMaqTree['nodes']>({
    code: aRecord<HostMaqTree['nodes']['code']>({ lo: words, hi: words }),
    level: words,
    firstChild: words,
    childCount: words,
    firstEntry: words,
    entryCount: words,
    next: words,
  }),
  entries: aRecord<HostMaqTree['entries']>({ polygon: words, set: words, boundary: words }),
  extent: anExtent,
  edges: optional(
    aRecord<HostMaqTreeWithEdges['edges']>({
      corner: words,
      first: words,
      count: words,
      edge: words,
      ends: anInstance(Int32Array),
    }),
  ),
});

export function hasEdges(tree: HostMaqTree | HostMaqTreeWithEdges): tree is HostMaqTreeWithEdges {
  return 'edges' in tree && tree.edges !== undefined;
}

/**
 * Copies a tree to the host. Waits for the device.
 *
 * @example
 * const quadrants = await decompose(ctx, placeInDomain(parseZones('{ "type": "Polygon", "coordinates": [] }').zones.polygons, WORLD), { levels: 4 });
 * const { entries } = await readMaqTree(ctx, await buildMaqTree(ctx, [quadrants]));
 * entries.polygon; // Uint32Array []
 */
export function readMaqTree(context: Context, tree: MaqTreeWithEdges): Promise<HostMaqTreeWithEdges>;
export function readMaqTree(context: Context, tree: MaqTree): Promise<HostMaqTree>;
export async function readMaqTree(
  context: Context,
  tree: MaqTree | MaqTreeWithEdges,
): Promise<HostMaqTree | HostMaqTreeWithEdges> {
  requireArguments('readMaqTree', { context, tree }, { context: aContext, tree: aMaqTree });
  const [nodes, entries] = await Promise.all([
    context.read({ ...tree.nodes, code: { ...tree.nodes.code } }),
    context.read({ ...tree.entries }),
  ]);
  const { extent } = tree;
  if (!('edges' in tree) || tree.edges === undefined) return { nodes, entries, extent };
  const { edge, ends, ...perEntry } = tree.edges;
  const [rows, edgeNumbers, coordinates] = await Promise.all([
    context.read(perEntry),
    context.read(edge),
    context.read(ends),
  ]);
  return { nodes, entries, extent, edges: { ...rows, edge: edgeNumbers, ends: coordinates } };
}

/**
 * Copies a tree to the device.
 *
 * @example
 * const none = new Uint32Array();
 * const nodes = { code: { lo: none, hi: none }, level: none, firstChild: none, childCount: none, firstEntry: none, entryCount: none, next: none };
 * const entries = { polygon: none, set: none, boundary: none };
 * const tree = uploadMaqTree(ctx, { nodes, entries, extent: { levels: 0, sets: 1, polygons: 0 } });
 * await ctx.count(tree.nodes.level); // 0
 */
export function uploadMaqTree(context: Context, tree: HostMaqTreeWithEdges): MaqTreeWithEdges;
export function uploadMaqTree(context: Context, tree: HostMaqTree): MaqTree;
export function uploadMaqTree(context: Context, tree: HostMaqTree | HostMaqTreeWithEdges): MaqTree | MaqTreeWithEdges {
  requireArguments('uploadMaqTree', { context, tree }, { context: aContext, tree: aHostTree });
  const { nodes, entries, extent } = tree;
  return context.scope(() => {
    const columns = {
      code: { lo: context.column(nodes.code.lo), hi: context.column(nodes.code.hi) },
      level: context.column(nodes.level),
      firstChild: context.column(nodes.firstChild),
      childCount: context.column(nodes.childCount),
      firstEntry: context.column(nodes.firstEntry),
      entryCount: context.column(nodes.entryCount),
      next: context.column(nodes.next),
    };
    const uploaded = {
      nodes: columns,
      entries: {
        polygon: context.column(entries.polygon),
        set: context.column(entries.set),
        boundary: context.column(entries.boundary),
      },
      extent,
      table: tableOfNodes(context, columns),
    };
    if (!hasEdges(tree)) return uploaded;
    const { corner, first, count, edge, ends } = tree.edges;
    return {
      ...uploaded,
      edges: {
        corner: context.column(corner),
        first: context.column(first),
        count: context.column(count),
        edge: context.column(edge),
        ends: context.column(ends),
      },
    };
  });
}
