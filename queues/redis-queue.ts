import { closedError } from '../graph/remote/remote-errors.ts';
import { requireRemoteId } from '../graph/remote/remote-options.ts';
import type { OpenRunOptions, WorkQueue } from '../graph/remote/work-queue.ts';
import { requireArguments } from '../primitives/checks/arguments.ts';
import { aWhole, optional, someOptions } from '../primitives/checks/kinds.ts';
import { Membership } from './membership.ts';
import { sameRunError } from './queue-errors.ts';
import { fullSettings, type QueueSettings, SETTINGS } from './queue-settings.ts';
import { loadRedisPackages } from './redis-packages.ts';
import { RedisRun } from './redis-run.ts';

export interface RedisQueueOptions extends QueueSettings {
  /** Milliseconds for which runs wait for a server that is away or full, or for a full disk, before they fail. Default 120,000. */
  readonly patience?: number | undefined;
}

const DEFAULT_PATIENCE = 120_000;

/**
 * Opens a queue on a Redis server, whose jobs are done by the processes that {@link serveQueue} serves it with. Jobs
 * are kept by BullMQ, under the key `bull:QUEUE`. Payloads and results of up to 64 KiB travel in Redis, larger ones in
 * files of `folder`, which all processes must see.
 *
 * A job is done at least once: when its worker dies, another gets it, at once if the worker's connection ends, else
 * after the time of the lock. After three deaths it fails (`graph/remote-deaths`). Jobs that the server lost, such as
 * those of a server without persistence that started again, are added again, and results whose files are damaged are
 * computed again, twice at most. Results are therefore the same as in one process if functions depend on their items
 * only.
 *
 * @throws PackageError `package/missing` if `bullmq` and `ioredis` are not installed. `GraphError` `graph/remote-url`,
 * `graph/remote-server`, `graph/remote-cluster`, `graph/remote-sentinel`, `graph/remote-redis-version`,
 * `graph/remote-eviction` for servers that do not fit; `graph/remote-folder`, `graph/remote-version` and
 * `graph/remote-lock` if other processes of the queue see another folder, or have another version of the package or
 * another time of locks. Runs fail with `graph/remote-lost`, `graph/remote-memory` and `graph/remote-disk` if the server is
 * away or full, or the disk of the folder is full, for longer than `patience`; `openRun` fails with
 * `graph/remote-same-run` if the program of the run that is to be taken over still uses it.
 *
 * @example
 * ```ts
 * const url = process.env.QUADRILLE_QUEUE;
 * const folder = await mkdtemp(join(tmpdir(), 'queue-'));
 * const queue = await redisQueue({ url, folder, queue: 'masks' });
 * const run = await queue.openRun({ title: 'masks of May' });
 * const { workers } = await run.workers();
 * await run.close();
 * await queue.close();
 * workers; // 0
 * ```
 */
export async function redisQueue(options: RedisQueueOptions): Promise<WorkQueue> {
  requireArguments('redisQueue', { options }, ARGUMENTS);
  const settings = fullSettings(options);
  const { patience = DEFAULT_PATIENCE } = options;
  const packages = await loadRedisPackages();
  const runs = new Set<RedisRun>();
  const facts = () => ({ kind: 'parent', lanes: 0, done: 0 }) as const;
  const membership = await Membership.join(settings, packages, facts);
  membership.onRefused = (error) => {
    for (const run of runs) run.end(error);
  };
  let isClosed = false;
  return {
    name: `redis ${settings.queue}`,
    openRun: async ({ id, title }: OpenRunOptions = {}) => {
      if (isClosed) throw closedError('queue');
      if (id !== undefined) requireRemoteId(id, 'a run');
      if ([...runs].some((run) => run.id === id)) throw sameRunError(id!, 'this process');
      const run = await RedisRun.open({ settings, patience, packages, membership, id, title }).catch(
        (error: unknown) => {
          throw isClosed ? closedError('queue') : error;
        },
      );
      if (isClosed) {
        await run.close();
        throw closedError('queue');
      }
      runs.add(run);
      run.onClosed = () => runs.delete(run);
      return run;
    },
    close: async () => {
      isClosed = true;
      await Promise.all([...runs].map((run) => run.close()));
      await membership.leave();
    },
  };
}

const ARGUMENTS = {
  options: someOptions<RedisQueueOptions>({ ...SETTINGS, patience: optional(aWhole(1)) }),
};
