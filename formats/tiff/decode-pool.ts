import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { DeviceLostError } from '../../primitives/errors.ts';
import { createThreadPool } from '../thread-pool.ts';
import { decodeRun, type RunRequest } from './decode-run.ts';

/** Threads that decode blocks straight into the cells of windows, which are shared with the caller. */
export interface DecodePool {
  /** Number of runs that keep all threads busy. */
  readonly lanes: number;
  /** Decodes a run. Falls back to this thread if no thread is available, or if the thread died. */
  decode(request: RunRequest): Promise<void>;
  /** Starts the threads before there is work. */
  start(): void;
  close(): Promise<void>;
}

/** More threads would only wait for memory and the disk. */
const MAX_THREADS = 16;

/**
 * Makes a pool, whose threads start with the first runs.
 *
 * @param threads - Default: one per core.
 */
export function createDecodePool(threads?: number, start: () => Worker = startDecoder): DecodePool {
  const pool = createThreadPool<RunRequest, object>({
    threads: threads ?? Math.min(MAX_THREADS, availableParallelism()),
    start,
    died: (file, cause) => new DeviceLostError('device/decoder', 'A decoding thread died.', { place: { file }, cause }),
    closed: (file) => new DeviceLostError('device/closed', 'The file was closed.', { place: { file } }),
  });
  return {
    lanes: pool.threads + 1,
    async decode(request) {
      try {
        await pool.run(request, request.file, []);
      } catch (error) {
        if (!(error instanceof DeviceLostError) || error.code === 'device/closed') throw error;
        decodeRun(request);
      }
    },
    start: () => pool.start(),
    close: () => pool.close(),
  };
}

/** Starts a decoding thread. An unbuilt source runs through a loader. */
export function startDecoder(): Worker {
  const entry = import.meta.url.endsWith('.ts') ? './decode-worker-boot.mjs' : './decode-worker.js';
  // Threads do not inherit the flags of the process: loaders would be set up twice, and some flags are refused.
  return new Worker(new URL(entry, import.meta.url), { execArgv: [] });
}
