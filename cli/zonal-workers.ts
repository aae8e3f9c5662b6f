import type { RemoteJob, RemoteOutcome, RemoteRun, WorkerCount } from '../graph/index.ts';
import { countFailed } from '../graph/remote/job-wire.ts';
import { GraphError } from '../primitives/checks/errors.ts';
import { codeOf } from '../queues/queue-errors.ts';
import type { ProgressFigures } from './log.ts';

/** Milliseconds between two looks at the workers of a queue. */
const LOOK_EVERY = 1000;
/** Milliseconds without workers after which people are told. */
const TELL_AFTER = 5000;
/** A partition may take this many times as long as the median. */
const TIMES_MEDIAN = 10;
/** Seconds that a partition may always take, if no other limit is given. */
const LEAST_SECONDS = 60;
/** Seconds that a partition may take before any has ended, if no limit is given. */
const FIRST_SECONDS = 3600;
/** The longest time of a timer, in milliseconds. */
const MAX_TIMER = 2 ** 31 - 1;
/** Number of the newest partitions that the median is of. */
const NEWEST = 101;

export interface WorkerWatchOptions {
  /** Seconds that a partition may take on a worker. Undefined: ten times the median so far, and at least a minute. */
  readonly seconds: number | undefined;
  /** The number of cells of a job. */
  cellsOf(job: string): number;
  /** Called when there have been no workers for a while. */
  onNoWorkers(): void;
  /** Called when the queue has not answered for a while, and when it answers again. */
  onAway(): void;
  onBack(): void;
}

/** What a worker has done. */
export interface WorkerFigures {
  readonly partitions: number;
  readonly cells: number;
  readonly cellsPerSecond: number;
}

/** The code of a job that ended several workers. It would end more. */
const DEATHS = 'graph/remote-deaths';
/** The codes of errors of the server or the folder, which may be mended. */
const OUTAGES: readonly string[] = ['graph/remote-lost', 'graph/remote-memory', 'graph/remote-disk'];
/** The codes of errors that end a run, and not one job of it. */
const OF_RUNS: readonly string[] = ['graph/remote-cancelled', 'graph/remote-closed', ...OUTAGES];

/** Whether an error is one of the server or the folder, so that the run can go on later. */
export function isOutage(error: unknown): boolean {
  return OUTAGES.includes(codeOf(error));
}

/** Whether an error is that of a run on a queue, so that no further job can be done. */
export function endsRun(error: unknown): boolean {
  return OF_RUNS.includes(codeOf(error));
}

interface Done {
  partitions: number;
  cells: number;
  from: number;
  to: number;
}

/**
 * A run on a queue that knows what each worker does, and takes back jobs that take too long. Its owner closes the run
 * itself.
 */
export class WatchedRun implements RemoteRun {
  readonly id: string;
  readonly #run: RemoteRun;
  readonly #options: WorkerWatchOptions;
  readonly #workers = new Map<string, Done>();
  readonly #attempts = new Map<string, number>();
  /** Errors of jobs that are not to be tried again. */
  readonly #final = new Map<string, unknown>();
  readonly #seconds: number[] = [];
  readonly #timer: NodeJS.Timeout;
  #serving: number | undefined;
  #served = performance.now();
  /** Milliseconds for which a look has not been answered. They are counted: while this process is busy, nobody answers. */
  #silent = 0;
  #isLooking = false;
  #isTold = false;

