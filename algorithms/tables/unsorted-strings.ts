import type { Column } from '../../primitives/columns/column.ts';
import { writeWords } from '../../primitives/rows/row-results.ts';
import { atOnce, type Stretches } from '../stretches.ts';
import { boundsOfWords } from './bounds.ts';
import type { DeviceTable, TableColumn } from './device-table.ts';
import { type StringColumn, sortedDictionary } from './dictionary.ts';

/** What a column has before its dictionary is sorted. Its words are undefined until then. */
export interface Unsorted extends Pick<TableColumn, 'name' | 'kind' | 'key' | 'validity' | 'scale'> {
  readonly words: readonly [Column<'u32'>];
}

type Sorted = Pick<TableColumn, 'bounds' | 'dictionary'>;

interface Sorting {
  readonly unsorted: Unsorted;
  /** Sorts the dictionary, unless it is sorted. Several questions may do this work by turns. */
  readonly settle: () => Stretches<void>;
}

const sortings = new WeakMap<object, Sorting>();

/**
 * Makes a column of strings whose dictionary is sorted later: by the first awaited question in stretches, or at once
 * where something that the order determines is read before. An error, such as a string that occurs twice, is thrown
 * then.
 */
export function sortedLater(unsorted: Unsorted, given: StringColumn): TableColumn {
  const work = sorting(unsorted, { ...given, codes: given.codes.slice() }, given.dictionary.length);
  let result: (() => Sorted) | undefined;
  const settle = function* (): Stretches<void> {
    while (result === undefined) {
      const step = work.next();
      if (step.done === true) result = step.value;
      else yield;
    }
  };
  const sorted = (): Sorted => {
    atOnce(settle());
    return result!();
  };
  const column: TableColumn = {
    ...unsorted,
    get words() {
      sorted();
      return unsorted.words;
    },
    get bounds() {
      return sorted().bounds;
    },
    get dictionary() {
      return sorted().dictionary;
    },
  };
  sortings.set(column, { unsorted, settle });
  return column;
}

/** Returns a function that returns the sorted dictionary, or throws. */
function* sorting({ name, words }: Unsorted, given: StringColumn, length: number): Stretches<() => Sorted> {
  try {
    // Readers add strings to a dictionary while they read on.
    const strings = given.dictionary.length === length ? given.dictionary : given.dictionary.slice(0, length);
    const { codes, dictionary } = yield* sortedDictionary(name, { ...given, dictionary: strings });
    writeWords(words[0].context!, words[0], 0, codes);
    const sorted = { bounds: boundsOfWords(codes), dictionary };
    return () => sorted;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Sorts the dictionaries of a table that are not sorted yet. */
export function* settle({ columns }: DeviceTable): Stretches<void> {
  for (const column of Object.values(columns)) {
    const sorting = sortings.get(column);
    if (sorting !== undefined) yield* sorting.settle();
  }
}

/** What a column has on the device, without sorting its dictionary. */
export function storedOf<C extends object>(column: C): C | Unsorted {
  return sortings.get(column)?.unsorted ?? column;
}
