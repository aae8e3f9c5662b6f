import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

/** What a server is asked for: the bytes from `start` to before `end`, which lie in the file. */
interface Asked {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly path: string;
}

type Behaviour = (response: ServerResponse, asked: Asked) => void;

/** The name of a way to answer. */
export type Way = string;

type Coded = Readonly<Record<Way, readonly [code: string, behave: Behaviour]>>;

const part = ({ bytes, start, end }: Asked, changes: Readonly<Record<string, string | undefined>> = {}) =>
  Object.fromEntries(
    Object.entries({
      'Content-Range': `bytes ${start}-${end - 1}/${bytes.length}`,
      'Content-Length': `${end - start}`,
      ETag: '"first"',
      ...changes,
    }).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

const send = (response: ServerResponse, asked: Asked, changes?: Readonly<Record<string, string | undefined>>): void => {
  response.writeHead(206, part(asked, changes)).end(asked.bytes.subarray(asked.start, asked.end));
};

/** A page that asks to log in, or says that there is no such file, as servers send it with state 200. */
export const PAGE =
  '\ufeff<!-- 7 -->\n<!DOCTYPE html>\n<html lang="en"><head><title>\n  Log in\u0007 \u00b7 Data </title></head><body>?token</body></html>';

const middle = ({ start, end }: Asked): number => start + Math.floor((end - start) / 2);

/** Headers of a connection that ends with its answer. */
const LAST = { Connection: 'close' };

const FIRST_DATE = 'Mon, 30 Nov 2026 10:00:00 GMT';
const NEXT_DATE = 'Mon, 30 Nov 2026 10:00:01 GMT';

/** Ways to answer a request for a range that a client must get along with. */
const RIGHT: Readonly<Record<Way, Behaviour>> = {
  part: send,
  later: (response, asked) => void setTimeout(() => send(response, asked), 5),
  slowly(response, asked) {
    response.writeHead(206, part(asked)).write(asked.bytes.subarray(asked.start, middle(asked)));
    setTimeout(() => response.end(asked.bytes.subarray(middle(asked), asked.end)), 5);
  },
  wider(response, asked) {
    const end = Math.min(asked.bytes.length, asked.end + 1000);
    send(response, { ...asked, start: Math.max(0, asked.start - 700), end });
  },
  'without a length': (response, asked) => send(response, asked, { 'Content-Length': undefined }),
  'without a tag': (response, asked) => send(response, asked, { ETag: undefined }),
  dated: (response, asked) => send(response, asked, { ETag: undefined, 'Last-Modified': FIRST_DATE }),
  'of another date, by the same tag': (response, asked) => send(response, asked, { 'Last-Modified': NEXT_DATE }),
  'of unknown size': (response, asked) =>
    send(response, asked, { 'Content-Range': `bytes ${asked.start}-${asked.end - 1}/*` }),
  'led on': (response, { path }) => void response.writeHead(307, { Location: `/led${path}` }).end('go there'),
  whole: (response, { bytes }) => void response.writeHead(200, { 'Content-Length': bytes.length }).end(bytes),
  'whole, without a length': (response, { bytes }) => void response.writeHead(200, { ETag: '"first"' }).end(bytes),
  'whole, compressed': (response, { bytes }) =>
    void response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzipSync(bytes)),
};

/** Faults that may pass, with the code of the error if they do not. */
const PASSING: Coded = {
  shorter: ['cut-off', (response, asked) => send(response, { ...asked, end: asked.start + 1 })],
  'no answer': ['timeout', () => undefined],
  'half an answer': [
    'timeout',
    (response, asked) =>
      void response.writeHead(206, part(asked)).write(asked.bytes.subarray(asked.start, asked.start + 1)),
  ],
  'cut off': [
    'cut-off',
    (response, asked) => {
      response.writeHead(206, part(asked)).write(asked.bytes.subarray(asked.start, asked.start + 1));
      setTimeout(() => response.destroy(), 2);
    },
  ],
  'hung up': ['unreachable', (response) => response.destroy()],
  'another protocol': ['unreachable', (response) => void response.socket!.end('SSH-2.0-OpenSSH_9.2\r\n')],
  'no service': ['busy', (response) => void response.writeHead(503, { 'Retry-After': '0' }).end('later')],
  'too many requests': ['busy', (response) => void response.writeHead(429).end()],
  'other bytes': [
    'range',
    (response, asked) =>
      void send(response, { ...asked, start: asked.end - 1, end: Math.min(asked.end + 9, asked.bytes.length) }),
  ],
  'no Content-Range': ['range', (response, asked) => send(response, asked, { 'Content-Range': undefined })],
  'a range that is none': ['range', (response, asked) => send(response, asked, { 'Content-Range': 'bytes 9-3/2' })],
  'two lengths': [
    'range',
    (response, asked) =>
      send(response, asked, { 'Content-Range': `bytes ${asked.start}-${asked.end}/${asked.bytes.length + 1}` }),
  ],
  'too long': [
    'range',
    (response, asked) => {
      response.writeHead(206, part(asked, { 'Content-Length': undefined, ...LAST }));
      response.end(Buffer.concat([asked.bytes.subarray(asked.start, asked.end), Buffer.from('and more')]));
    },
  ],
};

