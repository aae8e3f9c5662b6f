import { readFileSync } from 'node:fs';
import { fileError } from '../file-error.ts';
import type { TileBytes } from './parse-messages.ts';

/** The bytes of a tile, on a thread that has nothing else to do while they are read. */
export function bytesOf(source: TileBytes): Uint8Array {
  if (source instanceof Uint8Array) return source;
  try {
    return readFileSync(source.file);
  } catch (error) {
    throw fileError(source.file, error);
  }
}
