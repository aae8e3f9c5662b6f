import { decode } from 'fast-png';
import { FormatError } from '../../primitives/errors.ts';
import type { LabelType, PolygonTile, TileParameters } from './result-set.ts';
import { type Labels, traceLabels } from './trace-labels.ts';

/**
 * Traces the labels of a PNG: grey values or palette indices of up to 16 bits, 0 is background.
 *
 * @throws FormatError where the file is damaged, or has colours or transparency instead of labels.
 */
export function parseLabelPng(bytes: Uint8Array, { place, regions }: TileParameters): PolygonTile {
  const { width, height, depth } = readPngHeader(bytes, place);
  const samples = decodePng(bytes, place);
  const labels = depth < 8 ? unpackBits(samples, width, height, depth) : samples;
  if (labels.length !== width * height) throw damaged(`${labels.length} pixels`, place);
  return traceLabels(labels, width, height, regions);
}

interface PngHeader {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Deflate packs no better than this. */
const BEST_RATIO = 1032;

/** Reads the header chunk, and refuses what would unpack to something other than a label image of that size. */
function readPngHeader(bytes: Uint8Array, file: string): PngHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 33 || SIGNATURE.some((byte, at) => bytes[at] !== byte)) throw damaged('no PNG header', file);
  const [width, height, depth, colour] = [view.getUint32(16), view.getUint32(20), bytes[24]!, bytes[25]!];
  if (colour !== 0 && colour !== 3) throw coloured(colour, file);
  const packed = dataBytes(view);
  const unpacked = height * (1 + Math.ceil((width * depth) / 8));
  if (width === 0 || height === 0 || unpacked > packed * BEST_RATIO) {
    throw damaged(`${packed} bytes for ${width} × ${height} pixels`, file);
  }
  // What is stored without packing is little larger than the pixels: a stream that is would unpack to other things.
  if (packed > 2 * unpacked + 65_536) throw damaged(`${packed} bytes for ${width} × ${height} pixels`, file);
  return { width, height, depth };
}

/** Bytes of packed pixels, in all the data chunks. */
function dataBytes(view: DataView): number {
  let sum = 0;
  for (let at = 8; at + 8 <= view.byteLength; at += view.getUint32(at) + 12) {
    if (view.getUint32(at + 4) === 0x49444154) sum += view.getUint32(at);
  }
  return sum;
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

/**
 * Traces bare labels, row by row and little-endian, whose size and type the parameters tell.
 *
 * @throws FormatError where the bytes are not as many as that makes.
 */
export function parseBareLabels(bytes: Uint8Array, { place, labels, regions }: TileParameters): PolygonTile {
  const { width, height, type } = labels ?? { width: 0, height: 0, type: 'u8' };
  const make = MAKERS[type];
  const size = width * height * make.size;
  if (labels === undefined || bytes.length !== size) {
    throw new FormatError('format/wrong-length', 'The labels are not as many as the image has pixels.', {
      expected: `${size} bytes for ${width} × ${height} of ${type}`,
      got: `${bytes.length} bytes`,
      remedy: 'Hand the bytes over as load() returned them, with the parameters beside it.',
      place: { file: place },
    });
  }
  // A view must begin at a multiple of its element's size.
  const aligned = bytes.byteOffset % make.size === 0 ? bytes : bytes.slice();
  return traceLabels(make.view(aligned, width * height), width, height, regions);
}

interface LabelMaker {
  readonly size: number;
  readonly view: (bytes: Uint8Array, length: number) => Labels;
}

const MAKERS: Readonly<Record<LabelType, LabelMaker>> = {
  u8: { size: 1, view: ({ buffer, byteOffset }, length) => new Uint8Array(buffer, byteOffset, length) },
  i8: { size: 1, view: ({ buffer, byteOffset }, length) => new Int8Array(buffer, byteOffset, length) },
  u16: { size: 2, view: ({ buffer, byteOffset }, length) => new Uint16Array(buffer, byteOffset, length) },
  i16: { size: 2, view: ({ buffer, byteOffset }, length) => new Int16Array(buffer, byteOffset, length) },
  u32: { size: 4, view: ({ buffer, byteOffset }, length) => new Uint32Array(buffer, byteOffset, length) },
  i32: { size: 4, view: ({ buffer, byteOffset }, length) => new Int32Array(buffer, byteOffset, length) },
};

function coloured(colour: number, file: string): FormatError {
  const kinds: Readonly<Record<number, string>> = { 2: 'RGB', 4: 'grey with transparency', 6: 'RGB with transparency' };
  return new FormatError('format/not-labels', 'The PNG holds colours, not labels.', {
    expected: 'grey values or palette indices',
    got: kinds[colour] ?? `colour type ${colour}`,
    remedy: 'Save the labels as a grey image of 8 or 16 bits, or with a palette.',
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
