import { aContext } from '../../primitives/argument-kinds.ts';
import { requireArguments } from '../../primitives/arguments.ts';
import { destination, fuse, type Loader, programOf } from '../../primitives/columns/program.ts';
import {
  ArgumentError,
  array,
  type Column,
  type Context,
  concatenate,
  crossReduce,
  type F32,
  For,
  f32,
  fn,
  Let,
  map,
  minimum,
  select,
  sequence,
  slice,
  sqrt,
  type U32,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { aWhole, optional, someOptions } from '../../primitives/kinds.ts';
import { fillLists, isBefore, type ListColumns, NO_POINT, offer } from './lists.ts';
import { aMetric, type Measure, type Metric, measureOf } from './metrics.ts';
import { type Neighbours, neighboursOf, type Points, pointCount, somePoints } from './points.ts';

export interface NearestOptions {
  /** How many points every query gets. */
  readonly k: number;
  /** `l2` where it is left out. */
  readonly metric?: Metric | undefined;
}

/**
 * The k nearest of all points for every query, in any number of dimensions, by the distances to all of them. Exact: they are in
 * the order of the formula in f32, every operation of it rounded, and equally far points in the order of their ids; so the bytes
 * are the same on every backend.
 *
 * Points are taken in short runs. {@link crossReduce} finds the least distance of every run. The k nearest are in the k runs
 * that come first by it, and only these are looked at point by point. Lists longer than {@link LIST} are found in rounds, each
 * of the points behind the last one of the round before.
 *
 * - Work O(queries · points · dimensions), span O(points + k · dimensions). Takes memory for a word for every query and run, at
 *   most an eighth of `limits.memoryBytes`: many queries are taken in parts. Deterministic.
 * - A coordinate that is NaN or infinite makes what would be NaN +∞: such points come behind all others.
 * - Of fewer than k points: the rest of a list is {@link NO_POINT} at +∞. Of no queries: none.
 * - Equivalent loop: `for (const q of queries) out.push(ids.toSorted((a, b) => distance(q, a) - distance(q, b) || a - b).slice(0, k))`.
 *
 * Source: Purcell, Sorting and Searching, 2005; Garcia, Debreuve and Barlaud, Fast k Nearest Neighbor Search using GPU, 2008.
 *
 * @throws `ArgumentError` `neighbours/k`, `neighbours/metric`, `neighbours/points` where elements make no whole points,
 * `neighbours/dimensions` where points and queries have different ones, `neighbours/length` where only the device knows how many.
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
    const measure = measureOf(metric);
    const search = {
      context,
      measure,
      k,
      n,
      dimensions: points.dimensions,
      points: context.materialize(points.elements),
      lengths: metric === 'cosine' ? lengthsOf(context, points, n) : undefined,
      run: runLength(n, k, points.dimensions),
    };
    const most = queriesAtOnce(search);
    const parts: ListColumns[] = [];
    for (let from = 0; from < m; from += most) {
      const count = Math.min(most, m - from);
      const elements = slice(queries.elements, from * points.dimensions, (from + count) * points.dimensions);
      parts.push(context.scope(() => nearestOfSome(search, context.materialize(elements), count)));
    }
    const none = { keys: context.column(new Uint32Array()), ids: context.column(new Uint32Array()) };
    return neighboursOf(context, parts.length > 0 ? concatenate(parts) : none, measure);
  });
}

export const MOST_NEIGHBOURS: number = 2 ** 20;

const someNearestOptions = someOptions<NearestOptions>({
  k: aWhole(1, MOST_NEIGHBOURS, 'neighbours/k'),
  metric: optional(aMetric),
});

export function requireDimensions(call: string, points: number, queries: number): void {
  if (points === queries) return;
  throw new ArgumentError('neighbours/dimensions', `Points and queries of ${call} have different dimensions.`, {
    expected: points,
    got: queries,
  });
}

/** What all queries share. */
interface Search {
  readonly context: Context;
  readonly measure: Measure;
  readonly k: number;
  readonly n: number;
  readonly dimensions: number;
  readonly points: Column<'f32'>;
  /** Lengths of the vectors, where the metric asks for them. */
  readonly lengths: Column<'f32'> | undefined;
  /** Points of a run. */
  readonly run: number;
}

const [SHORTEST_RUN, LONGEST_RUN] = [16, 256];

/** As many points as make looking at least distances of runs and at the points of k runs about equally much work. */
function runLength(n: number, k: number, dimensions: number): number {
  const even = Math.log2(Math.sqrt(n / (k * dimensions)) + 1);
  return Math.max(SHORTEST_RUN, Math.min(LONGEST_RUN, 2 ** Math.round(even)));
}

/** The most words that a batch of queries takes for each of its tables. */
const MOST_WORDS = 2 ** 25;

function queriesAtOnce({ context, n, k, run }: Search): number {
  const words = Math.min(MOST_WORDS, context.backend.limits.memoryBytes / 4 / 8);
  const runs = Math.ceil(n / run);
  return Math.max(1, Math.floor(words / Math.max(1, runs, Math.min(runs, k) * run)));
}

/** The lengths of vectors. */
function lengthsOf(context: Context, { elements, dimensions }: Points, count: number): Column<'f32'> {
  const length = fn(
    'vectorLength',
    { i: u32, elements: array(f32), dimensions: uniform(u32) },
    f32,
    ({ i, elements, dimensions }) => {
      const sum = Var(f32(0));
      For(0, dimensions, (d) => {
        const element = elements.at(i.mul(dimensions).add(d));
        sum.set(sum.add(element.mul(element)));
      });
      return sqrt(Let(sum) as F32);
    },
  );
  return context.materialize(map(length, { i: sequence(count), elements, dimensions }));
}

function nearestOfSome(search: Search, queries: Column<'f32'>, count: number): ListColumns {
  const { context, n, k, run, dimensions } = search;
  const given: Given = {
    elements: queries,
    lengths: search.lengths && lengthsOf(context, { elements: queries, dimensions }, count),
    count,
  };
  const runs = Math.ceil(n / run);
  const chosen = runs > k ? nearestRuns(search, given, runs) : undefined;
  const candidates = chosen === undefined ? n : k * run;
  const idOf = (row: U32, place: U32, loader: Loader): U32 => {
    if (chosen === undefined) return place;
    const which = place.div(run);
    const [first] = loader.load([chosen], row.mul(k).add(which)) as [U32];
    return first.mul(run).add(place.sub(which.mul(run)));
  };
  const keys = candidateKeys(search, given, candidates, idOf);
  const farKey = search.measure.farKey;
  return fillLists(context, 'nearestPoints', count, k, farKey, (row, list, loader, after) => {
    For(0, loader.uniform('u32', candidates), (place) => {
      const [key] = loader.load([keys], row.mul(loader.uniform('u32', candidates)).add(place)) as [U32];
      offer(list, key, () => idOf(row, place, loader), after && ((id) => isBefore(after.key, after.id, key, id)));
    });
  });
}

/** Queries of a batch. */
interface Given {
  readonly elements: Column<'f32'>;
  readonly lengths: Column<'f32'> | undefined;
  readonly count: number;
}

/** The k runs of points whose nearest points are the nearest. */
function nearestRuns(search: Search, given: Given, runs: number): Column<'u32'> {
  const { context, k, measure, run, dimensions } = search;
  const step = fn('distanceStep', { sum: f32, a: f32, b: f32 }, f32, ({ sum, a, b }) => measure.step(sum, a, b));
  const [left, right] = [
    { a: { elements: given.elements, dimensions } },
    { b: { elements: search.points, dimensions } },
  ];
  const least = crossReduce(
    given.lengths === undefined ? left : { ...left, from: given.lengths },
    search.lengths === undefined ? right : { ...right, to: search.lengths },
    { start: 0, step, value: keyFunctor(search) },
    minimum(u32),
    { run },
  );
  return fillLists(context, 'nearestRuns', given.count, k, NO_POINT, (row, list, loader, after) => {
    For(0, loader.uniform('u32', runs), (place) => {
      const [key] = loader.load([least], place.mul(loader.uniform('u32', given.count)).add(row)) as [U32];
      offer(list, key, () => place, after && ((id) => isBefore(after.key, after.id, key, id)));
    });
  }).ids;
}

function keyFunctor({ measure, lengths }: Search) {
  if (lengths === undefined) return fn('distanceKey', { sum: f32 }, u32, ({ sum }) => measure.keyOf(sum));
  return fn('angleKey', { sum: f32, from: f32, to: f32 }, u32, ({ sum, from, to }) => measure.keyOf(sum, [from, to]));
}

/** How far the candidates of every query are, row after row; those that are none are farther than everything. */
function candidateKeys(
  { context, measure, n, points, lengths, dimensions }: Search,
  given: Given,
  candidates: number,
  idOf: (row: U32, place: U32, loader: Loader) => U32,
): Column<'u32'> {
  const keys = context.stored('u32', given.count * candidates);
  const fusion = fuse('candidateKeys', [], ['u32'], (index, _, loader) => {
    const row = Let(index.div(loader.uniform('u32', candidates)));
    const id = Let(idOf(row, index.sub(row.mul(loader.uniform('u32', candidates))), loader));
    const sum = Var(f32(0));
    const width = loader.uniform('u32', dimensions);
    const [from, to] = [Let(row.mul(width)), Let(id.mul(width))];
    For(0, width, (d) => {
      const [a] = loader.load([given.elements], from.add(d)) as [F32];
      const [b] = loader.load([points], to.add(d)) as [F32];
      sum.set(measure.step(sum, a, b));
    });
    const both =
      lengths === undefined
        ? undefined
        : ([...loader.load([given.lengths!], row), ...loader.load([lengths], id)] as unknown as [F32, F32]);
    const key = measure.keyOf(Let(sum) as F32, both);
    return [select(u32(NO_POINT), key, id.lt(loader.uniform('u32', n)))];
  });
  const program = programOf(fusion, context, keys.length);
  context.backend.forEach(given.count * candidates, program, [{ ...destination(keys), value: 0 }]);
  return keys;
}
