import type { AbortSignal } from '../../primitives/host/platform-types.ts';

/**
 * An exported function of a module that workers were started with. A job names the function, and never carries a path
 * or code.
 */
export interface RemoteFunction {
  /** The id under which workers know the module: letters, digits, `.`, `_` and `-`. */
  readonly module: string;
  /** The name of the export. */
  readonly name: string;
}

/** A unit of work: one item, or several small items that are processed one after the other. */
export interface RemoteJob {
  /** Unique within the run: letters, digits, `.`, `_` and `-`. */
  readonly id: string;
  readonly function: RemoteFunction;
  /** The items in the wire form, which `doJob` reads. */
  readonly payload: Uint8Array;
  /** Names of workers on which an item failed before. Others should do the job, if there are any. */
  readonly avoid?: readonly string[] | undefined;
}

/** The results of a job. */
export interface RemoteOutcome {
  /** A result or an error for each item of the job, in the wire form, as `doJob` wrote them. */
  readonly payload: Uint8Array;
  /** Name of the worker that did the job, for traces. */
  readonly worker: string;
  /** Start of the work in milliseconds since 1970, by the clock of the parent as well as can be told. */
  readonly started: number;
  /** End of the work, measured like `started`. */
  readonly ended: number;
}

/** The workers that serve a queue now. */
export interface WorkerCount {
  readonly workers: number;
}

/** One run on a queue. Each of its jobs is done at least once, and each call of `submit` settles once. */
export interface RemoteRun {
  /** Names the run on the queue. */
  readonly id: string;
  /**
   * Hands out a job. Rejects with a `GraphError`, whose code starts with `graph/remote-`, if the job cannot be done. An
   * abort takes the job back and rejects with the reason of the signal. `onBegan` is called when a worker has begun it,
   * again if another worker begins it anew.
   */
  submit(job: RemoteJob, signal: AbortSignal, onBegan?: () => void): Promise<RemoteOutcome>;
  workers(): Promise<WorkerCount>;
  /** Takes back all jobs that are left, and removes everything that the run wrote. */
  close(): Promise<void>;
}

/** How a run appears on its queue. */
export interface OpenRunOptions {
  /**
   * The id of an earlier run whose program ended without closing it, to take it over: jobs that it had handed out under
   * the same ids are not done again. Letters, digits, `.`, `_` and `-`. Default: a new id.
   */
  readonly id?: string | undefined;
  /** What people read in lists of runs. Default: nothing. */
  readonly title?: string | undefined;
}

/** A queue that hands out jobs to workers, in this process or in others. */
export interface WorkQueue {
  /** Names the queue in drawings, traces and errors. */
  readonly name: string;
  openRun(options?: OpenRunOptions): Promise<RemoteRun>;
  /** Ends the connection to the queue, after its runs are closed. */
  close(): Promise<void>;
}
