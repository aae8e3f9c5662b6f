import { counted, grouped } from './grouped.ts';
import type { RunSummary } from './log.ts';

/** Statistics of a run. */
export interface TableFigures {
  readonly file: string;
  readonly format: string;
  /** Number of rows in the file. */
  readonly rows: number;
  /** Number of rows or groups written. */
  readonly written: number;
  readonly grouped: boolean;
  /** Number of groups; undefined if the answer consists of rows. */
  readonly groups: number | undefined;
  readonly backend: string;
}

/** The summary that `quadrille table` prints at its end. */
export function tableSummary(figures: TableFigures, seconds: number, outputs: readonly string[]): RunSummary {
  const { file, rows, written, groups, backend } = figures;
  const what = groups === undefined ? `${grouped(written)} of them written` : groupsText(written, groups);
  return {
    lines: [
      `${counted(rows, 'row')} of ${file}, ${what}, ${seconds.toFixed(1)} s on ${backend}.`,
      ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
    ],
    fields: { ...figures, seconds, rowsPerSecond: rows / seconds, outputs },
  };
}

function groupsText(written: number, groups: number): string {
  return written === groups ? counted(groups, 'group') : `${grouped(written)} of ${counted(groups, 'group')}`;
}
