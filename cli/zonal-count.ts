import type { Zones } from '../algorithms/geometry/polygons.ts';
import type { RasterSource } from '../algorithms/geometry/raster.ts';
import type { Note } from '../algorithms/notes.ts';
import type {
  AnyHistogram,
  ChosenStatistics,
  Overlay,
  OverlayOptions,
  SurfaceJob,
  ZonalJob,
} from '../algorithms/zonal/index.ts';
import { requireWeightsOn } from '../algorithms/zonal/weights-agreement.ts';
import { DEFAULT_NAMES } from '../algorithms/zonal/zone-statistics.ts';
import { sameCrs } from '../formats/crs.ts';
import type { ZoneAttribute } from '../formats/polygons/zone-attributes.ts';
import type { Log } from './log.ts';
import { sharesOf } from './memory.ts';
import type { RunContext } from './run-support.ts';
import { showProgress } from './shown-progress.ts';
import type { ZonalOptions } from './zonal-arguments.ts';
import type { NamedRaster } from './zonal-rasters.ts';
import type { Reprojection } from './zonal-reprojection.ts';

/** What is counted. */
export interface Counting {
  readonly options: ZonalOptions;
  readonly zones: Zones;
  /** The zones as a layer has them, if one is written. */
  readonly features: Zones;
  /** How the zones were brought to the system of the rasters, if it is another than theirs. */
  readonly reprojection?: Reprojection | undefined;
  /** Attributes of the zones that the outputs have. Undefined: none. */
  readonly attributes?: readonly ZoneAttribute[] | undefined;
  /** What stands before the names of statistics, for each surface, if they are columns of one table. */
  readonly prefixes?: readonly string[] | undefined;
  /** The rasters as they are counted, one surface after the other. */
  readonly surfaces: readonly (readonly CountedRaster[])[];
  /** The weights of the cells of each raster. */
  readonly weights?: RasterSource | undefined;
  take(notes: readonly Note[]): void;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** A raster with its path, and as it was opened: without the system that zones and rasters share. */
export interface CountedRaster extends Pick<NamedRaster, 'path' | 'band'> {
  readonly raster: RasterSource;
  readonly opened: RasterSource;
}

/** Receives the results, in the order of the surfaces. */
export type Receive = (surface: number, histogram: AnyHistogram, backend: string) => Promise<void>;

/** The functions that count in this process. */
export interface CountParts<C> {
  zonalHistogram(context: C, job: ZonalJob<ChosenStatistics>): Promise<AnyHistogram>;
  surfaceHistogram(context: C, job: SurfaceJob<ChosenStatistics>): Promise<AnyHistogram>;
  createOverlay(context: C, zones: Zones, options: OverlayOptions): Promise<Overlay>;
}

/** What is counted, without the rasters. */
export function jobOf({ options, zones }: Counting): Omit<ZonalJob<ChosenStatistics>, 'raster'> {
  const { binning, fill, pixels } = options;
  const memoryBytes = sharesOf(options.memoryBytes).counters;
  return { zones, binning, fill, pixels, statistics: statisticsOf(options), memoryBytes };
}

/** Counts all surfaces in this process. */
export async function countHere<C extends RunContext>(
  counting: Counting,
  parts: CountParts<C>,
  context: C,
  receive: Receive,
): Promise<void> {
  const { log, surfaces } = counting;
  const sizes = surfaces.map((rasters) => cellsOf(rasters));
  const allCells = sizes.reduce((sum, cells) => sum + cells, 0);
  let before = 0;
  // Weights that do not suit the last raster are refused before the first one is counted.
  for (const { raster } of surfaces.flat()) {
    const weights = weightsOf(counting, raster);
    if (weights) requireWeightsOn(raster, weights);
  }
  await watched(counting, context, async (common) => {
    // Rasters on one grid share where zones lie.
    const { overlay: memoryBytes } = sharesOf(counting.options.memoryBytes);
    using overlay =
      surfaces.length > 1 ? await parts.createOverlay(context, counting.zones, { memoryBytes }) : undefined;
    const job = { ...common, overlay };
    for (const [surface, rasters] of surfaces.entries()) {
      const onProgress = (done: number): void => job.onProgress?.(before + done, allCells);
      const [{ raster }] = rasters as readonly [CountedRaster];
      const histogram = await (rasters.length === 1
        ? parts.zonalHistogram(context, { ...job, raster, weights: weightsOf(counting, raster), onProgress })
        : parts.surfaceHistogram(context, {
            ...job,
            rasters: rasters.map((each) => each.raster),
            onProgress,
            onCounted: (each) => each.close(),
          }));
      if (surfaces.length > 1) await raster.close();
      log.clearProgress();
      await receive(surface, histogram, context.backend.name);
      before += sizes[surface]!;
    }
  });
}

/** The weights, with the system of the raster if it is the same by another name, or was assumed. */
function weightsOf({ weights, options }: Counting, { crs, ownCrs }: RasterSource): RasterSource | undefined {
  const isStated = (options.assumedCrs ?? options.rasterCrs) !== undefined;
  const isSame = weights && (isStated || sameCrs(crs, weights.crs));
  return isSame ? { ...weights, crs, ownCrs } : weights;
}

export function cellsOf(rasters: readonly CountedRaster[]): number {
  return rasters.reduce((sum, { raster }) => sum + raster.width * raster.height, 0);
}

/** Runs `count` with what all jobs have in common, shows its progress, and aborts the context if the run is aborted. */
async function watched<C extends RunContext>(
  counting: Counting,
  context: C,
  count: (job: Omit<ZonalJob<ChosenStatistics>, 'raster'>) => Promise<void>,
): Promise<void> {
  const { log, signal } = counting;
  const stop = (): void => context.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const shown = showProgress(log, 'cells', { waits: true });
  try {
    signal.throwIfAborted();
    await count({ ...jobOf(counting), signal, onProgress: shown.report });
  } finally {
    shown.end();
    signal.removeEventListener('abort', stop);
  }
}

/** The statistics that any output contains. No others are computed. */
export function statisticsOf({ statistics, stats, plot, plotStatistic, format }: ZonalOptions): ChosenStatistics {
  if (stats === undefined && plot === undefined && format !== 'json') return false;
  if (plot === undefined) return statistics ?? true;
  if (statistics === undefined && DEFAULT_NAMES.includes(plotStatistic)) return true;
  return [...new Set([...(statistics ?? DEFAULT_NAMES), plotStatistic])];
}
