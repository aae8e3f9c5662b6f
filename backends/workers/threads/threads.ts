import type { DeviceLostError } from '../../../primitives/errors.ts';
import type { HostMessage, WorkerMessage, WorkerSetup } from './queue.ts';

/** A worker thread as the pool sees it. */
export interface Thread {
  /** Sends a message, which the thread takes before the next phase that is issued. */
  post(message: HostMessage): void;
  /** Calls back with what the thread says, and with the cause when it fails or ends. */
  follow(said: (message: WorkerMessage) => void, failed: (cause: unknown) => void): void;
  /** From now on, the thread does not keep the process alive. */
  unref(): void;
  /** Waits for a thread that was told to leave; one that does not leave in time is ended. */
  leave(): Promise<void>;
  /** Ends the thread at once. */
  terminate(): Promise<void>;
}

/** How worker threads are had: by Node, or by a page. */
export interface Threads {
  /** How many can run at once. */
  readonly cores: () => number;
  /** Throws where threads cannot share memory. */
  readonly requireSharing: () => void;
  /** Throws where so many threads have no room beside the memory that was reserved. */
  readonly requireRoom: (threads: number) => void;
  /** Gives the event loop of the calling thread a turn. */
  readonly turn: () => Promise<void>;
  /** Starts one, or throws. */
  readonly start: (setup: WorkerSetup) => Thread;
  /** What is thrown where a thread cannot be started. */
  readonly refused: (threads: number, cause: unknown) => DeviceLostError;
}

/** Milliseconds that a thread has to finish its chunk when it is to leave. */
export const PATIENCE = 1000;
