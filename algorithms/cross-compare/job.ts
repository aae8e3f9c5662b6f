import type { GraphObserver } from '../../graph/index.ts';
import { anObserver } from '../../graph/observer.ts';
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
 * How the four steps of a tile are spread over time, as in Table 1 of the paper:
 *
 * - `pipelined`: each step is a stage of its own, so that one tile is parsed while another one is on the device. Default.
 * - `no-pipe-single`: one tile after another takes all four steps.
 * - `no-pipe-multiple`: as many tiles at once as there are parser lanes do so; on the device there is one at a time.
 */
export type CompareScheme = 'pipelined' | 'no-pipe-single' | 'no-pipe-multiple';

/** Two result sets, and how to compare them. */
export interface CrossCompareJob<T extends { readonly name: string }> {
  /** The first set, which figures of matching take for the truth, and the second. */
  readonly p: TileSet<T>;
  readonly q: TileSet<T>;
  /** The parser: reads the polygons of one side of a tile. Called for several tiles at once. */
  readonly parse: (tile: T, signal: AbortSignal) => Promise<TileSide>;
  /** Default: at least ½, optimal. */
  readonly matching?: MatchOptions | undefined;
  /** Takes the tiles one after another, in order; the run waits for it. */
  readonly onTile?: ((tile: TileComparison) => Promise<void> | void) | undefined;
  /**
   * What a tile does that cannot be read: `stop` ends the run with its error (default), `skip` leaves the tile out of
   * all figures and lists it in the result. A device that fails ends the run either way.
   */
  readonly onError?: 'stop' | 'skip' | undefined;
  readonly scheme?: CompareScheme | undefined;
  /** How many tiles are parsed at once, from 1. Default 2. */
  readonly parseLanes?: number | undefined;
  /** Candidate pairs that go to the device together, but for larger tiles. Default 2¹⁵. */
  readonly batchPairs?: number | undefined;
  /** Migration of tasks between a GPU and the CPU; off where left out. */
  readonly migrate?: Migration<T> | undefined;
  /**
   * Opens another context where the device of the one in use was lost or its threads died; what that was at is done again
   * there. The caller closes both. Left out: the run ends with the error, unless tasks may migrate.
   */
  readonly reopen?: ((lost: DeviceLostError) => Promise<Context>) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Is told of spans, occupancy and migrations, for traces. */
  readonly observer?: GraphObserver | undefined;
  /** Shortest time between two progress reports, in milliseconds. Default 100. */
  readonly progressEvery?: number | undefined;
}

/** The other sides of the stages that can run on either. */
export interface Migration<T> {
  /** A context on the CPU, for batches that a congested GPU leaves; stays its caller's to close. */
  readonly cpu: Context;
  /** The parser on the GPU, with the same results, for tiles that a starved GPU takes. */
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
  // Its context is another one.
  migrate: optional(someOptions<Migration<never>>({ cpu: anInstance(Context), parseOnGpu: optional(aFunction) })),
  reopen: optional(aFunction),
  signal: optional(aSignal),
  observer: optional(anObserver),
  progressEvery: optional(aNumber),
});
