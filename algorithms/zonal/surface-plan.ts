import { cached } from '../../primitives/host/cache.ts';
import { gridStep, STEPS_PER_CELL } from '../geometry/grid.ts';
import type { RasterGrid, RasterSource } from '../geometry/raster.ts';
import { type BinEdges, binCount, binEdges, type Slots, slotsFor } from './binning.ts';
import { requireByArea } from './by-area.ts';
import { type PlacedZones, placeZones, requireLongitudes, stepsOfTurn } from './placement.ts';
import { requireRoom } from './room.ts';
import type { RankColumns } from './statistic-columns.ts';
import { requireOneSurface } from './surface-agreement.ts';
import { extentOn, type PlacedRaster, placeRasters } from './surface-places.ts';
import type { Totals, TotalsOptions } from './totals.ts';
import type { AnyHistogram } from './types.ts';
import { requireWeights } from './weights.ts';
import { type CountJob, DEFAULT_MEMORY } from './zonal.ts';
import { integerNotes, leftOutNotes, nearNotes, partNotes, repeatNotes, zoneNotes } from './zone-notes.ts';
import { zonePositions } from './zone-positions.ts';
import { snapZones, type ZonesOnGrid } from './zones-on-grid.ts';

/** The rasters of a surface, of which there may be one, and what is known of them before they are counted. */
export interface SurfacePlan {
  readonly rasters: readonly RasterSource[];
  readonly places: readonly PlacedRaster[];
  readonly edges: BinEdges;
  readonly slots: Slots;
  /** The zones on the grid of a raster. */
  place(at: number): PlacedZones;
  /** What the totals of the job count. */
  readonly counted: TotalsOptions;
  /** The result of the job, from the sums over all rasters and the number of cells that lie in a raster named before. */
  resultOf(totals: Totals, leftOut: number, ranks?: RankColumns): AnyHistogram;
}

type SurfaceJob = CountJob & { readonly rasters: readonly RasterSource[] };

/** Checks that rasters are parts of one surface, and places them and the zones. */
export function planSurface(job: SurfaceJob): SurfacePlan {
  const { zones, rasters, binning, memoryBytes = DEFAULT_MEMORY, fill = 'union' } = job;
  requireOneSurface(rasters);
  requireWeights(job, rasters);
  if (job.pixels === 'fractional') requireByArea(job);
  requireRoom(zones.names.length, binCount(binning), memoryBytes);
  for (const raster of rasters) requireLongitudes(raster);
  const places = placeRasters(rasters);
  const onGrid = new Map<RasterGrid, ZonesOnGrid>();
  const snapped = (grid: RasterGrid): ZonesOnGrid => job.overlay?.zonesOn(zones, grid) ?? snapZones(zones, grid);
  for (const { grid } of places) if (!onGrid.has(grid)) onGrid.set(grid, snapped(grid));
  const edges = binEdges(binning);
  const slots = slotsFor(edges.lower.length, rasters);
  return {
    ...{ rasters, places, edges, slots },
    place: (at) => placeOn(rasters[at]!, places[at]!, onGrid.get(places[at]!.grid)!, job),
    counted: totalsOptions(job, rasters, edges, slots),
    resultOf(totals, leftOut, ranks) {
      const { near, isLarge, ...found } = totals.finish(ranks);
      const overlapping = new Set([...onGrid.values()].flatMap(({ sheets }) => Array.from(sheets?.overlapping ?? [])));
      const zonesOf = Uint32Array.from(overlapping).sort();
      return {
        names: zones.names,
        binning,
        sample: rasters[0]!.sample,
        ...found,
        gridStep: gridStep(rasters[0]!),
        united: fill === 'union' && overlapping.size > 0 ? zonesOf : undefined,
        notes: [
          ...partNotes(zones, zonesOf, fill),
          ...nearNotes(rasters, near),
          ...integerNotes(isLarge),
          ...zoneNotes(zones, positionsOf(job, places, onGrid), rasters, found.cells, job.pixels),
          ...rasters.flatMap(repeatNotes),
          ...leftOutNotes(leftOut),
        ],
      };
    },
  };
}

/** What totals of a job count. Rasters of a surface agree in all but their grids. */
export function totalsOptions(
  job: CountJob,
  rasters: readonly RasterSource[],
  edges: BinEdges,
  slots: Slots,
): TotalsOptions {
  const { zones, binning, statistics, pixels, weights, selectsRanks, memoryBytes = DEFAULT_MEMORY } = job;
  const { sample, scaling } = rasters[0]!;
  return {
    ...{ zones: zones.names.length, sample, scaling, grids: rasters, slots, edges, memoryBytes },
    ...{ binning, statistics, pixels, weights, selectsRanks },
  };
}

/** Places zones on a raster that begins at a cell of their grid. */
export function placeOn(
  raster: RasterSource,
  { column, row }: Pick<PlacedRaster, 'column' | 'row'>,
  { polygons, sheets }: ZonesOnGrid,
  { zones, fill }: CountJob,
): PlacedZones {
  const moved = (steps: Float64Array, cells: number): Float64Array =>
    cells === 0 ? steps : steps.map((step) => step - cells * STEPS_PER_CELL);
  const own = { ...polygons, column: moved(polygons.column, column), row: moved(polygons.row, row) };
  return placeZones(own, raster, zones, fill, () => sheets);
}

/** How the zones lie to the rasters. What an overlay keeps of a grid includes this. */
function positionsOf(
  { rasters, zones }: SurfaceJob,
  places: readonly PlacedRaster[],
  onGrid: ReadonlyMap<RasterGrid, ZonesOnGrid>,
): Uint8Array {
  const { grid } = places[0]!;
  const { polygons, positions } = onGrid.get(grid)!;
  const extents = rasters.map((raster, at) => extentOn(grid, places[at]!, raster));
  const key = extents.flatMap(({ left, right, top, bottom }) => [left, right, top, bottom]).join();
  return cached(positions, key, () => zonePositions(zones.polygons, { polygons, extents, turn: stepsOfTurn(grid) }));
}
