import type { Context } from '../../primitives/index.ts';
import type { Box } from '../geometry/boxes.ts';
import type { RasterGrid, RasterSource } from '../geometry/raster.ts';
import { binEdges, type Slots } from './binning.ts';
import type { PlacedZones } from './placement.ts';
import { createParts } from './raster-parts.ts';
import { rowsOf } from './raster-rows.ts';
import { placeOn, type SurfacePlan, totalsOptions } from './surface-plan.ts';
import { createTotals, type PartialTotals, type TotalsOptions } from './totals.ts';
import type { AnyHistogram } from './types.ts';
import { type CountJob, streamWindows } from './zonal.ts';
import { type ZonesOnGrid, zonesInRows } from './zones-on-grid.ts';

/**
 * Rows of a raster of a surface, as plain values. A process that has the zones and this raster counts them without the
 * other rasters.
 */
export interface SurfacePart {
  /** The number of the raster in the surface. */
  readonly raster: number;
  readonly firstRow: number;
  /** The row after the last. */
  readonly endRow: number;
  /** The grid to which the zones are snapped. */
  readonly grid: RasterGrid;
  /** The first cell of the rows on that grid. */
  readonly column: number;
  readonly row: number;
  /** The cells, in columns and rows of this part, that lie in rasters named before. */
  readonly taken: readonly Box[];
  readonly slots: Slots;
}

/** What was counted of a part, as plain values. {@link PartSums} adds them exactly, in any order. */
export interface PartCounts extends PartialTotals {
  /** The number of cells of zones that lie in rasters named before. */
  readonly leftOut: number;
}

/**
 * Cuts a raster of a surface into parts of whole rows of blocks, which have about `cells` cells. Rows without zones are
 * in no part.
 */
export function partsOfRaster(plan: SurfacePlan, at: number, cells: number): SurfacePart[] {
  const raster = plan.rasters[at]!;
  const { width, height, blockRows } = raster;
  const blocks = Math.ceil(height / blockRows);
  const parts = Math.min(blocks, Math.max(1, Math.round((width * height) / cells)));
  const isMet = blocksWithZones(raster, plan.place(at));
  const edges = Array.from({ length: parts + 1 }, (_, part) => Math.floor((part * blocks) / parts));
  return edges.slice(1).flatMap((end, part) => {
    const first = edges[part]!;
    if (!isMet.subarray(first, end).includes(1)) return [];
    return [surfacePart(plan, at, first * blockRows, Math.min(height, end * blockRows))];
  });
}

/** The rows `firstRow` to `endRow` − 1 of a raster of a surface. */
export function surfacePart({ places, slots }: SurfacePlan, at: number, firstRow: number, endRow: number): SurfacePart {
  const { grid, column, row, taken } = places[at]!;
  const moved = taken.map(({ left, right, top, bottom }) => ({
    ...{ left, right },
    top: Math.max(top, firstRow) - firstRow,
    bottom: Math.min(bottom, endRow) - firstRow,
  }));
  return {
    ...{ raster: at, firstRow, endRow, column, row: row + firstRow },
    grid: gridOf(grid),
    taken: moved.filter(({ top, bottom }) => top < bottom),
    slots,
  };
}

/** The fields of a grid alone, without those of a raster. */
function gridOf({ width, height, originX, originY, stepX, stepY, crs, ownCrs, geographic }: RasterGrid): RasterGrid {
  return { width, height, originX, originY, stepX, stepY, crs, ownCrs, geographic };
}

/** For each row of blocks of a raster, 1 if the box of a part of a zone meets it. */
function blocksWithZones({ width, height, blockRows }: RasterSource, { boxes }: PlacedZones): Uint8Array {
  const blocks = Math.ceil(height / blockRows);
  const changes = new Int32Array(blocks + 1);
  for (let box = 0; box < boxes.zone.length; box++) {
    const [first, end] = [Math.max(0, boxes.firstRow[box]!), Math.min(height, boxes.endRow[box]!)];
    if (first >= end || boxes.firstColumn[box]! >= width || boxes.endColumn[box]! <= 0) continue;
    changes[Math.floor(first / blockRows)]!++;
    changes[Math.ceil(end / blockRows)]!--;
  }
  let open = 0;
  return Uint8Array.from({ length: blocks }, (_, block) => {
    open += changes[block]!;
    return open > 0 ? 1 : 0;
  });
}

/** What is counted of a part. */
export interface PartJob extends CountJob {
  /** The raster of the part, whole. */
  readonly raster: RasterSource;
  readonly part: SurfacePart;
  /** The zones on the grid of the part. */
  readonly onGrid: ZonesOnGrid;
}

/** Counts the cells of a part. */
export async function countPart(context: Context, job: PartJob): Promise<PartCounts> {
  const { part, onGrid, signal } = job;
  signal?.throwIfAborted();
  const raster = rowsOf(job.raster, part.firstRow, part.endRow);
  const edges = binEdges(job.binning);
  const totals = createTotals(totalsOptions(job, [raster], edges, part.slots));
  const parts = createParts(context, job, {
    ...{ rasters: [raster], places: [{ ...part, number: part.raster }], edges, slots: part.slots },
    place: () => placeOn(raster, part, zonesInRows(onGrid, part.row, part.row + raster.height), job),
    onDone: () => undefined,
  });
  const onPassed = (done: number): void => job.onProgress?.(done, raster.width * raster.height);
  try {
    const leftOut = await streamWindows(
      context,
      job,
      parts.windows(),
      { totals },
      {
        onCounted: parts.onCounted,
        onPassed,
      },
    );
    return { ...totals.partial(), leftOut };
  } finally {
    await parts.close();
  }
}

/** Sums of parts of a surface. Each part must be added once. */
export interface PartSums {
  add(counts: PartCounts): void;
  /** What was added so far, which other sums can add. */
  counts(): PartCounts;
  /** The result for the whole surface, after its parts were added. */
  finish(plan: SurfacePlan): AnyHistogram;
}

export function createPartSums(options: TotalsOptions): PartSums {
  const totals = createTotals(options);
  let leftOut = 0;
  return {
    add(counts) {
      totals.addPartial(counts);
      leftOut += counts.leftOut;
    },
    counts: () => ({ ...totals.partial(), leftOut }),
    finish: (plan) => plan.resultOf(totals, leftOut),
  };
}
