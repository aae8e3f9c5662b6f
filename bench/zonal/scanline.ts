import { snapToGrid } from '../../algorithms/geometry/grid.ts';
import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import type { RasterGrid } from '../../algorithms/geometry/raster.ts';
import { rowCrossings } from '../../algorithms/geometry/row-crossings.ts';
import { sweepSpans } from './span-sweep.ts';

/** The input of both scanline programs with which `bench/zonal/zonal.ts` compares a backend. */
export interface ScanlineJob {
  readonly polygons: Polygons;
  readonly grid: RasterGrid;
  readonly cells: Uint16Array;
  /** For each cell value, the slot (bin) in which such a cell is counted. */
  readonly slotOf: Uint16Array;
  readonly slots: number;
}

/**
 * The first program with which `bench/zonal/zonal.ts` compares a backend: zonal histograms by scan conversion on one
 * thread, with typed arrays and a table of active edges. Each span of cells is counted when it is found. Cells belong
 * to zones by the same rule as in `zonalHistogram`.
 *
 * @returns For each zone, a histogram with `slots` counts.
 */
export function scanline({ polygons, grid, cells, slotOf, slots }: ScanlineJob): Int32Array {
  const zones = polygons.polygonRings.length - 1;
  const counts = new Int32Array(zones * slots);
  sweepSpans(rowCrossings(snapToGrid(polygons, grid), grid, { shifts: noShifts(zones) }), grid, (zone, _, from, to) => {
    const base = zone * slots;
    for (let i = from; i < to; i++) {
      const at = base + slotOf[cells[i]!]!;
      counts[at] = counts[at]! + 1;
    }
  });
  return counts;
}

/**
 * For each zone, the shifts `[0]`: one copy of the zone at its own position. The raster does not wrap around in
 * longitude, so no zone needs further copies.
 */
export function noShifts(zones: number): number[][] {
  return Array.from({ length: zones }, () => [0]);
}
