import type { TableBatch } from '../formats/tables/table-file.ts';
import { type GraphObserver, type GraphRun, graph } from '../graph/index.ts';
import type { PartAnswer } from './table-part.ts';

/** A file to read in parts (batches of rows), and a function that queries each part. */
export interface TableJob {
  batches(signal: AbortSignal): AsyncIterable<TableBatch>;
  readonly rows: number | undefined;
  readonly isOnGpu: boolean;
  ask(batch: TableBatch): Promise<PartAnswer>;
  /** Called with the answer to each part, in the order of the parts in the file. */
  take(answer: PartAnswer): Promise<void> | void;
  readonly signal: AbortSignal;
  readonly observer: GraphObserver | undefined;
  /** Minimum time between two progress reports, in milliseconds. */
  readonly progressEvery: number;
}

/** Number of parts that are queried at the same time. One part is uploaded while another is computed. */
const ASKED_AT_ONCE = 2;
/**
 * Number of parts of the file that are in memory at the same time: one is being read, two are being queried, one is
 * being merged, one is waiting to be queried, and one is waiting to be merged.
 */
export const PARTS_HELD: number = 1 + ASKED_AT_ONCE + 1 + 2;

/** A graph with bounded queues that reads the parts of a file, queries each part, and merges the answers. */
export function tableGraph(job: TableJob): GraphRun<number> {
  const { isOnGpu, rows: total } = job;
  const rowsOf = ({ rows }: PartAnswer): number => rows;
  return graph('table', (g) => {
    const read = g.source('read', ({ signal }: { signal: AbortSignal }) => job.batches(signal), {
      describe: ({ first, rows }) => `rows ${first} to ${first + rows - 1}`,
      units: ({ rows }) => rows,
      total,
    });
    const asked = g.stage('ask', read, (batch: TableBatch) => job.ask(batch), {
      lanes: ASKED_AT_ONCE,
      ordered: true,
      capacity: 1,
      runsOn: isOnGpu ? 'gpu' : 'cpu',
    });
    return g.sink('put together', asked, async (answer: PartAnswer) => job.take(answer), {
      capacity: 1,
      progress: rowsOf,
    });
  }).run(undefined, { signal: job.signal, observer: job.observer, progressEvery: job.progressEvery, total });
}
