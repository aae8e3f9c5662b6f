import { availableParallelism } from 'node:os';
import type { QuadrilleError } from '../../primitives/checks/errors.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { type FlatError, restoreError } from './flat-error.ts';

/** The message with which a thread replies to a request. It is an answer or an error. */
export type ThreadReply<Answer> = Answer | { readonly error: FlatError };

/** The interface through which a pool uses a thread. The class `Worker` of Node implements this interface. */
export interface PoolThread {
  on(event: 'message' | 'messageerror' | 'error' | 'exit', listener: (value: unknown) => void): unknown;
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<unknown>;
}

/** A pool of threads that exchange messages with the caller. Each thread handles one request at a time. */
export interface ThreadPool<Request, Answer> {
  readonly threads: number;
  /**
   * Sends a request to one of the threads. Requests are started in the order of the calls. After an abort, the call
   * rejects immediately; the thread finishes its work, and the answer is discarded. The death of a thread does not
   * affect the requests on other threads, and a new thread is started when one is needed.
   *
   * @param place - Subject of the request in error messages, such as the name of a file.
   * @param transfer - Buffers to transfer to the thread.
   * @throws The error in the thread's reply. The error created by `died`, if the thread dies during the request or no
   * thread can be started. The error created by `closed`, if the pool is closed.
   */
  run(request: Request, place: string, transfer: readonly ArrayBuffer[], signal?: AbortSignal): Promise<Answer>;
  /** Starts all threads immediately. Without this call, threads are started when requests are waiting. */
  start(): void;
  /** Ends the threads. Requests that are waiting or in progress are rejected. Resolves when all threads have ended. */
  close(): Promise<void>;
}

/** Options of a pool. `died` and `closed` create the errors of rejected requests. */
export interface ThreadPoolOptions {
  /** Maximum number of threads. Default: one per core. */
  readonly threads?: number | undefined;
  start(): PoolThread;
  died(place: string, cause: unknown): QuadrilleError;
  closed(place: string): QuadrilleError;
}

/** A request that is waiting or in progress. */
interface PoolTask<Request, Answer> {
  readonly request: Request;
  readonly place: string;
  readonly transfer: readonly ArrayBuffer[];
  readonly settle: (reply: { readonly answer: Answer } | { readonly failed: unknown }) => void;
}

/** A thread, and its request in progress if there is one. */
interface Thread<Request, Answer> {
  readonly worker: PoolThread;
  task: PoolTask<Request, Answer> | undefined;
}

/** Creates a pool. Threads are started when requests are waiting. Idle threads do not keep the process alive. */
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
    // `exit` is the last event of a thread, regardless of why the thread ends.
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
    // An idle thread does not keep the process alive. While the pool is being closed, however, the process waits until
    // the thread has ended.
    if (closed === undefined) thread.worker.unref();
    task?.settle(reply);
  };

  /**
   * Sends waiting requests to idle threads. If there are not enough idle threads, starts further ones, up to the
   * maximum.
   */
  const feed = (): void => {
    for (const task of waiting) {
      if (closed !== undefined) return;
      const idle = [...threads].find((thread) => thread.task === undefined);
      if (idle === undefined && threads.size >= size) return;
      let thread: Thread<Request, Answer>;
      try {
        thread = idle ?? startThread();
      } catch (cause) {
        // No thread could be started. If there are busy threads, one of them will handle the request later. If there
        // are no threads at all, the request is rejected.
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
        // The error need not be reported here. If there are no threads, the next request tries to start one, and
        // reports the error.
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
