import { type Coordinates, partOf } from '../algorithms/neighbours/exact/coordinates.ts';
import type { HostColumn } from '../algorithms/tables/host-table.ts';
import { type GraphRun, graph } from '../graph/index.ts';
import type { Found } from './neighbours-found.ts';
import type { NeighbourIndex } from './neighbours-index.ts';
import type { PlacedRows } from './neighbours-rows.ts';

/** A batch of consecutive queries. */
export interface QueryBatch {
  readonly count: number;
  readonly coordinates: Coordinates;
  /** Row number of each query in its file. */
  readonly rows: Uint32Array;
  /** Names of queries; undefined if queries are named by row numbers. */
  readonly names: HostColumn | undefined;
  /** Row of `names` that contains the name of the batch's first query. */
  readonly firstName: number;
  /**
   * The number of the point that is the first query of the batch. Undefined if the queries are not the points
   * themselves, or if a point may be its own neighbour.
   */
  readonly own: number | undefined;
}

/** A batch of queries with their neighbours. */
export interface AnsweredBatch {
  readonly batch: QueryBatch;
  readonly found: Found;
}

/** The queries of a search, the points to search among, and the function that receives the results. */
export interface SearchJob {
  readonly index: NeighbourIndex;
  batches(signal: AbortSignal): AsyncIterable<QueryBatch>;
  /** Total number of queries; undefined if it is unknown. */
  readonly total: number | undefined;
  readonly isOnGpu: boolean;
  /** Called with the results of each batch. The batches come in the order of the queries. */
  write(answered: AnsweredBatch): Promise<void>;
  readonly signal: AbortSignal;
  readonly progressEvery: number;
}

/** A graph of three stages: read queries, search, write. Each stage processes one batch at a time. */
export function searchGraph(job: SearchJob): GraphRun<number> {
  const search = async (batch: QueryBatch): Promise<AnsweredBatch> => ({
    batch,
    found: await job.index.search(batch.coordinates, batch.own),
  });
  return graph('neighbours', (g) => {
    const read = g.source('read', ({ signal }: { signal: AbortSignal }) => job.batches(signal));
    const found = g.stage('search', read, search, { ordered: true, runsOn: job.isOnGpu ? 'gpu' : 'cpu' });
    return g.sink('write', found, (answered) => job.write(answered), { progress: ({ batch }) => batch.count });
  }).run(undefined, { signal: job.signal, total: job.total, progressEvery: job.progressEvery });
}

/** Determines the number of queries in the next batch. */
export interface BatchSize {
  next(): number;
  /** Called with the results of a batch. The number of results determines the size of the next batches. */
  learn(answered: AnsweredBatch): void;
}

const FIRST_QUERIES = 2 ** 12;
const GOOD_ROWS = 2 ** 20;
const GROWTH = 8;

/**
 * Creates a rule for the sizes of batches. If `areKnown` is true, the number of results per query is known, and all
 * batches have the size `max`. Otherwise the first batch is small, and the number of results of each batch determines
 * the size of the following batches.
 */
export function batchSize(max: number, areKnown: boolean): BatchSize {
  let size = areKnown ? max : Math.min(max, FIRST_QUERIES);
  return {
    next: () => size,
    learn({ batch, found }) {
      if (areKnown) return;
      const fitting = Math.floor((GOOD_ROWS * batch.count) / Math.max(1, found.ids.length));
      size = Math.max(1, Math.min(max, GROWTH * size, fitting));
    },
  };
}

/** Yields queries in batches. If they are points, of which none is its own neighbour, `own` is the number of the first. */
export async function* queryBatches(
  read: AsyncIterable<PlacedRows> | Iterable<PlacedRows>,
  size: BatchSize,
  own?: number,
): AsyncGenerator<QueryBatch> {
  for await (const { count, coordinates, rows, names } of read) {
    for (let from = 0; from < count; ) {
      const to = Math.min(count, from + size.next());
      yield {
        count: to - from,
        coordinates: partOf(coordinates, from, to),
        rows: rows.subarray(from, to),
        names,
        firstName: from,
        own: own === undefined ? undefined : own + from,
      };
      from = to;
    }
  }
}
