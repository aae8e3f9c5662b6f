import { requireArguments } from '../../primitives/checks/arguments.ts';
import { someOptions } from '../../primitives/checks/kinds.ts';
import {
  type ArrayParameter,
  array,
  Break,
  bool,
  type Column,
  type ColumnOwner,
  type ColumnsOf,
  copyIf,
  type DeviceLength,
  For,
  type Functor,
  f32,
  fn,
  If,
  map,
  sequence,
  slice,
  type UniformParameter,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { DETECTION_OPTIONS, type DetectionOptions } from './detection-options.ts';
import { aFrame, contextOfFrame, type Frame } from './frame.ts';
import { gicov } from './gicov.ts';

/** Pixels with the best scores, row by row: coordinates in pixels, signed scores, and radii. */
export type Peaks = ColumnsOf<{ x: typeof f32; y: typeof f32; score: typeof f32; radius: typeof f32 }>;

/**
 * Finds the pixels around which circles fit best. The score of a peak, by {@link gicov}, has a magnitude above
 * `threshold`, and no pixel within the radius `dilation` has a score with a larger magnitude. Pixels with equal scores
 * do not exclude each other. The number of peaks is known only on the device.
 *
 * - Work: that of `gicov`, plus at most O(pixels + pixels above the threshold · dilation²): the search around a pixel
 *   starts with the nearest pixels and stops at the first better score. Deterministic; ordered by row and column.
 *
 * @throws `ArgumentError` as in `gicov`, `cells/dilation`, `cells/max`; reading the peaks throws `CapacityError` if
 * there are more than `maxCells`.
 * @example
 * const disc = (x: number, y: number) => 100 + 100 / (1 + Math.exp(Math.hypot(x - 16, y - 20) - 9));
 * const grey = ctx.column(Uint8Array.from({ length: 40 * 40 }, (_, i) => disc(i % 40, Math.floor(i / 40))));
 * const { x, y, radius } = await ctx.read(detectPeaks({ width: 40, height: 40, grey }, { radii: [7, 9, 11] }));
 * [x, y, radius]; // [Float32Array [16], Float32Array [20], Float32Array [9]]
 */
export function detectPeaks(frame: Frame, options: DetectionOptions = {}): Peaks {
  const kinds = { frame: aFrame, options: someOptions<DetectionOptions>(DETECTION_OPTIONS) };
  requireArguments('detectPeaks', { frame, options }, kinds);
  const context = contextOfFrame('detectPeaks', frame);
  const { dilation = 12, maxCells = 4096, threshold = 1.8, ...circles } = options;
  const { radii, points, margin, sign } = circles;
  return context.scope(() => {
    const { score, radius } = gicov(frame, { radii, points, margin, sign, threshold });
    const cell = peaksOf(context, frame, score, { dilation, maxCells });
    return context.materialize(map(peakAt, { cell, score, radius, width: frame.width }));
  });
}

export const peakAt: Functor<
  { cell: typeof u32; score: ArrayParameter<'f32'>; radius: ArrayParameter<'f32'>; width: UniformParameter<'u32'> },
  { x: typeof f32; y: typeof f32; score: typeof f32; radius: typeof f32 }
> = fn(
  'peak',
  { cell: u32, score: array(f32), radius: array(f32), width: uniform(u32) },
  { x: f32, y: f32, score: f32, radius: f32 },
  ({ cell, score, radius, width }) => {
    const row = cell.div(width);
    return {
      x: f32(cell.sub(row.mul(width))),
      y: f32(row),
      score: score.at(cell),
      radius: radius.at(cell),
    };
  },
);

/** The indices of the pixels whose score is not 0 and which have no better pixel within the dilation. */
function peaksOf(
  context: ColumnOwner,
  { width, height }: Frame,
  score: Column<'f32'>,
  { dilation, maxCells }: { readonly dilation: number; readonly maxCells: number },
): Column<'u32'> {
  const cell = sequence(width * height);
  const around = disc(dilation);
  const isAtPeak = map(isPeak, {
    cell,
    score,
    around: context.column(around),
    count: around.length,
    width,
    height,
  });
  const found = slice(copyIf(cell, isAtPeak), 0, maxCells);
  if (width * height > maxCells) context.expectCapacity(found.length as DeviceLength, 'detectPeaks');
  return found;
}

const isPeak = fn(
  'isPeak',
  {
    cell: u32,
    score: array(f32),
    around: array(u32),
    count: uniform(u32),
    width: uniform(u32),
    height: uniform(u32),
  },
  bool,
  ({ cell, score, around, count, width, height }) => {
    const own = score.at(cell).abs();
    const isFirst = Var(own.gt(0));
    If(isFirst, () => {
      const row = cell.div(width);
      const column = cell.sub(row.mul(width));
      For(0, count, (i) => {
        const step = around.at(i);
        const [x, y] = [column.add(step.and(0xffff)).sub(MIDDLE), row.add(step.shr(16)).sub(MIDDLE)];
        If(x.lt(width).and(y.lt(height)), () => {
          If(score.at(y.mul(width).add(x)).abs().gt(own), () => {
            isFirst.set(false as never);
            Break();
          });
        });
      });
    });
    return isFirst;
  },
);

/** Offset added to the signed steps of {@link disc} when they are packed, so that neither half is negative. */
export const MIDDLE: number = 2 ** 8;

/**
 * The steps from a pixel to the other pixels of a disc around it, nearest first. The low half of a word is the step
 * along x, the high half the step along y.
 */
export function disc(radius: number): Uint32Array<ArrayBuffer> {
  const steps: { readonly x: number; readonly y: number; readonly square: number }[] = [];
  for (let y = -radius; y <= radius; y++) {
    for (let x = -radius; x <= radius; x++) {
      const square = x * x + y * y;
      if (square > 0 && square <= radius * radius) steps.push({ x, y, square });
    }
  }
  steps.sort((a, b) => a.square - b.square);
  return Uint32Array.from(steps, ({ x, y }) => x + MIDDLE + ((y + MIDDLE) << 16));
}
