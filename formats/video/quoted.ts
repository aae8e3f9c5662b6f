const MAX_LETTERS = 40;

/** Text of a file as an error shows it: in quotes, cut, and without letters that a terminal obeys. */
export function quoted(text: string): string {
  // JSON leaves the control characters behind those of ASCII as they are.
  return JSON.stringify(text.slice(0, MAX_LETTERS)).replace(
    /\p{Cc}/gu,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
