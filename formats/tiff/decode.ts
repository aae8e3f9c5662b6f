import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { SAMPLE_BYTES } from '../../algorithms/geometry/raster.ts';
import { FormatError } from '../../primitives/errors.ts';
import { type BandLayout, rowBytes } from './layout.ts';
import { unpackLzw } from './lzw.ts';
import { unpackPackBits } from './packbits.ts';
import { undoDifferences, undoFloatDifferences } from './predictor.ts';
import { LITTLE_ENDIAN_MACHINE, swappedBytes, type Words, wordsOver } from './samples.ts';

/**
 * Decodes a block, or rows of an uncompressed one, into its samples in this machine's byte order. Deflate is unpacked on the thread pool of libuv, the others here.
 *
 * @param size - Bytes that must come out.
 * @throws FormatError where the block decodes to fewer bytes, or not at all.
 */
export async function decodeBlock(
  packed: Uint8Array,
  size: number,
  layout: BandLayout,
  file: string,
  block: number,
): Promise<Words> {
  const bytes = await unpack(packed, size, layout, file, block);
  if (bytes.length < size) throw corrupt(file, block, `it decodes to ${bytes.length} bytes of ${size}`);
  return toWords(bytes.subarray(0, size), layout);
}

async function unpack(
  packed: Uint8Array,
  size: number,
  layout: BandLayout,
  file: string,
  block: number,
): Promise<Uint8Array> {
  const { compression, blockRows } = layout;
  if (compression === 'none') return packed;
  if (compression === 'packbits') return unpackPackBits(packed, size);
  if (compression === 'deflate') return unpackDeflate(packed, size, blockRows * rowBytes(layout), file, block);
  const bytes = unpackLzw(packed, size);
  if (bytes === undefined) throw corrupt(file, block, 'it holds a code that LZW cannot have there');
  return bytes;
}

const inflateBytes = promisify<Uint8Array, { chunkSize: number; maxOutputLength: number }, Buffer>(inflate);

/** A last strip may be padded to the size of the others, `full`. */
async function unpackDeflate(
  packed: Uint8Array,
  size: number,
  full: number,
  file: string,
  block: number,
): Promise<Uint8Array> {
  try {
    return await inflateBytes(packed, { chunkSize: size + CHUNK_SLACK, maxOutputLength: full + CHUNK_SLACK });
  } catch (cause) {
    throw corrupt(file, block, `deflate says "${cause instanceof Error ? cause.message : cause}"`, cause);
  }
}

/** So that the whole output fits one chunk with room to see that it ends: zlib then makes no second chunk. */
const CHUNK_SLACK = 64;

function corrupt(file: string, block: number, reason: string, cause?: unknown): FormatError {
  return new FormatError('format/damaged-tiff', `Block ${block} cannot be decoded: ${reason}.`, {
    remedy: 'Copy or download the file again.',
    place: { file, record: block },
    cause,
  });
}

function toWords(bytes: Uint8Array, layout: BandLayout): Words {
  const { sample, littleEndian, predictor, blockColumns, interleaved } = layout;
  const rowWords = blockColumns * interleaved;
  if (predictor === 'float') return undoFloatDifferences(bytes, rowWords, interleaved);
  const size = SAMPLE_BYTES[sample];
  const words = wordsOver(littleEndian === LITTLE_ENDIAN_MACHINE ? bytes : swappedBytes(bytes, size), size);
  if (predictor === 'difference') undoDifferences(words, rowWords, interleaved);
  return words;
}
