import type { Context } from '../../primitives/index.ts';
import type { RasterSource } from '../geometry/raster.ts';
import type { Pixels } from './pixels.ts';
import { createParts } from './raster-parts.ts';
import { planSurface } from './surface-plan.ts';
import { createTotals } from './totals.ts';
import type { AnyHistogram } from './types.ts';
import { streamWindows, type ZonalJob } from './zonal.ts';
import type { ChosenStatistics } from './zone-statistics.ts';

/**
 * Input of `surfaceHistogram`.
 *
 * @typeParam S - Which statistics it asks for.
 * @typeParam P - Which cells count.
 */
export interface SurfaceJob<S extends ChosenStatistics = boolean, P extends Pixels = Pixels>
  extends Omit<ZonalJob<S, P>, 'raster'> {
  /** The parts of the surface. Where two of them overlap, the first counts. */
  readonly rasters: readonly RasterSource[];
  /**
   * Called when all cells of a raster have been counted, for example to close it. The next raster may be read meanwhile;
   * the result waits.
   */
  onCounted?(raster: RasterSource): void | Promise<void>;
}

/** Counts the cells of the rasters of a surface, of which there may be one. */
export async function countSurface(context: Context, job: SurfaceJob<ChosenStatistics>): Promise<AnyHistogram> {
  const { rasters, signal } = job;
  signal?.throwIfAborted();
  const plan = planSurface(job);
  const totals = createTotals(plan.counted);
  const places = plan.places.map((place, number) => ({ ...place, number, firstRow: 0 }));
  const parts = createParts(context, job, { ...plan, places, onDone: (raster) => job.onCounted?.(raster) });
  const cells = rasters.reduce((sum, { width, height }) => sum + width * height, 0);
  const onPassed = (done: number): void => job.onProgress?.(done, cells);
  let leftOut = 0;
  try {
    leftOut = await streamWindows(context, job, parts.windows(), totals, { onCounted: parts.onCounted, onPassed });
  } finally {
    await parts.close();
  }
  onPassed(cells);
  return plan.resultOf(totals, leftOut);
}
