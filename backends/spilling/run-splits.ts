/** The sorted rows of a window (range of rows), in host memory. */
export interface SortedRun {
  readonly keys: Uint32Array;
  readonly payload: Uint32Array | undefined;
}

/**
 * For each run (sorted window), counts its rows among the first `rank` rows of the sorted result. If rows have equal
 * digits, the rows of earlier runs come first in the result. The digit at `rank` is found by bisection in 32 steps;
 * each step takes one binary search in every run.
 */
export function splitsAt(runs: readonly SortedRun[], digit: (key: number) => number, rank: number): number[] {
  const below = (bound: number): number[] => runs.map(({ keys }) => countBelow(keys, digit, bound));
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  // Find the greatest digit such that at most `rank` rows have smaller digits.
  let low = 0;
  let high = 2 ** 32 - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sum(below(middle)) <= rank) low = middle;
    else high = middle - 1;
  }
  const splits = below(low);
  const through = below(low + 1);
  let left = rank - sum(splits);
  for (const run of splits.keys()) {
    const equal = Math.min(left, through[run]! - splits[run]!);
    splits[run]! += equal;
    left -= equal;
  }
  return splits;
}

/** Number of keys of a sorted run whose digit is below `bound`. */
function countBelow(keys: Uint32Array, digit: (key: number) => number, bound: number): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (digit(keys[middle]!) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
