import { areasInCells, type BinAreas, foldedByArea, withProducts, zoneAreas } from './areas.ts';
import { binAreas } from './bin-areas.ts';
import type { BinEdges, Slots } from './binning.ts';
import type { WindowPlace } from './cell-order.ts';
import { type CountedSlots, createCountTotals, type ZoneCounters } from './count-totals.ts';
import {
  type Wanted,
  wantedFolds,
  wantedStatistics,
  wantedWeighted,
  wantedWeights,
  wantsBinShares,
  wantsValueShares,
  wantsValues,
} from './counting-way.ts';
import type { HomeGroups } from './exact-sums.ts';
import { createFoldTotals, type FoldedWindow, type PartialStatistics } from './fold-totals.ts';
import { pairRanks } from './pair-ranks.ts';
import { createShareRuns, type ShareRows, shareRows, type WindowShares } from './share-rows.ts';
import { type RankColumns, statisticColumns } from './statistic-columns.ts';
import type { Folded, FoldedZones, Stored } from './statistic-kinds.ts';
import type { AnyHistogram } from './types.ts';
import { createUniqueTotals, type UniqueRows, uniqueAreas, uniqueBins } from './unique-totals.ts';

/** Results of one window, read to the host. */
export interface WindowTotals {
  readonly counts: CountedSlots;
  readonly folded?: FoldedWindow;
  readonly weighted?: FoldedWindow;
  readonly valueShares?: WindowShares;
  readonly slotShares?: WindowShares;
  readonly products?: FoldedWindow;
  readonly outlineProducts?: FoldedWindow;
  readonly homes: HomeGroups;
  readonly place: WindowPlace;
  readonly unique?: UniqueRows;
}

/**
 * Sums over some windows, as plain values that other totals of the same job add exactly, in any order. Only zones with
 * cells have rows.
 */
export interface PartialTotals {
  readonly counts: ZoneCounters;
  readonly statistics?: PartialStatistics;
  /** By fractions: sums over the cells that outlines enter, with weights. */
  readonly weighted?: PartialStatistics;
  readonly unique?: UniqueRows;
  /** By fractions: what cells on outlines differ from whole ones, by values and by slots of histograms. */
  readonly valueShares?: ShareRows;
  readonly slotShares?: ShareRows;
}

/** Sums over all windows. They are exact while counts are below 2⁵³. */
export interface Totals {
  /** Adds the results of a window. `zones[i]` is the number that zone i of the window has in the job. */
  add(zones: Uint32Array, window: WindowTotals): void;
  addPartial(totals: PartialTotals): void;
  /** What was added so far. Nothing changes it later. */
  partial(): PartialTotals;
  /** What was folded so far, of the zones that have cells with data. */
  readonly folded: FoldedZones;
  /**
   * Returns the result of the job: the sums over all windows.
   *
   * @param ranks - Statistics whose ranks were selected.
   */
  finish(ranks?: RankColumns): Pick<
    AnyHistogram,
    'bins' | 'cells' | 'nodata' | 'below' | 'above' | 'areas' | 'statistics' | 'exact'
  > & {
    /** For each zone, the number of cells without data that match the nodata value without being equal to it. */
    readonly near: BigUint64Array;
    /** Whether integers occur that are no f64, of those that are not scaled. */
    readonly isLarge: boolean;
  };
}

/** What the totals count, and the limits of their memory. */
export interface TotalsOptions extends Stored, Wanted {
  readonly zones: number;
  readonly slots: Slots;
  readonly edges: BinEdges;
  /** Maximum bytes of memory for pairs of zone and unique value. */
  readonly memoryBytes: number;
}

