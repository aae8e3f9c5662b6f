/** Arrays that are no longer used, for the next windows. Fresh memory is slow when it is first touched. */
export interface WordMemory {
  /** An array of at least so many words, with arbitrary contents. */
  take(words: number): Int32Array;
  give(array: Int32Array): void;
}

/** Number of arrays that are kept: as many as there are windows that are read or counted at the same time. */
const KEPT = 4;

export function wordMemory(): WordMemory {
  const free: Int32Array[] = [];
  return {
    take(words) {
      const at = free.findIndex(({ length }) => length >= words);
      if (at >= 0) return free.splice(at, 1)[0]!;
      // Arrays that are too small would never be taken.
      free.length = 0;
      return new Int32Array(words);
    },
    give(array) {
      if (free.length < KEPT) free.push(array);
    },
  };
}
