import type { HostColumn } from '../algorithms/tables/host-table.ts';
import { type GraphRun, graph } from '../graph/index.ts';
import type { Found, NeighbourIndex } from './neighbours-index.ts';
import { type HostPoints, placedAt } from './neighbours-points.ts';
import type { PlacedRows } from './neighbours-rows.ts';

/** A batch of queries. */
export interface QueryBatch {
  readonly count: number;
  /** Coordinates, one query after the other, minus the offset of the points. */
  readonly elements: Float32Array;
  /** Their rows in their file. */
  readonly rows: Uint32Array;
  /** Names of queries; undefined if row numbers name them. */
  readonly names: HostColumn | undefined;
  /** The row of `names` that belongs to the first query. */
  readonly firstName: number;
  /** The point that is the first query, if the points themselves are the queries. */
  readonly own: number | undefined;
}

/** Neighbours of a batch. */
export interface AnsweredBatch {
  readonly batch: QueryBatch;
  readonly found: Found;
}

/** Queries to be answered. */
export interface SearchJob {
  readonly index: NeighbourIndex;
  batches(signal: AbortSignal): AsyncIterable<QueryBatch>;
  /** Total number of queries, if known. */
  readonly total: number | undefined;
  readonly isOnGpu: boolean;
  /** Receives answers in order. */
  write(answered: AnsweredBatch): Promise<void>;
  readonly signal: AbortSignal;
  readonly progressEvery: number;
}

/** A graph of three bounded stages, each with one batch at a time: read queries, search, write. */
export function searchGraph(job: SearchJob): GraphRun<number> {
  const search = async (batch: QueryBatch): Promise<AnsweredBatch> => ({
    batch,
    found: await job.index.search(batch.elements, batch.own),
  });
  return graph('neighbours', (g) => {
    const read = g.source('read', ({ signal }: { signal: AbortSignal }) => job.batches(signal));
    const found = g.stage('search', read, search, { ordered: true, runsOn: job.isOnGpu ? 'gpu' : 'cpu' });
    return g.sink('write', found, (answered) => job.write(answered), { progress: ({ batch }) => batch.count });
  }).run(undefined, { signal: job.signal, total: job.total, progressEvery: job.progressEvery });
}

/** Chooses the number of queries per batch. */
export interface BatchSize {
  next(): number;
  /** Receives the size of results, to choose the size of the next batches. */
  learn(answered: AnsweredBatch): void;
}

const FIRST_QUERIES = 2 ** 12;
const GOOD_ROWS = 2 ** 20;
const GROWTH = 8;

/** Uses the best size if the size of results is known. Otherwise the first batch is small, and its results tell the size of the next. */
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

/** The points themselves as queries. With `excludes`, no point is its own neighbour. */
export async function* ownBatches(points: HostPoints, size: BatchSize, excludes: boolean): AsyncGenerator<QueryBatch> {
  const { count, dimensions, elements, rows, names } = points;
  for (let from = 0; from < count; ) {
    const to = Math.min(count, from + size.next());
    yield {
      count: to - from,
      elements: elements.subarray(from * dimensions, to * dimensions),
      rows: rows.subarray(from, to),
      names,
      firstName: from,
      own: excludes ? from : undefined,
    };
    from = to;
  }
}

/** Queries from a file, minus the offset of the points. */
export async function* queryBatches(
  read: AsyncIterable<PlacedRows>,
  { dimensions, offset }: HostPoints,
  size: BatchSize,
  onRounded: () => void,
): AsyncGenerator<QueryBatch> {
  for await (const { count, coordinates, rows, names } of read) {
    if (coordinates.some((x) => Math.fround(x) !== x)) onRounded();
    for (let from = 0; from < count; ) {
      const to = Math.min(count, from + size.next());
      yield {
        count: to - from,
        elements: placedAt(coordinates.subarray(from * dimensions, to * dimensions), dimensions, offset),
        rows: rows.subarray(from, to),
        names,
        firstName: from,
        own: undefined,
      };
      from = to;
    }
  }
}
