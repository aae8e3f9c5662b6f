import type { Redis as RedisClass } from 'ioredis';
import { PackageError } from '../primitives/checks/errors.ts';
import { installRemedy, isMissing } from '../primitives/host/optional-packages.ts';

const REDIS_PACKAGES = ['bullmq', 'ioredis'] as const;

/** The loaded packages of queues on Redis. */
export interface RedisPackages {
  readonly bullmq: typeof import('bullmq');
  readonly Redis: typeof RedisClass;
}

/**
 * Loads the optional packages that queues on Redis need.
 *
 * @throws PackageError `package/missing`.
 */
export async function loadRedisPackages(): Promise<RedisPackages> {
  try {
    const [bullmq, { Redis }] = await Promise.all([import('bullmq'), import('ioredis')]);
    return { bullmq, Redis };
  } catch (cause) {
    if (!isMissing(REDIS_PACKAGES, cause)) throw cause;
    throw new PackageError('package/missing', 'Queues on Redis need packages that are not installed here.', {
      remedy: installRemedy(REDIS_PACKAGES),
      cause,
    });
  }
}
