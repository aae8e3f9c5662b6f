import type { Note } from '../algorithms/notes.ts';
import type { Log } from './log.ts';

/** Passes notes on to the log, and keeps them for the JSON figures of a run. */
export interface NoteTaker {
  readonly all: readonly Note[];
  take(notes: readonly Note[]): void;
}

/** Several readers of one run may find the same. Each note is taken once. */
export function noteTaker(log: Log): NoteTaker {
  const all: Note[] = [];
  return {
    all,
    take(notes) {
      for (const note of notes) {
        if (all.some(({ code, message }) => code === note.code && message === note.message)) continue;
        all.push(note);
        log.note(note);
      }
    },
  };
}
