import { gridStep } from '../algorithms/geometry/grid.ts';
import type { FillRule, Zones } from '../algorithms/geometry/polygons.ts';
import type { RasterSource } from '../algorithms/geometry/raster.ts';
import type { Note } from '../algorithms/notes.ts';
import type { Binning, ZonalHistogram } from '../algorithms/zonal/types.ts';
import { stageOutputs } from '../formats/atomic-write.ts';
import { sameCrs } from '../formats/crs.ts';
import { requirePlot } from '../formats/plot-packages.ts';
import type { TextChunks } from '../formats/text-chunks.ts';
import type { ReadZones, ZoneOptions } from '../formats/zones.ts';
import { progress } from '../graph/index.ts';
import type { BackendOptions, ZonalOptions } from './arguments.ts';
import type { Log } from './log.ts';
import { sharesOf } from './memory.ts';
import { noteTaker } from './note-taker.ts';
import { reconcileCrs } from './reconcile-crs.ts';
import { openContext, protectInputs, type RunContext, type Surroundings } from './run-support.ts';
import { writeToStdout } from './standard-output.ts';
import { unionOfGrids, writeByRaster, writeHistogram } from './zonal-outputs.ts';
import {
  againNotes,
  closeAll,
  type NamedRaster,
  notesOnRasters,
  type OpenedRaster,
  openRasters,
  rasterFiles,
} from './zonal-rasters.ts';
import { type ZonalSummary, zonalSummary } from './zonal-summary.ts';

/** The inputs of a zonal histogram. */
export interface ZonalJob {
  readonly zones: Zones;
  readonly raster: RasterSource;
  readonly binning: Binning;
  readonly fill: FillRule;
  readonly statistics: boolean;
  readonly memoryBytes?: number | undefined;
  readonly signal: AbortSignal;
  onProgress(doneCells: number, totalCells: number): void;
}

/** The inputs of the histogram of several rasters that are parts of one surface. */
export interface SurfaceJob extends Omit<ZonalJob, 'raster'> {
  readonly rasters: readonly RasterSource[];
  onCounted(raster: RasterSource): Promise<void>;
}

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface ZonalParts<C extends RunContext> {
  readZones(path: string, options: ZoneOptions): Promise<ReadZones>;
  openRaster(
    path: string,
    options: {
      readonly band: number;
      readonly nodata: number | undefined;
      readonly mask: 'all' | 'none';
      readonly raw: boolean;
      readonly maxBlockBytes: number;
      /** Whether most of the raster will be read soon. */
      readonly startThreads: boolean;
    },
  ): Promise<OpenedRaster>;
  openContext(options: BackendOptions): Promise<C>;
  zonalHistogram(context: C, job: ZonalJob): Promise<ZonalHistogram>;
  surfaceHistogram(context: C, job: SurfaceJob): Promise<ZonalHistogram>;
}

/**
 * Runs `quadrille zonal`: reads zones and rasters, counts cells, and writes either all output files or none.
 *
 * @throws Errors of the functions in `parts`; the reason of {@link Surroundings.signal} if the signal is aborted.
 */
export async function runZonal<C extends RunContext>(
  options: ZonalOptions,
  parts: ZonalParts<C>,
  surroundings: Surroundings,
): Promise<void> {
  const started = performance.now();
  if (options.plot !== undefined) requirePlot();
  const files = outputFiles(options);
  const { paths, again } = await rasterFiles(options.rasters);
  await protectInputs([options.zones, ...paths], files);
  const outputs = await stageOutputs(files);
  surroundings.beforeExit(() => outputs.discardNow());
  const write = async (path: string, chunks: TextChunks): Promise<void> => {
    if (path === '-') await writeToStdout(surroundings.stdout, chunks, surroundings.signal);
    else await outputs.write(path, chunks, surroundings.signal);
  };
  try {
    const figures = await compute(options, paths, again, parts, surroundings, write);
    surroundings.signal.throwIfAborted();
    await outputs.commit();
    const seconds = (performance.now() - started) / 1000;
    surroundings.log.summary(zonalSummary({ ...figures, seconds, outputs: files }));
  } finally {
    await outputs.discard();
  }
}

function outputFiles({ out, stats, plot }: ZonalOptions): string[] {
  return [out, stats, plot].filter((path) => path !== undefined).filter((path) => path !== '-');
}

type Figures = Pick<ZonalSummary, 'backend' | 'zones' | 'rasters' | 'cells' | 'gridSteps'>;

