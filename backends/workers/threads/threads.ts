import type { DeviceLostError } from '../../../primitives/errors.ts';
import type { HostMessage, WorkerMessage, WorkerSetup } from './queue.ts';

/** A worker thread in the form that the pool uses. */
export interface Thread {
  /** Sends a message, which the thread receives before the next phase that is issued. */
  post(message: HostMessage): void;
  /** Sets callbacks for messages of the thread, and for its failure or end, with the cause. */
  follow(said: (message: WorkerMessage) => void, failed: (cause: unknown) => void): void;
  /** From now on, the thread does not keep the process alive. */
  unref(): void;
  /** Waits for a thread that was told to leave; terminates it if it does not leave in time. */
  leave(): Promise<void>;
  /** Terminates the thread immediately. */
  terminate(): Promise<void>;
}

/** Provides worker threads, in Node or on a page. */
export interface Threads {
  /** Number of threads that can run in parallel. */
  readonly cores: () => number;
  /** Throws if threads cannot share memory. */
  readonly requireSharing: () => void;
  /** Throws if the threads do not fit in the address space besides the reserved memory. */
  readonly requireRoom: (threads: number) => void;
  /** Yields to the event loop of the calling thread. */
  readonly turn: () => Promise<void>;
  /** Starts a thread, or throws. */
  readonly start: (setup: WorkerSetup) => Thread;
  /** The error for a thread that cannot be started. */
  readonly refused: (threads: number, cause: unknown) => DeviceLostError;
}

/** Milliseconds that a thread may take to finish its chunk before it is terminated. */
export const PATIENCE = 1000;
