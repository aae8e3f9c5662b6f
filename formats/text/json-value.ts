/**
 * Parses JSON like `JSON.parse`, but keeps the digits of ids. A member of an object that is a whole number beyond 2^53 − 1
 * becomes a string of its digits, with its sign: `{"id":617700169958293503}` becomes `{ id: '617700169958293503' }`.
 * Smaller whole numbers have the same digits as numbers. Elements of arrays, such as coordinates, and numbers with a
 * fraction or an exponent are f64, as `JSON.parse` reads them.
 *
 * Throws the `SyntaxError` of `JSON.parse`. Its position may be wrong; `findJsonFault` finds the right one.
 */
export function jsonValueOf(text: string): unknown {
  return JSON.parse(LONG_MEMBER.test(text) ? withQuotedMembers(text) : text);
}

/** Parses the value of a single member, as {@link jsonValueOf} parses it within its object. */
export function memberValueOf(text: string): unknown {
  return LONG_NUMBER.test(text) && isBeyond(text) ? text.trim() : jsonValueOf(text);
}

/** Whether f64 may hold a whole number with other digits. */
const isBeyond = (digits: string): boolean => !Number.isSafeInteger(Number(digits));

/** Finds most texts without long whole numbers in one fast search. What it finds may also stand within a string. */
const LONG_MEMBER = /:\s*-?[1-9]\d{15}/;
const LONG_NUMBER = /^\s*-?[1-9]\d{15,}\s*$/;
/** The value of a member, with the colon in front, if the value is a long whole number. */
const VALUE = /(\s*:\s*)(-?[1-9]\d{15,})(?=[\s,}])/y;

/**
 * Puts the long whole numbers among the members of objects in quotes. A value follows the string that is its key, so
 * only the ends of strings need to be looked at. A text that is not JSON does not become JSON.
 */
function withQuotedMembers(text: string): string {
  let quoted = '';
  let copied = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    at = endOfString(text, at);
    VALUE.lastIndex = at;
    const found = VALUE.exec(text);
    if (found === null || !isBeyond(found[2]!)) continue;
    quoted += `${text.slice(copied, at)}${found[1]}"${found[2]}"`;
    copied = VALUE.lastIndex;
  }
  return quoted + text.slice(copied);
}

/** The position after the quote that closes the string at `start`; the length of the text if no quote closes it. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let first = quote;
    while (text[first - 1] === '\\') first--;
    if ((quote - first) % 2 === 0) return quote + 1;
  }
  return text.length;
}
