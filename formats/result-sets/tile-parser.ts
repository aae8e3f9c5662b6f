import { Worker } from 'node:worker_threads';
import type { TileSide } from '../../algorithms/cross-compare/tile-comparison.ts';
import type { FillRule } from '../../algorithms/geometry/polygons.ts';
import { DeviceLostError } from '../../primitives/errors.ts';
import { createParsePool, type ParsePool } from './parse-pool.ts';
import type { TileSource } from './result-set.ts';
import type { SideParameters } from './side-worker.ts';

/** Reads tiles, several at once. */
export interface TileParser {
  /** How many at once. */
  readonly lanes: number;
  parse(tile: TileSource, signal: AbortSignal): Promise<TileSide>;
  close(): Promise<void>;
}

/** How tiles are parsed. */
export interface TileParserOptions {
  /** Threads; one a core where left out. */
  readonly workers: number | undefined;
  readonly pixelSize: number;
  /** What is inside a polygon whose parts overlap; `union` where left out. */
  readonly fill?: FillRule | undefined;
  /** Label images become regions of pixels and are not traced, because both sides of all tiles are label images. */
  readonly countsLabels?: boolean | undefined;
  /** Bytes that reading a tile may take; unlimited where left out. */
  readonly memoryBytes?: number | undefined;
  /** How a thread is started, which tests use. */
  readonly start?: (() => Worker) | undefined;
}

/**
 * Parses tiles on worker threads, down to regions of pixels, which are moved here: parsed polygons take several times
 * their room, and snapping them takes as long as all else that the main thread does. A tile whose thread died under it is
 * read once more.
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

/** The source runs unbuilt through a loader. */
export function startSideParser(): Worker {
  const entry = import.meta.url.endsWith('.ts') ? './side-worker-boot.mjs' : './side-worker.js';
  // Flags of the process are not for the threads: loaders would be set up twice, and some are refused.
  return new Worker(new URL(entry, import.meta.url), { execArgv: [] });
}
