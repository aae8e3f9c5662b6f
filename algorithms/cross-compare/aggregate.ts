import type { Context } from '../../primitives/context/context.ts';
import { BYTES_PER_RUN } from '../label-images/label-regions.ts';
import { sharedPixels } from '../label-images/shared-pixels.ts';
import { areasOfJobs } from '../pixelbox/pair-areas.ts';
import type { MatchOptions } from './matching.ts';
import {
  compareLabels,
  compareTile,
  type LabelTask,
  type PolygonTask,
  type TileComparison,
  type TileSide,
  type TileTask,
} from './tile-comparison.ts';

/**
 * The last step of a comparison: computes the areas of all candidate pairs of a batch of tiles together, then compares
 * each tile. For tiles of label images, counts the shared pixels of regions instead of computing areas.
 *
 * Small tiles of a batch are processed together, so they share the waits for the device.
 */
export async function aggregate(
  context: Context,
  batch: readonly TileTask[],
  matching: MatchOptions,
): Promise<TileComparison[]> {
  const ofPolygons = batch.filter((task): task is PolygonTask => 'candidates' in task);
  const ofLabels = batch.filter((task): task is LabelTask => 'meetings' in task);
  const jobs = ofPolygons.map(({ p, q, candidates }) => ({ p: p.regions, q: q.regions, pairs: candidates }));
  const areas = jobs.length === 0 ? [] : await areasOfJobs(context, jobs);
  const shared = await sharedPixels(
    context,
    ofLabels.map(({ p, q }) => ({ p: p.labels, q: q.labels })),
  );
  const compared = new Map<TileTask, TileComparison>();
  for (const [i, task] of ofPolygons.entries()) compared.set(task, compareTile(task, areas[i]!, matching));
  for (const [i, task] of ofLabels.entries()) compared.set(task, compareLabels(task, shared[i]!, matching));
  return batch.map((task) => compared.get(task)!);
}

/** Bytes of host memory that a tile takes while it waits for the aggregator. */
export function sizeOfTask(task: TileTask): number {
  return sizeOfSide(task.p) + sizeOfSide(task.q) + ('candidates' in task ? 8 * task.candidates.p.length : 0);
}

/** Bytes of host memory that one side of a tile takes. */
export function sizeOfSide({ ids, regions, labels }: TileSide): number {
  const named = ids.bytes.length + 4 * ids.starts.length;
  if (regions !== undefined) return named + 8 * regions.x.length + 24 * regions.left.length;
  return named + BYTES_PER_RUN * labels.region.length + 4 * labels.rowRuns.length + 24 * labels.left.length;
}

/**
 * Number of runs (horizontal rows of adjacent pixels of a region) that cost the aggregator about as much as one pair of
 * polygons.
 */
const RUNS_PER_PAIR = 32;

/** Cost of a tile for the aggregator, in candidate pairs. */
export function weightOfTask(task: TileTask): number {
  if ('candidates' in task) return task.candidates.p.length;
  const { p, q } = task;
  return Math.ceil((p.labels.region.length + q.labels.region.length) / RUNS_PER_PAIR);
}
