import { Worker } from 'node:worker_threads';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import {
  aFunction,
  anInstance,
  aRecord,
  aSignal,
  aText,
  aWhole,
  eitherOf,
  type Kind,
  optional,
  someOptions,
  someRecord,
} from '../../primitives/checks/kinds.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { createThreadPool, type PoolThread } from '../bytes/thread-pool.ts';
import type { ParsedTile, ParseRequest, TileBytes } from './parse-messages.ts';
import { type PolygonTile, someParameters, type TileParameters } from './result-set.ts';

/** A pool of worker threads that parse tiles. `Tile` is the type of a parsed tile, by default polygons. */
export interface ParsePool<Tile = PolygonTile> {
  readonly threads: number;
  /**
   * Parses a tile on one of the threads, like `parseTile`. The threads start tiles in the order of the calls.
   *
   * If `source` is an array that covers its whole buffer, its memory is transferred to the thread, so the array is
   * empty after the call. Other arrays are copied. A file is read by the thread. After an abort, the call rejects
   * immediately; the thread finishes its work, and the result is discarded.
   *
   * @throws FormatError and GeometryError as in `parseTile`. DeviceLostError if the thread that parses the tile dies,
   * if no thread can be started, or if the pool is closed. A DeviceLostError names the tile. A dead thread is replaced
   * by a new thread, and tiles on other threads are not affected.
   */
  parse(source: TileBytes, parameters: TileParameters, signal?: AbortSignal): Promise<Tile>;
  /** Ends the threads. All pending calls of `parse` reject. Resolves when all threads have ended. */
  close(): Promise<void>;
}

/**
 * Options for a pool of parsing threads. `start` is a function that starts a thread. The thread may run another worker
 * than the default worker.
 */
export interface ParsePoolOptions {
  /** Maximum number of threads. Default: one per core. */
  readonly threads?: number | undefined;
  readonly start?: (() => PoolThread) | undefined;
}

/**
 * Creates a pool of worker threads that parse tiles. Threads are started when tiles are waiting. Idle threads do not
 * keep the process alive.
 *
 * @example
 * const pool = createParsePool({ threads: 2 });
 * const bytes = new TextEncoder().encode('a 0,0 4,0 4,3 0,3\n');
 * const { polygons } = await pool.parse(bytes, { format: 'boundaries', place: 'a.txt' });
 * await pool.close();
 * [polygons.x, bytes.length]; // [Float64Array [0, 4, 4, 0], 0]
 */
export function createParsePool<Tile = PolygonTile>(options: ParsePoolOptions = {}): ParsePool<Tile> {
  requireArguments('createParsePool', { options }, { options: OPTIONS });
  const { threads, start = startParser } = options;
  const pool = createThreadPool<ParseRequest, ParsedTile<Tile>>({
    threads,
    start,
    died: threadDied,
    closed: poolClosed,
  });
  // If the caller provides the worker, that worker may need other parameters. So the parameters are not checked in this
  // case.
  const kinds = options.start === undefined ? PARSE : { ...PARSE, parameters: someRecord };
  return {
    threads: pool.threads,
    async parse(source, parameters, signal) {
      requireArguments('parse', { source, parameters, signal }, kinds);
      signal?.throwIfAborted();
      const own = source instanceof Uint8Array ? movable(source) : source;
      const transfer = own instanceof Uint8Array ? [own.buffer as ArrayBuffer] : [];
      return (await pool.run({ source: own, parameters }, parameters.place, transfer, signal)).tile;
    },
    close: () => pool.close(),
  };
}

const OPTIONS: Kind = someOptions<ParsePoolOptions>({ threads: optional(aWhole(1)), start: optional(aFunction) });

const PARSE = {
  source: eitherOf('bytes, or { file }', anInstance(Uint8Array), aRecord<{ file: string }>({ file: aText })),
  parameters: someParameters,
  signal: optional(aSignal),
};

/** Starts a parsing thread. If the package runs from TypeScript source, a boot script installs a loader first. */
export function startParser(): PoolThread {
  const entry = import.meta.url.endsWith('.ts') ? './parse-worker-boot.mjs' : './parse-worker.js';
  // Do not pass the flags of the process on: loaders would be installed twice, and threads reject some flags.
  return new Worker(new URL(entry, import.meta.url), { execArgv: [] });
}

/** The bytes as an array that covers its whole buffer, so that the buffer can be transferred to another thread. */
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
