import { type Fraction, fractionOf, ratio, rootOfRatio } from '../exact-ratio.ts';
import { isFloat, type Sample, type Scaling } from '../geometry/raster.ts';
import { decimalFraction, interpolated, placeBetween, rankAmong, ranksOf } from '../tables/interpolation.ts';
import { centreOf } from './cell-order.ts';
import {
  biasOf,
  type Exponent,
  exactSquares,
  exactSum,
  FLAWS,
  type Float,
  productUnitBits,
  scaledSum,
  weightFloat,
} from './exact-sums.ts';
import type { ProductField } from './fold.ts';
import { isReversed, scaledValue, unroundedValue } from './scaling.ts';
import type { Folded, FoldedStatistic, RankStatistic, Statistic, StatisticFamily } from './statistic-kinds.ts';

/**
 * All statistics that a list can name, in the order of the help of the command. Each is one record. Those without bins
 * or lists are four of them; see `ZoneStatistics`.
 */
export const STATISTICS: readonly (Statistic | StatisticFamily)[] = [
  { name: 'cells', meaning: 'number of cells that belong to the zone', ofCells: (cells) => cells },
  {
    name: 'count',
    meaning: 'number of these cells that have data; by fractions, their area in cells',
    ofCells: (cells, nodata) => cells - nodata,
    ofAreas: (data) => data,
  },
  {
    name: 'nodata',
    meaning: 'number of these cells without data; by fractions, their area',
    ofCells: (_, nodata) => nodata,
    ofAreas: (_, lacking) => lacking,
  },
  extreme('min', 'smallest value', (minimum) => minimum),
  extreme('max', 'largest value', (_, maximum) => maximum),
  ofSum('mean', 'Σx / count', meanOf),
  ofSum('sum', 'Σx', ({ numerator, denominator }, _, unit) => ratio(numerator, denominator * unit)),
  ofSpread('variance', 'Σ(x − mean)² / count, of the population', 0n, ratio),
  ofSpread('stdev', 'square root of variance', 0n, rootOfRatio),
  ofSpread('variance_samp', 'Σ(x − mean)² / (count − 1), of a sample; blank for one cell', 1n, ratio),
  ofSpread('stdev_samp', 'square root of variance_samp', 1n, rootOfRatio),
  ofWeights('weighted_mean', 'Σwx / Σw, with the weights w of --weights', 'products', ({ mean, w }) => ratio(mean, w)),
  ofWeights('weighted_sum', 'Σwx', 'products', ({ mean, unit }) => ratio(mean, unit)),
  ofWeights('weighted_variance', 'Σw(x − weighted_mean)² / Σw', 'productsOfSquares', ({ spread, w }) =>
    ratio(spread, w * w),
  ),
  ofWeights('weighted_stdev', 'square root of weighted_variance', 'productsOfSquares', ({ spread, w }) =>
    spread < 0n ? Number.NaN : rootOfRatio(spread, w * w),
  ),
  centre('min_center_x', 'min', 'X'),
  centre('min_center_y', 'min', 'Y'),
  centre('max_center_x', 'max', 'X'),
  centre('max_center_y', 'max', 'Y'),
  quantile('median', 'quantile(0.5)', 0.5),
  {
    name: 'quantile',
    parameter: 'q',
    meaning: "value at rank q · (count − 1), linear between neighbours (numpy's rule)",
    of: (q: number) => quantile('quantile', 'at a given share', q),
  },
  {
    name: 'quantile_disc',
    parameter: 'q',
    meaning: 'smallest value such that at least q · count values are at most as large',
    of: discreteQuantile,
  },
  {
    name: 'mode',
    meaning: 'value that most cells have; the smallest of several',
    isValue: true,
    ofValues: (values, counts) => values[firstWhere(counts, (count, best) => count > best)]!,
  },
  {
    name: 'minority',
    meaning: 'value that fewest cells have; the smallest of several',
    isValue: true,
    ofValues: (values, counts) => values[firstWhere(counts, (count, best) => count < best)]!,
  },
  { name: 'variety', meaning: 'number of different values', isCount: true, ofValues: ({ length }) => length },
  {
    name: 'frac',
    meaning: 'share of the cells with data that has each value: columns frac_VALUE, in JSON an object',
    ofEach: (count, data) => ratio(count, data),
  },
];

