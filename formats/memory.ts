import { bytesText } from '../algorithms/bytes-text.ts';
import { type ErrorPlace, OutOfMemoryError } from '../primitives/checks/errors.ts';

/** Data for the error message about memory that exceeds a limit. */
export interface MemoryNeed {
  /** Estimated number of bytes. */
  readonly needed: number;
  /** What the memory is for, such as `400 × 300 labels of 16 bits`. */
  readonly what: string;
  readonly allowed: number;
  /** A remedy other than a higher limit, as an imperative clause such as `split the file`. */
  readonly instead?: string | undefined;
  readonly place?: ErrorPlace | undefined;
}

/** The error `memory/limit`, with the estimate, the limit, and remedies. */
export function overMemory(sentence: string, { needed, what, allowed, instead, place }: MemoryNeed): OutOfMemoryError {
  const remedy = 'Raise the limit (--memory) if the machine has more memory';
  const [max, got] = [bytesText(allowed), bytesText(needed)];
  return new OutOfMemoryError('memory/limit', sentence, {
    expected: `at most ${max}`,
    // A stream is rejected as soon as it exceeds the limit, perhaps by a few bytes. So `got` and `max` may be the same
    // text after rounding.
    got: got === max ? `more than that for ${what}` : `${got} for ${what}`,
    remedy: instead === undefined ? `${remedy}.` : `${remedy}, or ${instead}.`,
    place,
  });
}

/**
 * The error for a file that is too large for memory. `needed` is the file's size or, if the size is unknown, the number
 * of bytes read when the limit was exceeded.
 */
export function fileTooLarge(file: string, needed: number, allowed: number): OutOfMemoryError {
  return overMemory('The file is too large to be held in memory.', {
    needed,
    what: 'its bytes',
    allowed,
    instead: 'split the file',
    place: { file },
  });
}

/**
 * Throws if the values of a JSON text would take too much memory when parsed. The estimate is computed from the numbers
 * of brackets and commas. It is an upper bound for V8. Longitudes and latitudes take half as much memory as estimated.
 *
 * O(bytes). This check takes a tenth of the time of `JSON.parse`.
 *
 * @throws OutOfMemoryError `memory/limit`.
 */
export function requireJsonRoom(bytes: Uint8Array, file: string, memoryBytes: number = Number.POSITIVE_INFINITY): void {
  // No byte costs more than a bracket, so brackets need not be counted in a small text.
  if (bytes.length * (BYTES_PER_LIST + TEXT_FACTOR) <= memoryBytes) return;
  let [lists, items, inString] = [0, 0, false];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) lists++;
    else if (byte === COMMA) items++;
  }
  const needed = TEXT_FACTOR * bytes.length + BYTES_PER_LIST * lists + BYTES_PER_ITEM * items;
  if (needed <= memoryBytes) return;
  throw overMemory('The JSON is too large to be parsed as a whole.', {
    needed,
    what: `${bytes.length} bytes of text with ${lists} lists and objects of ${items + lists} members`,
    allowed: memoryBytes,
    instead: 'split the file',
    place: { file },
  });
}

/** Bytes of memory per byte of text. The text is held both as bytes and as a string. */
const TEXT_FACTOR = 3;
/**
 * Bytes of memory for an array or object with its first member. Further members are counted by their commas; see
 * `BYTES_PER_ITEM`.
 */
const BYTES_PER_LIST = 72;
/** Bytes of memory for a further member of an array or object: a pointer and a boxed number. */
const BYTES_PER_ITEM = 24;

const QUOTE = 34;
const COMMA = 44;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const OPEN_OBJECT = 123;