/** Answers that end a run, with the codes of the error. `changed` needs an answer before. */
const FINAL: Coded = {
  'no file': ['missing', (response) => void response.writeHead(404).end('not found')],
  gone: ['missing', (response) => void response.writeHead(410).end()],
  'no right': ['forbidden', (response) => void response.writeHead(403).end()],
  'no name': ['forbidden', (response) => void response.writeHead(401).end()],
  'a teapot': ['status', (response) => void response.writeHead(418).end()],
  'nothing there': ['status', (response) => void response.writeHead(204).end()],
  compressed: [
    'encoding',
    (response, asked) => {
      const packed = gzipSync(asked.bytes.subarray(asked.start, asked.end));
      response.writeHead(206, part(asked, { 'Content-Encoding': 'gzip', 'Content-Length': `${packed.length}` }));
      response.end(packed);
    },
  ],
  'beyond the end': [
    'range',
    (response, { bytes }) => void response.writeHead(416, { 'Content-Range': `bytes */${bytes.length}` }).end(),
  ],
  'in a circle': [
    'redirects',
    (response, { path }) => void response.writeHead(302, { Location: `/circle${path}` }).end(),
  ],
  'to a file': ['redirects', (response) => void response.writeHead(302, { Location: 'file:///etc/passwd' }).end()],
  'a page': [
    'page',
    (response) => void response.writeHead(200, { 'Content-Type': 'text/html', ETag: '"page"' }).end(PAGE),
  ],
  nowhere: ['redirects', (response) => void response.writeHead(301).end()],
};

/** Answers about another version of the file, after an answer that is dated, by a tag or a time. */
const CHANGED: Readonly<Record<Way, Behaviour>> = {
  'another tag': (response, asked) => send(response, asked, { ETag: '"second"' }),
  'another size': (response, asked) =>
    send(response, asked, { 'Content-Range': `bytes ${asked.start}-${asked.end - 1}/${asked.bytes.length + 1}` }),
  'another date': (response, asked) => send(response, asked, { ETag: undefined, 'Last-Modified': NEXT_DATE }),
  'cut short': (response, { bytes }) =>
    void response.writeHead(416, { 'Content-Range': `bytes */${bytes.length - 1}` }).end(),
};

export const RIGHT_WAYS: readonly Way[] = Object.keys(RIGHT);
export const PASSING_FAULTS: readonly Way[] = Object.keys(PASSING);
export const FINAL_FAULTS: readonly Way[] = Object.keys(FINAL);
export const CHANGES: readonly Way[] = Object.keys(CHANGED);

/** The code of the error that a fault may lead to; undefined for a right answer. */
export function codeOf(way: Way): string | undefined {
  if (way in CHANGED) return 'format/changed';
  const fault = PASSING[way] ?? FINAL[way];
  return fault && `format/address-${fault[0]}`;
}

/** What a server was asked. */
export interface Request {
  readonly path: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
  readonly way: Way;
}

/** A server of one file on this machine. */
export interface RangeServer extends AsyncDisposable {
  readonly origin: string;
  readonly requests: Request[];
  /** The greatest number of requests at the same time. */
  most(): number;
}

/**
 * Serves bytes, whatever the path is.
 *
 * @param wayOf - How a request is answered, given how many there were before. Default: with the part.
 */
export async function serveRanges(
  bytes: Uint8Array,
  wayOf: (before: number, path: string) => Way = () => 'part',
): Promise<RangeServer> {
  const requests: Request[] = [];
  let [under, most] = [0, 0];
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    most = Math.max(most, ++under);
    response.on('close', () => under--);
    const { range, authorization } = request.headers;
    const path = request.url!;
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [undefined, '0', `${bytes.length - 1}`];
    const [start, end] = [Number(first), Math.min(Number(last) + 1, bytes.length)];
    const way = path.startsWith('/circle') ? 'in a circle' : wayOf(requests.length, path);
    requests.push({ path, range, authorization, way });
    if (start >= bytes.length && way in RIGHT) {
      response.writeHead(416, { 'Content-Range': `bytes */${bytes.length}` }).end();
      return;
    }
    const behave = RIGHT[way] ?? CHANGED[way] ?? (PASSING[way] ?? FINAL[way])![1];
    behave(response, { bytes, start: Math.min(start, bytes.length - 1), end, path });
  };
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    most: () => most,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
