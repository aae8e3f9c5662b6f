import { FormatError, QuadrilleError } from '../../../primitives/checks/errors.ts';
import { messageOf } from '../../../primitives/checks/message-of.ts';
import type { CodecFaults } from '../../bytes/codec-faults.ts';
import type { InflateBounds, Inflater } from '../../bytes/inflate.ts';
import { firstFrame, loadZstd, type Unpack } from '../../bytes/zstd.ts';
import { jpegTables, loadJpeg, readJpegHead, type UnpackJpeg } from '../jpeg.ts';
import type { ByteSource } from './byte-source.ts';
import {
  type BandLayout,
  type BlockCoding,
  type JpegCoding,
  type LercCoding,
  rowBytes,
  storedBytes,
} from './layout.ts';
import { type LercFaults, loadLerc, readLercHead, type UnpackLerc } from './lerc.ts';
import { unpackLzw } from './lzw.ts';
import { unpackPackBits } from './packbits.ts';
import { undoDifferences, undoFloatDifferences, undoWideDifferences } from './predictor.ts';
import { LITTLE_ENDIAN_MACHINE, swappedBytes, type Words, wordsOver } from './samples.ts';
import type { Codecs } from './tiff-platform.ts';

/**
 * Decodes a block, or some rows of an uncompressed block, to samples in the machine's byte order, or to bytes if
 * several samples share a byte. What is not deflate is decompressed on the calling thread.
 *
 * @param size - Expected number of decompressed bytes.
 * @throws FormatError if the block decodes to fewer bytes, or cannot be decoded.
 */
export async function decodeBlock(
  packed: Uint8Array,
  size: number,
  coding: BlockCoding,
  codecs: Codecs,
  file: string,
  block: number,
): Promise<Words> {
  await loadDecoder(coding, codecs, file);
  if (coding.compression !== 'deflate') return decodeBlockNow(packed, size, coding, codecs, file, block);
  const bytes = await codecs.inflate(packed, boundsOf(size, mostBytes(coding))).catch((cause: unknown) => {
    throw notInflated(file, block, cause);
  });
  return toSamples(bytes, size, coding, file, block);
}

/**
 * Loads what {@link decodeBlockNow} needs for blocks of this coding.
 *
 * @throws FormatError `format/needs-node` for a coding that pages do not decode.
 */
export async function loadDecoder({ compression, lerc }: BlockCoding, codecs: Codecs, file: string): Promise<void> {
  if (compression === 'zstd' || lerc?.packing === 'zstd') unpackZstd ??= await loadZstd();
  if (compression === 'jpeg') {
    const { jpeg = needsNode('JPEG', file) } = codecs;
    unpackJpeg ??= await loadJpeg(jpeg);
  }
  if (compression === 'lerc') {
    const { lerc: imported = needsNode('LERC', file) } = codecs;
    unpackLerc ??= await loadLerc(imported);
  }
}

function needsNode(got: string, file: string): never {
  throw new FormatError(
    'format/needs-node',
    'The cells of the TIFF are compressed in a way that pages do not decode.',
    {
      expected: 'deflate, LZW, PackBits, Zstandard, or no compression',
      got,
      remedy: 'Rewrite it with gdal_translate -co COMPRESS=DEFLATE, or read it in Node.',
      place: { file },
    },
  );
}

/** The decoders that are loaded when they are needed. */
let unpackZstd: Unpack | undefined;
let unpackJpeg: UnpackJpeg | undefined;
let unpackLerc: UnpackLerc | undefined;

/** Like {@link decodeBlock}, but synchronous. {@link loadDecoder} must have resolved. */
export function decodeBlockNow(
  packed: Uint8Array,
  size: number,
  coding: BlockCoding,
  codecs: Codecs,
  file: string,
  block: number,
): Words {
  return toSamples(unpack(packed, size, coding, codecs, file, block), size, coding, file, block);
}

function toSamples(bytes: Uint8Array, size: number, coding: BlockCoding, file: string, block: number): Words {
  if (bytes.length < size) throw corrupt(file, block, `it decodes to ${bytes.length} bytes instead of ${size}`);
  return toWords(bytes.subarray(0, size), coding);
}

