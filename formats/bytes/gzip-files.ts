import { FormatError } from '../../primitives/checks/errors.ts';
import { messageOf } from '../../primitives/checks/message-of.ts';

/** Whether bytes begin with the magic number of gzip. */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** The name of a file without the extension `.gz`. A name that has no such extension is returned unchanged. */
export function withoutGz(name: string): string {
  return name.replace(/\.gz$/i, '');
}

/** The error of a stream that cannot be decompressed. */
export function badGzip(file: string, cause: unknown): FormatError {
  return new FormatError('format/bad-gzip', 'The gzip stream is damaged or cut off.', {
    expected: 'a whole gzip stream',
    got: messageOf(cause),
    remedy: 'Fetch or write the file again.',
    place: { file },
    cause,
  });
}
