import { circleTables, WEIGHT_BITS } from '../../algorithms/cell-tracking/circles.ts';
import { largestOf } from '../../primitives/host/extremes.ts';
import type { CellVideoFrame } from './cell-video.ts';

/**
 * This file computes the detection and the fields for tracking by plain loops on one thread. Like the paper's C code,
 * the loops visit all samples of a circle and all pixels of a dilation. They round like the primitives, so the results
 * of both have the same bytes.
 */
const f = Math.fround;

export interface HostPeaks {
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly score: Float32Array;
  readonly radius: Float32Array;
}

interface PlainDetection {
  readonly radii: readonly number[];
  readonly points: number;
  readonly dilation: number;
  readonly threshold: number;
}

export function plainPeaks(frame: CellVideoFrame['frame'], options: PlainDetection): HostPeaks {
  const { width } = frame;
  const { score, radius } = plainScores(frame, options);
  const found = plainPeakCells(frame, score, options.dilation);
  return {
    x: Float32Array.from(found, (cell) => cell % width),
    y: Float32Array.from(found, (cell) => Math.floor(cell / width)),
    score: Float32Array.from(found, (cell) => score[cell]!),
    radius: Float32Array.from(found, (cell) => radius[cell]!),
  };
}

function plainScores(frame: CellVideoFrame['frame'], { radii, points, threshold }: PlainDetection) {
  const { width, height } = frame;
  const { x: slopeX, y: slopeY } = plainSlopes(frame);
  const { offsets, weights, pairs } = circleTables(radii, points, width);
  const steps = Int32Array.from(offsets);
  const [cos, sin] = [weights.map((weight) => weight << 16), weights].map((words) =>
    Int32Array.from(words, (word) => word >> 16),
  ) as [Int32Array, Int32Array];
  const min = f((threshold ** 2 * points ** 2) / (points - 1));
  const [inverse, unit] = [f(1 / points), f((points - 1) / points ** 2)];
  const margin = Math.ceil(largestOf(radii)) + 2;
  const [score, radius] = [new Float32Array(width * height), new Float32Array(width * height)];
  for (let y = margin; y < height - margin; y++) {
    for (let cell = y * width + margin; cell < (y + 1) * width - margin; cell++) {
      let best = min;
      let sum = 0;
      let chosen = 0;
      for (let circle = 0; circle < radii.length; circle++) {
        let total = 0;
        let squares = 0;
        for (let pair = circle * pairs; pair < (circle + 1) * pairs; pair++) {
          const step = steps[pair]!;
          const x = cos[pair]!;
          const y = sin[pair]!;
          const a = (Math.imul(slopeX[cell + step]!, x) + Math.imul(slopeY[cell + step]!, y)) >> WEIGHT_BITS;
          const b = (Math.imul(slopeX[cell - step]!, x) + Math.imul(slopeY[cell - step]!, y)) >> WEIGHT_BITS;
          total = (total + a - b) | 0;
          squares = f(squares + f(Math.imul(a, a) + Math.imul(b, b)));
        }
        const square = f(f(total) * f(total));
        const spread = Math.max(f(squares - f(square * inverse)), f(squares * 2 ** -20), 2 ** -24);
        const ratio = f(square / spread);
        if (ratio > best) {
          best = ratio;
          sum = total;
          chosen = radii[circle]!;
        }
      }
      const size = f(Math.sqrt(f(best * unit)));
      score[cell] = chosen === 0 ? 0 : sum < 0 ? -size : size;
      radius[cell] = chosen;
    }
  }
  return { score, radius };
}

