const MAX_LETTERS = 40;

/** Quotes text from a file for an error message: shortened, and without characters that could control a terminal. */
export function quoted(text: string): string {
  // `JSON.stringify` does not escape control characters above ASCII, so they are escaped here.
  return JSON.stringify(text.slice(0, MAX_LETTERS)).replace(
    /\p{Cc}/gu,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
