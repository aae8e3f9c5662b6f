import type { Note } from '../algorithms/notes.ts';
import { listNames } from '../algorithms/quoted-names.ts';
import type { TableFile } from '../formats/tables/table-file.ts';
import { counted, grouped } from './grouped.ts';
import type { RunSummary } from './log.ts';
import type { Question } from './table-question.ts';

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
  /** Whether the whole file was read; if not, `rows` are those that were. */
  readonly complete: boolean;
  readonly backend: string;
  /** The columns of the file that are not read. */
  readonly skippedColumns: readonly SkippedColumn[];
  readonly notes: readonly Note[];
}

/** A column that is not read: its type in the terms of the file, and why. */
export interface SkippedColumn {
  readonly name: string;
  readonly type: string;
  readonly why: string;
}

export function skippedColumns({ unread }: TableFile): SkippedColumn[] {
  return unread.map(({ name, type, what }) => ({ name, type, why: `holds ${what}, which are not read` }));
}

const COLUMNS_SHOWN = 5;

/** A note on the columns that an answer with all columns lacks. */
export function skippedNotes(file: TableFile, { takesAll }: Question): Note[] {
  const skipped = skippedColumns(file);
  if (!takesAll || skipped.length === 0) return [];
  const kinds = file.unread.map(({ name, what }) => `${name} (${what})`);
  const columns = skipped.length === 1 ? '1 column is' : `${skipped.length} columns are`;
  const message = `${columns} left out, because ${file.format} columns of this type are not read: ${listNames(kinds, COLUMNS_SHOWN)}.`;
  return [{ code: 'table/skipped-columns', message, count: skipped.length }];
}

/** The summary that `quadrille table` prints at its end. */
export function tableSummary(figures: TableFigures, seconds: number, outputs: readonly string[]): RunSummary {
  const { file, rows, written, groups, complete, backend } = figures;
  const what = groups === undefined ? `${grouped(written)} of them written` : groupsText(written, groups);
  return {
    lines: [
      `${complete ? '' : 'The first '}${counted(rows, 'row')} of ${file}, ${what}, ${seconds.toFixed(1)} s on ${backend}.`,
      ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
    ],
    fields: { ...figures, seconds, rowsPerSecond: rows / seconds, outputs },
  };
}

function groupsText(written: number, groups: number): string {
  return written === groups ? counted(groups, 'group') : `${grouped(written)} of ${counted(groups, 'group')}`;
}
