import { isRemoteId, REMOTE_ID } from '../graph/remote/remote-options.ts';
import { GraphError } from '../primitives/checks/errors.ts';
import { aText, aWhole, type Kind, optional } from '../primitives/checks/kinds.ts';

/** What parents and workers of a queue must agree on. */
export interface QueueSettings {
  /** URL of the Redis server: `redis://:PASSWORD@HOST:PORT`, or `rediss://` for TLS. */
  readonly url: string;
  /** A folder that all processes see, for payloads of more than 64 KiB. */
  readonly folder: string;
  /** Name of the queue, if a server has several. Letters, digits, `.`, `_` and `-`. Default `quadrille`. */
  readonly queue?: string | undefined;
  /**
   * Milliseconds after which a job is given to another worker if its worker gives no sign of life. The same in all
   * processes. Default 10,000.
   */
  readonly lock?: number | undefined;
}

export const SETTINGS: { readonly [name in keyof QueueSettings]-?: Kind } = {
  url: aText,
  folder: aText,
  queue: optional(aText),
  lock: optional(aWhole(1000)),
};

const DEFAULT_QUEUE = 'quadrille';
const DEFAULT_LOCK = 10_000;

/** Settings with their defaults. */
export interface FullSettings extends Required<Record<'url' | 'folder' | 'queue', string>> {
  readonly lock: number;
}

/**
 * Fills in the defaults.
 *
 * @throws `GraphError` `graph/remote-queue-name`.
 */
export function fullSettings({ url, folder, queue, lock = DEFAULT_LOCK }: QueueSettings): FullSettings {
  return { url, folder, queue: queueName(queue), lock };
}

/** The name of a queue, or the default name. */
export function queueName(queue: string = DEFAULT_QUEUE): string {
  if (isRemoteId(queue)) return queue;
  throw new GraphError('graph/remote-queue-name', 'This is not the name of a queue.', {
    expected: REMOTE_ID,
    got: queue,
  });
}

/**
 * A job that was stalled more often than this fails. Deaths of workers count apart from attempts in BullMQ, and are one
 * more than its limit.
 */
export const MAX_DEATHS = 3;

/** Keys that the queue has in Redis beside those of BullMQ. */
export const keysOf = (queue: string) => ({
  /** What all members agree on. */
  join: `quadrille:${queue}:join`,
  /** Parents and workers by id. */
  members: `quadrille:${queue}:members`,
  /** Runs by id. */
  runs: `quadrille:${queue}:runs`,
  /** Ids of the runs that are to end. */
  cancelled: `quadrille:${queue}:cancelled`,
});
