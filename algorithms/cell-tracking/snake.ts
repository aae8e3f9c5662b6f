import type { ArrayValue } from '../../primitives/functors/value.ts';
import {
  array,
  bool,
  type Column,
  constant,
  type F32,
  f32,
  fn,
  type I32,
  i32,
  Let,
  map,
  neighbours,
  plus,
  relax,
  round,
  select,
  sequence,
  sqrt,
  type U32,
  u32,
  uniform,
} from '../../primitives/index.ts';
import { FIELD_BITS } from './field-units.ts';
import type { Direction } from './tracking-options.ts';
import { numberOf, slopesAt, wordOf } from './windows.ts';

/** Number of points of a snake, at multiples of 18 degrees around its centre. */
export const SNAXELS = 20;

/** Weights of the forces towards the expected radius and the expected path. Edges have the weight 1. */
const [SIZE_WEIGHT, PATH_WEIGHT] = [0.2, 0.05];
/**
 * Fractional bits of samples (between −1 and 1), of lengths, and of changes (in pixels), which are summed as integers.
 * Integer sums do not depend on the order of the terms, which differs between the snaxels of a snake.
 */
const [SAMPLE_BITS, LENGTH_BITS, CHANGE_BITS] = [26, 16, 18];
/** Maximum length in pixels of a piece of a snake, so that the sum of all pieces fits in u32. */
const LONGEST = 1000;

/**
 * State of a snaxel (a point of a snake): the snake's centre, the snaxel's distance from the centre, the flow field and
 * its slopes at the snaxel, and the distance to the next snaxel.
 */
const snaxel = {
  x: f32,
  y: f32,
  radius: f32,
  /**
   * The field at the snaxel. `slopeX` and `slopeY` are its slopes there, scaled to unit length. All three are in fixed
   * point.
   */
  value: i32,
  slopeX: i32,
  slopeY: i32,
  length: u32,
  /** 1 if the snaxel is outside the window, else 0. */
  outside: u32,
} as const;

const ANGLES = Array.from({ length: SNAXELS }, (_, k) => (k * 2 * Math.PI) / SNAXELS);
const [COSINES, SINES] = [ANGLES.map(Math.cos), ANGLES.map(Math.sin)];

interface Vector {
  readonly x: F32;
  readonly y: F32;
}

/**
 * Unit vector from the centre to a snaxel. A chain of selects replaces a table, because a table would need another
 * buffer binding, of which this kernel already has many.
 */
function directionOf(snaxel: U32): Vector {
  const chosen = (table: readonly number[]): F32 =>
    table.reduce<F32>((value, each, k) => select(value, f32(each), snaxel.eq(k)), f32(0));
  return { x: chosen(COSINES), y: chosen(SINES) };
}

interface SnakeWindow {
  readonly first: U32;
  readonly width: U32;
  readonly height: U32;
}

interface Sample {
  readonly value: I32;
  readonly slopeX: I32;
  readonly slopeY: I32;
  readonly outside: U32;
}

/**
 * Returns the field and its normalised slopes at a point of a window. Both are interpolated from the four pixels around
 * the point.
 */
function sampleAt(field: ArrayValue<'f32'>, { first, width, height }: SnakeWindow, x: F32, y: F32): Sample {
  const inside = width
    .ge(2)
    .and(height.ge(2))
    .and(x.ge(0).and(x.le(f32(width.max(1).sub(1)))))
    .and(y.ge(0).and(y.le(f32(height.max(1).sub(1)))));
  const [column, row] = [u32(x).min(width.max(2).sub(2)), u32(y).min(height.max(2).sub(2))];
  const [a, b] = [x.sub(f32(column)), y.sub(f32(row))];
  // The field is in units of 2^-20. Its slopes are normalised below, so the unit does not matter to them.
  const at = (x: U32, y: U32) => field.at(first.add(y.mul(width)).add(x));
  const corners = [
    [column, row, f32(1).sub(a).mul(f32(1).sub(b))],
    [column.add(1), row, a.mul(f32(1).sub(b))],
    [column, row.add(1), f32(1).sub(a).mul(b)],
    [column.add(1), row.add(1), a.mul(b)],
  ] as const;
  const parts = corners.map(([x, y, weight]) => {
    const slope = slopesAt(at, x, y, width, height);
    const size = sqrt(slope.x.mul(slope.x).add(slope.y.mul(slope.y)));
    const normal = (side: F32) => select(f32(0), side.div(size), size.gt(0)).mul(weight);
    return { value: at(x, y).mul(weight), slopeX: normal(slope.x), slopeY: normal(slope.y) };
  });
  const sum = (name: 'value' | 'slopeX' | 'slopeY', bits: number) => {
    const total = parts.map((part) => part[name]).reduce((left, right) => left.add(right));
    return select(i32(0), i32(round(total.mul(2 ** bits))), inside);
  };
  return {
    ...{ value: sum('value', SAMPLE_BITS - FIELD_BITS), slopeX: sum('slopeX', SAMPLE_BITS) },
    ...{ slopeY: sum('slopeY', SAMPLE_BITS), outside: select(u32(1), u32(0), inside) },
  };
}