async function compute<C extends RunContext>(
  options: ZonalOptions,
  paths: readonly string[],
  again: readonly string[],
  parts: ZonalParts<C>,
  { log, signal }: Surroundings,
  write: (path: string, chunks: TextChunks) => Promise<void>,
): Promise<Figures> {
  const { all: notes, take } = noteTaker(log);
  take(unwrittenHistograms(options));
  take(againNotes(again));
  const reading = parts.readZones(options.zones, {
    layer: options.layer,
    id: options.id,
    memoryBytes: options.memoryBytes,
    crs: options.assumeCrs,
    antimeridian: options.antimeridian,
    onBadRecord: options.onBadRecord,
  });
  // The rasters and the backend start their threads while zones are being read.
  const opening = openRasters(paths, (path) => openRaster(options, path, paths.length === 1, parts));
  const starting = openContext(options, parts.openContext);
  // These promises are awaited later, so that errors of the zones are reported first. The handlers prevent unhandled
  // rejections.
  for (const part of [opening, starting]) part.catch(() => {});
  try {
    const { zones, notes: zoneNotes } = await reading;
    take(zoneNotes);
    signal.throwIfAborted();
    const opened = await opening;
    take(notesOnRasters(opened.map(({ path, raster }) => ({ path, notes: raster.notes }))));
    const reconciled = reconcileAll(options, zones, opened);
    take(notesOnRasters(reconciled));
    signal.throwIfAborted();
    const context = await starting;
    const rasters = reconciled.map(({ path, raster }) => ({ path, raster }));
    const counting = { options, parts, context, zones, rasters, notes, take, log, signal, write };
    const cells = await (options.merge || rasters.length === 1 ? countTogether(counting) : countEach(counting));
    return {
      backend: context.backend.name,
      zones: zones.names.length,
      rasters: rasters.length,
      cells,
      gridSteps: distinctSteps(rasters.map(({ raster }) => raster)),
    };
  } finally {
    const [context, opened] = await Promise.allSettled([starting, opening]);
    if (context.status === 'fulfilled') await context.value.close();
    if (opened.status === 'fulfilled') await closeAll(opened.value);
  }
}

function openRaster<C extends RunContext>(
  { band, nodata, mask, raw, memoryBytes }: ZonalOptions,
  path: string,
  startThreads: boolean,
  parts: ZonalParts<C>,
): Promise<OpenedRaster> {
  const maxBlockBytes = Math.min(MAX_BLOCK_BYTES, sharesOf(memoryBytes).record);
  return parts.openRaster(path, { band, nodata, mask, raw, maxBlockBytes, startThreads });
}

/**
 * Maximum decoded bytes of a raster block, even if `--memory` allows more. Every block is decoded as a whole, so it
 * must fit in memory.
 */
const MAX_BLOCK_BYTES = 2 ** 29;

/** Rasters with the system that they share with the zones, and notes on it. */
function reconcileAll(options: ZonalOptions, zones: Zones, opened: readonly NamedRaster[]) {
  const reconciled = opened.map(({ path, raster }) => {
    const files = { zones: options.zones, raster: path };
    return { path, ...reconcileCrs(zones, raster, options.assumeCrs, files) };
  });
  if (!options.merge) return reconciled;
  // Names of one system may differ. Those that do not mean the same are refused when the surface is counted.
  const { crs } = reconciled[0]!.raster;
  return reconciled.map((named) =>
    sameCrs(crs, named.raster.crs) ? { ...named, raster: { ...named.raster, crs } } : named,
  );
}

function distinctSteps(rasters: readonly RasterSource[]): (readonly [number, number])[] {
  return [...new Map(rasters.map((raster) => [gridStep(raster).join(), gridStep(raster)] as const)).values()];
}

interface Counting<C extends RunContext> {
  readonly options: ZonalOptions;
  readonly parts: ZonalParts<C>;
  readonly context: C;
  readonly zones: Zones;
  readonly rasters: readonly { readonly path: string; readonly raster: RasterSource }[];
  readonly notes: readonly Note[];
  take(notes: readonly Note[]): void;
  readonly log: Log;
  readonly signal: AbortSignal;
  write(path: string, chunks: TextChunks): Promise<void>;
}

