import { OutOfMemoryError } from '../../primitives/index.ts';
import type { RasterSource, Window } from '../geometry/raster.ts';
import { bytesText } from './budget.ts';
import { planWindow, type WindowPlan, windowsOf, type ZoneBoxes } from './window-plan.ts';

/** Most cells of a window: the counters of the statistics do not overflow below it. */
const WINDOW_CELLS = 2 ** 22;

/** What decides how large a window may be. */
export interface WindowLimits {
  /** Side of the tiles in cells. */
  readonly tile: number;
  /** Bytes that counting one window may take. */
  readonly budget: number;
  /** Bytes that counting a window takes by its plan. */
  bytesOf(plan: WindowPlan): number;
}

/** A window to count, and the raster's cells that are done with when it is. */
export interface PlannedWindow {
  readonly plan: WindowPlan;
  readonly passedCells: number;
}

/**
 * The windows of a raster that some zone meets, in the order of the file, halved where counting them would pass the
 * budget.
 *
 * @throws OutOfMemoryError `zonal/window-budget` where a single tile passes it; while iterating.
 */
export function* jobWindows(
  raster: RasterSource,
  boxes: ZoneBoxes,
  zones: number,
  limits: WindowLimits,
): Generator<PlannedWindow> {
  let passedCells = 0;
  for (const window of windowsOf(raster, windowSize(raster))) {
    for (const plan of fitWindow(window, boxes, zones, limits)) {
      passedCells += plan.window.rows * plan.window.columns;
      if (plan.zones.length > 0) yield { plan, passedCells };
    }
  }
}

function* fitWindow(window: Window, boxes: ZoneBoxes, zones: number, limits: WindowLimits): Generator<WindowPlan> {
  const plan = planWindow(window, boxes, zones, limits.tile);
  const bytes = plan.zones.length === 0 ? 0 : limits.bytesOf(plan);
  if (bytes <= limits.budget) {
    yield plan;
    return;
  }
  const halves = halve(window, limits.tile);
  if (halves === undefined) throw tooSmall(limits.budget, bytes, plan.zones.length);
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

function tooSmall(budget: number, bytes: number, zones: number): OutOfMemoryError {
  return new OutOfMemoryError('zonal/window-budget', 'The histograms of a single tile do not fit the budget.', {
    expected: `at most ${bytesText(budget)}`,
    got: `${bytesText(bytes)} for ${zones} zones`,
    remedy: 'Use fewer bins, or raise the budget (--budget).',
  });
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
