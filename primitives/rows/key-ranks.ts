import type { Column, ColumnOwner } from '../columns/column.ts';
import type { FusionKey } from '../columns/known-fusions.ts';
import type { Loader } from '../columns/program.ts';
import { computedColumn } from '../columns/views.ts';
import { wordsOf } from '../columns/words.ts';
import { i32 } from '../functors/functor.ts';
import { bitsToI32, bitsToU32 } from '../functors/standard/bits.ts';
import { select } from '../functors/standard/choose.ts';
import type { I32, U32 } from '../functors/value.ts';
import type { ScalarType } from '../ir/ir.ts';

/** The best `k` keys of rows are searched. */
export interface TopSearch {
  readonly context: ColumnOwner;
  /** The columns of the keys, the most significant word first. */
  readonly columns: readonly Column[];
  readonly length: Column['length'];
  readonly smallest: boolean;
  readonly k: number;
}

/** Where the best rows are stored, `k` for each segment, and how many a segment has, if that is asked. */
export interface Tops {
  readonly keys: readonly Column[];
  readonly rows: Column<'u32'>;
  readonly counts?: Column<'u32'>;
}

/** Rows among which the best are searched, by their ranks: the first of those with equal ranks is the better. */
export interface Candidates {
  readonly length: Column['length'];
  readonly columns: readonly Column[];
  /** What the code depends on but for the columns. */
  readonly by: FusionKey['by'];
  readonly rankAt: (index: U32, loader: Loader) => I32;
  /** The number of the row; {@link NO_ROW} of that. */
  readonly rowAt: (index: U32, loader: Loader) => U32;
}

/** The number of a row where there is none. */
export const NO_ROW: number = 2 ** 32 - 1;

/** The rank of the worst of all keys, and of no key. */
export const WORST: number = -(2 ** 31);

/** A word of a key as an i32 that is the greater the better the key is. All NaN have the same. */
function rankOf(word: U32, type: ScalarType, smallest: boolean): I32 {
  const rank = ascendingRank(word, type);
  return smallest ? rank.not() : rank;
}

function ascendingRank(word: U32, type: ScalarType): I32 {
  const bits = bitsToI32(word);
  if (type === 'i32') return bits;
  if (type === 'u32') return bits.xor(WORST);
  const ordered = bits.xor(select(i32(0), 2 ** 31 - 1, bits.lt(0)));
  return select(ordered, 2 ** 31 - 1, bits.and(2 ** 31 - 1).gt(0x7f800000));
}

/** Columns of keys as words of u32 in the order of their ranks, the best first. */
export function orderWords(columns: readonly Column[], smallest: boolean): Column<'u32'>[] {
  return columns.map((column) => {
    const words = wordsOf(column);
    const key = { by: [orderWords, column.type, smallest], columns: [words] };
    return computedColumn('order', 'u32', column, key, (index, loader) => {
      const [word] = loader.load([words], index) as [U32];
      return bitsToU32(rankOf(word, column.type, smallest)).xor(2 ** 31 - 1);
    });
  });
}

/** All rows, by the ranks of their keys of one word. */
export function rowsByKey({ columns, length, smallest }: TopSearch): Candidates {
  const words = columns.map(wordsOf);
  const [{ type }] = columns as [Column];
  return {
    length,
    columns: words,
    by: [rowsByKey, type, smallest],
    rankAt: (index, loader) => rankOf(loader.loadWithin(words, index, length)[0] as U32, type, smallest),
    rowAt: (index) => index,
  };
}
