import type { RemoteJob, RemoteOutcome } from '../graph/remote/work-queue.ts';
import type { Parcel } from './results-folder.ts';

/** A job that is handed out. */
export interface Task {
  readonly job: RemoteJob;
  /** Its id in Redis, another one each time that it is taken from a worker. */
  key: string;
  generation: number;
  /** Workers that were gone before they had done the job. */
  readonly lostTo: Set<string>;
  damages: number;
  /** Workers that cannot do the job, or on which an item failed before. */
  readonly avoid: Set<string>;
  /** Milliseconds before it is added again if a worker leaves it to others. */
  declinePause: number;
  /** Since when there is no room for its files, by `performance.now()`. */
  fullSince: number | undefined;
  looked: number;
  payload: Parcel | undefined;
  readonly signal: AbortSignal;
  readonly onBegan: (() => void) | undefined;
  /** The id in Redis under which a worker began it. */
  begun: string | undefined;
  /** Whether its answer is being read. */
  isSettling: boolean;
  resolve(outcome: RemoteOutcome): void;
  reject(error: unknown): void;
}
