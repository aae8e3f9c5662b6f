import { type ErrorPlace, FormatError, QuadrilleError } from '../../primitives/checks/errors.ts';

/** Maximum width and height of a frame in pixels. `MAX_PIXELS` is the maximum number of pixels in a frame. */
const MAX_SIDE: number = 2 ** 16 - 1;
const MAX_PIXELS: number = 2 ** 28;

/** Text of the remedy in errors about unsupported formats. */
export const CONVERT = 'Convert it, for example with ffmpeg -i INPUT -pix_fmt gray -c:v rawvideo OUTPUT.avi.';

/** Throws if a frame has no pixels, or is larger than `MAX_SIDE` or `MAX_PIXELS` allow. */
export function checkSize(width: number, height: number, place: ErrorPlace): void {
  const whole = [width, height].every((side) => Number.isInteger(side) && side >= 1 && side <= MAX_SIDE);
  if (whole && width * height <= MAX_PIXELS) return;
  throw new FormatError('format/frame-size', 'Frames of this size cannot be read.', {
    expected: `1 to ${MAX_SIDE} pixels along a side, and at most ${MAX_PIXELS} in all`,
    got: `${width} × ${height}`,
    remedy: 'Write the video again, or crop it, if its head is right.',
    place,
  });
}

/** The error for a frame that differs from the first one in size or type. */
export function frameChanged(expected: string, got: string, place: ErrorPlace): FormatError {
  return new FormatError('format/frame-changed', 'The frame is not like those before it.', {
    expected,
    got,
    remedy: 'Split the video where its frames change, and read the parts one by one.',
    place,
  });
}

/** The error for a video that ends within a frame. */
export function cutOff(expected: string, got: string, place: ErrorPlace): FormatError {
  return new FormatError('format/truncated', 'The video is cut off.', {
    expected,
    got,
    remedy: 'Copy or record it again, or use the frames before the cut.',
    place,
  });
}

/** The error for a video that has no frames. */
export function noFrames(got: string, place: ErrorPlace): FormatError {
  return new FormatError('format/no-frames', 'The video has no frames.', {
    expected: 'one frame or more',
    got,
    remedy: 'Record or write the video again.',
    place,
  });
}

/** The error for a channel that a video does not have. */
export function noChannel(channel: string, got: string, place: ErrorPlace): FormatError {
  return new FormatError('format/unsupported-channel', `The channel ${channel} cannot be taken out of this video.`, {
    expected: 'pixels of red, green and blue',
    got,
    remedy: 'Take the channel grey, or convert the video to RGB.',
    place,
  });
}

/**
 * Adds a more precise place to an error and, if `remedy` is given, replaces its remedy. This is needed for errors of
 * functions that are shared with other formats and know nothing about frames. Errors of libraries are returned
 * unchanged.
 */
export function placedError(error: unknown, place: ErrorPlace, remedy?: string): unknown {
  if (!(error instanceof QuadrilleError)) return error;
  const old = error.remedy === undefined ? 0 : error.remedy.length + 1;
  const { length: prefix } = new QuadrilleError('', '', { place: error.place }).message;
  const sentence = error.message.slice(prefix, error.message.length - old);
  const placed = new FormatError(error.code, sentence, {
    place: { ...error.place, ...place },
    remedy: remedy ?? error.remedy,
    cause: error.cause,
  });
  return Object.assign(placed, { expected: error.expected, got: error.got });
}
