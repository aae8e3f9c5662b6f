import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { FormatError } from '../../primitives/checks/errors.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { joinedArrays } from '../bytes/byte-arrays.ts';
import { fileError } from '../bytes/file-error.ts';
import { gunzipBlocks, isGzip, unpacked } from '../bytes/gzip.ts';
import { readBounded } from '../bytes/read-bounded.ts';
import { eachOf, type Steps } from '../bytes/steps.ts';
import { type ByteSource, checkRange, truncated } from '../rasters/tiff/byte-source.ts';
import type { AttributeReader } from './zone-attributes.ts';

/** A file as a stream of bytes. The stream can be started several times. */
export interface LayerInput {
  /** Name of the file in error messages. */
  readonly file: string;
  /**
   * Total number of bytes of {@link LayerInput.blocks}. For a gzipped file, this is the unpacked size that the end of
   * the file states.
   */
  readonly size: number;
  /** Where the file is on disk, if {@link LayerInput.blocks} are its bytes. */
  readonly path?: string | undefined;
  readonly gzipped?: boolean | undefined;
  /** Maximum bytes of memory that a reader may use. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
  /**
   * Reads the file from its start or, if it is not gzipped, from the byte `from`, as blocks of any size. The memory of a
   * block is reused when the next block is requested.
   */
  blocks(signal?: AbortSignal, from?: number): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /**
   * Opens the companion file, whose name differs from `file` only by the extension `ending`; undefined if there is no
   * such file.
   */
  beside(ending: string): Promise<LayerInput | undefined> | undefined;
}

/** Size of a block. Processing a block takes about 10 ms, during which the thread cannot handle other events. */
const BLOCK_BYTES = 2 ** 20;
/** Size of a block if reading does not begin at the start of the file. It is smaller, as a single record may be wanted. */
const LATER_BLOCK_BYTES = 2 ** 16;
/** Part of the memory limit that a block may take, and the smallest block. */
const [BLOCK_PART, LEAST_BLOCK_BYTES] = [64, 64];

/** Opens a regular file. A gzipped file is decompressed while it is read. */
export async function fileInput(file: string, memoryBytes?: number): Promise<LayerInput> {
  const { size, gzipped } = await lookAt(file, await sizeOf(file));
  const most = Math.max(LEAST_BLOCK_BYTES, Math.floor((memoryBytes ?? Number.POSITIVE_INFINITY) / BLOCK_PART));
  const length = Math.min(BLOCK_BYTES, most);
  const blocks: LayerInput['blocks'] = (signal, from = 0) =>
    gzipped
      ? gunzipBlocks(blocksOf(file, length, signal), file, length)
      : blocksOf(file, from === 0 ? length : Math.min(LATER_BLOCK_BYTES, length), signal, from);
  const path = gzipped ? undefined : file;
  return { file, path, size, gzipped, memoryBytes, blocks, beside: (ending) => fileBeside(file, ending, memoryBytes) };
}

/** Bytes in memory, such as those of a text. They have no companion files. */
export function bytesInput(bytes: Uint8Array, file: string, memoryBytes?: number): LayerInput {
  return {
    file,
    size: bytes.length,
    memoryBytes,
    blocks: (signal, from = 0) => {
      signal?.throwIfAborted();
      return bytes.length > from ? [bytes.subarray(from)] : [];
    },
    beside: () => undefined,
  };
}

/** Opens a file. One that can be read only once, such as a pipe, is held in memory. */
export async function anyInput(file: string, memoryBytes?: number): Promise<LayerInput> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || found.isFile() || found.isDirectory()) return fileInput(file, memoryBytes);
  return bytesInput(await readPiped(file, memoryBytes), file, memoryBytes);
}

/** The bytes of a pipe, unpacked if they are gzipped. */
async function readPiped(file: string, max: number = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
  try {
    return await unpacked(await readBounded(file, max), file, max);
  } catch (error) {
    throw fileError(file, error);
  }
}

/**
 * Finds out whether a file is gzipped, and its unpacked size. The last four bytes of a gzipped file are the unpacked
 * size modulo 2^32.
 */
async function lookAt(file: string, size: number): Promise<{ readonly size: number; readonly gzipped: boolean }> {
  try {
    await using handle = await open(file, 'r');
    const ends = Buffer.alloc(6);
    await handle.read(ends, 0, 2, 0);
    if (!isGzip(ends)) return { size, gzipped: false };
    await handle.read(ends, 2, 4, Math.max(0, size - 4));
    return { size: Math.max(size, ends.readUInt32LE(2)), gzipped: true };
  } catch (error) {
    throw fileError(file, error);
  }
}

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: unknown) => {
    throw fileError(file, error);
  });
  if (found.isFile()) return found.size;
  const [sentence, remedy] = found.isDirectory()
    ? ['This is a directory.', 'Name a file inside it.']
    : ['This is no regular file, so it cannot be read twice.', 'Name a file on disk.'];
  throw new FormatError('format/not-a-file', sentence, { place: { file }, remedy });
}

