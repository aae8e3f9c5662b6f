import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  ArgumentError,
  array,
  bool,
  type Column,
  type Context,
  concatenate,
  copyIf,
  fn,
  gather,
  inclusiveScan,
  map,
  maximum,
  mortonDecode64,
  plus,
  reduce,
  reduceByKey,
  runHeads,
  scatterReduce,
  select,
  sequence,
  u32,
  uniform,
  upperBound,
} from '../../primitives/index.ts';
import { countedRows, freeOnFailure } from '../free-on-failure.ts';
import type { MaqTreeWithEdges } from '../maq-tree/index.ts';
import { aMaqTree } from '../maq-tree/tree.ts';
import { overlapsInQuadrants, type QuadrantPairs } from '../overlaps/index.ts';
import { asNumber, moved } from '../plain-functors.ts';
import { type BoundaryEdges, DOMAIN_BITS, type QuadrantsWithEdges } from '../quadrants/index.ts';
import { someQuadrantsWithEdges } from '../quadrants/leaves.ts';
import { packQuadrant } from '../quadrants/open-quadrants.ts';
import { mergeParts, orderByPolygons, type QueryPolygons } from './polygons-of.ts';
import { QUERY_OPTIONS, type QueryOptions, requireEdges } from './query-options.ts';
import { type SharedQuadrants, shareQuadrants } from './shared-quadrants.ts';

/**
 * Joins two sets of polygons: finds all pairs of a query polygon and a polygon of a tree that share area. Exact in
 * steps of the domain.
 *
 * Polygons with a common inside quadrant share area. For other pairs, the edges are examined in each common quadrant on
 * the boundary of one or both polygons. Polygons that only touch do not share area.
 *
 * - Work O(quadrants of queries · levels + pairs of quadrants), plus sorting the pairs, plus the work of
 *   `overlapsInQuadrants` for boundary quadrants.
 * - The result has the same pairs in the same order on every backend, for every capacity.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon
 * Data on GPUs, 2014, section 4.3.2, where polygon queries only find candidates for a join. Here the edges of quadrants
 * make the result exact.
 *
 * @param queries - Quadrants of the query polygons, with the same number of levels as those of the tree.
 * @throws `ArgumentError` `queries/capacity`; `queries/edges`; `queries/levels` if boundary quadrants of different
 * sizes meet.
 * @example
 * const place = (text) => placeInDomain(parseZones(text).zones.polygons, WORLD);
 * const lake = place('{ "type": "Polygon", "coordinates": [[[1, 1], [50, 1], [1, 50]]] }');
 * const parcels = place('{ "type": "MultiPolygon", "coordinates": [[[[40, 5], [60, 5], [60, 20]]], [[[50, 1], [60, 50], [1, 50]]]] }');
 * const options = { levels: 8, keepsEdges: true };
 * const tree = await buildMaqTree(ctx, [await decompose(ctx, parcels, options)]);
 * await ctx.read({ ...(await joinPolygons(ctx, tree, await decompose(ctx, lake, options))) });
 * // { query: Uint32Array [0], set: Uint32Array [0], polygon: Uint32Array [0] }
 */
export async function joinPolygons(
  context: Context,
  tree: MaqTreeWithEdges,
  queries: QuadrantsWithEdges,
  options: QueryOptions = {},
): Promise<QueryPolygons> {
  const kinds = { context: aContext, tree: aMaqTree, queries: someQuadrantsWithEdges, options: QUERY_OPTIONS };
  requireArguments('joinPolygons', { context, tree, queries, options }, kinds);
  const { capacity = 2 ** 24 } = options;
  requireEdges('the tree', tree);
  requireEdges('the queries', queries);
  const parts: QueryPolygons[] = [];
  const edges = context.scope(() => edgesOfBoth(context, queries, tree));
  try {
    let queriesTo = 0;
    await shareQuadrants(context, tree, queries, capacity, async (pairs, max) => {
      queriesTo = max;
      parts.push(await joinPart(context, { tree, queries, ...edges, max }, pairs));
    });
    return await mergeParts(context, tree.extent, parts, queriesTo);
  } finally {
    context.dispose(edges, parts);
  }
}

interface Join {
  readonly tree: MaqTreeWithEdges;
  readonly queries: QuadrantsWithEdges;
  /** Indices of edges in `ends`: first the edges through the quadrants of the queries, then those of the tree. */
  readonly edge: Column<'u32'>;
  readonly ends: Column<'i32'>;
  /** The largest index of a query polygon. */
  readonly max: number;
}

function edgesOfBoth(context: Context, { edges: own }: QuadrantsWithEdges, { edges }: MaqTreeWithEdges) {
  const by = (own.ends.length as number) / 4;
  return context.materialize({
    edge: concatenate([own.edge, map(moved, { place: edges.edge, by })]),
    ends: concatenate([own.ends, edges.ends]),
  });
}

/**
 * Finds the pairs of polygons that share area, among the given pairs of quadrants. Waits for the device twice, plus the
 * waits of `overlapsInQuadrants`.
 */
async function joinPart(context: Context, join: Join, pairs: SharedQuadrants): Promise<QueryPolygons> {
  const made = context.scope(() => groupPairs(context, join, pairs));
  try {
    const { run, shared, open, mixed } = made;
    const [openCount, mixes] = await Promise.all([context.count(open), context.read(mixed)]);
    if (mixes[0] === 1) throw mixedLevels();
    const rows = gather(open, sequence(openCount));
    const cells = context.scope(() => cellsOf(context, join, rows));
    try {
      const overlaps = await overlapsInQuadrants(context, cells, join.edge, join.ends);
      freeOnFailure(context, overlaps, () => scatterReduce(overlaps, rows.run, 'or', shared));
      context.dispose(overlaps);
    } finally {
      context.dispose(cells);
    }
    return await countedRows(context, () => copyIf(run, map(isSet, { flag: shared })));
  } finally {
    context.dispose(made);
  }
}

