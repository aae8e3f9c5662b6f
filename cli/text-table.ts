import { largestOf } from '../primitives/host/extremes.ts';

/** Lays out rows of texts in columns. All rows have as many cells as the first one, which is the header. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => largestOf(rows.map((cells) => cells[column]!.length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('  ')
      .trimEnd();
  return rows.map(line).join('\n');
}
