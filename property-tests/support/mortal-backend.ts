import type { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { openBackendOn } from '../../open.ts';
import type { Platform } from '../../platform.ts';
import type { Backend, Limits } from '../../primitives/contract/backend.ts';
import { DeviceLostError } from '../../primitives/errors.ts';
import { LOST, watchedCalls } from './faulty-backend.ts';

/** Few bytes of device memory, so that some laws spill to the host. */
const MEMORY_BYTES = 2 ** 22;
/** A backend is lost after at most this number of calls. */
const LIFE = 600;

/**
 * The backend that `open({ limits, failover: 'workers' })` builds. Its workers are lost again and again, each time
 * after a random number of calls: a thread is ended, which the backend notices later, or the call itself fails. Results
 * must be those of a backend that is never lost. A standby lives at least until it has taken over, because a loss
 * before that ends the context.
 */
export async function openMortalBackend(limits: Partial<Limits> = {}): Promise<Backend> {
  /** Ends the current workers. Undefined once they were ended, until their standby has taken over. */
  let end: (() => void) | undefined;
  let endLatest = (): void => {};
  let left = 0;
  const arm = (): void => {
    end = endLatest;
    left = drawn(LIFE);
  };
  const beforeCall = (): void => {
    if (end === undefined || left-- > 0) return;
    const now = end;
    end = undefined;
    now();
  };
  const platform: Platform = {
    gpu: async () => undefined,
    cores: async () => 2,
    async workers({ limits: given }) {
      const threads: Worker[] = [];
      const add = (thread: Worker): void => void threads.push(thread);
      process.on('worker', add);
      const backend = await createWorkersBackend({ workers: 2, inlineNanoseconds: 0, limits: given });
      process.off('worker', add);
      endLatest = (): void => {
        if (drawn(1) === 0) void threads[drawn(1)]!.terminate();
        else backend.abort(new DeviceLostError(LOST, 'Lost at a random call.'));
      };
      return watchedCalls(backend, beforeCall);
    },
  };
  const backend = await openBackendOn(platform, {
    backend: 'workers',
    limits: { memoryBytes: MEMORY_BYTES, ...limits },
    failover: 'workers',
    onFailover: arm,
  });
  arm();
  return backend;
}

/** A random number from 0 to `max`. */
function drawn(max: number): number {
  return fc.sample(fc.nat(max), 1)[0]!;
}
