import {
  buildPointTree,
  type Metric,
  nearest,
  nearestInTree,
  type Points,
  withinRadius,
} from '../algorithms/neighbours/index.ts';
import { pairsWithin } from '../algorithms/neighbours/pairs-within.ts';
import type { Table } from '../primitives/columns/column.ts';
import type { Context } from '../primitives/context/context.ts';

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
  const points = place(given.elements);
  const tree = hasTree ? buildPointTree(context, points) : undefined;
  if (tree !== undefined) context.dispose(points);
  const answering = async (elements: Float32Array, answer: (queries: Points) => Promise<Candidates>) => {
    const queries = place(elements);
    return answer(queries).finally(() => context.dispose(queries));
  };
  const taken = <T extends Table>(found: T) => context.read(found).finally(() => context.dispose(found));
  return {
    nearest: (elements, k) =>
      answering(elements, async (queries) => {
        const options = { k, metric };
        const found =
          tree === undefined
            ? nearest(context, points, queries, options)
            : nearestInTree(context, tree, queries, options);
        return listsOf(await taken({ ...found }), k);
      }),
    within: (elements, radius) =>
      answering(elements, async (queries) => {
        const options = { radius, metric };
        if (tree !== undefined) return taken({ ...(await withinRadius(context, tree, queries, options)) });
        const { query, id, distance } = await taken({ ...pairsWithin(context, points, queries, options) });
        return { offsets: offsetsOf(query, elements.length / dimensions), ids: id, distances: distance };
      }),
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
