import type { WordSource } from '../../../primitives/contract/backend.ts';
import { inLanes } from '../../common/lanes.ts';
import type { Memory } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';
import { rangesOf, type WordRange } from '../memory/ranges.ts';
import type { TransferHost } from './staging.ts';
import type { Slab, UploadRing } from './upload-ring.ts';

/** Copies from the host to the device. */
export interface GpuUploads {
  /** Writes words into a buffer. The write takes effect after all commands recorded so far. */
  write(memory: Memory, word: number, data: Uint32Array): void;
  /** Fills a buffer from a source. No command may use the buffer before the promise resolves. */
  upload(memory: Memory, source: WordSource): Promise<void>;
  /** Resolves when no source is writing to staging memory. */
  quiet(): Promise<void>;
}

/**
 * Uploads of at least this fraction of a staging buffer's size use staging buffers. For smaller uploads, `writeBuffer`
 * is as fast.
 */
const MIN_SHARE = 1 / 64;
/** Minimum size in bytes of the pieces into which sources are split, so that several reads are pending at a time. */
const MIN_PIECE = 2 ** 20;

export function createUploads(ring: UploadRing, { recorder, failure, explain }: TransferHost): GpuUploads {
  const { buffers, bytes: slabBytes } = ring.size;
  const min = slabBytes * MIN_SHARE;
  const reading = new Set<Promise<void>>();

  const write: GpuUploads['write'] = (memory, word, data) => {
    for (const { part, word: from, words, at } of rangesOf(memory, word, data.length)) {
      for (let done = 0; done < words; ) {
        const slab = words * 4 < min ? undefined : ring.now((words - done) * 4);
        const length = slab === undefined ? words - done : Math.min(words - done, (slabBytes - slab.used) / 4);
        const room = slab && ring.room(slab, length * 4);
        const piece = data.subarray(at + done, at + done + length);
        const byte = (from + done) * 4;
        if (slab === undefined || room === undefined) recorder.write(part, byte, unshared(piece));
        else {
          new Uint32Array(room).set(piece);
          // The copies from a full buffer are submitted at once, so that the device executes them while the host
          // continues.
          if (ring.copy(slab, part, byte, length * 4)) recorder.flush();
        }
        done += length;
      }
    }
  };

  /** Reads from a source into memory. The source may write to this memory until the promise settles. */
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

  /**
   * Takes a staging buffer, as soon as one is free. If slow sources occupy all buffers, the wait for a buffer is no
   * wait for the device and does not count towards `hangLimit`.
   */
  const takeSlab = (): Promise<Slab | undefined> => {
    if (reading.size === 0) return failure.guarded(ring.take());
    return new Promise((resolve, reject) => {
      const forget = failure.onFailure(reject);
      ring.take().then(resolve, reject).finally(forget);
    });
  };

  const upload = async (memory: Memory, source: WordSource): Promise<void> => {
    const accepted = new Set<Promise<void>>();
    const pieces = rangesOf(memory, 0, Math.ceil(source.bytes / 4), pieceWords(source));
    await inLanes(pieces, buffers, async (piece) => {
      failure.guard();
      const slab = source.bytes < min ? undefined : await takeSlab();
      await (slab === undefined ? bringInPasses(source, piece) : bring(source, piece, slab));
      accepted.add(recorder.begin().accepted);
      recorder.flush();
    });
    await failure.guarded(Promise.all(accepted));
  };

  /** Reads a piece into a staging buffer and records a copy to the device. */
  const bring = async (source: WordSource, piece: WordRange, slab: Slab): Promise<void> => {
    const room = ring.room(slab, piece.words * 4);
    if (room === undefined) return bringInPasses(source, piece);
    try {
      await readPiece(source, piece, room);
      failure.guard();
      requireSound(slab.part);
      requireSound(piece.part);
    } catch (cause) {
      // If the device was lost, the mapped range has length 0. The source then fails, but the loss is reported instead
      // of the failure.
      const isGone = room.byteLength === 0;
      ring.giveUp(slab);
      throw isGone ? await explain(cause) : cause;
    }
    ring.copy(slab, piece.part, piece.word * 4, piece.words * 4);
  };

  /** Reads a piece into ordinary host memory and records a write, without a staging buffer. */
  const bringInPasses = async (source: WordSource, piece: WordRange): Promise<void> => {
    const data = new Uint32Array(piece.words);
    await readPiece(source, piece, data.buffer);
    failure.guard();
    requireSound(piece.part);
    recorder.write(piece.part, piece.word * 4, data);
  };

  const readPiece = async (source: WordSource, { words, at }: WordRange, memory: ArrayBuffer): Promise<void> => {
    const bytes = Math.min(words * 4, source.bytes - at * 4);
    new Uint8Array(memory, bytes, words * 4 - bytes).fill(0);
    await read(source, new Uint8Array(memory, 0, bytes), at * 4);
  };

  const pieceWords = ({ bytes, whole }: WordSource): number => {
    const share = whole ? bytes : Math.max(MIN_PIECE, Math.ceil(bytes / buffers));
    return Math.min(slabBytes, Math.ceil(share / 4096) * 4096) / 4;
  };

  return {
    write,
    upload,
    async quiet() {
      await Promise.all(reading);
    },
  };
}

/** Throws the reason if the contents of a GPU buffer are lost. */
function requireSound({ spoiled }: BufferPart): void {
  if (spoiled !== undefined) throw spoiled;
}

/**
 * Copies the words if they are in shared memory, because Dawn aborts the process when it is given an array in shared
 * memory.
 */
function unshared(data: Uint32Array): Uint32Array {
  const isShared = typeof SharedArrayBuffer !== 'undefined' && data.buffer instanceof SharedArrayBuffer;
  return isShared ? new Uint32Array(data) : data;
}
