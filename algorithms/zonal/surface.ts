import type { Context } from '../../primitives/index.ts';
import { gridStep, type SnappedPolygons, STEPS_PER_CELL, snapToGrid } from '../geometry/grid.ts';
import type { RasterGrid, RasterSource } from '../geometry/raster.ts';
import type { Sheets } from '../geometry/sheets.ts';
import { binCount, binEdges, slotsFor } from './binning.ts';
import { wantsStatistics } from './counting-way.ts';
import { type PlacedZones, placeZones, requireLongitudes, sheetsOn, stepsOfTurn } from './placement.ts';
import { createParts } from './raster-parts.ts';
import { requireRoom } from './room.ts';
import { requireOneSurface } from './surface-agreement.ts';
import { extentOn, type PlacedRaster, placeRasters } from './surface-places.ts';
import { createTotals } from './totals.ts';
import type { ZonalHistogram } from './types.ts';
import { type CountJob, DEFAULT_MEMORY, streamWindows } from './zonal.ts';
import { leftOutNotes, nearNotes, partNotes, repeatNotes, zoneNotes } from './zone-notes.ts';

/** Input of `surfaceHistogram`. */
export interface SurfaceJob extends CountJob {
  /** The parts of the surface. Where two of them overlap, the first counts. */
  readonly rasters: readonly RasterSource[];
  /**
   * Called when all cells of a raster have been counted, for example to close it. The next raster may be read meanwhile;
   * the result waits.
   */
  onCounted?(raster: RasterSource): void | Promise<void>;
}

/** Zones on the grid of one or more rasters. */
interface ZonesOnGrid {
  readonly polygons: SnappedPolygons;
  readonly sheets: Sheets | undefined;
}

/** Counts the cells of the rasters of a surface, of which there may be one. */
export async function countSurface(context: Context, job: SurfaceJob): Promise<ZonalHistogram> {
  const { zones, rasters, signal, binning, memoryBytes = DEFAULT_MEMORY } = job;
  signal?.throwIfAborted();
  requireOneSurface(rasters);
  requireRoom(zones.names.length, binCount(binning), memoryBytes);
  for (const raster of rasters) requireLongitudes(raster);
  const places = placeRasters(rasters);
  const onGrid = zonesOnGrids(job, places);
  const edges = binEdges(binning);
  const slots = slotsFor(edges.lower.length, rasters);
  const statistics = wantsStatistics(job);
  const { sample, scaling } = rasters[0]!;
  const counted = { zones: zones.names.length, sample, scaling, binning, slots, edges, statistics, memoryBytes };
  const totals = createTotals(counted);
  const [overlapping, united] = [new Set<number>(), new Set<number>()];
  const parts = createParts(context, job, {
    ...{ rasters, places, edges, slots },
    place(at) {
      const placed = placeOn(rasters[at]!, places[at]!, onGrid.get(places[at]!.grid)!, job);
      for (const zone of placed.overlapping) overlapping.add(zone);
      for (const zone of placed.sheets?.overlapping ?? []) united.add(zone);
      return placed;
    },
    onDone: (raster) => job.onCounted?.(raster),
  });
  const cells = rasters.reduce((sum, { width, height }) => sum + width * height, 0);
  const onPassed = (done: number): void => job.onProgress?.(done, cells);
  let leftOut = 0;
  try {
    leftOut = await streamWindows(context, job, parts.windows(), totals, { onCounted: parts.onCounted, onPassed });
  } finally {
    await parts.close();
  }
  onPassed(cells);
  const { near, ...found } = totals.finish();
  return {
    names: zones.names,
    binning,
    sample,
    ...found,
    gridStep: gridStep(rasters[0]!),
    united: united.size === 0 ? undefined : Uint32Array.from(united).sort(),
    notes: [
      ...partNotes(zones, Uint32Array.from(overlapping).sort(), job.fill ?? 'union'),
      ...nearNotes(rasters, near),
      ...zoneNotes(zones, coverOf(rasters, places, onGrid), rasters, found.cells),
      ...rasters.flatMap(repeatNotes),
      ...leftOutNotes(leftOut),
    ],
  };
}

/** Snaps the zones to each grid, once for all rasters on it. */
function zonesOnGrids({ zones }: SurfaceJob, places: readonly PlacedRaster[]): Map<RasterGrid, ZonesOnGrid> {
  const snapped = new Map<RasterGrid, ZonesOnGrid>();
  for (const { grid } of places) {
    if (snapped.has(grid)) continue;
    const polygons = snapToGrid(zones.polygons, grid, zones);
    snapped.set(grid, { polygons, sheets: sheetsOn(polygons, grid) });
  }
  return snapped;
}

function placeOn(
  raster: RasterSource,
  { column, row }: PlacedRaster,
  { polygons, sheets }: ZonesOnGrid,
  { zones, fill }: SurfaceJob,
): PlacedZones {
  const moved = (steps: Float64Array, cells: number): Float64Array =>
    cells === 0 ? steps : steps.map((step) => step - cells * STEPS_PER_CELL);
  const own = { ...polygons, column: moved(polygons.column, column), row: moved(polygons.row, row) };
  return placeZones(own, raster, zones, fill, () => sheets);
}

/** The zones on the grid of the first raster, and the extents of all rasters on it. */
function coverOf(
  rasters: readonly RasterSource[],
  places: readonly PlacedRaster[],
  onGrid: ReadonlyMap<RasterGrid, ZonesOnGrid>,
) {
  const { grid } = places[0]!;
  const extents = rasters.map((raster, at) => extentOn(grid, places[at]!, raster));
  return { polygons: onGrid.get(grid)!.polygons, extents, turn: stepsOfTurn(grid) };
}
