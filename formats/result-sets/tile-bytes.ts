import { fileError } from '../file-error.ts';
import { unpackedSync } from '../gzip.ts';
import { readBoundedSync } from '../read-bounded.ts';
import type { TileBytes } from './parse-messages.ts';

/**
 * The bytes of a tile, unpacked where they are gzipped, on a thread that has nothing else to do while they are read.
 *
 * @throws OutOfMemoryError `memory/limit` where a file has, or unpacks to, more than `max` bytes.
 */
export function bytesOf(source: TileBytes, max: number = Number.POSITIVE_INFINITY): Uint8Array {
  if (source instanceof Uint8Array) return source;
  try {
    return unpackedSync(readBoundedSync(source.file, max), source.file, max);
  } catch (error) {
    throw fileError(source.file, error);
  }
}
