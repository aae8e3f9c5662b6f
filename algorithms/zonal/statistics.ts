import { ratio } from '../exact-ratio.ts';
import { exactSum, type Fraction, scaledSum } from './exact-sums.ts';
import { isReversed, scaledValue } from './scaling.ts';
import type { Folded, FoldedStatistic, Statistic } from './statistic-kinds.ts';

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

function statistic<F extends keyof Folded>(
  name: string,
  folds: readonly F[],
  of: FoldedStatistic<F>['of'],
): FoldedStatistic {
  return { name, folds, of };
}

/** A statistic of the exact sum of scaled values. If values are infinite, it is their sum. */
function ofSum(name: string, of: (sum: Fraction, count: bigint) => number): FoldedStatistic {
  return statistic(name, ['minimum', 'maximum', 'sum'], (zone, count, { sample, scaling }) => {
    const { minimum, maximum, sum } = zone;
    if (minimum === -Infinity || maximum === Infinity) return scaledValue(scaling, Number(minimum) + Number(maximum));
    return of(scaledSum(exactSum(sample, sum, count), count, scaling), count);
  });
}