function folded<F extends keyof Folded>(
  name: string,
  meaning: string,
  folds: readonly F[],
  of: FoldedStatistic<F>['of'],
): FoldedStatistic {
  return { name, meaning, folds, of };
}

/** One of the smallest and the largest scaled value. */
function extreme(name: string, meaning: string, which: <V>(minimum: V, maximum: V) => V): FoldedStatistic {
  const of: FoldedStatistic['of'] = ({ minimum, maximum }, _, { scaling }) =>
    unroundedValue(scaling, isReversed(scaling) ? which(maximum, minimum) : which(minimum, maximum));
  return { ...folded(name, meaning, ['minimum', 'maximum'], of), isValue: true };
}

/** A statistic of the exact sum of scaled values. If values are infinite, it is their sum. */
function ofSum(
  name: string,
  meaning: string,
  of: (sum: Fraction, count: bigint, unit: bigint) => number,
): FoldedStatistic {
  return folded(name, meaning, ['minimum', 'maximum', 'sum'], (zone, count, { sample, scaling }, unit) => {
    const { minimum, maximum, sum } = zone;
    if (minimum === -Infinity || maximum === Infinity) return scaledValue(scaling, Number(minimum) + Number(maximum));
    return of(scaledSum(exactSum(sample, sum, count), count, scaling), count, unit);
  });
}

/** The mean. NaN if the shares of cells are together below their unit. */
function meanOf({ numerator, denominator }: Fraction, count: bigint): number {
  return count > 0n ? ratio(numerator, denominator * count) : Number.NaN;
}

/**
 * A statistic of the squared distances from the mean, Σx² − (Σx)² / n, divided by n − `less`. It is computed exactly
 * from the sums, and `round` rounds it once. NaN if values are infinite, or if shares of cells are together below their unit.
 */
function ofSpread(
  name: string,
  meaning: string,
  less: bigint,
  round: (numerator: bigint, denominator: bigint) => number,
): FoldedStatistic {
  const of: FoldedStatistic['of'] = (zone, count, { sample, scaling }) => {
    const { minimum, maximum, sum, squares } = zone;
    if (minimum === -Infinity || maximum === Infinity || count <= less) return Number.NaN;
    const [first, second] = [exactSum(sample, sum, count), exactSquares(sample, squares, sum, count)];
    const scale = fractionOf(scaling?.scale ?? 1);
    const unit = first.denominator ** 2n;
    const spread = count * second.numerator * unit - first.numerator ** 2n * second.denominator;
    const divisor = count * (count - less) * unit * second.denominator;
    // Shares that are negative by their rounding may make it negative.
    return spread > 0n ? round(spread * scale.numerator ** 2n, divisor * scale.denominator ** 2n) : 0;
  };
  return { ...folded(name, meaning, ['minimum', 'maximum', 'sum', 'squares'], of), isOfSample: less > 0n };
}

/** Whole numbers of which statistics with weights are ratios. */
interface WeightedSums {
  /** Σw, which is positive, in the unit of the others. */
  readonly w: bigint;
  /** Σwx, of which `unit` units are 1. */
  readonly mean: bigint;
  readonly unit: bigint;
  /** ΣwΣwx² − (Σwx)². */
  readonly spread: bigint;
}

/**
 * A statistic of Σw, Σwx and Σwx² of scaled values x and weights w; by fractions, shares are factors of the weights. NaN if
 * any weight of a cell with data is not a number, if values are infinite, or if Σw is 0 (but for a sum).
 */
