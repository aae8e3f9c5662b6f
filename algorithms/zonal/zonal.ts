import { tap } from 'rxjs';
import { pull, stage } from '../../graph/index.ts';
import {
  aFunction,
  anInstance,
  aPositive,
  aSignal,
  type FieldKinds,
  type Kind,
  optional,
  where,
} from '../../primitives/checks/kinds.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import type { Column, Context } from '../../primitives/index.ts';
import type { Box } from '../geometry/boxes.ts';
import { aFill, type FillRule, someZones, type Zones } from '../geometry/polygons.ts';
import { aRaster, type Cells, type EncodedCells, isFloat, type RasterSource, type Window } from '../geometry/raster.ts';
import type { Classifier } from './binning.ts';
import { bytesOf, isEncoded, type PlacedCells, placeRows, readCells, readRows, readsEncoded } from './cell-places.ts';
import {
  countingWay,
  mayCountEncoded,
  type Wanted,
  wantedFolds,
  wantedProducts,
  wantedWeighted,
  wantedWeights,
  wantsBinShares,
  wantsBinsOnly,
  wantsRows,
  wantsValueShares,
  wantsValues,
} from './counting-way.ts';
import { type Coverage, coverageByRows, coverageOf, coverZones, type PlacedRows } from './coverage.ts';
import type { EdgeTable } from './edge-table.ts';
import { homeGroups, NO_HOMES } from './exact-sums.ts';
import { fetchAhead } from './fetch-ahead.ts';
import {
  outlineCellsIn,
  outlineRowsIn,
  outlineWords,
  touchWords,
  windowOutlines,
} from './fractions/window-fractions.ts';
import { hiddenBits, hideCells } from './hidden-cells.ts';
import { jobWindows, type PlannedWindow } from './job-windows.ts';
import { outlineShareWords } from './outline-shares.ts';
import { outlineSumWords } from './outline-sums.ts';
import { Overlay, type PlacedOverlay } from './overlay.ts';
import { aPixels, type Pixels } from './pixels.ts';
import { productHomes } from './product-sums.ts';
import type { WindowShares } from './share-rows.ts';
import { hasFreeCells, hasTakenCells, takenBits } from './taken-cells.ts';
import type { Totals, WindowTotals } from './totals.ts';
import { aBinning, type Binning } from './types.ts';
import { uniqueBytes } from './unique.ts';
import { type CountedValues, windowValuesBytes } from './value-rows.ts';
import { weightedSumWords } from './weighted-cells.ts';
import { readWeights } from './weights.ts';
import { windowCounts } from './window-counts.ts';
import { meetsZones, planWindow, type WindowPlan, type ZoneBoxes } from './window-plan.ts';
import { placedRows } from './zone-cells.ts';
import { foldWords } from './zone-folds.ts';
import { aChoiceOfStatistics, type ChosenStatistics } from './zone-statistics.ts';

/**
 * Input of `zonalHistogram`.
 *
 * @typeParam S - Which statistics it asks for; their columns have the type `StatisticsOf<S, P>`.
 * @typeParam P - Which cells count.
 */
