import type { U32 } from '../../primitives/functors/value.ts';
import type { RasterGrid } from '../geometry/raster.ts';
import type { GroupLayout, HomeGroups, Power } from './exact-sums.ts';
import type { Folded } from './statistic-kinds.ts';

/** Words in the code of a functor. Those of an integer begin with the lowest. */
export type Words = readonly U32[];

/**
 * What is folded of the values of zones, for cells of one sample type: first the cells of each row of 32, then the rows
 * of each zone in a window, and then windows, rasters and parts of other processes, on the host. Integers are folded as
 * ordered words (u32 words, or two for 64 bits, that compare like the values). Everything is exact, so order does not matter.
 */
export interface Fold extends ZoneFold {
  /** Begins a row of cells, in the code of a functor. */
  begin(homes: { readonly [power in Power]: U32 }): RowFold;
}

/** As {@link Fold}, of cells that have weights: whole numbers. */
export interface WeightedFold extends ZoneFold {
  begin(homes: { readonly [power in Power]: U32 }): WeightedRow;
}

/** What is known of a fold besides how it goes along a row. */
export interface ZoneFold {
  /** Begins the names of its columns. */
  readonly name: string;
  /** The fields that it gives, with the type of their values. */
  readonly fields: { readonly [field in keyof Folded]?: 'number' | 'bigint' };
  /** Number of words of a row. */
  readonly rowWords: number;
  /** The neutral words of a zone. */
  readonly neutral: readonly number[];
  /** Whether it needs the places of rows: the number of a row's first cell among those of the window, row by row. */
  readonly usesPlaces?: boolean;
  /** Makes the words of a zone from those of a row, if they differ. `place` is undefined if no fold uses places. */
  widen?(row: Words, place: U32 | undefined): Words;
  combine(a: Words, b: Words): Words;
  /**
   * Of floats only: the powers that are summed. Those outside the home group and the next lower one are summed byte by byte,
   * in counters for each zone of a window. The last word of a row is 0 if the row has none.
   */
  readonly widePower?: Power;
  /** How these powers are summed. */
  readonly layout?: GroupLayout;
  /** Sets the fields of a zone from its words in a window. Returns false if no cell of the zone has data. */
  read(words: readonly number[], sums: FoldSums, wide: WideSums): boolean;
  /** Adds other fields of the same zone to `sums`. */
  add(sums: FoldSums, more: FoldSums): void;
  /** Whether values that another process has sent can be fields of a zone in rasters of these grids. */
  isPossible(found: Folded, grids: readonly RasterGrid[]): boolean;
}

/** What is folded of a zone, as it grows. Sums are numbers as long as these are exact. */
export type FoldSums = { -readonly [field in keyof Folded]: Folded[field] | (field extends SumField ? number : never) };

/** The fields of sums, and of weights. */
export type SumField = 'sum' | 'squares' | 'area' | 'lacking' | ProductField;

/** The fields of Σw, Σwx and Σwx². */
export type ProductField = 'weights' | 'products' | 'productsOfSquares';

/** The fold of a row, while it goes from cell to cell. */
export interface RowFold {
  readonly words: Words;
  /**
   * Takes a cell with data: its ordered words. Of floats, the stored words of a value in the run that was begun. `rank` is
   * the number of the cell in the row.
   */
  take(words: Words, rank: U32): void;
  /** Of floats only: begins a run of values that have the same sign and exponent, which are the bits of `head`. */
  beginRun?(head: U32): void;
  /** Of floats only: adds a run of `count` values to the words of the row. */
  endRun?(head: U32, count: U32): void;
}

/** A fold of cells with weights, while it goes along a row. */
export interface WeightedRow {
  readonly words: Words;
  /** Takes a cell with data: its stored words, and its weight, from −2³¹ to 2³¹ − 1. */
  take(raw: Words, weight: U32): void;
  /** Takes a cell without data. */
  lack?(weight: U32): void;
}

/** Where a fold finds the counters of wide powers of a zone, and the home groups of the window. */
export interface WideSums {
  /** The place of a cell of the window; see `placeOfCell`. */
  placeOf(cell: number): bigint;
  /** The zone, by its number in the window. */
  readonly zone: number;
  /** The counters of all zones. Undefined if the fold has none. */
  readonly digits: Uint32Array | undefined;
  readonly homes: HomeGroups;
}

/** A record with the words of all folds, by the names of their columns. */
export function namedWords<T, F extends ZoneFold>(
  folds: readonly F[],
  wordsOf: (fold: F, at: number) => readonly T[],
): Readonly<Record<string, T>> {
  return Object.fromEntries(
    folds.flatMap((fold, at) => wordsOf(fold, at).map((word, i) => [`${fold.name}${i}`, word])),
  );
}

/** The first `count` words of a fold in such a record. */
export function wordsIn<T>({ name }: ZoneFold, named: { readonly [name: string]: T }, count: number): readonly T[] {
  return Array.from({ length: count }, (_, i) => named[`${name}${i}`]!);
}

/** The name of the column with the counters of wide powers. */
export function digitsName({ name }: ZoneFold): string {
  return `${name}Digits`;
}
