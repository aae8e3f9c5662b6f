import type { Kernel } from '../launches/compile.ts';

/**
 * The dispatches, copies and clears of a script as they go to the device, to be played again in every call. Everything that they
 * work on has a number, so that scripts of one structure share the tape: {@link partNumbers}. What changes in the parameters of a
 * call is added to them.
 */
export interface Tape {
  readonly commands: readonly TapeCommand[];
  readonly dispatches: readonly TapeDispatch[];
  /** The parameters of all launches, as they are but for what is added in a call. */
  readonly blocks: readonly ParameterBlock[];
  /** Words of the memories for what lives within a call. */
  readonly reserved: readonly number[];
  /** Runs of the spine, and its words. */
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

/** A byte of a part, or of the parameters. */
export interface TapePlace {
  /** The number of the part; that of a block of parameters where it is below 0: {@link blockOf}. */
  readonly part: number;
  readonly byte: number;
}

export interface TapeDispatch {
  readonly kernel: Kernel;
  readonly groups: readonly [number, number, number];
  readonly command: TapeSlot;
  readonly dispatch: TapeSlot;
  readonly parts: readonly number[];
  /** Whether a call brings none of its parts along, so that its bind group is always the same. */
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
  /** Where the values of a call are added: the words, and which value. */
  readonly patches: readonly { readonly at: number; readonly value: number }[];
}

/**
 * What the numbers of a tape mean, for a script of so many inputs, results and words in its block: parts and values of a call
 * stand in these orders.
 */
export interface TapeLayout {
  readonly inputs: number;
  readonly results: number;
  readonly words: number;
  /** Tables whose lengths the device knows, if the tape is for that; their words of the block. */
  readonly counted: readonly number[];
}

/** The numbers of the parts that a call brings along; from `own` on those of the memory that is reserved. */
export const partNumbers = {
  input: (_: TapeLayout, at: number): number => at,
  result: ({ inputs }: TapeLayout, at: number): number => inputs + at,
  count: ({ inputs, results }: TapeLayout, k: number): number => inputs + results + k,
  spine: ({ inputs, results, counted }: TapeLayout): number => inputs + results + counted.length,
  own: ({ inputs, results, counted }: TapeLayout): number => inputs + results + counted.length + 1,
};

/** The numbers of the values of a call: the words of the block, offsets of inputs, three of each count, and the epoch. */
export const valueNumbers = {
  offset: ({ words }: TapeLayout, input: number): number => words + input,
  countWord: ({ words, inputs }: TapeLayout, k: number): number => words + inputs + 3 * k,
  epoch: ({ words, inputs, counted }: TapeLayout): number => words + inputs + 3 * counted.length,
};

/** A block of parameters as the part of a {@link TapePlace}, and the block of such a part. */
export function partOfBlock(block: number): number {
  return -1 - block;
}
export function blockOf(part: number): number {
  return -1 - part;
}
