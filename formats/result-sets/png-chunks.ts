import { FormatError } from '../../primitives/checks/errors.ts';
import { viewOf } from '../bytes/byte-arrays.ts';
import { crc32 } from '../bytes/crc32.ts';

/** The header of a PNG and its data, which is still compressed. */
export interface PngChunks {
  readonly width: number;
  readonly height: number;
  /** Bits of a sample. */
  readonly depth: number;
  /** Colour type: 0 is grey, 2 is RGB, 3 is a palette, 4 is grey with transparency, and 6 is RGB with transparency. */
  readonly colour: number;
  /** Samples per pixel. */
  readonly samples: number;
  readonly interlaced: boolean;
  /** Number of bytes in a row of pixels, without the filter byte in front of it. */
  readonly stride: number;
  /** The compressed data: the contents of all IDAT chunks. */
  readonly data: readonly Uint8Array[];
  /** The palette as triples of red, green and blue; undefined if there is none. */
  readonly palette: Uint8Array | undefined;
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const CHUNK = { IHDR: 0x49484452, PLTE: 0x504c5445, IDAT: 0x49444154, IEND: 0x49454e44 };
/** Bit that is set in the type of an optional chunk. */
const ANCILLARY = 0x20000000;

/**
 * Reads the chunks of a PNG with labels. Optional chunks (colour profiles, texts) are skipped. The checksums of
 * required chunks are verified.
 *
 * @throws FormatError if the file is damaged, has colours or transparency, or is interlaced with fewer than 8 bits per
 * sample; also if the compressed data are too short or far too long for the pixels.
 */
export function readPngChunks(bytes: Uint8Array, file: string): PngChunks {
  const header = readHeader(bytes, file);
  const { colour, depth, interlaced } = header;
  if (colour !== 0 && colour !== 3) throw notLabels(COLOURS[colour]!.name, file);
  if (interlaced && depth < 8) throw notLabels(`${depth} bits a sample, interlaced`, file);
  return withData(header, bytes, file);
}

/**
 * Reads the chunks of a PNG with any colour type, like {@link readPngChunks}.
 *
 * @throws FormatError if the file is damaged, or if the compressed data are too short or far too long for the pixels.
 */
export function readPngImage(bytes: Uint8Array, file: string): PngChunks {
  return withData(readHeader(bytes, file), bytes, file);
}

type PngHeader = Omit<PngChunks, 'data' | 'palette'>;

function withData(header: PngHeader, bytes: Uint8Array, file: string): PngChunks {
  const chunks = [...criticalChunks(bytes, file)];
  const data = chunks.filter(({ type }) => type === CHUNK.IDAT).map(({ body }) => body);
  const packed = data.reduce((sum, { length }) => sum + length, 0);
  checkData(packed, header.height * (1 + header.stride), `${packed} bytes for ${sizeOf(header)}`, file);
  return { ...header, data, palette: chunks.find(({ type }) => type === CHUNK.PLTE)?.body };
}

function sizeOf({ width, height }: Pick<PngChunks, 'width' | 'height'>): string {
  return `${width} × ${height}`;
}

function readHeader(bytes: Uint8Array, file: string): PngHeader {
  const view = viewOf(bytes);
  const signed = bytes.length >= 33 && SIGNATURE.every((byte, at) => bytes[at] === byte);
  if (!signed || view.getUint32(8) !== 13 || view.getUint32(12) !== CHUNK.IHDR) throw damagedPng('no PNG header', file);
  const [width, height, depth, colour] = [view.getUint32(16), view.getUint32(20), bytes[24]!, bytes[25]!];
  const kind = COLOURS[colour];
  if (kind === undefined) throw damagedPng(`colour type ${colour}`, file);
  const [compression, filters, interlacing] = [bytes[26]!, bytes[27]!, bytes[28]!];
  const known = kind.depths.includes(depth) && compression === 0 && filters === 0 && interlacing <= 1;
  if (!known) {
    const got = `${depth} bits, compression ${compression}, filters ${filters}, interlacing ${interlacing}`;
    throw damagedPng(got, file);
  }
  if (width === 0 || height === 0) throw damagedPng(`${width} × ${height} pixels`, file);
  const { samples } = kind;
  const stride = Math.ceil((width * samples * depth) / 8);
  return { width, height, depth, colour, samples, interlaced: interlacing === 1, stride };
}

interface ColourType {
  readonly name: string;
  readonly samples: number;
  readonly depths: readonly number[];
}

const COLOURS: Readonly<Record<number, ColourType>> = {
  0: { name: 'grey', samples: 1, depths: [1, 2, 4, 8, 16] },
  2: { name: 'RGB', samples: 3, depths: [8, 16] },
  3: { name: 'a palette', samples: 1, depths: [1, 2, 4, 8] },
  4: { name: 'grey with transparency', samples: 2, depths: [8, 16] },
  6: { name: 'RGB with transparency', samples: 4, depths: [8, 16] },
};

interface Chunk {
  readonly type: number;
  readonly body: Uint8Array;
  /** All bytes of the chunk: length, type, body and checksum. */
  readonly whole: Uint8Array;
}

/** Iterates over the required chunks, and verifies their checksums. */
function* criticalChunks(bytes: Uint8Array, file: string): Generator<Chunk> {
  const view = viewOf(bytes);
  for (let at = SIGNATURE.length, type = 0; type !== CHUNK.IEND; ) {
    if (at + 12 > bytes.length) throw damagedPng('the end of the file before its last chunk', file);
    const length = view.getUint32(at);
    type = view.getUint32(at + 4);
    const end = at + 12 + length;
    if (end > bytes.length) throw damagedPng('a chunk longer than the file', file);
    if ((type & ANCILLARY) === 0) {
      if (crc32(bytes.subarray(at + 4, end - 4)) !== view.getUint32(end - 4))
        throw damagedPng('a wrong checksum', file);
      yield { type, body: bytes.subarray(at + 8, end - 4), whole: bytes.subarray(at, end) };
    }
    at = end;
  }
}

/** Copies a PNG without its optional chunks. */
export function withoutAncillary(bytes: Uint8Array, file: string): Uint8Array {
  const pieces = [bytes.subarray(0, SIGNATURE.length), ...[...criticalChunks(bytes, file)].map(({ whole }) => whole)];
  const kept = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    kept.set(piece, at);
    at += piece.length;
  }
  return kept;
}

/** Maximum compression ratio of deflate: a byte expands to at most this many bytes. */
const BEST_RATIO = 1032;

/**
 * Throws if the compressed data are too short for the pixels. Also throws if the compressed data are much longer than
 * the uncompressed pixels, because decompressing them would only fill the memory.
 */
function checkData(packed: number, unpacked: number, got: string, file: string): void {
  const stored = 2 * unpacked + 65_536;
  if (unpacked > packed * BEST_RATIO || packed > stored) throw damagedPng(got, file);
}

function notLabels(got: string, file: string): FormatError {
  return new FormatError('format/not-labels', 'The PNG is not a supported label image.', {
    expected: 'grey values or palette indices',
    got,
    remedy: 'Save the labels as a grey image of 8 or 16 bits, or with a palette, not interlaced.',
    place: { file },
  });
}

/** The error for a PNG that is damaged or truncated. */
export function damagedPng(got: string, file: string, cause?: unknown): FormatError {
  return new FormatError('format/bad-png', 'The PNG is damaged or cut off.', {
    expected: 'a whole PNG',
    got,
    remedy: 'Fetch or write the file again.',
    place: { file },
    cause,
  });
}
