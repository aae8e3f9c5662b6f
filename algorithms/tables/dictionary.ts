import { filled, type Stretches } from '../stretches.ts';
import { tableError } from './errors.ts';
import type { HostColumn } from './host-table.ts';
import { compareStrings, orderOfStrings, placesIn, stringsAt } from './string-order.ts';

/** A column of strings on the host. */
export type StringColumn = Extract<HostColumn, { readonly type: 'string' }>;

/** Throws if a row that is not null has a code without a string. */
export function requireStrings(name: string, { codes, dictionary, validity }: StringColumn): void {
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    if (code < dictionary.length) continue;
    if (validity === undefined || (validity[row >> 5]! >> (row & 31)) & 1) throw noString(name, row, code);
  }
}

/**
 * Sorts a dictionary and translates the codes, so that codes have the order of their strings. Strings are ordered by
 * code points, which is also the order of their UTF-8 bytes, as in SQL. Rows whose code has no string get the code 0.
 */
export function* sortedDictionary(
  name: string,
  { codes, dictionary }: StringColumn,
): Stretches<{ readonly codes: Uint32Array; readonly dictionary: readonly string[] }> {
  const { order, areDistinct } = yield* orderOfStrings(dictionary);
  const sorted = yield* stringsAt(dictionary, order);
  if (!areDistinct) {
    const twice = sorted.find((each, i) => i > 0 && each === sorted[i - 1]);
    throw tableError('dictionary', `The dictionary of column '${name}' has '${twice}' twice.`);
  }
  return { codes: yield* translated(codes, yield* placesIn(order)), dictionary: sorted };
}

/** Translates codes: code c becomes `places[c]`, and codes beyond the places become 0. */
export function translated(codes: Uint32Array, places: Uint32Array): Stretches<Uint32Array> {
  return filled(new Uint32Array(codes.length), (row) => places[codes[row]!] ?? 0);
}

function noString(name: string, row: number, code: number): Error {
  return tableError('dictionary', `Row ${row} of column '${name}' has the code ${code}, which has no string.`);
}

/**
 * Number of strings of a sorted dictionary that are less than a string, and whether the dictionary contains the string.
 */
export function placeOf(
  dictionary: readonly string[],
  text: string,
): { readonly below: number; readonly isThere: boolean } {
  let [low, high] = [0, dictionary.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareStrings(dictionary[middle]!, text) < 0) low = middle + 1;
    else high = middle;
  }
  return { below: low, isThere: dictionary[low] === text };
}
