import { FormatError } from '../../../primitives/checks/errors.ts';

/** What may go wrong when an address is read: the code of the error after `format/address-`. */
export type AddressFault =
  | 'unreachable'
  | 'other-origin'
  | 'timeout'
  | 'missing'
  | 'forbidden'
  | 'busy'
  | 'status'
  | 'page'
  | 'redirects'
  | 'downgrade'
  | 'encoding'
  | 'range'
  | 'cut-off';

const ERRORS: Readonly<Record<AddressFault, readonly [sentence: string, remedy: string]>> = {
  unreachable: [
    'The server cannot be reached',
    'Check the address and the connection, and try again; or download the file, and name it.',
  ],
  /** A page hears the same of a server that it may not read from and of one that is not there. */
  'other-origin': [
    'The server cannot be reached, or does not let this page read from it',
    'Check the address. Of another origin, the server must send Access-Control-Allow-Origin (CORS), and must allow and expose Range, Content-Range and ETag.',
  ],
  timeout: ['The server sends nothing', 'Try again later; or download the file, and name it.'],
  missing: ['The server has no such file', 'Check the address.'],
  forbidden: [
    'The server does not let the file be read',
    'Sign the address anew if it has expired, or give name and password as in https://NAME:PASSWORD@HOST/PATH.',
  ],
  busy: ['The server fails, or has too much to do', 'Try again later; or download the file, and name it.'],
  status: ['The server does not send the file', 'Check the address.'],
  page: [
    'The server sends a web page and not the file',
    'Open the address in a browser: it may ask to log in, say that there is no such file, or show a page about it. Name the address to which the link for downloads leads.',
  ],
  redirects: ['The address leads from one to another', 'Name the address of the file itself, as curl -LI shows it.'],
  downgrade: [
    'The server leads from https to http, where others could read and change the file',
    'Name the address by http:// if that is meant.',
  ],
  encoding: [
    'The server sends a part of a compressed file, which cannot be unpacked',
    'Turn compression off for this file on the server, or download the file, and name it.',
  ],
  range: [
    'The server does not send the bytes that were asked for',
    'Download the file with curl -O, and name it: the server answers requests for ranges wrongly.',
  ],
  'cut-off': [
    'The server ends its answers too early, again and again',
    'Try again later; or download the file, and name it.',
  ],
};

/** What was asked and answered, and what the platform said. */
export interface FaultDetails {
  readonly expected?: string | undefined;
  readonly got: string;
  readonly cause?: unknown;
}

/** The error `format/address-…` of an address, which is given as messages show it. */
export function addressError(fault: AddressFault, file: string, { expected, got, cause }: FaultDetails): FormatError {
  const [sentence, remedy] = ERRORS[fault];
  const details = { remedy, place: { file }, cause };
  const code = `format/address-${fault}`;
  if (expected !== undefined) return new FormatError(code, `${sentence}.`, { ...details, expected, got });
  return new FormatError(code, `${sentence} (${got}).`, details);
}

/** The error of a file that is another than before. */
export function changedError(file: string, what: string, before: string, now: string): FormatError {
  return new FormatError('format/changed', `The file was changed while it was read: its ${what} is another.`, {
    expected: before,
    got: now,
    remedy: 'Run the command again when nothing writes to the file.',
    place: { file },
  });
}
