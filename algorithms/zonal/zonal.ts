import { pull, stage } from '../../graph/index.ts';
import { type Context, OutOfMemoryError } from '../../primitives/index.ts';
import { gridStep, type SnappedPolygons, STEPS_PER_CELL, snapToGrid } from '../geometry/grid.ts';
import type { Zones } from '../geometry/polygons.ts';
import type { Cells, RasterGrid, RasterSource, Window } from '../geometry/raster.ts';
import { rowCrossings } from '../geometry/row-crossings.ts';
import { binEdges, cellColumn, createClassifier } from './binning.ts';
import { type EdgeTable, uploadEdges } from './coverage.ts';
import { windowStatistics } from './statistics.ts';
import { createTotals, type Totals } from './totals.ts';
import type { Binning, ZonalHistogram } from './types.ts';
import { windowUnique } from './unique.ts';
import { windowHistogram } from './window-histogram.ts';
import { planWindow, type WindowPlan, windowsOf, type ZoneBoxes } from './window-plan.ts';

/** What {@link zonalHistogram} counts. */
export interface ZonalJob {
  readonly zones: Zones;
  readonly raster: RasterSource;
  readonly binning: Binning;
  /** Whether minimum, maximum, sum and mean are wanted too; true where left out. */
  readonly statistics?: boolean | undefined;
  /** Side of the tiles in cells, a multiple of 32. */
  readonly tile?: number | undefined;
  /** Bytes that the histograms and bitmaps of one window may take; 1 GiB where left out. */
  readonly budget?: number | undefined;
  /** Bytes of decoded windows that wait in channels; 256 MiB where left out. */
  readonly channelBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the cells passed so far and those of the raster. */
  onProgress?(doneCells: number, totalCells: number): void;
}

/** Most cells of a window: the counters of the statistics do not overflow below it. */
const WINDOW_CELLS = 2 ** 22;

/**
 * Counts, for every zone, the cells of a raster whose centres lie in it, by value. The raster is streamed window by window;
 * windows that no zone meets are not read.
 *
 * A cell belongs to a zone if its centre is in it by the even-odd rule, half-open in map space (left and bottom edges in),
 * decided in integers on a grid of 2⁻²⁰ of a cell. Zones may overlap. For every zone, bins, nodata, below and above add up
 * to its cells. Results are the same bytes on every backend.
 *
 * @throws `GeometryError` for coordinates beyond the grid, {@link OutOfMemoryError} where a window does not fit the
 * budget, the signal's reason when it is aborted.
 *
 * Source: Zhang and Wang, High-Performance Zonal Histogramming on Large-Scale Geospatial Rasters Using GPUs and
 * GPU-Accelerated Clusters, 2014.
 */
export async function zonalHistogram(context: Context, job: ZonalJob): Promise<ZonalHistogram> {
  const { zones, raster, signal } = job;
  signal?.throwIfAborted();
  const tile = job.tile ?? 64;
  const snapped = snapToGrid(zones.polygons, raster);
  const shifts = longitudeShifts(snapped, raster);
  const boxes = zoneBoxes(snapped, shifts);
  const edges = uploadEdges(context, rowCrossings(snapped, raster, shifts), raster.height);
  const binsOf = job.binning.kind === 'unique' ? everyNumber : binEdges(job.binning);
  const classifier = createClassifier(context, raster.sample, raster.nodata, binsOf);
  const totals = createTotals(zones.names, job.binning, raster.sample, classifier.slots, binsOf, wantsStatistics(job));
  const plans = windowPlans(raster, boxes, zones.names.length, tile, classifier.slots.count, job.budget ?? 2 ** 30);
  try {
    await streamWindows(context, job, plans, edges, classifier, totals);
  } finally {
    context.dispose(edges.edges, ...Object.values(classifier.captures));
  }
  return totals.finish(gridStep(raster), notesOf(zones, totals));
}

/** One bin for all finite numbers: what is left for unique values. */
const everyNumber = {
  lower: Float64Array.of(-Number.MAX_VALUE),
  upper: Float64Array.of(Number.MAX_VALUE),
};

function wantsStatistics({ statistics }: ZonalJob): boolean {
  return statistics ?? true;
}

interface LoadedWindow {
  readonly plan: WindowPlan;
  readonly cells: Cells;
}

