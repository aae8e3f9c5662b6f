import type { HostFrame } from '../../../algorithms/cell-tracking/frame.ts';

/** The grey values that are displayed as black and as white. Grey values between these two are scaled linearly. */
export interface DisplayRange {
  readonly black: number;
  readonly white: number;
}

/** Maximum number of pixels that are sampled to determine the display range. */
const SAMPLES = 2 ** 16;
/** Fraction of the pixels that are displayed as black. The same fraction is displayed as white. */
const CLIPPED = 0.002;

/**
 * The display range of a frame, from its darkest to its brightest grey value. The darkest and the brightest 0.2 % of
 * the pixels are ignored.
 */
export function displayRange({ grey }: HostFrame): DisplayRange {
  const step = Math.ceil(grey.length / SAMPLES);
  const sorted = Float64Array.from({ length: Math.ceil(grey.length / step) }, (_, i) => grey[i * step]!).sort();
  const clipped = Math.floor(CLIPPED * sorted.length);
  const [black, white] = [sorted[clipped]!, sorted[sorted.length - 1 - clipped]!];
  return white > black ? { black, white } : { black: black - 1, white: white + 1 };
}

/** Converts the grey values of a frame to bytes. Values outside the range become black or white. */
export function shownGrey({ grey }: HostFrame, { black, white }: DisplayRange): Uint8Array {
  const scale = 255 / (white - black);
  const shown = new Uint8ClampedArray(grey.length);
  for (let i = 0; i < grey.length; i++) shown[i] = (grey[i]! - black) * scale;
  return new Uint8Array(shown.buffer);
}

/**
 * Converts a frame to bytes, and divides its width and height by `scale`. `scale` is the smallest whole number for
 * which the longer side of the result has at most `longest` pixels. Each pixel of the result is the mean of a square of
 * `scale` × `scale` pixels of the frame.
 */
export function shrunkGrey(
  frame: HostFrame,
  range: DisplayRange,
  longest: number,
): { readonly width: number; readonly height: number; readonly data: Uint8Array; readonly scale: number } {
  const scale = Math.ceil(Math.max(frame.width, frame.height) / longest);
  const grey = shownGrey(frame, range);
  if (scale <= 1) return { width: frame.width, height: frame.height, data: grey, scale: 1 };
  const [width, height] = [Math.ceil(frame.width / scale), Math.ceil(frame.height / scale)];
  const data = new Uint8Array(width * height);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      data[row * width + column] = meanOf(frame, grey, column * scale, row * scale, scale);
    }
  }
  return { width, height, data, scale };
}

function meanOf({ width, height }: HostFrame, grey: Uint8Array, left: number, top: number, side: number): number {
  const [right, bottom] = [Math.min(width, left + side), Math.min(height, top + side)];
  let sum = 0;
  for (let row = top; row < bottom; row++) {
    for (let column = left; column < right; column++) sum += grey[row * width + column]!;
  }
  return Math.round(sum / ((right - left) * (bottom - top)));
}
