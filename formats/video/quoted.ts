const MAX_LETTERS = 40;

/** Text of a file in an error: quoted, shortened, and without characters that control a terminal. */
export function quoted(text: string): string {
  // JSON does not escape control characters beyond ASCII.
  return JSON.stringify(text.slice(0, MAX_LETTERS)).replace(
    /\p{Cc}/gu,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
