import type { Context } from '../../primitives/index.ts';
import type { NarrowSample, RasterSource } from '../geometry/raster.ts';
import { selectedRanks } from './counting-way.ts';
import type { Pixels } from './pixels.ts';
import { createParts, type RasterParts } from './raster-parts.ts';
import { remainingCells } from './remaining-cells.ts';
import type { WindowShares } from './share-rows.ts';
import type { RankStatistic } from './statistic-kinds.ts';
import { planSurface, type SurfacePlan } from './surface-plan.ts';
import { createTotals, type Totals } from './totals.ts';
import type { AnyHistogram } from './types.ts';
import type { CountedValues } from './value-rows.ts';
import { type PartWindow, streamWindows, type ZonalJob } from './zonal.ts';
import { createZoneRanks } from './zone-ranks.ts';
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
   * the result waits. With statistics such as the median, rasters may be read again, and all calls come at the end.
   */
  onCounted?(raster: RasterSource): void | Promise<void>;
}

/** Counts the cells of the rasters of a surface, of which there may be one. */
export async function countSurface(context: Context, given: SurfaceJob<ChosenStatistics>): Promise<AnyHistogram> {
  const { rasters, signal, onCounted, onProgress } = given;
  signal?.throwIfAborted();
  const statistics = rasters.length > 0 ? selectedRanks(given, rasters[0]!.sample) : undefined;
  const job = { ...given, selectsRanks: statistics !== undefined };
  const plan = planSurface(job);
  const totals = createTotals(plan.counted);
  const ranks = statistics && createSurfaceRanks(context, plan, statistics, totals);
  // A raster may be read again if the values of zones do not fit in memory.
  const done = new Set<RasterSource>();
  const onDone = (raster: RasterSource): void | Promise<void> =>
    ranks === undefined ? onCounted?.(raster) : void done.add(raster);
  const places = plan.places.map((place, number) => ({ ...place, number, firstRow: 0 }));
  const parts = createParts(context, job, { ...plan, places, onDone });
  const cells = rasters.reduce((sum, { width, height }) => sum + width * height, 0);
  const onPassed = (passed: number): void => onProgress?.(passed, cells);
  let leftOut = 0;
  try {
    const events = { onCounted: parts.onCounted, onPassed };
    leftOut = await streamWindows(context, job, parts.windows(), { totals, ranks }, events);
    if (await ranks?.endReading(totals.folded)) {
      const again = { ...job, binning: { kind: 'none' }, statistics: false } as const;
      await streamWindows(context, again, ranks!.soughtWindows(parts), { ranks }, { ...events, onPassed: ignored });
      await ranks!.endReading(totals.folded);
    }
  } finally {
    ranks?.dispose();
    await parts.close();
  }
  for (const raster of done) await onCounted?.(raster);
  onPassed(cells);
  return plan.resultOf(totals, leftOut, ranks);
}

const ignored = (): void => undefined;

/** Creates statistics of ranks that are fed by the windows of a surface. */
function createSurfaceRanks(
  context: Context,
  { counted, rasters, place }: SurfacePlan,
  statistics: readonly RankStatistic[],
  totals: Totals,
) {
  const sample = counted.sample as NarrowSample;
  const ranks = createZoneRanks(context, { ...counted, sample, statistics });
  const boxes = rasters.map((raster, at) => ({ raster, boxes: place(at).boxes }));
  const remaining = remainingCells(counted.zones, boxes);
  return {
    ...ranks,
    add: ({ plan, part }: PartWindow, values?: CountedValues, shares?: WindowShares): Promise<void> => {
      const complete = remaining.pass(part.boxes, plan.window);
      return ranks.add({ members: plan.zones, complete, values, shares, folded: totals.folded });
    },
    *soughtWindows(parts: RasterParts): Generator<PartWindow> {
      for (const window of parts.windows()) {
        if (window.plan.zones.some(ranks.isSought)) yield window;
        else parts.onCounted(window);
      }
    },
  };
}