function ofWeights(
  name: string,
  meaning: string,
  field: 'products' | 'productsOfSquares',
  round: (sums: WeightedSums) => number,
): FoldedStatistic {
  const folds = ['minimum', 'maximum', 'weights', 'products', 'unweighted', field] as const;
  return folded(name, meaning, folds, (zone, _, { sample, scaling, weights }, unit) => {
    const isInfinite = zone.minimum === -Infinity || zone.maximum === Infinity;
    if (isInfinite || (zone.unweighted & FLAWS.missing) !== 0) return Number.NaN;
    const sums = weightedSums(zone, sample, weightFloat(weights!.sample)!, scaling, unit);
    // Shares that are negative by their rounding may make sums negative, which negative weights may do, too.
    const isNegative = (zone.unweighted & FLAWS.negative) !== 0;
    if (name === 'weighted_sum') return round(sums);
    if (sums.w === 0n || (sums.w < 0n && !isNegative)) return Number.NaN;
    const spread = sums.spread < 0n && !isNegative ? 0n : sums.spread;
    return round(sums.w > 0n ? { ...sums, spread } : { ...sums, spread, w: -sums.w, mean: -sums.mean });
  });
}

function weightedSums(
  { weights, products, productsOfSquares = 0n }: Pick<Folded, ProductField>,
  sample: Sample,
  float: Float,
  scaling: Scaling | undefined,
  unit: bigint,
): WeightedSums {
  const bitsOf = (power: Exponent): bigint => productUnitBits(sample, float, power);
  // Integers were folded as differences from the smallest one, and all are converted to the finest unit.
  const bias = isFloat(sample) ? 0n : biasOf(sample);
  const w = weights << (bitsOf(2) - bitsOf(0));
  const first = products << (bitsOf(2) - bitsOf(1));
  const x = first - bias * w;
  const squares = productsOfSquares - 2n * bias * first + bias * bias * w;
  const [scale, offset] = [fractionOf(scaling?.scale ?? 1), fractionOf(scaling?.offset ?? 0)];
  const both = scale.denominator * offset.denominator;
  const mean = scale.numerator * offset.denominator * x + offset.numerator * scale.denominator * w;
  const spread = (scale.numerator * offset.denominator) ** 2n * (w * squares - x * x);
  return { w: w * both, mean, unit: (both << bitsOf(2)) * unit, spread };
}

/** A coordinate of the centre of the first cell with the smallest or largest value. Stored values decide. */
function centre(name: string, which: 'min' | 'max', axis: 'X' | 'Y'): FoldedStatistic {
  const value = which === 'min' ? 'smallest' : 'largest';
  const meaning = `${axis.toLowerCase()} of the first cell, in the order of rows, with the ${value} value`;
  return folded(name, meaning, ['minimumPlace', 'maximumPlace'], (zone, _, { scaling, grids }) => {
    const isMinimum = (which === 'min') !== isReversed(scaling);
    return centreOf(axis, isMinimum ? zone.minimumPlace : zone.maximumPlace, grids);
  });
}

/** The quantile of a share, which is the decimal number that JavaScript prints for it. */
function quantile(name: string, meaning: string, share: number): RankStatistic {
  return {
    ...{ name, meaning },
    ranksOf: (count) => ranksOf(placeBetween(share, count)),
    ofRanked: (values, count) => interpolated(values[0]!, values.at(-1)!, placeBetween(share, count).part),
    byArea: { share: decimalFraction(share), isDiscrete: false },
  };
}

function discreteQuantile(share: number): RankStatistic {
  const rankOf = rankAmong(share);
  return {
    ...{ name: 'quantile_disc', meaning: 'at a given share', isValue: true },
    ranksOf: (count) => [rankOf(count)],
    ofRanked: ([value]) => value!,
    byArea: { share: decimalFraction(share), isDiscrete: true },
  };
}

/** The first place whose count is better than all before it and not worse than any behind it. */
function firstWhere(
  counts: BigUint64Array | BigInt64Array,
  isBetter: (count: bigint, best: bigint) => boolean,
): number {
  let best = 0;
  for (let at = 1; at < counts.length; at++) if (isBetter(counts[at]!, counts[best]!)) best = at;
  return best;
}
