import { tableError } from './errors.ts';
import type { HostColumn } from './host-table.ts';

/** Codes in the order of their strings. Strings are ordered by code points, as SQL compares bytes of UTF-8. */
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

/** Compares by code points. JavaScript compares by UTF-16 code units, which differs for surrogates. */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    return orderOfUnit(x) - orderOfUnit(y);
  }
  return a.length - b.length;
}

/** Surrogates belong to code points above all other units. */
function orderOfUnit(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit > 0xdfff ? unit - 0x800 : unit + 0x2000;
}

/** Number of strings in a sorted dictionary that are below a string, and whether the string is in the dictionary. */
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