function mixedLevels(): ArgumentError {
  return new ArgumentError('queries/levels', 'Boundary quadrants of different sizes overlap.', {
    expected: 'queries that are decomposed to as many levels as the polygons of the tree',
    remedy: 'Decompose the queries again.',
  });
}

const relationOf = fn(
  'relationOf',
  { row: u32, entry: u32, shift: u32, own: array(u32), levels: array(u32), boundary: array(u32) },
  { sure: u32, mixed: u32 },
  ({ row, entry, shift, own, levels, boundary }) => {
    const [a, b] = [own.at(row), boundary.at(entry)];
    const sizesDiffer = shift.ne(u32(DOMAIN_BITS).sub(levels.at(row)));
    return { sure: u32(a.or(b).eq(0)), mixed: u32(a.ne(0).and(b.ne(0)).and(sizesDiffer)) };
  },
);

/**
 * Groups pairs of quadrants by their pair of polygons. `run` lists each pair of polygons once. `shared` is 1 for each
 * pair of polygons that certainly shares area, else 0. `open` lists the pairs of quadrants of the polygons that may or
 * may not share area; its field `run` is the index of the pair of polygons. `mixed` is 1 if boundary quadrants of
 * different sizes overlap.
 */
function groupPairs(context: Context, { tree, queries, max }: Join, { row, entry, shift }: SharedQuadrants) {
  const { set, polygon, boundary } = tree.entries;
  const captures = { own: queries.boundary, levels: queries.level, boundary };
  const { sure, mixed } = context.materialize(map(relationOf, { row, entry, shift, ...captures }));
  const keys = context.materialize({ query: gather(queries.polygon, row), ...gather({ set, polygon }, entry) });
  const order = orderByPolygons(tree.extent, keys, max);
  const sorted = context.materialize(gather({ ...keys, row, entry, shift, sure }, order));
  const { query, set: sets, polygon: polygons, ...rest } = sorted;
  const runs = reduceByKey({ query, set: sets, polygon: polygons }, sorted.sure, maximum(u32));
  const number = inclusiveScan(map(asNumber, { flag: runHeads({ query, sets, polygons }) }), plus(u32));
  const run = context.materialize(map(before, { number }));
  const open = context.materialize(map(isOpen, { run, shared: runs.values }));
  return {
    run: runs.keys,
    shared: runs.values,
    open: copyIf({ row: rest.row, entry: rest.entry, shift: rest.shift, run }, open),
    mixed: reduce(mixed, maximum(u32)),
  };
}
const before = fn('before', { number: u32 }, u32, ({ number }) => number.sub(1));
const isSet = fn('isSet', { flag: u32 }, bool, ({ flag }) => flag.eq(1));
const isOpen = fn('isOpen', { run: u32, shared: array(u32) }, bool, ({ run, shared }) => shared.at(run).eq(0));

const smallerPlace = fn(
  'smallerPlace',
  {
    row: u32,
    node: u32,
    shift: u32,
    ownLow: array(u32),
    ownHigh: array(u32),
    ownLevels: array(u32),
    low: array(u32),
    high: array(u32),
  },
  { column: u32, row: u32 },
  ({ row, node, shift, ownLow, ownHigh, ownLevels, low, high }) => {
    const own = u32(DOMAIN_BITS).sub(ownLevels.at(row));
    const isOwn = own.le(shift);
    const code = select({ lo: low.at(node), hi: high.at(node) }, { lo: ownLow.at(row), hi: ownHigh.at(row) }, isOwn);
    const { x, y } = mortonDecode64({ code });
    const side = own.min(shift);
    return packQuadrant({ x: x.shl(side), y: y.shl(side), shift: side, parity: u32(0) });
  },
);

const regionIn = fn(
  'regionIn',
  { row: u32, corners: array(u32), firsts: array(u32), counts: array(u32), by: uniform(u32) },
  { corner: u32, first: u32, count: u32 },
  ({ row, corners, firsts, counts, by }) => ({
    corner: corners.at(row),
    first: firsts.at(row).add(by),
    count: counts.at(row),
  }),
);

interface OpenPairs {
  readonly row: Column<'u32'>;
  readonly entry: Column<'u32'>;
  readonly shift: Column<'u32'>;
}

/**
 * For every pair of quadrants: the smaller quadrant, and the parts of both polygons in the smaller quadrant. If a
 * polygon contains the smaller quadrant, the polygon's part has no edges.
 */
function cellsOf(context: Context, { tree, queries }: Join, { row, entry, shift }: OpenPairs): QuadrantPairs {
  const { nodes } = tree;
  const node = map(before, { number: upperBound(nodes.firstEntry, entry) });
  const places = {
    ownLow: queries.code.lo,
    ownHigh: queries.code.hi,
    ownLevels: queries.level,
    low: nodes.code.lo,
    high: nodes.code.hi,
  };
  const edgesAt = ({ corner, first, count }: BoundaryEdges, at: Column<'u32'>, by: number) =>
    map(regionIn, { row: at, corners: corner, firsts: first, counts: count, by });
  return context.materialize({
    ...map(smallerPlace, { row, node, shift, ...places }),
    p: edgesAt(queries.edges, row, 0),
    q: edgesAt(tree.edges, entry, queries.edges.edge.length as number),
  });
}
