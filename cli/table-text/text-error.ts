import { UsageError } from '../../formats/usage-error.ts';

/** The text of a command line option. The text contains a condition, names of columns, or aggregates. */
export interface OptionText {
  /** Name of the option, such as `--where`. */
  readonly option: string;
  readonly text: string;
}

/** Number of characters of the text to show before and after the error. */
const SHOWN = 60;

/** An error that shows the text of an option, with a caret below the position `at`. */
export function textError(
  { option, text }: OptionText,
  at: number,
  sentence: string,
  { code = 'usage/expression', remedy }: { readonly code?: string; readonly remedy?: string | undefined } = {},
): UsageError {
  const from = Math.max(0, at - SHOWN);
  // Replace line breaks and control characters, which would displace the caret.
  const shown = text.slice(from, at + SHOWN).replace(/\p{C}|\s/gu, ' ');
  const before = `${from > 0 ? '… ' : ''}${[...shown.slice(0, at - from)].join('')}`;
  const lines = `${from > 0 ? '… ' : ''}${shown}${at + SHOWN < text.length ? ' …' : ''}\n  ${' '.repeat([...before].length)}^`;
  return new UsageError(code, `${option}: ${sentence}\n  ${lines}${remedy === undefined ? '' : '\n'}`, { remedy });
}
