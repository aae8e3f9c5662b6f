import type { Redis } from 'ioredis';
import { GraphError } from '../primitives/checks/errors.ts';

/** The oldest version of Redis that queues work with. */
const OLDEST = [6, 2] as const;

/**
 * Refuses servers on which jobs could be lost or could not be found: clusters, sentinels, servers older than Redis 6.2,
 * and those that evict keys when their memory is full.
 *
 * @throws `GraphError` `graph/remote-cluster`, `graph/remote-sentinel`, `graph/remote-redis-version`,
 * `graph/remote-eviction`.
 */
export async function checkServer(redis: Pick<Redis, 'info'>): Promise<void> {
  checkFacts(factsOf(await redis.info()));
}

/** Reads the lines `name:value` of the answer to INFO. */
export function factsOf(info: string): ReadonlyMap<string, string> {
  return new Map([...info.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name, value]) => [name!, value!]));
}

/** Refuses a server by its facts. A fact that a server does not tell is taken as fit. */
export function checkFacts(facts: ReadonlyMap<string, string>): void {
  const mode = facts.get('redis_mode');
  if (mode === 'cluster' || facts.get('cluster_enabled') === '1') {
    throw new GraphError('graph/remote-cluster', 'Queues do not work on a Redis Cluster.', {
      remedy: 'Name a single Redis server.',
    });
  }
  if (mode === 'sentinel') {
    throw new GraphError('graph/remote-sentinel', 'This is a Redis Sentinel, which holds no data.', {
      remedy: 'Name the Redis server that the Sentinel watches.',
    });
  }
  const version = facts.get('redis_version') ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (version !== '' && (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))) {
    throw new GraphError('graph/remote-redis-version', 'The Redis server is too old.', {
      expected: `Redis ${OLDEST.join('.')} or newer`,
      got: version,
    });
  }
  const policy = facts.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction') {
    throw new GraphError('graph/remote-eviction', 'The Redis server removes keys when its memory is full, jobs too.', {
      expected: 'maxmemory-policy noeviction',
      got: policy,
      remedy: 'Set maxmemory-policy to noeviction.',
    });
  }
}
