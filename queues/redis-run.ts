import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readThrown } from '../graph/remote/job-wire.ts';
import { closedError } from '../graph/remote/remote-errors.ts';
import type { RemoteJob, RemoteOutcome, RemoteRun, WorkerCount } from '../graph/remote/work-queue.ts';
import { within } from './connection.ts';
import { checkJobAnswer, type JobData, WAITING } from './job-messages.ts';
import { type Membership, parsed, soon } from './membership.ts';
import {
  cancelledError,
  deathsError,
  isDamage,
  isFull,
  isWithoutRoom,
  lostError,
  memoryError,
  sameIdError,
  sameRunError,
} from './queue-errors.ts';
import { type FullSettings, keysOf, MAX_DEATHS } from './queue-settings.ts';
import type { RedisPackages } from './redis-packages.ts';
import { discardParcel, makeRunFolder, type Parcel, pack, removeRunFolder, unpack } from './results-folder.ts';
import type { RunRecord } from './run-record.ts';
import { StoredJobs } from './stored-jobs.ts';
import type { Task } from './task.ts';

/** Milliseconds between two looks at the jobs in Redis. Between them, events tell what happens. */
const LOOK = 1000;
/** Milliseconds after which a look asks for a job that nothing was heard of. */
const SILENCE = 2000;
/** Milliseconds for which workers may connect again after the connection of this process was cut. */
const RECONNECTION = 5000;
/** How often a job is done anew because its files, or what Redis has of it, are damaged. */
const MAX_DAMAGES = 2;
/** The first pause before a job is added again that a worker left to others, in milliseconds. */
const FIRST_DECLINE_PAUSE = 20;
/** The longest such pause: many jobs that are added again and again would keep the server busy. */
const longestDeclinePause = (jobs: number): number => 100 + 5 * jobs;
/** Milliseconds that closing waits for the server. */
const CLOSE_TIMEOUT = 5000;

export interface RedisRunOptions {
  readonly settings: FullSettings;
  readonly patience: number;
  readonly packages: RedisPackages;
  readonly membership: Membership;
  readonly id: string | undefined;
  readonly title: string | undefined;
}

/** One run on a queue in Redis. */
export class RedisRun implements RemoteRun {
  readonly id: string;
  onClosed: () => void = () => {};
  readonly #options: RedisRunOptions;
  readonly #stored: StoredJobs;
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
  /**
   * Milliseconds for which the server has not answered, and for which it has been full. They are counted and not
   * measured: while this process is busy or stopped, nobody answers.
   */
  #silent = 0;
  #full = 0;
  #isLooking = false;
  #closing: Promise<void> | undefined;
  #ended: unknown;

  private constructor(options: RedisRunOptions, id: string, folder: string) {
    const { settings, packages, membership } = options;
    this.id = id;
    this.#options = options;
    this.#folder = folder;
    this.#keys = keysOf(settings.queue);
    this.#started = membership.now();
    this.#stored = new StoredJobs(settings.queue, packages, membership);
  }

