import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Job, Queue, QueueEvents } from 'bullmq';
import { readThrown } from '../graph/remote/job-wire.ts';
import type { RemoteJob, RemoteOutcome, RemoteRun, WorkerCount } from '../graph/remote/work-queue.ts';
import { GraphError } from '../primitives/errors.ts';
import { shownUrl } from './connection.ts';
import { checkJobAnswer, type JobData } from './job-messages.ts';
import { type Member, type Membership, soon } from './membership.ts';
import { type FullSettings, keysOf, MAX_DEATHS } from './queue-settings.ts';
import type { RedisPackages } from './redis-packages.ts';
import { discardParcel, makeRunFolder, type Parcel, pack, removeRunFolder, unpack } from './results-folder.ts';

/** Milliseconds between two looks at the jobs in Redis. Between them, events tell what happens. */
const LOOK = 1000;
/** Milliseconds after which a look asks for a job that nothing was heard of. */
const SILENCE = 2000;
/** Milliseconds for which workers may connect again after the connection of this process was cut. */
const RECONNECTION = 5000;
/** How often a job is done anew because its files are damaged. */
const MAX_DAMAGES = 2;
/** Longest pause before a job is added again that a worker left to others, and how long it is left to them, in ms. */
const [DECLINED_PAUSE, DECLINED_TIME] = [2000, 30_000];
/** Milliseconds that closing waits for the server. */
const CLOSE_TIMEOUT = 5000;
/**
 * Number of events that BullMQ keeps. Events hold results, so many would fill the memory of the server. If this process
 * misses one, it finds the result at its next look.
 */
const KEPT_EVENTS = 200;

export interface RedisRunOptions {
  readonly settings: FullSettings;
  readonly patience: number;
  readonly packages: RedisPackages;
  readonly membership: Membership;
  readonly id: string | undefined;
  readonly title: string | undefined;
}

/** A run as others see it. Times are milliseconds since 1970 by the clock of the server. */
export interface RunRecord {
  readonly title: string;
  readonly host: string;
  readonly pid: number;
  /** The member that is the parent. */
  readonly parent: string;
  readonly started: number;
  readonly seen: number;
  readonly jobs: number;
  readonly done: number;
  readonly failed: number;
}

/** A job that is handed out. */
interface Task {
  readonly job: RemoteJob;
  /** Its id in Redis, another one each time that it is taken from a worker. */
  key: string;
  generation: number;
  deaths: number;
  damages: number;
  /** Since when the job waits for other workers than those on which it failed, and the next pause in milliseconds. */
  declined: { readonly since: number; readonly pause: number } | undefined;
  looked: number;
  payload: Parcel | undefined;
  readonly signal: AbortSignal;
  /** Whether its answer is being read. */
  isSettling: boolean;
  resolve(outcome: RemoteOutcome): void;
  reject(error: unknown): void;
}

/** One run on a queue in Redis. */
export class RedisRun implements RemoteRun {
  readonly id: string;
  onClosed: () => void = () => {};
  readonly #options: RedisRunOptions;
  readonly #queue: Queue;
  readonly #events: QueueEvents;
  readonly #folder: string;
  readonly #keys: ReturnType<typeof keysOf>;
  /** Jobs that are handed out, by their id in the run. */
  readonly #tasks: Map<string, Task> = new Map();
  /** Jobs that a dead parent handed out, by their id in the run. Here are their ids in Redis. */
  readonly #left: Map<string, string> = new Map();
  /** What goes on beside the jobs: removals of jobs and of files. */
  readonly #chores: Set<Promise<void>> = new Set();
  readonly #started: number;
  readonly #signals: WeakSet<AbortSignal> = new WeakSet();
  #jobs = 0;
  #done = 0;
  #failed = 0;
  #connected: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  /** What the run waits for, and since when. */
  #waiting: { readonly what: 'away' | 'full'; readonly since: number } | undefined;
  #closing: Promise<void> | undefined;
  #ended: unknown;

