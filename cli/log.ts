import type { Note } from '../algorithms/notes.ts';
import type { ProgressReport } from '../graph/index.ts';

/** What a command did, for the end of its log. */
export interface RunSummary {
  /** Sentences for people. */
  readonly lines: readonly string[];
  /** Figures for programs. */
  readonly fields: object;
}

/** What progress counts. */
export type ProgressUnit = 'cells' | 'tiles' | 'frames' | 'rows' | 'queries' | 'bytes' | 'rounds';

/** Other figures that grow while a command runs, by what they count. */
export type ProgressFigures = Readonly<Record<string, number>>;

/** Where a command says what happens; results go elsewhere. */
export interface Log {
  /** Shortest time between two progress reports, in milliseconds. */
  readonly progressEvery: number;
  note(note: Note): void;
  progress(report: ProgressReport, unit: ProgressUnit, figures?: ProgressFigures): void;
  /** Takes the progress bar away; it comes back with the next report. */
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
