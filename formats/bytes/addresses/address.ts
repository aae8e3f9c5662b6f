import { FormatError } from '../../../primitives/checks/errors.ts';
import { shownAddress } from '../file-error.ts';

/** Where a file of the web is, and what is told to its server only. */
export interface Address {
  readonly url: URL;
  /** The header Authorization for the server that the address names. */
  readonly authorization: string | undefined;
  /** The address as messages show it. */
  readonly shown: string;
}

/** @throws FormatError `format/address-invalid`. */
export function parseAddress(text: string): Address {
  const shown = shownAddress(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) {
    throw new FormatError('format/address-invalid', 'This is no address.', {
      expected: 'https://HOST/PATH',
      remedy: 'Check the name of the host and the port.',
      place: { file: shown },
    });
  }
  const authorization = authorizationOf(url);
  // Requests are refused whose address has a name or a password.
  url.username = url.password = url.hash = '';
  return { url, authorization, shown };
}

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const bytes = new TextEncoder().encode(`${decoded(username)}:${decoded(password)}`);
  return `Basic ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}`;
}

/** A percent sign that begins no sequence stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
