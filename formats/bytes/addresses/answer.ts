import type { FormatError } from '../../../primitives/checks/errors.ts';
import { shownAddress } from '../file-error.ts';
import type { Address } from './address.ts';
import { addressError } from './address-errors.ts';

/** What a server says of the version of a file. */
export interface Version {
  readonly size?: number | undefined;
  readonly tag?: string | null | undefined;
  readonly modified?: string | null | undefined;
}

/** The answer of a server to a request for a range of bytes. */
export type Answer = {
  /** Where the address led to. */
  readonly url: URL;
  readonly version: Version;
} & (
  | { readonly kind: 'part'; readonly start: number; readonly end: number; readonly response: Response }
  /** The whole file. `length` is undefined if the server does not say it of the file as it is. */
  | { readonly kind: 'whole'; readonly length: number | undefined; readonly response: Response }
  /** No byte of the range is in the file. */
  | { readonly kind: 'beyond' }
  /** A fault that may pass. */
  | { readonly kind: 'fault'; readonly fault: FormatError; readonly pauseMs: number }
);

/** The error of a connection that failed or broke off. */
export class BrokenConnection extends Error {
  static {
    BrokenConnection.prototype.name = 'BrokenConnection';
  }
}

async function unlessBroken<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (cause) {
    throw new BrokenConnection(reasonOf(cause), { cause });
  }
}

/** The reason in words of a failed connection, such as `ECONNREFUSED`. No name and no password is in it. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no reason given';
  const { cause, message } = error;
  if (!(cause instanceof Error)) return message;
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}

/** Maximum number of redirects that are followed. */
const MAX_REDIRECTS = 5;

/**
 * Asks for a range of bytes, and checks what the head of the answer says. Follows redirects. What the address says of who
 * asks is told to no other server.
 *
 * @param from - The URL that is asked: that of the address, or one to which it led.
 * @throws FormatError for answers that will not be others when asked again, and {@link BrokenConnection}.
 */
export async function askForRange(
  address: Address,
  from: URL,
  start: number,
  end: number,
  signal: AbortSignal,
): Promise<Answer> {
  const { response, url } = await follow(address, from, `bytes=${start}-${end - 1}`, signal);
  const { headers, status } = response;
  const version = { tag: headers.get('etag'), modified: headers.get('last-modified') };
  if (status === 206) return partOf(response, address, { url, version });
  if (status === 200) return { kind: 'whole', length: lengthOfFile(headers), response, url, version };
  discard(response);
  const got = `status ${status}`;
  if (status === 416) {
    const size = /^bytes \*\/(\d+)$/i.exec(headers.get('content-range') ?? '')?.[1];
    return { kind: 'beyond', url, version: size === undefined ? {} : { size: Number(size) } };
  }
  if (status >= 500 || BUSY.has(status)) {
    const fault = addressError('busy', address.shown, { got });
    return { kind: 'fault', fault, pauseMs: pauseOf(headers), url, version };
  }
  throw addressError(REFUSALS.get(status) ?? 'status', address.shown, { got });
}

/** States of servers below 500 that may pass: a request that took too long, one that came too early, and too many. */
const BUSY: ReadonlySet<number> = new Set([408, 425, 429]);

const REFUSALS: ReadonlyMap<number, 'forbidden' | 'missing'> = new Map([
  [401, 'forbidden'],
  [403, 'forbidden'],
  [404, 'missing'],
  [407, 'forbidden'],
  [410, 'missing'],
]);

async function follow(address: Address, from: URL, range: string, signal: AbortSignal) {
  let url = from;
  for (let redirects = 0; ; redirects++) {
    const headers = {
      range,
      ...(url.origin === address.url.origin && address.authorization && { authorization: address.authorization }),
    };
    const response = await unlessBroken(fetch(url, { headers, redirect: 'manual', signal }));
    // A page is not told where it is led; it may only let itself be led.
    if (response.type === 'opaqueredirect') {
      const led = await unlessBroken(fetch(url, { headers, signal }));
      return { response: led, url: new URL(led.url) };
    }
    if (!REDIRECTS.has(response.status)) return { response, url };
    discard(response);
    if (redirects === MAX_REDIRECTS) {
      throw addressError('redirects', address.shown, { expected: `at most ${MAX_REDIRECTS} redirects`, got: 'more' });
    }
    url = nextOf(url, response, address.shown);
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function nextOf(url: URL, { headers, status }: Response, file: string): URL {
  const location = headers.get('location');
  if (location === null || !URL.canParse(location, url)) {
    throw addressError('redirects', file, { expected: 'an address to go to', got: `status ${status} without one` });
  }
  const next = new URL(location, url);
  next.username = next.password = next.hash = '';
  const got = shownAddress(next.href);
  if (url.protocol === 'https:' && next.protocol === 'http:') throw addressError('downgrade', file, { got });
  if (next.protocol === 'http:' || next.protocol === 'https:') return next;
  throw addressError('redirects', file, { expected: 'http or https', got });
}

/** Checks a part of a file. Its bytes are placed by what it says of itself, not by what was asked for. */
function partOf(response: Response, { shown }: Address, { url, version }: Pick<Answer, 'url' | 'version'>): Answer {
  const { headers } = response;
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    discard(response);
    throw addressError('encoding', shown, { expected: 'bytes of the file', got: `Content-Encoding: ${encoding}` });
  }
  const stated = headers.get('content-range');
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/i.exec(stated ?? '') ?? [];
  const [start, end] = [Number(first), Number(last) + 1];
  const size = total === undefined || total === '*' ? undefined : Number(total);
  const length = headers.get('content-length');
  const got =
    first === undefined || end <= start || end > (size ?? end)
      ? `Content-Range: ${stated ?? 'none'}`
      : length !== null && Number(length) !== end - start
        ? `Content-Range: ${stated}, but Content-Length: ${length}`
        : undefined;
  if (got === undefined) return { kind: 'part', start, end, response, url, version: { ...version, size } };
  discard(response);
  const fault = addressError('range', shown, { expected: 'Content-Range: bytes FIRST-LAST/SIZE', got });
  return { kind: 'fault', fault, pauseMs: 0, url, version };
}

/** The length of a file that is sent as it is. One that is compressed on the way has another. */
function lengthOfFile(headers: Headers): number | undefined {
  const length = headers.get('content-length');
  return length === null || headers.has('content-encoding') ? undefined : Number(length);
}

/** The pause that a server asks for, in milliseconds; 0 if it names none, or a date. */
function pauseOf(headers: Headers): number {
  return 1000 * (Number(headers.get('retry-after')) || 0);
}

/** Ends an answer whose body is not read. */
export function discard({ body }: Response): void {
  body?.cancel().catch(() => undefined);
}

/** The bytes of an answer as they come. Throws {@link BrokenConnection}. */
export async function* bodyOf({ body }: Response): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await unlessBroken(reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