function lengthOf(from: Vector, to: Vector): U32 {
  const [x, y] = [to.x.sub(from.x), to.y.sub(from.y)];
  return u32(
    round(
      sqrt(x.mul(x).add(y.mul(y)))
        .min(LONGEST)
        .mul(2 ** LENGTH_BITS),
    ),
  );
}

/**
 * The window of a cell. If the image has the same slope everywhere in the window, the field has nothing to follow, and
 * the width is set to 0.
 */
function windowOf(windows: ArrayValue<'u32'>, cell: U32): SnakeWindow {
  const isFlat = numberOf(windows, cell, 'max').le(numberOf(windows, cell, 'min'));
  const width = wordOf(windows, cell, 'width');
  return {
    first: wordOf(windows, cell, 'first'),
    width: select(width, u32(0), isFlat),
    height: wordOf(windows, cell, 'height'),
  };
}

/**
 * State of a snaxel before the first round. If `expected` is set, or if the given radius of the snaxel is not finite,
 * the snaxel starts at the expected radius.
 */
const firstSnaxel = fn(
  'firstSnaxel',
  { index: u32, windows: array(u32), radii: array(f32), expected: uniform(bool), field: array(f32) },
  snaxel,
  ({ index, windows, radii, expected, field }) => {
    const [cell, k] = [index.div(SNAXELS), index.rem(SNAXELS)];
    const next = select(k.add(1), u32(0), k.eq(SNAXELS - 1));
    const [x, y] = [numberOf(windows, cell, 'x'), numberOf(windows, cell, 'y')];
    const usual = numberOf(windows, cell, 'radius');
    const radiusOf = (snaxel: U32): F32 => {
      const radius = radii.at(cell.mul(SNAXELS).add(snaxel));
      return select(usual, radius, radius.abs().lt(Number.POSITIVE_INFINITY).and(expected.not()));
    };
    const point = (snaxel: U32, radius: F32): Vector => {
      const direction = directionOf(snaxel);
      return { x: x.add(radius.mul(direction.x)), y: y.add(radius.mul(direction.y)) };
    };
    const radius = radiusOf(k);
    const [here, there] = [point(k, radius), point(next, radiusOf(next))];
    const sample = sampleAt(field, windowOf(windows, cell), here.x, here.y);
    return { x, y, radius, ...sample, length: lengthOf(here, there) };
  },
);

/** Values of a snaxel that stay the same in all rounds. */
const setting = {
  direction: { x: f32, y: f32 },
  next: { x: f32, y: f32 },
  path: f32,
  expected: f32,
  window: { first: u32, width: u32, height: u32 },
};

const settings = fn('snaxelSettings', { index: u32, windows: array(u32) }, setting, ({ index, windows }) => {
  const [cell, k] = [index.div(SNAXELS), index.rem(SNAXELS)];
  return {
    direction: directionOf(k),
    next: directionOf(select(k.add(1), u32(0), k.eq(SNAXELS - 1))),
    path: numberOf(windows, cell, 'path'),
    expected: numberOf(windows, cell, 'radius'),
    window: windowOf(windows, cell),
  };
});

/**
 * A round of a snake, in which each snaxel sums the samples of all snaxels. The centre moves along the mean slope and
 * towards the expected path. A snaxel moves outwards along its ray if its field value plus radius · slope along the ray
 * is above the mean field, else inwards. The snaxel is also pulled towards the expected radius. The whole snake stops
 * once one of its snaxels has left the window.
 */
