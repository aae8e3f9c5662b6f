/**
 * Reads a first line such as `sep=;`, by which spreadsheets state the delimiter of a CSV.
 *
 * @returns The delimiter, and the number of characters of the line with its end; undefined if there is no such line.
 */
export function separatorLine(text: string): { readonly delimiter: string; readonly length: number } | undefined {
  const found = /^("?)sep=([\t -~])\1(?:\r\n|\r|\n|$)/i.exec(text);
  return found === null ? undefined : { delimiter: found[2]!, length: found[0].length };
}

/** Number of characters at the start of a text that can be such a line. */
export const SEPARATOR_LINE = 10;