export interface ZonalJob<S extends ChosenStatistics = boolean, P extends Pixels = Pixels> {
  readonly zones: Zones;
  readonly raster: RasterSource;
  readonly binning: Binning;
  /** Which points are inside a zone whose parts overlap. Default `union`. */
  readonly fill?: FillRule | undefined;
  /** Which cells belong to a zone. Default `center`. */
  readonly pixels?: P | undefined;
  /**
   * Whether to compute the statistics of {@link ZoneStatistics}, or which others: a list such as
   * `['mean', 'count', 'nodata']`, in the order of the columns. Default true.
   */
  readonly statistics?: S | undefined;
  /**
   * The weights of the cells, for the statistics `weighted_mean`, `weighted_sum`, `weighted_variance` and `weighted_stdev`:
   * a raster with the same cells, in any type but i64 and u64, without scale and offset. Only for a single raster.
   */
  readonly weights?: RasterSource | undefined;
  /** Side length of the tiles in cells: a multiple of 32 up to 4,096. Default 64. */
  readonly tile?: number | undefined;
  /**
   * Maximum bytes for the counters of all zones. The windows that are being counted, with their bitmaps, may take the
   * same number of bytes in addition, and so may the values of zones under way for statistics such as the median; zones
   * that do not fit are read twice. Windows are made smaller to fit. It is an error if the counters do not fit.
   * Default 1 GiB.
   */
  readonly memoryBytes?: number | undefined;
  /**
   * Maximum bytes of the windows that wait to be counted. Those of packed rasters wait in the memory of worker threads.
   * Default 256 MiB.
   */
  readonly channelBytes?: number | undefined;
  /** Keeps where the zones lie, for other jobs with rasters on the same grid; see `createOverlay`. */
  readonly overlay?: Overlay | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of cells done so far and the number of cells of the raster. */
  onProgress?(doneCells: number, totalCells: number): void;
}

/** A job without its rasters, which may ask for other statistics than all. */
export type CountJob = Omit<ZonalJob, 'raster' | keyof Wanted> & Wanted;

/** One raster of a job, with what its windows need besides cells. */
export interface RasterPart {
  readonly raster: RasterSource;
  /** The number of the raster in its surface, and the row of it that is the first row here. */
  readonly number: number;
  readonly firstRow: number;
  /** Boxes of cells that rasters named before hold. They are left out. */
  readonly taken: readonly Box[];
  readonly edges: EdgeTable;
  readonly classifier: Classifier;
  /** Boxes around the zones. */
  readonly boxes: ZoneBoxes;
  /** What other jobs share. */
  readonly kept?: PlacedOverlay | undefined;
}

/** A window of a raster. `passedCells` includes the rasters before. */
export interface PartWindow extends PlannedWindow {
  readonly part: RasterPart;
}

/** Cuts a raster into windows whose counting fits in memory, two at a time; see {@link jobWindows}. */
export function partWindows(
  job: CountJob,
  { raster, taken, classifier, boxes, kept, edges: { lines } }: RasterPart,
): Iterable<PlannedWindow> {
  const { tile = 64, memoryBytes = DEFAULT_MEMORY } = job;
  const { count } = classifier.slots;
  const bytesOf = (plan: WindowPlan): number =>
    WINDOWS_UNDER_WAY * (windowBytes(job, raster, plan, count, taken) + lineBytes(job, raster, lines, plan));
  const isEncoded = mayCountEncoded(job, raster, tile)
    ? (plan: WindowPlan): boolean => countingWay(job, raster, plan, count) === 'encoded'
    : undefined;
  const zones = job.zones.names.length;
  const plan = (window: Window, within?: WindowPlan): WindowPlan => planWindow(window, boxes, zones, tile, within);
  const planOf: typeof plan = kept ? (window, within) => kept.planOf(window, tile, () => plan(window, within)) : plan;
  return jobWindows(raster, { tile, memoryBytes, planOf, bytesOf, isEncoded });
}

/** Default of {@link ZonalJob.memoryBytes}. */
export const DEFAULT_MEMORY: number = 2 ** 30;

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

/** The kinds of the fields of a job, without its rasters. */
export const JOB_FIELDS: FieldKinds<Omit<CountJob, 'selectsRanks'>> = {
  zones: someZones,
  binning: aBinning,
  fill: optional(aFill),
  pixels: optional(aPixels),
  statistics: optional(aChoiceOfStatistics),
  weights: optional(aRaster),
  tile: optional(aTileSide),
  memoryBytes: optional(aPositive()),
  channelBytes: optional(aPositive()),
  overlay: optional(anInstance(Overlay)),
  signal: optional(aSignal),
  onProgress: optional(aFunction),
};

/**
 * Number of windows that are counted at the same time. While the device counts one, the host prepares the next or adds
 * up the preceding one.
 */
const WINDOWS_UNDER_WAY = 2;

