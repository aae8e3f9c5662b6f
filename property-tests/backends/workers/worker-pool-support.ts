import type { Worker } from 'node:worker_threads';
import { nodeThreads, threadOf } from '../../../backends/workers/node-threads.ts';
import type { WorkerSetup } from '../../../backends/workers/threads/queue.ts';
import type { Threads } from '../../../backends/workers/threads/threads.ts';

/** Makes the interface to threads (`Threads`) from Node's threads, which a test starts itself by `start`. */
export function startedBy(start: (setup: WorkerSetup) => Worker): Threads {
  return { ...nodeThreads, start: (setup) => threadOf(start(setup)) };
}
