import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, vi } from 'vitest';
import { openAddressBytes } from '../../../formats/bytes/addresses/address-bytes.ts';
import type { ByteSource } from '../../../formats/rasters/tiff/byte-source.ts';
import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  CHANGES,
  codeOf,
  FINAL_FAULTS,
  PAGE,
  PASSING_FAULTS,
  RIGHT_WAYS,
  serveRanges,
  type Way,
} from '../../support/range-server.ts';

const ATTEMPTS = 4;
/** For servers that answer, however busy the machine is. */
const patience = { stallMs: 60_000, pauseMs: 1, attempts: ATTEMPTS };
/** For servers that hang. A busy machine is hardly ever too slow for it. */
const brisk = { ...patience, stallMs: 600 };
/** Attempts to get an answer of a server that hangs and has never answered. */
const SILENT_ATTEMPTS = 2;
/** Ways that are no answers. */
const SILENT: readonly Way[] = ['no answer', 'led on', 'hung up', 'another protocol'];
const hangs = (way: Way): boolean => codeOf(way) === 'format/address-timeout';

/** Larger than the first request, so that there are more. */
const FILE = Uint8Array.from({ length: 200_000 }, (_, at) => (at * 2654435761) >>> 24);

const HEAD = 2 ** 16;
/** Ranges of at most so many bytes between them are one request. */
const GAP = 2 ** 16;

/** The bytes of ranges that are announced and read at the same time. */
async function readAll(source: ByteSource, ranges: readonly (readonly [number, number])[]): Promise<Uint8Array[]> {
  source.announce!(ranges.map(([start, end]) => ({ start, end })));
  return Promise.all(ranges.map(([start, end]) => source.read(start, end - start)));
}

const expectBytes = (got: readonly Uint8Array[], ranges: readonly (readonly [number, number])[]): void => {
  for (const [at, [start, end]] of ranges.entries()) {
    expect(Buffer.compare(got[at]!, FILE.subarray(start, end)), `${start} to ${end}`).toBe(0);
  }
};

async function codeFrom(work: Promise<unknown>): Promise<string | undefined> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) return undefined;
  expect(error).toBeInstanceOf(QuadrilleError);
  const { code, remedy, place, message } = error as QuadrilleError;
  expect(remedy).toMatch(/\.$/);
  expect(place?.file).toMatch(/^https?:\/\/127\.0\.0\.1:\d+\/a\.tif\?…$/);
  expect(message).not.toMatch(/secret|token/);
  return code;
}

/** Reads some ranges of a file behind an address with a name, a password and a signature. */
async function readFrom(
  origin: string,
  ranges: readonly (readonly [number, number])[],
  given = patience,
): Promise<Uint8Array[]> {
  const address = `${origin.replace('//', '//me:secret@')}/a.tif?token=1`;
  const source = await openAddressBytes(address, { patience: given, maxBytes: 2 ** 20 });
  try {
    expect(source.size).toBe(FILE.length);
    return await readAll(source, ranges);
  } finally {
    await source.close();
  }
}

const RANGES = [
  [0, 100],
  [70_000, 70_100],
  [70_150, 90_000],
  [190_000, 200_000],
] as const;

const someRanges = fc
  .array(fc.tuple(fc.nat(FILE.length), fc.nat(FILE.length)), { minLength: 1, maxLength: 6 })
  .map((pairs) => pairs.map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const));

