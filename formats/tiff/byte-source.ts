import { type FileHandle, open } from 'node:fs/promises';
import { FormatError } from '../../primitives/errors.ts';
import { fileError } from '../file-error.ts';

/** Bytes that can be read at any position: a file, or an array in memory. */
export interface ByteSource {
  /** Name of the source in error messages. */
  readonly file: string;
  readonly size: number;
  /** Descriptor of the file, through which other threads can read it; undefined for bytes in memory. */
  readonly descriptor?: number;
  /** Reads exactly `length` bytes. The caller may modify the result. */
  read(offset: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Opens a regular file for reading at any position. */
export async function openFileBytes(file: string): Promise<ByteSource> {
  let [handle, isFolder]: [FileHandle | undefined, boolean] = [undefined, false];
  try {
    handle = await open(file, 'r');
    const stat = await handle.stat();
    if (stat.isFile()) return fileBytes(file, handle, stat.size);
    isFolder = stat.isDirectory();
  } catch (error) {
    await handle?.close();
    throw fileError(file, error);
  }
  await handle.close();
  const [sentence, remedy] = isFolder
    ? ['This is a directory.', 'Name a file inside it.']
    : ['This is no regular file, so it cannot be read piece by piece.', 'Name a file on disk.'];
  throw new FormatError('format/not-a-file', sentence, { place: { file }, remedy });
}

function fileBytes(file: string, handle: FileHandle, size: number): ByteSource {
  let open = true;
  return {
    file,
    size,
    descriptor: handle.fd,
    async read(offset, length) {
      checkRange(file, size, offset, length, open);
      const bytes = new Uint8Array(length);
      for (let done = 0; done < length; ) {
        const { bytesRead } = await handle.read(bytes, done, length - done, offset + done).catch((error) => {
          throw fileError(file, error);
        });
        if (bytesRead === 0) throw truncated(file, size, offset + done, length - done);
        done += bytesRead;
      }
      return bytes;
    },
    async close() {
      if (!open) return;
      open = false;
      await handle.close();
    },
  };
}

/** A source of bytes that are in memory. */
export function bytesInMemory(bytes: Uint8Array, file = 'memory'): ByteSource {
  let open = true;
  return {
    file,
    size: bytes.length,
    async read(offset, length) {
      checkRange(file, bytes.length, offset, length, open);
      return new Uint8Array(bytes.subarray(offset, offset + length));
    },
    async close() {
      open = false;
    },
  };
}

function checkRange(file: string, size: number, offset: number, length: number, open: boolean): void {
  if (!open) {
    throw new FormatError('format/closed', 'The file was closed before it was read.', {
      place: { file },
      remedy: 'Read before closing.',
    });
  }
  if (!(offset >= 0 && length >= 0 && offset + length <= size)) throw truncated(file, size, offset, length);
}

/** The error for a file of `size` bytes that does not contain all of the `length` bytes from byte `offset` on. */
export function truncated(file: string, size: number, offset: number, length: number, what = 'The file'): FormatError {
  return new FormatError('format/truncated', `${what} needs bytes beyond the end of the file.`, {
    expected: `bytes ${offset} to ${offset + length}`,
    got: `${size} bytes in all`,
    remedy: 'The file is cut off or damaged: copy or download it again.',
    place: { file },
  });
}
