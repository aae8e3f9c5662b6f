import { setTimeout as delay } from 'node:timers/promises';
import type { Job, Queue, QueueEvents } from 'bullmq';
import type { Redis } from 'ioredis';
import type { JobData } from './job-messages.ts';
import { type Membership, soon } from './membership.ts';
import type { RedisPackages } from './redis-packages.ts';

/** Milliseconds for which the connection of events waits for one. Longer waits would look like a dead connection. */
const EVENT_WAIT = 5000;
/** Milliseconds before events are listened to again. */
const LISTEN_AGAIN = 1000;
/** How often removing a job is tried. */
const MAX_REMOVALS = 5;
/**
 * Number of events that BullMQ keeps. Events hold results, so many would fill the memory of the server. If this process
 * misses one, it finds the result at its next look.
 */
const KEPT_EVENTS = 200;

/** Is told what happens to jobs, of other runs, too. Events may be missed. */
export interface JobListener {
  began(key: string): void;
  completed(key: string, value: unknown): void;
  failed(key: string, reason: string): void;
}

/** The jobs of a queue in Redis, as BullMQ keeps them. */
export class StoredJobs {
  readonly #queue: Queue;
  readonly #events: QueueEvents;
  readonly #membership: Membership;
  /** Jobs that are to be removed, until the server has done so. */
  readonly #unwanted: Set<string> = new Set();
  #isClosed = false;

  constructor(name: string, { bullmq: { Queue, QueueEvents } }: RedisPackages, membership: Membership) {
    this.#membership = membership;
    const connection = membership.redis;
    this.#queue = new Queue(name, {
      connection,
      defaultJobOptions: { attempts: 1, stackTraceLimit: 0 },
      skipMetasUpdate: true,
    });
    this.#events = new QueueEvents(name, { connection, blockingTimeout: EVENT_WAIT, autorun: false });
    this.#queue.on('error', () => undefined);
    this.#events.on('error', () => undefined);
  }

  async open(listener: JobListener): Promise<void> {
    this.#events.on('active', ({ jobId }) => listener.began(jobId));
    this.#events.on('completed', ({ jobId, returnvalue }) => listener.completed(jobId, returnvalue));
    this.#events.on('failed', ({ jobId, failedReason }) => listener.failed(jobId, failedReason));
    await this.#queue.waitUntilReady();
    await this.#events.waitUntilReady();
    void this.#listen();
  }

  /** Listens to events. BullMQ stops at those that it cannot read, because others wrote them. */
  async #listen(): Promise<void> {
    while (!this.#isClosed) {
      await this.#events.run().catch(() => undefined);
      await delay(LISTEN_AGAIN, undefined, { ref: false });
    }
  }

  /** Sets what the server may have forgotten. BullMQ stores other settings, which are of no use here. */
  async configure(): Promise<void> {
    await this.#membership.redis.hset(this.#queue.toKey('meta'), 'opts.maxLenEvents', KEPT_EVENTS);
  }

  async add(key: string, data: JobData): Promise<void> {
    await this.#queue.add(data.name === '' ? 'job' : data.name, data, { jobId: key });
  }

  get(key: string): Promise<Job | undefined> {
    return this.#queue.getJob(key);
  }

  /** The keys of all jobs of a run. */
  keysOf(run: string): Promise<string[]> {
    return keysOfRun(this.#queue, run);
  }

  /** Removes a job, even from the worker that has it. If that fails, `removeRest` removes it. */
  async remove(key: string): Promise<void> {
    this.#unwanted.add(key);
    if (await removeJob(this.#queue, this.#membership.redis, key)) this.#unwanted.delete(key);
  }

  /** Removes the jobs that could not be removed, because the server was full, say. */
  async removeRest(): Promise<void> {
    for (const key of [...this.#unwanted]) await this.remove(key);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // Both wait without end for a server that is away.
    await soon(Promise.all([this.#events.close(), this.#queue.close()]));
  }
}

/** The keys of all jobs of a run. A key is the id of the run, that of the job, and a number, between slashes. */
export async function keysOfRun(queue: Queue, run: string): Promise<string[]> {
  const jobs = await queue.getJobs(['waiting', 'active', 'completed', 'failed']);
  // A job may be gone before it is read.
  return jobs.flatMap((job) => job?.id ?? []).filter((key) => key.startsWith(`${run}/`));
}

/**
 * Removes a job, even from the worker that has it: BullMQ refuses to remove a job with a lock. The worker finds out when
 * it next extends the lock, and stops. Another worker may take the job in between, so it is tried again. Returns whether
 * the job is gone.
 */
export async function removeJob(queue: Queue, redis: Redis, key: string): Promise<boolean> {
  for (let attempt = 0; attempt < MAX_REMOVALS; attempt++) {
    await redis.del(`${queue.toKey(key)}:lock`);
    if ((await queue.remove(key)) === 1) return true;
  }
  return false;
}
