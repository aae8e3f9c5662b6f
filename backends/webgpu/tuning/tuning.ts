/** Numbers that affect the speed of kernels, never their results. */
export interface Tuning {
  /**
   * For maps and other `forEach` commands: threads per workgroup, elements per thread, and maximum number of workgroups
   * if only the device knows the length. Often few of as many rows as may be are left, as of `copyIf`, and workgroups
   * without rows take time, too. More rows than the workgroups have threads for are taken range by range.
   */
  readonly forEach: { readonly threads: number; readonly items: number; readonly groups: number };
  /**
   * For random gathers of at least `min` rows from arrays of `min` to `max` words. Such a gather reads the array in
   * `windows` slices that fit into the cache. `threads` is the number of threads per workgroup, and `items` is the
   * number of elements per thread. If the device does not allow so many threads, the plain gather is used: with fewer
   * threads per workgroup, each thread has more registers, and a compiler may load every element once per slice, which
   * is slower than the plain gather.
   */
  readonly gather: {
    readonly threads: number;
    readonly items: number;
    readonly windows: number;
    readonly min: number;
    readonly max: number;
  };
  /**
   * For scatters of at least `min` rows to columns of at least `min` words. If the targets are far apart, such a
   * scatter first groups the rows by target.
   */
  readonly scatter: { readonly min: number };
  /**
   * Number of rows per thread in a walk (a kernel in which a thread visits one row after another), if the primitive may
   * choose the number. Adjacent threads then start this number of rows apart.
   */
  readonly walkRows: number;
  /** For reductions that may combine elements in any order. */
  readonly reduce: ReduceTuning;
  /** Whether to use subgroups if the device has them. */
  readonly subgroups: boolean;
  /**
   * Whether a workgroup or a single thread computes a block (1,024 elements) of the combination tree (the fixed
   * bracketing of reductions and scans).
   */
  readonly blockBy: 'workgroup' | 'thread';
  /**
   * If `blockBy` is `workgroup`: maximum number of blocks of the combination tree per workgroup, for states (values to
   * combine) of one word. For larger states, the maximum is smaller.
   */
  readonly blockRows: number;
  /** For scans with exact monoids in one pass (by look-back), on devices with subgroups. */
  readonly scan: LookBackTuning;
  /**
   * For scans of the rows or columns of grids: number of threads per workgroup, a power of two, and maximum number of
   * words that the adjacent cells of a thread may take.
   */
  readonly lines: { readonly threads: number; readonly items: number };
  /**
   * For merges: threads per workgroup, a power of two, and maximum number of rows per thread, at most 31, for keys of one
   * word. An odd number of rows spreads them over the banks of workgroup memory.
   */
  readonly merge: { readonly threads: number; readonly items: number };
  /** For set operations. */
  readonly sets: SetsTuning;
  /**
   * For the portable radix sort: `tile` is the number of keys per tile, a power of two of at least 256, and `tileBy`
   * says whether a workgroup or a thread sorts a tile. `sweep` is for the faster sort (OneSweep) on devices with
   * subgroups.
   */
  readonly sort: { readonly tile: number; readonly tileBy: 'workgroup' | 'thread'; readonly sweep: SweepTuning };
  /**
   * For histograms: the minimum number of elements per workgroup (`tile`), the target number of workgroups per launch
   * (`groups`), and the maximum number of bins in workgroup memory (`ownBins`). `keyedTile` is the maximum number of
   * elements per workgroup in keyed histograms.
   */
  readonly histogram: {
    readonly tile: number;
    readonly groups: number;
    readonly ownBins: number;
    readonly keyedTile: number;
  };
  /** When this number of commands are recorded, they are submitted even if nobody waits for a result. */
  readonly commandsPerSubmission: number;
}

export interface ReduceTuning {
  /**
   * Threads per workgroup (`threads`), minimum elements per workgroup (`tile`), and target number of workgroups per
   * launch (`groups`).
   */
  readonly threads: number;
  readonly tile: number;
  readonly groups: number;
  /**
   * Number of times that the last workgroup polls for the fold (partial result) of another workgroup before the last
   * workgroup computes that fold itself.
   */
  readonly tries: number;
}

export interface LookBackTuning {
  readonly lookBack: boolean;
  /** Number of threads per workgroup, and maximum number of elements per thread. */
  readonly threads: number;
  readonly items: number;
  /**
   * Maximum number of flags per thread in scans that count flags: `flags` applies if one result is stored,
   * `flagsOfSeveral` if several results are stored.
   */
  readonly flags: number;
  readonly flagsOfSeveral: number;
  /**
   * Maximum number of words that the states of a thread may take. If a thread has adjacent elements, the maximum is
   * twice this number.
   */
  readonly words: number;
  /** Maximum number of adjacent elements per thread if states have several leaves (scalar components). */
  readonly run: number;
  /**
   * For segmented scans: number of threads per workgroup, if the device allows so many, and maximum number of words
   * that the states of a thread may take.
   */
  readonly heads: { readonly threads: number; readonly words: number };
  /** Target number of tiles per scan. To reach this number, threads get fewer elements, but at least 8. */
  readonly tiles: number;
  /** Number of times that a workgroup polls for another tile's total before it computes that total itself. */
  readonly tries: number;
}

export interface SetsTuning {
  /** As of merges. */
  readonly threads: number;
  readonly items: number;
  /** Whether the places of rows are found by look-back, on devices with subgroups. */
  readonly lookBack: boolean;
  /** Number of times that a workgroup polls for another tile's number of rows before it counts these rows itself. */
  readonly tries: number;
}

export interface SweepTuning {
  readonly on: boolean;
  /**
   * Threads per workgroup (`threads`), and keys per thread (`keys`). `alone` is the maximum number of keys per thread
   * if a single workgroup sorts the whole input.
   */
  readonly threads: number;
  readonly keys: number;
  readonly alone: number;
  /** Number of parts in which a tile is reordered, one after another. More parts need less workgroup memory. */
  readonly parts: number;
  /**
   * Values of `keys` and `parts` for short inputs, which would otherwise have too few tiles. An input is short if there
   * are at most `rows` rows without a payload, or at most 8 · `rows` rows with a payload.
   */
  readonly few: { readonly rows: number; readonly keys: number; readonly parts: number };
  /** Number of preceding tiles that a thread inspects at a time when it looks back. */
  readonly ahead: number;
  /** Maximum number of workgroups of the launch that counts digits. */
  readonly groups: number;
  /** Minimum number of tiles. Inputs with fewer tiles use the portable sort. */
  readonly minTiles: number;
  /** Number of times that a workgroup polls for another tile's counts before it counts that tile itself. */
  readonly tries: number;
}

export const defaultTuning: Tuning = {
  forEach: { threads: 256, items: 4, groups: 8192 },
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
  lines: { threads: 256, items: 16 },
  merge: { threads: 256, items: 9 },
  sets: { threads: 256, items: 15, lookBack: true, tries: 64 },
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
