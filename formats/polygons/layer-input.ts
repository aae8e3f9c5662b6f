import { FormatError } from '../../primitives/checks/errors.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { joinedArrays, viewOf } from '../bytes/byte-arrays.ts';
import { isGzip } from '../bytes/gzip-files.ts';
import { eachOf, type Steps } from '../bytes/steps.ts';
import type { Unzip } from '../bytes/zip.ts';
import { type ByteSource, checkRange, truncated } from '../rasters/tiff/byte-source.ts';
import type { DecoderOf } from './code-pages.ts';
import type { AttributeReader } from './zone-attributes.ts';

/** What readers of layers ask of Node or of a page. */
export interface LayerPlatform extends Unzip {
  /** Decompresses a stream of gzip, to blocks of `length` bytes or so. */
  gunzip(packed: AsyncIterable<Uint8Array>, file: string, length: number): AsyncIterable<Uint8Array>;
  readonly decoderOf: DecoderOf;
  /** Imports the readers of formats that only Node reads, by the names of these. */
  readonly readers: Readonly<Record<string, () => Promise<unknown>>>;
}

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
  /** Undefined for a text, which needs none of it. */
  readonly platform?: LayerPlatform | undefined;
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

/** A file that is stored: on disk, or in a blob. */
export interface StoredFile extends Pick<LayerInput, 'file' | 'size' | 'path' | 'beside'> {
  /** Reads up to `length` bytes at a position. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Reads the bytes from a position on, in blocks of `length` bytes. */
  blocks(length: number, signal: AbortSignal | undefined, from: number): AsyncIterable<Uint8Array>;
}

/** The input that a stored file is. A gzipped file is decompressed while it is read. */
export async function storedInput(
  stored: StoredFile,
  platform: LayerPlatform,
  memoryBytes: number | undefined,
): Promise<LayerInput> {
  const { file, path, beside } = stored;
  const { size, gzipped } = await lookAt(stored);
  const most = Math.max(LEAST_BLOCK_BYTES, Math.floor((memoryBytes ?? Number.POSITIVE_INFINITY) / BLOCK_PART));
  const length = Math.min(BLOCK_BYTES, most);
  const blocks: LayerInput['blocks'] = (signal, from = 0) =>
    gzipped
      ? platform.gunzip(stored.blocks(length, signal, 0), file, length)
      : stored.blocks(from === 0 ? length : Math.min(LATER_BLOCK_BYTES, length), signal, from);
  return { file, path: gzipped ? undefined : path, size, gzipped, platform, memoryBytes, blocks, beside };
}

/**
 * Finds out whether a file is gzipped, and its unpacked size. The last four bytes of a gzipped file are the unpacked
 * size modulo 2^32.
 */
async function lookAt(stored: StoredFile): Promise<{ readonly size: number; readonly gzipped: boolean }> {
  const { size } = stored;
  if (!isGzip(await stored.read(0, 2))) return { size, gzipped: false };
  const end = await stored.read(Math.max(0, size - 4), 4);
  return { size: end.length < 4 ? size : Math.max(size, viewOf(end).getUint32(0, true)), gzipped: true };
}

/** The platform of an input that is not a text. Formats of which texts are not read (`needsFile`) may ask for it. */
export function platformOf({ platform }: LayerInput): LayerPlatform {
  if (platform === undefined) throw new Error('Formats that are read from texts need no platform.');
  return platform;
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
