import {
  buildPointTree,
  type Metric,
  nearest,
  nearestInTree,
  type Points,
  withinRadius,
} from '../algorithms/neighbours/index.ts';
import { pairsWithin } from '../algorithms/neighbours/pairs-within.ts';
import type { Context } from '../primitives/context.ts';

/** Candidates of a batch of queries. Query i has the candidates `ids[offsets[i]] … ids[offsets[i + 1] − 1]`. */
export interface Candidates {
  readonly offsets: Uint32Array;
  readonly ids: Uint32Array;
  /** Distances by the formula of the device, in the form of the library: those of l2 are squared. */
  readonly distances: Float32Array;
}

/** Finds candidates on the device. */
export interface Finder {
  nearest(queries: Float32Array, k: number): Promise<Candidates>;
  within(queries: Float32Array, radius: number): Promise<Candidates>;
}

/** Uploads points, and builds a tree over them if `hasTree` is true. */
export function deviceFinder(
  context: Context,
  given: { readonly elements: Float32Array; readonly dimensions: number; readonly metric: Metric },
  hasTree: boolean,
): Finder {
  const { dimensions, metric } = given;
  // A tree needs at least two coordinates. Adding a coordinate of 0 to all points and queries changes no distance.
  const width = hasTree ? Math.max(2, dimensions) : dimensions;
  const place = (elements: Float32Array): Points => ({
    elements: context.column(widened(elements, dimensions, width)),
    dimensions: width,
  });
  const finder = (hasTree ? treeFinder : plainFinder)(context, place(given.elements), metric);
  const placed = async (elements: Float32Array, find: (queries: Points) => Promise<Candidates>) => {
    const queries = place(elements);
    return find(queries).finally(() => context.dispose(queries));
  };
  return {
    nearest: (elements, k) => placed(elements, (queries) => finder.nearest(queries, k)),
    within: (elements, radius) => placed(elements, (queries) => finder.within(queries, radius)),
  };
}

interface PlacedFinder {
  nearest(queries: Points, k: number): Promise<Candidates>;
  within(queries: Points, radius: number): Promise<Candidates>;
}

function treeFinder(context: Context, points: Points, metric: Metric): PlacedFinder {
  const tree = buildPointTree(context, points);
  context.dispose(points);
  return {
    async nearest(queries, k) {
      const found = nearestInTree(context, tree, queries, { k, metric });
      return listsOf(await context.read({ ...found }).finally(() => context.dispose(found)), k);
    },
    async within(queries, radius) {
      const found = await withinRadius(context, tree, queries, { radius, metric });
      return context.read({ ...found }).finally(() => context.dispose(found));
    },
  };
}

function plainFinder(context: Context, points: Points, metric: Metric): PlacedFinder {
  return {
    async nearest(queries, k) {
      const found = nearest(context, points, queries, { k, metric });
      return listsOf(await context.read({ ...found }).finally(() => context.dispose(found)), k);
    },
    async within(queries, radius) {
      const found = pairsWithin(context, points, queries, { radius, metric });
      const { query, id, distance } = await context.read({ ...found }).finally(() => context.dispose(found));
      const count = (queries.elements.length as number) / queries.dimensions;
      return { offsets: offsetsOf(query, count), ids: id, distances: distance };
    },
  };
}

function listsOf({ ids, distances }: { ids: Uint32Array; distances: Float32Array }, k: number): Candidates {
  return { offsets: Uint32Array.from({ length: ids.length / k + 1 }, (_, i) => i * k), ids, distances };
}

/** The first row of each query, from the ascending query of each row. */
function offsetsOf(query: Uint32Array, queries: number): Uint32Array {
  const offsets = new Uint32Array(queries + 1);
  for (const each of query) offsets[each + 1]!++;
  for (let i = 0; i < queries; i++) offsets[i + 1]! += offsets[i]!;
  return offsets;
}

/** Increases the number of coordinates to `width`, by adding coordinates of 0. */
function widened(elements: Float32Array, dimensions: number, width: number): Float32Array {
  if (dimensions === width) return elements;
  const wide = new Float32Array((elements.length / dimensions) * width);
  for (let i = 0; i < elements.length; i++) wide[Math.floor(i / dimensions) * width + (i % dimensions)] = elements[i]!;
  return wide;
}
