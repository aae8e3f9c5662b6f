import { capacityOf } from '../../primitives/columns/length.ts';
import type { Loader } from '../../primitives/columns/program.ts';
import {
  array,
  type Bool,
  bool,
  type Column,
  type Context,
  copyIf,
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
  type U32,
  u32,
} from '../../primitives/index.ts';
import { storeResults } from '../../primitives/rows/row-results.ts';
import { isAnyExtreme, keyOfVectors } from './extremes.ts';
import { fillLists, type ListColumns, NO_POINT, offer } from './lists.ts';
import type { Measure } from './measures.ts';

/** The points and the parameters of a search, which all its queries share. */
export interface Search {
  readonly context: Context;
  readonly measure: Measure;
  readonly k: number;
  readonly n: number;
  readonly dimensions: number;
  readonly points: Column<'f32'>;
  /** Lengths of the points as vectors, for metrics that need them. */
  readonly lengths: Column<'f32'> | undefined;
  /** Number of points in a run (a block of consecutive points). */
  readonly run: number;
  /** Words that are not 0 if plain sums may leave f32: one of the points, one of the queries. */
  readonly extremes?: readonly [Column<'u32'>, Column<'u32'>] | undefined;
}

/** A batch of queries. */
export interface Queries {
  readonly elements: Column<'f32'>;
  readonly lengths: Column<'f32'> | undefined;
  readonly count: Column['length'];
}

/**
 * The number of points per run (block of consecutive points) at which two costs are about equal: finding the minima of
 * all runs, and examining the points of k runs.
 */
export function runLength(n: number, k: number, dimensions: number): number {
  return runOf(Math.log2(Math.sqrt(n / (k * dimensions)) + 1));
}

/** A power of two, as the length of a run. */
export const runOf = (exponent: number): number => Math.max(16, Math.min(256, 2 ** Math.round(exponent)));

/**
 * Finds the nearest points by evaluating the metric's formula for all pairs of query and point. If plain sums may leave
 * f32, they choose no runs, and every query is compared with all points one by one.
 */
export function nearestByFormula(search: Search, queries: Queries): ListColumns {
  const { n, k, run } = search;
  const runs = Math.ceil(n / run);
  if (runs <= k) return nearestOfCandidates(search, queries, n, (_row, place) => place);
  const chosen = nearestRuns(search, queries, runs);
  return nearestOfRuns(search, queries, { runs: chosen, count: k, pitch: k, areOnlyOrdinary: true });
}

/**
 * The runs (blocks of consecutive points) to examine for every query. The first `count` entries of a row of `runs` are
 * the runs of one query. Rows start every `pitch` entries.
 */
export interface ChosenRuns {
  readonly runs: Column<'u32'>;
  readonly count: number;
  readonly pitch: number;
  /**
   * Whether one of the nearest points may be in the run at entry `place` of a row of `runs`. If not, the run is
   * skipped. Without this function, all runs are examined.
   */
  readonly isOpen?: (row: U32, place: U32, loader: Loader) => Bool;
  /** Whether the runs are right only for ordinary coordinates. For others, all points are examined. */
  readonly areOnlyOrdinary?: boolean;
}

/** Finds the nearest points among the points of the chosen runs. */
export function nearestOfRuns(search: Search, queries: Queries, chosen: ChosenRuns): ListColumns {
  const { run } = search;
  const { runs, count, pitch, isOpen, areOnlyOrdinary = false } = chosen;
  const idOf: IdOf = (row, place, loader) => {
    const which = Let(place.div(run));
    const [first] = loader.load([runs], row.mul(pitch).add(which)) as [U32];
    const id = first.mul(run).add(place.sub(which.mul(run)));
    return isOpen === undefined ? id : select(u32(NO_POINT), id, isOpen(row, which, loader));
  };
  return nearestOfCandidates(search, queries, count * run, idOf, areOnlyOrdinary);
}

/** Returns the point that is candidate number `place` of the query `row`. */
type IdOf = (row: U32, place: U32, loader: Loader) => U32;

function nearestOfCandidates(
  search: Search,
  queries: Queries,
  candidates: number,
  idOf: IdOf,
  areOnlyOrdinary = false,
): ListColumns {
  const { context, k, measure, extremes } = search;
  const plain = areOnlyOrdinary ? { ...search, extremes: undefined } : search;
  const keys = candidateKeys(plain, queries, candidates, idOf);
  const lists = fillLists(context, 'nearestPoints', queries.count, k, measure.farKey, (row, list, loader, after) => {
    For(0, loader.uniform('u32', candidates), (place) => {
      const [key] = loader.load([keys], row.mul(loader.uniform('u32', candidates)).add(place)) as [U32];
      offer(list, key, () => idOf(row, place, loader), after);
    });
  });
  return areOnlyOrdinary && extremes !== undefined ? orNearestOfAll(search, extremes, queries, lists) : lists;
}

/** The lists or, if plain sums may leave f32, the nearest of all points, by the sums for any scale. */
function orNearestOfAll(
  search: Search,
  extremes: readonly [Column<'u32'>, Column<'u32'>],
  queries: Queries,
  lists: ListColumns,
): ListColumns {
  const { context, k, n, measure } = search;
  const flags = { points: extremes[0], queries: extremes[1] };
  // All queries, or none: the kernel then has nothing to do.
  const rows = copyIf(
    sequence(capacityOf(queries.count)),
    map(isExtremeRow, { row: sequence(capacityOf(queries.count)), ...flags }),
  );
  const atAnyScale = { ...search, extremes: undefined, measure: { ...measure, ...measure.atAnyScale } };
  const all = fillLists(context, 'nearestOfAll', rows.length, k, measure.farKey, (row, list, loader, after) => {
    For(0, loader.uniform('u32', n), (id) => {
      const key = Let(keyOfPair(atAnyScale, queries, row, id, loader));
      offer(list, key, () => id, after);
    });
  });
  return context.materialize(map(eitherEntry, { ...lists, newKeys: all.keys, newIds: all.ids, ...flags }));
}

