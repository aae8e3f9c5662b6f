import { FormatError } from '../../primitives/checks/errors.ts';

/**
 * Converts an error of the file system to a `FormatError` with the file's name and a remedy. Returns other errors
 * unchanged.
 */
export function fileError(file: string, error: unknown): unknown {
  if (systemCode(error) === 'ENOENT' && ADDRESS.test(file)) return isAddress(file, error);
  const reason = REASONS[systemCode(error) ?? ''];
  if (reason === undefined) return systemCode(error) === undefined ? error : unreadable(file, error);
  return new FormatError(reason.code, reason.sentence, { place: { file }, remedy: reason.remedy, cause: error });
}

const REASONS: Readonly<Record<string, { code: string; sentence: string; remedy: string }>> = {
  ENOENT: { code: 'format/missing-file', sentence: 'There is no such file.', remedy: 'Check the path.' },
  ENOTDIR: { code: 'format/missing-file', sentence: 'There is no such file.', remedy: 'Check the path.' },
  EISDIR: { code: 'format/not-a-file', sentence: 'This is a directory.', remedy: 'Name a file inside it.' },
  EACCES: {
    code: 'format/unreadable-file',
    sentence: 'The file may not be read.',
    remedy: 'Ask for permission to read it.',
  },
};

/**
 * Matches addresses that are not local files: `https://…`, `s3://…`, `/vsicurl/…`. The scheme has at least two letters,
 * because a single letter is a Windows drive.
 */
const ADDRESS = /^([a-z][a-z0-9+.-]+:\/|\/vsi)/i;

function isAddress(file: string, cause: unknown): FormatError {
  return new FormatError('format/address', 'This is an address, and addresses are not read.', {
    remedy: 'Download it first, for example with curl -O, and name the file.',
    place: { file },
    cause,
  });
}

function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

function unreadable(file: string, error: unknown): FormatError {
  return new FormatError('format/unreadable-file', `The file cannot be read (${systemCode(error)}).`, {
    place: { file },
    remedy: 'Check the disk or the connection to it.',
    cause: error,
  });
}
