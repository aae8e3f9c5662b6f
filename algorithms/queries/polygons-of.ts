import {
  array,
  type Column,
  type Context,
  expand,
  fn,
  gather,
  sequence,
  slice,
  u32,
  unique,
} from '../../primitives/index.ts';
import type { MaqTree } from '../maq-tree/index.ts';
import { bitsUpTo, orderRows } from '../order-rows.ts';
import type { QueryNodes } from './range.ts';

/** Polygons that queries meet, each once a query: ascending by query, set and polygon. */
export interface QueryPolygons {
  readonly query: Column<'u32'>;
  readonly set: Column<'u32'>;
  readonly polygon: Column<'u32'>;
}

const entryOf = fn(
  'entryOf',
  { query: u32, node: u32, rank: u32, first: array(u32), polygons: array(u32), sets: array(u32) },
  { query: u32, set: u32, polygon: u32 },
  ({ query, node, rank, first, polygons, sets }) => {
    const entry = first.at(node).add(rank);
    return { query, set: sets.at(entry), polygon: polygons.at(entry) };
  },
);

/**
 * The polygons whose quadrants are among the nodes that queries meet, each once a query.
 *
 * - Work O(entries of the nodes) and their sorting. Waits for the device twice.
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const tree = await buildMaqTree(ctx, [await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 })]);
 * const windows = placeWindows(ctx, { left: [10], bottom: [10], right: [100], top: [20] }, WORLD);
 * const nodes = await queryWindows(ctx, tree, windows);
 * await ctx.read({ ...(await polygonsOf(ctx, tree, nodes)) });
 * // { query: Uint32Array [0], set: Uint32Array [0], polygon: Uint32Array [0] }
 */
export async function polygonsOf(context: Context, tree: MaqTree, { query, node }: QueryNodes): Promise<QueryPolygons> {
  const { nodes, entries, extent } = tree;
  const counts = gather(nodes.entryCount, node);
  const captures = { first: nodes.firstEntry, polygons: entries.polygon, sets: entries.set };
  const [all, last] = await Promise.all([
    expand({ query, node }, counts, entryOf, { captures }),
    context.read(slice(query, Math.max(0, (query.length as number) - 1))),
  ]);
  const distinct = context.scope(() => {
    const keys = [
      { key: all.polygon, bits: bitsUpTo(extent.polygons - 1) },
      { key: all.set, bits: bitsUpTo(extent.sets - 1) },
      { key: all.query, bits: bitsUpTo(last[0] ?? 0) },
    ];
    return unique(context.materialize(gather(all, orderRows(all.query.length, keys))));
  });
  try {
    const found = await context.count(distinct);
    return context.scope(() => context.materialize(gather(distinct, sequence(found))));
  } finally {
    context.dispose(all, distinct);
  }
}
