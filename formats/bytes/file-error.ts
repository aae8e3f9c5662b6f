import { FormatError } from '../../primitives/checks/errors.ts';
import { messageOf } from '../../primitives/checks/message-of.ts';

/**
 * Converts an error of the file system to a `FormatError` with the file's name and a remedy. Returns other errors
 * unchanged.
 */
export function fileError(file: string, error: unknown): unknown {
  if (systemCode(error) === 'ENOENT' && ADDRESS.test(file)) return isAddress(file);
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

/** Whether a text is an address that rasters are read from. */
export function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

/**
 * An address as messages show it: without the name and the password in it, without its fragment, and of its query, which
 * may be a signature or a key, only that there is one.
 */
export function shownAddress(address: string): string {
  if (!URL.canParse(address))
    return address.replace(/^(\/vsi[a-z0-9]*\/|[a-z][a-z0-9+.-]+:\/*)?.*@/is, '$1…@').replace(/[?#].*$/s, '');
  const { protocol, host, pathname, search } = new URL(address);
  return `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}`;
}

/** A path, or an address as messages show it. */
export function shownName(name: string): string {
  return isWebAddress(name) ? shownAddress(name) : name;
}

function isAddress(file: string): FormatError {
  return new FormatError('format/address', 'This is an address, and only rasters are read from addresses.', {
    expected: 'a file, or http:// or https:// for a raster',
    remedy: 'Download it first, for example with curl -O, and name the file.',
    place: { file: shownAddress(file) },
  });
}

function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The error of a part of a blob that cannot be read, such as one of a file that was changed after it was chosen. */
export function unreadableBlob(file: string, cause: unknown): FormatError {
  return new FormatError('format/unreadable-file', `The file cannot be read (${messageOf(cause)}).`, {
    place: { file },
    remedy: 'Choose the file again: it may have been changed or taken away.',
    cause,
  });
}

function unreadable(file: string, error: unknown): FormatError {
  return new FormatError('format/unreadable-file', `The file cannot be read (${systemCode(error)}).`, {
    place: { file },
    remedy: 'Check the disk or the connection to it.',
    cause: error,
  });
}
