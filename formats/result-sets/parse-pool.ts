import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { DeviceLostError } from '../../primitives/errors.ts';
import { type ParseReply, type ParseRequest, restoreError, type TileBytes } from './parse-messages.ts';
import type { PolygonTile, TileParameters } from './result-set.ts';

/** Threads that parse tiles, into polygons or what else their worker makes of them. */
export interface ParsePool<Tile = PolygonTile> {
  readonly threads: number;
  /**
   * Parses a tile on one of the threads, in the order of the calls, as `parseTile` does on the caller's.
   *
   * Bytes are moved to the thread: the caller's array is empty afterwards where it is the whole of its buffer, and
   * is copied where it is a part. A file is read by the thread. An abort settles the call at once; what a thread has begun, it finishes unheard.
   *
   * @throws FormatError, GeometryError as `parseTile` has them; DeviceLostError, with the tile's place, where the thread
   * died under it (another takes its place; other tiles are not concerned) or there is none and none can be started, or the
   * pool was closed.
   */
  parse(source: TileBytes, parameters: TileParameters, signal?: AbortSignal): Promise<Tile>;
  /** Ends the threads; tiles under way and waiting fail. Resolves when all threads have ended. */
  close(): Promise<void>;
}

/** How many threads; and how one is started, where it is not to answer with polygons as they are read. */
export interface ParsePoolOptions {
  /** Default: one a core. */
  readonly threads?: number | undefined;
  readonly start?: (() => Worker) | undefined;
}

/** A tile that waits for a thread or is on one. */
interface Task<Tile> {
  readonly request: ParseRequest;
  readonly settle: (reply: { readonly tile: Tile } | { readonly failed: unknown }) => void;
}

/** A thread and the tile it is at. */
interface Thread<Tile> {
  readonly worker: Worker;
  task: Task<Tile> | undefined;
}

/**
 * Makes a pool of worker threads that parse tiles. Threads start when there is work for them, and do not keep the
 * process alive without.
 *
 * @example
 * const pool = createParsePool({ threads: 2 });
 * const bytes = new TextEncoder().encode('a 0,0 4,0 4,3 0,3\n');
 * const { polygons } = await pool.parse(bytes, { format: 'boundaries', place: 'a.txt' });
 * await pool.close();
 * [polygons.x, bytes.length]; // [Float64Array [0, 4, 4, 0], 0]
 */
export function createParsePool<Tile = PolygonTile>({
  threads: most,
  start = startParser,
}: ParsePoolOptions = {}): ParsePool<Tile> {
  const size = Math.max(1, most ?? availableParallelism());
  const threads = new Set<Thread<Tile>>();
  const waiting = new Set<Task<Tile>>();
  let closed: Promise<void> | undefined;

  const startThread = (): Thread<Tile> => {
    const thread: Thread<Tile> = { worker: start(), task: undefined };
    let failure: unknown;
    thread.worker.on('message', (reply: ParseReply<Tile>) => {
      finish(thread, reply.error === undefined ? { tile: reply.tile } : { failed: restoreError(reply.error) });
      feed();
    });
    thread.worker.on('messageerror', (error) => {
      failure = error;
      void thread.worker.terminate();
    });
    thread.worker.on('error', (error) => {
      failure = error;
    });
    // Comes last, whatever it was that ended the thread.
    thread.worker.on('exit', (code) => {
      threads.delete(thread);
      if (thread.task !== undefined) {
        const { place } = thread.task.request.parameters;
        const cause = failure ?? new Error(`the thread ended with exit code ${code}`);
        finish(thread, { failed: closed === undefined ? threadDied(place, cause) : poolClosed(place) });
      }
      feed();
    });
    threads.add(thread);
    return thread;
  };

  const finish = (thread: Thread<Tile>, reply: Parameters<Task<Tile>['settle']>[0]): void => {
    const { task } = thread;
    thread.task = undefined;
    // What a thread still says while it is being ended must not keep the process from waiting for its end.
    if (closed === undefined) thread.worker.unref();
    task?.settle(reply);
  };

  /** Gives waiting tiles to idle threads, and starts threads where there are too few. */
  const feed = (): void => {
    for (const task of waiting) {
      if (closed !== undefined) return;
      const idle = [...threads].find((thread) => thread.task === undefined);
      if (idle === undefined && threads.size >= size) return;
      let thread: Thread<Tile>;
      try {
        thread = idle ?? startThread();
      } catch (cause) {
        // Threads that there are will come for it; without any, nothing would.
        if (threads.size > 0) return;
        waiting.delete(task);
        task.settle({ failed: threadDied(task.request.parameters.place, cause) });
        continue;
      }
      waiting.delete(task);
      give(thread, task);
    }
  };

  const give = (thread: Thread<Tile>, task: Task<Tile>): void => {
    thread.task = task;
    thread.worker.ref();
    try {
      const { source } = task.request;
      thread.worker.postMessage(task.request, source instanceof Uint8Array ? [source.buffer as ArrayBuffer] : []);
    } catch (failed) {
      finish(thread, { failed });
    }
  };

  const close = async (): Promise<void> => {
    const ending = [...threads].map(({ worker }) => worker.terminate());
    for (const { request, settle } of waiting) settle({ failed: poolClosed(request.parameters.place) });
    waiting.clear();
    await Promise.all(ending);
  };

  return {
    threads: size,
    async parse(source, parameters, signal) {
      signal?.throwIfAborted();
      if (closed !== undefined) throw poolClosed(parameters.place);
      return await new Promise<Tile>((resolve, reject) => {
        const onAbort = (): void => {
          waiting.delete(task);
          reject(signal!.reason);
        };
        const task: Task<Tile> = {
          request: { source: source instanceof Uint8Array ? movable(source) : source, parameters },
          settle: (reply) => {
            signal?.removeEventListener('abort', onAbort);
            if ('tile' in reply) resolve(reply.tile);
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

/** Starts a thread that parses; the source runs unbuilt through a loader. */
export function startParser(): Worker {
  const entry = import.meta.url.endsWith('.ts') ? './parse-worker-boot.mjs' : './parse-worker.js';
  // Flags of the process are not for the threads: loaders would be set up twice, and some are refused.
  return new Worker(new URL(entry, import.meta.url), { execArgv: [] });
}

/** The bytes in a buffer of their own, that can be moved to another thread. */
function movable(bytes: Uint8Array): Uint8Array {
  const own = bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength;
  return own ? bytes : Uint8Array.from(bytes);
}

function threadDied(file: string, cause: unknown): DeviceLostError {
  return new DeviceLostError('device/parser', 'The thread that parsed the tile died.', {
    remedy: 'Parse the tile again, or leave it out; the cause says what happened.',
    place: { file },
    cause,
  });
}

function poolClosed(file: string): DeviceLostError {
  return new DeviceLostError('device/closed', 'The pool of parsers was closed.', { place: { file } });
}
