import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { someOptions } from '../../primitives/checks/kinds.ts';
import type { Context } from '../../primitives/index.ts';
import { DETECTION_OPTIONS, type DetectionOptions } from './detection-options.ts';
import { aFrame, type Frame } from './frame.ts';
import { detectPeaks } from './peaks.ts';

/** Cells of a frame in host memory, ordered by y and x, in pixels. */
export interface DetectedCells {
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly radius: Float32Array;
  /** How well the circle fits the cell's edge. Negative if the cell is brighter than its surroundings. */
  readonly score: Float32Array;
}

/**
 * Finds the cells of a frame with {@link detectPeaks}, that is, where circles fit best, and reads them to the host.
 *
 * @throws `ArgumentError` as in `detectPeaks`; `CapacityError` if there are more cells than `maxCells`.
 * @example
 * const disc = (x: number, y: number) => 100 + 100 / (1 + Math.exp(Math.hypot(x - 16, y - 20) - 9));
 * const grey = ctx.column(Uint8Array.from({ length: 40 * 40 }, (_, i) => disc(i % 40, Math.floor(i / 40))));
 * const { x, y, radius } = await detectCells(ctx, { width: 40, height: 40, grey }, { radii: [7, 9, 11] });
 * [x, y, radius]; // [Float32Array [16], Float32Array [20], Float32Array [9]]
 */
export async function detectCells(
  context: Context,
  frame: Frame,
  options: DetectionOptions = {},
): Promise<DetectedCells> {
  const kinds = { context: aContext, frame: aFrame, options: someOptions<DetectionOptions>(DETECTION_OPTIONS) };
  requireArguments('detectCells', { context, frame, options }, kinds);
  const peaks = detectPeaks(frame, options);
  try {
    return await context.read(peaks);
  } finally {
    context.dispose(peaks);
  }
}
