import { type ErrorPlace, FormatError } from '../../primitives/checks/errors.ts';
import { messageOf } from '../../primitives/checks/message-of.ts';
import { RGB, takeChannel, takeSamples } from './grey.ts';
import { standardTables } from './jpeg-tables.ts';
import type { VideoChannel } from './video.ts';
import { CONVERT, frameChanged } from './video-error.ts';

/** Size that every frame must have, in pixels. */
interface FrameSize {
  readonly width: number;
  readonly height: number;
}

/** Data from those segments of a JPEG that come before the image data. */
interface JpegHead extends FrameSize {
  readonly components: number;
  /**
   * Whether the components are red, green and blue. Adobe's marker in the file states this. Otherwise the components
   * are luma and chroma.
   */
  readonly isRgb: boolean;
  readonly hasTables: boolean;
  /** Byte offset of the SOS segment, which begins the image data. */
  readonly scanAt: number;
}

/**
 * A function that decodes a frame of Motion JPEG to grey values. These are the luma of the frame, or one colour channel
 * that is computed by the formula of JFIF.
 */
export type JpegDecoder = (bytes: Uint8Array, place: ErrorPlace) => Uint8Array;

/** Loads the JPEG decoder, and configures it for frames of the given size. */
export async function jpegDecoder(size: FrameSize, channel: VideoChannel): Promise<JpegDecoder> {
  const { decode } = await import('jpeg-js');
  const pixels = size.width * size.height;
  const limits = { maxResolutionInMP: Math.ceil(pixels / 1e6) + 1, maxMemoryUsageInMB: 64 + (64 * pixels) / 2 ** 20 };
  return (bytes, place) => {
    const head = readHead(bytes, place);
    checkHead(head, size, bytes, place);
    const { isRgb, components } = head;
    // For grey, the decoder does not convert to RGB, so the first of the three samples is luma.
    const colorTransform = components === 3 && !isRgb && channel !== 'grey';
    try {
      const options = {
        ...limits,
        useTArray: true,
        formatAsRGBA: false,
        tolerantDecoding: false,
        colorTransform,
      } as const;
      const { data } = decode(withTables(bytes, head), options);
      const grey = new Uint8Array(pixels);
      if (components === 3 && (isRgb || channel !== 'grey')) takeChannel(data, 0, RGB, channel, grey, 0, pixels);
      else takeSamples(data, 0, 3, grey, 0, pixels);
      return grey;
    } catch (cause) {
      throw damaged(messageOf(cause), place, cause);
    }
  };
}

const MARKER = { start: 0xd8, end: 0xd9, scan: 0xda, tables: 0xc4, adobe: 0xee };
/**
 * Markers of supported kinds of frames: baseline, extended and progressive. Other markers mean lossless or arithmetic
 * coding.
 */
const FRAMES: readonly number[] = [0xc0, 0xc1, 0xc2];
const OTHER_FRAMES: readonly number[] = [0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf];

function readHead(bytes: Uint8Array, place: ErrorPlace): JpegHead {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view[0] !== 0xff || view[1] !== MARKER.start) throw damaged('no start of an image', place);
  let frame: Pick<JpegHead, 'width' | 'height' | 'components'> | undefined;
  let [isRgb, hasTables] = [false, false];
  for (let at = 2; at + 4 <= view.length; ) {
    const marker = view[at + 1]!;
    if (view[at] !== 0xff) throw damaged('bytes between its segments', place);
    const length = view.readUInt16BE(at + 2);
    const end = at + 2 + length;
    if (length < 2 || end > view.length) throw damaged('a segment longer than the frame', place);
    if (OTHER_FRAMES.includes(marker)) throw unsupported(`a frame of kind ${marker - 0xc0}`, place);
    if (FRAMES.includes(marker)) frame = readFrame(view.subarray(at + 4, end), place);
    if (marker === MARKER.tables) hasTables = true;
    if (marker === MARKER.adobe && view.toString('latin1', at + 4, at + 9) === 'Adobe' && length >= 14)
      isRgb = view[at + 15] === 0;
    if (marker === MARKER.scan) {
      if (frame === undefined) throw damaged('no size of its frame', place);
      if (view.lastIndexOf(END) < end) throw damaged('no end', place);
      return { ...frame, isRgb, hasTables, scanAt: at };
    }
    at = end;
  }
  throw damaged('no data', place);
}

const END: Uint8Array = Uint8Array.of(0xff, MARKER.end);

function readFrame(segment: Buffer, place: ErrorPlace): Pick<JpegHead, 'width' | 'height' | 'components'> {
  if (segment.length < 6 || segment.length < 6 + 3 * segment[5]!)
    throw damaged('a frame segment that is too short', place);
  if (segment[0] !== 8) throw unsupported(`samples of ${segment[0]} bits`, place);
  const components = segment[5]!;
  if (components !== 1 && components !== 3) throw unsupported(`${components} components`, place);
  return { height: segment.readUInt16BE(1), width: segment.readUInt16BE(3), components };
}

/** Maximum number of pixels per byte of a frame. A block of 64 pixels takes at least one bit. */
const MAX_PIXELS_A_BYTE = 512;

function checkHead({ width, height }: JpegHead, size: FrameSize, bytes: Uint8Array, place: ErrorPlace): void {
  if (width !== size.width || height !== size.height) {
    throw frameChanged(`${size.width} × ${size.height} pixels`, `${width} × ${height}`, place);
  }
  if (width * height > MAX_PIXELS_A_BYTE * bytes.length) throw damaged(`${bytes.length} bytes for its pixels`, place);
}

function withTables(bytes: Uint8Array, { hasTables, scanAt }: JpegHead): Uint8Array {
  if (hasTables) return bytes;
  return Buffer.concat([bytes.subarray(0, scanAt), standardTables(), bytes.subarray(scanAt)]);
}

function damaged(reason: string, place: ErrorPlace, cause?: unknown): FormatError {
  return new FormatError('format/damaged-jpeg', 'The JPEG of the frame is damaged.', {
    expected: 'a whole JPEG',
    got: reason,
    remedy: 'Copy or record the video again, or use the frames before this one.',
    place,
    cause,
  });
}

function unsupported(got: string, place: ErrorPlace): FormatError {
  return new FormatError('format/unsupported-codec', 'The JPEG of the frame is of a kind that is not read.', {
    expected: 'a baseline or progressive JPEG of 8 bits, grey or colours',
    got,
    remedy: CONVERT,
    place,
  });
}
