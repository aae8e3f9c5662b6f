import { compareStrings } from '../algorithms/tables/dictionary.ts';
import type { HostColumn } from '../algorithms/tables/host-table.ts';

/**
 * Converts columns of strings so that their dictionaries are sorted. A dictionary is sorted again only after strings
 * have been added to it.
 */
export interface SortedDictionaries {
  sorted(name: string, column: HostColumn): HostColumn;
}

interface Sorted {
  /** The codes of the strings, in the alphabetical order of the strings. */
  order: number[];
  strings: string[];
  places: Uint32Array;
}

export function sortedDictionaries(): SortedDictionaries {
  const known = new Map<string, Sorted>();
  return {
    sorted(name, column) {
      if (column.type !== 'string') return column;
      const { dictionary, codes } = column;
      const own = known.get(name) ?? { order: [], strings: [], places: new Uint32Array(0) };
      known.set(name, own);
      if (own.order.length !== dictionary.length) sortAgain(own, dictionary);
      const moved = new Uint32Array(codes.length);
      for (let row = 0; row < moved.length; row++) moved[row] = own.places[codes[row]!] ?? 0;
      return { ...column, codes: moved, dictionary: own.strings };
    },
  };
}

/**
 * Sorts a dictionary to which strings have been added. The earlier strings are already sorted, which makes the merge
 * sort of `Array.sort` fast.
 */
function sortAgain(own: Sorted, dictionary: readonly string[]): void {
  const order = own.order;
  for (let code = order.length; code < dictionary.length; code++) order.push(code);
  order.sort((a, b) => compareStrings(dictionary[a]!, dictionary[b]!));
  own.strings = order.map((code) => dictionary[code]!);
  own.places = new Uint32Array(order.length);
  for (const [place, code] of order.entries()) own.places[code] = place;
}
