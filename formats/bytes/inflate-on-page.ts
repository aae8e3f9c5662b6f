import { inflateSync } from 'fflate';
import { viewOf } from './byte-arrays.ts';
import type { InflateBounds, Inflater } from './inflate.ts';

/** fflate, which also works where a page may start no threads. It compares no checksums. */
export const pageInflater: Inflater = {
  inflate: async (packed, bounds) => inflateNow(packed, bounds),
  inflateNow,
};

/** Bytes beyond what is expected, by which a stream that is longer is told. */
const SLACK = 64;

function inflateNow(packed: Uint8Array, { size, longest }: InflateBounds): Uint8Array {
  const [method = 0, flags = 0] = packed;
  if ((method & 15) !== 8 || method >> 4 > 7 || (256 * method + flags) % 31 !== 0 || (flags & 32) !== 0) {
    throw new Error('no head of zlib');
  }
  const bytes = inflateRaw(packed.subarray(2), size + SLACK) ?? inflateRaw(packed.subarray(2), longest + 1);
  if (bytes === undefined) throw new Error('too many bytes');
  if (!hasChecksum(packed, adler32(bytes))) throw new Error('another checksum');
  return bytes;
}

/** Decompresses deflate without a head. Undefined if that has `room` bytes or more. */
export function inflateRaw(packed: Uint8Array, room: number): Uint8Array | undefined {
  try {
    // Of what does not fit, fflate writes nothing.
    const bytes = inflateSync(packed, { out: new Uint8Array(room) });
    return bytes.length < room ? bytes : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Whether a checksum ends a stream, behind which other bytes may stand. fflate does not say where the stream ends. */
function hasChecksum(packed: Uint8Array, sum: number): boolean {
  const view = viewOf(packed);
  for (let at = packed.length - 4; at >= 2; at--) if (view.getUint32(at) === sum) return true;
  return false;
}

/** The remainders of Adler's checksum, and how many bytes can be added up before they are taken. */
const [MODULUS, RUN] = [65_521, 3800];

function adler32(bytes: Uint8Array): number {
  let [low, high] = [1, 0];
  for (let from = 0; from < bytes.length; from += RUN) {
    const to = Math.min(bytes.length, from + RUN);
    for (let at = from; at < to; at++) {
      low += bytes[at]!;
      high += low;
    }
    low %= MODULUS;
    high %= MODULUS;
  }
  return 65_536 * high + low;
}
