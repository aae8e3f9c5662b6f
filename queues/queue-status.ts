/** A run on a queue. Times are milliseconds since 1970. */
export interface RunStatus {
  readonly id: string;
  readonly title: string;
  /** The host of the program that the run belongs to. */
  readonly host: string;
  readonly pid: number;
  readonly started: number;
  /** Number of jobs that were handed out so far, and how many of them are done or failed. */
  readonly jobs: number;
  readonly done: number;
  readonly failed: number;
  /** The folder of the queue, as the program calls it. */
  readonly folder: string;
  /** Whether the program is connected. If not, it was killed, and the run can be taken over or cancelled. */
  readonly isAlive: boolean;
}

/** A worker that serves a queue. Times are milliseconds since 1970. */
export interface WorkerStatus {
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly started: number;
  /** Number of jobs that it does at the same time at most. */
  readonly lanes: number;
  /** Number of jobs that it has done. */
  readonly done: number;
  readonly label?: string | undefined;
}

export interface QueueStatus {
  readonly runs: readonly RunStatus[];
  readonly workers: readonly WorkerStatus[];
}
