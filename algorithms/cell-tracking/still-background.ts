import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aNumberWithin, anArrayOf, optional, someOptions } from '../../primitives/checks/kinds.ts';
import {
  ArgumentError,
  array,
  type Column,
  type Context,
  For,
  f32BitsToSortable,
  fn,
  Let,
  map,
  select,
  sequence,
  sortableToF32Bits,
  type U32,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { placeBetween } from '../tables/interpolation.ts';
import { aHostFrame, type HostFrame, requireHostFrame, requireSameDepth, requireSameSize } from './frame.ts';

export interface BackgroundOptions {
  /**
   * Which quantile of a pixel's grey values is the background, from 0 (minimum) to 1 (maximum). Default 0.5, the
   * median. If slow bright cells cover a pixel in half of the frames or more, choose a lower quantile; if slow dark
   * cells do, choose a higher one.
   */
  readonly quantile?: number | undefined;
}

/** Maximum number of frames from which a background is computed. */
const MAX_FRAMES = 1024;
/** Maximum number of grey values that are on the device at the same time. */
const BAND = 2 ** 24;

/**
 * The still background of a video: for every pixel, the median (or another quantile) of its grey values in the given
 * frames. Choose frames so far apart that cells move away from one frame to the next. {@link trackCells} subtracts the
 * background from every frame, so that textured tissue is not mistaken for cells.
 *
 * - Exact: the result is one of the n given grey values of a pixel: in ascending order, the value with the index
 *   ⌊quantile · (n − 1)⌋. A NaN sorts above +∞, or below −∞ if its sign bit is set.
 * - Work O(frames · pixels · bits of a grey value), span O(frames · bits). Deterministic. The frames are processed in
 *   bands of image rows. The device holds one band of all frames at a time: up to 2^24 pixels, but at least one row of
 *   each frame.
 *
 * @param frames From 1 to 1,024 frames of the same size and depth.
 * @throws `ArgumentError` `background/frames` for no frames or too many; `background/quantile`; `frame/size` and
 * `frame/depth` if frames differ.
 * @example
 * const frameOf = (...grey: number[]) => ({ width: 3, height: 1, grey: Uint8Array.from(grey) });
 * const { grey } = await stillBackground(ctx, [frameOf(7, 90, 5), frameOf(90, 8, 5), frameOf(7, 8, 90)]);
 * grey; // Uint8Array [7, 8, 5]
 */
export async function stillBackground(
  context: Context,
  frames: readonly HostFrame[],
  options: BackgroundOptions = {},
): Promise<HostFrame> {
  requireArguments('stillBackground', { context, frames, options }, ARGUMENTS);
  requireAlike(frames);
  const { quantile = 0.5 } = options;
  const { width, height, grey } = frames[0]!;
  const found = new (grey.constructor as Uint8ArrayConstructor)(width * height);
  const rows = Math.max(1, Math.min(height, Math.floor(BAND / (width * frames.length))));
  for (let row = 0; row < height; row += rows) {
    const [from, to] = [row * width, Math.min(height, row + rows) * width];
    found.set(await quantileOf(context, frames, from, to, quantile), from);
  }
  return { width, height, grey: found };
}

const ARGUMENTS = {
  context: aContext,
  frames: anArrayOf(aHostFrame, 'an array of frames'),
  options: someOptions<BackgroundOptions>({
    quantile: optional(aNumberWithin(0, 1, 'background/quantile')),
  }),
};

function requireAlike(frames: readonly HostFrame[]): void {
  if (frames.length === 0 || frames.length > MAX_FRAMES) {
    throw new ArgumentError('background/frames', 'stillBackground was given too few frames, or too many.', {
      expected: `from 1 to ${MAX_FRAMES} frames`,
      got: frames.length,
      remedy: 'Take frames at equal distances from all of the video.',
    });
  }
  for (const frame of frames) {
    requireHostFrame('stillBackground', frame);
    requireSameSize('stillBackground', frame, frames[0]!);
    requireSameDepth('stillBackground', frame, frames[0]!);
  }
}

/** For each pixel of a range, the quantile of its grey values in all frames. The result has the type of the frames. */
async function quantileOf(
  context: Context,
  frames: readonly HostFrame[],
  from: number,
  to: number,
  quantile: number,
): Promise<HostFrame['grey']> {
  const { grey } = frames[0]!;
  const pixels = to - from;
  const stacked = new (grey.constructor as Uint8ArrayConstructor)(frames.length * pixels);
  for (const [i, { grey }] of frames.entries()) stacked.set(grey.subarray(from, to), i * pixels);
  const isFloat = grey instanceof Float32Array;
  const values = context.column(isFloat ? new Uint32Array(stacked.buffer) : stacked) as Column<'u32'>;
  const rank = placeBetween(quantile, frames.length).low;
  const found = context.scope(() => {
    const given = { pixel: sequence(pixels), values, pixels, frames: frames.length, rank };
    const bits = 8 * grey.BYTES_PER_ELEMENT;
    return context.materialize(
      isFloat ? map(quantileOfBits, { ...given, bits }) : map(quantileOfWhole, { ...given, bits }),
    );
  });
  try {
    const words = await context.read(found);
    return isFloat ? new Float32Array(words.buffer) : (words as never);
  } finally {
    context.dispose(values, found);
  }
}

const quantileOfWhole = quantileFunctor(
  (value) => value,
  (key) => key,
);
const quantileOfBits = quantileFunctor(
  (bits) => f32BitsToSortable({ bits }),
  (key) => sortableToF32Bits({ key }),
);

/**
 * Functor that finds the grey value with a given rank at a pixel. It determines the bits of the value from the highest
 * bit down. A bit is 1 if at most `rank` values are below the candidate in which this bit is set.
 */
function quantileFunctor(keyOf: (value: U32) => U32, valueOfKey: (key: U32) => U32) {
  return fn(
    'pixelQuantile',
    {
      ...{ pixel: u32, values: array(u32), pixels: uniform(u32), frames: uniform(u32) },
      ...{ rank: uniform(u32), bits: uniform(u32) },
    },
    u32,
    ({ pixel, values, pixels, frames, rank, bits }) => {
      const found = Var(u32(0));
      For(0, bits, (bit) => {
        const candidate = Let(found.or(u32(1).shl(bits.sub(1).sub(bit))));
        const below = Var(u32(0));
        For(0, frames, (frame) => {
          const key = keyOf(values.at(frame.mul(pixels).add(pixel)));
          below.set(below.add(select(u32(0), u32(1), key.lt(candidate))));
        });
        found.set(select(found, candidate, below.le(rank)));
      });
      return valueOfKey(found);
    },
  );
}
