import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { DeviceLostError } from '../../../primitives/checks/errors.ts';
import { createThreadPool } from '../../bytes/thread-pool.ts';
import { loadDecoder } from './decode.ts';
import { decodeRun } from './decode-run.ts';
import { nodeCodecs } from './node-codecs.ts';
import type { DecodePool, RunRequest } from './tiff-platform.ts';

/** Default maximum number of threads. More threads would only wait for memory and the disk. */
const MAX_THREADS = 16;

/**
 * Creates a pool of decoding threads. The threads are started when the first runs (groups of blocks) are decoded.
 *
 * @param threads - Maximum number of threads. Default: one per core, at most 16.
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
        await loadDecoder(request.coding, nodeCodecs, request.file);
        decodeRun(request);
      }
    },
    start: () => pool.start(),
    close: () => pool.close(),
  };
}

/** Starts a decoding thread. If the package has not been built, a boot script enables the thread to run TypeScript. */
export function startDecoder(): Worker {
  const entry = import.meta.url.endsWith('.ts') ? './decode-worker-boot.mjs' : './decode-worker.js';
  // The thread does not get the flags of the process: module loaders would be installed twice, and threads reject some
  // flags.
  return new Worker(new URL(entry, import.meta.url), { execArgv: [] });
}
