import { FormatError } from '../../primitives/checks/errors.ts';
import type { ByteSource } from '../rasters/tiff/byte-source.ts';

/**
 * A chunk of a RIFF file: four letters, a size, and `size` bytes. A RIFF or LIST chunk has a type and contains other
 * chunks.
 */
export interface Chunk {
  readonly id: string;
  /** Type of a RIFF or LIST chunk; undefined for other chunks. */
  readonly list: string | undefined;
  /** Byte offset of the chunk's header. `start` is the byte offset of its contents. */
  readonly at: number;
  readonly start: number;
  readonly size: number;
  /** Byte offset of the next chunk. For a RIFF or LIST chunk, this is the first chunk inside it. */
  readonly next: number;
}

/** Reads the header of the chunk at a byte offset; undefined if the file ends before or within this header. */
export async function chunkAt(source: ByteSource, at: number): Promise<Chunk | undefined> {
  if (at + 8 > source.size) return undefined;
  const head = Buffer.from(await source.read(at, Math.min(12, source.size - at)));
  const id = head.toString('latin1', 0, 4);
  const size = head.readUInt32LE(4);
  const list = id === 'RIFF' || id === 'LIST' ? head.toString('latin1', 8, 12) : undefined;
  return { id, list, at, start: at + 8, size, next: list === undefined ? afterChunk(at, size) : at + 12 };
}

/** Byte offset after a chunk whose contents begin at `at`. Chunks are padded to an even size. */
export function afterChunk(at: number, size: number): number {
  return at + 8 + size + (size % 2);
}

/**
 * Byte offset after a list of chunks. Undefined if the size of the list is unknown, because the recording stopped
 * before the size was written.
 */
export function endOfList({ start, size }: Chunk): number | undefined {
  return size === 0 || size === UNKNOWN_SIZE ? undefined : start + size;
}

const UNKNOWN_SIZE = 0xffff_ffff;

/** The error for a file that violates the AVI format. */
export function damagedAvi(reason: string, file: string, byte: number, frame?: number): FormatError {
  return new FormatError('format/damaged-avi', `The AVI is damaged: ${reason}.`, {
    remedy: 'Copy or record the file again.',
    place: { file, frame, byte },
  });
}
