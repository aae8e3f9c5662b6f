import type { Kernel } from '../compile.ts';
import type { Memory, Part } from '../memory.ts';

/**
 * The dispatches, copies and clears of a script as they go to the device, to be played again in every call. What a call brings
 * along stands on it as parts that have a number; what changes in its parameters is added to them.
 */
export interface Tape {
  readonly commands: readonly TapeCommand[];
  readonly dispatches: readonly TapeDispatch[];
  /** The parameters of all launches, as they are but for what is added in a call. */
  readonly blocks: readonly ParameterBlock[];
  /** Memory for what lives within a call. */
  readonly reserved: readonly Memory[];
  readonly bytes: number;
  /** Parts of that memory, and those of them that are written. */
  readonly parts: readonly Part[];
  readonly written: readonly Part[];
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

/** A byte of a part, of what stands for one in a call, or of the parameters. */
export interface TapePlace {
  readonly part: Part;
  readonly byte: number;
  /** The block of parameters, where it is in one. */
  readonly block: number | undefined;
}

export interface TapeDispatch {
  readonly kernel: Kernel;
  readonly groups: readonly [number, number, number];
  readonly command: TapeSlot;
  readonly dispatch: TapeSlot;
  readonly parts: readonly Part[];
  /** The bind group of its parts, where none of them is brought along by a call. */
  storage: GPUBindGroup | undefined;
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

/** The numbers of the parts that a call brings along. */
export const partNumbers = {
  input: (_: TapeLayout, at: number): number => at,
  result: ({ inputs }: TapeLayout, at: number): number => inputs + at,
  count: ({ inputs, results }: TapeLayout, k: number): number => inputs + results + k,
  spine: ({ inputs, results, counted }: TapeLayout): number => inputs + results + counted.length,
};

/** The numbers of the values of a call: the words of the block, offsets of inputs, three of each count, and the epoch. */
export const valueNumbers = {
  offset: ({ words }: TapeLayout, input: number): number => words + input,
  countWord: ({ words, inputs }: TapeLayout, k: number): number => words + inputs + 3 * k,
  epoch: ({ words, inputs, counted }: TapeLayout): number => words + inputs + 3 * counted.length,
};
