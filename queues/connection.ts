import type { Redis } from 'ioredis';
import { GraphError } from '../primitives/checks/errors.ts';
import { messageOf } from '../primitives/checks/message-of.ts';
import { checkServer } from './check-server.ts';
import type { RedisPackages } from './redis-packages.ts';

/** How many milliseconds opening a connection waits for a server. */
const SERVER_TIMEOUT = 5000;
/**
 * Milliseconds after which a connection on which no answer comes is made anew. Networks end some connections without a
 * word. Longer than any command waits, which is 5 seconds for jobs and for events.
 */
const DEAD_AFTER = 12_000;

/** A Redis URL without its password, for messages. */
export function shownUrl(url: string): string {
  if (!URL.canParse(url)) return 'a text that is no URL';
  const parsed = new URL(url);
  if (parsed.password !== '') parsed.password = '***';
  return parsed.href;
}

/**
 * Connects to a Redis server and checks that it is fit for queues. The connection never gives up once it is made:
 * commands wait until the server is back. The server lists the connection under `name`.
 *
 * @throws `GraphError` `graph/remote-url` for a text that is no URL of Redis, `graph/remote-server` for a server that
 * does not answer within `timeout` milliseconds, and the errors of `checkServer`.
 */
export async function connect(
  url: string,
  { Redis }: RedisPackages,
  { timeout = SERVER_TIMEOUT, name }: { readonly timeout?: number; readonly name?: string } = {},
): Promise<Redis> {
  if (!URL.canParse(url) || !/^rediss?:$/.test(new URL(url).protocol)) {
    throw new GraphError('graph/remote-url', 'A queue needs the URL of a Redis server.', {
      expected: 'redis://HOST:PORT or rediss://HOST:PORT',
      got: shownUrl(url),
    });
  }
  let lastError: unknown;
  // By default, commands fail after 20 attempts to connect.
  const redis = new Redis(url, {
    ...{ maxRetriesPerRequest: null, lazyConnect: true, connectTimeout: timeout, socketTimeout: DEAD_AFTER },
    ...(name === undefined ? {} : { connectionName: name }),
  });
  // Without a listener, ioredis writes every error to stderr.
  redis.on('error', (error) => {
    lastError = error;
  });
  try {
    await within(
      timeout,
      reachable(redis).then(() => checkServer(redis)),
    );
    // BullMQ makes more connections with the same options, and would fail if the first attempt of a lazy one does.
    redis.options.lazyConnect = false;
    return redis;
  } catch (error) {
    redis.disconnect();
    if (error instanceof GraphError) throw error;
    throw new GraphError('graph/remote-server', `The Redis server ${shownUrl(url)} cannot be used.`, {
      got: messageOf(lastError ?? error),
      remedy: 'Check that the server runs, and its host, port and password.',
      cause: lastError ?? error,
    });
  }
}

async function reachable(redis: Redis): Promise<void> {
  // The first attempt may fail while a server starts. ioredis tries again, and the ping waits for it.
  await redis.connect().catch(() => undefined);
  await redis.ping();
}

/** Rejects if a promise takes longer than a time in milliseconds. */
export async function within<T>(
  milliseconds: number,
  promise: Promise<T>,
  lateError: () => Error = () => new Error(`No answer within ${milliseconds} ms.`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(lateError()), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
