import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { requireRemoteId } from '../graph/remote/remote-options.ts';
import { requireArguments } from '../primitives/checks/arguments.ts';
import { GraphError } from '../primitives/checks/errors.ts';
import { aText, type Kind, optional, someOptions } from '../primitives/checks/kinds.ts';
import { connect } from './connection.ts';
import { type Member, parsed, readConnected } from './membership.ts';
import { keysOf, type QueueSettings, queueName, SETTINGS } from './queue-settings.ts';
import type { QueueStatus, WorkerStatus } from './queue-status.ts';
import { loadRedisPackages, type RedisPackages } from './redis-packages.ts';
import { removeRunFolder } from './results-folder.ts';
import type { RunRecord } from './run-record.ts';
import { keysOfRun, removeJob } from './stored-jobs.ts';

/** Which queue, on which server. `folder` is that of the queue, where it is called differently here. */
export interface QueuePlace extends Pick<QueueSettings, 'url' | 'queue' | 'lock'> {
  readonly folder?: string | undefined;
}

/**
 * Lists the runs and the workers of a queue.
 *
 * @throws PackageError `package/missing`, and `GraphError` as {@link redisQueue} for servers that do not fit.
 *
 * @example
 * ```ts
 * const { runs, workers } = await listRuns({ url: process.env.QUADRILLE_QUEUE, queue: 'unused' });
 * [runs.length, workers.length]; // [0, 0]
 * ```
 */
export async function listRuns(place: QueuePlace): Promise<QueueStatus> {
  requireArguments('listRuns', { place }, { place: somePlace });
  const { runs: key, members: membersKey } = keysOf(queueName(place.queue));
  return connected(place, async (redis) => {
    const members = await readConnected(redis, membersKey);
    const runs = Object.entries(await redis.hgetall(key)).flatMap(([id, text]) => {
      const record = parsed<RunRecord>(text);
      if (record === undefined) return [];
      const { parent, ...rest } = record;
      return [{ id, ...rest, isAlive: members.has(parent) }];
    });
    return { runs: runs.sort((a, b) => a.started - b.started), workers: workersOf(members) };
  });
}

function workersOf(members: ReadonlyMap<string, Member>): WorkerStatus[] {
  return [...members]
    .filter(([, { kind }]) => kind === 'worker')
    .map(([name, { kind: _, seen: __, ...rest }]) => ({ name, ...rest }))
    .sort((a, b) => a.started - b.started);
}

/**
 * Ends a run. Its program stops with `graph/remote-cancelled` within a second. If the program was killed, what the run
 * left on the server and in the folder of the queue is removed.
 *
 * @throws PackageError `package/missing`; `GraphError` `graph/remote-no-run` if the queue has no such run, and as
 * {@link redisQueue} for servers that do not fit.
 *
 * @example
 * ```ts
 * const place = { url: process.env.QUADRILLE_QUEUE, queue: 'lines' };
 * const queue = await redisQueue({ ...place, folder: await mkdtemp(join(tmpdir(), 'queue-')) });
 * const run = await queue.openRun({ title: 'lines' });
 * await cancelRun(place, run.id);
 * const [{ isAlive }] = (await listRuns(place)).runs;
 * await run.close();
 * await queue.close();
 * isAlive; // true
 * ```
 */
export async function cancelRun(place: QueuePlace, id: string): Promise<void> {
  requireArguments('cancelRun', { place, id }, { place: somePlace, id: aText });
  requireRemoteId(id, 'a run');
  const queue = queueName(place.queue);
  const keys = keysOf(queue);
  await connected(place, async (redis, { bullmq }) => {
    const text = await redis.hget(keys.runs, id);
    if (text === null) {
      throw new GraphError('graph/remote-no-run', 'The queue has no such run.', {
        expected: (await redis.hkeys(keys.runs)).join(', ') || 'none: the queue has no runs',
        got: id,
      });
    }
    const record = parsed<RunRecord>(text);
    // Also a program that is cut off for the moment ends when it comes back.
    await redis.sadd(keys.cancelled, id);
    await redis.expire(keys.cancelled, CANCELLED_SECONDS);
    if ((await readConnected(redis, keys.members)).has(record?.parent ?? '')) return;
    const jobs = new bullmq.Queue(queue, { connection: redis, skipMetasUpdate: true });
    jobs.on('error', () => undefined);
    for (const key of await keysOfRun(jobs, id)) await removeJob(jobs, redis, key);
    await redis.hdel(keys.runs, id);
    const folder = place.folder ?? record?.folder;
    if (folder !== undefined) await removeRunFolder(join(folder, id));
  });
}

/** Seconds for which a queue remembers which runs were cancelled. */
const CANCELLED_SECONDS = 86_400;

/** Settings for workers and parents will do. */
const somePlace: Kind = someOptions<QueuePlace>({ ...SETTINGS, folder: optional(aText) });

async function connected<T>(
  { url }: QueuePlace,
  act: (redis: Redis, packages: RedisPackages) => Promise<T>,
): Promise<T> {
  const packages = await loadRedisPackages();
  const redis = await connect(url, packages);
  try {
    return await act(redis, packages);
  } finally {
    redis.disconnect();
  }
}