/** Reads windows ahead within the channel's bounds and counts them one after the other. */
async function streamWindows(
  context: Context,
  job: ZonalJob,
  plans: Iterable<WindowPlan>,
  edges: EdgeTable,
  classifier: ReturnType<typeof createClassifier>,
  totals: Totals,
): Promise<void> {
  const { raster, signal, onProgress } = job;
  const cellsInAll = raster.width * raster.height;
  const read = async (plan: WindowPlan, { signal: stop }: { readonly signal: AbortSignal }): Promise<LoadedWindow> => ({
    plan,
    cells: await raster.read(plan.window, stop),
  });
  const count = async ({ plan, cells }: LoadedWindow): Promise<number> => {
    await countWindow(context, job, plan, cells, edges, classifier, totals);
    return (plan.window.row + plan.window.rows) * raster.width;
  };
  const run = pull(plans, { name: 'windows' }).pipe(
    stage('read', read, { lanes: 2, ordered: true, capacity: 2 }),
    stage('histogram', count, {
      lanes: 1,
      capacity: { items: 2, bytes: job.channelBytes ?? 2 ** 28 },
      sizeOf: ({ cells }: LoadedWindow) => cells.byteLength,
    }),
  );
  await new Promise<void>((resolve, reject) => {
    const subscription = run.subscribe({
      next: (done) => onProgress?.(done, cellsInAll),
      error: (error: unknown) => reject(innermost(error)),
      complete: resolve,
    });
    const stop = (): void => {
      subscription.unsubscribe();
      reject(signal!.reason);
    };
    signal?.addEventListener('abort', stop, { once: true });
    subscription.add(() => signal?.removeEventListener('abort', stop));
  });
  onProgress?.(cellsInAll, cellsInAll);
}

/** What went wrong below the graph's own account of where. */
function innermost(error: unknown): unknown {
  const isOurs = error instanceof Error && error.name === 'GraphError' && error.cause !== undefined;
  return isOurs ? innermost(error.cause) : error;
}

async function countWindow(
  context: Context,
  job: ZonalJob,
  plan: WindowPlan,
  cells: Cells,
  edges: EdgeTable,
  classifier: ReturnType<typeof createClassifier>,
  totals: Totals,
): Promise<void> {
  const { sample } = job.raster;
  const results = context.scope(() => {
    const column = cellColumn(context, cells);
    const { counts, coverage } = windowHistogram(context, edges, plan, column, classifier);
    const statistics = wantsStatistics(job)
      ? windowStatistics(context, sample, coverage, column, classifier)
      : undefined;
    const unique =
      job.binning.kind === 'unique' ? windowUnique(context, sample, coverage, column, classifier) : undefined;
    return { counts, ...(statistics && { statistics: { ...statistics } }), ...(unique && { unique }) };
  });
  try {
    const { counts, statistics, unique } = await context.read(results as Required<typeof results>);
    totals.addCounts(plan.zones, counts);
    if (statistics !== undefined) totals.addStatistics(plan.zones, statistics);
    if (unique !== undefined) totals.addUnique(plan.zones, unique);
  } finally {
    context.dispose(results);
  }
}

/** Copies of each zone that reach a geographic raster when longitudes are taken modulo 360, as shifts in grid steps. */
function longitudeShifts({ zoneRings, ringVertices, column }: SnappedPolygons, grid: RasterGrid): number[][] {
  const zones = zoneRings.length - 1;
  if (!grid.geographic) return Array.from({ length: zones }, () => [0]);
  const turn = Math.round((360 / Math.abs(grid.stepX)) * STEPS_PER_CELL);
  return Array.from({ length: zones }, (_, zone) => {
    let least = Infinity;
    let most = -Infinity;
    for (let at = ringVertices[zoneRings[zone]!]!; at < ringVertices[zoneRings[zone + 1]!]!; at++) {
      least = Math.min(least, column[at]!);
      most = Math.max(most, column[at]!);
    }
    if (least > most) return [];
    const shifts: number[] = [];
    const first = Math.ceil(-most / turn);
    const last = Math.floor((grid.width * STEPS_PER_CELL - least) / turn);
    for (let turns = first; turns <= last; turns++) shifts.push(turns * turn);
    return shifts;
  });
}