/**
 * Bytes needed to count a window: the bitmaps of zones and of further sheets (groups of parts that do not overlap); the
 * histograms of zones, and their counters that are not 0; where tiles are counted, their histograms, and the counts
 * that are added to zones, before and after the reduction; and, if needed, folds, cells hidden by the raster's mask,
 * and unique values. Encoded cells need the bits of hidden cells only.
 */
function windowBytes(
  job: CountJob,
  raster: RasterSource,
  plan: WindowPlan,
  slots: number,
  taken: readonly Box[],
): number {
  const { pairs } = plan;
  const tiles = plan.tileColumns * plan.tileRows;
  const way = countingWay(job, raster, plan, slots);
  const histograms = 3 * plan.zones.length + (way === 'tiles' ? Math.min(tiles, pairs) + 4 * pairs : 0);
  const words = 2 * plan.words + 4 * plan.furtherWords + slots * histograms;
  const folded = wantsRows(job) ? foldWords(plan, wantedFolds(job, raster.sample)) : 0;
  const mayHide = raster.readMask !== undefined || raster.readEncoded !== undefined;
  const hiding = 3 * plan.words;
  const withoutData = way === 'encoded' ? ((1 + tiles) * plan.tile ** 2) / 32 : mayHide ? hiding : 0;
  const hidden = withoutData + (hasTakenCells(plan.window, taken) ? hiding : 0);
  const values = wantsValues(job) ? uniqueBytes(plan, raster.sample) : job.selectsRanks ? windowValuesBytes(plan) : 0;
  return 4 * (words + folded + hidden + productWords(job, raster, plan, false)) + values;
}

/** Number of words for the weights of a window, and for folding the cells with them. */
function productWords(job: CountJob, { sample }: RasterSource, plan: WindowPlan, isOutline: boolean): number {
  const folds = wantedWeights(job, sample, isOutline);
  if (folds.length === 0) return 0;
  const { columns, rows } = plan.window;
  return weightedSumWords(plan, folds) + (isOutline ? 0 : 2 * columns * rows);
}

interface LoadedWindow extends PartWindow {
  readonly placed: PlacedCells;
}

/** Bytes needed to find the cells that outlines enter, and to fold them. */
function lineBytes(job: CountJob, raster: RasterSource, lines: EdgeTable['lines'], plan: WindowPlan): number {
  if (lines === undefined) return 0;
  if (job.pixels !== 'fractional') return 4 * touchWords(lines, plan);
  const rows = outlineRowsIn(lines, plan);
  const sums = outlineSumWords(plan, rows, wantedWeighted(job, raster.sample)) + productWords(job, raster, plan, true);
  const isByValue = wantsValueShares(job) || wantsBinShares(job);
  const shares = isByValue ? outlineShareWords(outlineCellsIn(lines, plan)) : 0;
  return 4 * (outlineWords(lines, plan) + sums + shares);
}

/** What windows are added to. */
export interface WindowSums {
  /** Undefined when windows are read a second time. */
  readonly totals?: Totals | undefined;
  /** Values whose ranks are selected. */
  readonly ranks?:
    | { add(window: PartWindow, values?: CountedValues, shares?: WindowShares): Promise<void> }
    | undefined;
}

/** What is told of windows. */
export interface WindowEvents {
  onCounted(window: PartWindow): void;
  /** Called in the order of windows, with the number of cells done so far. */
  onPassed(cells: number): void;
}

/**
 * Reads and counts the windows of all rasters, and returns the number of cells of the zones that were left out. Reading
 * runs ahead until the queue of windows that wait to be counted is full. At most {@link WINDOWS_UNDER_WAY} windows are
 * counted at the same time.
 */
