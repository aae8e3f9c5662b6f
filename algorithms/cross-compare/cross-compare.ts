import type { Observable } from 'rxjs';
import {
  type EdgeCounters,
  type GraphShape,
  graph,
  type NodeCounters,
  type NodeFunction,
  type ProgressReport,
} from '../../graph/index.ts';
import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { type GraphError, QuadrilleError } from '../../primitives/checks/errors.ts';
import type { Context } from '../../primitives/context/context.ts';
import type { CrossComparison, SkippedTile } from './cross-comparison.ts';
import { aJob, type CompareScheme, type CrossCompareJob } from './job.ts';
import type { MatchOptions } from './matching.ts';
import { noteGatherer } from './note-gatherer.ts';
import { pipelined, type Stages, unpipelined } from './stages.ts';
import type { TileComparison } from './tile-comparison.ts';
import { type PairedTiles, pairTiles, type TilePair } from './tile-pairs.ts';
import { totalsOf } from './totals.ts';

/** A comparison in progress. */
export interface CrossCompareRun {
  /**
   * The result. Rejects if the device fails, if the run is aborted or, with `onError: 'stop'`, if a tile fails. If a
   * tile fails, the error is an `ItemError`, which names the tile.
   */
  readonly result: Promise<CrossComparison>;
  /** Progress of the run, counted in tiles. */
  readonly progress$: Observable<ProgressReport>;
  readonly shape: GraphShape;
  counters(): NodeCounters[];
  edges(): EdgeCounters[];
  abort(reason?: unknown): void;
}

const DEFAULT_MATCHING: MatchOptions = { minIou: 0.5, method: 'optimal' };

/**
 * Compares two result sets (polygons of the same image found by two methods) tile by tile. Computes J′ (the mean ratio
 * of intersection to union), the pairs with common area, the polygons without a partner, and one-to-one matches.
 *
 * Tiles are paired by name, and polygons are compared only within a tile. Tiles pass four stages with bounded queues
 * between them: parser, builder, filter and aggregator. So memory depends on the largest tiles, not on the number of
 * tiles. Results of single tiles go to `onTile`; the result of the run has totals and the names of skipped tiles.
 *
 * Areas are exact. J′ has the same bits in whatever order tiles finish, on every backend, and also if tasks migrate
 * between GPU and CPU. If a tile is in only one of the sets, all polygons of the tile count as missing, and a note says
 * so.
 *
 * Source: Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU Hybrid
 * Systems, 2012: section 4.
 *
 * @throws `ArgumentError` `compare/min-iou`, `compare/no-common-tile`. Both are thrown by the call itself, before the
 * run starts.
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
