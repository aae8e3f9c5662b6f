import { decode } from 'fast-png';
import { FormatError } from '../../primitives/errors.ts';

/** The samples of a grey PNG, or the indices of one with a palette. */
export interface PngLabels {
  readonly width: number;
  readonly height: number;
  readonly labels: Uint8Array | Uint16Array;
}

/**
 * Reads a PNG of one sample a pixel, of 1 to 16 bits. Chunks that a decoder may skip (colour profiles, texts) are not
 * looked at; checksums of the others are.
 *
 * @throws FormatError where the file is damaged, has colours or transparency, or fewer than 8 bits interlaced.
 */
export function readPngLabels(bytes: Uint8Array, file: string): PngLabels {
  const { width, height, depth } = readHeader(bytes, file);
  const samples = decodePng(criticalChunks(bytes, width, height, depth, file), file);
  const labels = depth < 8 ? unpackBits(samples, width, height, depth) : samples;
  if (labels.length !== width * height) throw damaged(`${labels.length} pixels`, file);
  return { width, height, labels };
}

interface PngHeader {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

function readHeader(bytes: Uint8Array, file: string): PngHeader {
  const view = viewOf(bytes);
  const signed = bytes.length >= 33 && SIGNATURE.every((byte, at) => bytes[at] === byte);
  if (!signed || view.getUint32(12) !== CHUNK.IHDR) throw damaged('no PNG header', file);
  const [width, height, depth, colour] = [view.getUint32(16), view.getUint32(20), bytes[24]!, bytes[25]!];
  if (colour !== 0 && colour !== 3) throw notLabels(COLOURS[colour] ?? `colour type ${colour}`, file);
  const interlaced = bytes[28] !== 0;
  if (interlaced && depth < 8) throw notLabels(`${depth} bits a sample, interlaced`, file);
  if (width === 0 || height === 0) throw damaged(`${width} × ${height} pixels`, file);
  return { width, height, depth };
}

const COLOURS: Readonly<Record<number, string>> = {
  2: 'RGB',
  4: 'grey with transparency',
  6: 'RGB with transparency',
};

const CHUNK = { IHDR: 0x49484452, IDAT: 0x49444154, IEND: 0x49454e44 };
/** Set in the type of chunks that a decoder may skip. */
const ANCILLARY = 0x20000000;

/** The file without the chunks that may be skipped, once it is known that its data are neither too few nor too many. */
function criticalChunks(bytes: Uint8Array, width: number, height: number, depth: number, file: string): Uint8Array {
  const view = viewOf(bytes);
  const kept: Uint8Array[] = [bytes.subarray(0, SIGNATURE.length)];
  let data = 0;
  for (let at = SIGNATURE.length, type = 0; type !== CHUNK.IEND; ) {
    if (at + 12 > bytes.length) throw damaged('the end of the file before its last chunk', file);
    const length = view.getUint32(at);
    type = view.getUint32(at + 4);
    if (at + 12 + length > bytes.length) throw damaged('a chunk longer than the file', file);
    if (type === CHUNK.IDAT) data += length;
    if ((type & ANCILLARY) === 0) kept.push(bytes.subarray(at, at + 12 + length));
    at += 12 + length;
  }
  checkData(data, height * (1 + Math.ceil((width * depth) / 8)), `${data} bytes for ${width} × ${height}`, file);
  return joined(kept);
}

/** Deflate packs no better than this. */
const BEST_RATIO = 1032;

/** Refuses data that cannot hold the pixels, and such as hold far more: they would only fill the memory. */
function checkData(packed: number, unpacked: number, got: string, file: string): void {
  const stored = 2 * unpacked + 65_536;
  if (unpacked > packed * BEST_RATIO || packed > stored) throw damaged(got, file);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function decodePng(bytes: Uint8Array, file: string): Uint8Array | Uint16Array {
  try {
    return decode(bytes, { checkCrc: true }).data as Uint8Array | Uint16Array;
  } catch (cause) {
    throw damaged(cause instanceof Error ? cause.message : String(cause), file, cause);
  }
}

/** Samples of fewer than eight bits, which are packed from the highest bit on, each row into whole bytes. */
function unpackBits(packed: ArrayLike<number>, width: number, height: number, depth: number): Uint8Array {
  const stride = Math.ceil((width * depth) / 8);
  const samples = new Uint8Array(width * height);
  for (let row = 0, at = 0; row < height; row++) {
    for (let column = 0; column < width; column++, at++) {
      const bit = column * depth;
      const byte = packed[row * stride + (bit >> 3)]!;
      samples[at] = (byte >> (8 - depth - (bit & 7))) & ((1 << depth) - 1);
    }
  }
  return samples;
}

function notLabels(got: string, file: string): FormatError {
  return new FormatError('format/not-labels', 'The PNG is no label image that can be read.', {
    expected: 'grey values or palette indices',
    got,
    remedy: 'Save the labels as a grey image of 8 or 16 bits, or with a palette, not interlaced.',
    place: { file },
  });
}

function damaged(got: string, file: string, cause?: unknown): FormatError {
  return new FormatError('format/bad-png', 'The PNG is damaged or cut off.', {
    expected: 'a whole PNG',
    got,
    remedy: 'Fetch or write the file again.',
    place: { file },
    cause,
  });
}
