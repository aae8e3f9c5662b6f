/** Sorted rows in host memory. */
export interface SortedRun {
  readonly keys: Uint32Array;
  readonly payload: Uint32Array | undefined;
}

/**
 * For each run, how many of its rows are among the first `rank` rows in sorted order. Rows with equal digits keep the
 * order of the runs. Bisects on the digit: 32 searches in every run.
 */
export function splitsAt(runs: readonly SortedRun[], digit: (key: number) => number, rank: number): number[] {
  const below = (bound: number): number[] => runs.map(({ keys }) => countBelow(keys, digit, bound));
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  // Find the greatest digit for which at most `rank` rows are smaller.
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

/** How many keys of a sorted run have a digit below a bound. */
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
