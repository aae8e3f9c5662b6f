import type { Column, Context } from '../../primitives/index.ts';
import type { NarrowSample, RasterSource } from '../geometry/raster.ts';
import { type Classifier, cellColumn } from './binning.ts';
import { countCells } from './cell-counts.ts';
import { isEncoded, type PlacedCells } from './cell-places.ts';
import {
  countingWay,
  type Wanted,
  wantedFolds,
  wantedProducts,
  wantedWeighted,
  wantsBinShares,
  wantsRows,
  wantsValueShares,
  wantsValues,
} from './counting-way.ts';
import type { Coverage } from './coverage.ts';
import { deviceCells, encodedColumns } from './device-cells.ts';
import { encodedHistogram } from './encoded-histogram.ts';
import { type HomeGroups, weightFloat } from './exact-sums.ts';
import { hideCells } from './hidden-cells.ts';
import { type OutlineShares, outlineShares } from './outline-shares.ts';
import { outlineSums } from './outline-sums.ts';
import { type SlotCounts, slotCounts } from './slot-counts.ts';
import { type UniqueCounts, windowUnique } from './unique.ts';
import { type WindowValues, windowValues } from './value-rows.ts';
import { weightedOutlineSums, weightedSums } from './weighted-cells.ts';
import { windowHistogram } from './window-histogram.ts';
import { zoneRows } from './zone-cells.ts';
import { foldRows, usePlaces, type WindowFolds } from './zone-folds.ts';

/** What is counted of the zones in a window. */
interface WindowCounts {
  readonly counts: SlotCounts;
  readonly folded?: WindowFolds;
  /** By fractions: what was folded of the cells that outlines enter, with weights. */
  readonly weighted?: WindowFolds;
  /** With weights: what was folded of all cells, and by fractions of those that outlines enter. */
  readonly products?: WindowFolds;
  readonly outlineProducts?: WindowFolds;
  /** The same for each value, and for each slot of the histogram. */
  readonly valueShares?: OutlineShares;
  readonly slotShares?: OutlineShares;
  readonly unique?: UniqueCounts;
  /** The values whose ranks are selected. They stay on the device. */
  readonly values?: WindowValues;
  /** What the device found of damage in encoded cells. Undefined for cells that the host has decoded. */
  readonly damage?: Column<'u32'>;
}

/** What the windows of a raster share. */
interface CountedRaster {
  readonly raster: RasterSource;
  readonly classifier: Classifier;
}

/**
 * Counts the cells of the zones in a window, and folds and collects their values if that is wanted.
 *
 * @param homes - For f32, the groups of exponents that are summed fastest.
 */
export function windowCounts(
  context: Context,
  job: Wanted,
  { raster, classifier }: CountedRaster,
  coverage: Coverage,
  placed: PlacedCells,
  homes: HomeGroups,
): WindowCounts {
  const { cells, hidden } = placed;
  const { sample } = raster;
  const { slots } = classifier;
  const way = countingWay(job, raster, coverage.plan, slots.count);
  if (way === 'encoded' && isEncoded(cells)) {
    const { damage, ...encoded } = encodedColumns(context, cells);
    return { counts: slotCounts(encodedHistogram(context, coverage, raster, cells, encoded, classifier)), damage };
  }
  const { column, damage } = deviceCells(context, raster, placed);
  const { outlines } = coverage;
  // The bits before are needed, too, for the areas of the cells that are hidden.
  const isKept = coverage.isKept || outlines !== undefined;
  const zones = hidden === undefined ? coverage : hideCells(context, { ...coverage, isKept }, hidden);
  const zonesMet = coverage.plan.zones.length;
  const found = { sample, cells: column, classifier, homes };
  const folds = wantedFolds(job, sample);
  const rows = wantsRows(job)
    ? context.scope(() => {
        const cellRows = zoneRows(context, zones, usePlaces(folds));
        const folded = foldRows(context, folds, cellRows, zonesMet, found);
        const values = job.selectsRanks
          ? windowValues(context, sample as NarrowSample, cellRows, folded.counted, column, classifier)
          : undefined;
        return { ...folded, values };
      })
    : undefined;
  const counts =
    job.binning.kind === 'none'
      ? countCells(context, zones, rows!.counted, slots)
      : windowHistogram(context, zones, column, classifier, way === 'tiles');
  // Cells are counted by rows that are kept only where all of them count.
  const limits = coverage.rows ? undefined : { masks: coverage.masks, visible: zones.masks };
  const met = outlines && { outlines, limits };
  const weighted = met && outlineSums(context, wantedWeighted(job, sample), met, coverage, found);
  const own = placed.weights && {
    ...{ ...found, powers: wantedProducts(job) },
    weights: { cells: cellColumn(context, placed.weights), sample: weightFloat(job.weights!.sample)! },
  };
  const products = own && weightedSums(context, zones, own);
  const outlineProducts = own && met && weightedOutlineSums(context, met, coverage, own);
  const sharesBy = (by: 'value' | 'slot'): OutlineShares => outlineShares(context, by, met!, coverage, found);
  const unique = wantsValues(job) ? windowUnique(context, sample, zones, column, classifier) : undefined;
  return {
    counts: slotCounts(counts),
    ...(damage && { damage }),
    ...(rows?.folded && { folded: rows.folded }),
    ...(weighted && { weighted }),
    ...(products && { products }),
    ...(outlineProducts && { outlineProducts }),
    ...(met && wantsValueShares(job) && { valueShares: sharesBy('value') }),
    ...(met && wantsBinShares(job) && { slotShares: sharesBy('slot') }),
    ...(unique && { unique }),
    ...(rows?.values && { values: rows.values }),
  };
}
