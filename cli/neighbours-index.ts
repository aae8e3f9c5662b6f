import {
  buildPointTree,
  type Metric,
  NO_POINT,
  nearest,
  nearestInTree,
  type Points,
  withinRadius,
} from '../algorithms/neighbours/index.ts';
import { pairsWithin } from '../algorithms/neighbours/pairs-within.ts';
import type { Context } from '../primitives/context.ts';
import { OutOfMemoryError } from '../primitives/errors.ts';
import type { Asked } from './neighbours-arguments.ts';

/**
 * The neighbours of a batch of queries. Query i has the rows `offsets[i] … offsets[i + 1] − 1`, in ascending order of
 * distance.
 */
export interface Found {
  readonly offsets: Uint32Array;
  /**
   * For each row, the number of the neighbour among the points. Points are numbered in the order in which they were
   * given.
   */
  readonly ids: Uint32Array;
  readonly distances: Float32Array;
}

/** Points on a device, prepared for searches. */
export interface NeighbourIndex {
  /** Method of the search: with a tree, or by comparing each query with all points. */
  readonly way: 'tree' | 'all points';
  /** Recommended maximum number of queries per call. */
  readonly maxQueries: number;
  /**
   * Finds the neighbours of queries. If `own` is given, the queries are consecutive points, beginning with point number
   * `own`, and a point is not its own neighbour.
   */
  search(elements: Float32Array, own: number | undefined): Promise<Found>;
}

/** The points to search among, and which neighbours to find. */
export interface NeighbourJob {
  readonly asked: Asked;
  readonly metric: Metric;
  /** Number of coordinates of a point. */
  readonly dimensions: number;
  /** Coordinates of the points, point after point. */
  readonly elements: Float32Array;
}

const MAX_TREE_DIMENSIONS = 3;
/** Maximum number of result rows on the device. */
const MAX_ROWS = 2 ** 20;
const MAX_QUERIES = 2 ** 15;
/**
 * Maximum product of queries, points and coordinates per point in a search without a tree. With this limit, the search
 * takes a fraction of a second.
 */
const MAX_STEPS = 2 ** 34;
/**
 * Maximum number of pairs of a query and a point in a search by radius without a tree. Such a search stores the
 * distances of all pairs in the device's memory.
 */
const MAX_PAIRS = 2 ** 24;

/** Uploads points. Builds a tree over them if they have at most three coordinates and the metric allows it. */
export function neighbourIndex(
  context: Context,
  { asked, metric, dimensions, elements }: NeighbourJob,
): NeighbourIndex {
  const count = elements.length / dimensions;
  const hasTree = dimensions <= MAX_TREE_DIMENSIONS && metric !== 'cosine' && metric !== 'inner';
  // A tree needs at least two coordinates. Adding a coordinate of 0 to all points and queries changes no distance.
  const width = hasTree ? Math.max(2, dimensions) : dimensions;
  const place = (given: Float32Array): Points => ({
    elements: context.column(widened(given, dimensions, width)),
    dimensions: width,
  });
  const points = place(elements);
  const finder = hasTree ? treeFinder(context, points, metric) : plainFinder(context, points, metric);
  const finish = (distance: number): number => rooted(metric, distance);

  async function search(given: Float32Array, own: number | undefined): Promise<Found> {
    const queries = given.length / dimensions;
    if (queries === 0 || count === 0) return nothing(queries);
    const placed = place(given);
    try {
      const found =
        asked.kind === 'nearest'
          ? await finder.nearest(placed, Math.min(count, own === undefined ? asked.k : asked.k + 1))
          : await finder.within(placed, limitOf(metric, asked.radius));
      return tidied(found, queries, own, asked.kind === 'nearest' ? asked.k : count, finish);
    } finally {
      context.dispose(placed);
    }
  }

  /**
   * Searches for the neighbours of all queries. If the result does not fit in memory, divides the queries into two
   * halves and searches for each half.
   */
  async function searchInParts(given: Float32Array, own: number | undefined): Promise<Found> {
    try {
      return await search(given, own);
    } catch (error) {
      const queries = given.length / dimensions;
      if (!(error instanceof OutOfMemoryError) || queries < 2) throw error;
      const half = queries >> 1;
      const first = await searchInParts(given.subarray(0, half * dimensions), own);
      const second = await searchInParts(given.subarray(half * dimensions), own === undefined ? undefined : own + half);
      return joined(first, second);
    }
  }

  const rows = asked.kind === 'nearest' ? Math.min(count, asked.k + 1) : 1;
  const atOnce = hasTree ? MAX_QUERIES : MAX_STEPS / Math.max(1, count * dimensions);
  const pairs = asked.kind === 'radius' && !hasTree ? MAX_PAIRS / Math.max(1, count) : MAX_QUERIES;
  const max = Math.floor(Math.min(MAX_QUERIES, atOnce, pairs, MAX_ROWS / Math.max(1, rows)));
  return { way: hasTree ? 'tree' : 'all points', maxQueries: Math.max(1, max), search: searchInParts };
}

/**
 * The rows that an algorithm returns. {@link tidied} removes some of the rows, such as rows that stand for a missing
 * neighbour.
 */
type RawFound = Found;

interface Finder {
  nearest(queries: Points, k: number): Promise<RawFound>;
  within(queries: Points, radius: number): Promise<RawFound>;
}

