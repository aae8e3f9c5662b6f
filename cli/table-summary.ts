import { counted, grouped } from './grouped.ts';
import type { RunSummary } from './log.ts';

/** What a run read and found. */
export interface TableFigures {
  readonly file: string;
  readonly format: string;
  /** Rows of the file. */
  readonly rows: number;
  /** Rows or groups that were written. */
  readonly written: number;
  readonly grouped: boolean;
  readonly backend: string;
}

/** The last words of `quadrille table`. */
export function tableSummary(figures: TableFigures, seconds: number, outputs: readonly string[]): RunSummary {
  const { file, rows, written, grouped: isGrouped, backend } = figures;
  const what = isGrouped ? counted(written, 'group') : `${grouped(written)} of them written`;
  return {
    lines: [
      `${counted(rows, 'row')} of ${file}, ${what}, ${seconds.toFixed(1)} s on ${backend}.`,
      ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
    ],
    fields: { ...figures, seconds, rowsPerSecond: rows / seconds, outputs },
  };
}