export async function streamWindows(
  context: Context,
  job: CountJob,
  windows: Iterable<PartWindow>,
  sums: WindowSums,
  { onCounted, onPassed }: WindowEvents,
): Promise<number> {
  const { signal } = job;
  let leftOut = 0;
  const underWay = watchPromises();
  /** Cells that were read, and whose memory has not been given back. */
  const held = new Set<EncodedCells>();
  const free = (cells: EncodedCells): void => {
    held.delete(cells);
    cells.release();
  };
  const hold = (placed: PlacedCells): PlacedCells => {
    if (isEncoded(placed.cells)) held.add(placed.cells);
    return placed;
  };
  const read = async (planned: PartWindow, { signal: stop }: { signal: AbortSignal }): Promise<LoadedWindow> => {
    const { plan, part } = planned;
    const { raster, taken, classifier } = part;
    if (!hasFreeCells(plan.window, taken)) return { ...planned, placed: placeRows(plan, NO_CELLS) };
    const isAlike = wantsBinsOnly(job) ? classifier.areInOneSlot : undefined;
    // Weights lie row by row, and so must the cells.
    const weighing = wantedProducts(job) > 0 ? job.weights : undefined;
    const reading = weighing ? readRows(raster, plan, stop) : readCells(raster, plan, stop, isAlike, context);
    const [placed, mask, weights] = await Promise.all([
      underWay.watch(reading.then(hold)),
      raster.readMask === undefined || (!weighing && readsEncoded(raster, plan))
        ? undefined
        : underWay.watch(raster.readMask(plan.window, stop, meetsZones(plan))),
      weighing && underWay.watch(readWeights(weighing, plan, stop)),
    ]);
    const hidden = mask?.includes(0) ? { hidden: hiddenBits(plan, mask) } : {};
    return { ...planned, placed: { ...placed, ...hidden, ...(weights && { weights }) } };
  };
  const count = async (loaded: LoadedWindow): Promise<number> => {
    const counting =
      loaded.placed.cells === NO_CELLS
        ? countTaken(context, job, loaded, sums)
        : countWindow(context, job, loaded, sums);
    // Windows are counted side by side, so the sum is read after the wait.
    const { cells } = loaded.placed;
    const found = await underWay.watch(counting).finally(() => isEncoded(cells) && free(cells));
    leftOut += found;
    onCounted(loaded);
    return loaded.passedCells;
  };
  // Threads share cores with the reading of windows, and memory costs time when it is first touched.
  const lanes = context.backend.name === 'webgpu' ? 2 : 1;
  const run = pull(fetchAhead(windows, wantedProducts(job) > 0 ? job.weights : undefined), { name: 'windows' }).pipe(
    stage('read', read, { lanes, ordered: true, capacity: 2 }),
    stage('histogram', count, {
      lanes: WINDOWS_UNDER_WAY,
      ordered: true,
      capacity: { items: 1, bytes: job.channelBytes ?? 2 ** 28 },
      sizeOf: ({ placed }: LoadedWindow) => bytesOf(placed),
    }),
  );
  await new Promise<void>((resolve, reject) => {
    const subscription = run.pipe(tap(onPassed)).subscribe({
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
  })
    .finally(underWay.settled)
    .finally(() => held.forEach(free));
  return leftOut;
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

/** The cells of a window that is not read, because other rasters hold all of it. */
const NO_CELLS: Cells = new Uint8Array();

/** Gives the coverage of a window in the scope of the caller. What an overlay keeps belongs to no scope. */
async function coverWindow(context: Context, job: CountJob, loaded: LoadedWindow): Promise<() => Coverage> {
  const { plan, placed, part } = loaded;
  const { edges, kept } = part;
  const { lines } = edges;
  const find = job.pixels === 'fractional' && lines ? () => windowOutlines(context, lines, plan) : undefined;
  const known = find && kept?.outlinesOf(plan, find);
  const cover = (outlines = known): Coverage => coverZones(context, edges, plan, placed, outlines);
  const rows = countsByRows(job, loaded) ? await kept?.rowsOf(plan, () => findRows(context, cover())) : undefined;
  if (rows !== undefined) return () => coverageByRows(plan, rows, placed, () => cover().masks, known ?? find?.());
  const masks = kept?.masksOf(plan, () => cover().masks);
  return () => {
    const outlines = known ?? find?.();
    return masks === undefined ? cover(outlines) : { ...coverageOf(plan, masks, placed, true), outlines };
  };
}

/** Whether all that is counted of a window is counted by rows of cells, so that no bitmaps are needed. */
function countsByRows(job: CountJob, { plan, placed, part }: LoadedWindow): boolean {
  const { raster, taken, classifier } = part;
  const way = countingWay(job, raster, plan, classifier.slots.count);
  const isWhole = placed.hidden === undefined && !hasTakenCells(plan.window, taken);
  return isWhole && (way === 'pairs' || (way === 'tiles' && job.binning.kind === 'none'));
}

async function findRows(context: Context, coverage: Coverage): Promise<PlacedRows> {
  try {
    return await placedRows(context, coverage);
  } finally {
    context.dispose(coverage.masks);
  }
}

/** Removes from the zones of a window the cells that other rasters hold. `leftOut` has their number for each zone. */
function leaveOut(
  context: Context,
  covered: Coverage,
  taken: readonly Box[],
): { readonly zones: Coverage; readonly leftOut?: Column<'u32'> | undefined } {
  if (!hasTakenCells(covered.plan.window, taken)) return { zones: covered };
  const free = hideCells(context, covered, takenBits(covered.plan, taken));
  return { zones: { ...free, hiddenCounts: undefined }, leftOut: free.hiddenCounts };
}

/** The number of cells of zones in a window that is not read. */
async function countTaken(
  context: Context,
  job: CountJob,
  loaded: LoadedWindow,
  { ranks }: WindowSums,
): Promise<number> {
  const { taken } = loaded.part;
  const cover = await coverWindow(context, job, loaded);
  const leftOut = context.scope(() => leaveOut(context, cover(), taken).leftOut!);
  try {
    await ranks?.add(loaded);
    return sumOf(await context.read(leftOut));
  } finally {
    context.dispose(leftOut);
  }
}

function sumOf(counts: Uint32Array): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

interface Found extends Omit<WindowTotals, 'homes' | 'place'> {
  readonly leftOut?: Uint32Array;
  readonly damage?: Uint32Array;
  readonly valueCounts?: CountedValues['counts'];
}

/** Counts a window. Returns the number of cells of its zones that other rasters hold; a cell in two zones counts twice. */
async function countWindow(
  context: Context,
  job: CountJob,
  loaded: LoadedWindow,
  { totals, ranks }: WindowSums,
): Promise<number> {
  const { plan, placed, part } = loaded;
  const { raster, taken } = part;
  const { sample, nodata } = raster;
  const { cells, weights } = placed;
  const ownHomes = isFloat(sample) && !isEncoded(cells) ? homeGroups(cells, nodata) : NO_HOMES;
  const homes = weights && !isEncoded(cells) ? { ...ownHomes, ...productHomes(cells, weights, nodata) } : ownHomes;
  const cover = await coverWindow(context, job, loaded);
  const { values, ...results } = context.scope(() => {
    const { zones, leftOut } = leaveOut(context, cover(), taken);
    const counts = windowCounts(context, job, part, zones, placed, homes);
    if (isEncoded(cells)) cells.release();
    else raster.reuse?.(cells);
    return { ...counts, ...(leftOut && { leftOut }) };
  });
  try {
    const read = { ...results, ...(values && { valueCounts: values.counts }) };
    const { leftOut, damage, valueCounts, ...found }: Found = await context.read(read as Required<typeof read>);
    const error = damage && isEncoded(cells) && cells.errorOf(damage[0]!);
    if (error) throw error;
    const { row, column, columns } = plan.window;
    const place = { raster: part.number, row: part.firstRow + row, column, columns };
    totals?.add(plan.zones, { ...found, homes, place });
    await ranks?.add(loaded, values && { ...values, counts: valueCounts! }, found.valueShares);
    return leftOut === undefined ? 0 : sumOf(leftOut);
  } finally {
    context.dispose(results, values);
  }
}
