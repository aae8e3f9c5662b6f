import { type Coordinates, countOf, partOf } from '../algorithms/neighbours/exact/coordinates.ts';
import { deviceFrame } from '../algorithms/neighbours/exact/device-frame.ts';
import { type HostTree, hostTree, type Visitor } from '../algorithms/neighbours/exact/host-tree.ts';
import { nearestList, withinList } from '../algorithms/neighbours/exact/nearest-list.ts';
import type { Placed, Ranking } from '../algorithms/neighbours/exact/ranking.ts';
import type { Space, Vectors } from '../algorithms/neighbours/exact/space.ts';
import { NO_POINT } from '../algorithms/neighbours/index.ts';
import { type HostMetric, recordOf } from '../algorithms/neighbours/metrics.ts';
import { inStretches } from '../algorithms/stretches.ts';
import { OutOfMemoryError } from '../primitives/checks/errors.ts';
import type { Context } from '../primitives/context/context.ts';
import type { Asked } from './neighbours-arguments.ts';
import { type Candidates, deviceFinder } from './neighbours-finders.ts';
import { type Found, foundRows, joined, nothing, pauses } from './neighbours-found.ts';

/** Points on a device and on the host, prepared for searches. */
export interface NeighbourIndex {
  /** Method of the search for candidates: with a tree, or by comparing each query with all points. */
  readonly way: 'tree' | 'all points';
  /** Recommended maximum number of queries per call. */
  readonly maxQueries: number;
  /**
   * Finds the neighbours of queries. If `own` is given, the queries are consecutive points, beginning with point number
   * `own`, and a point is not its own neighbour.
   */
  search(queries: Coordinates, own: number | undefined): Promise<Found>;
}

/** The points to search among, and which neighbours to find. */
export interface NeighbourJob {
  readonly asked: Asked;
  readonly metric: HostMetric;
  readonly points: Coordinates;
}

const MAX_TREE_DIMENSIONS = 3;
/** Maximum number of result rows on the device. */
const MAX_ROWS = 2 ** 20;
/** Maximum number of rows that the host finds by itself for several queries at once. */
const MAX_HOST_ROWS = 2 ** 22;
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
/** Candidates beyond the neighbours that are wanted, by whose distance a list shows that it is complete. */
const MORE = 5;

/** A batch of queries, with their vectors. */
interface Batch {
  readonly queries: number;
  readonly vectors: Vectors;
  /** The number of the point that is the first query; undefined if the queries are not points, or find themselves. */
  readonly own: number | undefined;
}

/**
 * Prepares points for searches. The device finds candidates in f32. The host ranks them by the exact order of their
 * distances, and searches a tree in f64 for those queries whose candidates may not be complete.
 */
