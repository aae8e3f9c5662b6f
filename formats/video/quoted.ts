import { escapeControls } from '../../algorithms/quoted-names.ts';

const MAX_LETTERS = 40;

/**
 * Quotes text from a file for an error message. The text is shortened, and characters that could control a terminal are
 * escaped.
 */
export function quoted(text: string): string {
  // `JSON.stringify` does not escape control characters beyond ASCII.
  return escapeControls(JSON.stringify(text.slice(0, MAX_LETTERS)));
}
