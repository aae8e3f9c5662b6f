import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aWhole, optional, someOptions } from '../../primitives/checks/kinds.ts';
import {
  ArgumentError,
  type Column,
  type Context,
  concatenate,
  crossReduce,
  f32,
  fn,
  map,
  slice,
  sqrt,
} from '../../primitives/index.ts';
import { extremesOf } from './extremes.ts';
import type { ListColumns } from './lists.ts';
import { aMetric, type Metric, recordOf } from './metrics.ts';
import { filterOf, loweredSquares, nearestByFilter, squaredLengths } from './nearest-by-filter.ts';
import { nearestByFormula, type Queries, runLength, type Search } from './nearest-by-formula.ts';
import { type Neighbours, neighboursOf, type Points, pointCount, somePoints } from './points.ts';

export interface NearestOptions {
  /** Number of points to find per query. */
  readonly k: number;
  /** How distances are measured. Default `l2`. */
  readonly metric?: Metric | undefined;
}

/**
 * Finds the k nearest points for every query, in any number of dimensions, from the distances to all points. Points and
 * queries are columns of f32: round coordinates of more digits yourself, after subtracting what they have in common.
 * Exact: points are ordered by the metric's formula ({@link Metric}), with every operation rounded, and points at equal
 * distance by id. So the bytes are the same on every backend.
 *
 * Points are divided into short runs. {@link crossReduce} finds the minimum distance of every run. The k nearest points
 * are in the k runs with the smallest minima, and only these runs are examined point by point. In 16 or more
 * dimensions, squared distances first get a lower bound: `|a|² + |b|² − 2 a·b`, minus the maximum rounding error. The
 * squared distances themselves are computed only if the bounds do not decide.
 *
 * If a coordinate is not 0, but below 2^-40 (9.1e-13) or above 2^62 (4.6e18) ÷ √dimensions, squared distances may leave
 * f32. Then they are summed with exponents of their own, which takes several times as long.
 *
 * Lists longer than {@link LIST} are found in rounds, each of which continues after the last point of the preceding
 * round.
 *
 * - Work O(queries · points · dimensions), span O(points + k · dimensions). One table has a word for every pair of a
 *   query and a run, another has a word for every pair of a query and a point of the examined runs. Queries are
 *   processed in batches, so that each table takes at most an eighth of `limits.memoryBytes`. Deterministic.
 * - A distance that would be NaN, because of NaN or infinite coordinates, is +∞. Such points come last.
 * - With fewer than k points, the rest of a list is {@link NO_POINT} at +∞. Without queries, the result is empty.
 * - Equivalent loop: `for (const q of queries) out.push(ids.toSorted((a, b) => distance(q, a) - distance(q, b) || a -
 *   b).slice(0, k))`.
 *
 * Source: Purcell, Sorting and Searching, 2005; Garcia, Debreuve and Barlaud, Fast k Nearest Neighbor Search using GPU,
 * 2008.
 *
 * @throws `ArgumentError` `neighbours/k`, `neighbours/metric`, `neighbours/points` if the number of elements is not a
 * multiple of the dimensions, `neighbours/dimensions` if points and queries differ in dimensions, `neighbours/length`
 * if the length of a column is known only on the device.
 * @example
 * const points = { elements: ctx.column(Float32Array.of(0, 0, 3, 4, 1, 1, 5, 5)), dimensions: 2 };
 * const queries = { elements: ctx.column(Float32Array.of(1, 0, 4, 4)), dimensions: 2 };
 * const { ids, distances } = nearest(ctx, points, queries, { k: 2 });
 * await ctx.read({ ids, distances }); // { ids: Uint32Array [0, 2, 1, 3], distances: Float32Array [1, 1, 1, 2] }
 */
export function nearest(context: Context, points: Points, queries: Points, options: NearestOptions): Neighbours {
  requireArguments(
    'nearest',
    { context, points, queries, options },
    { context: aContext, points: somePoints, queries: somePoints, options: someNearestOptions },
  );
  const { k, metric = 'l2' } = options;
  const [n, m] = [pointCount('nearest', 'points', points), pointCount('nearest', 'queries', queries)];
  requireDimensions('nearest', points.dimensions, queries.dimensions);
  return context.scope(() => {
    const measure = recordOf(metric).device;
    const filter = measure.areSquares ? filterOf(n, k, points.dimensions) : undefined;
    const { run, listed = k } = filter ?? { run: runLength(n, k, points.dimensions) };
    const elements = context.materialize(points.elements);
    const search: Search = {
      ...{ context, measure, k, n, run, dimensions: points.dimensions, points: elements },
      lengths: measure.needsLengths ? lengthsOf(context, points, n) : undefined,
    };
    const extremesIn = (some: Column<'f32'>): Column<'u32'> | undefined =>
      measure.atAnyScale && extremesOf(context, some, points.dimensions);
    const extremes = extremesIn(elements);
    const lowered =
      filter && loweredSquares(context, squaredLengths(context, elements, points.dimensions, n), points.dimensions);
    const max = queriesAtOnce(search, listed);
    const parts: ListColumns[] = [];
    for (let from = 0; from < m; from += max) {
      const count = Math.min(max, m - from);
      const some = slice(queries.elements, from * points.dimensions, (from + count) * points.dimensions);
      parts.push(
        context.scope(() => {
          const given = queriesOfPart(search, context.materialize(some), count);
          const own = extremesIn(given.elements);
          const part = { ...search, extremes: extremes && own && ([extremes, own] as const) };
          return lowered === undefined
            ? nearestByFormula(part, given)
            : nearestByFilter({ ...part, lowered, listed }, given);
        }),
      );
    }
    const none = { keys: context.column(new Uint32Array()), ids: context.column(new Uint32Array()) };
    return neighboursOf(context, parts.length > 0 ? concatenate(parts) : none, measure);
  });
}

export const MAX_NEIGHBOURS: number = 2 ** 20;

const someNearestOptions = someOptions<NearestOptions>({
  k: aWhole(1, MAX_NEIGHBOURS, 'neighbours/k'),
  metric: optional(aMetric),
});

export function requireDimensions(call: string, points: number, queries: number): void {
  if (points === queries) return;
  throw new ArgumentError('neighbours/dimensions', `Points and queries of ${call} have different dimensions.`, {
    expected: points,
    got: queries,
  });
}

/** Maximum number of words per table, which limits the number of queries in a batch. */
const MAX_WORDS = 2 ** 26;

/**
 * Maximum number of queries in a batch. It keeps the tables of runs and of candidates within {@link MAX_WORDS} and
 * within an eighth of the memory.
 */
function queriesAtOnce({ context, n, run }: Search, listed: number): number {
  const words = Math.min(MAX_WORDS, context.backend.limits.memoryBytes / 4 / 8);
  const runs = Math.ceil(n / run);
  return Math.max(1, Math.floor(words / Math.max(1, runs, Math.min(runs, listed) * run)));
}

function queriesOfPart(search: Search, elements: Column<'f32'>, count: number): Queries & { readonly count: number } {
  const { context, dimensions } = search;
  const lengths = search.lengths && lengthsOf(context, { elements, dimensions }, count);
  return { elements, lengths, count };
}

/** The Euclidean lengths of vectors. */
function lengthsOf(context: Context, { elements, dimensions }: Points, count: number): Column<'f32'> {
  const squares = squaredLengths(context, elements, dimensions, count);
  return context.materialize(map(rootOf, { square: squares }));
}

const rootOf = fn('vectorLength', { square: f32 }, f32, ({ square }) => sqrt(square));
