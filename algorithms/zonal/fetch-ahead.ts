import type { Box } from '../geometry/boxes.ts';
import type { RasterSource } from '../geometry/raster.ts';
import { hasFreeCells } from './taken-cells.ts';
import { meetsZones, type WindowPlan } from './window-plan.ts';

/** A window of a raster, of which other rasters hold some cells. */
interface RasterWindow {
  readonly plan: WindowPlan;
  readonly part: { readonly raster: RasterSource; readonly taken: readonly Box[] };
}

/** Maximum number of windows that are fetched ahead. Their plans take memory. */
const MAX_AHEAD = 64;

/**
 * The same windows. Rasters that are fetched from far away hear of each before it is read, as many windows before as they
 * have memory for, so that the times of requests do not add up. Windows of other rasters do not wait.
 *
 * @param weights - A raster that is read with each window.
 */
export function* fetchAhead<W extends RasterWindow>(
  windows: Iterable<W>,
  weights: RasterSource | undefined,
): Generator<W> {
  const waiting: W[] = [];
  for (const next of windows) {
    waiting.push(next);
    if (hasRoomAfter(next, weights) && waiting.length <= MAX_AHEAD) continue;
    yield waiting.shift()!;
  }
  yield* waiting;
}

/** Tells of a window. Returns whether further ones can be fetched. */
function hasRoomAfter({ plan, part }: RasterWindow, weights: RasterSource | undefined): boolean {
  const { raster, taken } = part;
  const rasters = [raster, ...(weights ? [weights] : [])].filter(({ prefetch }) => prefetch !== undefined);
  if (rasters.length === 0) return false;
  if (!hasFreeCells(plan.window, taken)) return true;
  return rasters.map((each) => each.prefetch!(plan.window, meetsZones(plan))).every((hasRoom) => hasRoom);
}
