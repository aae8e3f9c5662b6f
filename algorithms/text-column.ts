import { requireArguments } from '../primitives/checks/arguments.ts';
import { anArrayOf, anInstance, aRecord, aText, aWhole, type Kind } from '../primitives/checks/kinds.ts';

/**
 * A list of texts as two arrays. Text `i` is the UTF-8 in `bytes[starts[i] … starts[i + 1] − 1]`. The last element of
 * `starts` is the end of the last text.
 */
export interface TextColumn {
  readonly bytes: Uint8Array;
  readonly starts: Uint32Array;
}

export const aTextColumn: Kind = aRecord<TextColumn>({
  bytes: anInstance(Uint8Array),
  starts: anInstance(Uint32Array),
});

// With `ignoreBOM: true` a byte-order mark stays in the text.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * The text of a row. O(length of the text).
 *
 * @example
 * const ids = textColumnOf(['nucleus', 'ä']);
 * textAt(ids, 1); // 'ä'
 */
export function textAt(column: TextColumn, row: number): string {
  requireArguments('textAt', { column, row }, { column: aTextColumn, row: aWhole() });
  const { bytes, starts } = column;
  return decoder.decode(bytes.subarray(starts[row], starts[row + 1]));
}

/**
 * Stores texts in a column. Lone surrogates become U+FFFD, because UTF-8 cannot encode them. O(characters).
 *
 * @example
 * const { starts, bytes } = textColumnOf(['nucleus', 'ä']);
 * [starts, bytes.length]; // [Uint32Array [0, 7, 9], 9]
 */
export function textColumnOf(texts: readonly string[]): TextColumn {
  requireArguments('textColumnOf', { texts }, { texts: anArrayOf(aText) });
  const encoder = new TextEncoder();
  const encoded = texts.map((text) => encoder.encode(text));
  const starts = new Uint32Array(texts.length + 1);
  for (const [row, text] of encoded.entries()) starts[row + 1] = starts[row]! + text.length;
  const bytes = new Uint8Array(starts[texts.length]!);
  for (const [row, text] of encoded.entries()) bytes.set(text, starts[row]!);
  return { bytes, starts };
}

/**
 * The rows whose text occurs in an earlier row too, ascending. Expected O(bytes): texts are hashed in place, without
 * making strings.
 */
export function repeatedRows({ bytes, starts }: TextColumn): number[] {
  const rows = starts.length - 1;
  const mask = tableSize(rows) - 1;
  const table = new Uint32Array(mask + 1);
  // A new seed for each call, so that nobody can craft a file whose texts all have the same hash.
  const seed = Math.floor(Math.random() * 2 ** 32);
  const repeated: number[] = [];
  for (let row = 0; row < rows; row++) {
    const [from, to] = [starts[row]!, starts[row + 1]!];
    let slot = hash(bytes, from, to, seed) & mask;
    while (table[slot] !== 0 && !sameText(bytes, starts, table[slot]! - 1, from, to)) slot = (slot + 1) & mask;
    if (table[slot] === 0) table[slot] = row + 1;
    else repeated.push(row);
  }
  return repeated;
}

/** Size of the hash table: a power of two, at least twice the number of rows. */
function tableSize(rows: number): number {
  return 2 ** (Math.ceil(Math.log2(Math.max(1, rows))) + 1);
}

function hash(bytes: Uint8Array, from: number, to: number, seed: number): number {
  let mixed = seed;
  for (let at = from; at < to; at++) mixed = Math.imul(mixed ^ bytes[at]!, 0x01000193);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
}

function sameText(bytes: Uint8Array, starts: Uint32Array, row: number, from: number, to: number): boolean {
  const other = starts[row]!;
  if (starts[row + 1]! - other !== to - from) return false;
  for (let at = from; at < to; at++) if (bytes[at] !== bytes[other + at - from]) return false;
  return true;
}
