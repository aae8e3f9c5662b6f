import { CapacityError } from '../../primitives/checks/errors.ts';
import { latin1Text, resized } from '../bytes/byte-arrays.ts';

/** The distinct strings of a column, in order of first occurrence. */
export interface StringDictionary {
  /** The string of each code. Strings are only appended, so codes stay valid. */
  readonly strings: readonly string[];
  /**
   * Finds the code of the UTF-8 string in the bytes `from … to − 1`. Appends the string if the dictionary does not
   * contain the string yet. Expected O(bytes).
   *
   * @returns The code; −1 if the bytes are not valid UTF-8.
   * @throws CapacityError `format/too-many-strings` if all strings together exceed 2 GiB.
   */
  codeOf(bytes: Uint8Array, from: number, to: number): number;
}

const FIRST_BYTES = 2 ** 12;
const FIRST_SLOTS = 2 ** 8;
const MAX_BYTES = 2 ** 31 - 1;

// `ignoreBOM` means that a byte-order mark is kept as part of the string.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function stringDictionary(file: string, column: string): StringDictionary {
  const strings: string[] = [];
  let text = new Uint8Array(FIRST_BYTES);
  /** For each string, the position in `text` at which it ends. */
  let ends = new Uint32Array(FIRST_SLOTS);
  let hashes = new Uint32Array(FIRST_SLOTS);
  /** Hash table with linear probing. A slot contains a code + 1, or 0 if it is empty. */
  let slots = new Uint32Array(FIRST_SLOTS);
  // The seed is random, so that nobody can craft a file in which all strings have the same hash.
  const seed = Math.floor(Math.random() * 2 ** 32);
  /** Bitwise or of all bytes of the last string hashed. If it is below 128, the string is ASCII. */
  let high = 0;

  function hashOf(bytes: Uint8Array, from: number, to: number): number {
    let mixed = seed;
    high = 0;
    for (let at = from; at < to; at++) {
      const byte = bytes[at]!;
      high |= byte;
      mixed = Math.imul(mixed ^ byte, 0x01000193);
    }
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    return (mixed ^ (mixed >>> 13)) >>> 0;
  }

  function isSame(code: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = code === 0 ? 0 : ends[code - 1]!;
    if (ends[code]! - start !== to - from) return false;
    for (let at = from, own = start; at < to; at++, own++) if (bytes[at] !== text[own]) return false;
    return true;
  }

  function add(bytes: Uint8Array, from: number, to: number, hash: number, slot: number): number {
    const code = strings.length;
    const string = decoded(bytes, from, to, high < 128);
    if (string === undefined) return -1;
    const start = code === 0 ? 0 : ends[code - 1]!;
    const end = start + to - from;
    if (end > MAX_BYTES) throw tooManyStrings(file, column);
    if (end > text.length) text = resized(text, Math.min(MAX_BYTES, Math.max(end, 2 * text.length)));
    text.set(bytes.subarray(from, to), start);
    if (code === ends.length) {
      ends = resized(ends, 2 * ends.length);
      hashes = resized(hashes, 2 * hashes.length);
    }
    [ends[code], hashes[code]] = [end, hash];
    strings.push(string);
    slots[slot] = code + 1;
    if (2 * strings.length > slots.length) spread();
    return code;
  }

  /** Doubles the number of slots, and inserts every code again. */
  function spread(): void {
    slots = new Uint32Array(2 * slots.length);
    const mask = slots.length - 1;
    for (let code = 0; code < strings.length; code++) {
      let slot = hashes[code]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = code + 1;
    }
  }

  return {
    strings,
    codeOf(bytes, from, to) {
      const hash = hashOf(bytes, from, to);
      const mask = slots.length - 1;
      let slot = hash & mask;
      for (let entry = slots[slot]!; entry !== 0; entry = slots[slot]!) {
        if (hashes[entry - 1] === hash && isSame(entry - 1, bytes, from, to)) return entry - 1;
        slot = (slot + 1) & mask;
      }
      return add(bytes, from, to, hash, slot);
    },
  };
}

function decoded(bytes: Uint8Array, from: number, to: number, ascii: boolean): string | undefined {
  if (ascii) return latin1Text(bytes, from, to);
  try {
    return decoder.decode(bytes.subarray(from, to));
  } catch {
    return undefined;
  }
}

function tooManyStrings(file: string, column: string): CapacityError {
  return new CapacityError('format/too-many-strings', `The column "${column}" has too many different strings.`, {
    expected: `at most ${MAX_BYTES} bytes of them`,
    got: 'more',
    remedy: 'Leave the column out, or split the file.',
    place: { file },
  });
}
