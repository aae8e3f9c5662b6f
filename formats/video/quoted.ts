const MAX_LETTERS = 40;

/**
 * Quotes text from a file for an error message. The text is shortened, and characters that could control a terminal are
 * escaped.
 */
export function quoted(text: string): string {
  // `JSON.stringify` does not escape control characters beyond ASCII, so these are escaped by `replace`.
  return JSON.stringify(text.slice(0, MAX_LETTERS)).replace(
    /\p{Cc}/gu,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
