import type { Observable } from 'rxjs';
import {
  type EdgeCounters,
  type GraphObserver,
  type GraphShape,
  graph,
  type NodeCounters,
  type NodeFunction,
  type ProgressReport,
} from '../../graph/index.ts';
import { anObserver } from '../../graph/observer.ts';
import { aContext } from '../../primitives/argument-kinds.ts';
import { requireArguments } from '../../primitives/arguments.ts';
import { Context } from '../../primitives/context.ts';
import { type DeviceLostError, type GraphError, QuadrilleError } from '../../primitives/errors.ts';
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
} from '../../primitives/kinds.ts';
import type { CrossComparison, SkippedTile } from './cross-comparison.ts';
import { aMatching, type MatchOptions } from './matching.ts';
import { noteGatherer } from './note-gatherer.ts';
import { pipelined, type Stages, unpipelined } from './stages.ts';
import type { TileComparison, TileSide } from './tile-comparison.ts';
import { type PairedTiles, pairTiles, type TilePair, type TileSet } from './tile-pairs.ts';
import { totalsOf } from './totals.ts';

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

/** A comparison under way. */
export interface CrossCompareRun {
  /** Rejects where a tile fails under `stop`, with an `ItemError` that names it; when the device fails; when aborted. */
  readonly result: Promise<CrossComparison>;
  /** Tiles done. */
  readonly progress$: Observable<ProgressReport>;
  readonly shape: GraphShape;
  counters(): NodeCounters[];
  edges(): EdgeCounters[];
  abort(reason?: unknown): void;
}

const aTileSet: Kind = aRecord<TileSet<{ name: string }>>({
  path: aText,
  tiles: anArrayOf(aRecord<{ name: string }>({ name: aText })),
});

const aJob: Kind = aRecord<CrossCompareJob<{ name: string }>>({
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
  migrate: optional(aRecord<Migration<never>>({ cpu: anInstance(Context), parseOnGpu: optional(aFunction) })),
  reopen: optional(aFunction),
  signal: optional(aSignal),
  observer: optional(anObserver),
  progressEvery: optional(aNumber),
});

const DEFAULT_MATCHING: MatchOptions = { minIou: 0.5, method: 'optimal' };

/**
 * Compares two result sets, polygons of the same image by two methods, tile by tile: J′, the pairs with common area, the
 * polygons missing on either side, the one-to-one matches.
 *
 * Tiles of the same name are compared; polygons of a tile with those of the same tile alone. Tiles flow through parser,
 * builder, filter and aggregator behind bounded edges: memory is bounded by the largest tiles, not by how many there
 * are. Rows go to `onTile`; the result holds totals only, and of tiles that were skipped their names.
 *
 * Areas are exact, and J′ is the same bits in every order, on every backend, with and without migration. A tile of one
 * side alone has all its polygons missing, and is noted.
 *
 * Source: Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU Hybrid
 * Systems, 2012: section 4.
 *
 * @throws `ArgumentError` `compare/min-iou`, `compare/no-common-tile`, at once.
 * @example
 * const square = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 2], [0, 2]]] }').zones.polygons;
 * const half = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 1], [0, 1]]] }').zones.polygons;
 * const ids = { bytes: Uint8Array.of(48), starts: Uint32Array.of(0, 1) };
 * const run = crossCompare(ctx, {
 *   p: { path: 'a', tiles: [{ name: '1', polygons: square }] },
 *   q: { path: 'b', tiles: [{ name: '1', polygons: half }] },
 *   parse: async ({ name, polygons }) => tileSide({ ids, polygons, notes: [] }, { place: name }),
 * });
 * (await run.result).similarity; // 0.5
 */
export function crossCompare<T extends { readonly name: string }>(
  context: Context,
  job: CrossCompareJob<T>,
): CrossCompareRun {
  requireArguments('crossCompare', { context, job }, { context: aContext, job: aJob });
  const matching = job.matching ?? DEFAULT_MATCHING;
  const paired = pairTiles(job.p, job.q);
  const notes = noteGatherer();
  const totals = totalsOf(matching);
  const skipped: SkippedTile[] = [];
  const stages: Stages<T> = {
    ...job,
    context,
    matching,
  };
  const run = graphOf(job.scheme, stages, paired, async (tiles, { signal }) => {
    for (const tile of tiles) {
      signal.throwIfAborted();
      totals.add(tile);
      notes.add(tile.notes);
      await job.onTile?.(tile);
    }
  }).run(context, {
    signal: job.signal,
    observer: job.observer,
    total: paired.pairs.length,
    progressEvery: job.progressEvery,
  });
  run.errors$.subscribe((error) => {
    if (error.outcome === 'skipped') skipped.push(skippedTile(error.item!, error));
  });
  const finish = async (): Promise<CrossComparison> => {
    await run.result;
    return {
      ...totals.comparison(),
      alone: paired.alone,
      skipped: skipped.sort((a, b) => (a.tile < b.tile ? -1 : 1)),
      notes: [...paired.notes, ...notes.notes()],
    };
  };
  return { ...run, result: finish() };
}

function graphOf<T extends { readonly name: string }>(
  scheme: CompareScheme | undefined,
  stages: Stages<T>,
  { pairs }: PairedTiles<T>,
  take: NodeFunction<readonly TileComparison[], void, Context>,
) {
  return graph('compare', (g) => {
    const tiles = g.source<TilePair<T>>('tiles', pairs, { total: pairs.length, describe: ({ tile }) => tile });
    const lanes = scheme === 'no-pipe-single' ? 1 : stages.parseLanes;
    const isPiped = scheme === undefined || scheme === 'pipelined';
    const compared = isPiped ? pipelined(g, tiles, stages) : unpipelined(g, tiles, stages, lanes);
    return g.sink('totals', compared, take, { progress: (done) => done.length });
  });
}

function skippedTile(tile: string, { message, cause }: GraphError): SkippedTile {
  const said = cause instanceof Error ? cause.message : message;
  const code = cause instanceof QuadrilleError ? cause.code : 'internal/unexpected';
  return { tile, code, message: said };
}
