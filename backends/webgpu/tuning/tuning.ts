/** Numbers that affect the speed of kernels, never their results. */
export interface Tuning {
  /** Threads of a workgroup, and elements of a thread, in a map. */
  readonly forEach: { readonly threads: number; readonly items: number };
  /**
   * Large random gathers (at least `min` rows, from arrays of `min` to `max` words) read the array in `windows` slices
   * that fit the cache. `threads` is the size of a workgroup, if the device allows it, and `items` the elements of a
   * thread. With fewer threads, each may have so many registers that a compiler loads all elements in all windows,
   * which takes longer than any plain gather.
   */
  readonly gather: {
    readonly threads: number;
    readonly items: number;
    readonly windows: number;
    readonly min: number;
    readonly max: number;
  };
  /**
   * Scatters of at least this many rows to columns of at least this many words first group the rows by target, if
   * targets are far apart.
   */
  readonly scatter: { readonly min: number };
  /**
   * Rows of a thread in a walk, if the primitive is free to choose. Neighbouring threads then read this many rows
   * apart.
   */
  readonly walkRows: number;
  /** Reductions in any order. */
  readonly reduce: ReduceTuning;
  /** Whether to use subgroups if the device has them. */
  readonly subgroups: boolean;
  /** Whether a block of the combination tree is computed by a workgroup or by a single thread. */
  readonly blockBy: 'workgroup' | 'thread';
  /** Blocks that a workgroup computes together, for states of one word. */
  readonly blockRows: number;
  /** Scans of exact monoids by look-back, on devices with subgroups. */
  readonly scan: LookBackTuning;
  /**
   * The portable radix sort: `tile` is the number of keys in a tile, a power of two of at least 256, and `tileBy` says
   * whether a workgroup or a thread sorts a tile. `sweep` tunes the sort by look-back that replaces it on devices with
   * subgroups.
   */
  readonly sort: { readonly tile: number; readonly tileBy: 'workgroup' | 'thread'; readonly sweep: SweepTuning };
  /**
   * The minimum number of elements that a workgroup counts, the target number of workgroups of a launch, and the
   * maximum number of bins counted in workgroup memory. For keyed histograms, also the maximum number of elements that
   * a workgroup counts.
   */
  readonly histogram: {
    readonly tile: number;
    readonly groups: number;
    readonly ownBins: number;
    readonly keyedTile: number;
  };
  /** Number of commands after which a submission is made even if nobody waits. */
  readonly commandsPerSubmission: number;
}

export interface ReduceTuning {
  /** Threads of a workgroup, minimum elements of a workgroup, and target number of workgroups of a launch. */
  readonly threads: number;
  readonly tile: number;
  readonly groups: number;
  /** Number of polls before the last workgroup computes the fold of another one that has not published it. */
  readonly tries: number;
}

export interface LookBackTuning {
  readonly lookBack: boolean;
  /** Threads of a workgroup, and maximum elements of a thread. */
  readonly threads: number;
  readonly items: number;
  /** Maximum flags that a thread counts, if one result is stored and if several are. */
  readonly flags: number;
  readonly flagsOfSeveral: number;
  /** Maximum words of state of a thread; twice as many if they belong to one run. */
  readonly words: number;
  /** Maximum adjacent elements of a thread, if states have several leaves. */
  readonly run: number;
  /** Threads (if the device allows them) and words of state, for states that restart at heads. */
  readonly heads: { readonly threads: number; readonly words: number };
  /** Target number of tiles of a scan. To reach it, a thread takes fewer elements, but at least 8. */
  readonly tiles: number;
  /** Number of polls before a workgroup computes what another one has not published. */
  readonly tries: number;
}

export interface SweepTuning {
  readonly on: boolean;
  /**
   * Threads of a workgroup, and keys of a thread; `alone` is the maximum keys of a workgroup that sorts the whole input
   * alone.
   */
  readonly threads: number;
  readonly keys: number;
  readonly alone: number;
  /**
   * Number of parts in which a tile is reordered, one after another; with more parts it needs less workgroup memory.
   */
  readonly parts: number;
  /**
   * Values used for at most `rows` rows, so that there are enough tiles; with a payload, for eight times as many rows.
   */
  readonly few: { readonly rows: number; readonly keys: number; readonly parts: number };
  /** Number of tiles that a thread inspects together when it looks back. */
  readonly ahead: number;
  /** Maximum number of workgroups that count the digits of all passes. */
  readonly groups: number;
  /** With fewer tiles, the portable sort is used. */
  readonly minTiles: number;
  /** Number of polls before a workgroup counts what another one has not published. */
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
