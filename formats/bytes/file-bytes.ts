import { type FileHandle, open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { FormatError } from '../../primitives/checks/errors.ts';
import { type ByteSource, checkRange, truncated } from '../rasters/tiff/byte-source.ts';
import { fileError } from './file-error.ts';

/** The path or the address that a URL stands for. */
export function nameOfUrl(url: URL): string {
  return url.protocol === 'file:' ? fileURLToPath(url) : url.href;
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
    async read(offset, length, into) {
      checkRange(file, size, offset, length, open);
      const bytes = into ?? new Uint8Array(length);
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
