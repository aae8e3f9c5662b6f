/** A job that runs after all jobs that were queued before it. */
export interface QueuedJob {
  run(): Promise<void>;
  failed(reason: unknown): void;
  /** Called last, whether the job has succeeded, has failed or was never run. */
  settled(): void;
}

/** Runs jobs one after the other. */
export interface Queue {
  /** Whether the queue is empty. */
  readonly idle: boolean;
  /** If the queue was stopped, throws the reason. */
  guard(): void;
  add(job: QueuedJob): void;
  /** Queues a function and resolves to its result. */
  join<R>(run: () => Promise<R>): Promise<R>;
  /** Marks a failure as reported to the caller. Returns `reason`. */
  tell(reason: unknown): unknown;
  /** Throws the first failure that was not yet reported to the caller, and forgets all later failures. */
  throwUntold(): void;
  /** Stops the queue: all unfinished jobs fail. */
  stop(reason: unknown): void;
  /** Resolves when the queue is empty. */
  settled(): Promise<void>;
}

export function createQueue(): Queue {
  const waiting: QueuedJob[] = [];
  let untold: unknown[] = [];
  let stopped: { readonly reason: unknown } | undefined;
  let running: Promise<void> | undefined;

  const guard = (): void => {
    if (stopped !== undefined) throw stopped.reason;
  };

  const runOne = async (job: QueuedJob): Promise<void> => {
    try {
      guard();
      await job.run();
      // The queue may have been stopped while the job was running. Then the job counts as failed.
      guard();
    } catch (error) {
      const reason = stopped === undefined ? error : stopped.reason;
      job.failed(reason);
    } finally {
      job.settled();
    }
  };

  const runAll = async (): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await runOne(job);
    running = undefined;
  };

  const add = (job: QueuedJob): void => {
    waiting.push(job);
    running ??= runAll();
  };

  return {
    guard,
    get idle() {
      return running === undefined;
    },
    add(job) {
      add({
        ...job,
        failed(reason) {
          if (!untold.includes(reason)) untold.push(reason);
          job.failed(reason);
        },
      });
    },
    join: (run) =>
      new Promise((resolve, reject) => {
        const settled = (): void => {};
        add({ run: async () => run().then(resolve, reject), failed: reject, settled });
      }),
    tell(reason) {
      untold = untold.filter((other) => other !== reason);
      return reason;
    },
    throwUntold() {
      const [reason] = untold;
      const any = untold.length > 0;
      untold = [];
      if (any) throw reason;
    },
    stop(reason) {
      stopped ??= { reason };
    },
    settled: async () => running,
  };
}