export async function neighbourIndex(
  context: Context,
  { asked, metric, points }: NeighbourJob,
): Promise<NeighbourIndex> {
  const count = countOf(points);
  const { spaceOf, rankingOf } = recordOf(metric);
  const space = spaceOf(points);
  const placed = await inStretches(space.place(points));
  const frame = await inStretches(deviceFrame(space, placed));
  const { norm, width } = space;
  const hasTree = width <= MAX_TREE_DIMENSIONS && recordOf(norm.metric).device.boundOf !== undefined;
  const finder = deviceFinder(context, { elements: frame.points, dimensions: width, metric: norm.metric }, hasTree);
  const wanted = asked.kind === 'nearest' ? Math.min(count, asked.k) : 0;
  const listed = Math.min(count, candidatesFor(space, wanted + 1));
  const onHost: Placed = { coordinates: points, vectors: placed.vectors };
  const pause = pauses();
  let tree: Promise<HostTree> | undefined;

  async function search(given: Coordinates, own: number | undefined): Promise<Found> {
    const queries = countOf(given);
    if (queries === 0 || count === 0) return nothing(queries);
    const vectors = await inStretches(space.place(given));
    const ranking = rankingOf({ coordinates: given, vectors: vectors.vectors }, onHost);
    const asking: Batch = { queries, vectors, own };
    return asked.kind === 'nearest' ? nearestOf(asking, ranking) : within(asking, ranking, asked.radius);
  }

  async function nearestOf(batch: Batch, ranking: Ranking): Promise<Found> {
    const { queries, vectors, own } = batch;
    const { elements, errors } = await inStretches(frame.place(vectors));
    const { ids, distances } = await finder.nearest(
      elements.map((x) => (Math.abs(x) < Number.POSITIVE_INFINITY ? x : 0)),
      listed,
    );
    const list = nearestList(ranking);
    const rows = foundRows(queries);
    const max = Math.min(wanted, count - (own === undefined ? 0 : 1));
    for (let query = 0; query < queries; query++) {
      const itself = own === undefined ? NO_POINT : own + query;
      list.begin(query, max);
      let last = Number.NEGATIVE_INFINITY;
      for (let row = query * listed; row < (query + 1) * listed; row++) {
        if (ids[row] !== itself) list.offer(ids[row]!);
        last = distances[row]!;
      }
      const isComplete =
        errors[query]! < Number.POSITIVE_INFINITY &&
        (listed === count || list.limit < leastOf(space, frame.leastNorm(last, errors[query]!)));
      if (!isComplete) {
        list.begin(query, max);
        await visitTree(batch, query, itself, {
          wants: (least, minPoint) =>
            least < list.limit ||
            list.limit === Number.POSITIVE_INFINITY ||
            (least === list.limit && minPoint < list.points[list.count - 1]!),
          wantsAll: (point) => point === itself || list.wouldTake(point),
          point: list.offer,
        });
      }
      rows.add(query, list.points, list.count, (point) => ranking.distance(query, point));
      await pause(listed);
    }
    return rows.end();
  }

  /** Offers the points to a visitor that the host's tree cannot rule out, except the query itself. */
  async function visitTree({ vectors: { vectors, error } }: Batch, query: number, itself: number, visitor: Visitor) {
    tree ??= Promise.resolve(inStretches(hostTree(space, placed)));
    let steps = 0;
    (await tree).visit(vectors.subarray(query * width, (query + 1) * width), error, {
      ...visitor,
      point(point) {
        steps++;
        if (point !== itself) visitor.point(point);
      },
    });
    await pause(steps);
  }

  async function within(batch: Batch, ranking: Ranking, radius: number): Promise<Found> {
    const { queries, vectors, own } = batch;
    const { elements, errors } = await inStretches(frame.place(vectors));
    const norm = space.normOf(radius);
    const span = norm + Math.abs(norm) * 2 ** -40;
    const onDevice = Uint32Array.from({ length: queries }, (_, i) => i).filter((i) => frame.isNear(span, errors[i]!));
    const error = onDevice.reduce((max, i) => Math.max(max, errors[i]!), 0);
    const candidates: Candidates | undefined =
      onDevice.length === 0
        ? undefined
        : await finder.within(rowsOf(elements, width, onDevice), frame.deviceRadius(span, error));
    const list = withinList(ranking, radius);
    const rows = foundRows(queries);
    for (let query = 0, next = 0; query < queries; query++) {
      const itself = own === undefined ? NO_POINT : own + query;
      list.begin(query);
      if (onDevice[next] === query) {
        for (let row = candidates!.offsets[next]!; row < candidates!.offsets[next + 1]!; row++) {
          if (candidates!.ids[row] !== itself) list.offer(candidates!.ids[row]!);
        }
        await pause(candidates!.offsets[next + 1]! - candidates!.offsets[next++]!);
      } else {
        await visitTree(batch, query, itself, {
          wants: (least) => least <= radius,
          wantsAll: () => true,
          point: list.offer,
        });
      }
      const found = list.sorted();
      rows.add(query, found, found.length, (point) => ranking.distance(query, point));
      if (rows.count > MAX_HOST_ROWS && queries > 1) throw new OutOfMemoryError('memory/limit', 'Too many rows.');
    }
    return rows.end();
  }

  /**
   * Searches for the neighbours of all queries. If the result does not fit in memory, divides the queries into two
   * halves and searches for each half.
   */
  async function searchInParts(given: Coordinates, own: number | undefined): Promise<Found> {
    try {
      return await search(given, own);
    } catch (error) {
      const queries = countOf(given);
      if (!(error instanceof OutOfMemoryError) || queries < 2) throw error;
      const half = queries >> 1;
      const first = await searchInParts(partOf(given, 0, half), own);
      const second = await searchInParts(partOf(given, half, queries), own === undefined ? undefined : own + half);
      return joined(first, second);
    }
  }

  const rows = asked.kind === 'nearest' ? listed : 1;
  const atOnce = hasTree ? MAX_QUERIES : MAX_STEPS / Math.max(1, count * width);
  const pairs = asked.kind === 'radius' && !hasTree ? MAX_PAIRS / Math.max(1, count) : MAX_QUERIES;
  const max = Math.floor(Math.min(MAX_QUERIES, atOnce, pairs, MAX_ROWS / Math.max(1, rows)));
  return { way: hasTree ? 'tree' : 'all points', maxQueries: Math.max(1, max), search: searchInParts };
}

/** Number of candidates that a list of k neighbours needs, so that few lists stay incomplete. */
function candidatesFor({ width, spread }: Space, k: number): number {
  return Math.min(Math.ceil(Math.min(k * spread ** width, 4 * k + 16)) + MORE, MAX_LISTED);
}

/** Maximum length of a list that the device finds. */
const MAX_LISTED = 2 ** 20;

/** The smallest distance of points whose vectors are so far apart, with room for rounding errors. */
function leastOf(space: Space, norm: number): number {
  const least = space.leastOf(norm);
  return least - Math.abs(least) * 2 ** -40;
}

function rowsOf(elements: Float32Array, width: number, rows: Uint32Array): Float32Array {
  if (rows.length * width === elements.length) return elements;
  const chosen = new Float32Array(rows.length * width);
  for (const [i, row] of rows.entries()) chosen.set(elements.subarray(row * width, (row + 1) * width), i * width);
  return chosen;
}
