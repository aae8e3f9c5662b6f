import type { Context } from '../../primitives/index.ts';
import type { MaqTree } from './tree.ts';

/** A {@link MaqTree} in the memory of the host: the same columns, as arrays. */
export interface HostMaqTree {
  readonly nodes: {
    readonly code: { readonly lo: Uint32Array; readonly hi: Uint32Array };
    readonly level: Uint32Array;
    readonly firstChild: Uint32Array;
    readonly childCount: Uint32Array;
    readonly firstEntry: Uint32Array;
    readonly entryCount: Uint32Array;
  };
  readonly entries: {
    readonly polygon: Uint32Array;
    readonly set: Uint32Array;
    readonly boundary: Uint32Array;
  };
}

/**
 * Copies a tree to the host. Waits for the device.
 *
 * @example
 * const quadrants = await decompose(ctx, placeInDomain(parseZones('{ "type": "Polygon", "coordinates": [] }').zones.polygons, WORLD), { levels: 4 });
 * const { entries } = await readMaqTree(ctx, await buildMaqTree(ctx, [quadrants]));
 * entries.polygon; // Uint32Array []
 */
export async function readMaqTree(context: Context, { nodes, entries }: MaqTree): Promise<HostMaqTree> {
  const [hostNodes, hostEntries] = await Promise.all([
    context.read({ ...nodes, code: { ...nodes.code } }),
    context.read({ ...entries }),
  ]);
  return { nodes: hostNodes, entries: hostEntries };
}

/**
 * Copies a tree to the device.
 *
 * @example
 * const none = new Uint32Array();
 * const nodes = { code: { lo: none, hi: none }, level: none, firstChild: none, childCount: none, firstEntry: none, entryCount: none };
 * const tree = uploadMaqTree(ctx, { nodes, entries: { polygon: none, set: none, boundary: none } });
 * await ctx.count(tree.nodes.level); // 0
 */
export function uploadMaqTree(context: Context, { nodes, entries }: HostMaqTree): MaqTree {
  return {
    nodes: {
      code: { lo: context.column(nodes.code.lo), hi: context.column(nodes.code.hi) },
      level: context.column(nodes.level),
      firstChild: context.column(nodes.firstChild),
      childCount: context.column(nodes.childCount),
      firstEntry: context.column(nodes.firstEntry),
      entryCount: context.column(nodes.entryCount),
    },
    entries: {
      polygon: context.column(entries.polygon),
      set: context.column(entries.set),
      boundary: context.column(entries.boundary),
    },
  };
}
