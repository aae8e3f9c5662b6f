import { Worker } from 'node:worker_threads';
import type { TileSide } from '../../algorithms/cross-compare/tile-comparison.ts';
import type { FillRule } from '../../algorithms/geometry/polygons.ts';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { createParsePool, type ParsePool } from './parse-pool.ts';
import type { TileSource } from './result-set.ts';
import type { SideParameters } from './side-worker.ts';

/** Parses tiles in parallel, for a comparison. */
export interface TileParser {
  /** Number of tiles to parse at the same time. */
  readonly lanes: number;
  parse(tile: TileSource, signal: AbortSignal): Promise<TileSide>;
  close(): Promise<void>;
}

/** Options for parsing the tiles of a comparison. */
export interface TileParserOptions {
  /** Number of threads. Default: one per core. */
  readonly workers: number | undefined;
  readonly pixelSize: number;
  /**
   * The fill rule, which decides whether a point is inside a polygon whose parts overlap. Default `union`: a point is
   * inside if any part contains it.
   */
  readonly fill?: FillRule | undefined;
  /**
   * Whether label images are compared as regions of pixels, without tracing outlines. True if all tiles of both sets
   * are label images.
   */
  readonly countsLabels?: boolean | undefined;
  /** Maximum bytes of memory for parsing a tile. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
  /** Starts a thread. Tests replace this function. */
  readonly start?: (() => Worker) | undefined;
}

/**
 * Creates a parser that works on threads. A thread converts a tile to regions of pixels and transfers these regions to
 * the calling thread. Polygons are not transferred, because polygons take several times as much memory as regions.
 * Besides, converting polygons on the calling thread would double that thread's work. If a thread dies, the tile that
 * the thread was parsing is parsed once more.
 */
export function openTileParser(options: TileParserOptions): TileParser {
  const { workers, pixelSize, fill, countsLabels = false, memoryBytes, start = startSideParser } = options;
  const pool = createParsePool<TileSide>({ threads: workers, start });
  return {
    // One more than the number of threads, so that the next tile is being loaded while all threads parse.
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

/** Starts a thread. If the package runs from TypeScript source, a boot script installs a loader first. */
export function startSideParser(): Worker {
  const entry = import.meta.url.endsWith('.ts') ? './side-worker-boot.mjs' : './side-worker.js';
  // Do not pass on the flags of the process: loaders would be installed twice, and threads reject some flags.
  return new Worker(new URL(entry, import.meta.url), { execArgv: [] });
}