async function* blocksOf(
  file: string,
  length: number,
  signal?: AbortSignal,
  from = 0,
): AsyncGenerator<Uint8Array, void, undefined> {
  let handle: FileHandle | undefined;
  try {
    signal?.throwIfAborted();
    handle = await open(file, 'r');
    let [block, other] = [new Uint8Array(length), new Uint8Array(length)];
    let reading = readInto(handle, block, from);
    let next = from;
    for (;;) {
      const { bytesRead } = await reading;
      signal?.throwIfAborted();
      if (bytesRead === 0) return;
      // Start to read the next block, while the consumer processes this one.
      next += bytesRead;
      reading = readInto(handle, other, next);
      yield block.subarray(0, bytesRead);
      [block, other] = [other, block];
    }
  } catch (error) {
    throw fileError(file, error);
  } finally {
    await handle?.close();
  }
}

function readInto(handle: FileHandle, block: Uint8Array, from: number): Promise<{ bytesRead: number }> {
  const reading = handle.read(block, 0, block.length, from);
  // `blocksOf` awaits `reading` and handles its error. If the consumer stops early, nothing awaits `reading`, and this
  // handler prevents an unhandled rejection.
  reading.catch(() => {});
  return reading;
}

/**
 * Finds a companion file by its extension. If no file has exactly the wanted name, lower and upper case are not
 * distinguished, as on some file systems.
 */
async function fileBeside(file: string, ending: string, memoryBytes?: number): Promise<LayerInput | undefined> {
  const wanted = basename(file, extname(file)) + ending;
  const names = await readdir(dirname(file));
  const name = names.includes(wanted) ? wanted : names.find((other) => other.toLowerCase() === wanted.toLowerCase());
  return name === undefined ? undefined : fileInput(join(dirname(file), name), memoryBytes);
}

/** Reads all bytes of a small file, such as a companion file. Throws if it has more than `max` bytes. */
export function* readWhole(input: LayerInput, max: number, signal?: AbortSignal): Steps<Uint8Array> {
  if (input.size > max) throw tooLarge(input, max);
  const parts: Uint8Array[] = [];
  yield* eachOf(input.blocks(signal), (block) => parts.push(block.slice()) > 0);
  return joinedArrays(parts, Uint8Array);
}

function tooLarge({ file, size }: LayerInput, max: number): FormatError {
  return new FormatError('format/too-large', 'The file is too large to be read as a whole.', {
    expected: `at most ${max} bytes`,
    got: `${size} bytes`,
    remedy: 'Split it, or convert it to a format that is read in a stream, such as FlatGeobuf or GeoJSON.',
    place: { file },
  });
}

/** The bytes of a file that is not gzipped, at any position. Closing has no effect, as nothing stays open. */
export function layerBytes(input: LayerInput): ByteSource {
  const { file, size } = input;
  return {
    file,
    size,
    async read(offset, length) {
      checkRange(file, size, offset, length, true);
      const bytes = new Uint8Array(length);
      let done = 0;
      if (length === 0) return bytes;
      for await (const block of input.blocks(undefined, offset)) {
        const part = block.subarray(0, length - done);
        bytes.set(part, done);
        done += part.length;
        if (done === length) return bytes;
      }
      throw truncated(file, offset + done, offset, length);
    },
    close: async () => {},
  };
}

/** What readers of zones, and of tiles, ask for. */
export interface ForZones {
  /** Receives the attributes of polygons, if they are wanted. */
  readonly attributes?: AttributeReader | undefined;
  /** What notes call a polygon. Default `polygon`. */
  readonly noun?: 'polygon' | 'zone' | 'point' | undefined;
  /**
   * Whether the records are points, of which each is read as a polygon of one vertex, and an empty one as a polygon without
   * rings. Records that are wrong and left out are read as empty ones, so that records are numbered by their place. Default
   * false.
   */
  readonly arePoints?: boolean | undefined;
  /**
   * Whether the layer is a tile: it may have no polygons, and a feature whose `id` cannot name it is named by its property
   * `id`, if that can. Default false.
   */
  readonly isTile?: boolean | undefined;
  /** Whether the caller cannot wait, so that formats whose readers do are refused. Default false. */
  readonly isNow?: boolean | undefined;
}
