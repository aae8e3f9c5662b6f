import { Worker } from 'node:worker_threads';
import { requireArguments } from '../../primitives/arguments.ts';
import { DeviceLostError } from '../../primitives/errors.ts';
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
} from '../../primitives/kinds.ts';
import { createThreadPool, type PoolThread } from '../thread-pool.ts';
import type { ParsedTile, ParseRequest, TileBytes } from './parse-messages.ts';
import { type PolygonTile, someParameters, type TileParameters } from './result-set.ts';

/** Threads that parse tiles, into polygons or into the result of their worker. */
export interface ParsePool<Tile = PolygonTile> {
  readonly threads: number;
  /**
   * Parses a tile on one of the threads, in the order of the calls, as `parseTile` does on the caller's.
   *
   * Bytes are transferred to the thread: the caller's array is empty afterwards if it covers its whole buffer;
   * otherwise it is copied. A file is read by the thread. An abort settles the call immediately; the thread finishes
   * its work and the answer is dropped.
   *
   * @throws FormatError and GeometryError as in `parseTile`. DeviceLostError, with the tile's place, if the thread died
   * during the work (another replaces it; other tiles continue), if no thread exists or can be started, or if the pool
   * was closed.
   */
  parse(source: TileBytes, parameters: TileParameters, signal?: AbortSignal): Promise<Tile>;
  /** Ends the threads. Tiles in progress and waiting tiles fail. Resolves when all threads have ended. */
  close(): Promise<void>;
}

/** Number of threads, and how to start a thread with another worker. */
export interface ParsePoolOptions {
  /** Default: one per core. */
  readonly threads?: number | undefined;
  readonly start?: (() => PoolThread) | undefined;
}

/**
 * Makes a pool of worker threads that parse tiles. Threads start when there is work, and do not keep the process alive
 * without work.
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
  // Threads started by the caller may take other parameters.
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

/** Starts a parsing thread. An unbuilt source runs through a loader. */
export function startParser(): PoolThread {
  const entry = import.meta.url.endsWith('.ts') ? './parse-worker-boot.mjs' : './parse-worker.js';
  // Threads do not inherit the flags of the process: loaders would be set up twice, and some flags are refused.
  return new Worker(new URL(entry, import.meta.url), { execArgv: [] });
}

/** The bytes in a buffer of their own, which can be transferred to another thread. */
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
