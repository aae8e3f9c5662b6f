import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  aNumberWithin,
  aRecord,
  aWhole,
  type FieldKinds,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import { commonLength } from '../../primitives/columns/column.ts';
import { requireContext } from '../../primitives/context/context-option.ts';
import type { Column } from '../../primitives/index.ts';
import { type Contours, climbContours } from './contour.ts';
import { aFrame, contextOfFrame, type Frame } from './frame.ts';

/** Circles around cells, as from {@link detectPeaks}. */
export interface Circles {
  /** The centres of the circles, in pixels. 0, 0 is the centre of the upper left pixel. */
  readonly x: Column<'f32'>;
  readonly y: Column<'f32'>;
  /** The radii in pixels. A row whose radius is not above 0 has no cell. */
  readonly radius: Column<'f32'>;
}

export interface ContourOptions {
  /** Maximum number of rounds of a contour. Default 20. */
  readonly iterations?: number | undefined;
  /** Distance in pixels from the contour, inside and outside, at which slopes are sampled. Default 1.5. */
  readonly delta?: number | undefined;
  /**
   * How far a control point moves in a round, in pixels, if its force equals the mean slope of the circle. Default 0.1.
   */
  readonly step?: number | undefined;
  /** Circles must be farther from the edges of the frame than this, in pixels. Default 5. */
  readonly border?: number | undefined;
}

/**
 * Finds the contours of cells, starting from circles around the cells. A contour is a closed uniform cubic B-spline of
 * 9 control points, which move to where the grey values change most across the contour.
 *
 * - In each round, grey values are sampled `delta` pixels inside and outside of 36 points of a contour, 4 from each
 *   control point to the next. The control points follow the gradient of the sum of the outer grey values minus the
 *   inner ones, upwards around dark cells and downwards around bright ones, by at most a pixel along each axis.
 * - Forces are divided by the mean outward slope of the circle, whose sign distinguishes dark cells from bright ones.
 *   So the scale of the grey values does not matter.
 * - **Lost cells**: circles within the border or beyond the frame; circles around which the frame is flat; contours
 *   whose centre has moved by more than the radius; and contours whose radius is below half or above twice the initial
 *   radius. Lost circles are returned as they were given, except that numbers that are not finite become 0.
 * - The program in the Rodinia benchmark suite has `delta` 3, and a step of 0.02 for grey values of 8 bits. With that
 *   `delta`, the samples of a sharp edge are in flat areas on both sides, so the contour hardly reacts to the edge. On
 *   generated cells over a texture of amplitude 10, the median error is 0.49 pixels for the peaks of the score, 0.30
 *   for contours with Rodinia's constants, and 0.08 with the defaults. Wider edges need a larger `delta`: half of the
 *   edge's width.
 * - Work O(cells · iterations), span O(iterations). Deterministic. A contour does not depend on other cells, and stops
 *   early if it no longer moves. No launch waits for the host, so the call can be prepared.
 * - The number of cells may be known only on the device. `points` then has rows for the whole capacity; rows after the
 *   last cell are meaningless. Points are views: they cost nothing unless they are read.
 * - In f32 frames, a slope that is not finite, or whose square is not finite, counts as 0.
 *
 * Source: Boyer, Tarjan, Acton and Skadron, Accelerating leukocyte tracking using CUDA, 2009; Brigger, Hoeg and Unser,
 * B-spline snakes: a flexible tool for parametric contour detection, 2000.
 *
 * @throws `ArgumentError` `frame/size` if the number of pixels does not match the sides; `contours/iterations`,
 * `contours/delta`, `contours/step`, `contours/border`.
 * @example
 * const disc = (x: number, y: number) => 100 / (1 + Math.exp(2 * Math.hypot(x - 20.5, y - 15.25) - 16));
 * const grey = ctx.column(Float32Array.from({ length: 40 * 30 }, (_, i) => disc(i % 40, Math.floor(i / 40))));
 * const circle = { x: ctx.column(Float32Array.of(20)), y: ctx.column(Float32Array.of(15)), radius: ctx.column(Float32Array.of(7)) };
 * const { x, y, radius } = await ctx.read(refineContours({ width: 40, height: 30, grey }, circle));
 * [x, y, radius].map(([value]) => Math.round(10 * value!) / 10); // [20.5, 15.2, 8]
 */
export function refineContours(frame: Frame, cells: Circles, options: ContourOptions = {}): Contours {
  requireArguments('refineContours', { frame, cells, options }, ARGUMENTS);
  const { iterations = 20, delta = 1.5, step = 0.1, border = 5 } = options;
  const length = commonLength([cells.x, cells.y, cells.radius], 'refineContours');
  contextOfFrame('refineContours', frame);
  const context = requireContext([frame.grey, cells.x, cells.y, cells.radius], 'refineContours');
  return context.scope(() => {
    const { x, y, radius } = cells;
    return climbContours(context, frame, { x, y, radius }, { length, iterations, delta, step, border });
  });
}

const CONTOUR_OPTIONS: FieldKinds<ContourOptions> = {
  iterations: optional(aWhole(0, 2 ** 20, 'contours/iterations')),
  delta: optional(aNumberWithin(0, 64, 'contours/delta')),
  step: optional(aNumberWithin(0, 4, 'contours/step')),
  border: optional(aNumberWithin(0, 2 ** 16, 'contours/border')),
};

const ARGUMENTS = {
  frame: aFrame,
  cells: aRecord<Circles>({ x: aColumn('f32'), y: aColumn('f32'), radius: aColumn('f32') }),
  options: someOptions<ContourOptions>(CONTOUR_OPTIONS),
};