  private constructor(options: RedisRunOptions, id: string, folder: string) {
    const { settings, packages, membership } = options;
    this.id = id;
    this.#options = options;
    this.#folder = folder;
    this.#keys = keysOf(settings.queue);
    this.#started = membership.now();
    const { Queue, QueueEvents } = packages.bullmq;
    this.#queue = new Queue(settings.queue, {
      connection: membership.redis,
      streams: { events: { maxLen: KEPT_EVENTS } },
      defaultJobOptions: { attempts: 1, stackTraceLimit: 0 },
      skipMetasUpdate: true,
    });
    this.#events = new QueueEvents(settings.queue, { connection: membership.redis });
    this.#queue.on('error', () => undefined);
    this.#events.on('error', () => undefined);
    this.#events.on('completed', ({ jobId, returnvalue }) =>
      this.#hear(jobId, (task) => this.#settle(task, returnvalue)),
    );
    this.#events.on('failed', ({ jobId }) => this.#hear(jobId, (task) => this.#fail(task)));
  }

  static async open(options: RedisRunOptions): Promise<RedisRun> {
    const { settings, id = `r${randomBytes(5).toString('hex')}` } = options;
    const run = new RedisRun(options, id, await makeRunFolder(settings.folder, id));
    await run.#queue.waitUntilReady();
    await run.#events.waitUntilReady();
    if (options.id !== undefined) await run.#takeOver();
    await run.#report();
    run.#plan();
    return run;
  }

  async submit(job: RemoteJob, signal: AbortSignal): Promise<RemoteOutcome> {
    if (this.#closing !== undefined) throw closedError();
    if (this.#ended !== undefined) throw this.#ended;
    signal.throwIfAborted();
    if (this.#tasks.has(job.id)) throw sameId(job.id);
    this.#follow(signal);
    this.#jobs++;
    return new Promise((resolve, reject) => {
      const task: Task = {
        ...{ job, signal, key: this.#keyOf(job.id, 0), generation: 0, deaths: 0, damages: 0, declined: undefined },
        ...{ looked: performance.now(), payload: undefined, isSettling: false, resolve, reject },
      };
      this.#tasks.set(job.id, task);
      void this.#handOut(task);
    });
  }

  /** Ends the jobs of a signal when it is aborted. Platforms warn of many listeners, so there is one for each signal. */
  #follow(signal: AbortSignal): void {
    if (this.#signals.has(signal)) return;
    this.#signals.add(signal);
    const stop = (): void => {
      for (const task of [...this.#tasks.values()]) if (task.signal === signal) this.#drop(task, signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
  }

  async workers(): Promise<WorkerCount> {
    const members = [...(await this.#options.membership.members()).values()];
    return { workers: members.filter(({ kind }) => kind === 'worker').length };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer);
    for (const task of this.#tasks.values()) this.#drop(task, closedError());
    const { membership } = this.#options;
    const cleaned = (async () => {
      for (const key of this.#left.values()) await this.#remove(key);
      await Promise.all(this.#chores);
      await membership.redis.hdel(this.#keys.runs, this.id);
      await membership.redis.srem(this.#keys.cancelled, this.id);
    })();
    await soon(cleaned, CLOSE_TIMEOUT);
    await removeRunFolder(this.#folder);
    // Both wait without end for a server that is away.
    await soon(Promise.all([this.#events.close(), this.#queue.close()]));
    this.onClosed();
  }

  /** A job id starts with a letter and holds the run's id, so it is new in Redis. */
  #keyOf(job: string, generation: number): string {
    return `${this.id}/${job}/${generation}`;
  }

  /** Finds the jobs that a dead parent handed out. */
  async #takeOver(): Promise<void> {
    const jobs = await this.#queue.getJobs(['waiting', 'active', 'completed', 'failed']);
    for (const { id } of jobs) {
      const [run, job] = id?.split('/') ?? [];
      if (run === this.id && job !== undefined) this.#left.set(job, id!);
    }
  }

  async #handOut(task: Task): Promise<void> {
    const { job } = task;
    const left = this.#left.get(job.id);
    try {
      if (left !== undefined) {
        this.#left.delete(job.id);
        task.key = left;
        task.generation = Number(left.split('/')[2]) || 0;
        task.looked = Number.NEGATIVE_INFINITY;
        return await this.#look(task);
      }
      task.payload ??= await pack(job.payload, this.#folder, `${job.id}.items`);
      const { module, name } = job.function;
      const avoid =
        task.declined !== undefined && performance.now() - task.declined.since > DECLINED_TIME ? [] : job.avoid;
      const data: JobData = { run: this.id, job: job.id, module, name, payload: task.payload, avoid: avoid ?? [] };
      const { key } = task;
      await this.#queue.add(name === '' ? 'job' : name, data, { jobId: key });
      // The job may have been given up while it was being added.
      if (this.#tasks.get(job.id) !== task || task.key !== key) this.#chore(this.#remove(key));
    } catch (error) {
      // The next look adds it again when there is memory.
      if (!isFull(error)) this.#drop(task, error);
    }
  }

  /** Hands a job to another worker. */
  async #handOutAgain(task: Task): Promise<void> {
    const old = task.key;
    task.key = this.#keyOf(task.job.id, ++task.generation);
    task.looked = performance.now();
    await this.#remove(old);
    await this.#handOut(task);
  }

  /** Hands a job out again that a worker left to others, after a pause that grows. */
  async #handOutLater(task: Task): Promise<void> {
    const { since, pause } = task.declined ?? { since: performance.now(), pause: 50 };
    task.declined = { since, pause: Math.min(DECLINED_PAUSE, 2 * pause) };
    await new Promise((resolve) => setTimeout(resolve, pause));
    task.isSettling = false;
    if (this.#tasks.get(task.job.id) === task) await this.#handOutAgain(task);
  }

  #hear(key: string, act: (task: Task) => Promise<void>): void {
    const [run, id] = key.split('/');
    const task = run === this.id ? this.#tasks.get(id ?? '') : undefined;
    if (task?.key === key) this.#chore(act(task));
  }

  #chore(work: Promise<void>): void {
    const chore = work.catch(() => undefined).then(() => void this.#chores.delete(chore));
    this.#chores.add(chore);
  }

  /** Reads the answer of a worker. */
  async #settle(task: Task, value: unknown): Promise<void> {
    if (task.isSettling || !this.#tasks.has(task.job.id)) return;
    task.isSettling = true;
    try {
      const answer = checkJobAnswer(value);
      if ('declined' in answer) return await this.#handOutLater(task);
      if ('error' in answer) throw readThrown(Uint8Array.from(Buffer.from(answer.error, 'base64')));
      const payload = await unpack(answer.payload, this.#folder);
      const { worker, started, ended } = answer;
      const { membership } = this.#options;
      const clock = (time: number): number => membership.toOwnClock(time);
      if (!this.#tasks.delete(task.job.id)) return;
      this.#done++;
      task.resolve({ payload, worker, started: clock(started), ended: clock(ended) });
      this.#chore(this.#tidy(task, answer.payload));
    } catch (error) {
      const isDamaged = DAMAGES.includes((error as Partial<GraphError> | undefined)?.code ?? '');
      if (!isDamaged || task.damages++ >= MAX_DAMAGES) return this.#drop(task, error);
      // The file of the items may be the damaged one, so it is written again.
      task.payload = undefined;
      task.isSettling = false;
      await this.#handOutAgain(task);
    }
  }

  async #fail(task: Task): Promise<void> {
    this.#drop(task, deathsError(task.job));
  }

  /** Ends a job without a result. */
  #drop(task: Task, error: unknown): void {
    if (this.#tasks.get(task.job.id) !== task) return;
    this.#tasks.delete(task.job.id);
    this.#failed++;
    task.reject(error);
    this.#chore(this.#tidy(task));
  }

  async #tidy(task: Task, result?: Parcel): Promise<void> {
    for (const parcel of [task.payload, result])
      if (parcel !== undefined) await discardParcel(parcel, this.#folder).catch(() => undefined);
    await this.#remove(task.key);
  }

  /**
   * Removes a job from Redis, even from the worker that has it: BullMQ refuses to remove a job with a lock. The worker
   * finds out when it next extends the lock, and stops.
   */
  async #remove(key: string): Promise<void> {
    const { redis } = this.#options.membership;
    const path = this.#queue.toKey(key);
    await redis.del(`${path}:lock`);
    await this.#queue.remove(key);
  }

  #plan(): void {
    if (this.#closing !== undefined) return;
    this.#timer = setTimeout(() => void this.#lookAll().then(() => this.#plan()), LOOK);
  }

  /** Looks at the jobs in Redis, because events may be missed, workers may die, and a server may lose jobs. */
  async #lookAll(): Promise<void> {
    const { membership } = this.#options;
    const { redis } = membership;
    if (redis.status !== 'ready') return this.#waitFor('away');
    try {
      const [cancelled] = await Promise.all([redis.sismember(this.#keys.cancelled, this.id), this.#report()]);
      this.#waiting = undefined;
      if (cancelled === 1) return this.#end(cancelledError(this.id));
      if (this.#tasks.size === 0) return;
      // A worker is dead if it was connected and is not any more.
      const connected = await membership.connected();
      const lost = [...this.#connected].some((id) => !connected.has(id));
      const members = lost ? await membership.members() : undefined;
      this.#connected = connected;
      const now = performance.now();
      const isSettled = now - membership.reconnectedAt > RECONNECTION;
      for (const task of [...this.#tasks.values()])
        if (lost || now - task.looked >= SILENCE) await this.#look(task, members, isSettled ? connected : undefined);
    } catch (error) {
      if (isFull(error)) return this.#waitFor('full');
      // A connection that was cut comes back, or the next look says that the server is away.
    }
  }

  async #look(task: Task, members?: ReadonlyMap<string, Member>, connected?: ReadonlySet<string>): Promise<void> {
    if (task.isSettling) return;
    const { key } = task;
    const job: Job | undefined = await this.#queue.getJob(key);
    if (task.key !== key || this.#tasks.get(task.job.id) !== task || task.isSettling) return;
    task.looked = performance.now();
    if (job === undefined) return this.#handOut(task);
    if (job.finishedOn !== undefined) return job.failedReason ? this.#fail(task) : this.#settle(task, job.returnvalue);
    const worker = job.processedBy;
    if (worker === undefined || connected === undefined || connected.has(worker)) return;
    // The worker's connection has ended. One that said goodbye is no member any more, and gave its jobs back.
    if (members?.has(worker) !== false && ++task.deaths + job.stalledCounter >= MAX_DEATHS) return this.#fail(task);
    await this.#handOutAgain(task);
  }

  /** Ends the run if the server stays away, or full, for too long. */
  #waitFor(what: 'away' | 'full'): void {
    const now = performance.now();
    this.#waiting = this.#waiting?.what === what ? this.#waiting : { what, since: now };
    const { patience, settings } = this.#options;
    if (now - this.#waiting.since > patience)
      this.#end(what === 'away' ? lostError(settings, patience) : memoryError(patience));
  }

  /** Rejects all jobs, those that come later, too. */
  #end(error: unknown): void {
    this.#ended = error;
    for (const task of [...this.#tasks.values()]) this.#drop(task, error);
  }

  async #report(): Promise<void> {
    const { membership, title = '' } = this.#options;
    const record: RunRecord = {
      ...{ title, host: hostname(), pid: process.pid, parent: membership.id },
      ...{ started: this.#started, seen: membership.now() },
      ...{ jobs: this.#jobs, done: this.#done, failed: this.#failed },
    };
    await membership.redis.hset(this.#keys.runs, this.id, JSON.stringify(record));
  }
}

/** Errors that a damaged or missing file or message causes. Doing the job again may help. */
const DAMAGES: readonly string[] = ['graph/remote-file', 'graph/remote-parcel', 'graph/remote-message'];

/** Whether Redis refused a command because its memory is full. */
function isFull(error: unknown): boolean {
  return error instanceof Error && /\bOOM\b/.test(error.message);
}

function closedError(): GraphError {
  return new GraphError('graph/remote-closed', 'The run is closed, and takes no more work.', {
    remedy: 'Close it after all work is done.',
  });
}

function sameId(id: string): GraphError {
  return new GraphError('graph/remote-same-id', 'Two jobs of a run have the same id.', {
    got: id,
    remedy: 'Give each item another id.',
  });
}

function deathsError({ id, function: { module, name } }: RemoteJob): GraphError {
  return new GraphError('graph/remote-deaths', `The workers that did job ${id} died, ${MAX_DEATHS} times.`, {
    remedy: `Look for what ends the process in the logs of the workers: memory, say. Leave the item out, or mend ${name} of ${module}.`,
  });
}

function cancelledError(run: string): GraphError {
  return new GraphError('graph/remote-cancelled', `The run ${run} was cancelled.`, {});
}

function lostError({ url }: FullSettings, milliseconds: number): GraphError {
  return new GraphError('graph/remote-lost', `The Redis server ${shownUrl(url)} has been away for too long.`, {
    expected: `an answer within ${milliseconds / 1000} s`,
    remedy: 'Start the server again.',
  });
}

function memoryError(milliseconds: number): GraphError {
  return new GraphError('graph/remote-memory', 'The memory of the Redis server has been full for too long.', {
    expected: `room within ${milliseconds / 1000} s`,
    remedy: 'Raise maxmemory, or remove what others keep there.',
  });
}
