import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFlag, aWhole, eitherOf, type Kind, optional, someOptions, where } from '../../primitives/checks/kinds.ts';
import type { Loader } from '../../primitives/columns/program.ts';
import {
  type Bool,
  bitsToF32,
  type Column,
  type Context,
  type F32,
  If,
  Let,
  select,
  type U32,
  u32,
  Var,
} from '../../primitives/index.ts';
import { curveOrder } from './curve.ts';
import { extremesOf } from './extremes.ts';
import { type After, fillLists, type NearestList, NO_POINT, offer } from './lists.ts';
import type { Measure } from './measures.ts';
import { aTreeMetric, recordOf } from './metrics.ts';
import { MAX_NEIGHBOURS, type NearestOptions, requireDimensions } from './nearest.ts';
import { type Neighbours, neighboursOf, type Points, pointCount, somePoints } from './points.ts';
import { boundOf, idOfPoint, keyOfPoint, leafAt, minIdOf, pointsOfLeaf, searchFrom, treeWords } from './search.ts';
import { aTree, LEAF, type PointTree } from './tree.ts';

export interface TreeSearchOptions extends NearestOptions {
  /** Whether a point is its own neighbour, if the queries are the points of the tree. Default false. */
  readonly itself?: boolean | undefined;
}

/**
 * Finds the k nearest points of a tree for every query, or for every point of the tree. Apart from {@link
 * TreeSearchOptions.itself}, the result has the same bytes as that of {@link nearest}, which examines all points.
 *
 * The tree orders points along a Hilbert curve. A query begins in the leaf at its own position on the curve and
 * searches outwards from this leaf. A box is skipped if its minimum distance, computed by the formula of the metric,
 * exceeds the distance of the last point in the list. If both distances are equal, the box is searched only if it
 * contains an id smaller than that of the last point. Therefore many equal points, or many points on a line, cost no
 * more than as many other points. Queries are processed in the order of the curve, so that threads side by side read
 * the same boxes.
 *
 * - Work O(queries · (k + log n)) if points and queries have similar distributions, O(queries · n) at worst. Lists
 *   longer than {@link LIST} are found in rounds of up to {@link LIST} points. Deterministic.
 * - A query with a NaN or infinite coordinate is at distance +∞ from all points, and gets the first k points.
 * - With fewer than k points, the rest of a list is {@link NO_POINT} at +∞. Without queries, the result is empty.
 *
 * Source: Samet, Depth-First k-Nearest Neighbor Finding Using the MaxNearestDist Estimator, 2003. Purcell's grid, 2005,
 * also searches outwards, but may return more than k points.
 *
 * @throws `ArgumentError` `neighbours/k`, `neighbours/metric` for metrics without bounds (cosine, inner),
 * `neighbours/dimensions`, `neighbours/points`, `neighbours/length`.
 * @example
 * const points = { elements: ctx.column(Float32Array.of(0, 0, 3, 4, 1, 1, 5, 5)), dimensions: 2 };
 * const tree = buildPointTree(ctx, points);
 * const { ids } = nearestInTree(ctx, tree, 'points', { k: 2 });
 * await ctx.read(ids); // Uint32Array [2, 1, 3, 2, 0, 1, 1, 2]
 */
export function nearestInTree(
  context: Context,
  tree: PointTree,
  queries: Points | 'points',
  options: TreeSearchOptions,
): Neighbours {
  requireArguments(
    'nearestInTree',
    { context, tree, queries, options },
    { context: aContext, tree: aTree, queries: pointsOrOwn, options: someSearchOptions },
  );
  const { k, metric = 'l2', itself = false } = options;
  const measure = recordOf(metric).device;
  return context.scope(() => {
    const asked = queries === 'points' ? ownQueries(tree, itself) : otherQueries(context, tree, queries);
    const search: Parameters<typeof fillLists>[5] = (index, list, loader, after) =>
      fillFromTree(tree, measure, asked, index, list, loader, after);
    const lists = fillLists(context, 'nearestInTree', asked.count, k, measure.farKey, search, asked.rowAt);
    return neighboursOf(context, lists, measure);
  });
}

export const pointsOrOwn: Kind = eitherOf(
  "points, or the word 'points'",
  somePoints,
  where("'points'", (given) => given === 'points'),
);

const someSearchOptions = someOptions<TreeSearchOptions>({
  k: aWhole(1, MAX_NEIGHBOURS, 'neighbours/k'),
  metric: optional(aTreeMetric),
  itself: optional(aFlag),
});

/** One query, as read by a thread of the kernel. */
interface Query {
  readonly axes: readonly F32[];
  /** The id of a point to exclude from the list, or undefined. */
  readonly but: U32 | undefined;
  /** The leaf of the tree in which the search begins. */
  readonly leaf: U32;
}

