import type { Note } from '../../algorithms/notes.ts';
import type { VideoChannel } from './video.ts';

export const ALPHA_NOTE: Note = {
  code: 'video/transparency-ignored',
  message: 'The transparency of pixels is ignored.',
};

export const PALETTE_NOTE: Note = {
  code: 'video/colour-palette',
  message: 'Pixels are palette indices; the colours of the palette are used.',
};

/**
 * For a grey video, returns the note that its grey values are used as the requested colour channel. Returns an empty
 * list if no colour channel was requested.
 */
export function greyChannelNotes(channel: VideoChannel): Note[] {
  if (channel === 'grey') return [];
  return [{ code: 'video/grey', message: `The video is grey, so its grey values are used as the channel ${channel}.` }];
}

/** The note that values use fewer bits than their type has, such as 12 of 16 bits. */
export function depthNote(bits: number): Note {
  const message = `Grey values have ${bits} bits, and go from 0 to ${2 ** bits - 1}.`;
  return { code: 'video/bit-depth', message };
}

/** Adds a note, unless the list has a note with the same code. */
export function noteOnce(notes: Note[], note: Note): void {
  if (!notes.some(({ code }) => code === note.code)) notes.push(note);
}
