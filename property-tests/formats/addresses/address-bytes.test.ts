import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect } from 'vitest';
import { openAddressBytes } from '../../../formats/bytes/addresses/address-bytes.ts';
import type { ByteSource } from '../../../formats/rasters/tiff/byte-source.ts';
import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import { fc, test } from '../../law-test.ts';
import {
  CHANGES,
  codeOf,
  FINAL_FAULTS,
  PASSING_FAULTS,
  RIGHT_WAYS,
  serveRanges,
  type Way,
} from '../../support/range-server.ts';

const ATTEMPTS = 4;
const patience = { stallMs: 60, pauseMs: 1, attempts: ATTEMPTS };

/** Larger than the first request, so that there are more. */
const FILE = Uint8Array.from({ length: 200_000 }, (_, at) => (at * 2654435761) >>> 24);

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
  expect(place?.file).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/a\.tif\?…$/);
  expect(message).not.toMatch(/secret|token/);
  return code;
}

/** Reads some ranges of a file behind an address with a name, a password and a signature. */
async function readFrom(origin: string, ranges: readonly (readonly [number, number])[]): Promise<Uint8Array[]> {
  const address = `${origin.replace('//', '//me:secret@')}/a.tif?token=1`;
  const source = await openAddressBytes(address, { patience, maxBytes: 2 ** 20 });
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

  test.prop([fc.array(anyWay, { maxLength: 12 }), someRanges])(
    'has the bytes of the file, or one coded error, whatever its server does',
    async (ways, ranges) => {
      await using server = await serveRanges(FILE, (before): Way => {
        const way = ways[before] ?? 'part';
        // What is changed was another before.
        return CHANGES.includes(way) && !server.requests.some((request) => TELLING.includes(request.way))
          ? 'part'
          : way;
      });
      let got: readonly Uint8Array[] = [];
      const code = await codeFrom(
        (async () => {
          got = await readFrom(server.origin, ranges);
        })(),
      );
      const met = server.requests.map(({ way }) => way);
      expect(server.most()).toBeLessThanOrEqual(8);
      if (code === undefined) return expectBytes(got, ranges);
      const faults = met.filter((way) => codeOf(way) !== undefined);
      const isEnded = faults.some((way) => FINAL_FAULTS.includes(way) || CHANGES.includes(way));
      expect(isEnded || faults.length >= ATTEMPTS, `${code} after ${met.join(', ')}`).toBe(true);
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
    expect(await codeFrom(readFrom(server.origin, RANGES))).toBe(codeOf(way));
    const expected = way === 'in a circle' ? 6 : FINAL_FAULTS.includes(way) ? 1 : ATTEMPTS;
    expect(server.requests).toHaveLength(expected);
  });

  test.each(PASSING_FAULTS)('is read although its server fails a few times: %s', async (way) => {
    await using server = await serveRanges(FILE, (before) => (before % ATTEMPTS < ATTEMPTS - 1 ? way : 'part'));
    expectBytes(await readFrom(server.origin, RANGES.slice(0, 2)), RANGES.slice(0, 2));
  });

  test.each([...CHANGES, ...FINAL_FAULTS])('is not read on after: %s', async (way) => {
    await using server = await serveRanges(FILE, (before) => (before === 1 ? way : 'part'));
    expect(await codeFrom(readFrom(server.origin, [[100_000, 200_000]]))).toBe(codeOf(way));
  });
});
