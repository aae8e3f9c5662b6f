import type { Fraction } from '../exact-ratio.ts';
import type { RasterGrid, RasterSource, Sample, Scaling } from '../geometry/raster.ts';

/** What is folded of the stored values of a zone, exactly and in any order; `folds.ts` says how. */
export interface Folded {
  /** Bigints for samples of i64 and u64. */
  readonly minimum: number | bigint;
  readonly maximum: number | bigint;
  /** Sums of the first and second powers of the values, as the integers of {@link exactSum} and `exactSquares`. */
  readonly sum: bigint;
  readonly squares: bigint;
  /** The first cells with the minimum and the maximum, as places of `cell-order.ts`. */
  readonly minimumPlace: bigint;
  readonly maximumPlace: bigint;
  /**
   * By fractions: what the areas of the cells with data, and of those without, differ from their numbers, in units of 2⁻³⁰
   * of a cell. The sums have this unit too, then.
   */
  readonly area: bigint;
  readonly lacking: bigint;
  /** With weights w: Σw, Σwx and Σwx², as integers of `productLayout`; and bits of `FLAWS`. */
  readonly weights: bigint;
  readonly products: bigint;
  readonly productsOfSquares: bigint;
  readonly unweighted: number;
}

/** What is folded of zones, by the number of the zone. */
export type FoldedZones = Pick<ReadonlyMap<number, Folded>, 'size' | 'get'> & Iterable<[zone: number, found: Folded]>;

/** How the values of a raster are stored. */
export interface Stored {
  readonly sample: Sample;
  readonly scaling?: Scaling | undefined;
  /** The raster of weights, if there is one. */
  readonly weights?: RasterSource | undefined;
  /** The grids of the rasters, by their numbers in places. */
  readonly grids: readonly RasterGrid[];
}

/**
 * What there is to know of a statistic, which is of one of five kinds. Counting, memory, totals, parts of other processes,
 * outputs and the help of the command ask here.
 */
export type Statistic = CountStatistic | FoldedStatistic | RankStatistic | ValueStatistic | ShareStatistic;

/** Statistics, by the names of their columns. */
export type StatisticRecords = { readonly [column: string]: Statistic };

/** A family of statistics with a number from 0 to 1 in parentheses, such as `quantile(0.9)`. */
export interface StatisticFamily extends Named {
  /** What the number is called in the help of the command. */
  readonly parameter: string;
  of(parameter: number): Statistic;
}

/** What all statistics have. */
interface Named {
  /** Its name in lists, in CSV and in JSON. */
  readonly name: string;
  /** What it is, in a few words, for the help of the command. */
  readonly meaning: string;
  /** Whether it is one of the values: for samples of i64 and u64 without scale and offset it is a bigint, with all digits. */
  readonly isValue?: boolean;
}

/** A statistic of the numbers of cells of a zone. It costs nothing, as these are counted in any case. */
export interface CountStatistic extends Named {
  ofCells(cells: bigint, nodata: bigint): bigint;
  /** By fractions: an area, from those of the cells with data and without. Undefined if it stays a number of cells. */
  ofAreas?(data: bigint, lacking: bigint): bigint;
}

/** A statistic of what is folded of the values of a zone. A zone takes a few words, however many cells it has. */
export interface FoldedStatistic<F extends keyof Folded = keyof Folded> extends Named {
  /** What must be folded for it. */
  readonly folds: readonly F[];
  /** Whether it takes the cells for a sample, so that they must count as wholes. */
  readonly isOfSample?: boolean;
  /**
   * The statistic of a zone of which `count` cells have data, at least one. By fractions, `count` and sums are in units of
   * which a cell has `unit`; then `count` may be too small for any unit.
   */
  of(zone: Pick<Folded, F>, count: bigint, stored: Stored, unit: bigint): number | bigint;
}

/**
 * A statistic of the values at some ranks of a zone, such as a median. It does not say how these are found: by
 * selection among the values of zones under way (`zone-ranks.ts`), or among all pairs of zone and value, which are kept
 * until the end as for unique bins, where these are needed in any case.
 */
export interface RankStatistic extends Named {
  /** The ranks, ascending, among the scaled values of `count` cells in ascending order. The first rank is 0. */
  ranksOf(count: number): readonly number[];
  /** The statistic, from the values at these ranks: bigints for samples of i64 and u64 without scale and offset. */
  ofRanked(values: readonly (number | bigint)[], count: number): number | bigint;
  /**
   * By fractions: the share of the area at which the statistic is; and whether it is the smallest value such that at least
   * this share belongs to values that are at most as large, or between two values; `rank-search.ts` has the places.
   */
  readonly byArea: { readonly share: Fraction; readonly isDiscrete: boolean };
}

/**
 * A statistic of how often each value occurs in a zone. All pairs of zone and value are kept until the end, as they are
 * for unique bins.
 */
export interface ValueStatistic extends Named {
  /** Whether it is a number of values: its column has integers, 0 for zones without data. */
  readonly isCount?: boolean;
  /**
   * The statistic of a zone that has cells with data.
   *
   * @param values - The values that occur, ascending, scaled, also infinite ones. Bigints as in `isValue`.
   * @param counts - For each of the values, the number of cells that have it; by fractions their area, which may be
   *   negative by the rounding of shares.
   */
  ofValues(values: ValuesOf, counts: BigUint64Array | BigInt64Array): number | bigint;
}

/** Values of a zone. */
export type ValuesOf = Float64Array | Integers;

/** Integers of 64 bits. */
export type Integers = BigInt64Array | BigUint64Array;

/** A statistic of each value of a zone: a column of many numbers for each zone. Values are kept as for `ofValues`. */
export interface ShareStatistic extends Named {
  /** The statistic of a value that `count` of the `data` cells with data have; by fractions, both are areas. */
  ofEach(count: bigint, data: bigint): number;
}

/** The number of cells that have each value, for each zone. Ordered by zone and then by value, without duplicates. */
export interface ValueCounts {
  readonly zone: Uint32Array;
  /** Scaled values. */
  readonly value: Float64Array;
  /** The values to the digit, for integers of 64 bits that are not scaled. */
  readonly exact?: BigInt64Array | BigUint64Array | undefined;
  readonly count: BigUint64Array;
  /** By fractions: the area of these cells, in units of 2⁻³⁰ of a cell. */
  readonly area?: BigInt64Array | undefined;
}

/** A number for each pair of a zone and a value that occurs in it. Ordered by zone and then by value. */
export interface ValueShares {
  readonly zone: Uint32Array;
  /** Scaled values. */
  readonly value: Float64Array;
  /** The values to the digit. Only for samples of i64 and u64 without scale and offset. */
  readonly exact?: BigInt64Array | BigUint64Array | undefined;
  readonly share: Float64Array;
}

/** A column of a statistic: a number for each zone, a number of cells or values, or numbers for each value. */
export type StatisticColumn = Float64Array | BigUint64Array | ValueShares;
