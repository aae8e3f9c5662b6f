import { randomWords } from './webgpu-support.ts';

/** Named functions, each of which converts a random word to the length of a run of equal keys. */
export interface RunLengths {
  readonly [name: string]: (random: number) => number;
}

/**
 * Ways to choose the lengths of runs of equal keys. Some runs are shorter than a vector, some span several vectors, and
 * some cover all rows. The runs of `of long and short` have up to `long` rows.
 */
export function runLengths(long: number): RunLengths {
  return {
    'of one row': () => 1,
    'of some rows': (random) => 1 + (random % 7),
    'of sixteen rows': () => 16,
    'of long and short': (random) => (random % 3 === 0 ? 1 + (random % long) : 1 + (random % 3)),
    'of all rows': () => 2 ** 32,
  };
}

/** Generates `n` keys in runs of equal keys; consecutive runs have different keys. */
export function keysOfRuns(n: number, length: (random: number) => number, seed: number): Uint32Array {
  const random = randomWords(n, seed);
  const keys = new Uint32Array(n);
  for (let i = 0, run = 0; i < n; run++) {
    const end = Math.min(n, i + length(random[i]!));
    keys.fill(run % 3, i, end);
    i = end;
  }
  return keys;
}
