import {
  array,
  bool,
  type Column,
  type Context,
  concatenate,
  copyIf,
  type F32,
  For,
  f32,
  fn,
  Let,
  map,
  sequence,
  sqrt,
  type U32,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { extremesOf, keyOfVectors } from './extremes.ts';
import type { Measure } from './measures.ts';
import { type Metric, recordOf } from './metrics.ts';
import { requireDimensions } from './nearest.ts';
import { type Points, pointCount } from './points.ts';

/**
 * Pairs of a query and a point, ordered by query and then by point. The number of pairs is known only on the device.
 */
export interface PairsWithin {
  readonly query: Column<'u32'>;
  readonly id: Column<'u32'>;
  readonly distance: Column<'f32'>;
}

/**
 * Finds all points within a distance of queries, in any number of dimensions and by any metric. Computes the distances
 * of all pairs; {@link withinRadius} finds the same points faster in a tree. Distances of `l2` are squared, so for `l2`
 * the radius is also squared, in f32.
 *
 * - Work O(queries · points · dimensions), span O(dimensions + log pairs). Takes about five words of memory for every
 *   pair, so limit the number of queries accordingly. Deterministic: distances are computed by the metric's formula in
 *   f32.
 * - Without queries or points there are no pairs. Pairs at distance +∞ are only within an infinite radius.
 */
export function pairsWithin(
  context: Context,
  points: Points,
  queries: Points,
  { radius, metric }: { readonly radius: number; readonly metric: Metric },
): PairsWithin {
  const [n, m] = [pointCount('pairsWithin', 'points', points), pointCount('pairsWithin', 'queries', queries)];
  requireDimensions('pairsWithin', points.dimensions, queries.dimensions);
  const measure = recordOf(metric).device;
  return context.scope(() => {
    const { dimensions } = points;
    const elements = { points: context.materialize(points.elements), queries: context.materialize(queries.elements) };
    const extremes = Object.values(elements).map((each) => extremesOf(context, each, dimensions));
    const key = map(keyOfPair(measure), {
      ...elements,
      pair: sequence(n * m),
      extremes: concatenate(extremes),
      count: n,
      dimensions,
    });
    const limit = measure.limitOf(Math.fround(radius));
    const isWithin = fn('isWithin', { key: u32, limit: uniform(u32) }, bool, ({ key, limit }) => key.le(limit));
    const keys = context.materialize(key);
    const within = copyIf({ pair: sequence(n * m), key: keys }, map(isWithin, { key: keys, limit }));
    const row = fn('rowOfPair', { pair: u32, key: u32, count: uniform(u32) }, rowShape, ({ pair, key, count }) => {
      const query = Let(pair.div(count));
      return { query, id: pair.sub(query.mul(count)), distance: measure.distanceOf(key) };
    });
    return context.materialize(map(row, { ...within, count: Math.max(1, n) }));
  });
}

const rowShape = { query: u32, id: u32, distance: f32 };

const PAIR = {
  pair: u32,
  points: array(f32),
  queries: array(f32),
  extremes: array(u32),
  count: uniform(u32),
  dimensions: uniform(u32),
};

/** Functor that computes the key of the distance of a pair. */
function keyOfPair(measure: Measure) {
  return fn('keyOfPair', PAIR, u32, ({ pair, points, queries, extremes, count, dimensions }): U32 => {
    const query = Let(pair.div(count));
    const [from, to] = [Let(query.mul(dimensions)), Let(pair.sub(query.mul(count)).mul(dimensions))];
    const isExtreme = measure.atAnyScale && Let(extremes.at(0).or(extremes.at(1)).ne(0));
    const each = (body: (a: F32, b: F32) => void): void =>
      For(0, dimensions, (d) => body(Let(queries.at(from.add(d))), Let(points.at(to.add(d)))));
    const [squaresA, squaresB] = [Var(f32(0)), Var(f32(0))];
    if (measure.needsLengths) {
      each((a, b) => {
        squaresA.set(squaresA.add(a.mul(a)));
        squaresB.set(squaresB.add(b.mul(b)));
      });
    }
    const lengths = [squaresA, squaresB].map((squares) => sqrt(Let(squares) as F32)) as [F32, F32];
    return keyOfVectors(measure, isExtreme, each, measure.needsLengths ? lengths : undefined);
  });
}
