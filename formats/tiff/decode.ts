import { promisify } from 'node:util';
import { inflate, inflateSync } from 'node:zlib';
import { FormatError } from '../../primitives/checks/errors.ts';
import { messageOf } from '../../primitives/checks/message-of.ts';
import { loadZstd, type Unpack } from '../zstd.ts';
import { type BlockCoding, rowBytes, storedBytes } from './layout.ts';
import { unpackLzw } from './lzw.ts';
import { unpackPackBits } from './packbits.ts';
import { undoDifferences, undoFloatDifferences, undoWideDifferences } from './predictor.ts';
import { LITTLE_ENDIAN_MACHINE, swappedBytes, type Words, wordsOver } from './samples.ts';

/**
 * Decodes a block, or some rows of an uncompressed block, to samples in the machine's byte order, or to bytes if
 * several samples share a byte. Deflate is decompressed on libuv's thread pool; all other compressions are decompressed on the calling thread.
 *
 * @param size - Expected number of decompressed bytes.
 * @throws FormatError if the block decodes to fewer bytes, or cannot be decoded.
 */
export async function decodeBlock(
  packed: Uint8Array,
  size: number,
  coding: BlockCoding,
  file: string,
  block: number,
): Promise<Words> {
  await loadDecoder(coding);
  if (coding.compression !== 'deflate') return decodeBlockNow(packed, size, coding, file, block);
  const bytes = await inflateBytes(packed, inflateOptions(size, coding)).catch((cause: unknown) => {
    throw notInflated(file, block, cause);
  });
  return toSamples(bytes, size, coding, file, block);
}

/** Loads what {@link decodeBlockNow} needs for blocks of this coding. */
export async function loadDecoder({ compression }: BlockCoding): Promise<void> {
  if (compression === 'zstd') unpackZstd ??= await loadZstd();
}

/** The decoder of Zstandard, once it is loaded. */
let unpackZstd: Unpack | undefined;

/** Like {@link decodeBlock}, but synchronous. {@link loadDecoder} must have resolved. */
export function decodeBlockNow(
  packed: Uint8Array,
  size: number,
  coding: BlockCoding,
  file: string,
  block: number,
): Words {
  return toSamples(unpack(packed, size, coding, file, block), size, coding, file, block);
}

function toSamples(bytes: Uint8Array, size: number, coding: BlockCoding, file: string, block: number): Words {
  if (bytes.length < size) throw corrupt(file, block, `it decodes to ${bytes.length} bytes instead of ${size}`);
  return toWords(bytes.subarray(0, size), coding);
}

function unpack(packed: Uint8Array, size: number, coding: BlockCoding, file: string, block: number): Uint8Array {
  const { compression } = coding;
  if (compression === 'none') return packed.length < size ? padded(packed, size) : packed;
  if (compression === 'packbits') return unpackPackBits(packed, size);
  if (compression === 'deflate') return inflateNow(packed, size, coding, file, block);
  if (compression === 'zstd') return unzstdNow(packed, coding, file, block);
  const bytes = unpackLzw(packed, size);
  if (bytes === undefined) throw corrupt(file, block, 'it holds a code that is not valid in LZW at that place');
  return bytes;
}

/**
 * Fills up an uncompressed block whose padding is cut off. That the cells inside the raster are there was checked when
 * the layout was read.
 */
function padded(packed: Uint8Array, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  bytes.set(packed);
  return bytes;
}

interface InflateOptions {
  readonly chunkSize: number;
  readonly maxOutputLength: number;
}

const inflateBytes = promisify<Uint8Array, InflateOptions, Buffer>(inflate);

function inflateNow(packed: Uint8Array, size: number, coding: BlockCoding, file: string, block: number): Uint8Array {
  try {
    return inflateSync(packed, inflateOptions(size, coding));
  } catch (cause) {
    throw notInflated(file, block, cause);
  }
}

function unzstdNow(packed: Uint8Array, coding: BlockCoding, file: string, block: number): Uint8Array {
  try {
    return unpackZstd!(packed, mostBytes(coding));
  } catch (cause) {
    throw corrupt(file, block, `Zstandard says "${messageOf(cause)}"`, cause);
  }
}

/** Maximum bytes of a block. The last strip may be padded to the size of the other strips. */
function mostBytes(coding: BlockCoding): number {
  return coding.blockRows * rowBytes(coding);
}

/** Options of zlib for decompressing a block. It may have more than `size` bytes; see {@link mostBytes}. */
function inflateOptions(size: number, coding: BlockCoding): InflateOptions {
  return { chunkSize: size + CHUNK_SLACK, maxOutputLength: mostBytes(coding) + CHUNK_SLACK };
}

/**
 * Number of extra bytes in the first output chunk of zlib. They let zlib recognize the end of the data without
 * allocating a second chunk.
 */
const CHUNK_SLACK = 64;

function notInflated(file: string, block: number, cause: unknown): FormatError {
  return corrupt(file, block, `deflate says "${messageOf(cause)}"`, cause);
}

function corrupt(file: string, block: number, reason: string, cause?: unknown): FormatError {
  return new FormatError('format/damaged-tiff', `The block cannot be decoded: ${reason}.`, {
    remedy: 'Copy or download the file again.',
    place: { file, block },
    cause,
  });
}

function toWords(bytes: Uint8Array, coding: BlockCoding): Words {
  const { littleEndian, predictor, blockColumns, interleaved } = coding;
  const rowWords = blockColumns * interleaved;
  const size = storedBytes(coding);
  if (predictor === 'float') return undoFloatDifferences(bytes, rowWords, interleaved, size);
  const words = wordsOver(littleEndian === LITTLE_ENDIAN_MACHINE ? bytes : swappedBytes(bytes, size), size);
  if (predictor === 'difference' && size === 8) undoWideDifferences(words as Uint32Array, rowWords, interleaved);
  else if (predictor === 'difference') undoDifferences(words, rowWords, interleaved);
  return words;
}