  static async open(options: RedisRunOptions): Promise<RedisRun> {
    const { settings, id = `r${randomBytes(5).toString('hex')}` } = options;
    const run = new RedisRun(options, id, await makeRunFolder(settings.folder, id));
    try {
      await within(options.patience, run.#begin(), () => lostError(settings.url, options.patience));
      return run;
    } catch (error) {
      run.#closing = run.#stored.close();
      await run.#closing;
      // What another program left can be taken over later.
      if (options.id === undefined) await removeRunFolder(run.#folder);
      throw error;
    }
  }

  async #begin(): Promise<void> {
    await this.#stored.open({
      began: (key) => this.#hear(key, async (task) => this.#tellBegun(task)),
      completed: (key, value) => this.#hear(key, (task) => this.#settle(task, value)),
      failed: (key, reason) => this.#hear(key, (task) => this.#fail(task, reason)),
    });
    if (this.#options.id !== undefined) await this.#takeOver();
    await this.#report().catch((error: unknown) => {
      // The looks wait for room.
      if (!isFull(error)) throw error;
    });
    this.#plan();
  }

  async submit(job: RemoteJob, signal: AbortSignal, onBegan?: () => void): Promise<RemoteOutcome> {
    if (this.#closing !== undefined) throw closedError('run');
    if (this.#ended !== undefined) throw this.#ended;
    signal.throwIfAborted();
    if (this.#tasks.has(job.id)) throw sameIdError(job.id);
    this.#follow(signal);
    this.#jobs++;
    return new Promise((resolve, reject) => {
      const task: Task = {
        ...{ job, signal, onBegan, resolve, reject },
        ...{ key: this.#keyOf(job.id, 0), generation: 0, payload: undefined, lostTo: new Set(), damages: 0 },
        ...{ avoid: new Set(job.avoid), declinePause: FIRST_DECLINE_PAUSE, fullSince: undefined },
        ...{ looked: performance.now(), begun: undefined, isSettling: false },
      };
      this.#tasks.set(job.id, task);
      this.#chore(this.#handOut(task));
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
    return { workers: (await this.#options.membership.workers()).length };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer);
    for (const task of this.#tasks.values()) this.#drop(task, closedError('run'));
    const { membership } = this.#options;
    const cleaned = (async () => {
      for (const key of this.#left.values()) await this.#stored.remove(key);
      // Chores make chores.
      while (this.#chores.size > 0) await Promise.all(this.#chores);
      await this.#stored.removeRest();
      await membership.redis.hdel(this.#keys.runs, this.id);
      await membership.redis.srem(this.#keys.cancelled, this.id);
    })();
    await soon(cleaned, CLOSE_TIMEOUT);
    await removeRunFolder(this.#folder);
    await this.#stored.close();
    this.onClosed();
  }

  /** A job id starts with a letter and holds the run's id, so it is new in Redis. */
  #keyOf(job: string, generation: number): string {
    return `${this.id}/${job}/${generation}`;
  }

  /** Finds the jobs that a dead parent handed out. */
  async #takeOver(): Promise<void> {
    const { membership } = this.#options;
    const record = parsed<RunRecord>(await membership.redis.hget(this.#keys.runs, this.id));
    if (record !== undefined && (await membership.connectedMembers()).has(record.parent))
      throw sameRunError(this.id, `process ${record.pid} on ${record.host}`);
    for (const key of await this.#stored.keysOf(this.id)) {
      const [, job] = key.split('/');
      if (job !== undefined) this.#left.set(job, key);
    }
  }

  async #handOut(task: Task): Promise<void> {
    const { job } = task;
    if (this.#tasks.get(job.id) !== task) return;
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
      // The third worker that dies tells which of its jobs it was.
      const alone = task.lostTo.size >= MAX_DEATHS - 1;
      const data: JobData = {
        run: this.id,
        job: job.id,
        module,
        name,
        payload: task.payload,
        avoid: [...task.avoid],
        alone,
      };
      const { key } = task;
      await this.#stored.add(key, data);
      // The job may have been given up while it was being added.
      if (this.#tasks.get(job.id) !== task || task.key !== key) this.#chore(this.#stored.remove(key));
    } catch (error) {
      if (isWithoutRoom(error)) await this.#handOutWhenRoom(task, error);
      // The next look adds it again when there is memory.
      else if (!isFull(error)) this.#drop(task, error);
    }
  }

  /** Hands a job to another worker. */
  async #handOutAgain(task: Task): Promise<void> {
    if (this.#tasks.get(task.job.id) !== task) return;
    const old = task.key;
    task.key = this.#keyOf(task.job.id, ++task.generation);
    task.looked = performance.now();
    await this.#stored.remove(old);
    await this.#handOut(task);
  }

  /**
   * Hands a job out again that a worker left to others, after a pause that grows. Meanwhile, the worker waits for jobs
   * again, and those that wait longer come first. Jobs that wait for each other's workers would be taken in step if all
   * pauses were the same.
   */
  async #handOutLater(task: Task): Promise<void> {
    const pause = task.declinePause * (0.5 + Math.random());
    task.declinePause = Math.min(longestDeclinePause(this.#tasks.size), 2 * task.declinePause);
    await this.#pause(task, pause);
  }

  /** Hands a job that a worker cannot do to others. Ends it if there are none. */
  async #handToOthers(task: Task, worker: string, error: unknown): Promise<void> {
    task.avoid.add(worker);
    const workers = await this.#options.membership.workers();
    if (workers.some((id) => !task.avoid.has(id))) await this.#handOutAgain(task);
    else this.#drop(task, error);
  }

  /** Hands a job out again for whose files there was no room, after a pause. */
  async #handOutWhenRoom(task: Task, error: unknown): Promise<void> {
    task.fullSince ??= performance.now();
    if (performance.now() - task.fullSince > this.#options.patience) this.#drop(task, error);
    else await this.#pause(task, LOOK);
  }

  async #pause(task: Task, milliseconds: number): Promise<void> {
    // Looks leave it alone.
    task.isSettling = true;
    await delay(milliseconds);
    task.isSettling = false;
    await this.#handOutAgain(task);
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
    let failedOn: string | undefined;
    try {
      const answer = checkJobAnswer(value);
      if ('declined' in answer) return await this.#handOutLater(task);
      if ('error' in answer) {
        failedOn = answer.worker;
        throw readThrown(Uint8Array.from(Buffer.from(answer.error, 'base64')));
      }
      const payload = await unpack(answer.payload, this.#folder);
      const { worker, started, ended } = answer;
      const { membership } = this.#options;
      const clock = (time: number): number => membership.toOwnClock(time);
      if (!this.#tasks.delete(task.job.id)) return;
      this.#done++;
      task.resolve({ payload, worker, started: clock(started), ended: clock(ended) });
      this.#chore(this.#tidy(task, answer.payload));
    } catch (error) {
      task.isSettling = false;
      if (isWithoutRoom(error)) await this.#handOutWhenRoom(task, error);
      else if (isDamage(error)) await this.#repair(task, error);
      else if (failedOn !== undefined) await this.#handToOthers(task, failedOn, error);
      else this.#drop(task, error);
    }
  }

  /** Does a job anew of which something is damaged. */
  async #repair(task: Task, error: unknown): Promise<void> {
    if (task.damages++ >= MAX_DAMAGES) return this.#drop(task, error);
    // The file of the items may be the damaged one, so it is written again.
    task.payload = undefined;
    await this.#handOutAgain(task);
  }

  /** Ends a job that BullMQ gave up. It does so after too many deaths, or if it cannot store the answer. */
  async #fail(task: Task, reason: string | undefined): Promise<void> {
    const error = deathsError(task.job.id, task.job.function);
    if (reason === undefined || reason.includes('stalled')) this.#drop(task, error);
    else await this.#repair(task, error);
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
    await this.#stored.remove(task.key);
  }

  #plan(): void {
    if (this.#closing !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#tick();
      this.#plan();
    }, LOOK);
  }

  /** Looks at the jobs, unless the last look still waits for the server. Ends the run if it waits for too long. */
  #tick(): void {
    const { patience, settings } = this.#options;
    this.#silent += LOOK;
    if (this.#silent > patience) this.end(lostError(settings.url, patience));
    if (this.#isLooking) return;
    this.#isLooking = true;
    const done = (): void => {
      this.#isLooking = false;
    };
    this.#chore(this.#lookAll().finally(done));
  }

  /** Looks at the jobs in Redis, because events may be missed, workers may die, and a server may lose jobs. */
  async #lookAll(): Promise<void> {
    const { membership, patience } = this.#options;
    const { redis } = membership;
    try {
      const [cancelled] = await Promise.all([redis.sismember(this.#keys.cancelled, this.id), this.#report()]);
      this.#silent = 0;
      this.#full = 0;
      if (cancelled === 1) return this.end(cancelledError(this.id));
      await this.#stored.removeRest();
      if (this.#tasks.size === 0) return;
      // A worker is dead if it was connected and is not any more. Members are read later: a worker that ends leaves before
      // its connection ends.
      const connected = await membership.connected();
      const lost = [...this.#connected].some((id) => !connected.has(id));
      this.#connected = connected;
      const now = performance.now();
      const isSettled = now - membership.reconnectedAt > RECONNECTION;
      for (const task of [...this.#tasks.values()])
        if (lost || now - task.looked >= SILENCE) await this.#look(task, isSettled ? connected : undefined);
    } catch (error) {
      // A connection that was cut comes back.
      if (!isFull(error)) return;
      this.#silent = 0;
      this.#full += LOOK;
      if (this.#full > patience) this.end(memoryError(patience, error));
    }
  }

  #tellBegun(task: Task): void {
    if (task.begun === task.key) return;
    task.begun = task.key;
    task.onBegan?.();
  }

  async #look(task: Task, connected?: ReadonlySet<string>): Promise<void> {
    if (task.isSettling) return;
    const { key } = task;
    const job = await this.#stored.get(key);
    this.#silent = 0;
    if (task.key !== key || this.#tasks.get(task.job.id) !== task || task.isSettling) return;
    task.looked = performance.now();
    if (job === undefined) return this.#handOut(task);
    if (job.finishedOn !== undefined)
      return job.failedReason ? this.#fail(task, job.failedReason) : this.#settle(task, job.returnvalue);
    const worker = job.processedBy;
    if (worker !== undefined) this.#tellBegun(task);
    if (worker === undefined || connected === undefined || connected.has(worker)) return;
    // The worker's connection has ended. One that said goodbye is no member any more, and gave its jobs back. One that
    // comes back has not died. A job that waited there for another one has killed nobody.
    if (job.progress !== WAITING && (await this.#options.membership.members()).has(worker)) task.lostTo.add(worker);
    const deaths = [...task.lostTo].filter((id) => !connected.has(id)).length;
    if (task.key !== key) return;
    if (deaths + job.stalledCounter >= MAX_DEATHS) return this.#fail(task, undefined);
    await this.#handOutAgain(task);
  }

  /** Rejects all jobs, those that come later, too. */
  end(error: unknown): void {
    this.#ended ??= error;
    for (const task of [...this.#tasks.values()]) this.#drop(task, error);
  }

  async #report(): Promise<void> {
    const { membership, settings, title = '' } = this.#options;
    const record: RunRecord = {
      ...{ title, host: hostname(), pid: process.pid, parent: membership.id, folder: resolve(settings.folder) },
      ...{ started: this.#started, jobs: this.#jobs, done: this.#done, failed: this.#failed },
    };
    await Promise.all([
      membership.redis.hset(this.#keys.runs, this.id, JSON.stringify(record)),
      this.#stored.configure(),
    ]);
  }
}
