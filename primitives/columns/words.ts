import { u32 } from '../functors/functor.ts';
import { bitsToI32, bitsToU32 } from '../functors/standard/bits.ts';
import { f32BitsToSortable, i32ToSortable, sortableToF32Bits, sortableToI32 } from '../functors/standard/sortable.ts';
import type { Bool, F32, I32, U32, Value } from '../functors/value.ts';
import { entryOf, type ScalarType } from '../ir/ir.ts';
import { Column, viewColumn } from './column.ts';
import type { FusionKey } from './known-fusions.ts';
import { fuse } from './program.ts';

/**
 * The bit patterns of the column's values as a column of u32, which may be a view. Some devices change NaNs and
 * subnormals when they move or compare f32; words preserve every bit.
 */
export function wordsOf(column: Column): Column<'u32'> {
  const words = wordsAtHand(column);
  if (words.type === 'u32') return words as Column<'u32'>;
  return wordView(column, [wordsOf], (value) =>
    column.type === 'bool' ? u32(value as Bool) : bitsToU32(value as I32 | F32),
  );
}

/**
 * The bit patterns of the column's values as a column of u32, if no computation is needed. A stored column is read as
 * u32 from the same memory, and a view that already returns u32 words is reused. In all other cases, returns the column
 * itself.
 */
export function wordsAtHand(column: Column): Column {
  const { context, length, source, type } = column;
  if (source.kind === 'view') {
    const isWord = entryOf(source.view.module).results[source.result] === 'u32';
    return isWord ? new Column(context, 'u32', length, source) : column;
  }
  const isWord = source.storage === 'f32' || source.storage === 'i32' || type === 'bool';
  return isWord ? new Column(context, 'u32', length, { ...source, storage: 'u32' }) : column;
}

/**
 * The keys mapped to u32 words that sort in the same order as the keys or, if `descending`, in the reverse order.
 * Keys of type f32 are ordered by the total order of IEEE 754.
 */
export function sortableWords(keys: Column, descending = false): Column<'u32'> {
  if (keys.type === 'u32' && !descending) return keys as Column<'u32'>;
  return wordView(wordsOf(keys), [sortableWords, keys.type, descending], (word) => {
    const sortable = sortableWord(word as U32, keys.type);
    return descending ? sortable.not() : sortable;
  });
}

/**
 * Maps the results of {@link sortableWords} back to keys. The result is a view of `words`, or `words` itself if no
 * mapping is needed.
 */
export function keysOfSortable<T extends ScalarType>(words: Column<'u32'>, type: T, descending = false): Column<T> {
  if (type === 'u32' && !descending) return words as Column as Column<T>;
  const view = fuse(
    'keys',
    [],
    ['u32'],
    (index, _, loader) => {
      const [word] = loader.load([words], index) as [U32];
      return [wordOfKey(word, type, descending)];
    },
    { by: [keysOfSortable, type, descending], columns: [words] },
  );
  return viewColumn(words.context, type, words.length, view);
}

function sortableWord(word: U32, type: ScalarType): U32 {
  if (type === 'i32') return i32ToSortable({ x: bitsToI32(word) });
  return type === 'f32' ? f32BitsToSortable({ bits: word }) : word;
}

/** Maps a result of {@link sortableWords} back to the bit pattern of the key. */
export function wordOfKey(word: U32, type: ScalarType, descending: boolean): U32 {
  const sortable = descending ? word.not() : word;
  if (type === 'i32') return bitsToU32(sortableToI32({ key: sortable }));
  return type === 'f32' ? sortableToF32Bits({ key: sortable }) : sortable;
}

/**
 * A view that maps each value of a column to a u32. `by` identifies the body in the cache of recordings, so that an
 * earlier recording of the body can be reused.
 */
function wordView(column: Column, by: FusionKey['by'], body: (value: Value<ScalarType>) => U32): Column<'u32'> {
  const view = fuse('words', [], ['u32'], (index, _, loader) => loader.load([column], index).map(body), {
    by,
    columns: [column],
  });
  return viewColumn(column.context, 'u32', column.length, view);
}
