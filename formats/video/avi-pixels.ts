import type { Note } from '../../algorithms/notes.ts';
import { type ErrorPlace, FormatError } from '../../primitives/checks/errors.ts';
import { damagedAvi } from './avi-chunks.ts';
import type { AviStream } from './avi-head.ts';
import { isGreyPalette, type PixelOrder, paletteTable, takeChannel, takeSamples } from './grey.ts';
import { jpegDecoder } from './jpeg.ts';
import type { Grey, VideoChannel } from './video.ts';
import { CONVERT, checkSize, frameChanged, noChannel } from './video-error.ts';
import { greyChannelNotes, PALETTE_NOTE } from './video-notes.ts';

/** A decoder that converts the frames of an AVI to grey values. */
export interface AviPixels {
  readonly width: number;
  readonly height: number;
  readonly bits: 8 | 16;
  readonly notes: readonly Note[];
  /** Whether frames are uncompressed. If so, all frames have the same number of bytes. */
  readonly isRaw: boolean;
  decode(bytes: Uint8Array, place: ErrorPlace): Grey;
}

/** The header of a bitmap (BITMAPINFO), which describes the frames. */
interface BitmapHead {
  readonly file: string;
  readonly width: number;
  readonly height: number;
  /**
   * Whether rows are stored from top to bottom. This is so if the height in the file is negative; otherwise rows are
   * stored from bottom to top.
   */
  readonly topDown: boolean;
  readonly depth: number;
  /** The four letters of the codec, or `RGB` for uncompressed RGB. */
  readonly coding: string;
  /** The palette: blue, green, red and an unused byte per colour. */
  readonly palette: Uint8Array;
}

/**
 * Creates the decoder for the frames of a stream.
 *
 * @throws FormatError if the codec is not supported; the error contains its four letters.
 */
export async function aviPixels(stream: AviStream, file: string, channel: VideoChannel): Promise<AviPixels> {
  const head = readBitmapHead(stream, file);
  if (MOTION_JPEG.test(head.coding)) {
    const { width, height } = head;
    return { width, height, bits: 8, notes: [], isRaw: false, decode: await jpegDecoder(head, channel) };
  }
  const rows = RAW[head.coding]?.(head, channel);
  if (rows === undefined) throw unsupported(head, stream.formatAt);
  if (rows.isLuma && channel !== 'grey') throw noChannel(channel, `luma and chroma (${head.coding})`, { file });
  const decode = (bytes: Uint8Array, place: ErrorPlace): Grey => decodeRows(bytes, head, rows, place);
  const { width, height } = head;
  return { width, height, bits: rows.sampleBytes === 2 ? 16 : 8, notes: rows.notes, isRaw: true, decode };
}

const MOTION_JPEG = /^(mjpg|jpeg|avrn|dmb1)$/i;

const HEAD_BYTES = 40;

function readBitmapHead({ format, formatAt }: AviStream, file: string): BitmapHead {
  if (format.length < HEAD_BYTES) throw damagedAvi(`its format has ${format.length} bytes`, file, formatAt);
  const headBytes = Math.min(format.length, Math.max(HEAD_BYTES, format.readUInt32LE(0)));
  const [width, height] = [format.readInt32LE(4), format.readInt32LE(8)];
  checkSize(width, Math.abs(height), { file, byte: formatAt });
  return {
    ...{ file, width, height: Math.abs(height), topDown: height < 0 },
    depth: format.readUInt16LE(14),
    coding: codingName(format.readUInt32LE(16), format.toString('latin1', 16, 20)),
    palette: format.subarray(headBytes),
  };
}

function codingName(code: number, letters: string): string {
  return code === 0 || letters === 'DIB ' || letters === 'RGB ' || letters === 'RAW ' ? 'RGB' : letters;
}

/** How the rows of an uncompressed frame are stored, and how to convert a row to grey values. */
interface RawRows {
  readonly sampleBytes: 1 | 2;
  readonly rowBytes: number;
  readonly topDown: boolean;
  /** Number of bytes of chroma (colour information) that follow the rows of luma. */
  readonly chromaBytes?: number;
  readonly isLuma?: boolean;
  readonly notes: readonly Note[];
  /**
   * Converts the row that starts at byte `from` of a frame to grey values, which are written to `to` from index `at`
   * on.
   */
  take(bytes: Uint8Array, from: number, to: Grey, at: number): void;
}

const RAW: Readonly<Record<string, (head: BitmapHead, channel: VideoChannel) => RawRows | undefined>> = {
  RGB: (head, channel) => (head.depth === 8 ? paletteRows(head, channel) : colourRows(head, channel)),
  Y800: greyRows,
  'Y8  ': greyRows,
  GREY: greyRows,
  'Y16 ': wideGreyRows,
  I420: (head) => planeRows(head, 2),
  IYUV: (head) => planeRows(head, 2),
  YV12: (head) => planeRows(head, 2),
  NV12: (head) => planeRows(head, 2),
  NV21: (head) => planeRows(head, 2),
  YUY2: (head) => pairRows(head, 0),
  YUYV: (head) => pairRows(head, 0),
  UYVY: (head) => pairRows(head, 1),
};

