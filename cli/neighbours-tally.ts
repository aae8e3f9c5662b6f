/** Computes statistics of distances. Memory does not grow with the number of distances. */
export interface DistanceTally {
  add(distances: Float64Array): void;
  figures(): DistanceFigures;
}

/** Statistics of distances. Without distances, min, max and mean are null. */
export interface DistanceFigures {
  readonly count: number;
  /** Number of infinite distances. They are not included in the other statistics. */
  readonly infinite: number;
  readonly min: number | null;
  readonly mean: number | null;
  readonly max: number | null;
  readonly histogram: DistanceHistogram;
}

/** A histogram: `counts[i]` is the number of distances d with `start + i · width <= d < start + (i + 1) · width`. */
export interface DistanceHistogram {
  readonly start: number;
  readonly width: number;
  readonly counts: readonly number[];
}

/** Number of bins on each side of 0. */
const SIDE = 512;
/** Maximum number of bins in the result. */
const SHOWN = 64;

/**
 * Creates an empty tally. The bin width is the smallest power of two with which the bins cover all distances so far.
 * When a distance lies outside the bins, pairs of neighbouring bins are merged, which doubles the width. So the
 * statistics depend neither on the order of the distances nor on the batches, apart from the rounding of the mean.
 */
export function distanceTally(): DistanceTally {
  let counts = new Float64Array(2 * SIDE);
  let [count, infinite, sum, min, max] = [0, 0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  /** Width of a bin; 0 as long as all distances are 0. */
  let width = 0;

  const isWithin = (distance: number): boolean => distance >= -SIDE * width && distance < SIDE * width;

  function widen(distance: number): void {
    if (width === 0) {
      // The power is 0 for the smallest distances that f64 has.
      width = Math.max(Number.MIN_VALUE, 2 ** (Math.floor(Math.log2(Math.abs(distance))) - Math.log2(SIDE) + 1));
      // All distances so far are 0. They are in the first bin above 0, which contains 0 for any width.
    }
    while (!isWithin(distance)) {
      const wider = new Float64Array(2 * SIDE);
      for (let bin = 0; bin < 2 * SIDE; bin++) wider[(bin + SIDE) >> 1]! += counts[bin]!;
      counts = wider;
      width *= 2;
    }
  }

  return {
    add(distances) {
      for (const distance of distances) {
        if (!Number.isFinite(distance)) {
          infinite++;
          continue;
        }
        if (distance !== 0 && !isWithin(distance)) widen(distance);
        counts[SIDE + (width === 0 ? 0 : binOf(distance, width))]!++;
        count++;
        sum += distance;
        min = Math.min(min, distance);
        max = Math.max(max, distance);
      }
    },
    figures() {
      const told = (value: number): number | null => (count === 0 ? null : value);
      const histogram = shown(counts, width === 0 ? 1 / SIDE : width);
      return { count, infinite, min: told(min), mean: told(sum / count), max: told(max), histogram };
    },
  };
}

/** The bin of a distance, also of a negative one whose quotient is rounded to −0. */
function binOf(distance: number, width: number): number {
  const bin = Math.floor(distance / width);
  return bin === 0 && distance < 0 ? -1 : bin;
}

/**
 * The histogram up to the last non-empty bin. The histogram begins at 0 or, if there are negative distances, at the
 * first non-empty bin. Neighbouring bins are merged so that at most {@link SHOWN} bins remain.
 */
function shown(counts: Float64Array, width: number): DistanceHistogram {
  const used = [...counts.keys()].filter((bin) => counts[bin]! > 0);
  if (used.length === 0) return { start: 0, width, counts: [] };
  // If there are no negative distances, the histogram begins at 0.
  let [first, last, each] = [Math.min(used[0]!, SIDE) - SIDE, used.at(-1)! - SIDE, 1];
  const bins = (): number => Math.floor(last / each) - Math.floor(first / each) + 1;
  while (bins() > SHOWN) each *= 2;
  [first, last] = [Math.floor(first / each), Math.floor(last / each)];
  const together = new Array<number>(last - first + 1).fill(0);
  for (const bin of used) together[Math.floor((bin - SIDE) / each) - first]! += counts[bin]!;
  return { start: first * each * width, width: each * width, counts: together };
}
