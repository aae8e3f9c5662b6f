import { promisify } from 'node:util';
import { inflate, inflateSync } from 'node:zlib';
import type { InflateBounds, Inflater } from './inflate.ts';

interface Options {
  readonly chunkSize: number;
  readonly maxOutputLength: number;
}

const inflateBytes = promisify<Uint8Array, Options, Uint8Array>(inflate);

/** Node's zlib. `inflate` works on libuv's thread pool. */
export const nodeInflater: Inflater = {
  inflate: (packed, bounds) =>
    inflateBytes(packed, optionsOf(bounds)).catch((refused: unknown) => inflateLonger(packed, bounds, refused)),
  inflateNow(packed, bounds) {
    try {
      return inflateSync(packed, optionsOf(bounds));
    } catch (refused) {
      return inflateLonger(packed, bounds, refused);
    }
  },
};

/** Decompresses a stream again that was refused because it has more bytes than it should; throws if it was damaged. */
function inflateLonger(packed: Uint8Array, { longest }: InflateBounds, refused: unknown): Uint8Array {
  const isLonger = refused instanceof RangeError && 'code' in refused && refused.code === 'ERR_BUFFER_TOO_LARGE';
  if (!isLonger) throw refused;
  return inflateSync(packed, { chunkSize: LONGER_CHUNK, maxOutputLength: longest });
}

const LONGER_CHUNK = 2 ** 20;

function optionsOf({ size, most }: InflateBounds): Options {
  return { chunkSize: size + CHUNK_SLACK, maxOutputLength: most + CHUNK_SLACK };
}

/**
 * Number of extra bytes in the first output chunk of zlib. They let zlib recognize the end of the data without
 * allocating a second chunk.
 */
const CHUNK_SLACK = 64;
