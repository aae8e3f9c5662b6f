import { OutOfMemoryError } from '../../primitives/index.ts';
import { bytesText } from '../bytes-text.ts';
import { type RasterSource, SAMPLE_BYTES, type Window } from '../geometry/raster.ts';
import { planWindow, type WindowPlan, type WindowSize, windowsOf, type ZoneBoxes } from './window-plan.ts';

/** Most cells of a window: counters of statistics hold no more. */
const WINDOW_CELLS = 2 ** 24;

/** Most bytes of a window's cells. Large windows spare the host work, but several are in memory at once. */
const WINDOW_BYTES = 3 * 2 ** 24;

/** What decides how large a window may be. */
export interface WindowLimits {
  /** Side of the tiles in cells. */
  readonly tile: number;
  /** Bytes that counting one window may take. */
  readonly memoryBytes: number;
  /** Bytes that counting a window takes by its plan. */
  bytesOf(plan: WindowPlan): number;
}

/** A window to count, and the raster's cells that are done with when it is. */
export interface PlannedWindow {
  readonly plan: WindowPlan;
  readonly passedCells: number;
}

/**
 * The windows of a raster that some zone meets, in the order of the file: whole blocks of it, halved where they are too
 * large or counting them would take more than `memoryBytes`. Parts of one block follow each other, so that it is decoded once.
 *
 * @throws OutOfMemoryError `zonal/window-memory-bytes` where a single tile takes more; while iterating.
 */
export function* jobWindows(
  raster: RasterSource,
  boxes: ZoneBoxes,
  zones: number,
  limits: WindowLimits,
): Generator<PlannedWindow> {
  let passedCells = 0;
  for (const window of cutWindows(raster, limits.tile)) {
    for (const plan of fitWindow(window, boxes, zones, limits)) {
      passedCells += plan.window.rows * plan.window.columns;
      if (plan.zones.length > 0) yield { plan, passedCells };
    }
  }
}

/** Windows of whole blocks, and of parts of those blocks that are too large. */
function* cutWindows(raster: RasterSource, tile: number): Generator<Window> {
  const max = Math.min(WINDOW_CELLS, WINDOW_BYTES / SAMPLE_BYTES[raster.sample]);
  for (const blocks of windowsOf(raster, windowSize(raster, max))) yield* cutLarge(blocks, max, tile);
}

function* cutLarge(window: Window, max: number, tile: number): Generator<Window> {
  const halves = window.rows * window.columns > max ? halve(window, tile) : undefined;
  if (halves === undefined) yield window;
  else for (const half of halves) yield* cutLarge(half, max, tile);
}

function* fitWindow(window: Window, boxes: ZoneBoxes, zones: number, limits: WindowLimits): Generator<WindowPlan> {
  const plan = planWindow(window, boxes, zones, limits.tile);
  const bytes = plan.zones.length === 0 ? 0 : limits.bytesOf(plan);
  if (bytes <= limits.memoryBytes) {
    yield plan;
    return;
  }
  const halves = halve(window, limits.tile);
  if (halves === undefined) throw tooSmall(limits.memoryBytes, bytes, plan.zones.length);
  for (const half of halves) yield* fitWindow(half, boxes, zones, limits);
}

/** Halves of a window, of whole tiles; undefined where it is one tile. */
function halve(window: Window, tile: number): [Window, Window] | undefined {
  const { row, column, rows, columns } = window;
  if (rows > tile) {
    const half = Math.ceil(rows / 2 / tile) * tile;
    return [
      { ...window, rows: half },
      { ...window, row: row + half, rows: rows - half },
    ];
  }
  if (columns <= tile) return undefined;
  const half = Math.ceil(columns / 2 / tile) * tile;
  return [
    { ...window, columns: half },
    { ...window, column: column + half, columns: columns - half },
  ];
}

function tooSmall(memoryBytes: number, bytes: number, zones: number): OutOfMemoryError {
  return new OutOfMemoryError('zonal/window-memory-bytes', 'The histograms of a single tile do not fit in memory.', {
    expected: `at most ${bytesText(memoryBytes)}`,
    got: `${bytesText(bytes)} for ${zones} zones`,
    remedy: 'Use fewer bins, or raise the limit (--memory, of which a quarter is for this).',
  });
}

/** Whole blocks of the file: at most so many cells, or one block that is larger. */
function windowSize({ width, height, blockColumns, blockRows }: RasterSource, max: number): WindowSize {
  const columns =
    width * blockRows <= max
      ? width
      : Math.min(width, blockColumns * Math.max(1, Math.floor(max / (blockColumns * blockRows))));
  const bands = Math.max(1, Math.floor(max / (columns * blockRows)));
  return { rows: Math.min(height, blockRows * bands), columns };
}
