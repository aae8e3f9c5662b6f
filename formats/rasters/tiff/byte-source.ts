import { FormatError } from '../../../primitives/checks/errors.ts';
import type { AbortSignal } from '../../../primitives/host/platform-types.ts';

/** Bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Bytes that can be read at any position: a file, an array in memory, or a file of the web. */
export interface ByteSource {
  /** Name of the source in error messages. */
  readonly file: string;
  readonly size: number;
  /** What the server says of the version of a file of the web; undefined if it says nothing. */
  readonly version?: string | undefined;
  /** Descriptor of the file, through which other threads can read it; undefined for bytes in memory. */
  readonly descriptor?: number;
  /**
   * Reads exactly `length` bytes, into the first bytes of `into` if it is given. The caller may modify the result. A
   * source may ignore `into`; see {@link readInto}. A source far away stops waiting if the signal is aborted.
   */
  read(offset: number, length: number, into?: Uint8Array, signal?: AbortSignal): Promise<Uint8Array>;
  /**
   * Says which bytes will be read soon, each range by one call of `read`, so that they are fetched several at a time.
   * Returns whether there is memory to fetch further ones. Undefined if reading does not take long.
   */
  announce?(ranges: readonly ByteRange[]): boolean;
  /** Says which announced bytes will not be read, as after an error. Those that were read already do not matter. */
  forget?(ranges: readonly ByteRange[]): void;
  close(): Promise<void>;
}

/** Fills `into` with the bytes from an offset on. */
export async function readInto(source: ByteSource, offset: number, into: Uint8Array): Promise<void> {
  const bytes = await source.read(offset, into.length, into);
  if (bytes.buffer !== into.buffer) into.set(bytes);
}

/** What `read` makes of a source, which is closed then. */
export async function readOnce<T>(source: ByteSource, read: (source: ByteSource) => T | Promise<T>): Promise<T> {
  try {
    return await read(source);
  } finally {
    await source.close();
  }
}

/** What `open` makes of a source, which is closed only if that fails. */
export async function openOver<T>(source: ByteSource, open: (source: ByteSource) => T | Promise<T>): Promise<T> {
  try {
    return await open(source);
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** A source of bytes that are in memory. */
export function bytesInMemory(bytes: Uint8Array, file = 'memory'): ByteSource {
  let open = true;
  return {
    file,
    size: bytes.length,
    async read(offset, length) {
      checkRange(file, bytes.length, offset, length, open);
      return new Uint8Array(bytes.subarray(offset, offset + length));
    },
    async close() {
      open = false;
    },
  };
}

/** Throws unless the bytes lie inside an open source. */
export function checkRange(file: string, size: number, offset: number, length: number, open: boolean): void {
  if (!open) throw closedError(file);
  if (!(offset >= 0 && length >= 0 && offset + length <= size)) throw truncated(file, size, offset, length);
}

export function closedError(file: string): FormatError {
  return new FormatError('format/closed', 'The file was closed before it was read.', {
    place: { file },
    remedy: 'Read before closing.',
  });
}

/** The error for a file of `size` bytes that does not contain all of the `length` bytes from byte `offset` on. */
export function truncated(file: string, size: number, offset: number, length: number, what = 'The file'): FormatError {
  return new FormatError('format/truncated', `${what} needs bytes beyond the end of the file.`, {
    expected: `bytes ${offset} to ${offset + length}`,
    got: `${size} bytes in all`,
    remedy: 'The file is cut off or damaged: copy or download it again.',
    place: { file },
  });
}
