import type { Sample, Scaling } from '../geometry/raster.ts';

/** What is folded of the stored values of a zone, exactly and in any order; `folds.ts` says how. */
export interface Folded {
  /** Bigints for samples of i64 and u64. */
  readonly minimum: number | bigint;
  readonly maximum: number | bigint;
  /** Sums of the first and second powers of the values, as the integers of {@link exactSum} and `exactSquares`. */
  readonly sum: bigint;
  readonly squares: bigint;
}

/** How the values of a raster are stored. */
export interface Stored {
  readonly sample: Sample;
  readonly scaling?: Scaling | undefined;
}

/**
 * What there is to know of a statistic, which is one of two kinds. Counting, memory, totals, parts of other processes and
 * outputs ask here.
 */
export type Statistic = FoldedStatistic | ValueStatistic;

/** Statistics, by the names of their columns. */
export type StatisticRecords = { readonly [field: string]: Statistic };

/** A statistic of what is folded of the values of a zone. A zone takes a few words, however many cells it has. */
export interface FoldedStatistic<F extends keyof Folded = keyof Folded> {
  /** Its name in CSV, in JSON and in the help of the command. */
  readonly name: string;
  /** What must be folded for it. */
  readonly folds: readonly F[];
  /** The statistic of a zone of which `count` cells have data, at least one. */
  of(zone: Pick<Folded, F>, count: bigint, stored: Stored): number;
}

/**
 * A statistic of how often each value occurs in a zone. All pairs of zone and value are kept until the end, as they are
 * for unique bins.
 */
export interface ValueStatistic extends Pick<FoldedStatistic, 'name'> {
  /**
   * The statistic of a zone that has cells with data.
   *
   * @param values - The values that occur, ascending, scaled, also infinite ones.
   * @param counts - For each of the values, the number of cells that have it.
   */
  ofValues(values: Float64Array, counts: BigUint64Array): number;
}

/** The number of cells that have each value, for each zone. Ordered by zone and then by value, without duplicates. */
export interface ValueCounts {
  readonly zone: Uint32Array;
  /** Scaled values. */
  readonly value: Float64Array;
  /** The values to the digit, for integers of 64 bits that are not scaled. */
  readonly exact?: BigInt64Array | BigUint64Array | undefined;
  readonly count: BigUint64Array;
}