/** Creates totals in which all counts are 0. */
export function createTotals(options: TotalsOptions): Totals {
  const { zones, sample, scaling, binning, slots, edges, memoryBytes } = options;
  const counts = createCountTotals(zones, slots);
  const records = wantedStatistics(options);
  const wanted = wantedFolds(options, sample);
  const folds = wanted.length > 0 ? createFoldTotals(wanted, zones) : undefined;
  const wantedAreas = wantedWeighted(options, sample);
  const weighted = wantedAreas.length > 0 ? createFoldTotals(wantedAreas, zones) : undefined;
  const [products, outlineProducts] = [false, true].map((isOutline) => {
    const own = wantedWeights(options, sample, isOutline);
    return own.length > 0 ? createFoldTotals(own, zones) : undefined;
  });
  const hasEdges = binning.kind !== 'none' && binning.kind !== 'unique';
  const unique = wantsValues(options) ? createUniqueTotals(sample, memoryBytes, wantsValueShares(options)) : undefined;
  const slotShares = wantsBinShares(options) ? createShareRuns() : undefined;
  const ranksAmongPairs = (): RankColumns | undefined => {
    if (unique === undefined || weighted === undefined) return undefined;
    const ranked = Object.values(records ?? {}).filter((record) => 'ofRanked' in record);
    return pairRanks(options, ranked, unique.rows(), unique.shares(), zones);
  };
  return {
    add(members, window) {
      counts.add(members, window.counts);
      if (window.folded !== undefined) folds?.add(members, window.folded, window.homes, window.place);
      if (window.weighted !== undefined) weighted?.add(members, window.weighted, window.homes, window.place);
      const { homes, place } = window;
      if (window.products !== undefined) products?.add(members, window.products, homes, place);
      if (window.outlineProducts !== undefined) outlineProducts?.add(members, window.outlineProducts, homes, place);
      if (window.unique !== undefined) unique?.add(members, window.unique);
      if (window.valueShares !== undefined) unique?.addShares(members, window.valueShares);
      if (window.slotShares !== undefined) slotShares?.add(shareRows(members, window.slotShares));
    },
    addPartial(other) {
      counts.addPart(other.counts);
      if (other.statistics !== undefined) folds?.addPart(other.statistics);
      if (other.weighted !== undefined) weighted?.addPart(other.weighted);
      if (other.unique !== undefined) unique?.addRows(other.unique, other.valueShares);
      if (other.slotShares !== undefined) slotShares?.add(other.slotShares);
    },
    partial: () => ({
      counts: counts.part(),
      ...(folds && { statistics: folds.part() }),
      ...(weighted && { weighted: weighted.part() }),
      ...(unique && { unique: unique.rows() }),
      ...(unique && wantsValueShares(options) && { valueShares: unique.shares() }),
      ...(slotShares && { slotShares: slotShares.rows() }),
    }),
    folded: folds?.folded ?? new Map(),
    finish(ranks) {
      const { bins, ...found } = counts.finish(hasEdges ? edges : undefined);
      const values = unique?.finish(scaling);
      const isUnique = binning.kind === 'unique';
      const areas = weighted && zoneAreas(found, weighted.folded);
      const whole = folds?.folded ?? new Map<number, Folded>();
      const byArea = weighted ? foldedByArea(whole, weighted.folded) : whole;
      const folded = products ? withProducts(byArea, products.folded, outlineProducts?.folded) : byArea;
      const known = { ...found, areas, folded, values, ranks: ranks ?? ranksAmongPairs() };
      const ownBins = isUnique ? uniqueBins(values!) : bins;
      const areasOfBins = (): BinAreas =>
        isUnique
          ? uniqueAreas(values!, zones)
          : binAreas({ ...found, bins: ownBins }, slotShares?.rows(), edges, slots);
      const columns = records && statisticColumns(records, options, known);
      const digits = { values: isUnique ? values?.exact : undefined, statistics: columns?.exact ?? {} };
      const hasDigits = digits.values !== undefined || Object.keys(digits.statistics).length > 0;
      return {
        ...found,
        exact: hasDigits ? digits : undefined,
        isLarge: scaling === undefined && (values?.exact?.some(isLarge) === true || hasLarge(whole)),
        ...(areas && { areas: areasInCells(areas, areasOfBins()) }),
        bins: ownBins,
        statistics: columns?.statistics,
      };
    },
  };
}

/** Whether an integer lies beyond those that are all f64. */
function isLarge(value: bigint): boolean {
  return value > LARGEST || value < -LARGEST;
}

const LARGEST = 2n ** 53n;

function hasLarge(folded: FoldedZones): boolean {
  for (const [, { minimum, maximum }] of folded) {
    // Other statistics than these may have been folded.
    if (typeof minimum !== 'bigint' || typeof maximum !== 'bigint') return false;
    if (isLarge(minimum) || isLarge(maximum)) return true;
  }
  return false;
}
