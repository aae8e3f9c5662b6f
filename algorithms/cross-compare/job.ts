import type { GraphObserver } from '../../graph/index.ts';
import { anObserver } from '../../graph/run/observer.ts';
import { Context } from '../../primitives/context.ts';
import type { DeviceLostError } from '../../primitives/errors.ts';
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
} from '../../primitives/kinds.ts';
import { aMatching, type MatchOptions } from './matching.ts';
import type { TileComparison, TileSide } from './tile-comparison.ts';
import type { TileSet } from './tile-pairs.ts';

/**
 * How the four steps of a tile are scheduled, as in Table 1 of the paper:
 *
 * - `pipelined`: each step is a stage of its own, so one tile is parsed while another is on the device. Default.
 * - `no-pipe-single`: each tile takes all four steps before the next tile starts.
 * - `no-pipe-multiple`: the same with several tiles in parallel, one per parser lane. One tile at a time is on the
 *   device.
 */
export type CompareScheme = 'pipelined' | 'no-pipe-single' | 'no-pipe-multiple';

/** Two result sets, and how to compare them. */
export interface CrossCompareJob<T extends { readonly name: string }> {
  /** The two sets. Figures of matching take the first set as the truth. */
  readonly p: TileSet<T>;
  readonly q: TileSet<T>;
  /** The parser: reads the polygons of one side of a tile. Called for several tiles in parallel. */
  readonly parse: (tile: T, signal: AbortSignal) => Promise<TileSide>;
  /** Default: a ratio of at least ½, method `optimal`. */
  readonly matching?: MatchOptions | undefined;
  /** Called with the tiles one by one, in order. The run waits for it. */
  readonly onTile?: ((tile: TileComparison) => Promise<void> | void) | undefined;
  /**
   * What happens if a tile cannot be read. `stop` (default) ends the run with the tile's error. `skip` leaves the tile
   * out of all figures and lists it in the result. A device failure ends the run in either case.
   */
  readonly onError?: 'stop' | 'skip' | undefined;
  readonly scheme?: CompareScheme | undefined;
  /** Maximum number of tiles parsed in parallel, from 1. Default 2. */
  readonly parseLanes?: number | undefined;
  /** Number of candidate pairs in a batch for the device. A larger tile forms its own batch. Default 2¹⁵. */
  readonly batchPairs?: number | undefined;
  /** Migration of tasks between GPU and CPU. Default: no migration. */
  readonly migrate?: Migration<T> | undefined;
  /**
   * Opens another context after the device was lost or the threads died. Work that was in progress is repeated there.
   * The caller closes both contexts. Without it, the run ends with the error, unless tasks may migrate.
   */
  readonly reopen?: ((lost: DeviceLostError) => Promise<Context>) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Receives spans, occupancy and migrations, for traces. */
  readonly observer?: GraphObserver | undefined;
  /** Minimum time between two progress reports, in milliseconds. Default 100. */
  readonly progressEvery?: number | undefined;
}

/** The other side of each stage that can run on both. */
export interface Migration<T> {
  /** A context on the CPU, for batches that are moved off a congested GPU. The caller closes it. */
  readonly cpu: Context;
  /** A parser on the GPU with the same results, for tiles that move to a starved GPU. */
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
  // Checked with `anInstance`, because `aContext` would require the context of the job.
  migrate: optional(someOptions<Migration<never>>({ cpu: anInstance(Context), parseOnGpu: optional(aFunction) })),
  reopen: optional(aFunction),
  signal: optional(aSignal),
  observer: optional(anObserver),
  progressEvery: optional(aNumber),
});
