import type { WordSource } from '../../primitives/backend.ts';
import { inLanes } from '../lanes.ts';
import type { Failure } from './failure.ts';
import type { Memory } from './memory.ts';
import { rangesOf } from './ranges.ts';
import type { Recorder } from './recorder.ts';
import type { Slab, UploadRing } from './upload-ring.ts';

/** Copies from the host to the device. */
export interface Uploads {
  /** Puts words into a buffer, after what has been recorded so far. */
  write(memory: Memory, word: number, data: Uint32Array): void;
  /** Fills a buffer that nobody else uses. */
  upload(memory: Memory, source: WordSource): Promise<void>;
  /** Resolves when no source writes to memory of the device any more. */
  quiet(): Promise<void>;
}

/** Bytes from which on words go through staging buffers, as a share of one of them: `writeBuffer` is as fast for fewer. */
const LEAST_SHARE = 1 / 64;
/** A source is read in so many pieces at least, so that several reads are under way, where they have a length like this. */
const LEAST_PIECE = 2 ** 20;

export function createUploads(ring: UploadRing, recorder: Recorder, failure: Failure): Uploads {
  const { buffers, bytes: slabBytes } = ring.size;
  const least = slabBytes * LEAST_SHARE;
  const reading = new Set<Promise<void>>();

  const write: Uploads['write'] = (memory, word, data) => {
    for (const { part, word: from, words, at } of rangesOf(memory, word, data.length)) {
      for (let done = 0; done < words; ) {
        const slab = words * 4 < least ? undefined : ring.now((words - done) * 4);
        const length = slab === undefined ? words - done : Math.min(words - done, (slabBytes - slab.used) / 4);
        const piece = data.subarray(at + done, at + done + length);
        const byte = (from + done) * 4;
        if (slab === undefined) recorder.write(part, byte, unshared(piece));
        else {
          new Uint32Array(slab.memory, slab.used, length).set(piece);
          // The device copies what it has while the host goes on.
          if (ring.copy(slab, part, byte, length * 4)) recorder.flush();
        }
        done += length;
      }
    }
  };

  /** Lets a source write to memory, which it may do until that is over. */
  const read = async (source: WordSource, into: Uint8Array, at: number): Promise<void> => {
    const under = source.read(into, at);
    if (under === undefined) return;
    const settled = under.then(
      () => {},
      () => {},
    );
    reading.add(settled);
    try {
      await under;
    } finally {
      reading.delete(settled);
    }
  };

  const uploadSmall = async (memory: Memory, source: WordSource): Promise<void> => {
    const data = new Uint32Array(Math.ceil(source.bytes / 4));
    await read(source, new Uint8Array(data.buffer, 0, source.bytes), 0);
    failure.guard();
    const { accepted } = recorder.begin();
    write(memory, 0, data);
    recorder.flush();
    await failure.guarded(accepted);
  };

  /** A staging buffer. Who waits for one that a slow source has does not wait for the device. */
  const takeSlab = (): Promise<Slab> => {
    if (reading.size === 0) return failure.guarded(ring.take());
    return new Promise((resolve, reject) => {
      const forget = failure.onFailure(reject);
      ring.take().then(resolve, reject).finally(forget);
    });
  };

  const uploadLarge = async (memory: Memory, source: WordSource): Promise<void> => {
    const accepted = new Set<Promise<void>>();
    const pieces = rangesOf(memory, 0, Math.ceil(source.bytes / 4), pieceWords(source));
    await inLanes(pieces, buffers, async ({ part, word, words, at }) => {
      failure.guard();
      const slab = await takeSlab();
      const bytes = Math.min(words * 4, source.bytes - at * 4);
      try {
        if (bytes < words * 4) new Uint32Array(slab.memory)[words - 1] = 0;
        await read(source, new Uint8Array(slab.memory, 0, bytes), at * 4);
        failure.guard();
        accepted.add(recorder.begin().accepted);
      } catch (error) {
        ring.giveBack(slab);
        throw error;
      }
      ring.copy(slab, part, word * 4, words * 4);
      recorder.flush();
    });
    await failure.guarded(Promise.all(accepted));
  };

  const pieceWords = ({ bytes, whole }: WordSource): number => {
    const share = whole ? bytes : Math.max(LEAST_PIECE, Math.ceil(bytes / buffers));
    return Math.min(slabBytes, Math.ceil(share / 4096) * 4096) / 4;
  };

  return {
    write,
    upload: (memory, source) => (source.bytes < least ? uploadSmall : uploadLarge)(memory, source),
    async quiet() {
      await Promise.all(reading);
    },
  };
}

/** Words that no other thread can write: Dawn ends the process at arrays on shared memory. */
function unshared(data: Uint32Array): Uint32Array {
  const isShared = typeof SharedArrayBuffer !== 'undefined' && data.buffer instanceof SharedArrayBuffer;
  return isShared ? new Uint32Array(data) : data;
}
