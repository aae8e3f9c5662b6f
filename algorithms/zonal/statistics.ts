import { ratio } from '../exact-ratio.ts';
import type { Sample, Scaling } from '../geometry/raster.ts';
import { exactSum, type Fraction, scaledSum } from './exact-sums.ts';
import { isReversed, scaledValue } from './scaling.ts';

/** Exact statistics of the cells of each zone that have data, as columns with one row per zone. */
export interface ZoneStatistics {
  /** Minimum and maximum of the values. NaN if no cell of the zone has data. */
  readonly minimum: Float64Array;
  readonly maximum: Float64Array;
  /** The f64 nearest to the exact mean of the cells that have data. It is rounded once, not computed from `sum`. */
  readonly mean: Float64Array;
  /**
   * The f64 nearest to the exact sum, rounded half to even, also for subnormal sums. Scaled values,
   * `stored · scale + offset`, are summed exactly. NaN if no cell has data, or if both infinities occur.
   */
  readonly sum: Float64Array;
}

/** What is folded of the stored values of a zone, exactly and in any order; `folds.ts` says how. */
export interface Folded {
  readonly minimum: number;
  readonly maximum: number;
  /** Sums of the first and second powers of the values, as the integers of {@link exactSum} and `exactSquares`. */
  readonly sum: bigint;
  readonly squares: bigint;
}

/** How the values of a raster are stored. */
export interface Stored {
  readonly sample: Sample;
  readonly scaling?: Scaling | undefined;
}

/** What there is to know of a statistic. Counting, memory, totals, parts of other processes and outputs ask here. */
export interface Statistic<F extends keyof Folded = keyof Folded> {
  /** Its name in CSV, in JSON and in the help of the command. */
  readonly name: string;
  /** What must be folded for it. */
  readonly folds: readonly F[];
  /** The statistic of a zone of which `count` cells have data, at least one. */
  of(zone: Pick<Folded, F>, count: bigint, stored: Stored): number;
}

/** All statistics, in the order of CSV and JSON. */
export const STATISTICS: { readonly [field in keyof ZoneStatistics]: Statistic } = {
  minimum: statistic('min', ['minimum', 'maximum'], ({ minimum, maximum }, _, { scaling }) =>
    scaledValue(scaling, isReversed(scaling) ? maximum : minimum),
  ),
  maximum: statistic('max', ['minimum', 'maximum'], ({ minimum, maximum }, _, { scaling }) =>
    scaledValue(scaling, isReversed(scaling) ? minimum : maximum),
  ),
  mean: ofSum('mean', ({ numerator, denominator }, count) => ratio(numerator, denominator * count)),
  sum: ofSum('sum', ({ numerator, denominator }) => ratio(numerator, denominator)),
};

/** The fields of {@link ZoneStatistics}. */
export const STATISTIC_FIELDS = Object.keys(STATISTICS) as readonly (keyof ZoneStatistics)[];

/** The names of the statistics in CSV, in JSON and in the help of the command. */
export const STATISTIC_NAMES: readonly string[] = STATISTIC_FIELDS.map((field) => STATISTICS[field].name);

/** The names as words of a sentence. */
export const STATISTICS_LISTED: string = `${STATISTIC_NAMES.slice(0, -1).join(', ')} and ${STATISTIC_NAMES.at(-1)}`;

/** A record with a value for each statistic. */
export function perStatistic<T>(of: (field: keyof ZoneStatistics) => T): {
  readonly [field in keyof ZoneStatistics]: T;
} {
  return Object.fromEntries(STATISTIC_FIELDS.map((field) => [field, of(field)])) as never;
}

function statistic<F extends keyof Folded>(name: string, folds: readonly F[], of: Statistic<F>['of']): Statistic {
  return { name, folds, of };
}

/** A statistic of the exact sum of scaled values. If values are infinite, it is their sum. */
function ofSum(name: string, of: (sum: Fraction, count: bigint) => number): Statistic {
  return statistic(name, ['minimum', 'maximum', 'sum'], (zone, count, { sample, scaling }) => {
    const { minimum, maximum, sum } = zone;
    if (minimum === -Infinity || maximum === Infinity) return scaledValue(scaling, minimum + maximum);
    return of(scaledSum(exactSum(sample, sum, count), count, scaling), count);
  });
}