function zoneBoxes(
  { zoneRings, ringVertices, column, row }: SnappedPolygons,
  shifts: readonly (readonly number[])[],
): ZoneBoxes {
  const boxes = { zone: [], firstColumn: [], endColumn: [], firstRow: [], endRow: [] } as Record<
    keyof ZoneBoxes,
    number[]
  >;
  for (let zone = 0; zone + 1 < zoneRings.length; zone++) {
    const from = ringVertices[zoneRings[zone]!]!;
    const to = ringVertices[zoneRings[zone + 1]!]!;
    if (from === to) continue;
    const [left, right] = cellRange(column, from, to);
    const [top, bottom] = cellRange(row, from, to);
    for (const shift of shifts[zone]!) {
      boxes.zone.push(zone);
      boxes.firstColumn.push(Math.floor(left + shift / STEPS_PER_CELL));
      boxes.endColumn.push(Math.floor(right + shift / STEPS_PER_CELL) + 1);
      boxes.firstRow.push(Math.floor(top));
      boxes.endRow.push(Math.floor(bottom) + 1);
    }
  }
  return {
    zone: Uint32Array.from(boxes.zone),
    firstColumn: Float64Array.from(boxes.firstColumn),
    endColumn: Float64Array.from(boxes.endColumn),
    firstRow: Float64Array.from(boxes.firstRow),
    endRow: Float64Array.from(boxes.endRow),
  };
}

function cellRange(steps: Float64Array, from: number, to: number): [least: number, most: number] {
  let least = Infinity;
  let most = -Infinity;
  for (let at = from; at < to; at++) {
    least = Math.min(least, steps[at]!);
    most = Math.max(most, steps[at]!);
  }
  return [least / STEPS_PER_CELL, most / STEPS_PER_CELL];
}

/** The windows that some zone meets, halved where their bitmaps and histograms would pass the budget. */
function* windowPlans(
  raster: RasterSource,
  boxes: ZoneBoxes,
  zones: number,
  tile: number,
  slots: number,
  budget: number,
): Generator<WindowPlan> {
  for (const window of windowsOf(raster, windowSize(raster)))
    yield* fitWindow(window, boxes, zones, tile, slots, budget);
}

function* fitWindow(
  window: Window,
  boxes: ZoneBoxes,
  zones: number,
  tile: number,
  slots: number,
  budget: number,
): Generator<WindowPlan> {
  const plan = planWindow(window, boxes, zones, tile);
  if (plan.zones.length === 0) return;
  const tiles = Math.min(plan.tileColumns * plan.tileRows, plan.pairZone.length);
  const bytes = 4 * (2 * plan.words + slots * (plan.zones.length + tiles));
  if (bytes <= budget) {
    yield plan;
    return;
  }
  if (window.rows <= tile) {
    throw new OutOfMemoryError('zonal/budget', 'The histograms of a window do not fit the budget.', {
      expected: `at most ${budget} bytes`,
      got: `${bytes}`,
      remedy: 'Use fewer bins, or raise the budget.',
    });
  }
  const half = Math.ceil(window.rows / 2 / tile) * tile;
  yield* fitWindow({ ...window, rows: half }, boxes, zones, tile, slots, budget);
  const rest = { ...window, row: window.row + half, rows: window.rows - half };
  yield* fitWindow(rest, boxes, zones, tile, slots, budget);
}

/** Whole blocks of the file, about {@link WINDOW_CELLS} of cells. */
function windowSize({ width, height, blockColumns, blockRows }: RasterSource): { rows: number; columns: number } {
  const columns =
    width * blockRows <= WINDOW_CELLS
      ? width
      : Math.min(width, blockColumns * Math.max(1, Math.floor(WINDOW_CELLS / (blockColumns * blockRows))));
  const bands = Math.max(1, Math.floor(WINDOW_CELLS / (columns * blockRows)));
  const rows = Math.min(height, blockRows * bands);
  // A block larger than a window is read in parts.
  return rows * columns > 2 * WINDOW_CELLS
    ? { rows: Math.max(1, Math.floor(WINDOW_CELLS / columns)), columns }
    : { rows, columns };
}

function notesOf({ names }: Zones, totals: Totals): string[] {
  const outside = totals.zonesWithoutCells();
  const notes: string[] = [];
  if (outside.length > 0) {
    const some = outside
      .slice(0, 5)
      .map((zone) => names[zone])
      .join(', ');
    notes.push(
      `${outside.length} zones have no cell of the raster in them: ${some}${outside.length > 5 ? ', …' : ''}.`,
    );
  }
  return notes;
}
