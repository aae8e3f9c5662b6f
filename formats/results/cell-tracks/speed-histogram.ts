/** Counts speeds in bins. Memory does not grow with the number of speeds. */
export interface SpeedHistogram {
  add(speed: number): void;
  /** The distribution of the speeds added so far. */
  distribution(): SpeedDistribution;
}

/** A distribution of speeds. Without speeds, `mean`, `max` and all quantiles are NaN. */
export interface SpeedDistribution {
  readonly count: number;
  readonly mean: number;
  readonly max: number;
  /** Width of a bin. The first bin begins at 0. */
  readonly width: number;
  /** Number of speeds in each bin, up to the last bin that is not empty. */
  readonly counts: Float64Array;
  /** The speed below which the fraction `share` of the speeds lies. The error is at most the width of a bin. */
  quantile(share: number): number;
}

/**
 * Reduces the counts of a distribution to at most `max` bins. Each new bin merges the same number of consecutive bins.
 */
export function inBins(
  { width, counts }: SpeedDistribution,
  max: number,
): { readonly width: number; readonly counts: Float64Array } {
  const each = Math.max(1, Math.ceil(counts.length / max));
  const together = new Float64Array(Math.ceil(counts.length / each));
  for (const [bin, count] of counts.entries()) together[Math.floor(bin / each)]! += count;
  return { width: each * width, counts: together };
}

/** Maximum number of bins in plots and summaries. */
export const SHOWN_BINS = 40;

const BINS = 2048;
const FIRST_WIDTH = 2 ** -12;

/**
 * Creates an empty histogram. The bin width is a power of two. When a speed exceeds the range of the bins, pairs of
 * bins are merged, which doubles the width. Merged bins have the counts that wide bins would have had from the start.
 * So the counts do not depend on the order of the speeds. NaN and infinity are not counted.
 */
export function speedHistogram(): SpeedHistogram {
  const counts = new Float64Array(BINS);
  let [count, sum, max, width] = [0, 0, Number.NaN, FIRST_WIDTH];

  function widen(): void {
    for (let bin = 0; bin < BINS; bin++) {
      counts[bin] = bin < BINS / 2 ? counts[2 * bin]! + counts[2 * bin + 1]! : 0;
    }
    width *= 2;
  }

  return {
    add(speed) {
      if (!Number.isFinite(speed)) return;
      while (speed >= BINS * width) widen();
      counts[Math.floor(speed / width)]!++;
      count++;
      sum += speed;
      max = count === 1 ? speed : Math.max(max, speed);
    },
    distribution() {
      const used = count === 0 ? 0 : Math.floor(max / width) + 1;
      const own = counts.slice(0, used);
      return {
        count,
        mean: sum / count,
        max,
        width,
        counts: own,
        quantile: (share) => quantileOf(own, width, max, share),
      };
    },
  };
}

/** Computes a quantile, on the assumption that the speeds in a bin are evenly distributed. */
function quantileOf(counts: Float64Array, width: number, max: number, share: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let before = 0;
  for (const [bin, count] of counts.entries()) {
    if (count > 0 && before + count >= share * total) {
      return Math.min(max, width * (bin + (share * total - before) / count));
    }
    before += count;
  }
  return Number.NaN;
}
