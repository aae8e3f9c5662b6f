import { requireArguments } from '../../primitives/checks/arguments.ts';
import { someOptions } from '../../primitives/checks/kinds.ts';
import {
  ArgumentError,
  array,
  type Bool,
  type Column,
  dotOfHalves,
  type F32,
  For,
  f32,
  fn,
  type I32,
  If,
  i32,
  Let,
  map,
  select,
  sequence,
  sqrt,
  type U32,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { circleTables, WEIGHT_BITS } from './circles.ts';
import { DEFAULT_RADII, GICOV_OPTIONS, type GicovOptions, marginOf } from './detection-options.ts';
import { aFrame, contextOfFrame, type Frame } from './frame.ts';
import { packSlopes } from './slopes.ts';

/** How well circles around the pixels of a frame fit edges. */
export interface Gicov {
  /** Mean divided by standard deviation of the outward slopes on the best circle. Negative around bright cells. */
  readonly score: Column<'f32'>;
  /** The radius of the best circle, in pixels; 0 if the score is 0. */
  readonly radius: Column<'f32'>;
}

/**
 * The gradient inverse coefficient of variation of every pixel of a frame: the outward slopes are sampled on circles
 * around the pixel, and their mean is divided by their standard deviation (n − 1). The circle with the largest ratio of
 * mean² to variance gives the signed score.
 *
 * All backends give the same bytes, because slopes are integers: the largest slope of the frame has 14 bits, sines and
 * cosines have 14 fractional bits, and an outward slope is truncated to 15 bits. Outward slopes are summed exactly;
 * their squares are summed in f32. The relative error of a score is about 1e-3, unless a single slope of the frame is
 * thousands of times as large as those around the cells. Multiplying a frame by a power of two, or adding an offset,
 * does not change the bytes, unless f32 rounds the changed grey values.
 *
 * - Work O(pixels · radii · points); with a `threshold`, half of this work is skipped around most pixels, because the
 *   first half of the samples shows that the score cannot exceed the threshold.
 * - If all slopes are 0, the score is 0. The standard deviation is at least 2⁻¹⁰ of the root mean square. Slopes that
 *   are not finite count as 0.
 * - If no pixel is inside the margin, all scores are 0.
 *
 * Source: Dong, Ray and Acton, Intravital leukocyte detection using the gradient inverse coefficient of variation,
 * 2005; Boyer, Tarjan, Acton and Skadron, Accelerating leukocyte tracking using CUDA, 2009.
 *
 * @throws `ArgumentError` `frame/size` if the number of pixels does not match the sides; `cells/radii`, `cells/points`,
 * `cells/threshold`, `cells/margin`, `cells/sign`.
 * @example
 * const disc = (x: number, y: number) => 100 + 100 / (1 + Math.exp(Math.hypot(x - 16, y - 16) - 9));
 * const grey = ctx.column(Uint8Array.from({ length: 33 * 33 }, (_, i) => disc(i % 33, Math.floor(i / 33))));
 * const { score, radius } = gicov({ width: 33, height: 33, grey }, { radii: [7, 9, 11] });
 * const found = await ctx.read({ score, radius });
 * [found.score[16 * 33 + 16]! < -1, found.radius[16 * 33 + 16]]; // [true, 9]
 */
export function gicov(frame: Frame, options: GicovOptions = {}): Gicov {
  requireArguments('gicov', { frame, options }, { frame: aFrame, options: someOptions<GicovOptions>(GICOV_OPTIONS) });
  const context = contextOfFrame('gicov', frame);
  const { radii = DEFAULT_RADII, points = 150, threshold = 0, sign = 'both' } = options;
  requireRadii(radii);
  const { margin = marginOf(radii) } = options;
  return context.scope(() => {
    const tables = circleTables(radii, points, frame.width);
    const slopes = packSlopes(context, frame);
    const samples = 2 * tables.firstPairs;
    const cells = map(scoreOfCell, {
      cell: sequence(frame.width * frame.height),
      slopes,
      offsets: context.column(tables.offsets),
      weights: context.column(tables.weights),
      radii: context.column(tables.radii),
      width: frame.width,
      height: frame.height,
      margin,
      circles: radii.length,
      pairs: tables.pairs,
      firstPairs: tables.firstPairs,
      min: (threshold ** 2 * points ** 2) / (points - 1),
      inverse: 1 / points,
      inverseOfFirst: 1 / samples,
      share: points / samples,
      reach: (points * (points - samples)) / samples,
      unit: (points - 1) / points ** 2,
      sign: { bright: -1, dark: 1, both: 0 }[sign],
    });
    return context.materialize({ score: cells.score, radius: cells.radius });
  });
}

function requireRadii(radii: readonly number[]): void {
  if (radii.length > 0 && radii.length <= MAX_RADII) return;
  throw new ArgumentError('cells/radii', 'gicov was given too few or too many radii.', {
    expected: `from 1 to ${MAX_RADII} radii`,
    got: radii.length,
  });
}

const MAX_RADII = 64;

const scoreOfCell = fn(
  'gicov',
  {
    cell: u32,
    slopes: array(u32),
    offsets: array(u32),
    weights: array(u32),
    radii: array(f32),
    width: uniform(u32),
    height: uniform(u32),
    margin: uniform(u32),
    circles: uniform(u32),
    pairs: uniform(u32),
    firstPairs: uniform(u32),
    /** The threshold of the score, converted to a lower bound of sum² / spread of the slopes; see {@link spreadOf}. */
    min: uniform(f32),
    inverse: uniform(f32),
    inverseOfFirst: uniform(f32),
    share: uniform(f32),
    reach: uniform(f32),
    unit: uniform(f32),
    sign: uniform(f32),
  },
  { score: f32, radius: f32 },
  (given) => {
    const { cell, width, height, margin, circles, pairs, firstPairs } = given;
    const [best, sum, radius] = [Var(given.min), Var(f32(0)), Var(f32(0))];
    const row = cell.div(width);
    const column = cell.sub(row.mul(width));
    If(isWithin(column, width, margin).and(isWithin(row, height, margin)), () => {
      For(0, circles, (circle) => {
        const [total, squares] = [Var(i32(0)), Var(f32(0))];
        const sampleTo = (from: U32, to: U32): void => {
          const start = circle.mul(pairs);
          For(start.add(from), start.add(to), (pair) => {
            const [offset, weight] = [given.offsets.at(pair), given.weights.at(pair)];
            const [a, b] = [cell.add(offset), cell.sub(offset)].map((place) =>
              dotOfHalves(given.slopes.at(place), weight).shr(WEIGHT_BITS),
            ) as [I32, I32];
            total.set(total.add(a).sub(b));
            squares.set(squares.add(f32(a.mul(a).add(b.mul(b)))));
          });
        };
        sampleTo(u32(0), firstPairs);
        If(mayExceed(f32(total), Let(squares), Let(best), given), () => {
          sampleTo(firstPairs, pairs);
          const found = f32(total);
          // Slopes are integers, so the spread is exactly 0 only if all slopes are 0. The minimum of 2^-24 avoids a
          // division by 0.
          const spread = spreadOf(found, Let(squares), given.inverse).max(2 ** -24);
          const ratio = found.mul(found).div(spread);
          If(ratio.gt(best).and(found.mul(given.sign).ge(0)), () => {
            best.set(ratio);
            sum.set(found);
            radius.set(given.radii.at(circle));
          });
        });
      });
    });
    const size = sqrt(best.mul(given.unit));
    return { score: select(select(size, size.neg(), sum.lt(0)), f32(0), radius.eq(0)), radius };
  },
);

/** Whether a coordinate is at least `margin` away from both ends of a side of the frame. */
export function isWithin(place: U32, size: U32, margin: U32): Bool {
  return place.ge(margin).and(place.add(margin).lt(size));
}

/**
 * The sum of squared deviations from the mean, which is the sum of squares minus sum²/n. The result is at least a
 * millionth of the sum of squares, because cancellation in f32 makes smaller values meaningless. `inverse` is 1/n.
 */
export function spreadOf(sum: F32, squares: F32, inverse: F32): F32 {
  return squares.sub(sum.mul(sum).mul(inverse)).max(squares.mul(2 ** -20));
}

/**
 * Whether a circle may exceed the best circle so far, judged by the first n₁ of its n samples. The remaining samples
 * are assumed to be as favourable as possible, and then all have the same value t. Let s be the sum of the first
 * samples, and d the sum of their squared deviations from the mean. Then (s + (n − n₁)t)² divided by d +
 * n₁(n − n₁)/n · (t − s/n₁)² is at most (s·n/n₁)²/d + n(n − n₁)/n₁, by the Cauchy–Schwarz inequality.
 */
function mayExceed(
  sum: F32,
  squares: F32,
  best: F32,
  { inverseOfFirst, share, reach }: { readonly [name in 'inverseOfFirst' | 'share' | 'reach']: F32 },
) {
  const spread = spreadOf(sum, squares, inverseOfFirst);
  const whole = sum.mul(share);
  // The bound is lowered, so that rounding does not skip a better circle.
  const min = spread
    .sub(squares.mul(2 ** -12))
    .max(0)
    .mul(best.sub(reach).max(0))
    .mul(1 - 2 ** -10);
  return whole
    .mul(whole)
    .ge(min)
    .and(squares.gt(0).or(best.le(reach)));
}
