import type { ZonalBins } from '../../../algorithms/zonal/types.ts';
import type { Plotting } from '../plot-packages.ts';
import { niceStep, valueText } from './page.ts';

/**
 * A colour scale. All values have the same colour if `low` and `high` are equal, or if both are NaN because there are
 * no values.
 */
export interface Colors {
  /** The statistic that the colours show. */
  readonly name: string;
  /** Whether the statistic lies among the values of the cells, so that histograms can show it. */
  readonly isValue: boolean;
  /**
   * Value at the lower end of the scale. `high` is the value at the upper end. Values outside the scale have the colour
   * of the nearer end.
   */
  readonly low: number;
  readonly high: number;
  /** Whether the mean of any zone is below `low`. `clipsHigh` says whether any mean is above `high`. */
  readonly clipsLow: boolean;
  readonly clipsHigh: boolean;
  colorOf(value: number): string;
  /** The colour of a bar of a histogram around a value: that of zones, if the statistic lies among the values. */
  barColorOf(value: number): string;
}

/** Whether the colours of a scale vary with the value. */
export function isScale({ low, high }: Colors): boolean {
  return low < high;
}

/** Formats a statistic with as many digits as are needed to distinguish values of different colours. */
export function meanText(mean: number, colors: Colors): string {
  const spread = isScale(colors) ? colors.high - colors.low : Math.abs(mean);
  return valueText(mean, niceStep(spread / 400));
}

const MANY_ZONES = 50;
const FEW_ZONES = 5;
/** Maximum relative difference at which two means count as equal. */
const ROUNDING = 1e-9;
const ONE_COLOR = '#64809c';

/**
 * Chooses a colour scale for the means of zones (NaN for a zone without data) and for the bars of histograms. The
 * palette is viridis, which is perceptually uniform. Readers with common kinds of colour blindness also see its colours
 * as an ordered sequence. The palest end of the palette is omitted, because it would be invisible on white.
 *
 * The scale normally covers the means. If there are many means, the lowest 2% and the highest 2% lie outside the scale.
 * If there are only a few means or all means are equal, a scale of the means would exaggerate small differences, and
 * would give nearly all bars the colours of the two ends. In this case, the scale also covers all bins with cells.
 */
export function chooseColors(means: Float64Array, bins: BinEnds, { scale }: Scales, name = 'mean'): Colors {
  const isValue = AMONG_VALUES.test(name);
  const sorted = means.filter((mean) => Number.isFinite(mean)).sort();
  const [low, high] = endsOf(sorted, isValue ? bins : NO_BINS);
  const colorOf = low < high ? viridis(low, high, scale) : () => ONE_COLOR;
  return {
    ...{ name, isValue },
    low,
    high,
    clipsLow: sorted.length > 0 && sorted[0]! < low,
    clipsHigh: sorted.length > 0 && sorted.at(-1)! > high,
    colorOf,
    barColorOf: isValue ? colorOf : () => ONE_COLOR,
  };
}

const AMONG_VALUES = /^(mean|min|max|median|quantile.*|mode|minority)$/;
const NO_BINS: BinEnds = { lower: new Float64Array(), upper: new Float64Array() };

type BinEnds = Pick<ZonalBins, 'lower' | 'upper'>;
type Scales = Pick<Plotting['Plot'], 'scale'>;
type Ends = readonly [low: number, high: number];

function endsOf(sorted: Float64Array, { lower, upper }: BinEnds): Ends {
  if (sorted.length === 0) return [Number.NaN, Number.NaN];
  const trim = sorted.length >= MANY_ZONES ? 0.02 : 0;
  const ends: Ends = [quantile(sorted, trim), quantile(sorted, 1 - trim)];
  if (sorted.length >= FEW_ZONES && differ(ends)) return ends;
  const wide: Ends = [lower.reduce((a, b) => Math.min(a, b), ends[0]), upper.reduce((a, b) => Math.max(a, b), ends[1])];
  return differ(wide) ? wide : [ends[0], ends[0]];
}

function differ([low, high]: Ends): boolean {
  return high - low > ROUNDING * Math.max(Math.abs(low), Math.abs(high));
}

function viridis(low: number, high: number, scale: Scales['scale']): (value: number) => string {
  const palette = scale({ color: { type: 'linear', scheme: 'viridis', domain: [0, 1 / 0.94], clamp: true } });
  return (value) => palette.apply(Math.min(1, Math.max(0, (value - low) / (high - low))));
}

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.round(share * (sorted.length - 1))]!;
}
