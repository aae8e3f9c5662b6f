const MAX_LETTERS = 40;

/** Text of a file as an error shows it: in quotes, cut, and without letters that a terminal obeys. */
export function quoted(text: string): string {
  // JSON does not escape control characters beyond ASCII.
  return JSON.stringify(text.slice(0, MAX_LETTERS)).replace(
    /\p{Cc}/gu,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