function unpack(
  packed: Uint8Array,
  size: number,
  coding: BlockCoding,
  codecs: Codecs,
  file: string,
  block: number,
): Uint8Array {
  const { compression } = coding;
  if (compression === 'none') return packed.length < size ? padded(packed, size) : packed;
  if (compression === 'packbits') return unpackPackBits(packed, size);
  if (compression === 'deflate') return inflateNow(packed, size, mostBytes(coding), codecs, file, block);
  if (compression === 'zstd') return unzstdNow(packed, size, mostBytes(coding), file, block);
  if (compression === 'jpeg') return unpackPicture(packed, size, coding, coding.jpeg!, file, block);
  if (compression === 'lerc') return unpackBlobs(packed, size, coding, coding.lerc!, codecs, file, block);
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

function inflateNow(
  packed: Uint8Array,
  size: number,
  most: number,
  codecs: Inflater,
  file: string,
  block: number,
): Uint8Array {
  try {
    return codecs.inflateNow(packed, boundsOf(size, most));
  } catch (cause) {
    throw notInflated(file, block, cause);
  }
}

function unzstdNow(packed: Uint8Array, size: number, most: number, file: string, block: number): Uint8Array {
  try {
    const frame = firstFrame(packed);
    const bytes = unpackZstd!(frame.bytes, Math.min(Math.max(most, frame.contents), most + LONGER));
    if (bytes.length >= size) return bytes;
  } catch (cause) {
    throw corrupt(file, block, `Zstandard says "${messageOf(cause)}"`, cause);
  }
  throw corrupt(file, block, `Zstandard does not decode it to ${size} bytes`);
}

/** Decodes a block of JPEG, which may have more rows than `size` bytes need: those below the last row of the raster. */
function unpackPicture(
  packed: Uint8Array,
  size: number,
  coding: BlockCoding,
  { colours, tables }: JpegCoding,
  file: string,
  block: number,
): Uint8Array {
  const { blockColumns, blockRows, interleaved } = coding;
  const faults = faultsOf('JPEG', file, block);
  const head = readJpegHead(packed, faults);
  const { width, height, components, isWhole } = head;
  const rows = size / rowBytes(coding);
  if (width !== blockColumns || height < rows || height > blockRows)
    throw faults.damaged(`its JPEG has ${width} × ${height} cells, not ${blockColumns} × ${rows}`);
  if (components !== interleaved) throw faults.damaged(`its JPEG has ${components} bands, not ${interleaved}`);
  if (colours === 'stored' && !isWhole) throw faults.unsupported('JPEG of bands of different sizes');
  return unpackJpeg!(head, colours, faults, tables.length === 0 ? [] : jpegTables(tables, faults));
}

/** Decodes a block of LERC to samples in the byte order of the machine. */
function unpackBlobs(
  packed: Uint8Array,
  size: number,
  coding: BlockCoding,
  { packing, ...shape }: LercCoding,
  codecs: Codecs,
  file: string,
  block: number,
): Uint8Array {
  const { blockColumns, blockRows, interleaved } = coding;
  const blobs = unpackedBlobs(packed, coding, packing, codecs, file, block);
  const faults: LercFaults = {
    ...faultsOf('LERC', file, block),
    unmarked: () =>
      new FormatError('format/unmarked-cells', 'Cells of the block have no value, and the band has no nodata value.', {
        expected: 'a nodata value, which such cells get',
        remedy: 'Give a value that no cell has, by the option nodata (--nodata of the command).',
        place: { file, block },
      }),
  };
  const cells = unpackLerc!(
    blobs,
    {
      ...shape,
      columns: blockColumns,
      samples: interleaved,
      minRows: size / rowBytes(coding),
      maxRows: blockRows,
      isSwapped: coding.littleEndian !== LITTLE_ENDIAN_MACHINE,
    },
    faults,
  );
  return new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength);
}

function unpackedBlobs(
  packed: Uint8Array,
  coding: BlockCoding,
  packing: LercCoding['packing'],
  codecs: Codecs,
  file: string,
  block: number,
): Uint8Array {
  const most = 2 * mostBytes(coding) + LONGEST_HEADS;
  if (packing === 'deflate') return inflateNow(packed, packed.length, most, codecs, file, block);
  return packing === 'zstd' ? unzstdNow(packed, 1, most, file, block) : packed;
}

/**
 * How far values of LERC may be from those that were encoded, as the first block of a file says. Blocks that cannot be
 * decoded are told of when they are read.
 */
export async function lercError(source: ByteSource, layout: BandLayout, codecs: Codecs): Promise<number> {
  const block = layout.byteCounts.findIndex((bytes) => bytes > 0);
  if (block === -1) return 0;
  await loadDecoder(layout, codecs, source.file);
  const { packing } = layout.lerc!;
  const bytes = Math.min(layout.byteCounts[block]!, packing === 'none' ? LONGEST_HEADS : Number.POSITIVE_INFINITY);
  try {
    const packed = await source.read(layout.offsets[block]!, bytes);
    const blobs = unpackedBlobs(packed, layout, packing, codecs, source.file, block);
    return readLercHead(blobs, faultsOf('LERC', source.file, block)).maxError;
  } catch (error) {
    if (error instanceof QuadrilleError) return 0;
    throw error;
  }
}

/** More bytes than heads, masks and tables of the blobs of a block have beside its cells. */
const LONGEST_HEADS = 2 ** 16;

function faultsOf(name: string, file: string, block: number): CodecFaults {
  return {
    damaged: (reason, cause) => corrupt(file, block, reason, cause),
    unsupported: (got) =>
      new FormatError('format/unsupported-compression', `A block of the TIFF has ${got}, which is not read.`, {
        got,
        remedy: `Rewrite it with gdal_translate -co COMPRESS=DEFLATE, which reads other kinds of ${name}.`,
        place: { file, block },
      }),
  };
}

/** Maximum bytes of a block. The last strip may be padded to the size of the other strips. */
function mostBytes(coding: BlockCoding): number {
  return coding.blockRows * rowBytes(coding);
}

/**
 * How many more bytes than it should a block may decode to. What is beyond its cells is ignored, as in GDAL; far more is
 * not unpacked at all.
 */
const LONGER = 2 ** 24;

/** Bounds of a block of `size` bytes, or of `most` bytes with its padding. */
function boundsOf(size: number, most: number): InflateBounds {
  return { size, most, longest: most + LONGER };
}

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
  const { compression, littleEndian, predictor, blockColumns, interleaved } = coding;
  if (compression === 'lerc') return wordsOver(bytes, storedBytes(coding));
  const rowWords = blockColumns * interleaved;
  const size = storedBytes(coding);
  if (predictor === 'float') return undoFloatDifferences(bytes, rowWords, interleaved, size);
  const words = wordsOver(littleEndian === LITTLE_ENDIAN_MACHINE ? bytes : swappedBytes(bytes, size), size);
  if (predictor === 'difference' && size === 8) undoWideDifferences(words as Uint32Array, rowWords, interleaved);
  else if (predictor === 'difference') undoDifferences(words, rowWords, interleaved);
  return words;
}
