import type { Note } from '../algorithms/notes.ts';
import type { ProgressReport } from '../graph/index.ts';

/** What a command did, for the last line of its log. */
export interface ZonalSummary {
  readonly backend: string;
  readonly zones: number;
  /** Cells of all zones together; a cell in two zones counts twice. */
  readonly cells: bigint;
  readonly seconds: number;
  /** Side of the integer grid's step along x and y. */
  readonly gridStep: readonly [x: number, y: number];
  /** Files written. */
  readonly outputs: readonly string[];
}

/** Where a command says what happens; results go elsewhere. */
export interface Log {
  /** Shortest time between two progress reports, in milliseconds. */
  readonly progressEvery: number;
  note(note: Note): void;
  progress(report: ProgressReport): void;
  /** Takes the progress bar away; it comes back with the next report. */
  clearProgress(): void;
  summary(summary: ZonalSummary): void;
  error(error: unknown, exitCode: number): void;
}

/** The part of a terminal or file that a log needs. */
export interface LogStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}
