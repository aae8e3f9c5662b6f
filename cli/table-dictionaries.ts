import type { HostColumn } from '../algorithms/tables/host-table.ts';
import { orderOfStrings, placesIn, stringsAt } from '../algorithms/tables/string-order.ts';

/**
 * Converts columns of strings so that their dictionaries are sorted. A dictionary is sorted again only after strings
 * have been added to it.
 */
export interface SortedDictionaries {
  sorted(name: string, column: HostColumn): HostColumn;
}

interface Sorted {
  readonly strings: readonly string[];
  /** The place of the string of every code. */
  readonly places: Uint32Array;
}

export function sortedDictionaries(): SortedDictionaries {
  const known = new Map<string, Sorted>();
  return {
    sorted(name, column) {
      if (column.type !== 'string') return column;
      const { dictionary, codes } = column;
      const before = known.get(name);
      const own = before?.strings.length === dictionary.length ? before : sortedStrings(dictionary);
      known.set(name, own);
      const moved = new Uint32Array(codes.length);
      for (let row = 0; row < moved.length; row++) moved[row] = own.places[codes[row]!] ?? 0;
      return { ...column, codes: moved, dictionary: own.strings };
    },
  };
}

function sortedStrings(dictionary: readonly string[]): Sorted {
  const { order } = orderOfStrings(dictionary);
  return { strings: stringsAt(dictionary, order), places: placesIn(order) };
}