const evolve = fn(
  'evolveSnake',
  {
    snake: neighbours(snaxel),
    ...setting,
    field: array(f32),
    acrossX: uniform(f32),
    acrossY: uniform(f32),
    /**
     * Step length of a round. `sizeShare` and `pathShare` are the fractions of the way to the expected radius and to
     * the expected path.
     */
    step: uniform(f32),
    sizeShare: uniform(f32),
    pathShare: uniform(f32),
  },
  snaxel,
  (given) => {
    const { snake, direction, next, path, expected, window, field, acrossX, acrossY, step } = given;
    const all = Array.from({ length: SNAXELS }, (_, k) => snake.at(k));
    const own = snake.at(0);
    const summed = (name: 'value' | 'slopeX' | 'slopeY'): F32 => asNumber(sumOf(all.map((each) => each[name])));
    const length = f32(sumOf(all.map((each) => each.length))).mul(2 ** -LENGTH_BITS);
    const stays = sumOf(all.map((each) => each.outside))
      .gt(0)
      .or(length.eq(0));
    const [mean, slopeX, slopeY] = [summed('value'), summed('slopeX'), summed('slopeY')].map((sum) =>
      Let(sum.div(length)),
    ) as [F32, F32, F32];
    const [movedX, movedY] = [own.x.add(slopeX.mul(step)), own.y.add(slopeY.mul(step))];
    const off = path.sub(movedX.mul(acrossX).add(movedY.mul(acrossY)));
    const pull = off.mul(given.pathShare);
    const [x, y] = [movedX.add(acrossX.mul(pull)), movedY.add(acrossY.mul(pull))];
    const radiusOf = (each: typeof own, towards: Vector): F32 => {
      const [alongX, alongY] = [each.radius.mul(towards.x), each.radius.mul(towards.y)];
      const seen = asNumber(each.value).add(asNumber(each.slopeX).mul(alongX)).add(asNumber(each.slopeY).mul(alongY));
      const edge = seen.sub(mean).div(length);
      const moved = each.radius.add(edge.mul(step));
      return moved.add(expected.sub(moved).mul(given.sizeShare));
    };
    const pointAt = (radius: F32, towards: Vector): Vector => ({
      x: x.add(radius.mul(towards.x)),
      y: y.add(radius.mul(towards.y)),
    });
    const radius = radiusOf(own, direction);
    const [here, there] = [pointAt(radius, direction), pointAt(radiusOf(snake.at(1), next), next)];
    const moved = { x, y, radius, ...sampleAt(field, window, here.x, here.y), length: lengthOf(here, there) };
    return select(moved, own, stays);
  },
);

function sumOf<T extends I32 | U32>(values: readonly T[]): T {
  return values.reduce((a, b) => (a as I32).add(b as I32) as T);
}

function asNumber(value: I32): F32 {
  return f32(value).mul(2 ** -SAMPLE_BITS);
}

/**
 * How far a snaxel moved along its ray, plus a 20th of the move of the snake's centre. The sum over the 20 snaxels thus
 * counts the centre's move once.
 */
const change = fn('snakeChange', { before: snaxel, after: snaxel }, u32, ({ before, after }) => {
  const centre = after.x.sub(before.x).abs().add(after.y.sub(before.y).abs());
  const all = after.radius
    .sub(before.radius)
    .abs()
    .add(centre.mul(1 / SNAXELS));
  return u32(round(all.min(LONGEST / SNAXELS).mul(2 ** CHANGE_BITS)));
});

const isStill = fn('snakeIsStill', { total: u32, bound: uniform(u32) }, bool, ({ total, bound }) => total.le(bound));

/** Snakes after their last round, {@link SNAXELS} rows per cell, and the number of rounds of each. */
export interface Snakes {
  readonly x: Column<'f32'>;
  readonly y: Column<'f32'>;
  readonly radius: Column<'f32'>;
  readonly outside: Column<'u32'>;
  readonly rounds: Column<'u32'>;
}

export function evolveSnakes(
  field: Column<'f32'>,
  windows: Column<'u32'>,
  radii: Column<'f32'> | undefined,
  options: {
    readonly cells: number;
    readonly across: Direction;
    readonly step: number;
    readonly minChange: number;
    readonly maxRounds: number;
  },
): Snakes {
  const { cells, across, step, minChange, maxRounds } = options;
  /** In one implicit Euler step, an attracting force moves a point by this fraction of the way to its target. */
  const share = (weight: number): number => (step * weight) / (1 + step * weight);
  const index = sequence(cells * SNAXELS);
  const snake = map(firstSnaxel, {
    index,
    windows,
    radii: radii ?? constant(f32, 0, 1),
    expected: radii === undefined,
    field,
  });
  const { state, rounds } = relax(
    { width: SNAXELS, height: 1 },
    evolve,
    {
      ...{ snake, ...map(settings, { index, windows }), field, acrossX: across.x, acrossY: across.y },
      ...{ step, sizeShare: share(SIZE_WEIGHT), pathShare: share(PATH_WEIGHT) },
    },
    { change, total: plus(u32), until: isStill, captures: { bound: Math.floor(minChange * 2 ** CHANGE_BITS) } },
    { maxRounds, boundary: 'wrap' },
  );
  return { x: state.x, y: state.y, radius: state.radius, outside: state.outside, rounds };
}
