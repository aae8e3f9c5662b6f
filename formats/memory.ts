import { bytesText } from '../algorithms/bytes-text.ts';
import { type ErrorPlace, OutOfMemoryError } from '../primitives/errors.ts';

/** A request for more memory than allowed. */
export interface MemoryNeed {
  /** Estimated bytes, if known. */
  readonly needed: number;
  /** Purpose of the memory, such as `400 × 300 labels of 16 bits`. */
  readonly what: string;
  readonly allowed: number;
  /** A remedy besides a higher limit, as an imperative clause such as `split the file`. */
  readonly instead?: string | undefined;
  readonly place?: ErrorPlace | undefined;
}

/** The error `memory/limit`: a sentence, the estimate, the limit, and remedies. */
export function overMemory(sentence: string, { needed, what, allowed, instead, place }: MemoryNeed): OutOfMemoryError {
  const remedy = 'Raise the limit (--memory) where the machine has more';
  const [max, got] = [bytesText(allowed), bytesText(needed)];
  return new OutOfMemoryError('memory/limit', sentence, {
    expected: `at most ${max}`,
    // A stream is counted while it is read, and rejected a few bytes above the limit.
    got: got === max ? `more than that for ${what}` : `${got} for ${what}`,
    remedy: instead === undefined ? `${remedy}.` : `${remedy}, or ${instead}.`,
    place,
  });
}

/** The error for a file that is too large for memory, by its size or by the part read so far. */
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
 * Throws if the parsed values of a JSON text would not fit in memory, estimated from its brackets and commas. The
 * estimate exceeds the memory that V8 takes for any text; a text of longitudes and latitudes takes half of it.
 *
 * O(bytes), a tenth of the time of parsing.
 *
 * @throws OutOfMemoryError `memory/limit`.
 */
export function requireJsonRoom(bytes: Uint8Array, file: string, memoryBytes: number = Number.POSITIVE_INFINITY): void {
  // No byte can cost more than a list does.
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

/** The text as bytes and as a string. */
const TEXT_FACTOR = 3;
/** An array or object with its first member. Every further member follows a comma and counts as an item. */
const BYTES_PER_LIST = 72;
/** A pointer, and a boxed number. */
const BYTES_PER_ITEM = 24;

const QUOTE = 34;
const COMMA = 44;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const OPEN_OBJECT = 123;
