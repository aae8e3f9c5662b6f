import { gridStep } from '../algorithms/geometry/grid.ts';
import type { Zones } from '../algorithms/geometry/polygons.ts';
import type { RasterSource } from '../algorithms/geometry/raster.ts';
import type { Note } from '../algorithms/notes.ts';
import { quoteName } from '../algorithms/quoted-names.ts';
import { isWebAddress } from '../formats/bytes/file-error.ts';
import { requirePlot } from '../formats/charts/plot-packages.ts';
import { sameCrs } from '../formats/crs.ts';
import type { ReprojectionGrid } from '../formats/polygons/reproject-zones.ts';
import { codeOfCrs, wktOfCrs } from '../formats/polygons/write/layer-writer.ts';
import type { ReadZones, ZoneOptions } from '../formats/polygons/zones.ts';
import { type BandCache, createBandCache } from '../formats/rasters/tiff/band-cache.ts';
import type { RowsOf } from '../formats/results/zonal-json.ts';
import type { FileChunks } from '../formats/text/text-chunks.ts';
import { UsageError } from '../formats/usage-error.ts';
import type { BackendOptions } from './arguments.ts';
import { sharesOf } from './memory.ts';
import { noteTaker } from './note-taker.ts';
import { reconcileCrs, withStatedCrs } from './reconcile-crs.ts';
import { filesAmong, openContext, printFigures, type RunContext, type Surroundings, stageRun } from './run-support.ts';
import { writeToStdout } from './standard-output.ts';
import { formatOfName, isJsonFile, LAYER_ENDINGS } from './values.ts';
import type { ZonalOptions } from './zonal-arguments.ts';
import { withFreeNames } from './zonal-attributes.ts';
import { columnPrefixes } from './zonal-columns.ts';
import { type CountedRaster, type Counting, type CountParts, countHere, type Receive } from './zonal-count.ts';
import { unionOfGrids, writeByRaster, writeHistogram } from './zonal-outputs.ts';
import type { QueueParts, QueueRun } from './zonal-queue.ts';
import {
  againNotes,
  closeAll,
  gridNotes,
  maxBlockBytes,
  type NamedFiles,
  type NamedRaster,
  notesOnRasters,
  type OpenedRaster,
  openRasters,
  type RasterNotes,
  type RasterOptions,
  rasterFiles,
} from './zonal-rasters.ts';
import { checksumOf, type ReprojectionParts, targetOf } from './zonal-reprojection.ts';
import { type ZonalSummary, zonalSummary } from './zonal-summary.ts';

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface ZonalParts<C extends RunContext>
  extends CountParts<C>,
    ReprojectionParts,
    Omit<QueueParts, 'openRaster'> {
  readZones(path: string, options: ZoneOptions): Promise<ReadZones>;
  /** Reads zones from stdin. */
  readPipedZones(options: ZoneOptions, signal: AbortSignal): Promise<ReadZones>;
  openRaster(
    path: string,
    options: RasterOptions & {
      readonly maxBlockBytes: number;
      /** Whether most of the raster will be read soon. */
      readonly startThreads: boolean;
      /** Maximum bytes of the file that are held, if the path is an address. */
      readonly downloadBytes?: number | undefined;
      readonly bandCache?: BandCache | undefined;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<OpenedRaster>;
  openContext(options: BackendOptions): Promise<C>;
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
  const written = filesAmong([options.out, options.stats, options.plot]);
  const files = await rasterFiles(options.rasters);
  const { paths } = files;
  if (paths.length > 1 && !options.merge) checkOneTable(options);
  const inputs = [
    ...filesAmong([options.zones]),
    ...paths,
    ...(options.weights === undefined ? [] : [options.weights]),
  ];
  await using outputs = await stageRun(inputs, written, surroundings);
  const write: ZonalWrite = async (path, chunks) => {
    if (path === '-') await writeToStdout(surroundings.stdout, chunks, surroundings.signal);
    else await outputs.write(path, chunks, surroundings.signal);
  };
  await using onQueue = await openQueue(options, paths, parts, surroundings);
  const figures = await compute(options, files, parts, onQueue, surroundings, write);
  surroundings.signal.throwIfAborted();
  await outputs.commit();
  const seconds = (performance.now() - started) / 1000;
  const summary = zonalSummary({ ...figures, seconds, outputs: written });
  if (options.json) await printFigures(summary, surroundings);
  surroundings.log.summary(summary);
}

/** Throws if the table of statistics cannot have rows of several rasters, because each would have other columns. */
function checkOneTable({ statistics, stats, wide }: ZonalOptions): void {
  if (stats === undefined || wide || isJsonFile(stats) || statistics?.includes('frac') !== true) return;
  throw new UsageError(
    'usage/contradiction',
    'frac has other columns for each raster and band, so one table cannot hold them.',
    {
      remedy:
        'Write columns for each (--wide), count the rasters as one surface (--merge), or write JSON (--stats FILE.json).',
    },
  );
}

/** The zones that a layer has: as they stand in their file, unless some were left out when they were brought to another system. */
function featuresOf({ stats = '' }: ZonalOptions, stated: Zones, counted: Zones): Zones {
  const isLayer = formatOfName(stats, LAYER_ENDINGS) !== undefined;
  return isLayer && stated.names.length === counted.names.length ? stated : counted;
}

/** A note if programs that read the layer of zones will not know its coordinate system. */
function layerNotes({ stats = '' }: ZonalOptions, zones: Zones): Note[] {
  const { crs } = zones;
  if (formatOfName(stats, LAYER_ENDINGS) === undefined || (codeOfCrs(crs) ?? wktOfCrs(zones)) !== undefined) return [];
  const system =
    crs === undefined
      ? 'The coordinate system of the zones is unknown'
      : `The zones' system ${quoteName(crs)} has no code`;
  const message = `${system}: programs may take the coordinates in ${stats} for longitudes and latitudes; --zones-crs EPSG:N names it.`;
  return [{ code: 'zonal/layer-crs', message }];
}

/** Opens a run on the queue that the options name. Undefined if they name none. */
async function openQueue<C extends RunContext>(
  options: ZonalOptions,
  paths: readonly string[],
  parts: ZonalParts<C>,
  surroundings: Surroundings,
): Promise<QueueRun | undefined> {
  if (options.queue === undefined) return undefined;
  checkFilesOnly(paths);
  const { openQueueRun } = await import('./zonal-queue.ts');
  return openQueueRun(options, options.queue, paths, parts, surroundings);
}

/** Throws if workers of a queue would have to read an address. They check that all see the same files. */
function checkFilesOnly(paths: readonly string[]): void {
  const address = paths.find(isWebAddress);
  if (address === undefined) return;
  throw new UsageError('usage/contradiction', `Workers of a queue read files only, and ${address} is an address.`, {
    remedy: 'Download it to a folder that all workers see, or count without --queue.',
  });
}

type Figures = Pick<ZonalSummary, 'backend' | 'zones' | 'rasters' | 'bands' | 'cells' | 'gridSteps' | 'workers'>;

async function compute<C extends RunContext>(
  options: ZonalOptions,
  { paths, again, sourceOf }: NamedFiles,
  parts: ZonalParts<C>,
  onQueue: QueueRun | undefined,
  { log, signal }: Surroundings,
  write: ZonalWrite,
): Promise<Figures> {
  const { all: notes, take } = noteTaker(log);
  take(unwrittenHistograms(options));
  take(againNotes(again));
  const { zoneOptions, attributes: chosen, memoryBytes } = options;
  const how = { ...zoneOptions, attributes: chosen, memoryBytes };
  const reading = options.zones === '-' ? parts.readPipedZones(how, signal) : parts.readZones(options.zones, how);
  // The rasters and the backend start their threads while zones are being read.
  const bandCache = createBandCache({ keepBytes: sharesOf(memoryBytes).bands });
  const opening = openRasters(paths, options.bands, (path, band) =>
    openRaster(options, sourceOf(path), band, paths.length === 1 && !onQueue, parts, signal, bandCache),
  );
  const weighing =
    options.weights === undefined
      ? undefined
      : openRaster({ ...options, rasterOptions: OF_WEIGHTS }, options.weights, 1, false, parts, signal);
  const starting = onQueue === undefined ? openContext(options, parts.openContext) : undefined;
  // These promises are awaited later, so that errors of the zones are reported first. The handlers prevent unhandled
  // rejections.
  for (const part of [opening, weighing, starting]) part?.catch(() => {});
  try {
    const stated = await reading;
    take(stated.notes);
    signal.throwIfAborted();
    const opened = await opening;
    take(notesOnRasters(opened.map(({ path, raster }) => ({ path, notes: raster.notes }))));
    const given = await weighing;
    take(
      (given?.notes ?? []).map((note) => ({ ...note, message: `${given!.file ?? options.weights}: ${note.message}` })),
    );
    const known = opened.map(({ raster }) => withStatedCrs(raster, options.rasterCrs));
    const target = options.assumedCrs === undefined ? targetOf(stated.zones.crs, known) : undefined;
    const {
      zones,
      attributes: read,
      notes: zoneNotes,
    } = target ? await broughtTo(target, stated, options, parts, signal) : stated;
    take(zoneNotes.slice(stated.notes.length));
    const features = featuresOf(options, stated.zones, zones);
    take(layerNotes(options, features));
    signal.throwIfAborted();
    const reconciled = reconcileAll(options, zones, opened, known);
    take(notesOnRasters(reconciled));
    signal.throwIfAborted();
    const context = await starting;
    if (!options.merge) take(gridNotes(reconciled));
    const surfaces = options.merge ? mergedBands(reconciled, paths) : reconciled.map((one) => [one]);
    if (surfaces.length > 1) checkOneTable(options);
    const prefixes = options.wide && surfaces.length > 1 ? prefixesOf(surfaces, options, take) : undefined;
    const rowsOf = rowsOfEach(surfaces);
    const { attributes, notes: renamed } = withFreeNames(read ?? [], options, rowsOf[0]!, prefixes);
    take(renamed);
    const counting: Counting = {
      options,
      zones,
      features,
      reprojection: target && { ...target, crs: target.crs!, checksum: checksumOf(zones.polygons) },
      attributes: read && attributes,
      prefixes,
      surfaces,
      weights: given,
      take,
      log,
      signal,
    };
    const results = resultsOf(counting, rowsOf, notes, write);
    if (onQueue === undefined) await countHere(counting, parts, context!, results.receive);
    else await onQueue.count(counting, results.receive);
    await results.end();
    const rasters = reconciled.map(({ raster }) => raster);
    return {
      ...results.figures(),
      ...(onQueue && { workers: onQueue.workers() }),
      zones: zones.names.length,
      rasters: paths.length,
      bands: rasters.length / paths.length,
      gridSteps: distinctSteps(rasters),
    };
  } finally {
    const [context, opened, weights] = await Promise.allSettled([starting, opening, weighing]);
    if (weights.status === 'fulfilled') await weights.value?.close();
    if (context.status === 'fulfilled') await context.value?.close();
    if (opened.status === 'fulfilled') await closeAll(opened.value);
  }
}

/** How weights are read, whatever the options of the raster are. */
const OF_WEIGHTS: ZonalOptions['rasterOptions'] = { nodata: undefined, mask: 'all', raw: false };

function openRaster<C extends RunContext>(
  { rasterOptions, memoryBytes }: ZonalOptions,
  path: string,
  band: number,
  startThreads: boolean,
  parts: ZonalParts<C>,
  signal: AbortSignal,
  bandCache?: BandCache,
): Promise<OpenedRaster> {
  const { download: downloadBytes } = sharesOf(memoryBytes);
  const limits = { maxBlockBytes: maxBlockBytes(memoryBytes), startThreads, downloadBytes, signal, bandCache };
  return parts.openRaster(path, { ...rasterOptions, band, ...limits });
}

/** Brings zones to the system of the rasters. */
function broughtTo<C extends RunContext>(
  target: ReprojectionGrid,
  read: ReadZones,
  { zoneOptions: { onBadRecord }, memoryBytes }: ZonalOptions,
  parts: ZonalParts<C>,
  signal: AbortSignal,
): Promise<ReadZones> {
  return parts.reprojectZones(read, target, { onBadRecord, memoryBytes, signal });
}

/** Rasters with the system that they share with the zones, and notes on it. */
function reconcileAll(
  options: ZonalOptions,
  zones: Zones,
  opened: readonly NamedRaster[],
  known: readonly RasterSource[],
): (CountedRaster & { readonly notes: readonly Note[] })[] {
  const reconciled = opened.map(({ path, band, raster }, at) => {
    const files = { zones: options.zones, raster: path };
    return { path, band, opened: raster, ...reconcileCrs(zones, known[at]!, options.assumedCrs, files) };
  });
  if (!options.merge) return reconciled;
  // Names of one system may differ. Those that do not mean the same are refused when the surface is counted.
  const { crs } = reconciled[0]!.raster;
  return reconciled.map((named) =>
    sameCrs(crs, named.raster.crs) ? { ...named, raster: { ...named.raster, crs } } : named,
  );
}

/**
 * The surfaces of rasters that are parts of one surface: one for each band.
 *
 * @throws UsageError `usage/bands` if the rasters have different numbers of bands.
 */
function mergedBands(rasters: readonly CountedRaster[], paths: readonly string[]): CountedRaster[][] {
  const bands = rasters.filter(({ path }) => path === paths[0]).map(({ band }) => band);
  if (rasters.length !== bands.length * paths.length) {
    throw new UsageError('usage/bands', 'The rasters of the surface have different numbers of bands.', {
      remedy: 'Name bands that all of them have, as in --band 1,2.',
    });
  }
  return bands.map((band) => rasters.filter((raster) => raster.band === band));
}

/** What stands before the names of statistics of each surface, if they are columns of one table. */
function prefixesOf(
  surfaces: Counting['surfaces'],
  { statistics, merge }: ZonalOptions,
  take: Counting['take'],
): readonly string[] {
  const paths = new Set(surfaces.flat().map(({ path }) => path));
  const named = surfaces.map(([first]) => ({
    path: merge || paths.size === 1 ? undefined : first!.path,
    band: first!.band,
  }));
  const { prefixes, notes } = columnPrefixes(named, statistics);
  take(notes);
  return prefixes;
}

/** The raster and the band that the rows of each surface have, where there are several. */
function rowsOfEach(surfaces: Counting['surfaces']): readonly RowsOf[] {
  if (surfaces.length === 1) return [{}];
  const { size } = new Set(surfaces.flat().map(({ path }) => path));
  const hasBands = surfaces.length > size || surfaces.some((rasters) => rasters.length > 1);
  return surfaces.map((rasters) => {
    const { path, band } = rasters[0]!;
    return { ...(rasters.length === 1 && size > 1 && { raster: path }), ...(hasBands && { band }) };
  });
}

function distinctSteps(rasters: readonly RasterSource[]): (readonly [number, number])[] {
  return [...new Map(rasters.map((raster) => [gridStep(raster).join(), gridStep(raster)] as const)).values()];
}

/** Writes the results as they come. */
interface Results {
  readonly receive: Receive;
  end(): Promise<void>;
  figures(): Pick<Figures, 'backend' | 'cells'>;
}

function resultsOf(counting: Counting, rowsOf: readonly RowsOf[], notes: readonly Note[], write: ZonalWrite): Results {
  const { surfaces, take } = counting;
  let [cells, usedBackend] = [0n, ''];
  const { add, end } =
    surfaces.length === 1 ? togetherResults(counting, notes, write) : eachResults(counting, rowsOf, write);
  const found: RasterNotes[] = [];
  return {
    async receive(surface, histogram, backend) {
      usedBackend = backend;
      if (surfaces.length === 1) take(histogram.notes);
      else {
        const { path, band } = surfaces[surface]![0]!;
        found.push({ path, band, notes: histogram.notes });
      }
      await add(surface, histogram, backend);
      cells += histogram.cells.reduce((sum, count) => sum + count, 0n);
    },
    async end() {
      if (surfaces.length > 1) take(notesOnRasters(found));
      await end?.(notes);
    },
    figures: () => ({ backend: usedBackend, cells }),
  };
}

type ZonalWrite = (path: string, chunks: FileChunks) => Promise<void>;
interface Writing {
  readonly add: Receive;
  end?(notes: readonly Note[]): Promise<void>;
}

/** Writes the result of one raster, or of several as parts of one surface. */
function togetherResults(counting: Counting, notes: readonly Note[], write: ZonalWrite): Writing {
  const { options, zones, features, attributes, surfaces } = counting;
  const rasters = surfaces[0]!;
  const grid = unionOfGrids(rasters.map(({ raster }) => raster));
  return {
    add: (_, histogram, backend) => {
      const facts = { rasters: rasters.map(({ path }) => path), zones, features, attributes, backend, notes };
      return writeHistogram(options, { histogram, grid }, facts, write);
    },
  };
}

/** Writes the rows of each raster by itself, before those of the next. */
function eachResults(
  { options, zones, features, attributes, prefixes, surfaces }: Counting,
  rowsOf: readonly RowsOf[],
  write: ZonalWrite,
): Writing {
  const paths = [...new Set(surfaces.flat().map(({ path }) => path))];
  const rasterFacts = surfaces.map(([first], surface) => ({
    ...rowsOf[surface],
    sample: first!.raster.sample,
    gridStep: gridStep(first!.raster),
  }));
  const factsOn = (backend: string) => ({
    rasters: paths,
    rasterFacts,
    prefixes,
    zones,
    features,
    attributes,
    backend,
  });
  let outputs: ReturnType<typeof writeByRaster> | undefined;
  return {
    async add(surface, histogram, backend) {
      outputs ??= writeByRaster(options, factsOn(backend), write);
      const rasters = surfaces[surface]!.map(({ raster }) => raster);
      await outputs.add(rowsOf[surface]!, { histogram, grid: unionOfGrids(rasters) });
    },
    end: async (notes) => outputs?.end(notes),
  };
}

/** A list with one note (a warning) if the user gave bins but no output has the histograms; otherwise an empty list. */
function unwrittenHistograms({ out, stats, plot, json, binsGiven }: ZonalOptions): Note[] {
  if (out !== undefined || !binsGiven) return [];
  const taken = [stats === '-' && 'statistics', plot === '-' && 'plot', json && 'figures'].filter(
    (name) => name !== false,
  );
  const message = `The histograms are not written, because stdout holds the ${taken.join(' and ')}; --out FILE writes them.`;
  return [{ code: 'zonal/histograms-unwritten', message }];
}
