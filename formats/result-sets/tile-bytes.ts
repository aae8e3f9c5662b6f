import { fileError } from '../file-error.ts';
import { unpackedSync } from '../gzip.ts';
import { readBoundedSync } from '../read-bounded.ts';
import type { TileBytes } from './parse-messages.ts';

/**
 * Reads the bytes of a tile synchronously, and unpacks them if they are gzipped. For a thread that has nothing else to
 * do.
 *
 * @throws OutOfMemoryError `memory/limit` if a file has, or unpacks to, more than `max` bytes.
 */
export function bytesOf(source: TileBytes, max: number = Number.POSITIVE_INFINITY): Uint8Array {
  if (source instanceof Uint8Array) return source;
  try {
    return unpackedSync(readBoundedSync(source.file, max), source.file, max);
  } catch (error) {
    throw fileError(source.file, error);
  }
}