function treeFinder(context: Context, points: Points, metric: Metric): Finder {
  const tree = buildPointTree(context, points);
  context.dispose(points);
  return {
    async nearest(queries, k) {
      const found = nearestInTree(context, tree, queries, { k, metric });
      return listsOf(await context.read({ ...found }).finally(() => context.dispose(found)), k);
    },
    async within(queries, radius) {
      const found = await withinRadius(context, tree, queries, { radius, metric, sorted: true });
      return context.read({ ...found }).finally(() => context.dispose(found));
    },
  };
}

function plainFinder(context: Context, points: Points, metric: Metric): Finder {
  return {
    async nearest(queries, k) {
      const found = nearest(context, points, queries, { k, metric });
      return listsOf(await context.read({ ...found }).finally(() => context.dispose(found)), k);
    },
    async within(queries, radius) {
      const found = pairsWithin(context, points, queries, { radius, metric });
      const { query, id, distance } = await context.read({ ...found }).finally(() => context.dispose(found));
      return sortedRuns(query, id, distance, (queries.elements.length as number) / queries.dimensions);
    },
  };
}

function listsOf({ ids, distances }: { ids: Uint32Array; distances: Float32Array }, k: number): RawFound {
  return { offsets: Uint32Array.from({ length: ids.length / k + 1 }, (_, i) => i * k), ids, distances };
}

/** Groups pairs by query. Within a query, sorts them by distance, then by the number of the point. */
function sortedRuns(query: Uint32Array, id: Uint32Array, distance: Float32Array, queries: number): RawFound {
  const offsets = new Uint32Array(queries + 1);
  for (const each of query) offsets[each + 1]!++;
  for (let i = 0; i < queries; i++) offsets[i + 1]! += offsets[i]!;
  const [ids, distances] = [new Uint32Array(id.length), new Float32Array(id.length)];
  for (let i = 0; i < queries; i++) {
    const [from, to] = [offsets[i]!, offsets[i + 1]!];
    const order = Uint32Array.from({ length: to - from }, (_, j) => from + j);
    order.sort((a, b) => (distance[a]! === distance[b]! ? id[a]! - id[b]! : distance[a]! - distance[b]!));
    for (const [j, row] of order.entries()) {
      ids[from + j] = id[row]!;
      distances[from + j] = distance[row]!;
    }
  }
  return { offsets, ids, distances };
}

/**
 * Removes rows without a point and rows in which a query is its own neighbour. Keeps at most the first k of the
 * remaining rows of each query. Applies `finish` to the distances of the rows that are kept.
 */
function tidied(
  { offsets, ids, distances }: RawFound,
  queries: number,
  own: number | undefined,
  k: number,
  finish: (distance: number) => number,
): Found {
  const tidy = { offsets: new Uint32Array(queries + 1), ids: ids.slice(), distances: distances.slice() };
  let rows = 0;
  for (let i = 0; i < queries; i++) {
    const itself = own === undefined ? NO_POINT : own + i;
    for (let row = offsets[i]!; row < offsets[i + 1]! && rows - tidy.offsets[i]! < k; row++) {
      const id = ids[row]!;
      if (id === NO_POINT || id === itself) continue;
      tidy.ids[rows] = id;
      tidy.distances[rows++] = finish(distances[row]!);
    }
    tidy.offsets[i + 1] = rows;
  }
  return { offsets: tidy.offsets, ids: tidy.ids.subarray(0, rows), distances: tidy.distances.subarray(0, rows) };
}

function nothing(queries: number): Found {
  return { offsets: new Uint32Array(queries + 1), ids: new Uint32Array(), distances: new Float32Array() };
}

function joined(first: Found, second: Found): Found {
  const rows = first.ids.length;
  const ids = new Uint32Array(rows + second.ids.length);
  const distances = new Float32Array(ids.length);
  ids.set(first.ids);
  ids.set(second.ids, rows);
  distances.set(first.distances);
  distances.set(second.distances, rows);
  const offsets = new Uint32Array(first.offsets.length + second.offsets.length - 1);
  offsets.set(first.offsets);
  for (const [i, offset] of second.offsets.entries()) offsets[first.offsets.length - 1 + i] = rows + offset;
  return { offsets, ids, distances };
}

/** Increases the number of coordinates to `width`, by adding coordinates of 0. */
function widened(elements: Float32Array, dimensions: number, width: number): Float32Array {
  if (dimensions === width) return elements;
  const wide = new Float32Array((elements.length / dimensions) * width);
  for (let i = 0; i < elements.length; i++) wide[Math.floor(i / dimensions) * width + (i % dimensions)] = elements[i]!;
  return wide;
}

/**
 * The radius in the form that the algorithms expect: the p-th power of the radius for metrics `{ lp: p }`, the radius
 * itself for all named metrics, including `l2`.
 */
function limitOf(metric: Metric, radius: number): number {
  return Math.fround(typeof metric === 'string' ? radius : radius ** metric.lp);
}

/** Converts a sum of p-th powers to a distance, by taking the p-th root. Results of other metrics are unchanged. */
function rooted(metric: Metric, sum: number): number {
  if (metric === 'l2') return Math.sqrt(sum);
  return typeof metric === 'string' ? sum : sum ** (1 / metric.lp);
}
