import type { WordSource } from '../../primitives/contract/backend.ts';
import { inLanes } from './lanes.ts';

/** Maximum number of bytes per read of a source (`PIECE`), and maximum number of concurrent reads (`LANES`). */
const PIECE = 2 ** 24;
const LANES = 4;

export interface FilledMemory {
  /**
   * Returns memory for bytes of the source, from byte `at` on. The memory has at least one and at most `bytes` bytes.
   * Throws once the memory was freed.
   */
  place(at: number, bytes: number): Uint8Array;
  /** Called between reads, to let other tasks run. */
  pause?(): Promise<void>;
}

/** Reads a source into host memory, several pieces at a time. Zeros fill the rest of the last word. */
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
