import { OutOfMemoryError } from '../../primitives/index.ts';
import { bytesText } from '../bytes-text.ts';
import { type RasterSource, SAMPLE_BYTES, type Window } from '../geometry/raster.ts';
import { type WindowPlan, type WindowSize, windowsOf } from './window-plan.ts';

/** Maximum number of cells per window, so that the counters of the statistics do not overflow. */
const WINDOW_CELLS = 2 ** 24;

/**
 * Maximum number of cells per window whose cells are neither stored nor summed. Each window costs the host some
 * milliseconds. With 2²⁶, twice the memory saves next to nothing.
 */
const ENCODED_CELLS = 2 ** 25;

/**
 * Maximum number of bytes of a window's cells. Large windows save work on the host, but several are in memory at the
 * same time.
 */
const WINDOW_BYTES = 3 * 2 ** 24;

/**
 * Windows are halved until counting one takes at most this many bytes of device memory, even if more is allowed. Larger
 * windows are not faster. A zone takes the bitmap of a whole tile at least, so a window with a million small zones
 * would take more than a gigabyte.
 */
const AMPLE_BYTES = 2 ** 29;

/** Limits on the size of a window. */
export interface WindowLimits {
  /** Side of a tile in cells. */
  readonly tile: number;
  /** Maximum bytes of device memory for counting one window. */
  readonly memoryBytes: number;
  /** Plans a window; if it is part of a window that has a plan, `within` is that. */
  planOf(window: Window, within?: WindowPlan): WindowPlan;
  /** Number of bytes of device memory for counting a window with this plan. */
  bytesOf(plan: WindowPlan): number;
  /** Whether cells of a window are neither stored nor summed. Undefined if all are. */
  isEncoded?: ((plan: WindowPlan) => boolean) | undefined;
}

/**
 * A window to count, and the number of raster cells that are done after this window, including cells that were not
 * read.
 */
export interface PlannedWindow {
  readonly plan: WindowPlan;
  readonly passedCells: number;
}

/**
 * Yields the windows of a raster that contain part of a zone, in file order. A window starts as one or more whole
 * blocks. It is halved until it is small enough. Counting it takes at most `memoryBytes`. Parts of one block follow
 * each other, so that the block is decoded once.
 *
 * @throws OutOfMemoryError `zonal/window-memory-bytes` while iterating, if counting a single tile takes more than
 *   `memoryBytes`.
 */
export function* jobWindows(raster: RasterSource, limits: WindowLimits): Generator<PlannedWindow> {
  let passedCells = 0;
  for (const window of cutWindows(raster, limits)) {
    for (const plan of fitWindow(raster, window, limits)) {
      passedCells += plan.window.rows * plan.window.columns;
      if (plan.zones.length > 0) yield { plan, passedCells };
    }
  }
}

/** Cuts the raster into windows of whole blocks. A block that is too large is cut into several windows. */
function* cutWindows(raster: RasterSource, { tile, isEncoded }: WindowLimits): Generator<Window> {
  const max = isEncoded === undefined ? storedCells(raster) : ENCODED_CELLS;
  for (const blocks of windowsOf(raster, windowSize(raster, max))) yield* cutLarge(blocks, max, tile);
}

function storedCells({ sample }: RasterSource): number {
  return Math.min(WINDOW_CELLS, WINDOW_BYTES / SAMPLE_BYTES[sample]);
}

function* cutLarge(window: Window, max: number, tile: number): Generator<Window> {
  const halves = window.rows * window.columns > max ? halve(window, tile) : undefined;
  if (halves === undefined) yield window;
  else for (const half of halves) yield* cutLarge(half, max, tile);
}

function* fitWindow(
  raster: RasterSource,
  window: Window,
  limits: WindowLimits,
  within?: WindowPlan,
): Generator<WindowPlan> {
  const plan = limits.planOf(window, within);
  const bytes = plan.zones.length === 0 ? 0 : limits.bytesOf(plan);
  const isStored = plan.zones.length > 0 && limits.isEncoded?.(plan) === false;
  const fits = bytes <= Math.min(AMPLE_BYTES, limits.memoryBytes);
  const isSmall = !isStored || window.rows * window.columns <= storedCells(raster);
  const halves = fits && isSmall ? undefined : halve(window, limits.tile);
  if (halves === undefined) {
    if (bytes > limits.memoryBytes) throw tooSmall(limits.memoryBytes, bytes, plan.zones.length);
    yield plan;
    return;
  }
  for (const half of halves) yield* fitWindow(raster, half, limits, plan);
}

/** Cuts a window into two halves along borders of tiles. Undefined if it has only one tile. */
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
  return new OutOfMemoryError(
    'zonal/window-memory-bytes',
    'What is counted of the zones in a single tile does not fit in memory.',
    {
      expected: `at most ${bytesText(memoryBytes)}`,
      got: `${bytesText(bytes)} for ${zones} zones`,
      remedy:
        'Count fewer zones, bins or statistics of single values (mode, variety) at a time, or raise the limit (--memory; a quarter of it is used for this).',
    },
  );
}

/** Size of a window of whole blocks with at most `max` cells. If a block has more cells, the size of one block. */
function windowSize({ width, height, blockColumns, blockRows }: RasterSource, max: number): WindowSize {
  const columns =
    width * blockRows <= max
      ? width
      : Math.min(width, blockColumns * Math.max(1, Math.floor(max / (blockColumns * blockRows))));
  const bands = Math.max(1, Math.floor(max / (columns * blockRows)));
  return { rows: Math.min(height, blockRows * bands), columns };
}