  constructor(run: RemoteRun, options: WorkerWatchOptions) {
    this.id = run.id;
    this.#run = run;
    this.#options = options;
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY);
  }

  /** Hands out a job. Each further attempt has a name of its own, so that an earlier failure is not found again. */
  async submit(job: RemoteJob, signal: AbortSignal): Promise<RemoteOutcome> {
    if (this.#final.has(job.id)) throw this.#final.get(job.id);
    const attempt = (this.#attempts.get(job.id) ?? 0) + 1;
    this.#attempts.set(job.id, attempt);
    const limit = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    /** What a partition may take grows with the median, so the limit is looked at again when it is reached. */
    const watch = (from: number): void => {
      clearTimeout(timer);
      const { seconds } = this;
      const left = 1000 * seconds - (performance.now() - from);
      if (left <= 0) limit.abort(partitionTimeout(seconds));
      else timer = setTimeout(() => watch(from), Math.min(left, MAX_TIMER));
    };
    try {
      const id = attempt === 1 ? job.id : `${job.id}.${attempt}`;
      const either = AbortSignal.any([signal, limit.signal]);
      const outcome = await this.#run.submit({ ...job, id }, either, () => watch(performance.now()));
      if (countFailed(outcome.payload) === 0) this.#learn(outcome, this.#options.cellsOf(job.id));
      return outcome;
    } catch (error) {
      if (codeOf(error) === DEATHS) this.#final.set(job.id, error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  workers(): Promise<WorkerCount> {
    return this.#run.workers();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }

  /** Seconds that a partition may take on a worker. */
  get seconds(): number {
    const { seconds } = this.#options;
    if (seconds !== undefined) return seconds;
    if (this.#seconds.length === 0) return FIRST_SECONDS;
    const sorted = this.#seconds.toSorted((a, b) => a - b);
    return Math.max(LEAST_SECONDS, TIMES_MEDIAN * sorted[sorted.length >> 1]!);
  }

  /** The number of workers and the rate of each, for a progress bar. */
  figures(): ProgressFigures {
    const rates = [...this.done()].map(([name, { cellsPerSecond }]) => [`cells/s ${name}`, cellsPerSecond] as const);
    return { ...(this.#serving !== undefined && { workers: this.#serving }), ...Object.fromEntries(rates) };
  }

  /** What each worker has done, by name. */
  done(): ReadonlyMap<string, WorkerFigures> {
    return new Map(
      [...this.#workers].map(([name, { partitions, cells, from, to }]) => {
        return [name, { partitions, cells, cellsPerSecond: (1000 * cells) / Math.max(1, to - from) }];
      }),
    );
  }

  #learn({ worker, started, ended }: RemoteOutcome, cells: number): void {
    const done = this.#workers.get(worker) ?? { partitions: 0, cells: 0, from: started, to: ended };
    done.partitions++;
    done.cells += cells;
    done.from = Math.min(done.from, started);
    done.to = Math.max(done.to, ended);
    this.#workers.set(worker, done);
    this.#seconds.push(Math.max(0, ended - started) / 1000);
    if (this.#seconds.length > NEWEST) this.#seconds.shift();
  }

  #missAnswer(): void {
    this.#silent += LOOK_EVERY;
    if (this.#silent === TELL_AFTER) this.#options.onAway();
  }

  async #look(): Promise<void> {
    if (this.#isLooking) {
      this.#missAnswer();
      return;
    }
    this.#isLooking = true;
    try {
      this.#serving = (await this.#run.workers()).workers;
      const now = performance.now();
      if (this.#silent >= TELL_AFTER) this.#options.onBack();
      this.#silent = 0;
      if (this.#serving > 0) {
        this.#served = now;
        this.#isTold = false;
        return;
      }
      if (now - this.#served < TELL_AFTER || this.#isTold) return;
      this.#isTold = true;
      this.#options.onNoWorkers();
    } catch {
      // The queue cannot be asked now. Handing out jobs tells why, if that lasts.
      this.#missAnswer();
    } finally {
      this.#isLooking = false;
    }
  }
}

function partitionTimeout(seconds: number): GraphError {
  return new GraphError('zonal/partition-timeout', 'A partition takes too long.', {
    expected: `at most ${seconds.toFixed(0)} seconds`,
    remedy: 'Allow more time with --partition-timeout SECONDS, or leave such partitions out with --on-error skip.',
  });
}
