/** Byte range of a JSON value in its text: `start … end − 1`. */
export interface JsonSpan {
  readonly start: number;
  readonly end: number;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** Position of the first byte at or after `at` that is not white space; the number of bytes if there is none. */
export function skipJsonSpace(bytes: Uint8Array, at: number): number {
  let next = at;
  while (isJsonSpace(bytes[next])) next++;
  return next;
}

function isJsonSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 9 || byte === 10 || byte === 13;
}

/** Whether a JSON object begins at a byte. */
export function beginsObject(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === OPEN_OBJECT;
}

export function beginsArray(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === OPEN_ARRAY;
}

/**
 * Callback that is called at the end of an object or array. `at` is the position after the closing bracket. If
 * `missing` is given, there is a syntax error, and `at` is its position.
 */
export type JsonEnd = (at: number, missing?: string) => void;

const unheard: JsonEnd = () => {};

/**
 * Iterates over the members of the object that begins at `start`. Yields the key, as written between its quotes, and
 * the byte range of the value. Values are neither parsed nor checked. Iteration stops at the end of the object or at a
 * syntax error, such as a truncated text. In both cases, `ended` is called.
 */
export function* membersOf(
  bytes: Uint8Array,
  start: number,
  ended: JsonEnd = unheard,
): Generator<JsonSpan & { readonly key: string }> {
  let at = skipJsonSpace(bytes, start + 1);
  if (bytes[at] === CLOSE_OBJECT) return ended(at + 1);
  for (;;) {
    if (bytes[at] !== QUOTE) return ended(at, 'expected a key in double quotes');
    const keyEnd = endOfString(bytes, at);
    const colon = skipJsonSpace(bytes, keyEnd);
    if (bytes[colon] !== COLON) return ended(colon, "expected ':' after a key");
    const from = skipJsonSpace(bytes, colon + 1);
    const end = endOfValue(bytes, from);
    if (end === from) return ended(from, 'expected a value');
    yield { key: keyOf(bytes.subarray(at, keyEnd)), start: from, end };
    const comma = skipJsonSpace(bytes, end);
    if (bytes[comma] === CLOSE_OBJECT) return ended(comma + 1);
    if (bytes[comma] !== COMMA) return ended(comma, "expected ',' or '}'");
    at = skipJsonSpace(bytes, comma + 1);
  }
}

/** The key that a string spells, perhaps with escapes. */
function keyOf(string: Uint8Array): string {
  const text = new TextDecoder().decode(string);
  if (!text.includes('\\')) return text.slice(1, -1);
  try {
    return JSON.parse(text);
  } catch {
    // Who parses the whole text reports it.
    return text.slice(1, -1);
  }
}

/** Iterates over the elements of the array that begins at `start`, like {@link membersOf}. */
export function* elementsOf(bytes: Uint8Array, start: number, ended: JsonEnd = unheard): Generator<JsonSpan> {
  let at = skipJsonSpace(bytes, start + 1);
  if (bytes[at] === CLOSE_ARRAY) return ended(at + 1);
  for (;;) {
    const end = endOfValue(bytes, at);
    if (end === at) return ended(at, 'expected a value');
    yield { start: at, end };
    const comma = skipJsonSpace(bytes, end);
    if (bytes[comma] === CLOSE_ARRAY) return ended(comma + 1);
    if (bytes[comma] !== COMMA) return ended(comma, "expected ',' or ']'");
    at = skipJsonSpace(bytes, comma + 1);
  }
}

/** Position after the value that begins at `at`; the number of bytes if the value is truncated. */
function endOfValue(bytes: Uint8Array, at: number): number {
  let depth = 0;
  let next = at;
  while (next < bytes.length) {
    const byte = bytes[next]!;
    if (byte === QUOTE) {
      next = endOfString(bytes, next);
      if (depth === 0) return next;
      continue;
    }
    const closes = byte === CLOSE_ARRAY || byte === CLOSE_OBJECT;
    if (depth === 0 && (closes || byte === COMMA)) return next;
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++;
    next++;
    if (closes && --depth === 0) return next;
  }
  return next;
}

function endOfString(bytes: Uint8Array, at: number): number {
  let next = at + 1;
  while (next < bytes.length && bytes[next] !== QUOTE) next += bytes[next] === BACKSLASH ? 2 : 1;
  return Math.min(next + 1, bytes.length);
}
