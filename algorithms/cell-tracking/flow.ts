import {
  array,
  bool,
  type Column,
  type F32,
  type Functor,
  f32,
  fn,
  gather,
  If,
  map,
  neighbours,
  plus,
  relax,
  round,
  saturatingPlus,
  sequence,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { FIELD_BITS, wholeToU32 } from './field-units.ts';
import type { Direction, WindowFields } from './tracking-options.ts';
import { cellAt, WINDOW_WORDS, type WindowShape, WORD, wordOf } from './windows.ts';

/** Weight μ of the neighbours in the flow. */
const MU = 0.5;
/** Weight λ of the image in the flow. */
const LAMBDA = 5;
export const MIN_MEAN_CHANGE = 1e-5;
/**
 * Maximum number of pixels in a window for which the sum of the pixels' changes cannot overflow u32. Each change is at
 * most 1, which is 2^20 units. For larger windows, the sum saturates.
 */
const MAX_EXACT = 2 ** (32 - FIELD_BITS) - 1;

/** Steps to the eight neighbours of a pixel, in the order in which the contributions of the neighbours are summed. */
export const SIDES = [
  [1, 0],
  [0, 1],
  [1, 1],
  [-1, 0],
  [0, -1],
  [-1, -1],
  [1, -1],
  [-1, 1],
] as const;

/**
 * How the difference Δ, a neighbour's value minus the pixel's value, counts: `more` counts Δ only if Δ is positive,
 * `less` only if Δ is negative, and `half` counts half of Δ.
 */
type Draw = 'more' | 'less' | 'half';

export function drawsOf({ x, y }: Direction): Draw[] {
  const length = Math.sqrt(x * x + y * y);
  return SIDES.map(([dx, dy]) => {
    const along = x * dx + y * dy;
    return Math.abs(along) <= 1e-6 * length ? 'half' : along > 0 ? 'more' : 'less';
  });
}

type FlowStep = Functor<{ u: ReturnType<typeof neighbours<typeof f32>>; image: typeof f32 }, typeof f32>;

/** Cache of the functors. The key says how each of the eight neighbours contributes; only 16 combinations occur. */
const steps = new Map<string, FlowStep>();

/** The functor that computes a pixel's value in the next round of the flow along a direction. */
export function flowStep(direction: Direction): FlowStep {
  const draws = drawsOf(direction);
  const key = draws.join();
  const known = steps.get(key) ?? createFlowStep(draws);
  steps.set(key, known);
  return known;
}

/**
 * Creates the functor of one round of the flow. For a pixel with the value u, the functor computes
 * h = u + μ/λ · Σ H(Δ · (v·d)) · Δ over the neighbours, and returns h − 1/λ · image · (h − image). Δ is a neighbour's
 * value minus u, d the step to the neighbour, and v the direction of the flow. The step function H is 1 above 0, ½ at 0
 * and 0 below. So a neighbour ahead of the pixel adds max(Δ, 0), a neighbour behind it adds min(Δ, 0), and a neighbour
 * at its side adds ½ Δ. Values are integers: both weighted terms are rounded, and everything else is exact.
 */
function createFlowStep(draws: readonly Draw[]): FlowStep {
  return fn('motionGradientVectorFlow', { u: neighbours(f32), image: f32 }, f32, ({ u, image }) => {
    const own = u.at(0);
    const drawn = (kind: (draw: Draw) => boolean): F32[] =>
      SIDES.flatMap(([dx, dy], side) => (kind(draws[side]!) ? [drawnBy(draws[side]!, u.at(dx, dy).sub(own))] : []));
    const [whole, halves] = [sum(drawn((draw) => draw !== 'half')), drawn((draw) => draw === 'half')];
    return settled(own, sum([whole, whole, ...halves]), image);
  });
}

/** The next value of a pixel. `doubled` is twice the sum of its neighbours' contributions. */
export function settled(own: F32, doubled: F32, image: F32): F32 {
  const h = own.add(round(doubled.mul(MU / LAMBDA / 2)));
  return h.sub(round(h.sub(image).mul(image.mul(2 ** -FIELD_BITS / LAMBDA))));
}

export function drawnBy(draw: Draw, difference: F32): F32 {
  return draw === 'half' ? difference : draw === 'more' ? difference.max(0) : difference.min(0);
}

function sum(values: readonly F32[]): F32 {
  return values.reduce((a, b) => a.add(b));
}

/** By how much a pixel changed in a round, in units of 2^-20. */
export const flowChange: Functor<{ before: typeof f32; after: typeof f32 }, typeof u32> = fn(
  'flowChange',
  { before: f32, after: f32 },
  u32,
  ({ before, after }) => wholeToU32(after.sub(before).abs()),
);

/** Whether the mean change in a window is so small that the flow stops there. */
export const flowIsStill: Functor<{ total: typeof u32; cells: typeof u32 }, typeof bool> = fn(
  'flowIsStill',
  { total: u32, cells: u32 },
  bool,
  ({ total, cells }) => total.le(u32(f32(cells).mul(MIN_MEAN_CHANGE * 2 ** FIELD_BITS))),
);

/** The motion gradient vector flow of all windows, and the number of rounds of each window. */
export function flowOfWindows(
  image: Column<'f32'>,
  windows: Column<'u32'>,
  shape: WindowShape,
  options: {
    readonly flow: Direction;
    readonly maxRounds: number;
    readonly cells: number;
    readonly previous: WindowFields | undefined;
  },
): { readonly field: Column<'f32'>; readonly rounds: Column<'u32'> } {
  const { cells, previous } = options;
  const word = (name: keyof typeof WORD): Column<'u32'> =>
    gather(windows, sequence(cells, WORD[name], WINDOW_WORDS)) as Column<'u32'>;
  const maxArea = shape.maxWidth * shape.maxHeight;
  const start =
    previous === undefined
      ? image
      : map(startOfFlow, {
          ...{ pixel: sequence(image.capacity), image, windows, cells, maxArea },
          ...{ field: previous.field, before: previous.windows },
        });
  const total = maxArea > MAX_EXACT ? saturatingPlus : plus(u32);
  const { state, rounds } = relax(
    { width: word('width'), height: word('height') },
    flowStep(options.flow),
    { u: start, image },
    { change: flowChange, total, until: flowIsStill },
    { maxRounds: options.maxRounds, maxWidth: shape.maxWidth, maxHeight: shape.maxHeight },
  );
  return { field: state, rounds };
}

/**
 * Start value of the flow at a pixel. If the cell's previous window contains the pixel, the start value is the previous
 * flow at the same position in the frame; otherwise, it is the value of the image.
 */
const startOfFlow = fn(
  'startOfFlow',
  {
    pixel: u32,
    image: f32,
    windows: array(u32),
    cells: uniform(u32),
    maxArea: uniform(u32),
    field: array(f32),
    before: array(u32),
  },
  f32,
  ({ pixel, image, windows, cells, maxArea, field, before }) => {
    const cell = cellAt(pixel, windows, cells, maxArea);
    const width = wordOf(windows, cell, 'width');
    const place = pixel.sub(wordOf(windows, cell, 'first'));
    const row = place.div(width);
    // Columns and rows left of or above the previous window wrap to large numbers, so one comparison rejects them.
    const x = place
      .sub(row.mul(width))
      .add(wordOf(windows, cell, 'left'))
      .sub(wordOf(before, cell, 'left'));
    const y = row.add(wordOf(windows, cell, 'top')).sub(wordOf(before, cell, 'top'));
    const [wide, high] = [wordOf(before, cell, 'width'), wordOf(before, cell, 'height')];
    const value = Var(image);
    If(x.lt(wide).and(y.lt(high)).and(width.gt(0)), () => {
      value.set(field.at(wordOf(before, cell, 'first').add(y.mul(wide)).add(x)));
    });
    return value;
  },
);
