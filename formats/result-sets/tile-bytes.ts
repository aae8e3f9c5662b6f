import { fileError } from '../bytes/file-error.ts';
import { unpackedSync } from '../bytes/gzip.ts';
import { readBoundedSync } from '../bytes/read-bounded.ts';
import { finished } from '../bytes/steps.ts';
import { fileInput } from '../polygons/file-input.ts';
import { layerTile, needsFile } from './layer-tile.ts';
import type { TileBytes } from './parse-messages.ts';
import { parseTile } from './parse-tile.ts';
import type { PolygonTile, TileParameters } from './result-set.ts';

/** Reads the polygons of a tile like `parseTile`, from bytes or, in every format, from a file. For worker threads. */
export async function readTile(source: TileBytes, parameters: TileParameters): Promise<PolygonTile> {
  const { format, memoryBytes } = parameters;
  if (!(source instanceof Uint8Array) && needsFile(format)) {
    return finished(layerTile(await fileInput(source.file, memoryBytes), parameters));
  }
  return parseTile(bytesOf(source, memoryBytes), parameters);
}

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
