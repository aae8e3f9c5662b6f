import { resized } from '../formats/bytes/byte-arrays.ts';
import { turn } from '../primitives/host/turn.ts';

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
  readonly distances: Float64Array;
}

/** Collects the rows of one query after the other. */
export function foundRows(queries: number) {
  const offsets = new Uint32Array(queries + 1);
  let [ids, distances] = [new Uint32Array(queries), new Float64Array(queries)];
  let rows = 0;
  return {
    get count(): number {
      return rows;
    },
    /** Adds the first `count` of some points as the neighbours of a query. */
    add(query: number, points: Uint32Array, count: number, distanceOf: (point: number) => number): void {
      if (rows + count > ids.length) {
        const room = Math.max(rows + count, 2 * ids.length);
        [ids, distances] = [resized(ids, room), resized(distances, room)];
      }
      for (let i = 0; i < count; i++) {
        ids[rows] = points[i]!;
        distances[rows++] = distanceOf(points[i]!);
      }
      offsets[query + 1] = rows;
    },
    end: (): Found => ({ offsets, ids: ids.subarray(0, rows), distances: distances.subarray(0, rows) }),
  };
}

export function nothing(queries: number): Found {
  return { offsets: new Uint32Array(queries + 1), ids: new Uint32Array(), distances: new Float64Array() };
}

/** The rows of two batches as the rows of one. */
export function joined(first: Found, second: Found): Found {
  const rows = first.ids.length;
  const ids = new Uint32Array(rows + second.ids.length);
  const distances = new Float64Array(ids.length);
  ids.set(first.ids);
  ids.set(second.ids, rows);
  distances.set(first.distances);
  distances.set(second.distances, rows);
  const offsets = new Uint32Array(first.offsets.length + second.offsets.length - 1);
  offsets.set(first.offsets);
  for (const [i, offset] of second.offsets.entries()) offsets[first.offsets.length - 1 + i] = rows + offset;
  return { offsets, ids, distances };
}

/** Number of steps after which other work may run. They take some milliseconds. */
const STEPS = 2 ** 13;

/** Returns a function that counts steps, and returns a promise to wait for if other work should run first. */
export function pauses(): (steps: number) => Promise<void> | undefined {
  let done = 0;
  return (steps) => {
    done += steps;
    if (done < STEPS) return undefined;
    done = 0;
    return turn();
  };
}
