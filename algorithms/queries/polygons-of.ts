import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  array,
  CapacityError,
  type Column,
  type Context,
  concatenate,
  expand,
  fn,
  gather,
  map,
  OutOfMemoryError,
  select,
  sequence,
  shl64,
  shrU64,
  slice,
  sort,
  type U32,
  u32,
  u64,
  u64OfU32,
  uniform,
  unique,
} from '../../primitives/index.ts';
import { allOrNone, countedRows } from '../free-on-failure.ts';
import type { MaqExtent, MaqTree } from '../maq-tree/index.ts';
import { aMaqTree } from '../maq-tree/tree.ts';
import { bitsUpTo, orderRows } from '../order-rows.ts';
import type { Quadrants } from '../quadrants/index.ts';
import { someQuadrants } from '../quadrants/leaves.ts';
import { expectedRows, maxQuery, noteRows } from './found-before.ts';
import { QUERY_OPTIONS, type QueryOptions } from './query-options.ts';
import { type QueryNodes, someNodes } from './range.ts';
import { shareQuadrants } from './shared-quadrants.ts';

/** Polygons found for queries, each once per query. Rows are ordered by query, set and polygon. */
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
 * The polygons that have quadrants at the nodes found for queries, each polygon once per query.
 *
 * - Work O(entries of the nodes), plus sorting them. Usually waits for the device twice. Waits only once if an earlier
 *   query of this tree, for about as many nodes, gives an estimate of the number of entries.
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const tree = await buildMaqTree(ctx, [await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 })]);
 * const windows = placeWindows(ctx, { left: [10], bottom: [10], right: [100], top: [20] }, WORLD);
 * const nodes = await queryWindows(ctx, tree, windows);
 * await ctx.read({ ...(await polygonsOf(ctx, tree, nodes)) });
 * // { query: Uint32Array [0], set: Uint32Array [0], polygon: Uint32Array [0] }
 */
export async function polygonsOf(context: Context, tree: MaqTree, found: QueryNodes): Promise<QueryPolygons> {
  requireArguments('polygonsOf', { context, tree, found }, { context: aContext, tree: aMaqTree, found: someNodes });
  const { nodes, extent } = tree;
  const asked = found.node.length as number;
  const expected = expectedRows(nodes, 'entriesOfNodes', asked);
  const known = maxQuery(found.query);
  if (expected !== undefined && known !== undefined) {
    const polygons = await polygonsWithin(context, tree, found, known, expected);
    if (polygons !== undefined) return polygons;
  }
  const [all, max] = await allOrNone(context, [expand(...entriesOf(tree, found)), known ?? lastQuery(context, found)]);
  noteRows(nodes, 'entriesOfNodes', asked, all.query.length as number);
  return eachOnce(context, extent, all, max).finally(() => context.dispose(all));
}

/** Arguments for a call of `expand` that lists the entries of nodes. */
function entriesOf({ nodes, entries }: MaqTree, { query, node }: QueryNodes) {
  const captures = { first: nodes.firstEntry, polygons: entries.polygon, sets: entries.set };
  return [{ query, node }, gather(nodes.entryCount, node), entryOf, { captures }] as const;
}

async function lastQuery(context: Context, { query }: QueryNodes): Promise<number> {
  const [last] = await context.read(slice(query, Math.max(0, (query.length as number) - 1)));
  return last ?? 0;
}

/**
 * Same as {@link polygonsOf}, but undefined if there are more than `capacity` entries or memory is short. `max` is the
 * largest index of a query. Waits for the device once.
 */
async function polygonsWithin(
  context: Context,
  tree: MaqTree,
  found: QueryNodes,
  max: number,
  capacity: number,
): Promise<QueryPolygons | undefined> {
  const [rows, counts, functor, options] = entriesOf(tree, found);
  let made: { readonly all: QueryPolygons; readonly distinct: QueryPolygons } | undefined;
  try {
    made = context.scope(() => {
      const all = expand(rows, counts, functor, { ...options, capacity });
      return { all, distinct: distinctPairs(context, tree.extent, all, max) };
    });
    const { all, distinct } = made;
    const [entries, polygons] = await Promise.all([context.count({ ...all }), context.count({ ...distinct })]);
    noteRows(tree.nodes, 'entriesOfNodes', found.node.length as number, entries);
    return context.scope(() => context.materialize(gather({ ...distinct }, sequence(polygons))));
  } catch (error) {
    if (error instanceof CapacityError || error instanceof OutOfMemoryError) return undefined;
    throw error;
  } finally {
    context.dispose(made);
  }
}

