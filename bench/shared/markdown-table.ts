import { largestOf } from '../../primitives/host/extremes.ts';

/** The lines of a Markdown table; its first row is the header. Cells are padded to the width of their column. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => largestOf(rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const [head, ...body] = rows;
  return [line(head!), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)];
}

/** Prints a row of a Markdown table as soon as it is known; its cells are not padded. */
export function printRow(cells: readonly unknown[]): void {
  console.log(`| ${cells.join(' | ')} |`);
}

/** Prints the head of such a table; `columns` has ` | ` between their names. */
export function printHead(columns: string): void {
  const names = columns.split(' | ');
  printRow(names);
  printRow(names.map(() => '---'));
}
