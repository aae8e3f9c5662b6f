/** How distances are spread, in memory that does not grow with their number. */
export interface DistanceTally {
  add(distances: Float32Array): void;
  figures(): DistanceFigures;
}

/** How distances are spread; figures of none are null. */
export interface DistanceFigures {
  readonly count: number;
  /** Distances beyond f32, which the others are told without. */
  readonly infinite: number;
  readonly min: number | null;
  readonly mean: number | null;
  readonly max: number | null;
  readonly histogram: DistanceHistogram;
}

/** Distances from `start + i · width` to `start + (i + 1) · width`, the upper end left out, are `counts[i]`. */
export interface DistanceHistogram {
  readonly start: number;
  readonly width: number;
  readonly counts: readonly number[];
}

/** Bins on either side of 0. */
const SIDE = 512;
/** Bins that are told, at most. */
const SHOWN = 64;

/**
 * Starts without distances. Bins are as wide as a power of two, the least at which all of them are enough; where a distance lies
 * beyond them, each two become one. So figures depend neither on the order nor on how distances come in batches, but for the mean's
 * rounding.
 */
export function distanceTally(): DistanceTally {
  let counts = new Float64Array(2 * SIDE);
  let [count, infinite, sum, min, max] = [0, 0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  /** 0 as long as all distances are 0. */
  let width = 0;

  const isWithin = (distance: number): boolean => distance >= -SIDE * width && distance < SIDE * width;

  function widen(distance: number): void {
    if (width === 0) {
      width = 2 ** (Math.floor(Math.log2(Math.abs(distance))) - Math.log2(SIDE) + 1);
      // Zeros are in the first bin above 0, whatever its width.
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
        counts[SIDE + (width === 0 ? 0 : Math.floor(distance / width))]!++;
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

/** From the first bin with a distance to the last, in at most so many. */
function shown(counts: Float64Array, width: number): DistanceHistogram {
  const used = [...counts.keys()].filter((bin) => counts[bin]! > 0);
  if (used.length === 0) return { start: 0, width, counts: [] };
  // Of distances from 0 on, 0 is shown too.
  let [first, last, each] = [Math.min(used[0]!, SIDE) - SIDE, used.at(-1)! - SIDE, 1];
  const bins = (): number => Math.floor(last / each) - Math.floor(first / each) + 1;
  while (bins() > SHOWN) each *= 2;
  [first, last] = [Math.floor(first / each), Math.floor(last / each)];
  const together = new Array<number>(last - first + 1).fill(0);
  for (const bin of used) together[Math.floor((bin - SIDE) / each) - first]! += counts[bin]!;
  return { start: first * each * width, width: each * width, counts: together };
}
