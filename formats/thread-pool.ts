import { availableParallelism } from 'node:os';
import type { QuadrilleError } from '../primitives/errors.ts';
import { type FlatError, restoreError } from './flat-error.ts';

/** The reply of a thread: an answer or an error. */
export type ThreadReply<Answer> = Answer | { readonly error: FlatError };

/** The interface that a pool needs of a thread. Node's `Worker` has it. */
export interface PoolThread {
  on(event: 'message' | 'messageerror' | 'error' | 'exit', listener: (value: unknown) => void): unknown;
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<unknown>;
}

/** Threads that each answer one request after the other, by messages. */
export interface ThreadPool<Request, Answer> {
  readonly threads: number;
  /**
   * Sends a request to one of the threads, in the order of the calls. An abort settles the call immediately; the thread
   * finishes its work and the answer is dropped.
   *
   * @param place - Subject of the request, for errors.
   * @param transfer - Buffers to transfer to the thread.
   * @throws The error that the thread replies. The error made by `died`, if the thread died during the request (another
   * replaces it; other requests continue), or if no thread exists or can be started. The error made by `closed`, if the
   * pool is closed.
   */
  run(request: Request, place: string, transfer: readonly ArrayBuffer[], signal?: AbortSignal): Promise<Answer>;
  /** Starts all threads before there is work. */
  start(): void;
  /** Ends the threads. Requests in progress and waiting requests fail. Resolves when all threads have ended. */
  close(): Promise<void>;
}

/** Options of a pool. */
export interface ThreadPoolOptions {
  /** Default: one per core. */
  readonly threads?: number | undefined;
  start(): PoolThread;
  died(place: string, cause: unknown): QuadrilleError;
  closed(place: string): QuadrilleError;
}

/** A request that waits for a thread or is being processed by one. */
interface PoolTask<Request, Answer> {
  readonly request: Request;
  readonly place: string;
  readonly transfer: readonly ArrayBuffer[];
  readonly settle: (reply: { readonly answer: Answer } | { readonly failed: unknown }) => void;
}

/** A thread and its current request. */
interface Thread<Request, Answer> {
  readonly worker: PoolThread;
  task: PoolTask<Request, Answer> | undefined;
}

/** Makes a pool. Threads start when there is work, and do not keep the process alive without work. */
export function createThreadPool<Request, Answer extends object>({
  threads: max,
  start,
  died,
  closed: poolClosed,
}: ThreadPoolOptions): ThreadPool<Request, Answer> {
  const size = Math.max(1, max ?? availableParallelism());
  const threads = new Set<Thread<Request, Answer>>();
  const waiting = new Set<PoolTask<Request, Answer>>();
  let closed: Promise<void> | undefined;

  const startThread = (): Thread<Request, Answer> => {
    const thread: Thread<Request, Answer> = { worker: start(), task: undefined };
    let failure: unknown;
    thread.worker.on('message', (message) => {
      const reply = message as ThreadReply<Answer>;
      finish(thread, 'error' in reply ? { failed: restoreError(reply.error) } : { answer: reply });
      feed();
    });
    thread.worker.on('messageerror', (error) => {
      failure = error;
      void thread.worker.terminate();
    });
    thread.worker.on('error', (error) => {
      failure = error;
    });
    // `exit` comes last, whatever ended the thread.
    thread.worker.on('exit', (code) => {
      threads.delete(thread);
      if (thread.task !== undefined) {
        const { place } = thread.task;
        const cause = failure ?? new Error(`the thread ended with exit code ${code}`);
        finish(thread, { failed: closed === undefined ? died(place, cause) : poolClosed(place) });
      }
      feed();
    });
    threads.add(thread);
    return thread;
  };

  const finish = (thread: Thread<Request, Answer>, reply: Parameters<PoolTask<Request, Answer>['settle']>[0]): void => {
    const { task } = thread;
    thread.task = undefined;
    // Messages from a thread that is being terminated must not keep the process from waiting for its end.
    if (closed === undefined) thread.worker.unref();
    task?.settle(reply);
  };

  /** Gives waiting requests to idle threads, and starts threads if there are too few. */
  const feed = (): void => {
    for (const task of waiting) {
      if (closed !== undefined) return;
      const idle = [...threads].find((thread) => thread.task === undefined);
      if (idle === undefined && threads.size >= size) return;
      let thread: Thread<Request, Answer>;
      try {
        thread = idle ?? startThread();
      } catch (cause) {
        // Existing threads will take the work; without any, nothing would.
        if (threads.size > 0) return;
        waiting.delete(task);
        task.settle({ failed: died(task.place, cause) });
        continue;
      }
      waiting.delete(task);
      give(thread, task);
    }
  };

  const give = (thread: Thread<Request, Answer>, task: PoolTask<Request, Answer>): void => {
    thread.task = task;
    thread.worker.ref();
    try {
      thread.worker.postMessage(task.request, task.transfer);
    } catch (failed) {
      finish(thread, { failed });
    }
  };

  const close = async (): Promise<void> => {
    const ending = [...threads].map(({ worker }) => worker.terminate());
    for (const { place, settle } of waiting) settle({ failed: poolClosed(place) });
    waiting.clear();
    await Promise.all(ending);
  };

  return {
    threads: size,
    start() {
      try {
        while (closed === undefined && threads.size < size) startThread().worker.unref();
      } catch {
        // New work fails because there are no threads.
      }
    },
    async run(request, place, transfer, signal) {
      signal?.throwIfAborted();
      if (closed !== undefined) throw poolClosed(place);
      return await new Promise<Answer>((resolve, reject) => {
        const onAbort = (): void => {
          waiting.delete(task);
          reject(signal!.reason);
        };
        const task: PoolTask<Request, Answer> = {
          request,
          place,
          transfer,
          settle: (reply) => {
            signal?.removeEventListener('abort', onAbort);
            if ('answer' in reply) resolve(reply.answer);
            else reject(reply.failed);
          },
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        waiting.add(task);
        feed();
      });
    },
    close: () => (closed ??= close()),
  };
}