const BGR: PixelOrder = { step: 3, red: 2, green: 1, blue: 0 };
const BGRX: PixelOrder = { ...BGR, step: 4 };

function colourRows({ width, depth, topDown }: BitmapHead, channel: VideoChannel): RawRows | undefined {
  if (depth !== 24 && depth !== 32) return undefined;
  const order = depth === 24 ? BGR : BGRX;
  const take: RawRows['take'] = (bytes, from, to, at) => takeChannel(bytes, from, order, channel, to, at, width);
  return { sampleBytes: 1, rowBytes: order.step * width, topDown, notes: [], take };
}

function paletteRows({ width, palette, topDown }: BitmapHead, channel: VideoChannel): RawRows {
  const isGrey = palette.length === 0 || isGreyPalette(palette, BGRX);
  // If there is no palette, the indices themselves are the grey values.
  const table = palette.length === 0 ? undefined : paletteTable(palette, BGRX, channel);
  const take: RawRows['take'] = (bytes, from, to, at) => {
    if (table === undefined) to.set(bytes.subarray(from, from + width), at);
    else for (let x = 0; x < width; x++) to[at + x] = table[bytes[from + x]!]!;
  };
  const notes = isGrey ? greyChannelNotes(channel) : [PALETTE_NOTE];
  return { sampleBytes: 1, rowBytes: width, topDown, notes, take };
}

function greyRows({ width }: BitmapHead, channel: VideoChannel): RawRows {
  const take: RawRows['take'] = (bytes, from, to, at) => takeSamples(bytes, from, 1, to, at, width);
  return { sampleBytes: 1, rowBytes: width, topDown: true, notes: greyChannelNotes(channel), take };
}

function wideGreyRows({ width }: BitmapHead, channel: VideoChannel): RawRows {
  const take: RawRows['take'] = (bytes, from, to, at) => {
    for (let x = 0; x < width; x++) to[at + x] = bytes[from + 2 * x]! | (bytes[from + 2 * x + 1]! << 8);
  };
  return { sampleBytes: 2, rowBytes: 2 * width, topDown: true, notes: greyChannelNotes(channel), take };
}

/**
 * Describes frames that consist of a plane of luma, followed by planes of chroma. Chroma has one sample per `factor` ×
 * `factor` pixels.
 */
function planeRows(head: BitmapHead, factor: number): RawRows {
  const { width, height } = head;
  const chromaBytes = 2 * Math.ceil(width / factor) * Math.ceil(height / factor);
  return { ...greyRows(head, 'grey'), chromaBytes, isLuma: true };
}

/**
 * Describes frames in which four bytes represent two pixels. Every second byte is luma, beginning with byte `first`.
 */
function pairRows({ width }: BitmapHead, first: number): RawRows {
  const take: RawRows['take'] = (bytes, from, to, at) => takeSamples(bytes, from + first, 2, to, at, width);
  return { sampleBytes: 1, rowBytes: 4 * Math.ceil(width / 2), topDown: true, isLuma: true, notes: [], take };
}

/**
 * Converts an uncompressed frame to grey values. Rows are padded to a multiple of four bytes, but some programs omit
 * the padding. The number of bytes in the frame shows whether rows are padded.
 */
function decodeRows(bytes: Uint8Array, head: BitmapHead, rows: RawRows, place: ErrorPlace): Grey {
  const { width, height } = head;
  const { rowBytes, chromaBytes = 0, sampleBytes, topDown } = rows;
  const padded = (rowBytes + 3) & ~3;
  const stride = chromaBytes === 0 && bytes.length >= padded * height ? padded : rowBytes;
  if (bytes.length < stride * height + chromaBytes) {
    const got = `${bytes.length} bytes`;
    throw frameChanged(`${padded * height + chromaBytes} bytes for ${width} × ${height} pixels`, got, place);
  }
  const grey = sampleBytes === 2 ? new Uint16Array(width * height) : new Uint8Array(width * height);
  for (let row = 0; row < height; row++) {
    rows.take(bytes, (topDown ? row : height - 1 - row) * stride, grey, row * width);
  }
  return grey;
}

function unsupported({ file, coding, depth }: BitmapHead, byte: number): FormatError {
  const printable = /^[\x20-\x7e]{4}$/.test(coding)
    ? JSON.stringify(coding)
    : Buffer.from(coding, 'latin1').toString('hex');
  const isRaw = coding === 'RGB';
  return new FormatError('format/unsupported-codec', 'The frames of the AVI are coded in a way that is not read.', {
    expected: `Motion JPEG (MJPG), or uncompressed frames (RGB of 8, 24 or 32 bits, ${Object.keys(RAW).slice(1).join(', ')})`,
    got: isRaw ? `RGB of ${depth} bits` : `the codec ${NAMES[coding] ?? printable}`,
    remedy: CONVERT,
    place: { file, byte },
  });
}

const NAMES: Readonly<Record<string, string>> = {
  '\x01\0\0\0': 'RLE8',
  '\x02\0\0\0': 'RLE4',
  '\x03\0\0\0': 'BITFIELDS',
};
