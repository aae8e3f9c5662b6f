import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { requireAddressSpace } from './memory/address-space.ts';
import type { WorkerSetup } from './threads/queue.ts';
import { PATIENCE, type Thread, type Threads } from './threads/threads.ts';

/** The worker threads of Node. */
export const nodeThreads: Threads = {
  cores: availableParallelism,
  requireSharing: () => {},
  requireRoom: requireAddressSpace,
  turn: () => new Promise((resolve) => setImmediate(resolve)),
  start: (setup) => threadOf(startWorker(setup)),
  refused,
};

export function startWorker(setup: WorkerSetup): Worker {
  const entry = import.meta.url.endsWith('.ts') ? './worker-boot.mjs' : './worker.js';
  // Workers do not inherit the flags of the process, because loaders would be set up twice and workers refuse some
  // flags.
  return new Worker(new URL(entry, import.meta.url), { workerData: setup, execArgv: [] });
}

export function threadOf(worker: Worker): Thread {
  return {
    post: (message) => worker.postMessage(message),
    follow(said, failed) {
      worker.on('message', said);
      worker.on('messageerror', failed);
      worker.on('error', failed);
      worker.on('exit', (code) => failed(new Error(`the thread ended with exit code ${code}`)));
    },
    unref: () => worker.unref(),
    async leave() {
      if (worker.threadId === -1) return;
      const impatience = setTimeout(() => void worker.terminate(), PATIENCE);
      await new Promise((resolve) => worker.once('exit', resolve));
      clearTimeout(impatience);
    },
    async terminate() {
      await worker.terminate();
    },
  };
}

/** The error for a worker thread that cannot be started, usually for lack of permission, memory or threads. */
function refused(threads: number, cause: unknown): DeviceLostError {
  const { code } = cause as { readonly code?: unknown };
  const forbidden = code === 'ERR_ACCESS_DENIED';
  return new DeviceLostError('device/no-threads', 'A worker thread cannot be started.', {
    expected: `${threads} worker threads`,
    got: cause instanceof Error ? `${code ?? cause.name}: ${cause.message}` : String(cause),
    remedy: forbidden
      ? "Run Node with --allow-worker, or open({ backend: 'reference' }), which needs no threads."
      : 'Use fewer workers, or raise the limits on the threads and the memory of this process.',
    cause,
  });
}
