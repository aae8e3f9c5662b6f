import type { Functor, u32 } from '../../primitives/functors/functor.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import type { HomeGroups, Power } from './exact-sums.ts';
import type { Folded } from './statistics.ts';

/** Words in the code of a functor, by name. */
export type Words = { readonly [name: string]: U32 };

/**
 * What is folded of the values of zones, for cells of one sample type: first the cells of each row of 32, then the rows
 * of each zone in a window, and then windows, rasters and parts of other processes, on the host. Integers are folded as
 * ordered words (u32 words that compare like the values). Everything is exact, so order does not matter.
 */
export interface Fold {
  /** The fields that it gives, with the type of their values. */
  readonly fields: { readonly [field in keyof Folded]?: 'number' | 'bigint' };
  /** The names of the words of a row. */
  readonly row: readonly string[];
  /** The names of the words of a zone, with their neutral values. */
  readonly zone: { readonly [name: string]: number };
  /**
   * Begins a row of cells, in the code of a functor.
   *
   * @param home - For f32, the group of exponents that is summed fastest.
   */
  begin(home: HomeWords): RowFold;
  /** Makes the words of a zone from those of a row, if they differ. */
  widen?(row: Words): Words;
  combine(a: Words, b: Words): Words;
  /** What no row holds of powers of f32; they are summed by themselves. */
  readonly wide?: WidePowers;
  /** Sets the fields of a zone from its row in a window. Returns false if no cell of the zone has data. */
  read(window: FoldedWindow, row: number, homes: HomeGroups, sums: FoldSums): boolean;
  /** Adds other fields of the same zone to `sums`. */
  add(sums: FoldSums, more: Folded): void;
  /** Whether values that another process has sent can be fields of a zone. */
  isPossible(found: Folded): boolean;
}

/** What is folded of a zone, as it grows. */
export type FoldSums = { -readonly [field in keyof Folded]: Folded[field] };

/** The fold of a row, while it goes from cell to cell. */
export interface RowFold {
  readonly words: Words;
  /** Takes a cell with data: an ordered word. Of f32, the stored word of a value in the run that was begun. */
  take(word: U32): void;
  /** Of f32 only: begins a run of values that have the same sign and exponent, which are the bits of `head`. */
  beginRun?(head: U32): void;
  /** Of f32 only: adds a run of `count` values to the words of the row. */
  endRun?(head: U32, count: U32): void;
}

/** The home groups in the code of a functor. */
export type HomeWords = { readonly [power in Power]: U32 };

/** Powers outside the home group and the next lower one, byte by byte, in counters for each zone of a window. */
export interface WidePowers {
  readonly power: Power;
  /** The word of a row that is 0 if the row has no such powers. */
  readonly flag: string;
  /** The name of the column of counters. */
  readonly digits: string;
  readonly digitOf: Functor<WideCell, { readonly counter: typeof u32; readonly value: typeof u32 }>;
}

type WideCell = { readonly [field in 'zone' | 'raw' | 'byte' | 'home']: typeof u32 };

/**
 * What was folded in a window, read to the host: a row for every zone that has cells in it, with the words of all folds,
 * and the counters of wide powers.
 */
export type FoldedWindow = { readonly [name: string]: Uint32Array } & { readonly zone: Uint32Array };
