import type { Note } from '../algorithms/notes.ts';
import type { ProgressReport } from '../graph/index.ts';

/** The summary at the end of a run. */
export interface RunSummary {
  /** Sentences for people. */
  readonly lines: readonly string[];
  /** Figures for programs. */
  readonly fields: object;
}

/** The duration of a run, and the files that were written. */
export interface RunEnd {
  readonly seconds: number;
  readonly outputs: readonly string[];
}

/** An event in a command that runs until it is stopped. */
export interface News {
  /** A sentence for people. */
  readonly line: string;
  /** Facts for programs. */
  readonly fields: object;
}

/** The units in which progress is counted. */
export type ProgressUnit = 'cells' | 'tiles' | 'frames' | 'rows' | 'queries' | 'bytes' | 'rounds' | 'jobs';

/** Additional counts to show with the progress, by their names. */
export type ProgressFigures = Readonly<Record<string, number>>;

/** The log of a run, which is written to stderr. Results are written elsewhere. */
export interface Log {
  /** Minimum time between two progress reports, in milliseconds. */
  readonly progressEvery: number;
  note(note: Note): void;
  /** Tells of an event in a command that runs until it is stopped. */
  news(news: News): void;
  progress(report: ProgressReport, unit: ProgressUnit, figures?: ProgressFigures): void;
  /** Removes the progress bar until the next progress report. */
  clearProgress(): void;
  summary(summary: RunSummary): void;
  error(error: unknown, exitCode: number): void;
}

/** The members of a stream that a log uses. */
export interface LogStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** A log that leaves out notes that it has had before. */
export function withoutRepeats(log: Log): Log {
  const told = new Set<string>();
  return {
    ...log,
    note(note) {
      const text = `${note.code} ${note.message}`;
      if (!told.has(text)) log.note(note);
      told.add(text);
    },
  };
}
