import type { AnyHistogram } from '../../../algorithms/zonal/types.ts';
import { binCounts } from '../../results/zonal-statistics.ts';

/** The bars of one zone's histogram. Bar `i` extends from `lower[i]` to `upper[i]`. */
export interface Bars {
  readonly zone: number;
  readonly lower: readonly number[];
  readonly upper: readonly number[];
  /**
   * For each bar, the number of cells in the bar divided by the number of cells of the zone that have data; by fractions,
   * the same of their areas.
   */
  readonly share: readonly number[];
}

/** The histograms of several zones, and their common range of values. */
export interface BarSet {
  readonly zones: readonly Bars[];
  readonly low: number;
  readonly high: number;
  /**
   * Whether all bars have the same width. If so, the height of a bar is its share of the cells; otherwise it is the
   * share per unit of value.
   */
  readonly even: boolean;
  /** Whether neighbouring bins were merged into one bar. */
  readonly merged: boolean;
}

const MAX_BARS = 100;
const MERGED_BARS = 50;

interface Bin {
  readonly lower: number;
  readonly upper: number;
  readonly count: number;
}

/** Converts the bins of some zones to bars. If there are too many bins to distinguish, neighbouring bins are merged. */
export function barsOf(histogram: AnyHistogram, zones: readonly number[]): BarSet {
  const binsByZone = zones.map((zone) => binsOf(histogram, zone));
  const bins = widenValues(binsByZone, histogram.binning.kind === 'unique');
  const all = bins.flat();
  const low = all.reduce((min, { lower }) => Math.min(min, lower), Number.POSITIVE_INFINITY);
  const high = all.reduce((max, { upper }) => Math.max(max, upper), Number.NEGATIVE_INFINITY);
  const widths = all.map(({ lower, upper }) => upper - lower);
  const narrowest = widths.reduce((min, width) => Math.min(min, width), Number.POSITIVE_INFINITY);
  const merged = (high - low) / narrowest > MAX_BARS && new Set(all.map(({ lower }) => lower)).size > MAX_BARS;
  const drawn = merged ? bins.map((zone) => merge(zone, low, high)) : bins;
  return {
    low,
    high,
    merged,
    even: merged || widths.every((width) => Math.abs(width - narrowest) <= narrowest * 1e-6),
    zones: drawn.map((zoneBins, index) => toBars(histogram, zones[index]!, zoneBins)),
  };
}

function binsOf(histogram: AnyHistogram, zone: number): Bin[] {
  const { bins } = histogram;
  const counts = binCounts(histogram).bins;
  const start = firstAtLeast(bins.zone, zone);
  const end = firstAtLeast(bins.zone, zone + 1);
  return Array.from({ length: end - start }, (_, i) => ({
    lower: bins.lower[start + i]!,
    upper: bins.upper[start + i]!,
    count: Number(counts[start + i]),
  }));
}

function firstAtLeast(sorted: Uint32Array, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Gives the bins of unique values a width, because a single value has none. The width is the smallest gap between two
 * values.
 */
function widenValues(binsByZone: Bin[][], unique: boolean): Bin[][] {
  if (!unique) return binsByZone;
  const values = Float64Array.from(new Set(binsByZone.flat().map(({ lower }) => lower))).sort();
  let gap = Number.POSITIVE_INFINITY;
  for (let i = 1; i < values.length; i++) gap = Math.min(gap, values[i]! - values[i - 1]!);
  const half = Number.isFinite(gap) ? gap / 2 : 0.5;
  return binsByZone.map((bins) =>
    bins.map(({ lower, upper, count }) => ({ lower: lower - half, upper: upper + half, count })),
  );
}

function merge(bins: readonly Bin[], low: number, high: number): Bin[] {
  const width = (high - low) / MERGED_BARS;
  const counts = new Float64Array(MERGED_BARS);
  for (const { lower, upper, count } of bins) {
    const middle = lower / 2 + upper / 2;
    counts[Math.min(MERGED_BARS - 1, Math.floor((middle - low) / width))]! += count;
  }
  return [...counts]
    .map((count, bar) => ({ lower: low + bar * width, upper: low + (bar + 1) * width, count }))
    .filter(({ count }) => count > 0);
}

function toBars({ cells, nodata, areas }: AnyHistogram, zone: number, bins: readonly Bin[]): Bars {
  const withData = areas?.count[zone] ?? Number(cells[zone]! - nodata[zone]!);
  return {
    zone,
    lower: bins.map(({ lower }) => lower),
    upper: bins.map(({ upper }) => upper),
    share: bins.map(({ count }) => count / withData),
  };
}
