import type { Note } from '../algorithms/notes.ts';
import type { ProgressReport } from '../graph/index.ts';

/** The summary at the end of a log. */
export interface RunSummary {
  /** Sentences for people. */
  readonly lines: readonly string[];
  /** Figures for programs. */
  readonly fields: object;
}

/** The units of progress. */
export type ProgressUnit = 'cells' | 'tiles' | 'frames' | 'rows' | 'queries' | 'bytes' | 'rounds';

/** Further counts that grow while a command runs, by unit. */
export type ProgressFigures = Readonly<Record<string, number>>;

/** The log of a run; results go elsewhere. */
export interface Log {
  /** Min time between two progress reports, in milliseconds. */
  readonly progressEvery: number;
  note(note: Note): void;
  progress(report: ProgressReport, unit: ProgressUnit, figures?: ProgressFigures): void;
  /** Clears the progress bar until the next report. */
  clearProgress(): void;
  summary(summary: RunSummary): void;
  error(error: unknown, exitCode: number): void;
}

/** The part of a terminal or file that a log needs. */
export interface LogStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}
