import { tableError } from './errors.ts';
import type { HostColumn } from './host-table.ts';

/**
 * Sorts a dictionary and translates the codes, so that codes have the order of their strings. Strings are ordered by
 * code points, which is also the order of their UTF-8 bytes, as in SQL.
 */
export function sortedDictionary(
  name: string,
  { codes, dictionary, validity }: Extract<HostColumn, { readonly type: 'string' }>,
): { readonly codes: Uint32Array; readonly dictionary: readonly string[] } {
  const order = dictionary.map((_, code) => code).sort((a, b) => compareStrings(dictionary[a]!, dictionary[b]!));
  const sorted = order.map((code) => dictionary[code]!);
  const twice = sorted.findIndex((each, i) => i > 0 && each === sorted[i - 1]);
  if (twice >= 0) {
    throw tableError('dictionary', `The dictionary of column '${name}' has '${sorted[twice]}' twice.`);
  }
  const places = new Uint32Array(dictionary.length);
  for (const [place, code] of order.entries()) places[code] = place;
  const moved = new Uint32Array(codes.length);
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    if (code < places.length) moved[row] = places[code]!;
    else if (validity === undefined || (validity[row >> 5]! >> (row & 31)) & 1) throw noString(name, row, code);
  }
  return { codes: moved, dictionary: sorted };
}

function noString(name: string, row: number, code: number): Error {
  return tableError('dictionary', `Row ${row} of column '${name}' has the code ${code}, which has no string.`);
}

/**
 * Compares strings by code points. JavaScript itself compares UTF-16 code units, which orders surrogates differently.
 */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    return orderOfUnit(x) - orderOfUnit(y);
  }
  return a.length - b.length;
}

/**
 * Moves surrogates above all other code units, because surrogates encode the code points above all code points of one
 * unit.
 */
function orderOfUnit(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit > 0xdfff ? unit - 0x800 : unit + 0x2000;
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