describe('a file behind an address', () => {
  const anyWay = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...RIGHT_WAYS) },
    { weight: 3, arbitrary: fc.constantFrom(...PASSING_FAULTS) },
    { weight: 1, arbitrary: fc.constantFrom(...FINAL_FAULTS, ...CHANGES) },
  );

  /** Answers that tell the size. */
  const TELLING = RIGHT_WAYS.filter((way) => way !== 'led on' && way !== 'of unknown size');

  /** Answers of different dates, of which one has no tag: after the other, either is about another file. */
  const DATED: readonly Way[] = ['dated', 'of another date, by the same tag'];

  test.prop([fc.array(anyWay, { maxLength: 12 }), someRanges], { numRuns: caseCount(60) })(
    'has the bytes of the file, or one coded error, whatever its server does',
    async (ways, ranges) => {
      await using server = await serveRanges(FILE, (before): Way => {
        const way = ways[before] ?? 'part';
        const met = server.requests.map((request) => request.way);
        // What is changed was another before.
        if (CHANGES.includes(way) && !met.some((other) => TELLING.includes(other))) return 'part';
        return DATED.includes(way) && met.some((other) => other !== way && DATED.includes(other)) ? 'part' : way;
      });
      let got: readonly Uint8Array[] = [];
      const code = await codeFrom(
        (async () => {
          got = await readFrom(server.origin, ranges, ways.some(hangs) ? brisk : patience);
        })(),
      );
      const met = server.requests.map(({ way }) => way);
      expect(server.most()).toBeLessThanOrEqual(8);
      if (code === undefined) return expectBytes(got, ranges);
      const faults = met.filter((way) => codeOf(way) !== undefined);
      const isEnded = faults.some((way) => FINAL_FAULTS.includes(way) || CHANGES.includes(way));
      const isSilent = code === 'format/address-timeout' && met.every((way) => SILENT.includes(way));
      expect(
        isEnded || faults.length >= (isSilent ? SILENT_ATTEMPTS : ATTEMPTS),
        `${code} after ${met.join(', ')}`,
      ).toBe(true);
      expect(faults.map(codeOf)).toContain(code);
    },
  );

  test.each(RIGHT_WAYS)('is read if its server always answers as follows: %s', async (way) => {
    await using server = await serveRanges(FILE, (_, path) =>
      way === 'led on' && path.startsWith('/led') ? 'part' : way,
    );
    expectBytes(await readFrom(server.origin, RANGES), RANGES);
  });

  test.each([...PASSING_FAULTS, ...FINAL_FAULTS])('has one error if its server always answers so: %s', async (way) => {
    await using server = await serveRanges(FILE, () => way);
    expect(await codeFrom(readFrom(server.origin, RANGES, hangs(way) ? brisk : patience))).toBe(codeOf(way));
    const attempts = way === 'no answer' ? SILENT_ATTEMPTS : ATTEMPTS;
    const expected = way === 'in a circle' ? 6 : FINAL_FAULTS.includes(way) ? 1 : attempts;
    expect(server.requests).toHaveLength(expected);
  });

  test.each(PASSING_FAULTS)('is read although its server fails a few times: %s', async (way) => {
    // One that hangs must have answered before.
    const first = way === 'no answer' ? 1 : 0;
    await using server = await serveRanges(FILE, (before) =>
      before >= first && (before - first) % ATTEMPTS < ATTEMPTS - 1 ? way : 'part',
    );
    expectBytes(await readFrom(server.origin, RANGES.slice(0, 2), hangs(way) ? brisk : patience), RANGES.slice(0, 2));
  });

  test.each([...CHANGES, ...FINAL_FAULTS])('is not read on after: %s', async (way) => {
    const first = way === 'another date' ? 'dated' : 'part';
    await using server = await serveRanges(FILE, (before) => (before === 1 ? way : first));
    expect(await codeFrom(readFrom(server.origin, [[100_000, 200_000]]))).toBe(codeOf(way));
  });

  test.each([DATED, DATED.toReversed()])('is not read on after %s, if %s comes next', async (first, second) => {
    await using server = await serveRanges(FILE, (before) => (before === 0 ? first! : second!));
    expect(await codeFrom(readFrom(server.origin, [[100_000, 200_000]]))).toBe('format/changed');
  });
});

describe('a web page in place of a file', () => {
  const messageFrom = async (page: string, way: Way): Promise<string> => {
    await using server = await serveRanges(Buffer.from(page), () => way);
    const error = await openAddressBytes(`${server.origin}/a.tif`, { patience }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'format/address-page' });
    return (error as Error).message;
  };

  test.each(['part', 'whole', 'whole, compressed'])('is told from it, with its title, if sent so: %s', async (way) => {
    expect(await messageFrom(PAGE, way)).toContain(
      'a web page and not the file (a page of HTML, \u201cLog in \u00b7 Data\u201d)',
    );
    const long = await messageFrom(`<html><title>${'long '.repeat(99)}</title>`, way);
    expect(long.length).toBeLessThan(400);
  });

  test('has a title that is not told if it may repeat the address', async () => {
    for (const title of ['/a.tif?token=1', 'key=2', 'me:secret@host']) {
      expect(await messageFrom(`<html><head><title>${title} not found</title>`, 'part')).not.toContain('not found');
    }
  });

  test('is named with the address to which it led', async () => {
    await using server = await serveRanges(Buffer.from(PAGE), (_, path) => (path === '/a.tif' ? 'led on' : 'part'));
    const error = await openAddressBytes(`${server.origin}/a.tif`, { patience }).catch((reason: unknown) => reason);
    expect((error as Error).message).toContain(`from ${server.origin}/led/a.tif`);
  });

  test('is not any file that has angle brackets', async () => {
    for (const text of [
      '<',
      '<!---->'.repeat(2000),
      '<?xml version="1.0"?><a/>',
      'II*\0<html>',
      '',
      ' '.repeat(99_000),
    ]) {
      await using server = await serveRanges(Buffer.from(text), () => (text === '' ? 'beyond the end' : 'part'));
      const source = await openAddressBytes(`${server.origin}/a.tif`, { patience });
      expect(source.size).toBe(Buffer.from(text).length);
      await source.close();
    }
  });
});

