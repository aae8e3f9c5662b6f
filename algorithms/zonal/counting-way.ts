import { isWide, type RasterSource, type Sample } from '../geometry/raster.ts';
import { readsEncoded } from './cell-places.ts';
import { weightFloat } from './exact-sums.ts';
import type { Fold, WeightedFold, ZoneFold } from './fold.ts';
import { foldsOf } from './folds.ts';
import type { Pixels } from './pixels.ts';
import { foldsOfWeights } from './product-sums.ts';
import type { Folded, RankStatistic, Statistic, StatisticRecords } from './statistic-kinds.ts';
import type { Binning } from './types.ts';
import { weightedFolds } from './weighted-sums.ts';
import type { WindowPlan } from './window-plan.ts';
import { type ChosenStatistics, DEFAULT_STATISTICS, statisticsNamed } from './zone-statistics.ts';

/** What a job asks for. */
export interface Wanted {
  readonly binning: Binning;
  /** Which statistics; or their records. Default those of `ZoneStatistics`. */
  readonly statistics?: ChosenStatistics | StatisticRecords | undefined;
  /** Which cells count. Default `center`. */
  readonly pixels?: Pixels | undefined;
  /** Whether the values at ranks are selected while windows are counted; see {@link selectedRanks}. Default false. */
  readonly selectsRanks?: boolean | undefined;
  /** The weights of the cells, on the grid of the raster. */
  readonly weights?: RasterSource | undefined;
}

/** The statistics that a job asks for. Undefined if it asks for none. */
export function wantedStatistics({ statistics = true }: Wanted): StatisticRecords | undefined {
  if (typeof statistics === 'boolean') return statistics ? DEFAULT_STATISTICS : undefined;
  return isList(statistics) ? statisticsNamed(statistics) : statistics;
}

function isList(statistics: readonly string[] | StatisticRecords): statistics is readonly string[] {
  return Array.isArray(statistics);
}

function wantedRecords(job: Wanted): readonly Statistic[] {
  return Object.values(wantedStatistics(job) ?? {});
}

/** What must be folded of the values of zones. Ranks are selected between the smallest and the largest value. */
export function wantedFolds(job: Wanted, sample: Sample): readonly Fold[] {
  return foldsOf(sample, wantedFields(job));
}

/** What must be folded of the cells that outlines enter, with weights. Nothing unless cells count by fractions. */
export function wantedWeighted(job: Wanted, sample: Sample): readonly WeightedFold[] {
  return job.pixels === 'fractional' ? weightedFolds(sample, wantedFields(job)) : [];
}

/** How many of Σw, Σwx and Σwx² must be summed, over cells with weights. */
export function wantedProducts(job: Wanted): number {
  const fields = wantedFields(job);
  if (fields.has('productsOfSquares')) return 3;
  return fields.has('products') ? 2 : 0;
}

/** What must be folded of cells with weights; with `isOutline`, of those that outlines enter, with weights and shares. */
export function wantedWeights(job: Wanted, sample: Sample, isOutline: boolean): readonly ZoneFold[] {
  const products = wantedProducts(job);
  if (products === 0 || job.weights === undefined || (isOutline && job.pixels !== 'fractional')) return [];
  return foldsOfWeights(sample, weightFloat(job.weights.sample)!, products, isOutline);
}

function wantedFields(job: Wanted): ReadonlySet<keyof Folded> {
  const wanted = wantedRecords(job).flatMap((record) => ('folds' in record ? record.folds : []));
  return new Set(job.selectsRanks ? [...wanted, 'minimum', 'maximum'] : wanted);
}

/**
 * The statistics whose ranks can be selected while windows are counted, so that only the values of zones under way are
 * kept. Undefined if there are none, or if all values are collected in any case.
 */
export function selectedRanks(job: Wanted, sample: Sample): readonly RankStatistic[] | undefined {
  const ranked = wantedRecords(job).filter((record) => 'ofRanked' in record);
  const isPossible = !isWide(sample) && !wantsValues({ ...job, selectsRanks: true });
  return ranked.length > 0 && isPossible ? ranked : undefined;
}

/** Whether rows of 32 cells must be reduced: to fold their values, or to count the cells of zones if there are no bins. */
export function wantsRows(job: Wanted): boolean {
  const folds = wantedRecords(job).some((record) => 'folds' in record);
  return folds || job.binning.kind === 'none' || job.selectsRanks === true;
}

/** Whether all values of each zone must be collected, with the number of their cells. */
export function wantsValues(job: Wanted): boolean {
  const isCollected = (record: Statistic): boolean =>
    'ofRanked' in record ? job.selectsRanks !== true : !('folds' in record || 'ofCells' in record);
  return job.binning.kind === 'unique' || wantedRecords(job).some(isCollected);
}

/** By fractions: whether the shares of cells on outlines must be added up for each value. */
export function wantsValueShares(job: Wanted): boolean {
  return job.pixels === 'fractional' && (job.selectsRanks === true || wantsValues(job));
}

/** By fractions: whether they must be added up for each bin. */
export function wantsBinShares(job: Wanted): boolean {
  return job.pixels === 'fractional' && (job.binning.kind === 'even' || job.binning.kind === 'edges');
}

/** Whether it suffices to know the bin of each cell. */
export function wantsBinsOnly(job: Wanted): boolean {
  return !wantsRows(job) && !wantsValues(job);
}

/**
 * How the cells of a window are counted by bins:
 *
 * - `encoded`: tiles of the file are decoded and counted at once, and cells are not stored;
 * - `tiles`: tiles inside zones get histograms of their own, which are added to those of the zones. A tile's cells are
 *   then counted once for all zones;
 * - `pairs`: the cells of each pair of a zone and a tile are counted by themselves.
 */
export type CountingWay = 'encoded' | 'tiles' | 'pairs';

/**
 * Decides how a window is counted. All ways give the same counts. Cells that are counted as they are decoded take less
 * time and half the memory, also where twenty zones share a tile.
 */
export function countingWay(job: Wanted, raster: RasterSource, plan: WindowPlan, counters: number): CountingWay {
  if (mayCountEncoded(job, raster, plan.tile) && readsEncoded(raster, plan)) return 'encoded';
  return countsTiles(plan, counters) ? 'tiles' : 'pairs';
}

/** Whether windows of whole tiles of the file can be counted as they are encoded. */
export function mayCountEncoded(
  job: Wanted,
  { readEncoded, blockColumns, blockRows }: RasterSource,
  tile: number,
): boolean {
  const isWhole = blockColumns === tile && blockRows === tile;
  // The shares of cells on outlines are looked up by single cells.
  return readEncoded !== undefined && isWhole && wantsBinsOnly(job) && job.pixels !== 'fractional';
}

/**
 * Zones per tile from which tiles get histograms of their own. Where zones partition the plane, the rectangles around
 * them overlap, and a tile lies in two or three.
 */
const MANY_ZONES = 5;

/**
 * Whether histograms of tiles pay: only where zones overlap, and where a tile has many more cells than a histogram has
 * counters.
 */
export function countsTiles(plan: WindowPlan, counters: number): boolean {
  return counters <= plan.tile ** 2 / 8 && plan.boxesPerTile >= MANY_ZONES;
}
