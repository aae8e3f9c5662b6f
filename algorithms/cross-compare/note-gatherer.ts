import type { Note } from '../notes.ts';

/** Merges the notes of many tiles by code, so that a thousand tiles with the same note give only one note. */
export interface NoteGatherer {
  add(notes: readonly Note[]): void;
  /**
   * Returns the first note of each code, in order of first occurrence. Its message also says how many further tiles
   * have a note with the same code, and its `count` is the sum over all notes with this code.
   */
  notes(): Note[];
}

export function noteGatherer(): NoteGatherer {
  const kinds = new Map<string, { readonly first: Note; count: number; tiles: number }>();
  return {
    add(notes) {
      for (const note of notes) {
        const kind = kinds.get(note.code);
        if (kind === undefined) kinds.set(note.code, { first: note, count: note.count ?? 1, tiles: 1 });
        else {
          kind.count += note.count ?? 1;
          kind.tiles++;
        }
      }
    },
    notes: () =>
      [...kinds.values()].map(({ first, count, tiles }) => ({
        ...first,
        count,
        message: said(first.message, tiles - 1),
      })),
  };
}

function said(message: string, more: number): string {
  if (more === 0) return message;
  return `${message} (${more} more ${more === 1 ? 'file or tile has' : 'files or tiles have'} such.)`;
}