interface Queries {
  readonly count: number;
  at(index: U32, loader: Loader): Query;
  /** Words that are not 0 if a query has extreme coordinates. The tree knows of its own points. */
  extremes(loader: Loader): readonly U32[];
  /** Maps the index of a thread to the row of the result that the thread computes. */
  rowAt(index: U32, loader: Loader): U32;
}

function ownQueries(tree: PointTree, itself: boolean): Queries {
  const { points, dimensions, levels, count } = tree;
  return {
    count,
    extremes: () => [],
    rowAt: (index, loader) => idOfPoint(treeWords(tree, loader), index),
    at(index, loader) {
      const id = idOfPoint(treeWords(tree, loader), index);
      const axes = Array.from({ length: dimensions }, (_, d) =>
        wordAsF32(points, index.mul(dimensions + 1).add(d), loader),
      );
      const leaf = Let(index.div(LEAF).add(loader.uniform('u32', 2 ** levels)));
      return { axes, but: itself ? undefined : id, leaf };
    },
  };
}

/** Queries that are not points of the tree, sorted along the curve. */
function otherQueries(context: Context, tree: PointTree, queries: Points): Queries {
  const { dimensions } = tree;
  requireDimensions('nearestInTree', dimensions, queries.dimensions);
  const count = pointCount('nearestInTree', 'queries', queries);
  const elements = context.materialize(queries.elements);
  const { order, places } = curveOrder(context, { elements, dimensions }, count);
  const extremes = extremesOf(context, elements, dimensions);
  return {
    count,
    extremes: (loader) => loader.load([extremes], u32(0)) as U32[],
    rowAt: (index, loader) => loader.load([order], index)[0] as U32,
    at(index, loader) {
      const [row] = loader.load([order], index) as [U32];
      const axes = Array.from(
        { length: dimensions },
        (_, d) => loader.load([elements], row.mul(dimensions).add(d))[0] as F32,
      );
      const leaf = leafAt(tree, loader.load(places, index) as U32[], loader);
      return { axes, but: undefined, leaf };
    },
  };
}

function wordAsF32(words: Column<'u32'>, index: U32, loader: Loader): F32 {
  return bitsToF32(loader.load([words], index)[0] as U32);
}

/**
 * Fills a list with the points of a tree that are nearest to a query. Ignores points up to `after`, which an earlier
 * round found.
 */
function fillFromTree(
  tree: PointTree,
  measure: Measure,
  queries: Queries,
  index: U32,
  list: NearestList,
  loader: Loader,
  after: After | undefined,
): void {
  const { axes, but, leaf } = queries.at(index, loader);
  const [lastKey, lastId] = [list.keys.at(-1)!, list.ids.at(-1)!];
  const extremes = [loader.load([tree.nodes], u32(0))[0] as U32, ...queries.extremes(loader)];
  const isExtreme = measure.atAnyScale && Let(extremes.reduce((a, b) => a.or(b)).ne(0));
  const words = treeWords(tree, loader, isExtreme);
  const from = Let(select(leaf, u32(0), isFar(axes)));
  If(from.eq(0), () => fillInOrder(tree, measure, list, loader, but, after));
  searchFrom(
    from,
    tree,
    loader,
    (node) => {
      const bound = boundOf(words, measure, axes, node);
      const isTied = bound.eq(lastKey);
      const mayHold = Var(bound.lt(lastKey));
      If(isTied, () => mayHold.set(minIdOf(words, node).lt(lastId)));
      return Let(mayHold as Bool);
    },
    (leaf) =>
      pointsOfLeaf(tree, leaf, loader, (i) => {
        offer(list, Let(keyOfPoint(words, measure, axes, i)), () => idOfPoint(words, i), after, but);
      }),
  );
}

/** Whether a query has a coordinate that is NaN or infinite. All points are then at distance +∞. */
function isFar(axes: readonly F32[]): Bool {
  return axes.map((x) => x.sub(x).ne(0)).reduce((a, b) => a.or(b));
}

/**
 * Fills a list for a query at distance +∞ from all points: takes points by id, after the last one of the preceding
 * round.
 */
function fillInOrder(
  tree: PointTree,
  { farKey }: Measure,
  list: NearestList,
  loader: Loader,
  but: U32 | undefined,
  after: After | undefined,
): void {
  const next = Var(after === undefined ? u32(0) : after.id.add(1));
  const count = loader.uniform('u32', tree.count);
  for (const [j, id] of list.ids.entries()) {
    if (but !== undefined) next.set(next.add(select(u32(0), u32(1), next.eq(but))));
    const isPoint = next.lt(count).and(after === undefined ? true : after.id.ne(NO_POINT));
    id.set(select(u32(NO_POINT), next as U32, isPoint));
    list.keys[j]!.set(farKey);
    next.set(next.add(1));
  }
}
