import type { FoundCells } from './cell-accuracy.ts';

/** A grey frame in host memory. */
interface PlainFrame {
  readonly width: number;
  readonly height: number;
  readonly grey: Uint8Array;
}

const [POINTS, MARGIN, DILATION] = [150, 22, 12];
const RADII = [8, 10, 12, 14, 16, 18, 20];

/**
 * Finds the cells of a frame by plain f64 loops on one thread: pixels whose absolute score exceeds the threshold and is
 * the maximum in the square of 25 × 25 pixels around the pixel.
 */
export function plainCells(frame: PlainFrame, threshold = 1.8, radii: readonly number[] = RADII): FoundCells {
  const { width, height } = frame;
  const score = plainScores(frame, radii);
  const [xs, ys]: [number[], number[]] = [[], []];
  for (let y = MARGIN; y < height - MARGIN; y++) {
    for (let x = MARGIN; x < width - MARGIN; x++) {
      if (Math.abs(score[y * width + x]!) <= threshold || !isGreatest(score, width, x, y)) continue;
      xs.push(x);
      ys.push(y);
    }
  }
  return { x: xs, y: ys };
}

/**
 * Whether a pixel has the maximum absolute score in the square that extends DILATION pixels to each side. MARGIN
 * exceeds DILATION, so the square is inside the frame.
 */
function isGreatest(score: Float64Array, width: number, x: number, y: number): boolean {
  const size = Math.abs(score[y * width + x]!);
  for (let row = y - DILATION; row <= y + DILATION; row++) {
    for (let at = row * width + x - DILATION; at <= row * width + x + DILATION; at++) {
      if (Math.abs(score[at]!) > size) return false;
    }
  }
  return true;
}

/** For each pixel, the score with the maximum absolute value over all circles around the pixel. */
export function plainScores({ width, height, grey }: PlainFrame, radii: readonly number[] = RADII): Float64Array {
  const angles = Array.from({ length: POINTS }, (_, n) => (n * 2 * Math.PI) / POINTS);
  const [cos, sin] = [angles.map(Math.cos), angles.map(Math.sin)].map((each) => Float64Array.from(each));
  const steps = radii.map((radius) =>
    Int32Array.from(
      angles,
      (angle) => Math.trunc(Math.sin(angle) * radius) * width + Math.trunc(Math.cos(angle) * radius),
    ),
  );
  const [slopeX, slopeY] = [new Float64Array(width * height), new Float64Array(width * height)];
  for (let i = width; i < width * (height - 1); i++) {
    slopeX[i] = (grey[i + 1]! - grey[i - 1]!) / 2;
    slopeY[i] = (grey[i + width]! - grey[i - width]!) / 2;
  }
  const score = new Float64Array(width * height);
  const samples = new Float64Array(POINTS);
  for (let y = MARGIN; y < height - MARGIN; y++) {
    for (let x = MARGIN; x < width - MARGIN; x++) {
      const cell = y * width + x;
      let best = 0;
      for (const circle of steps) {
        let sum = 0;
        for (let n = 0; n < POINTS; n++) {
          const place = cell + circle[n]!;
          const slope = slopeX[place]! * cos![n]! + slopeY[place]! * sin![n]!;
          samples[n] = slope;
          sum += slope;
        }
        const mean = sum / POINTS;
        let squares = 0;
        for (let n = 0; n < POINTS; n++) squares += (samples[n]! - mean) ** 2;
        const variance = squares / (POINTS - 1);
        if (!(mean * mean > best * variance)) continue;
        best = (mean * mean) / variance;
        score[cell] = mean / Math.sqrt(variance);
      }
    }
  }
  return score;
}
