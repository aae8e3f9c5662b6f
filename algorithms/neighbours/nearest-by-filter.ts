import { scaleLength } from '../../primitives/columns/length.ts';
import type { Loader } from '../../primitives/columns/program.ts';
import {
  array,
  type Bool,
  bitsToF32,
  bitsToU32,
  bool,
  type Column,
  type Context,
  copyIf,
  crossReduce,
  exclusiveScan,
  type F32,
  For,
  f32,
  fn,
  Let,
  map,
  minimum,
  plus,
  select,
  sequence,
  type U32,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { LIST, type ListColumns } from './lists.ts';
import { firstRuns, nearestByFormula, nearestOfRuns, type Queries, runOf, type Search } from './nearest-by-formula.ts';
import { keyOfSquares } from './squares.ts';

/**
 * Minimum number of dimensions for the filter. In fewer dimensions, evaluating the formula of the metric takes only a
 * small part of the search time, so a filter saves little.
 */
const MIN_DIMENSIONS = 16;
/** Maximum number of dimensions for which the error bound of the filter is proved. */
const MAX_DIMENSIONS = 2 ** 16;
/**
 * Number of runs (blocks of consecutive points) that are examined in addition to k, so that few queries stay undecided.
 */
const EXTRA_RUNS = 5;

/** A search by squared distance, with the parameters of the filter, which rules out most points by lower bounds. */
export interface FilteredSearch extends Search {
  /** Squared lengths of the points, lowered by {@link loweredSquares}. */
  readonly lowered: Column<'f32'>;
  /**
   * Number of bounds listed for each query: those of the runs that are examined, and the smallest bound of all other
   * runs.
   */
  readonly listed: number;
}

/**
 * The parameters of the filter. Undefined if the filter would not be faster than evaluating the formula for all points,
 * or if the error bound of the filter is not proved.
 */
export function filterOf(n: number, k: number, dimensions: number): Pick<FilteredSearch, 'run' | 'listed'> | undefined {
  const listed = LIST * Math.ceil((k + EXTRA_RUNS) / LIST);
  // A pair of query and point costs about four times as much in an examined run as in the filter. Measured best run
  // lengths: 256 for a million points on an H200, 32 for a hundred thousand points on two cores.
  const run = runOf(0.75 * Math.log2(n / listed) - 4);
  const isWorthIt = dimensions >= MIN_DIMENSIONS && dimensions <= MAX_DIMENSIONS && n >= 4 * listed * run;
  return isWorthIt ? { run, listed } : undefined;
}

/**
 * Finds the nearest points by squared distance. A filter rules out most points by |a|² + |b|² − 2 a·b, which takes only
 * one operation per dimension on devices with fused multiply-add. The filter may add its products in any order, so it
 * gives only a bound. The formula of the metric, Σ (a − b)², gives the result.
 *
 * 1. For each query and each run (block of consecutive points), `crossReduce` computes a lower bound of the distances
 *    with the filter.
 * 2. The formula is computed for the points of the runs with the smallest bounds.
 * 3. A query's list is final if its last point is nearer than the smallest bound of a run that was not examined.
 * 4. Queries whose lists are not final are searched again, by the formula alone.
 */
export function nearestByFilter(search: FilteredSearch, queries: Queries & { readonly count: number }): ListColumns {
  const { context, k, n, run, listed } = search;
  const { count } = queries;
  const { lists, bounds } = context.scope(() => {
    const squares = squaredLengths(context, queries.elements, search.dimensions, count);
    const first = firstRuns(
      context,
      boundsOfRuns(search, queries.elements, squares),
      count,
      Math.ceil(n / run),
      listed,
    );
    const isOpen = runsWithin(search, first.keys, squares);
    const chosen = { runs: first.ids, count: listed - 1, pitch: listed, isOpen };
    return { lists: nearestOfRuns(search, queries, chosen), bounds: first.keys };
  });
  const row = sequence(count);
  const undecided = context.materialize(map(isUndecided, { row, keys: lists.keys, bounds, k, listed }));
  const rows = copyIf(row, undecided);
  const again = nearestByFormula(search, { ...queries, ...queriesOf(search, queries.elements, rows) });
  const chosen = map(chosenPoint, {
    ...{ place: sequence(count * k), undecided, rank: exclusiveScan(map(oneWhere, { undecided }), plus(u32)), k },
    ...{ keys: lists.keys, ids: lists.ids, newKeys: again.keys, newIds: again.ids },
  });
  return context.materialize(chosen);
}

const isUndecided = fn(
  'isUndecided',
  { row: u32, keys: array(u32), bounds: array(u32), k: uniform(u32), listed: uniform(u32) },
  bool,
  ({ row, keys, bounds, k, listed }) => {
    const last = keys.at(row.mul(k).add(k).sub(1));
    return last.ge(keyOfSquares(bitsToF32(bounds.at(row.mul(listed).add(listed).sub(1)))));
  },
);

const oneWhere = fn('oneWhere', { undecided: bool }, u32, ({ undecided }) => u32(undecided));

/** An entry of a query's final list. It comes from the second search if the first search left the query undecided. */
const chosenPoint = fn(
  'chosenPoint',
  {
    ...{ place: u32, undecided: array(bool), rank: array(u32), k: uniform(u32) },
    ...{ keys: array(u32), ids: array(u32), newKeys: array(u32), newIds: array(u32) },
  },
  { keys: u32, ids: u32 },
  ({ place, undecided, rank, k, keys, ids, newKeys, newIds }) => {
    const row = Let(place.div(k));
    const isNew = Let(undecided.at(row));
    const newPlace = rank
      .at(row)
      .mul(k)
      .add(place.sub(row.mul(k)));
    return {
      keys: select(keys.at(place), newKeys.at(newPlace), isNew),
      ids: select(ids.at(place), newIds.at(newPlace), isNew),
    };
  },
);

/** The vectors of the queries with the given indices. */
function queriesOf(
  { context, dimensions }: Search,
  elements: Column<'f32'>,
  rows: Column<'u32'>,
): Pick<Queries, 'elements' | 'count'> {
  const place = sequence(scaleLength(context, rows.length, dimensions));
  return { elements: context.materialize(map(elementOf, { place, rows, elements, dimensions })), count: rows.length };
}

const elementOf = fn(
  'elementOf',
  { place: u32, rows: array(u32), elements: array(f32), dimensions: uniform(u32) },
  f32,
  ({ place, rows, elements, dimensions }) => {
    const row = Let(place.div(dimensions));
    return elements.at(
      rows
        .at(row)
        .mul(dimensions)
        .add(place.sub(row.mul(dimensions))),
    );
  },
);

/** For every query and run, a lower bound of the distances of the run's points, as a key. */
function boundsOfRuns(
  { context, points, lowered, dimensions, run }: FilteredSearch,
  elements: Column<'f32'>,
  ownSquares: Column<'f32'>,
): Column<'u32'> {
  return crossReduce(
    { a: { elements, dimensions }, from: loweredSquares(context, ownSquares, dimensions) },
    { b: { elements: points, dimensions }, to: lowered },
    { start: 0, step: productStep, value: lowerBound },
    minimum(u32),
    { run },
  );
}

/**
 * Returns a function that tells whether a run may contain one of the k nearest points of a query. In each of the k runs
 * with the smallest bounds, some point has a distance of at most L + 2 · `errorShare` · N, where L is the bound of the
 * run and N = |a|² + |b|². With S as the squared distance, N ≤ 3 |a|² + 2 S, and S is hardly more than L. If the
 * smallest bound of the query is 0, sums of squares may have overflowed, so all runs are kept.
 */
function runsWithin({ k, listed, dimensions }: FilteredSearch, bounds: Column<'u32'>, ownSquares: Column<'f32'>) {
  return (row: U32, which: U32, loader: Loader): Bool => {
    const at = (place: U32 | number): U32 => loader.load([bounds], row.mul(listed).add(place))[0] as U32;
    const [square] = loader.load([ownSquares], row) as [F32];
    const last = bitsToF32(at(k - 1));
    const error = square.add(last).mul(loader.uniform('f32', Math.fround(10 * errorShare(dimensions))));
    const max = last.add(error.add(loader.uniform('f32', Math.fround(4 * dimensions * MIN_ERROR))));
    return at(0)
      .eq(0)
      .or(bitsToF32(at(which)).le(max));
  };
}

const productStep = fn('productStep', { sum: f32, a: f32, b: f32 }, f32, ({ sum, a, b }) => sum.add(a.mul(b)), {
  fast: true,
});

/** Relative rounding error of an f32 operation. */
const ROUNDING = 2 ** -24;
/** Upper bound of the error of one step of the sum, if the product of the step underflows in f32. */
const MIN_ERROR = 2 ** -120;
/** Sums of squares of at least this size may overflow in f32, so they give no bound. */
const MAX_SQUARES = 1e37;

/**
 * Upper bound of the filter's value minus the formula's value, as a share of N = |a|² + |b|². Let D be the number of
 * dimensions, u the relative rounding error, S the exact squared distance, and γ = D u / (1 − D u). To first order:
 *
 * - a·b has an error of at most γ |a| |b| ≤ γ N / 2, in any order of summation, with or without fused operations. |a|²
 *   and |b|² have a relative error of at most γ. Lowering |a|² and |b|² takes two roundings each, and adding them takes
 *   one. The final difference, which is at most 2 N, takes one more. In all: (2 D + 5) u N.
 * - The formula rounds each difference, each square and each sum. So its result differs from S by at most (D + 2) u S,
 *   and S ≤ 2 N.
 *
 * The sum of both errors is (4 D + 9) u N. The computed N has a relative error of at most (D + 1) u, and terms of
 * higher order are below D² u² N. For D ≤ 2^16, the constants in the code are large enough to cover these two errors as
 * well.
 */
function errorShare(dimensions: number): number {
  const first = (4 * dimensions + 16) * ROUNDING;
  return Math.fround(first * (1 + 16 * dimensions * ROUNDING) * 1.01);
}

/** Squared lengths, lowered by their share of the filter's maximum error, so that the filter gives lower bounds. */
export function loweredSquares(context: Context, squares: Column<'f32'>, dimensions: number): Column<'f32'> {
  const captures = { rest: 1 - errorShare(dimensions), min: dimensions * MIN_ERROR };
  return context.materialize(map(loweredSquare, { square: squares, ...captures }));
}

const loweredSquare = fn(
  'loweredSquare',
  { square: f32, rest: uniform(f32), min: uniform(f32) },
  f32,
  ({ square, rest, min }) => square.mul(rest).sub(min),
);

/** A lower bound of a squared distance, as a key. It is 0 if sums are not finite or may have overflowed. */
const lowerBound = fn('lowerBound', { sum: f32, from: f32, to: f32 }, u32, ({ sum, from, to }) => {
  const squares = Let(from.add(to));
  const bound = Let(squares.sub(sum.add(sum)));
  return select(u32(0), bitsToU32(bound), squares.lt(MAX_SQUARES).and(bound.gt(0)));
});

/** The squared lengths of vectors. */
export function squaredLengths(
  context: Context,
  elements: Column<'f32'>,
  dimensions: number,
  count: number,
): Column<'f32'> {
  return context.materialize(map(squaredLength, { vector: sequence(count), elements, dimensions }));
}

const squaredLength = fn(
  'squaredLength',
  { vector: u32, elements: array(f32), dimensions: uniform(u32) },
  f32,
  ({ vector, elements, dimensions }) => {
    const sum = Var(f32(0));
    const first = Let(vector.mul(dimensions));
    For(0, dimensions, (d) => {
      const element = elements.at(first.add(d));
      sum.set(sum.add(element.mul(element)));
    });
    return sum;
  },
);
