import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anything, aWhole, type Kind, optional, someOptions, someRecord } from '../../primitives/checks/kinds.ts';
import { doJob, type RemoteModules } from './do-job.ts';
import { closedError } from './remote-errors.ts';
import type { RemoteJob, RemoteOutcome, RemoteRun, WorkerCount, WorkQueue } from './work-queue.ts';

export interface InProcessQueueOptions {
  /** The modules whose functions jobs may name, by id. */
  readonly modules: RemoteModules;
  /** The context that functions receive as `ctx`. Columns in items land there. */
  readonly context?: unknown;
  /** Maximum number of jobs that are done at the same time. Default 1. */
  readonly lanes?: number | undefined;
}

const someQueueOptions: Kind = someOptions<InProcessQueueOptions>({
  modules: someRecord,
  context: anything,
  lanes: optional(aWhole(1)),
});

/**
 * Makes a queue whose jobs are done in this process, for tests and for programs without other machines. Items and
 * results travel in the wire form, as between processes, so a stage gives the same answers here as there. Each run has
 * its own jobs; all runs share the lanes.
 *
 * @example
 * ```ts
 * const tiles = { measure: (tile: Uint8Array) => tile.reduce((sum, cell) => sum + cell, 0) };
 * const queue = inProcessQueue({ modules: { tiles: async () => tiles } });
 * const sums = graph('sums', (g) => {
 *   const read = g.source('read', [Uint8Array.of(1, 2), Uint8Array.of(3)]);
 *   return g.collect('sums', g.stage('measure', read, tiles.measure, { remote: { queue, module: 'tiles' } }));
 * });
 * await sums.run().result; // [3, 3]
 * ```
 */
export function inProcessQueue(options: InProcessQueueOptions): WorkQueue {
  requireArguments('inProcessQueue', { options }, { options: someQueueOptions });
  const { lanes = 1 } = options;
  const turns = new Turns(lanes);
  const runs = new Set<InProcessRun>();
  let opened = 0;
  let isClosed = false;
  return {
    name: 'in process',
    openRun: async ({ id } = {}) => {
      if (isClosed) throw closedError('queue');
      const run = new InProcessRun(id ?? `run-${++opened}`, options, turns, () => runs.delete(run));
      runs.add(run);
      return run;
    },
    close: async () => {
      isClosed = true;
      await Promise.all([...runs].map((run) => run.close()));
    },
  };
}

class InProcessRun implements RemoteRun {
  readonly id: string;
  readonly #options: InProcessQueueOptions;
  readonly #turns: Turns;
  readonly #abort: AbortController = new AbortController();
  readonly #jobs: Set<Promise<unknown>> = new Set();
  readonly #closed: () => void;

  constructor(id: string, options: InProcessQueueOptions, turns: Turns, closed: () => void) {
    this.id = id;
    this.#options = options;
    this.#turns = turns;
    this.#closed = closed;
  }

  async submit(job: RemoteJob, signal: AbortSignal, onBegan?: () => void): Promise<RemoteOutcome> {
    if (this.#abort.signal.aborted) throw closedError('run');
    signal.throwIfAborted();
    const either = AbortSignal.any([signal, this.#abort.signal]);
    const work = this.#work(job, either, onBegan);
    this.#jobs.add(work);
    const ended = (): void => void this.#jobs.delete(work);
    work.then(ended, ended);
    return orAborted(work, either);
  }

  async #work(job: RemoteJob, signal: AbortSignal, onBegan?: () => void): Promise<RemoteOutcome> {
    await this.#turns.take();
    try {
      signal.throwIfAborted();
      const { modules, context } = this.#options;
      onBegan?.();
      return await doJob(job, modules, { context, signal, worker: 'in process' });
    } finally {
      this.#turns.giveBack();
    }
  }

  async workers(): Promise<WorkerCount> {
    return { workers: 1 };
  }

  async close(): Promise<void> {
    this.#abort.abort(closedError('run'));
    await Promise.allSettled(this.#jobs);
    this.#closed();
  }
}

/** Settles like `work`, or rejects with the reason as soon as the signal is aborted. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** A number of turns, which are given in the order in which they were asked for. */
class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
