import type { WordSource } from '../../primitives/contract/backend.ts';
import { inLanes } from './lanes.ts';

/** Bytes of a source that are read at once, and how many such reads are under way. */
const PIECE = 2 ** 24;
const LANES = 4;

export interface FilledMemory {
  /** Memory for the bytes of a source from `at` on, of `bytes` at most. Throws once it is gone. */
  place(at: number, bytes: number): Uint8Array;
  /** Called after every read, before the next; lets others have their turn. */
  pause?(): Promise<void>;
}

/** Reads a source into memory of the host, several pieces at once; the bytes after its last one are 0 up to the word's end. */
export async function fillMemory(source: WordSource, { place, pause }: FilledMemory): Promise<void> {
  const { bytes, whole } = source;
  const max = whole ? bytes : PIECE;
  await inLanes(pieces(), LANES, async (into) => {
    await source.read(into.memory, into.at);
    await pause?.();
  });
  if (bytes % 4 !== 0) place(bytes, 4 - (bytes % 4)).fill(0);

  function* pieces(): Generator<{ readonly at: number; readonly memory: Uint8Array }> {
    for (let at = 0; at < bytes; ) {
      const memory = place(at, Math.min(max, bytes - at));
      yield { at, memory };
      at += memory.length;
    }
  }
}