/** The slopes of the grey values. Slopes are doubled, and scaled to integers of at most 14 bits. */
function plainSlopes({ width, height, grey }: CellVideoFrame['frame']): { x: Int32Array; y: Int32Array } {
  const [x, y] = [new Int32Array(width * height), new Int32Array(width * height)];
  let max = 0;
  for (let row = 0, i = 0; row < height; row++) {
    const [above, below] = [Math.max(0, row - 1) * width, Math.min(height - 1, row + 1) * width];
    for (let column = 0; column < width; column++, i++) {
      const [left, right] = [Math.max(0, column - 1), Math.min(width - 1, column + 1)];
      const [dx, dy] = [
        grey[row * width + right]! - grey[row * width + left]!,
        grey[below + column]! - grey[above + column]!,
      ];
      x[i] = right - left === 1 ? 2 * dx : dx;
      y[i] = below - above === width ? 2 * dy : dy;
      max = Math.max(max, Math.abs(x[i]!), Math.abs(y[i]!));
    }
  }
  const scale = max === 0 ? 0 : 2 ** (13 - Math.floor(Math.log2(max)));
  for (let i = 0; i < x.length; i++) [x[i], y[i]] = [x[i]! * scale, y[i]! * scale];
  return { x, y };
}

/** Pixels whose absolute score is above 0 and the maximum within the dilation radius. */
function plainPeakCells(
  { width, height }: { readonly width: number; readonly height: number },
  score: Float32Array,
  dilation: number,
): number[] {
  const found: number[] = [];
  for (let y = 0, cell = 0; y < height; y++) {
    for (let x = 0; x < width; x++, cell++) {
      let max = 0;
      for (let dy = Math.max(-dilation, -y); dy <= Math.min(dilation, height - 1 - y); dy++) {
        const half = Math.floor(Math.sqrt(dilation * dilation - dy * dy));
        const row = (y + dy) * width;
        for (let at = Math.max(0, x - half); at <= Math.min(width - 1, x + half); at++) {
          max = Math.max(max, Math.abs(score[row + at]!));
        }
      }
      if (score[cell] !== 0 && Math.abs(score[cell]!) >= max) found.push(cell);
    }
  }
  return found;
}

/**
 * Computes the field of one window for flow along (1, 1), in units of 2^-20, until the field converges. Also returns
 * the number of rounds.
 */
export function plainFlow(
  image: Float32Array,
  width: number,
  { minChange, maxRounds }: PlainFlow,
): { readonly field: Float32Array; readonly rounds: number } {
  const bound = Math.trunc(f(image.length * f(minChange)));
  const weights = Float32Array.from(image, (value) => value * f(0.2 * 2 ** -20));
  let [u, next] = [image.slice(), image.slice()];
  for (let rounds = 1; ; rounds++) {
    const total = flowRound(u, image, weights, next, width);
    [u, next] = [next, u];
    if (total <= bound || rounds === maxRounds) return { field: u, rounds };
  }
}

export interface PlainFlow {
  /** A field has converged if its mean change per pixel is at most this value, in units of 2^-20. */
  readonly minChange: number;
  readonly maxRounds: number;
}

const TWENTIETH = f(0.05);

/** Computes one round of a field; returns the sum of all changes, in units of 2^-20. */
export function flowRound(
  u: Float32Array,
  image: Float32Array,
  weights: Float32Array,
  next: Float32Array,
  width: number,
): number {
  const height = image.length / width;
  let total = 0;
  for (let y = 0, i = 0; y < height; y++) {
    const [above, here, below] = [Math.max(0, y - 1) * width, y * width, Math.min(height - 1, y + 1) * width];
    for (let x = 0; x < width; x++, i++) {
      const [left, right] = [Math.max(0, x - 1), Math.min(width - 1, x + 1)];
      const own = u[i]!;
      const ahead =
        Math.max(u[here + right]! - own, 0) + Math.max(u[below + x]! - own, 0) + Math.max(u[below + right]! - own, 0);
      const behind =
        Math.min(u[here + left]! - own, 0) + Math.min(u[above + x]! - own, 0) + Math.min(u[above + left]! - own, 0);
      const doubled = 2 * (ahead + behind) + u[above + right]! + u[below + left]! - 2 * own;
      const h = own + roundEven(f(doubled * TWENTIETH));
      const after = h - roundEven(f((h - image[i]!) * weights[i]!));
      next[i] = after;
      total += Math.abs(after - own);
    }
  }
  return total;
}

export function roundEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
}
