import { compareStrings } from '../algorithms/tables/dictionary.ts';
import type { HostColumn } from '../algorithms/tables/host-table.ts';

/** Columns of strings with sorted dictionaries. A dictionary is sorted again only when the one of the file has grown. */
export interface SortedDictionaries {
  sorted(name: string, column: HostColumn): HostColumn;
}

interface Sorted {
  /** Codes that have the order of their strings. */
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

/** The old, sorted part is one run of the merge sort. */
function sortAgain(own: Sorted, dictionary: readonly string[]): void {
  const order = own.order;
  for (let code = order.length; code < dictionary.length; code++) order.push(code);
  order.sort((a, b) => compareStrings(dictionary[a]!, dictionary[b]!));
  own.strings = order.map((code) => dictionary[code]!);
  own.places = new Uint32Array(order.length);
  for (const [place, code] of order.entries()) own.places[code] = place;
}
