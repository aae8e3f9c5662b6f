import { binEdges, slotsFor } from '../algorithms/zonal/binning.ts';
import { partsOfRaster, type SurfacePart, surfacePart } from '../algorithms/zonal/surface-parts.ts';
import { planSurface, type SurfacePlan, totalsOptions } from '../algorithms/zonal/surface-plan.ts';
import type { TotalsOptions } from '../algorithms/zonal/totals.ts';
import { type FileFacts, factsOfFile, factsOfRaster } from './file-facts.ts';
import { type CountedRaster, type Counting, cellsOf, jobOf, statisticsOf } from './zonal-count.ts';
import { statedBy, type ZonalPartition } from './zonal-partition.ts';

/** A partition, and what the parent knows of it. */
export interface PlannedPartition {
  readonly surface: number;
  readonly cells: number;
  /** Which rows of which raster, for people. */
  readonly name: string;
  readonly partition: ZonalPartition;
}

/** The facts of all input files of a run. */
export interface InputFacts {
  readonly zones: FileFacts;
  /** The facts of the files of each raster, by its path. */
  readonly rasters: ReadonlyMap<string, readonly FileFacts[]>;
}

/** Number of partitions of a large run. More would hand out work more evenly, and cost more. */
const PARTITIONS = 128;
/** Minimum and maximum number of cells of a partition. Smaller ones cost too much, of larger ones too much is lost. */
const [FEWEST_CELLS, MOST_CELLS] = [2 ** 24, 2 ** 30];

/** About how many cells a partition should have. */
export function partCellsOf({ surfaces }: Counting): number {
  const all = surfaces.reduce((sum, rasters) => sum + cellsOf(rasters), 0);
  return Math.min(MOST_CELLS, Math.max(FEWEST_CELLS, Math.ceil(all / PARTITIONS)));
}

export async function inputFacts(zones: string, paths: readonly string[]): Promise<InputFacts> {
  const rasters = new Map<string, readonly FileFacts[]>();
  for (const path of new Set(paths)) rasters.set(path, await factsOfRaster(path));
  return { zones: await factsOfFile(zones), rasters };
}

/** What the totals of a surface count. */
export function countedOf(counting: Counting, surface: number): TotalsOptions {
  const rasters = counting.surfaces[surface]!.map(({ raster }) => raster);
  const edges = binEdges(counting.options.binning);
  return totalsOptions(jobOf(counting), rasters, edges, slotsFor(edges.lower.length, rasters));
}

/** Snaps the zones to the grid of a surface. Large, so it is made when needed, and not kept. */
export function planOf(counting: Counting, surface: number): SurfacePlan {
  return planSurface({ ...jobOf(counting), rasters: counting.surfaces[surface]!.map(({ raster }) => raster) });
}

/**
 * The partitions of a run, surface by surface. Closes each raster, whose cells the parent does not read. There is one
 * partition at least, so that the run ends as one without zones on the rasters ends.
 *
 * @param onPlanned - Called when all partitions of a raster are planned, with the number of cells that
 * are in none, and whether it was the last raster of its surface.
 */
export async function* partitionsOf(
  counting: Counting,
  facts: InputFacts,
  partCells: number,
  onPlanned: (surface: number, cells: number, isLast: boolean) => Promise<void>,
): AsyncGenerator<PlannedPartition> {
  let isEmpty = true;
  for (const [surface, rasters] of counting.surfaces.entries()) {
    const plan = planOf(counting, surface);
    for (const [at, counted] of rasters.entries()) {
      const { width, height, blockRows } = counted.raster;
      const parts = partsOfRaster(plan, at, partCells);
      const isLast = surface + 1 === counting.surfaces.length && at + 1 === rasters.length;
      if (isEmpty && isLast && parts.length === 0) parts.push(surfacePart(plan, at, 0, Math.min(height, blockRows)));
      isEmpty &&= parts.length === 0;
      await counted.raster.close();
      let cells = width * height;
      for (const part of parts) {
        const planned = plannedPartition(counting, facts, surface, counted, part);
        cells -= planned.cells;
        yield planned;
      }
      await onPlanned(surface, cells, at + 1 === rasters.length);
    }
  }
}

function plannedPartition(
  { options, reprojection }: Counting,
  facts: InputFacts,
  surface: number,
  { path, band, raster, opened }: CountedRaster,
  part: SurfacePart,
): PlannedPartition {
  const { zoneOptions, rasterOptions, binning, fill, pixels } = options;
  const { firstRow, endRow } = part;
  return {
    surface,
    cells: raster.width * (endRow - firstRow),
    name: `rows ${firstRow + 1} to ${endRow} of ${path}`,
    partition: {
      id: `s${surface}-${part.raster}-${firstRow}`,
      part,
      zones: facts.zones,
      zoneOptions,
      reprojection,
      raster: {
        files: facts.rasters.get(path)!,
        stated: statedBy(opened),
        system: { crs: raster.crs, ownCrs: raster.ownCrs, geographic: raster.geographic },
      },
      rasterOptions: { ...rasterOptions, band },
      binning,
      fill,
      pixels,
      statistics: statisticsOf(options),
    },
  };
}
