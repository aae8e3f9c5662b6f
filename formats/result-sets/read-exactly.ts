import type { FileHandle } from 'node:fs/promises';
import { FormatError } from '../../primitives/checks/errors.ts';

/**
 * Reads `bytes.length` bytes from a position in a file. Throws if the file ends before `bytes` is full, because the
 * file was truncated after opening.
 */
export async function readExactly(
  handle: FileHandle,
  bytes: Uint8Array,
  position: number,
  file: string,
): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesRead } = await handle.read(bytes, done, bytes.length - done, position + done);
    if (bytesRead === 0) throw truncatedFile(file, position + bytes.length, position + done);
    done += bytesRead;
  }
}

/** The error for a file that has fewer bytes than its header states. */
export function truncatedFile(file: string, expected: number, got: number): FormatError {
  return new FormatError('format/truncated', 'The file ends too early.', {
    expected: `${expected} bytes or more`,
    got: `${got} bytes`,
    remedy: 'Fetch or write the file again.',
    place: { file },
  });
}
