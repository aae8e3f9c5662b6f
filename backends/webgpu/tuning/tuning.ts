/** Numbers that change how fast kernels are, never what they compute. */
export interface Tuning {
  /** Threads of a workgroup and elements of a thread in a map. */
  readonly forEach: { readonly threads: number; readonly items: number };
  /**
   * Gathers of `min` rows and more from arrays of `min` to `max` words: into how many windows the array is cut, threads
   * of a workgroup, if the device has them, and elements of a thread. Fewer threads may have so many registers each that a
   * compiler reads at all places in all windows, which takes longer than any gather.
   */
  readonly gather: {
    readonly threads: number;
    readonly items: number;
    readonly windows: number;
    readonly min: number;
    readonly max: number;
  };
  /** Rows and words of a column from which on rows are moved before they are scattered, if they lie apart. */
  readonly scatter: { readonly min: number };
  /** Rows that a thread walks over where a primitive leaves it open: neighbouring threads then read that far apart. */
  readonly walkRows: number;
  /** Reductions in any order. */
  readonly reduce: ReduceTuning;
  /** Whether to use subgroups where the device has them. */
  readonly subgroups: boolean;
  /** Whether a workgroup or a single thread works on a block of the combination tree. */
  readonly blockBy: 'workgroup' | 'thread';
  /** Blocks of one word a state that a workgroup works on together. */
  readonly blockRows: number;
  /** Whether scans of exact monoids look back where the device has subgroups, and how. */
  readonly scan: LookBackTuning;
  /**
   * Keys of a tile in the portable radix sort, a power of two from 256 on, whether a workgroup or a thread has one, and
   * the sort that looks back instead where the device has subgroups.
   */
  readonly sort: { readonly tile: number; readonly tileBy: 'workgroup' | 'thread'; readonly sweep: SweepTuning };
  /**
   * Elements that a workgroup counts at least, workgroups that a launch aims at, and bins that a workgroup counts in its
   * own memory at most; and of keyed histograms, elements that a workgroup counts at most.
   */
  readonly histogram: {
    readonly tile: number;
    readonly groups: number;
    readonly ownBins: number;
    readonly keyedTile: number;
  };
  /** Commands that are recorded before a submission is handed over although nobody waits. */
  readonly commandsPerSubmission: number;
}

export interface ReduceTuning {
  /** Threads of a workgroup, elements that it takes at least, and workgroups that a launch aims at. */
  readonly threads: number;
  readonly tile: number;
  readonly groups: number;
  /** Tries before the last workgroup folds what another one's fold is not seen of. */
  readonly tries: number;
}

export interface LookBackTuning {
  readonly lookBack: boolean;
  /** Threads of a workgroup, and elements that a thread scans at most. */
  readonly threads: number;
  readonly items: number;
  /** Flags that a thread counts at most, where one result is stored or several are. */
  readonly flags: number;
  readonly flagsOfSeveral: number;
  /** Words of states that a thread has at most, or twice as many where they are of one run. */
  readonly words: number;
  /** Elements side by side that a thread has at most, where states have several leaves. */
  readonly run: number;
  /** Threads, as far as the device has them, and words of states where these begin anew at heads. */
  readonly heads: { readonly threads: number; readonly words: number };
  /** Tiles that a scan should have: for the sake of them a thread has fewer elements, but 8. */
  readonly tiles: number;
  /** Tries before a workgroup computes what another one has not published. */
  readonly tries: number;
}

export interface SweepTuning {
  readonly on: boolean;
  /** Threads of a workgroup, and keys that a thread holds; of a workgroup that sorts all there is alone, at most. */
  readonly threads: number;
  readonly keys: number;
  readonly alone: number;
  /** Parts of a tile that change places one after the other: more of them take less of the workgroup's memory. */
  readonly parts: number;
  /** What sorts of few rows have instead, so that there are tiles enough: eight times as many rows where there is a payload. */
  readonly few: { readonly rows: number; readonly keys: number; readonly parts: number };
  /** Tiles that a thread looks at together when it looks back. */
  readonly ahead: number;
  /** Workgroups that count the digits of all passes, at most. */
  readonly groups: number;
  /** Tiles below which the portable sort is used. */
  readonly minTiles: number;
  /** Tries before a workgroup counts what another one has not published. */
  readonly tries: number;
}

export const defaultTuning: Tuning = {
  forEach: { threads: 256, items: 4 },
  gather: { threads: 1024, items: 16, windows: 8, min: 2 ** 32, max: 2 ** 25 },
  scatter: { min: 2 ** 24 },
  walkRows: 4,
  subgroups: true,
  reduce: { threads: 256, tile: 4096, groups: 1024, tries: 64 },
  blockBy: 'workgroup',
  blockRows: 4,
  scan: {
    lookBack: true,
    threads: 256,
    items: 32,
    flags: 24,
    flagsOfSeveral: 16,
    words: 32,
    run: 8,
    heads: { threads: 512, words: 16 },
    tiles: 256,
    tries: 64,
  },
  sort: {
    tile: 4096,
    tileBy: 'workgroup',
    sweep: {
      on: true,
      threads: 256,
      keys: 24,
      alone: 16,
      parts: 2,
      few: { rows: 2 ** 20, keys: 14, parts: 1 },
      ahead: 8,
      groups: 512,
      minTiles: 2,
      tries: 64,
    },
  },
  histogram: { tile: 4096, groups: 4096, ownBins: 4096, keyedTile: 65536 },
  commandsPerSubmission: 4096,
};
