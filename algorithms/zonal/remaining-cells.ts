import type { RasterGrid, Window } from '../geometry/raster.ts';
import type { ZoneBoxes } from './window-plan.ts';

/** Counts how many cells of the boxes around zones are still to come, so that it is known when a zone is complete. */
export interface RemainingCells {
  /**
   * Passes a window of a raster, given with the boxes of the zones on it. Returns the zones that have no further cells:
   * none of them lies in a later window.
   */
  pass(boxes: ZoneBoxes, window: Window): number[];
}

/**
 * Adds up the cells of all boxes on all rasters of a job, of whose windows each cell is passed once. Boxes of a zone may
 * overlap; each counts by itself.
 */
export function remainingCells(
  zones: number,
  rasters: readonly { readonly raster: RasterGrid; readonly boxes: ZoneBoxes }[],
): RemainingCells {
  const remaining = new Float64Array(zones);
  for (const { raster, boxes } of rasters) {
    const whole = { column: 0, row: 0, columns: raster.width, rows: raster.height };
    forEachMet(zones, boxes, whole, (zone, cells) => {
      remaining[zone]! += cells;
    });
  }
  return {
    pass(boxes, window) {
      const complete: number[] = [];
      forEachMet(zones, boxes, window, (zone, cells) => {
        remaining[zone]! -= cells;
        if (remaining[zone] === 0) complete.push(zone);
      });
      return complete;
    },
  };
}

/** Calls `met` for each box that meets a window, with its zone and the number of its cells in the window. */
function forEachMet(
  zones: number,
  { zone: sheets, furtherOf, firstColumn, endColumn, firstRow, endRow }: ZoneBoxes,
  { column, row, columns, rows }: Window,
  met: (zone: number, cells: number) => void,
): void {
  for (let box = 0; box < sheets.length; box++) {
    const width = Math.min(column + columns, endColumn[box]!) - Math.max(column, firstColumn[box]!);
    const height = Math.min(row + rows, endRow[box]!) - Math.max(row, firstRow[box]!);
    if (width <= 0 || height <= 0) continue;
    const sheet = sheets[box]!;
    met(sheet < zones ? sheet : furtherOf![sheet - zones]!, width * height);
  }
}
