import { basename } from 'node:path';
import type { FillRule, Zones } from '../algorithms/geometry/polygons.ts';
import type { RasterSource } from '../algorithms/geometry/raster.ts';
import type { Note } from '../algorithms/notes.ts';
import type { Binning, ZonalHistogram } from '../algorithms/zonal/types.ts';
import { type StagedOutputs, stageOutputs } from '../formats/atomic-write.ts';
import { requirePlot } from '../formats/plot-packages.ts';
import type { TextChunks } from '../formats/text-chunks.ts';
import { statisticsCsv, zonalCsv } from '../formats/zonal-csv.ts';
import { zonalJson } from '../formats/zonal-json.ts';
import type { ReadZones, ZoneOptions } from '../formats/zones.ts';
import { progress } from '../graph/index.ts';
import type { BackendOptions, ZonalOptions } from './arguments.ts';
import type { Log } from './log.ts';
import { sharesOf } from './memory.ts';
import { noteTaker } from './note-taker.ts';
import { reconcileCrs } from './reconcile-crs.ts';
import { openContext, protectInputs, type RunContext, type Surroundings } from './run-support.ts';
import { writeToStdout } from './standard-output.ts';
import { zonalSummary } from './zonal-summary.ts';

/** A raster band, with notes on what was ignored or unusual in the file. */
export interface OpenedRaster extends RasterSource {
  readonly notes: readonly Note[];
}

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
    },
  ): Promise<OpenedRaster>;
  openContext(options: BackendOptions): Promise<C>;
  zonalHistogram(context: C, job: ZonalJob): Promise<ZonalHistogram>;
}

/**
 * Runs `quadrille zonal`: reads zones and raster, counts cells, and writes either all output files or none.
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
  await protectInputs([options.zones, options.raster], files);
  const outputs = await stageOutputs(files);
  surroundings.beforeExit(() => outputs.discardNow());
  try {
    const result = await compute(options, parts, surroundings);
    for (const [path, chunks] of await contents(options, result)) {
      if (path === '-') await writeToStdout(surroundings.stdout, chunks, surroundings.signal);
      else await outputs.write(path, chunks, surroundings.signal);
    }
    await commit(outputs, surroundings.signal);
    const summary = zonalSummary({
      backend: result.backend,
      zones: result.histogram.names.length,
      cells: result.histogram.cells.reduce((sum, cells) => sum + cells, 0n),
      seconds: (performance.now() - started) / 1000,
      gridStep: result.histogram.gridStep,
      outputs: files,
    });
    surroundings.log.summary(summary);
  } finally {
    await outputs.discard();
  }
}

function outputFiles({ out, stats, plot }: ZonalOptions): string[] {
  return [out, stats, plot].filter((path) => path !== undefined).filter((path) => path !== '-');
}

/** The result of a run, with all data needed to write it. */
interface ZonalResult {
  readonly histogram: ZonalHistogram;
  readonly zones: Zones;
  readonly raster: RasterSource;
  readonly backend: string;
  readonly notes: readonly Note[];
}

async function compute<C extends RunContext>(
  options: ZonalOptions,
  parts: ZonalParts<C>,
  { log, signal }: Surroundings,
): Promise<ZonalResult> {
  const { all: notes, take } = noteTaker(log);
  take(unwrittenHistograms(options));
  const reading = parts.readZones(options.zones, {
    layer: options.layer,
    id: options.id,
    memoryBytes: options.memoryBytes,
    crs: options.assumeCrs,
    antimeridian: options.antimeridian,
    onBadRecord: options.onBadRecord,
  });
  // The raster and the backend start their threads while zones are being read.
  const opening = parts.openRaster(options.raster, {
    band: options.band,
    nodata: options.nodata,
    mask: options.mask,
    raw: options.raw,
    maxBlockBytes: Math.min(MAX_BLOCK_BYTES, sharesOf(options.memoryBytes).record),
  });
  const starting = openContext(options, parts.openContext);
  // These promises are awaited later, so that errors of the zones are reported first. The handlers prevent unhandled
  // rejections.
  for (const part of [opening, starting]) part.catch(() => {});
  try {
    const { zones, notes: zoneNotes } = await reading;
    take(zoneNotes);
    signal.throwIfAborted();
    const opened = await opening;
    take(opened.notes);
    const { raster, notes: crsNotes } = reconcileCrs(zones, opened, options.assumeCrs, options);
    take(crsNotes);
    signal.throwIfAborted();
    const context = await starting;
    const histogram = await count(options, parts, context, zones, raster, log, signal);
    take(histogram.notes);
    return { histogram, zones, raster, backend: context.backend.name, notes };
  } finally {
    for (const part of await Promise.allSettled([starting, opening])) {
      if (part.status === 'fulfilled') await part.value.close();
    }
  }
}

async function count<C extends RunContext>(
  options: ZonalOptions,
  parts: ZonalParts<C>,
  context: C,
  zones: Zones,
  raster: RasterSource,
  log: Log,
  signal: AbortSignal,
): Promise<ZonalHistogram> {
  const stop = (): void => context.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const { report, end } = trackProgress(log);
  try {
    signal.throwIfAborted();
    const { binning, fill } = options;
    const memoryBytes = sharesOf(options.memoryBytes).counters;
    const statistics = wantsStatistics(options);
    const job: ZonalJob = { zones, raster, binning, fill, statistics, memoryBytes, signal, onProgress: report };
    return await parts.zonalHistogram(context, job);
  } finally {
    end();
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Maximum decoded bytes of a raster block, even if `--memory` allows more. Every block is decoded as a whole, so it
 * must fit in memory.
 */
const MAX_BLOCK_BYTES = 2 ** 29;

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

async function contents(options: ZonalOptions, result: ZonalResult): Promise<(readonly [string, TextChunks])[]> {
  const { out, stats, plot } = options;
  return [
    ...(out === undefined ? [] : [[out, histogramText(options, result)] as const]),
    ...(stats === undefined ? [] : [[stats, statisticsCsv(result.histogram, csvOf(options))] as const]),
    ...(plot === undefined ? [] : [[plot, [await drawn(options, result)]] as const]),
  ];
}

function csvOf({ quoteFormulas }: ZonalOptions): { readonly quoteFormulas: boolean } {
  return { quoteFormulas };
}

function histogramText(options: ZonalOptions, { histogram, backend, notes }: ZonalResult): TextChunks {
  if (options.format === 'csv') return zonalCsv(histogram, csvOf(options));
  return zonalJson(histogram, { zones: options.zones, raster: options.raster, backend, notes });
}

async function drawn(options: ZonalOptions, { histogram, zones, raster }: ZonalResult): Promise<string> {
  // Importing the code for charts takes a quarter of a second, so it is imported only when needed.
  const { zonalPlot } = await import('../formats/zonal-plot.ts');
  const title = `${basename(options.raster)} by ${options.layer ?? basename(options.zones)}`;
  return zonalPlot({ histogram, polygons: zones.polygons, grid: raster, title });
}

async function commit(outputs: StagedOutputs, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await outputs.commit();
}