/**
 * For each query polygon, the polygons of a tree with a quadrant that overlaps a quadrant of the query polygon, each
 * polygon once. These are all polygons that share area with the query polygon, and some that share only boundary
 * quadrants with it. So the result only has the candidates for a join; `joinPolygons` is exact.
 *
 * - Work O(quadrants of queries · levels + pairs of quadrants), plus sorting the pairs. Waits for the device three
 *   times if there are at most `capacity` pairs of quadrants. Otherwise the pairs are processed in parts, with two
 *   waits per part and up to four more. The default capacity is 2²⁴ pairs.
 * - The result has the same pairs in the same order on every backend, for every capacity.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon
 * Data on GPUs, 2014, section 4.3.2.
 *
 * @param queries - Quadrants of the query polygons, in the domain of the tree.
 * @throws `ArgumentError` `queries/capacity`.
 * @example
 * const place = (text) => placeInDomain(parseZones(text).zones.polygons, WORLD);
 * const east = place('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const north = place('{ "type": "Polygon", "coordinates": [[[-90, 45], [90, 45], [90, 90], [-90, 90]]] }');
 * const tree = await buildMaqTree(ctx, [await decompose(ctx, east, { levels: 4 })]);
 * await ctx.read({ ...(await queryPolygons(ctx, tree, await decompose(ctx, north, { levels: 4 }))) });
 * // { query: Uint32Array [0], set: Uint32Array [0], polygon: Uint32Array [0] }
 */
export async function queryPolygons(
  context: Context,
  tree: MaqTree,
  queries: Quadrants,
  options: QueryOptions = {},
): Promise<QueryPolygons> {
  const kinds = { context: aContext, tree: aMaqTree, queries: someQuadrants, options: QUERY_OPTIONS };
  requireArguments('queryPolygons', { context, tree, queries, options }, kinds);
  const { capacity = 2 ** 24 } = options;
  const { set, polygon } = tree.entries;
  const parts: QueryPolygons[] = [];
  try {
    let queriesTo = 0;
    await shareQuadrants(context, tree, queries, capacity, async ({ row, entry }, max) => {
      queriesTo = max;
      const pairs = { query: gather(queries.polygon, row), ...gather({ set, polygon }, entry) };
      parts.push(await eachOnce(context, tree.extent, pairs, max));
    });
    return await mergeParts(context, tree.extent, parts, queriesTo);
  } finally {
    context.dispose(parts);
  }
}

/** The indices of rows, sorted by the query, set and polygon of the rows. */
export function orderByPolygons(
  { sets, polygons }: MaqExtent,
  { query, set, polygon }: QueryPolygons,
  max: number,
): Column<'u32'> {
  return orderRows(query.length, [
    { key: polygon, bits: bitsUpTo(polygons - 1) },
    { key: set, bits: bitsUpTo(sets - 1) },
    { key: query, bits: bitsUpTo(max) },
  ]);
}

/** Sorts pairs and removes duplicates. `max` is the largest index of a query. Waits for the device once. */
async function eachOnce(
  context: Context,
  extent: MaqExtent,
  pairs: QueryPolygons,
  max: number,
): Promise<QueryPolygons> {
  return countedRows(context, () => ({ ...distinctPairs(context, extent, pairs, max) }));
}

/**
 * Sorts pairs and removes duplicates, without waiting for the device. If pairs can be packed into 64-bit keys, sorts
 * the keys, so that no rows need to be gathered. `max` is the largest index of a query.
 */
function distinctPairs(context: Context, extent: MaqExtent, pairs: QueryPolygons, max: number): QueryPolygons {
  const [setBits, polygonBits] = [bitsUpTo(extent.sets - 1), bitsUpTo(extent.polygons - 1)];
  const bits = bitsUpTo(max) + setBits + polygonBits;
  if (bits > 64) return unique(context.materialize(gather({ ...pairs }, orderByPolygons(extent, pairs, max))));
  const keys = sort(map(pairKey, { ...pairs, setBits, polygonBits }), { bits: { from: 0, to: bits } });
  return map(pairOf, { key: unique(keys), setBits, polygonBits });
}

const widths = { setBits: uniform(u32), polygonBits: uniform(u32) } as const;

/** Packs query, set and polygon into a key. Keys are ordered by query, then set, then polygon. */
const pairKey = fn(
  'pairKey',
  { query: u32, set: u32, polygon: u32, ...widths },
  u64,
  ({ query, set, polygon, setBits, polygonBits }) => {
    const ofSet = shl64({ a: u64OfU32(query), count: setBits });
    const ofPolygon = shl64({ a: { lo: ofSet.lo.or(set), hi: ofSet.hi }, count: polygonBits });
    return { lo: ofPolygon.lo.or(polygon), hi: ofPolygon.hi };
  },
);

const pairOf = fn(
  'pairOf',
  { key: u64, ...widths },
  { query: u32, set: u32, polygon: u32 },
  ({ key, setBits, polygonBits }) => {
    const sets = shrU64({ a: key, count: polygonBits });
    const query = shrU64({ a: sets, count: setBits }).lo;
    return { query, set: lowBits(sets.lo, setBits), polygon: lowBits(key.lo, polygonBits) };
  },
);

/** The `count` lowest bits of a word. `count` is from 0 to 32. */
function lowBits(word: U32, count: U32): U32 {
  const others = u32(32).sub(count);
  return select(word.shl(others).shr(others), u32(0), count.eq(0));
}

/** Merges parts of a result, at least one, and removes duplicates. Frees the parts. */
export async function mergeParts(
  context: Context,
  extent: MaqExtent,
  parts: QueryPolygons[],
  max: number,
): Promise<QueryPolygons> {
  if (parts.length === 1) return parts.pop()!;
  const all = context.scope(() => concatenate(parts.map((part) => ({ ...part }))));
  context.dispose(parts.splice(0));
  return eachOnce(context, extent, all, max).finally(() => context.dispose(all));
}
