import type { DeviceLostError } from '../../../primitives/checks/errors.ts';
import type { HostMessage, WorkerMessage, WorkerSetup } from './queue.ts';

/** A worker thread, with the same interface in Node and on a page. */
export interface Thread {
  /** Sends a message, which the thread receives before it runs the next phase that the host issues. */
  post(message: HostMessage): void;
  /**
   * Sets the callbacks: `said` receives the messages of the thread; `failed` receives the cause when the thread fails
   * or ends.
   */
  follow(said: (message: WorkerMessage) => void, failed: (cause: unknown) => void): void;
  /** Lets the process end even while the thread is running. */
  unref(): void;
  /**
   * Waits until the thread ends by itself, after the host has stopped the workers. Terminates the thread after
   * {@link PATIENCE} ms.
   */
  leave(): Promise<void>;
  /** Terminates the thread immediately. */
  terminate(): Promise<void>;
}

/** The platform's way to start worker threads, in Node or on a page. */
export interface Threads {
  /** Number of threads that can run in parallel. */
  readonly cores: () => number;
  /** Throws if the platform does not let threads share memory. */
  readonly requireSharing: () => void;
  /** Throws if the address space has too little room for this many threads. */
  readonly requireRoom: (threads: number) => void;
  /** Yields to the event loop of the calling thread. */
  readonly turn: () => Promise<void>;
  /** Starts a thread. Throws if the platform refuses. */
  readonly start: (setup: WorkerSetup) => Thread;
  /** The error for a thread that cannot be started. */
  readonly refused: (threads: number, cause: unknown) => DeviceLostError;
}

/** Milliseconds for which the host waits for a thread to end before it terminates the thread. */
export const PATIENCE = 1000;
