import { escapeControls, listTexts } from '../algorithms/quoted-names.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import { cellText, nullsOf } from '../formats/tables/write/cell-text.ts';
import type { RowsWriter } from '../formats/tables/write/text-writers.ts';
import { largestOf } from '../primitives/host/extremes.ts';
import { counted } from './grouped.ts';
import type { Screen } from './standard-output.ts';

/** Lines besides the rows: names, what is left out, the summary, the next prompt. */
const OTHER_LINES = 7;
const FEWEST_ROWS = 5;
const LONGEST_CELL = 40;
const BETWEEN = 2;

/**
 * A writer of a table for people at a terminal: the first rows and columns that fit on the screen, aligned, and how many
 * are left out. Null is `–`. Long cells are cut.
 */
export function screenRows(fields: readonly TableField[], { columns: width, rows: height }: Screen): RowsWriter {
  const room = Math.max(FEWEST_ROWS, height - OTHER_LINES);
  const shown: string[][] = [];
  let total = 0;
  return {
    begin: () => '',
    add({ rows, columns }) {
      const more = Math.min(rows, room - shown.length);
      total += rows;
      if (more <= 0) return '';
      const cells = fields.map((field) => {
        const column = columns[field.name]!;
        const [text, isNull] = [cellText(field, column), nullsOf(column)];
        return (row: number) => (isNull(row) ? '–' : cut(text(row)));
      });
      for (let row = 0; row < more; row++) shown.push(cells.map((cell) => cell(row)));
      return '';
    },
    end() {
      const lines = [fields.map(({ name }) => cut(name)), ...shown];
      const widths = fields.map((_, column) => largestOf(lines.map((cells) => cells[column]!.length)));
      const fitting = columnsWithin(widths, width);
      const isText = fields.map(({ type }) => type === 'string');
      const text = lines.map((cells) =>
        cells
          .slice(0, fitting)
          .map((cell, at) => (isText[at] ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
          .join(' '.repeat(BETWEEN))
          .trimEnd(),
      );
      return `${[...text, ...leftOut(total - shown.length, fields.slice(fitting))].join('\n')}\n`;
    },
  };
}

function cut(text: string): string {
  const safe = escapeControls(text);
  return safe.length > LONGEST_CELL ? `${safe.slice(0, LONGEST_CELL - 1)}…` : safe;
}

/** The number of columns that fit in a line, at least one. */
function columnsWithin(widths: readonly number[], width: number): number {
  let end = -BETWEEN;
  const beyond = widths.findIndex((each) => {
    end += BETWEEN + each;
    return end > width;
  });
  return beyond < 0 ? widths.length : Math.max(1, beyond);
}

const NAMES_SHOWN = 5;

function leftOut(rows: number, columns: readonly TableField[]): string[] {
  const names = listTexts(
    columns.map(({ name }) => cut(name)),
    NAMES_SHOWN,
  );
  const more = [
    ...(rows === 0 ? [] : [`${counted(rows, 'more row')}`]),
    ...(columns.length === 0 ? [] : [`${counted(columns.length, 'more column')} (${names})`]),
  ];
  return more.length === 0 ? [] : [`… ${more.join(' and ')}; -o FILE or a pipe takes all.`];
}
