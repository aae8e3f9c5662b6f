import { Worker } from 'node:worker_threads';
import type { TileSide } from '../../algorithms/cross-compare/tile-comparison.ts';
import type { FillRule } from '../../algorithms/geometry/polygons.ts';
import { DeviceLostError } from '../../primitives/errors.ts';
import { createParsePool, type ParsePool } from './parse-pool.ts';
import type { TileSource } from './result-set.ts';
import type { SideParameters } from './side-worker.ts';

/** Reads several tiles in parallel. */
export interface TileParser {
  /** Number of tiles read in parallel. */
  readonly lanes: number;
  parse(tile: TileSource, signal: AbortSignal): Promise<TileSide>;
  close(): Promise<void>;
}

/** Options for parsing tiles. */
export interface TileParserOptions {
  /** Number of threads. Default: one per core. */
  readonly workers: number | undefined;
  readonly pixelSize: number;
  /** Which points are inside a polygon whose parts overlap. Default `union`. */
  readonly fill?: FillRule | undefined;
  /** Label images become regions of pixels and are not traced, because both sides of all tiles are label images. */
  readonly countsLabels?: boolean | undefined;
  /** Maximum bytes for reading a tile. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
  /** Starts a thread; replaced by tests. */
  readonly start?: (() => Worker) | undefined;
}

/**
 * Parses tiles on worker threads, down to regions of pixels, which are transferred here. Parsed polygons would take
 * several times their memory, and snapping them would take as long as all other work of the main thread. If a thread
 * dies, its tile is read once more.
 */
export function openTileParser(options: TileParserOptions): TileParser {
  const { workers, pixelSize, fill, countsLabels = false, memoryBytes, start = startSideParser } = options;
  const pool = createParsePool<TileSide>({ threads: workers, start });
  return {
    // One tile is read from disk while the others are parsed.
    lanes: pool.threads + 1,
    async parse(tile, signal): Promise<TileSide> {
      const parameters: SideParameters = { ...tile.parameters, pixelSize, fill, countsLabels, memoryBytes };
      try {
        return await read(pool, tile, parameters, signal);
      } catch (error) {
        if (!(error instanceof DeviceLostError) || signal.aborted) throw error;
        return read(pool, tile, parameters, signal);
      }
    },
    close: () => pool.close(),
  };
}

async function read(
  pool: ParsePool<TileSide>,
  tile: TileSource,
  parameters: SideParameters,
  signal: AbortSignal,
): Promise<TileSide> {
  const source = tile.file === undefined ? await tile.load(signal) : { file: tile.file };
  return pool.parse(source, parameters, signal);
}

/** An unbuilt source runs through a loader. */
export function startSideParser(): Worker {
  const entry = import.meta.url.endsWith('.ts') ? './side-worker-boot.mjs' : './side-worker.js';
  // Threads do not inherit the flags of the process: loaders would be set up twice, and some flags are refused.
  return new Worker(new URL(entry, import.meta.url), { execArgv: [] });
}
