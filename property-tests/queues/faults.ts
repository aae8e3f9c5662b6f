// What the tests of faults share: a place with a Redis server, a folder and worker processes, and runs on it.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { WorkQueue } from '../../graph/index.ts';
import { type QueueSettings, type RedisQueueOptions, redisQueue } from '../../queues/index.ts';
import { someOf } from '../cases.ts';
import { test } from '../law-test.ts';
import { describeOnRedis, type TestRedis } from '../support/redis-server.ts';
import { choresAlone, onQueue, Random, type RunSettings } from './chores.ts';
import { type Chore, chore } from './queue-functions.ts';
import { leftInRedis, queueFolder, startWorker, type WorkerProcess } from './queue-processes.ts';

/** Milliseconds of a lock in tests of faults. The shortest that there is. */
export const LOCK = 1000;

/** A queue of its own on a Redis server, with a folder, and worker processes that serve it. */
export class FaultPlace {
  readonly redis: TestRedis;
  readonly settings: QueueSettings & { readonly lock: number; readonly queue: string };
  readonly #folder: ReturnType<typeof queueFolder> = queueFolder();
  readonly #scratch: ReturnType<typeof queueFolder> = queueFolder();
  readonly #workers: Set<WorkerProcess> = new Set();
  #client: Redis | undefined;

  constructor(redis: TestRedis, queue: string) {
    this.redis = redis;
    this.settings = { url: redis.url, folder: this.#folder.path, queue, lock: LOCK };
  }

  /** Starts a worker, and waits until it takes jobs. */
  async worker(
    settings: Partial<Parameters<typeof startWorker>[0]> = {},
    env: Readonly<Record<string, string>> = {},
    limit?: number,
  ): Promise<WorkerProcess> {
    const worker = startWorker({ ...this.settings, ...settings }, env, limit);
    this.#workers.add(worker);
    await worker.ready;
    return worker;
  }

  queue(options: Partial<RedisQueueOptions> = {}): Promise<WorkQueue> {
    return redisQueue({ ...this.settings, ...options });
  }

  /** Runs chores, and expects what one process gives. */
  async do(queue: WorkQueue, chores: readonly Chore[], settings: RunSettings = {}): Promise<void> {
    expect(await onQueue(queue, chore, chores, settings)).toEqual(await choresAlone(chores));
  }

  /** A connection of the test. */
  get client(): Redis {
    this.#client ??= new Redis(this.settings.url, { retryStrategy: () => 20 }).on('error', () => undefined);
    return this.#client;
  }

  /** A file beside the folder of the queue. */
  scratch(name: string): string {
    return join(this.#scratch.path, name);
  }

  /** Expects that runs left nothing, and that no worker has written to stderr. */
  async expectOrder(): Promise<void> {
    expect([...this.#workers].flatMap(({ errors }) => errors)).toEqual([]);
    expect([this.#folder.left(), await leftInRedis(this.settings.url, this.settings.queue)]).toEqual([[], []]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) await worker[Symbol.asyncDispose]();
    this.#client?.disconnect();
    this.#folder[Symbol.dispose]();
    this.#scratch[Symbol.dispose]();
  }
}

type Fault = (place: FaultPlace, random: Random) => Promise<void>;

const SEEDS: readonly number[] = Array.from({ length: 20 }, (_, i) => i + 1);
let queues = 0;

/**
 * Declares tests of faults, which `declare` is given a function for. They share a Redis server, and wait at the same time
 * if they are `concurrent`. Each starts processes, so `npm test` tries `usual` random ones with one of twenty seeds;
 * `npm run test:thorough -- NAME` tries all with all seeds.
 */
export function describeFaults(
  name: string,
  { usual, ...options }: Parameters<typeof describeOnRedis>[1] & { readonly usual: number },
  declare: (fault: (name: string, fault: Fault) => void) => void,
): void {
  const faults: (readonly [string, Fault])[] = [];
  declare((title, fault) => faults.push([title, fault]));
  describeOnRedis(name, options, (redis) => {
    for (const [title, fault] of someOf(faults, usual)) {
      test.each(someOf(SEEDS, 1))(`${title}, seed %i`, async (seed) => {
        await using place = new FaultPlace(redis(), `queue-${++queues}`);
        await fault(place, new Random(seed));
        await place.expectOrder();
      });
    }
  });
}

/** Waits until something is true, for 30 seconds at most. */
export async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const late = performance.now() + 30_000;
  while (!(await isTrue())) {
    if (performance.now() > late) throw new Error(`After 30 s still not: ${what}.`);
    await delay(10);
  }
}

/** How many jobs workers began. */
export const began = (...workers: readonly WorkerProcess[]): number =>
  workers.flatMap(({ news }) => news).filter(({ kind }) => kind === 'began').length;
