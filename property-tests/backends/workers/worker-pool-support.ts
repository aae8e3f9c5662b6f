import type { Worker } from 'node:worker_threads';
import { nodeThreads, threadOf } from '../../../backends/workers/node-threads.ts';
import type { WorkerSetup } from '../../../backends/workers/threads/queue.ts';
import type { Threads } from '../../../backends/workers/threads/threads.ts';

/** Wraps threads of Node that a test starts itself. */
export function startedBy(start: (setup: WorkerSetup) => Worker): Threads {
  return { ...nodeThreads, start: (setup) => threadOf(start(setup)) };
}
