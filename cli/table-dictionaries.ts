import type { Stretches } from '../algorithms/stretches.ts';
import { translated } from '../algorithms/tables/dictionary.ts';
import type { HostColumn } from '../algorithms/tables/host-table.ts';
import { orderOfStrings, placesIn, stringsAt } from '../algorithms/tables/string-order.ts';

/**
 * Converts columns of strings so that their dictionaries are sorted. A dictionary is sorted again only after strings
 * have been added to it.
 */
export interface SortedDictionaries {
  sorted(name: string, column: HostColumn): Stretches<HostColumn>;
}

interface Sorted {
  readonly strings: readonly string[];
  /** The place of the string of every code. */
  readonly places: Uint32Array;
}

export function sortedDictionaries(): SortedDictionaries {
  const known = new Map<string, Sorted>();
  return {
    *sorted(name, column) {
      if (column.type !== 'string') return column;
      const { dictionary, codes } = column;
      const before = known.get(name);
      const own = before?.strings.length === dictionary.length ? before : yield* sortedStrings(dictionary);
      known.set(name, own);
      return { ...column, codes: yield* translated(codes, own.places), dictionary: own.strings };
    },
  };
}

function* sortedStrings(dictionary: readonly string[]): Stretches<Sorted> {
  const { order } = yield* orderOfStrings(dictionary);
  return { strings: yield* stringsAt(dictionary, order), places: yield* placesIn(order) };
}
