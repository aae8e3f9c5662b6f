import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { constants, createGunzip, gunzip, gunzipSync } from 'node:zlib';
import { fileTooLarge } from '../memory.ts';
import { badGzip, isGzip } from './gzip-files.ts';

const gunzipAsync = promisify(gunzip);

/**
 * Decompresses the bytes of a gzipped file. Bytes that are not gzipped are returned unchanged.
 *
 * @throws OutOfMemoryError `memory/limit` if the result has more than `max` bytes.
 * @throws FormatError `format/bad-gzip` if the stream is damaged or truncated.
 */
export async function unpacked(bytes: Buffer, file: string, max: number): Promise<Buffer> {
  if (!isGzip(bytes)) return bytes;
  try {
    return await gunzipAsync(bytes, { maxOutputLength: outputLimit(max) });
  } catch (cause) {
    throw gunzipError(cause, file, max);
  }
}

/** Synchronous variant of {@link unpacked}, for worker threads. */
export function unpackedSync(bytes: Buffer, file: string, max: number): Buffer {
  if (!isGzip(bytes)) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: outputLimit(max) });
  } catch (cause) {
    throw gunzipError(cause, file, max);
  }
}

/**
 * Decompresses as much as possible of the first bytes of a gzipped file. Bytes that are not gzipped are returned
 * unchanged.
 */
export function unpackedPrefix(bytes: Uint8Array): Uint8Array {
  if (!isGzip(bytes)) return bytes;
  try {
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    // The bytes are damaged. The error is not reported here, because reading the whole file will report it.
    return bytes;
  }
}

/** Decompresses a gzip stream block by block. */
export async function* gunzipBlocks(
  packed: AsyncIterable<Uint8Array>,
  file: string,
  chunkSize: number = BLOCK_BYTES,
): AsyncGenerator<Uint8Array, void, undefined> {
  const unpacking = createGunzip({ chunkSize });
  // Blocks are copied, because the decompressor may still use a block when the source overwrites the memory of the
  // block.
  const copies = Readable.from(copiesOf(packed));
  const feeding = pipeline(copies, unpacking);
  // Errors also reach the loop below, which throws them. So this rejection is ignored.
  feeding.catch(() => {});
  try {
    for await (const block of unpacking) yield block as Uint8Array;
  } catch (cause) {
    throw gunzipError(cause, file, Number.POSITIVE_INFINITY);
  } finally {
    unpacking.destroy();
    await feeding.catch(() => {});
  }
}

const BLOCK_BYTES = 2 ** 20;

async function* copiesOf(blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const block of blocks) yield block.slice();
}

function outputLimit(max: number): number {
  return Math.max(1, Math.min(max, 2 ** 32));
}

function gunzipError(cause: unknown, file: string, max: number): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'ERR_BUFFER_TOO_LARGE') return fileTooLarge(file, max + 1, max);
  if (code?.startsWith('Z_') !== true) return cause;
  return badGzip(file, cause);
}
