import type { GraphObserver } from '../../graph/index.ts';
import { anObserver } from '../../graph/run/observer.ts';
import type { DeviceLostError } from '../../primitives/checks/errors.ts';
import {
  aFunction,
  aNumber,
  anArrayOf,
  anInstance,
  aRecord,
  aSignal,
  aText,
  atLeast,
  aWhole,
  aWord,
  type Kind,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import { Context } from '../../primitives/context/context.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { aMatching, type MatchOptions } from './matching.ts';
import type { TileComparison, TileSide } from './tile-comparison.ts';
import type { TileSet } from './tile-pairs.ts';

/**
 * How the four steps of a tile (parse, build, filter and aggregate) are scheduled, as in Table 1 of the paper by Wang
 * and others, 2012:
 *
 * - `pipelined`: each step is a stage of its own, so one tile is parsed while another is on the device. Default.
 * - `no-pipe-single`: each tile takes all four steps before the next tile starts.
 * - `no-pipe-multiple`: like `no-pipe-single`, but several tiles are processed in parallel, up to `parseLanes`. Only
 *   one tile at a time is on the device.
 */
export type CompareScheme = 'pipelined' | 'no-pipe-single' | 'no-pipe-multiple';

/** Two result sets, and how to compare them. */
export interface CrossCompareJob<T extends { readonly name: string }> {
  /** The two sets. Precision and recall take `p` as the truth. */
  readonly p: TileSet<T>;
  readonly q: TileSet<T>;
  /** The parser: reads the polygons of one side of a tile. It is called for several tiles in parallel. */
  readonly parse: (tile: T, signal: AbortSignal) => Promise<TileSide>;
  /** How polygons are matched one to one. Default: method `optimal`, with a minimum ratio of ½. */
  readonly matching?: MatchOptions | undefined;
  /**
   * Called with the comparison of each tile, in the order of tile names. The run waits for a returned promise before
   * the next call.
   */
  readonly onTile?: ((tile: TileComparison) => Promise<void> | void) | undefined;
  /**
   * What happens if a tile cannot be read. `stop` (default) ends the run with the tile's error. `skip` leaves the tile
   * out of all figures and lists it in the result. A device failure ends the run in either case.
   */
  readonly onError?: 'stop' | 'skip' | undefined;
  readonly scheme?: CompareScheme | undefined;
  /** Maximum number of tiles parsed in parallel, from 1. Default 2. */
  readonly parseLanes?: number | undefined;
  /**
   * Maximum number of candidate pairs in a batch of tiles, which goes to the device together. A tile with more pairs is
   * a batch of its own. Default 2¹⁵.
   */
  readonly batchPairs?: number | undefined;
  /** Allows tasks to migrate between GPU and CPU. Default: no migration. */
  readonly migrate?: Migration<T> | undefined;
  /**
   * Opens another context after the device was lost or the worker threads died. Work that was in progress is repeated
   * on that context. The caller closes both contexts. Without `reopen`, such a loss ends the run. With `migrate`, the
   * work of a lost GPU moves to the CPU instead, and `reopen` replaces only the context on the CPU.
   */
  readonly reopen?: ((lost: DeviceLostError) => Promise<Context>) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Receives time spans, the occupancy of queues, and migrations, to record traces. */
  readonly observer?: GraphObserver | undefined;
  /** Minimum time between two progress reports, in milliseconds. Default 100. */
  readonly progressEvery?: number | undefined;
}

/** The means to run tasks on the other device: a context on the CPU for batches, and a parser on the GPU. */
export interface Migration<T> {
  /** A context on the CPU, for batches that are moved away from a congested GPU. The caller closes it. */
  readonly cpu: Context;
  /** A parser on the GPU with the same results as `parse`. It takes over tiles when the GPU has too little work. */
  readonly parseOnGpu?: ((tile: T, signal: AbortSignal) => Promise<TileSide>) | undefined;
}

const aTileSet: Kind = aRecord<TileSet<{ name: string }>>({
  path: aText,
  tiles: anArrayOf(aRecord<{ name: string }>({ name: aText })),
});

export const aJob: Kind = someOptions<CrossCompareJob<{ name: string }>>({
  p: aTileSet,
  q: aTileSet,
  parse: aFunction,
  matching: optional(aMatching),
  onTile: optional(aFunction),
  onError: optional(aWord(['stop', 'skip'])),
  scheme: optional(aWord(['pipelined', 'no-pipe-single', 'no-pipe-multiple'])),
  parseLanes: optional(aWhole(1)),
  batchPairs: optional(atLeast(1)),
  // `anInstance` checks `cpu`, because `aContext` would accept only the job's own context, and `cpu` is a second one.
  migrate: optional(someOptions<Migration<never>>({ cpu: anInstance(Context), parseOnGpu: optional(aFunction) })),
  reopen: optional(aFunction),
  signal: optional(aSignal),
  observer: optional(anObserver),
  progressEvery: optional(aNumber),
});
