import type { LentWords, WordSink, WordSource } from '../../../primitives/contract/backend.ts';
import { fillMemory } from '../../common/fill-memory.ts';
import type { Launch } from '../commands/launch.ts';
import type { Pool } from '../threads/pool.ts';
import { COPY_CHUNK, emitCopyKernel } from '../wasm/runtime.ts';
import type { PendingRead, SharedBuffer, SharedMemory } from './shared-memory.ts';

export interface TransfersOptions {
  readonly memory: SharedMemory;
  readonly pool: Pool;
  /** Moves to the queue all commands that wait to be fused. */
  flush(): void;
  /** Adds a launch (a command that is ready to run) to the queue. The command copies words. */
  copy(launch: Launch): void;
  /** Resolves when at least `phase` phases are completed. */
  until(phase: number): Promise<void>;
}

/** Transfers between arrays of the host and the shared memory of the workers. */
export interface Transfers {
  /**
   * Must be called before a buffer is overwritten. Copies the words that pending reads of the buffer have not copied
   * yet.
   */
  settleReads(buffer: SharedBuffer): void;
  /** Frees released buffers that are only kept for pending reads, after copying the words that these reads need. */
  freeReleased(): void;
  /**
   * Writes `data` into a buffer, starting at the word with index `word`. Commands issued before the write still see the
   * old words.
   */
  write(buffer: SharedBuffer, word: number, data: Uint32Array): void;
  /** Fills a buffer from the host. No command may use the buffer until the promise resolves. */
  upload(buffer: SharedBuffer, source: WordSource): Promise<void>;
  /**
   * Passes `words` words of a buffer to `take`, slice by slice. The words have the values that result from the commands
   * issued before this call.
   */
  readTo(buffer: SharedBuffer, word: number, words: number, take: WordSink): Promise<void>;
  read(buffer: SharedBuffer, word: number, words: number): Promise<Uint32Array>;
  /** Waits until all pending reads have succeeded or failed. */
  settled(): Promise<void>;
  /** Resolves to a view of words of a buffer, without a copy, once the commands issued so far are done. */
  lend(buffer: SharedBuffer, word: number, words: number): Promise<LentWords>;
}

/** Number of words that a read copies before it yields to the event loop. */
const COPY_SLICE = 2 ** 20;

export function createTransfers({ memory, pool, flush, copy, until }: TransfersOptions): Transfers {
  const { allocator } = memory;
  const underWay = new Set<Promise<void>>();
  // Only the pace of the workers decides whether it is needed. So it is there from the beginning, and no repeated call
  // compiles it.
  const copyKernel = pool.install([emitCopyKernel()]);

  const write: Transfers['write'] = (buffer, word, data) => {
    flush();
    settleReads(buffer);
    const address = buffer.address + 4 * word;
    if (buffer.fence <= pool.completed) {
      memory.words().set(data, address / 4);
      return;
    }
    const staging = allocator.allocatePassing(data.byteLength, pool.completed);
    memory.words().set(data, staging.address / 4);
    issueCopy(address, staging.address, data.byteLength);
    buffer.fence = pool.issued;
    allocator.release(staging, pool.issued);
  };

  const settleReads: Transfers['settleReads'] = (buffer) => {
    if (buffer.reads.size > 0) flush();
    for (const read of buffer.reads) {
      if (read.fence <= pool.completed) copySlice(read, read.words);
      else bringAway(buffer, read);
      memory.finishRead(buffer, read, pool.issued);
    }
  };

  const bringAway = (buffer: SharedBuffer, read: PendingRead): void => {
    const left = 4 * (read.words - read.copied);
    read.snapshot = allocator.allocatePassing(left);
    issueCopy(read.snapshot.address, read.address + 4 * read.copied, left);
    read.address = read.snapshot.address - 4 * read.copied;
    read.fence = pool.issued;
    // The copy reads the buffer, so the host must not write to the buffer until the copy is done.
    buffer.fence = pool.issued;
  };

  const issueCopy = (to: number, from: number, bytes: number): void => {
    const phase = { run: copyKernel, length: [0, 0, bytes], chunkSize: COPY_CHUNK, minimum: 0 } as const;
    copy({ words: [0, 0, bytes, COPY_CHUNK, to, from, bytes], phases: [phase] });
  };

  const upload: Transfers['upload'] = async (buffer, source) => {
    flush();
    if (buffer.fence > pool.completed) await until(buffer.fence);
    await fillMemory(source, {
      place(at, bytes) {
        // The backend may have been closed while `fillMemory` paused. Then `check` throws, before the dropped memory is
        // used.
        pool.check();
        return new Uint8Array(memory.memory.buffer, buffer.address + at, bytes);
      },
      pause: () => pool.turn(),
    });
    pool.check();
  };

  const readTo: Transfers['readTo'] = (buffer, word, words, take) => {
    flush();
    const { address, fence } = buffer;
    const reading = finish(buffer, { address: address + 4 * word, fence, words, take, copied: 0 });
    const over = (): void => void underWay.delete(reading);
    reading.then(over, over);
    underWay.add(reading);
    return reading;
  };

  const settled: Transfers['settled'] = async () => {
    await Promise.allSettled(underWay);
  };

  const read: Transfers['read'] = async (buffer, word, words) => {
    const result = new Uint32Array(words);
    await readTo(buffer, word, words, (piece, at) => result.set(piece, at));
    return result;
  };

  const lend: Transfers['lend'] = async (buffer, word, words) => {
    flush();
    if (buffer.fence > pool.completed) await until(buffer.fence);
    pool.check();
    const first = buffer.address / 4 + word;
    return { words: memory.words().subarray(first, first + words), end: () => {} };
  };

  /** Waits until the words of a read are ready, and copies one slice per turn of the event loop. */
  const finish = async (buffer: SharedBuffer, read: PendingRead): Promise<void> => {
    buffer.reads.add(read);
    try {
      while (read.copied < read.words) {
        if (read.fence > pool.completed) await until(read.fence);
        else {
          copySlice(read, COPY_SLICE);
          if (read.copied < read.words) {
            await pool.turn();
            // The backend may have been closed during `pool.turn`. Then `check` throws, before the dropped memory is
            // used.
            pool.check();
          }
        }
      }
    } finally {
      memory.finishRead(buffer, read, pool.issued);
      if (read.snapshot !== undefined) allocator.release(read.snapshot, pool.issued);
    }
  };

  const copySlice = (read: PendingRead, words: number): void => {
    const from = read.address / 4 + read.copied;
    const end = Math.min(read.words, read.copied + words);
    read.take(memory.words().subarray(from, from + end - read.copied), read.copied);
    read.copied = end;
  };

  const freeReleased = (): void => {
    for (const buffer of memory.beingRead) settleReads(buffer);
  };

  return { settleReads, freeReleased, write, upload, readTo, read, settled, lend };
}
