import { Worker as Thread } from 'node:worker_threads';
import { doJob, type RemoteModules } from '../graph/remote/do-job.ts';
import { readThrown, writeThrown } from '../graph/remote/job-wire.ts';
import { requireArguments } from '../primitives/checks/arguments.ts';
import {
  aFunction,
  anything,
  aSignal,
  aText,
  aWhole,
  optional,
  someOptions,
  someRecord,
} from '../primitives/checks/kinds.ts';
import type { AbortSignal } from '../primitives/host/platform-types.ts';
import { fullSettings, type QueueSettings, SETTINGS } from './queue-settings.ts';
import type { FromThread, ServingSetup, ToThread, WorkerNews } from './serving-messages.ts';

export interface ServeQueueOptions extends QueueSettings {
  /** The modules whose functions jobs may name, by id. A module is loaded by its first job. */
  readonly modules: RemoteModules;
  /** The context that functions receive as `ctx`. Columns in items land there. */
  readonly context?: unknown;
  /** Maximum number of jobs that are done at the same time. Default 1. */
  readonly lanes?: number | undefined;
  /** What lists of workers show beside the host, for example the name of the device. */
  readonly label?: string | undefined;
  /** Ends the worker: it takes no more jobs, and finishes those that it has. */
  readonly signal: AbortSignal;
  /** Milliseconds after which jobs in progress are given back when the worker ends. Default 30,000. */
  readonly grace?: number | undefined;
  /** Is told what the worker does. */
  readonly onNews?: ((news: WorkerNews) => void) | undefined;
}

const DEFAULT_GRACE = 30_000;

/**
 * Serves a queue on a Redis server as a worker, until `signal` is aborted and the jobs in progress are finished or given
 * back. Functions run in the thread of the caller. Another thread speaks with Redis, so functions may take as long as
 * they like without a pause.
 *
 * A worker does only what the modules that it was given export. If a run ends while the worker does a job of it, the
 * function's `signal` is aborted within a quarter of the lock's time.
 *
 * @throws The errors of {@link redisQueue}, later, too, if the queue gets other settings while the server forgot them.
 *
 * @example
 * ```ts
 * const folder = await mkdtemp(join(tmpdir(), 'queue-'));
 * const place = { url: process.env.QUADRILLE_QUEUE, folder, queue: 'tiles' };
 * const tiles = { measure: (tile: Uint8Array) => tile.reduce((sum, cell) => sum + cell, 0) };
 * const stop = new AbortController();
 * const served = serveQueue({ ...place, modules: { tiles: async () => tiles }, signal: stop.signal });
 * const queue = await redisQueue(place);
 * const sums = graph('sums', (g) => {
 *   const read = g.source('read', [Uint8Array.of(1, 2), Uint8Array.of(3)]);
 *   return g.collect('sums', g.stage('measure', read, tiles.measure, { remote: { queue, module: 'tiles' } }));
 * });
 * const result = await sums.run().result;
 * await queue.close();
 * stop.abort();
 * await served;
 * result; // [3, 3]
 * ```
 */
export async function serveQueue(options: ServeQueueOptions): Promise<void> {
  requireArguments('serveQueue', { options }, ARGUMENTS);
  const { modules, context, lanes = 1, label, signal, grace = DEFAULT_GRACE, onNews } = options;
  if (signal.aborted) return;
  const setup: ServingSetup = { settings: fullSettings(options), lanes, label };
  const entry = import.meta.url.endsWith('.ts') ? './serving-thread-boot.mjs' : './serving-thread.js';
  const thread = new Thread(new URL(entry, import.meta.url), { workerData: setup, execArgv: [] });
  const aborts = new Map<string, AbortController>();
  const post = (message: ToThread, transfer: ArrayBuffer[] = []): void => thread.postMessage(message, transfer);
  const tell = (news: WorkerNews): void => onNews?.(news);
  let name = 'worker';

  const work = async ({ key, run, job }: Extract<FromThread, { readonly kind: 'work' }>): Promise<void> => {
    const abort = new AbortController();
    aborts.set(key, abort);
    tell({ kind: 'began', run, job: job.id });
    try {
      const { payload, started, ended } = await doJob(job, modules, { context, signal: abort.signal, worker: name });
      post({ kind: 'done', key, payload, started, ended }, [payload.buffer as ArrayBuffer]);
      tell({ kind: 'ended', run, job: job.id, milliseconds: ended - started });
    } catch (error) {
      post({ kind: 'failed', key, error: await writeThrown(error), isAborted: abort.signal.aborted });
      tell(abort.signal.aborted ? { kind: 'lost', run, job: job.id } : { kind: 'failed', run, job: job.id, error });
    } finally {
      aborts.delete(key);
    }
  };

  let late: NodeJS.Timeout | undefined;
  const stop = (): void => {
    post({ kind: 'stop' });
    late = setTimeout(() => {
      for (const abort of aborts.values()) abort.abort();
      post({ kind: 'stop now' });
    }, grace);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      thread.on('error', reject);
      thread.on('exit', () => resolve());
      thread.on('message', (message: FromThread) => {
        if (message.kind === 'work') void work(message);
        else if (message.kind === 'cancel') aborts.get(message.key)?.abort();
        else if (message.kind === 'refused') reject(readThrown(message.error));
        else if (message.kind === 'stopped') resolve();
        else {
          if (message.kind === 'ready') name = message.name;
          tell(message);
        }
      });
    });
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', stop);
    await thread.terminate();
  }
}

const ARGUMENTS = {
  options: someOptions<ServeQueueOptions>({
    ...SETTINGS,
    modules: someRecord,
    context: anything,
    lanes: optional(aWhole(1)),
    label: optional(aText),
    signal: aSignal,
    grace: optional(aWhole(0)),
    onNews: optional(aFunction),
  }),
};
