import type { Kernel } from '../launches/compile.ts';

/**
 * The dispatches, copies and clears of a script as they go to the device, to be repeated in every call. Everything they
 * work on has an index ({@link partNumbers}), so that scripts of equal structure share a tape. The values of a call are
 * added to its parameters.
 */
export interface Tape {
  readonly commands: readonly TapeCommand[];
  readonly dispatches: readonly TapeDispatch[];
  /** The parameters of all launches, before the values of a call are added. */
  readonly blocks: readonly ParameterBlock[];
  /** Sizes in words of the memories that live within a call. */
  readonly reserved: readonly number[];
  /** Number of runs of the spine, and its words. */
  readonly runs: number;
  readonly spineWords: number;
  /** Inputs that are read by fours. */
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

/** A byte of a part or of the parameters. */
export interface TapePlace {
  /** The index of the part; if negative, it is a block of parameters: {@link blockOf}. */
  readonly part: number;
  readonly byte: number;
}

export interface TapeDispatch {
  readonly kernel: Kernel;
  readonly groups: readonly [number, number, number];
  readonly command: TapeSlot;
  readonly dispatch: TapeSlot;
  readonly parts: readonly number[];
  /** Whether none of its parts come from the call, so that its bind group is always the same. */
  readonly isOwn: boolean;
}

/** Parameters within a block. */
export interface TapeSlot {
  readonly block: number;
  readonly byteOffset: number;
  readonly bytes: number;
}

export interface ParameterBlock {
  readonly words: Uint32Array;
  readonly bytes: number;
  /** The words to which the values of a call are added, and the index of each value. */
  readonly patches: readonly { readonly at: number; readonly value: number }[];
}

/**
 * Numbers of inputs, results and words of a script's block. They determine the indices of parts and of a call's values.
 */
export interface TapeLayout {
  readonly inputs: number;
  readonly results: number;
  readonly words: number;
  /** For a tape whose lengths only the device knows: the block's words with the lengths of tables; otherwise empty. */
  readonly counted: readonly number[];
}

/** The indices of the parts that a call provides; those of reserved memory start at `own`. */
export const partNumbers = {
  input: (_: TapeLayout, at: number): number => at,
  result: ({ inputs }: TapeLayout, at: number): number => inputs + at,
  count: ({ inputs, results }: TapeLayout, k: number): number => inputs + results + k,
  spine: ({ inputs, results, counted }: TapeLayout): number => inputs + results + counted.length,
  own: ({ inputs, results, counted }: TapeLayout): number => inputs + results + counted.length + 1,
};

/**
 * The indices of a call's values: the words of the block, offsets of inputs, three values for each count, and the
 * epoch.
 */
export const valueNumbers = {
  offset: ({ words }: TapeLayout, input: number): number => words + input,
  countWord: ({ words, inputs }: TapeLayout, k: number): number => words + inputs + 3 * k,
  epoch: ({ words, inputs, counted }: TapeLayout): number => words + inputs + 3 * counted.length,
};

/** Converts between the index of a block of parameters and the part of a {@link TapePlace}. */
export function partOfBlock(block: number): number {
  return -1 - block;
}
export function blockOf(part: number): number {
  return -1 - part;
}
