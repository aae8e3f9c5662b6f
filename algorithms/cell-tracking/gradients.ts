import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  type Column,
  type ColumnsOf,
  f32,
  fn,
  map,
  select,
  sequence,
  type U32,
  u32,
  uniform,
} from '../../primitives/index.ts';
import { aFrame, contextOfFrame, type Frame, ofGrey } from './frame.ts';

/**
 * The slopes of a frame along x and y, per pixel, as views. A slope is half of the difference of the pixel's two
 * neighbours. At an edge of the frame it is the difference of the pixel and its only neighbour.
 *
 * - Work O(pixels). Deterministic. Along an axis on which the frame has only one pixel, the slope is 0.
 * - Grey values are taken as f32; differences of whole numbers up to 2^24 are exact.
 *
 * @throws `ArgumentError` `frame/size` if the number of pixels does not match the sides.
 * @example
 * const grey = ctx.column(Uint8Array.of(1, 3, 9, 9, 1, 3, 9, 9));
 * await ctx.read(gradients({ width: 4, height: 2, grey }));
 * // { x: Float32Array [2, 4, 3, 0, 2, 4, 3, 0], y: Float32Array [0, 0, 0, 0, 0, 0, 0, 0] }
 */
export function gradients(frame: Frame): ColumnsOf<{ x: typeof f32; y: typeof f32 }> {
  requireArguments('gradients', { frame }, { frame: aFrame });
  contextOfFrame('gradients', frame);
  return doubledOf(frame, 0.5);
}

/** Twice the slopes of a frame, as views. The factor keeps the slopes of integer grey values integer. */
export function doubledGradients(frame: Frame): ColumnsOf<{ x: typeof f32; y: typeof f32 }> {
  return doubledOf(frame, 1);
}

function doubledOf({ width, height, grey }: Frame, scale: number): ColumnsOf<{ x: typeof f32; y: typeof f32 }> {
  return map(slopes[grey.type], { grey: grey as Column<'f32'>, cell: sequence(width * height), width, height, scale });
}

// The functor indexes the frame by hand, because a stencil would need as many grey values as pixels, and inputs of
// prepared pipelines may have fewer.
const slopes = ofGrey((grey) =>
  fn(
    'slopes',
    { grey, cell: u32, width: uniform(u32), height: uniform(u32), scale: uniform(f32) },
    { x: f32, y: f32 },
    ({ grey, cell, width, height, scale }) => {
      const row = cell.div(width);
      const start = row.mul(width);
      const column = cell.sub(start);
      const [right, below] = [width.sub(1).sub(column), height.sub(1).sub(row)];
      const at = (place: U32) => f32(grey.at(place));
      // A neighbour outside the frame is replaced by the pixel itself.
      const x = at(cell.add(right.min(1))).sub(at(start.add(column.max(1).sub(1))));
      const y = at(row.add(below.min(1)).mul(width).add(column)).sub(at(row.max(1).sub(1).mul(width).add(column)));
      return {
        x: select(x, x.add(x), column.eq(0).or(right.eq(0))).mul(scale),
        y: select(y, y.add(y), row.eq(0).or(below.eq(0))).mul(scale),
      };
    },
  ),
);