/** Counts one raster, or several as parts of one surface. Returns the number of cells in the zones. */
async function countTogether<C extends RunContext>(counting: Counting<C>): Promise<bigint> {
  const { options, parts, context, zones, rasters, notes, take, write } = counting;
  const histogram = await watched(counting, (job) =>
    rasters.length === 1
      ? parts.zonalHistogram(context, { ...job, raster: rasters[0]!.raster })
      : parts.surfaceHistogram(context, {
          ...job,
          rasters: rasters.map(({ raster }) => raster),
          onCounted: (raster) => raster.close(),
        }),
  );
  take(histogram.notes);
  const facts = { rasters: rasters.map(({ path }) => path), backend: context.backend.name, notes };
  const grid = unionOfGrids(rasters.map(({ raster }) => raster));
  await writeHistogram(options, { histogram, polygons: zones.polygons, grid }, facts, write);
  return cellsIn(histogram);
}

/** Counts each raster by itself, and writes its rows before the next. Returns the number of cells in the zones. */
async function countEach<C extends RunContext>(counting: Counting<C>): Promise<bigint> {
  const { options, parts, context, zones, rasters, notes, take, write } = counting;
  const rasterFacts = rasters.map(({ path, raster }) => ({
    raster: path,
    sample: raster.sample,
    gridStep: gridStep(raster),
  }));
  const facts = { rasters: rasters.map(({ path }) => path), rasterFacts, backend: context.backend.name };
  const outputs = writeByRaster(options, facts, write);
  const found: { readonly path: string; readonly notes: readonly Note[] }[] = [];
  const allCells = rasters.reduce((sum, { raster }) => sum + raster.width * raster.height, 0);
  let [cells, before] = [0n, 0];
  await watched(counting, async (job) => {
    for (const { path, raster } of rasters) {
      const onProgress = (done: number): void => job.onProgress(before + done, allCells);
      const histogram = await parts.zonalHistogram(context, { ...job, raster, onProgress });
      await raster.close();
      counting.log.clearProgress();
      await outputs.add(path, { histogram, polygons: zones.polygons, grid: raster });
      found.push({ path, notes: histogram.notes });
      cells += cellsIn(histogram);
      before += raster.width * raster.height;
    }
  });
  take(notesOnRasters(found));
  await outputs.end(notes);
  return cells;
}

function cellsIn({ cells }: ZonalHistogram): bigint {
  return cells.reduce((sum, count) => sum + count, 0n);
}

/** Runs `count` with what all jobs have in common, shows its progress, and aborts the context if the run is aborted. */
async function watched<C extends RunContext, T>(
  { options, context, zones, log, signal }: Counting<C>,
  count: (job: Omit<ZonalJob, 'raster'>) => Promise<T>,
): Promise<T> {
  const stop = (): void => context.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const { report, end } = trackProgress(log);
  try {
    signal.throwIfAborted();
    const { binning, fill } = options;
    const memoryBytes = sharesOf(options.memoryBytes).counters;
    const statistics = wantsStatistics(options);
    return await count({ zones, binning, fill, statistics, memoryBytes, signal, onProgress: report });
  } finally {
    end();
    signal.removeEventListener('abort', stop);
  }
}

/** Whether any output contains statistics. Statistics are computed only if this is true. */
function wantsStatistics({ stats, plot, format }: ZonalOptions): boolean {
  return stats !== undefined || plot !== undefined || format === 'json';
}

/** A list with one note (a warning) if the user gave bins but no output has the histograms; otherwise an empty list. */
function unwrittenHistograms({ out, stats, plot, binsGiven }: ZonalOptions): Note[] {
  if (out !== undefined || !binsGiven) return [];
  const taken = [stats === '-' && 'statistics', plot === '-' && 'plot'].filter((name) => name !== false);
  const message = `The histograms are not written, because stdout holds the ${taken.join(' and ')}; --out FILE writes them.`;
  return [{ code: 'zonal/histograms-unwritten', message }];
}

function trackProgress(log: Log): { report: ZonalJob['onProgress']; end: () => void } {
  const meter = progress({ every: log.progressEvery });
  const shown = meter.progress$.subscribe((report) => {
    if (report.total !== undefined) log.progress(report, 'cells');
  });
  let cells = 0;
  return {
    report(doneCells, totalCells) {
      if (cells === 0) meter.expect(totalCells);
      meter.advance(doneCells - cells);
      cells = doneCells;
    },
    end() {
      meter.end();
      shown.unsubscribe();
      log.clearProgress();
    },
  };
}