const FLAGS = { points: array(u32), queries: array(u32) };

const isExtremeRow = fn('isExtremeRow', { row: u32, ...FLAGS }, bool, ({ points, queries }) =>
  points.at(0).or(queries.at(0)).ne(0),
);

const eitherEntry = fn(
  'eitherEntry',
  { keys: u32, ids: u32, newKeys: u32, newIds: u32, ...FLAGS },
  { keys: u32, ids: u32 },
  ({ keys, ids, newKeys, newIds, points, queries }) => {
    const isNew = Let(points.at(0).or(queries.at(0)).ne(0));
    return { keys: select(keys, newKeys, isNew), ids: select(ids, newIds, isNew) };
  },
);

/** For every query, the k runs whose nearest points have the smallest distances. */
function nearestRuns(search: Search, queries: Queries, runs: number): Column<'u32'> {
  const { context, k, measure, run, dimensions } = search;
  const step = fn('distanceStep', { sum: measure.sums, a: f32, b: f32 }, measure.sums, ({ sum, a, b }) =>
    measure.step(sum, a, b),
  );
  const start = Object.fromEntries(Object.keys(measure.sums).map((name) => [name, 0]));
  const [left, right] = [
    { a: { elements: queries.elements, dimensions } },
    { b: { elements: search.points, dimensions } },
  ];
  const min = crossReduce(
    queries.lengths === undefined ? left : { ...left, from: queries.lengths },
    search.lengths === undefined ? right : { ...right, to: search.lengths },
    { start, step, value: keyFunctor(search) },
    minimum(u32),
    { run },
  );
  return firstRuns(context, min, queries.count, runs, k).ids;
}

/**
 * For every query, the runs with the smallest keys. `keys` is a table with one row per run and one column per query.
 */
export function firstRuns(
  context: Context,
  keys: Column<'u32'>,
  count: Column['length'],
  runs: number,
  k: number,
): ListColumns {
  const pitch = capacityOf(count);
  return fillLists(context, 'nearestRuns', count, k, NO_POINT, (row, list, loader, after) => {
    For(0, loader.uniform('u32', runs), (place) => {
      const [key] = loader.load([keys], place.mul(loader.uniform('u32', pitch)).add(row)) as [U32];
      offer(list, key, () => place, after);
    });
  });
}

function keyFunctor({ measure, lengths }: Search) {
  const { sums } = measure;
  const keyOf = measure.orderOf ?? measure.keyOf;
  if (lengths === undefined) return fn('distanceKey', { sum: sums }, u32, ({ sum }) => keyOf(sum));
  return fn('angleKey', { sum: sums, from: f32, to: f32 }, u32, ({ sum, from, to }) => measure.keyOf(sum, [from, to]));
}

/** Number of elements read together, which fill a cache sector of a GPU. */
const AT_ONCE = 8;

/**
 * The keys of the candidates of all queries, row after row. A candidate that does not exist gets a key above all
 * distances.
 */
function candidateKeys(search: Search, queries: Queries, candidates: number, idOf: IdOf): Column<'u32'> {
  const { context, n } = search;
  const keys = context.stored('u32', capacityOf(queries.count) * candidates);
  const keyAt = (index: U32, loader: Loader): U32[] => {
    const row = Let(index.div(loader.uniform('u32', candidates)));
    const isRow = row.lt(loader.length(queries.count));
    const place = index.sub(row.mul(loader.uniform('u32', candidates)));
    const id = Let(select(u32(NO_POINT), idOf(row, place, loader), isRow));
    const isPoint = Let(id.lt(loader.uniform('u32', n)));
    return [select(u32(NO_POINT), keyOfPair(search, queries, row, id, loader, isPoint), isPoint)];
  };
  storeResults('candidateKeys', { context, length: keys.length, row: keyAt }, ['u32'], [{ to: keys, value: 0 }]);
  return keys;
}

/** The key of the distance between a query and a point. If `isPoint` does not hold, no coordinates are read. */
function keyOfPair(search: Search, queries: Queries, row: U32, id: U32, loader: Loader, isPoint?: Bool): U32 {
  const { measure, points, lengths, dimensions, extremes } = search;
  const width = loader.uniform('u32', dimensions);
  const [from, to] = [Let(row.mul(width)), Let(id.mul(width))];
  const upTo = (end: U32): U32 => (isPoint === undefined ? end : select(u32(0), end, isPoint));
  const both =
    lengths === undefined
      ? undefined
      : ([...loader.load([queries.lengths!], row), ...loader.load([lengths], id)] as unknown as [F32, F32]);
  const each = (body: (a: F32, b: F32) => void): void => {
    const step = (d: U32): void => {
      const [a] = loader.load([queries.elements], from.add(d)) as [F32];
      const [b] = loader.load([points], to.add(d)) as [F32];
      body(a, b);
    };
    // Reads adjacent elements one directly after the other, while they are in the cache.
    const groups = Let(upTo(width.div(AT_ONCE)));
    For(0, groups, (group) => {
      const first = Let(group.mul(AT_ONCE));
      for (let d = 0; d < AT_ONCE; d++) step(first.add(d));
    });
    For(groups.mul(AT_ONCE), upTo(width), step);
  };
  return keyOfVectors(measure, extremes && isAnyExtreme(extremes, loader), each, both);
}
