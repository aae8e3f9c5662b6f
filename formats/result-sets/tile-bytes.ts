import { fileError } from '../bytes/file-error.ts';
import { unpackedSync } from '../bytes/gzip.ts';
import { readBoundedSync } from '../bytes/read-bounded.ts';
import type { TileBytes } from './parse-messages.ts';

/**
 * Reads the bytes of a tile, and decompresses them if they are gzipped. Synchronous, for worker threads.
 *
 * @throws OutOfMemoryError `memory/limit` if the file has more than `max` bytes, before or after decompression.
 */
export function bytesOf(source: TileBytes, max: number = Number.POSITIVE_INFINITY): Uint8Array {
  if (source instanceof Uint8Array) return source;
  try {
    return unpackedSync(readBoundedSync(source.file, max), source.file, max);
  } catch (error) {
    throw fileError(source.file, error);
  }
}
