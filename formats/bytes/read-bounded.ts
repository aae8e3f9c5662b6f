import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { fileTooLarge } from '../memory.ts';

const BLOCK_BYTES = 2 ** 20;

/**
 * Reads all bytes of a file. Throws if there are more than `max` bytes. The size of a pipe or a device is not known in
 * advance. For such a file, the error is thrown when more than `max` bytes have been read.
 *
 * @throws OutOfMemoryError `memory/limit`; errors of the file system.
 */
export async function readBounded(file: string, max: number, signal?: AbortSignal): Promise<Buffer> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    if (size > max) throw fileTooLarge(file, size, max);
    return await readAll(handle, size, { file, max, signal });
  } finally {
    await handle.close();
  }
}

interface Bounds {
  readonly file: string;
  readonly max: number;
  readonly signal: AbortSignal | undefined;
}

async function readAll(handle: FileHandle, size: number, { file, max, signal }: Bounds): Promise<Buffer> {
  const gathered = gatherBlocks(file, size, max);
  for (;;) {
    signal?.throwIfAborted();
    const block = gathered.next();
    const { bytesRead } = await handle.read(block, 0, block.length, null);
    if (!gathered.take(bytesRead)) return gathered.bytes();
  }
}

/** Synchronous variant of {@link readBounded}, for worker threads. */
export function readBoundedSync(file: string, max: number): Buffer {
  const handle = openSync(file, 'r');
  try {
    const { size } = fstatSync(handle);
    if (size > max) throw fileTooLarge(file, size, max);
    const gathered = gatherBlocks(file, size, max);
    while (gathered.take(readSync(handle, gathered.next()))) {}
    return gathered.bytes();
  } finally {
    closeSync(handle);
  }
}

/**
 * Gathers the bytes of a file whose true size may differ from `size`. The caller reads into the buffer that `next`
 * returns, and passes the number of bytes read to `take`. Finally, `bytes` returns all bytes. The buffers are pieces of
 * blocks. The first block has `size + 1` bytes, so that no second block is needed if `size` is right.
 */
function gatherBlocks(file: string, size: number, max: number) {
  let current = Buffer.allocUnsafeSlow(size + 1);
  let [filled, total] = [0, 0];
  const full: Buffer[] = [];
  return {
    next(): Buffer {
      if (filled === current.length) {
        full.push(current);
        current = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, current.length));
        filled = 0;
      }
      return current.subarray(filled, Math.min(current.length, filled + 16 * BLOCK_BYTES));
    },
    /** Counts the bytes that have just been read. Returns false at the end of the file. */
    take(read: number): boolean {
      filled += read;
      total += read;
      if (total > max) throw fileTooLarge(file, total, max);
      return read > 0;
    },
    bytes: (): Buffer => {
      const last = current.subarray(0, filled);
      return full.length === 0 ? last : Buffer.concat([...full, last]);
    },
  };
}
