import { type ErrorPlace, FormatError } from '../../primitives/checks/errors.ts';
import type { CodecFaults } from '../bytes/codec-faults.ts';
import { type JpegHead, loadJpeg, readJpegHead } from '../rasters/jpeg.ts';
import { nodeCodecs } from '../rasters/tiff/node-codecs.ts';
import { RGB, takeChannel, takeSamples } from './grey.ts';
import type { VideoChannel } from './video.ts';
import { CONVERT, frameChanged } from './video-error.ts';

/** Size that every frame must have, in pixels. */
interface FrameSize {
  readonly width: number;
  readonly height: number;
}

/**
 * A function that decodes a frame of Motion JPEG to grey values. These are the luma of the frame, or one colour channel
 * that is computed by the formula of JFIF.
 */
export type JpegDecoder = (bytes: Uint8Array, place: ErrorPlace) => Uint8Array;

/** Loads the JPEG decoder, and configures it for frames of the given size. */
export async function jpegDecoder(size: FrameSize, channel: VideoChannel): Promise<JpegDecoder> {
  const unpack = await loadJpeg(nodeCodecs.jpeg);
  const pixels = size.width * size.height;
  return (bytes, place) => {
    const faults = faultsAt(place);
    const head = readJpegHead(bytes, faults);
    checkHead(head, size, faults, place);
    const { components, saysRgb } = head;
    // Of luma and chroma, grey is the luma, the first of the three samples as they are stored.
    const isLuma = channel === 'grey' && !saysRgb;
    const samples = unpack(head, saysRgb || isLuma ? 'stored' : 'rgb', faults);
    const grey = new Uint8Array(pixels);
    if (components === 3 && !isLuma) takeChannel(samples, 0, RGB, channel, grey, 0, pixels);
    else takeSamples(samples, 0, components, grey, 0, pixels);
    return grey;
  };
}

function checkHead(
  { width, height, components, hasEnd }: JpegHead,
  size: FrameSize,
  faults: CodecFaults,
  place: ErrorPlace,
): void {
  if (width !== size.width || height !== size.height) {
    throw frameChanged(`${size.width} × ${size.height} pixels`, `${width} × ${height}`, place);
  }
  if (components !== 1 && components !== 3) throw faults.unsupported(`${components} components`);
  if (!hasEnd) throw faults.damaged('no end');
}

function faultsAt(place: ErrorPlace): CodecFaults {
  return {
    damaged: (reason, cause) =>
      new FormatError('format/damaged-jpeg', 'The JPEG of the frame is damaged.', {
        expected: 'a whole JPEG',
        got: reason,
        remedy: 'Copy or record the video again, or use the frames before this one.',
        place,
        cause,
      }),
    unsupported: (got) =>
      new FormatError('format/unsupported-codec', 'The JPEG of the frame is of a kind that is not read.', {
        expected: 'a baseline or progressive JPEG of 8 bits, grey or colours',
        got,
        remedy: CONVERT,
        place,
      }),
  };
}