describe('requests of a file behind an address', () => {
  const someGaps = fc.array(fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.nat(100_000)), { maxLength: 8 });

  test.prop([someGaps], { numRuns: caseCount(30) })('join ranges that are near each other', async (gaps) => {
    const ranges: [number, number][] = [];
    let at = HEAD;
    for (const [length, gap] of gaps) {
      if (at + gap + length > FILE.length) break;
      ranges.push([at + gap, at + gap + length]);
      at += gap + length;
    }
    await using server = await serveRanges(FILE);
    expectBytes(await readFrom(server.origin, ranges), ranges);
    const breaks = ranges.filter(([start], index) => index === 0 || start - ranges[index - 1]![1] > GAP);
    expect(server.requests.slice(1).map(({ range }) => range)).toEqual(
      breaks.map(([start], index) => {
        const last = ranges[(index + 1 === breaks.length ? ranges.length : ranges.indexOf(breaks[index + 1]!)) - 1]!;
        return `bytes=${start}-${last[1] - 1}`;
      }),
    );
  });

  test('are at most eight at the same time, of all files', async () => {
    await using server = await serveRanges(FILE, () => 'later');
    const ranges = Array.from({ length: 30 }, (_, at) => [HEAD + 3000 * at, HEAD + 3000 * at + 10] as const);
    const address = `${server.origin}/a.tif`;
    const sources = await Promise.all([1, 2, 3, 4, 5, 6].map(() => openAddressBytes(address, { patience })));
    // Without an announcement, each read is a request. Those of small ranges fetch more.
    const read = await Promise.all(
      sources.flatMap((source) => ranges.map(([start, end]) => source.read(start, end - start))),
    );
    for (let at = 0; at < read.length; at += ranges.length) expectBytes(read.slice(at, at + ranges.length), ranges);
    expect(server.most()).toBeLessThanOrEqual(8);
    expect(server.most()).toBeGreaterThan(2);
    for (const source of sources) await source.close();
  });

  test('take up again what was read already, as long as there is memory', async () => {
    await using server = await serveRanges(FILE);
    const source = await openAddressBytes(`${server.origin}/a.tif`, { patience, maxBytes: 300_000 });
    for (const start of [150_000, 150_000, 10, 70_000, 71_000]) await source.read(start, 40_000);
    expect(server.requests.map(({ range }) => range)).toEqual([
      'bytes=0-65535',
      'bytes=150000-199999',
      // The head had to make room.
      'bytes=10-65545',
      'bytes=70000-135535',
    ]);
    await source.close();
  });

  test('tell name and password to the server of the address only', async () => {
    await using other = await serveRanges(FILE);
    const to = `${other.origin}/b.tif?key=1`;
    const led = createServer((request, response) => {
      expect(request.headers.authorization).toBe(`Basic ${btoa('me:se cret')}`);
      response.writeHead(302, { Location: to.replace('//', '//you:other@') }).end();
    }).listen(0, '127.0.0.1');
    await once(led, 'listening');
    const { port } = led.address() as AddressInfo;
    const source = await openAddressBytes(`http://me:se%20cret@127.0.0.1:${port}/a.tif`, { patience });
    expectBytes([await source.read(150_000, 10)], [[150_000, 150_010]]);
    await source.close();
    led.close();
    expect(source.file).toBe(`http://127.0.0.1:${port}/a.tif`);
    expect(other.requests.map(({ path, authorization }) => [path, authorization])).toEqual([
      ['/b.tif?key=1', undefined],
      ['/b.tif?key=1', undefined],
    ]);
  });

  test('go back to the address if that to which it led has expired', async () => {
    await using server = await serveRanges(FILE, (before, path) =>
      path === '/a.tif' ? 'led on' : before > 2 && before < 4 ? 'no right' : 'part',
    );
    const source = await openAddressBytes(`${server.origin}/a.tif`, { patience });
    for (const start of [100_000, 180_000]) expectBytes([await source.read(start, 10)], [[start, start + 10]]);
    await source.close();
    expect(server.requests.map(({ path }) => path)).toEqual([
      ...['/a.tif', '/led/a.tif', '/led/a.tif'],
      ...['/led/a.tif', '/a.tif', '/led/a.tif'],
    ]);
  });
});

describe('the memory for a file behind an address', () => {
  test.each(['whole', 'whole, without a length', 'whole, compressed'])(
    'bounds an answer with all of it: %s',
    async (way) => {
      await using server = await serveRanges(FILE, () => way);
      const [less, enough] = [100_000, 1_000_000];
      expect(await codeFrom(readWith(server.origin, less))).toBe('memory/limit');
      expect(await codeFrom(readWith(server.origin, enough))).toBe(undefined);
      // A file that is held needs no more requests.
      expect(server.requests).toHaveLength(2);
    },
  );

  test('bounds a single range', async () => {
    await using server = await serveRanges(FILE);
    expect(await codeFrom(readWith(server.origin, 90_000))).toBe('memory/limit');
  });

  async function readWith(origin: string, maxBytes: number): Promise<void> {
    const source = await openAddressBytes(`${origin}/a.tif?b`, { patience, maxBytes });
    try {
      expectBytes([await source.read(50_000, 100_000)], [[50_000, 150_000]]);
    } finally {
      await source.close();
    }
  }
});

