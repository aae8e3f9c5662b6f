import type { Context } from '../../primitives/context.ts';
import { areasOfJobs } from '../pixelbox/pair-areas.ts';
import type { MatchOptions } from './matching.ts';
import { compareTile, type TileComparison, type TileSide, type TileTask } from './tile-comparison.ts';

/**
 * The aggregator's work on a batch: areas of all candidates of its tiles in one go, then what each tile's areas say.
 *
 * Waits for the device as often for a batch as `pairAreas` does, however many tiles are in it.
 */
export async function aggregate(
  context: Context,
  batch: readonly TileTask[],
  matching: MatchOptions,
): Promise<TileComparison[]> {
  const jobs = batch.map(({ p, q, candidates }) => ({ p: p.regions, q: q.regions, pairs: candidates }));
  const areas = await areasOfJobs(context, jobs);
  return batch.map((task, tile) => compareTile(task, areas[tile]!, matching));
}

/** Bytes that a tile holds while it waits for the aggregator. */
export function sizeOfTask({ p, q, candidates }: TileTask): number {
  return sizeOfSide(p) + sizeOfSide(q) + 8 * candidates.p.length;
}

/** Bytes that one side of a tile holds. */
export function sizeOfSide({ ids, regions }: TileSide): number {
  return ids.bytes.length + 4 * ids.starts.length + 8 * regions.x.length + 24 * regions.left.length;
}
