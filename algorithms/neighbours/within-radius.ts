import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFlag, optional, someOptions, where } from '../../primitives/checks/kinds.ts';
import {
  ArgumentError,
  array,
  bitsToF32,
  bool,
  type Column,
  type Context,
  constant,
  type F32,
  f32,
  fn,
  gather,
  If,
  Let,
  lowerBound,
  map,
  scatter,
  select,
  sequence,
  sortByKey,
  u32,
  unfold,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { extremesOf } from './extremes.ts';
import { NO_POINT } from './lists.ts';
import type { Measure } from './measures.ts';
import { aTreeMetric, type Metric, recordOf } from './metrics.ts';
import { requireDimensions } from './nearest.ts';
import { pointsOrOwn } from './nearest-in-tree.ts';
import { distancesOf, type Points, pointCount } from './points.ts';
import { boundOf, idOfPoint, keyOfPoint, nodeBehind, type TreeWords } from './search.ts';
import { aTree, LEAF, type PointTree } from './tree.ts';

export interface RadiusOptions {
  /**
   * Maximum distance by the metric, a finite f32. Distances of `l2` are squared, so for `l2` the radius is also squared,
   * and rounded to 24 bits as the distances are. An infinite radius finds all points.
   */
  readonly radius: number;
  /** How distances are measured. Default `l2`. Metrics without bounds (`cosine`, `inner`) are refused. */
  readonly metric?: Metric | undefined;
  /** Whether a point is its own neighbour, if the queries are the points of the tree. Default false. */
  readonly itself?: boolean | undefined;
  /**
   * Whether the points of a query are ordered by distance, and points at equal distance by index. Default false: they
   * are in the order of the tree.
   */
  readonly sorted?: boolean | undefined;
}

/** All points within a distance of queries. The rows `offsets[i] … offsets[i + 1] − 1` belong to query i. */
export interface PointsWithin {
  /** The first row of each query; the last element is the number of rows. */
  readonly offsets: Column<'u32'>;
  readonly ids: Column<'u32'>;
  readonly distances: Column<'f32'>;
}

/**
 * For every query, or for every point of the tree, finds all points of the tree at a distance of at most a radius.
 * Exact: distances are computed by the metric's formula in f32. A box is skipped only if its minimum distance by the
 * same formula is above the radius.
 *
 * Every query walks through the tree twice: first to count its points, then to write them. The call waits for the
 * device once, for the number of rows.
 *
 * - Work O(queries · log n + rows), plus a radix sort if the rows are sorted; span O(the longest walk). Deterministic:
 *   the order of the tree is the same on every backend.
 * - A query or point with a NaN or infinite coordinate is at distance +∞, so it is only within an infinite radius.
 * - Without queries, `offsets` is a single 0.
 *
 * @throws `ArgumentError` `neighbours/radius` if the radius is negative or NaN, or finite but too large
 * for f32, `neighbours/metric`, `neighbours/dimensions`, `neighbours/points`, `neighbours/length` as in {@link nearestInTree}.
 * @example
 * const points = { elements: ctx.column(Float32Array.of(0, 0, 3, 4, 1, 1, 5, 5)), dimensions: 2 };
 * const tree = buildPointTree(ctx, points);
 * const { offsets, ids } = await withinRadius(ctx, tree, 'points', { radius: 3, sorted: true });
 * await ctx.read({ offsets }); // { offsets: Uint32Array [0, 1, 2, 3, 4] }
 * await ctx.read(ids); // Uint32Array [2, 3, 0, 1]
 */
export async function withinRadius(
  context: Context,
  tree: PointTree,
  queries: Points | 'points',
  options: RadiusOptions,
): Promise<PointsWithin> {
  requireArguments(
    'withinRadius',
    { context, tree, queries, options },
    { context: aContext, tree: aTree, queries: pointsOrOwn, options: someRadiusOptions },
  );
  const { radius, metric = 'l2', itself = false, sorted = false } = options;
  const measure = recordOf(metric).device;
  const rows = context.scope(() =>
    queries === 'points' ? ownRows(context, tree, itself) : rowsOfQueries(context, tree, queries),
  );
  // The tree knows of its own points.
  const own = queries === 'points' ? undefined : extremesOf(context, queries.elements, tree.dimensions);
  const extremes = own ?? tree.nodes;
  const walk = walkOf(tree, measure);
  const captures = { nodes: tree.nodes, points: tree.points, count: tree.count, leaves: 2 ** tree.levels };
  const limit = measure.limitOf(roundedRadius(radius));
  const found = await unfold(rows, walk.start, walk.step, { captures: { ...captures, extremes, limit } });
  try {
    return context.scope(() => placed(context, sorted ? inOrder(found, rows.row.capacity) : found, rows, measure));
  } finally {
    context.dispose(found, rows, ...(own === undefined ? [] : [own]));
  }
}

/** A radius as an f32. */
function roundedRadius(radius: number): number {
  // −0 is 0.
  const rounded = Math.abs(Math.fround(radius));
  if (rounded < Number.POSITIVE_INFINITY || radius === Number.POSITIVE_INFINITY) return rounded;
  throw new ArgumentError('neighbours/radius', 'The radius of withinRadius is too large.', {
    expected: 'a finite f32, or Infinity',
    got: radius,
    remedy: 'Scale the coordinates.',
  });
}

const someRadiusOptions = someOptions<RadiusOptions>({
  radius: where('a number from 0 on', (given) => typeof given === 'number' && given >= 0, {
    code: 'neighbours/radius',
  }),
  metric: optional(aTreeMetric),
  itself: optional(aFlag),
  sorted: optional(aFlag),
});

/**
 * The queries, as input of the walks through the tree. Each has coordinates, its index `row`, and `but`, the id of a
 * point to exclude.
 */
type Rows = { readonly row: Column<'u32'>; readonly but: Column<'u32'> } & { readonly [axis: string]: Column };
type Found = { readonly row: Column<'u32'>; readonly key: Column<'u32'>; readonly id: Column<'u32'> };

const axisNames = (dimensions: number): string[] => ['x', 'y', 'z'].slice(0, dimensions);

function rowsOfQueries(context: Context, { dimensions }: PointTree, queries: Points): Rows {
  requireDimensions('withinRadius', dimensions, queries.dimensions);
  const count = pointCount('withinRadius', 'queries', queries);
  const elements = context.materialize(queries.elements);
  const axes = axisNames(dimensions).map((name, d) => [name, gather(elements, sequence(count, d, dimensions))]);
  const numbers = { row: sequence(count), but: constant(u32, NO_POINT, count) };
  return context.materialize({ ...Object.fromEntries(axes), ...numbers }) as Rows;
}

/** The points of a tree as queries, in the order of their indices. */
function ownRows(context: Context, { points, dimensions, count }: PointTree, itself: boolean): Rows {
  const width = dimensions + 1;
  const place = scatter(sequence(count), gather(points, sequence(count, dimensions, width)), count);
  const axes = axisNames(dimensions).map((name, d) => {
    const axis = fn('axisOfPoint', { place: u32, points: array(u32) }, f32, ({ place, points }) =>
      bitsToF32(points.at(place.mul(width).add(d))),
    );
    return [name, map(axis, { place, points })];
  });
  const but = itself ? constant(u32, NO_POINT, count) : sequence(count);
  return context.materialize({ ...Object.fromEntries(axes), row: sequence(count), but }) as Rows;
}

/** The walk of one query through the tree, which emits the points within a distance. */
function walkOf(tree: PointTree, measure: Measure) {
  const { dimensions } = tree;
  const state = { node: u32, point: u32 };
  const start = fn('radiusStart', { row: u32 }, state, () => ({ node: 1, point: LEAF }));
  const axes = Object.fromEntries(axisNames(dimensions).map((name) => [name, f32]));
  const parameters = {
    ...axes,
    ...{ row: u32, but: u32, node: u32, point: u32 },
    ...{ nodes: array(u32), points: array(u32), count: uniform(u32), leaves: uniform(u32), limit: uniform(u32) },
    extremes: array(u32),
  };
  const result = { more: bool, emits: bool, state, value: { row: u32, key: u32, id: u32 } };
  const step = fn('radiusStep', parameters, result, (args) => {
    const { row, but, node, point, nodes, points, count, leaves, limit, extremes } = args;
    const isExtreme = measure.atAnyScale && Let(nodes.at(0).or(extremes.at(0)).ne(0));
    const words: TreeWords = { dimensions, nodes: (i) => nodes.at(i), points: (i) => points.at(i), isExtreme };
    const query = axisNames(dimensions).map((name) => (args as unknown as { readonly [axis: string]: F32 })[name]!);
    const [nextNode, nextPoint] = [Var(nodeBehind(node)), Var(u32(LEAF))];
    const [emits, key, id] = [Var(bool(false)), Var(u32(0)), Var(u32(0))];
    If(point.lt(LEAF), () => {
      const i = Let(node.sub(leaves).mul(LEAF).add(point));
      key.set(keyOfPoint(words, measure, query, i));
      id.set(idOfPoint(words, i));
      emits.set(i.lt(count).and(key.le(limit)).and(id.ne(but)));
      If(point.add(1).lt(LEAF).and(i.add(1).lt(count)), () => {
        nextNode.set(node);
        nextPoint.set(point.add(1));
      });
    }).Else(() => {
      If(boundOf(words, measure, query, node).le(limit), () => {
        const isLeaf = node.ge(leaves);
        nextNode.set(select(node.shl(1), node, isLeaf));
        nextPoint.set(select(u32(LEAF), u32(0), isLeaf));
      });
    });
    return {
      more: nextNode.ne(1).or(nextPoint.lt(LEAF)),
      emits,
      state: { node: nextNode, point: nextPoint },
      value: { row, key, id },
    };
  });
  return { start, step };
}

/** Sorts pairs by query, then by distance, then by point index. */
function inOrder({ row, key, id }: Found, queries: number): Found {
  const byId = sortByKey(id, { row, key });
  const bits = { from: 0, to: 32 + Math.ceil(Math.log2(Math.max(2, queries))) };
  const { keys, values } = sortByKey({ lo: byId.values.key, hi: byId.values.row }, byId.keys, { bits });
  return { row: keys.hi, key: keys.lo, id: values };
}

const copied = fn('pointId', { id: u32 }, u32, ({ id }) => id);

function placed(context: Context, { row, key, id }: Found, rows: Rows, measure: Measure): PointsWithin {
  const offsets = lowerBound(row, sequence(rows.row.capacity + 1));
  return context.materialize({ offsets, ids: map(copied, { id }), distances: distancesOf(measure, key) });
}