describe('the end of reading an address', () => {
  const reason = new Error('enough');

  test('comes at once by the signal of opening, of a read, and by closing', async () => {
    await using server = await serveRanges(FILE, (before) => (before === 0 || before > 2 ? 'part' : 'no answer'));
    const whole = new AbortController();
    const source = await openAddressBytes(`${server.origin}/a.tif`, { patience, signal: whole.signal });
    const own = new AbortController();
    const reads = [source.read(100_000, 10, undefined, own.signal), source.read(180_000, 10)];
    const ended = Promise.allSettled(reads);
    while (server.requests.length < 3) await setTimeout(1);
    own.abort(reason);
    await expect(reads[0]).rejects.toBe(reason);
    whole.abort(reason);
    expect(await ended).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);
    await source.close();
    const further = await openAddressBytes(`${server.origin}/a.tif`, { patience });
    const last = further.read(100_000, 10);
    await further.close();
    expect(await codeOfClosed(last)).toBe('format/closed');
    await using mute = await serveRanges(FILE, () => 'no answer');
    const opening = openAddressBytes(`${mute.origin}/a.tif`, { patience, signal: AbortSignal.timeout(20) });
    await expect(opening).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('of announced ranges that are not read any more ends their requests', async () => {
    await using server = await serveRanges(FILE, (before) => (before === 1 ? 'no answer' : 'part'));
    const source = await openAddressBytes(`${server.origin}/a.tif`, { patience });
    const ranges = [{ start: 100_000, end: 100_010 }];
    source.announce!(ranges);
    while (server.requests.length < 2) await setTimeout(1);
    source.forget!(ranges);
    // The range is asked for again.
    expectBytes([await source.read(100_000, 10)], [[100_000, 100_010]]);
    await source.close();
  });

  const codeOfClosed = (work: Promise<unknown>): Promise<unknown> => work.catch((error: QuadrilleError) => error.code);
});

describe('what a platform says', () => {
  const answering = (answer: () => Promise<unknown>) => vi.stubGlobal('fetch', answer);
  const open = () => codeFrom(openAddressBytes('https://127.0.0.1:1/a.tif?b', { patience }));
  afterEach(() => void vi.unstubAllGlobals());

  test('of a way from https to http is an error', async () => {
    answering(async () => new Response(null, { status: 302, headers: { location: 'http://127.0.0.1/a.tif' } }));
    expect(await open()).toBe('format/address-downgrade');
  });

  test('of a failure in a page may mean that the server allows no other origins', async () => {
    vi.stubGlobal('location', { href: 'https://example.org' });
    answering(() => Promise.reject(new TypeError('Failed to fetch')));
    expect(await open()).toBe('format/address-other-origin');
  });

  test('of a way that a page is not told is that it was led', async () => {
    const asked: unknown[] = [];
    const headers = { 'Content-Range': 'bytes 0-2/3' };
    answering(async (...words: unknown[]) => {
      const { redirect } = words[1] as { redirect?: string };
      asked.push(redirect);
      const led = new Response(Uint8Array.of(1, 2, 3), { status: 206, headers });
      Object.defineProperty(led, 'url', { value: 'https://127.0.0.1:1/b.tif' });
      return redirect === 'manual' ? { type: 'opaqueredirect' } : led;
    });
    const source = await openAddressBytes('https://127.0.0.1:1/a.tif', { patience });
    expect([source.size, asked]).toEqual([3, ['manual', undefined]]);
    await source.close();
  });

  test.each(['https://', 'http://:80/', 'https://me:se/cret@host/', 'http://[/'])('is no address: %s', async (text) => {
    const error = await openAddressBytes(text).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'format/address-invalid' });
    expect((error as Error).message).not.toContain('cret');
  });
});

test('many files that are read at the same time listen once to the signal that ends them', async () => {
  await using server = await serveRanges(FILE);
  const { signal } = new AbortController();
  const address = `${server.origin}/a.tif`;
  const sources = await Promise.all(Array.from({ length: 12 }, () => openAddressBytes(address, { patience, signal })));
  const reading = sources.flatMap((source) => [0, 70_000, 150_000].map((at) => source.read(at, 9, undefined, signal)));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  expect(await Promise.all(reading)).toHaveLength(36);
  await Promise.all(sources.map((source) => source.close()));
});
