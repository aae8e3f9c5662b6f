import { QuadrilleError } from '../../primitives/checks/errors.ts';
import { messageOf } from '../../primitives/checks/message-of.ts';
import { UsageError } from '../usage-error.ts';

/** The error for an output file that cannot be opened for writing. */
export function unwritable(path: string, cause: unknown, remedy: string): UsageError {
  return new UsageError('output/unwritable', `${path} cannot be written: ${reason(cause)}.`, { remedy, cause });
}

/** The error for a failed write to an output file. */
export function writeFailed(path: string, cause: unknown): QuadrilleError {
  return new QuadrilleError('output/write-failed', `${path} could not be written: ${reason(cause)}.`, {
    remedy: 'Free some space, or write elsewhere.',
    cause,
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left on the device',
  ENAMETOOLONG: 'its name is too long',
  ETXTBSY: 'it is in use',
};

/** Why a file cannot be written, as the end of a sentence. */
export function reason(cause: unknown): string {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return (code === undefined ? undefined : REASONS[code]) ?? messageOf(cause);
}
