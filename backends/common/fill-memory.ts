import type { WordSource } from '../../primitives/contract/backend.ts';
import { inLanes } from './lanes.ts';

/** Bytes of a source that are read at a time, and the number of concurrent reads. */
const PIECE = 2 ** 24;
const LANES = 4;

export interface FilledMemory {
  /** Memory for at most `bytes` bytes of a source, starting at `at`. Throws once the memory is gone. */
  place(at: number, bytes: number): Uint8Array;
  /** Called after every read, before the next; gives other work a turn. */
  pause?(): Promise<void>;
}

/**
 * Reads a source into host memory, several pieces at a time. The bytes after the last one, up to the end of its word,
 * are 0.
 */
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
