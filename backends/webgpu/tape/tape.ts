import type { Kernel } from '../launches/compile.ts';

/**
 * The dispatches, copies and clears that every call of a script (recorded commands of a prepared pipeline) repeats. GPU
 * buffers are represented by numbers ({@link partNumbers}), so that scripts with the same structure can share a tape.
 * Each call provides the buffers outside the reserved memory, and values that are added to the parameters.
 */
export interface Tape {
  readonly commands: readonly TapeCommand[];
  readonly dispatches: readonly TapeDispatch[];
  /** The parameters of all launches, in blocks, before the values of a call are added. */
  readonly blocks: readonly ParameterBlock[];
  /** Sizes in words of the temporary memories of a call. */
  readonly reserved: readonly number[];
  /**
   * `runs` is the number of dispatches that use the spine (memory in which workgroups communicate), and `spineWords` is
   * the size of the spine in words.
   */
  readonly runs: number;
  readonly spineWords: number;
  /** Numbers of the inputs from which kernels read four words at once. */
  readonly readByFours: ReadonlySet<number>;
}

export type TapeCommand =
  | { readonly kind: 'dispatch'; readonly number: number }
  | {
      readonly kind: 'copy';
      readonly from: TapePlace;
      readonly to: TapePlace;
      readonly bytes: number;
    }
  | { readonly kind: 'clear'; readonly at: TapePlace; readonly bytes: number };

/** A byte in a part (GPU buffer) or in a block of parameters. */
export interface TapePlace {
  /** The number of the part (GPU buffer). A negative number stands for a block of parameters; see {@link blockOf}. */
  readonly part: number;
  readonly byte: number;
}

export interface TapeDispatch {
  readonly kernel: Kernel;
  readonly groups: readonly [number, number, number];
  readonly command: TapeSlot;
  readonly dispatch: TapeSlot;
  readonly parts: readonly number[];
  /**
   * Whether the dispatch uses only memory of the tape (recorded launches), so that its bind group is the same in all
   * calls.
   */
  readonly isOwn: boolean;
}

/** The position of parameters within a block. */
export interface TapeSlot {
  readonly block: number;
  readonly byteOffset: number;
  readonly bytes: number;
}

export interface ParameterBlock {
  readonly words: Uint32Array;
  readonly bytes: number;
  /** The additions to the block's words: each call adds its value with the index `value` to word `at`. */
  readonly patches: readonly { readonly at: number; readonly value: number }[];
}

/**
 * The numbers of inputs, results and block words of a script (recorded commands). The block is a buffer of the lengths
 * and uniforms of a call. The indices in {@link partNumbers} and {@link valueNumbers} follow from these counts.
 */
export interface TapeLayout {
  readonly inputs: number;
  readonly results: number;
  readonly words: number;
  /** Indices of the block's words that contain lengths of tables. Empty if the host knows all lengths. */
  readonly counted: readonly number[];
}

/**
 * The numbers that represent parts (GPU buffers) on a tape. Parts of reserved memory have the numbers from `own` on;
 * all other parts differ from call to call.
 */
export const partNumbers = {
  input: (_: TapeLayout, at: number): number => at,
  result: ({ inputs }: TapeLayout, at: number): number => inputs + at,
  count: ({ inputs, results }: TapeLayout, k: number): number => inputs + results + k,
  spine: ({ inputs, results, counted }: TapeLayout): number => inputs + results + counted.length,
  own: ({ inputs, results, counted }: TapeLayout): number => inputs + results + counted.length + 1,
};

/**
 * Indices of the values that a call provides. The words of the script's block come first, then the offsets of the
 * inputs. Three values for each device count (`word`, `minus` and `limit`) follow, and the epoch of the spine comes
 * last.
 */
export const valueNumbers = {
  offset: ({ words }: TapeLayout, input: number): number => words + input,
  countWord: ({ words, inputs }: TapeLayout, k: number): number => words + inputs + 3 * k,
  epoch: ({ words, inputs, counted }: TapeLayout): number => words + inputs + 3 * counted.length,
};

/**
 * This function and the next convert between the index of a parameter block and the number that represents the block in
 * {@link TapePlace}.
 */
export function partOfBlock(block: number): number {
  return -1 - block;
}
export function blockOf(part: number): number {
  return -1 - part;
}
