import {
  ArgumentError,
  bitsToF32,
  bitsToU32,
  type F32,
  f32,
  f32ToSortable,
  Let,
  select,
  sortableToF32,
  type U32,
  u32,
  Var,
  type Variable,
} from '../../primitives/index.ts';
import { type Kind, where } from '../../primitives/kinds.ts';
import { addScaled, keyOfScaled, type ScaledSums, withoutSubnormals } from './scaled-powers.ts';
import {
  addSquare,
  FAR_SQUARE,
  keyOfAnySquares,
  keyOfFewSquares,
  keyOfSquared,
  keyOfSquares,
  type Squares,
  squareOfKey,
} from './squares.ts';

/**
 * Distance of two points a and b. With δ as the differences of their coordinates:
 *
 * - `l1`: Σ |δ|; `l2`: Σ δ², without the root; `max`: the maximum |δ|.
 * - `{ lp }`: (Σ |δ|^p)^(1/p), the distance itself, for an integer p from 1 to 64.
 * - `cosine`: 1 − a·b ÷ (|a| |b|), 1 if a vector is zero; `inner`: −a·b, so that the point with the largest product is
 *   the nearest.
 *
 * Coordinates are f32, and distances those of the f32 given. All except `{ lp }`: every operation is rounded to 24 bits,
 * and sums are added from the first dimension to the last.
 *
 * `l2` orders points at all scales as real arithmetic does, except for these roundings: exponents have no limits, so no
 * square is too large or too small, and its error is at most D + 2 units in the last place in D dimensions. Only the
 * distance that is returned is a square in f32: it is +∞ beyond 3.4e38, the square of 1.8e19, has fewer digits below
 * 1.2e-38, and is 0 up to the square of 2.6e-23. `{ lp: 2 }` returns the root, at all scales.
 *
 * `{ lp }` with p from 2 on works at all scales: powers are scaled, so a distance is 0 or +∞ only if f32 has no place for
 * it. In D dimensions, it is within 6 + D ÷ p units in the last place of real arithmetic, and exact if a and b differ in
 * a single coordinate by a difference that f32 holds. Points at the same f32 distance are equally near.
 *
 * For `l2` and `{ lp }`, coordinates and differences below 1.2e-38 count as 0, so bytes are the same on all backends. For
 * the others, devices may differ where coordinates, differences or products are below 1.2e-38 and not 0. Products of
 * `cosine` and `inner` beyond 3.4e38 are +∞.
 *
 * −0 becomes 0, and a distance that is NaN becomes +∞.
 */
export type Metric = 'l1' | 'l2' | 'max' | 'cosine' | 'inner' | { readonly lp: number };

const WORDS: readonly unknown[] = ['l1', 'l2', 'max', 'cosine', 'inner'];
const HIGHEST_POWER = 64;

const isPower = (given: unknown): boolean => {
  const { lp } = (given ?? {}) as { readonly lp?: unknown };
  return Number.isInteger(lp) && (lp as number) >= 1 && (lp as number) <= HIGHEST_POWER;
};

export const aMetric: Kind = where(
  `one of ${WORDS.join(', ')}, or { lp } of a whole number from 1 to ${HIGHEST_POWER}`,
  (given) => WORDS.includes(given) || isPower(given),
  { code: 'neighbours/metric' },
);

/**
 * Validator of metrics for trees. Accepts only metrics whose distances grow with every |δ|, because boxes give lower
 * bounds only of such distances.
 */
export const aBoundedMetric: Kind = (given, path, homes) =>
  given === 'cosine' || given === 'inner'
    ? {
        path,
        part: given,
        expected: 'l1, l2, max or { lp }',
        code: 'neighbours/metric',
        remedy: 'Trees have no bounds for angles and products: call nearest().',
      }
    : aMetric(given, path, homes);

/** The bits of +∞ in f32. */
const INFINITE = 0x7f800000;

/** The running sums of a measure. All start at 0. */
export type Sums = { readonly [name: string]: F32 | U32 };

/**
 * A metric as operations in functors. Distances are compared by keys: words that have the same order as the distances.
 */
export interface Measure {
  /** The types of the sums. */
  readonly sums: { readonly [name: string]: typeof f32 | typeof u32 };
  /** Adds the contribution of one coordinate of both vectors to the sums. */
  step(sums: Sums, a: F32, b: F32): Sums;
  /** Converts final sums to a key. For `cosine`, the lengths of both vectors are given. */
  keyOf(sums: Sums, lengths?: readonly [F32, F32]): U32;
  /** A word with the order of ordinary distances, if there is one that is found faster than the key. */
  orderOf?(sums: Sums): U32;
  /** Converts a key back to the distance. */
  distanceOf(key: U32): F32;
  /** The largest key of a distance within a radius, which is an f32. */
  keyWithin(radius: number): number;
  /** A coordinate as the metric sees it, for bounds of boxes. */
  readonly coordinate: (x: F32) => F32;
  /**
   * How much the key of the gap between a query and a box may exceed the key of a point in the box, in at most three
   * dimensions, because of rounding.
   */
  readonly slack: number;
  /** The key of the distance +∞. No distance has a larger key. */
  readonly farKey: number;
  /** {@link atAnyScale} in at most three dimensions. */
  readonly keyOfFew?: (a: readonly F32[], b: readonly F32[]) => U32;
  /** If the sums take ordinary coordinates only: sums for all others. They give ordinary coordinates the same keys. */
  readonly atAnyScale?: Pick<Measure, 'sums' | 'step' | 'keyOf'>;
}

/** The sums at the start, as constants of a functor. */
export function noSums(measure: Pick<Measure, 'sums'>): Sums {
  return Object.fromEntries(Object.entries(measure.sums).map(([name, type]) => [name, type(0)]));
}

/** Variables of a functor that hold the sums of a measure. */
export function sumsInVariables(measure: Pick<Measure, 'sums' | 'step'>): { now(): Sums; add(a: F32, b: F32): void } {
  const held = Object.entries(measure.sums).map(([name, type]) => [name, Var(type(0))] as const);
  const now = (): Sums => Object.fromEntries(held.map(([name, variable]) => [name, Let(variable as F32)]));
  return {
    now,
    add(a: F32, b: F32): void {
      const next = measure.step(now(), a, b);
      for (const [name, variable] of held) (variable as Variable<'f32'>).set(next[name] as F32);
    },
  };
}

export function measureOf(metric: Metric): Measure {
  switch (metric) {
    case 'l1':
      return bounded((sum, a, b) => sum.add(a.sub(b).abs()));
    case 'l2':
      return squares();
    case 'max':
      return bounded((sum, a, b) => {
        const between = a.sub(b).abs();
        // Keeps a NaN: `le` is false if `between` is NaN, and `ne` is true if `sum` is NaN.
        return select(between, sum, between.le(sum).or(sum.ne(sum)));
      });
    case 'inner':
      return product((dot) => f32(0).sub(dot));
    case 'cosine':
      return product((dot, [a, b]) => {
        const both = a.mul(b);
        return f32(1).sub(select(dot.div(both), f32(0), a.eq(0).or(b.eq(0))));
      });
    default:
      if (!isPower(metric))
        throw new ArgumentError('neighbours/metric', 'The power of the metric is not supported.', { got: metric.lp });
      return metric.lp === 1 ? measureOf('l1') : scaledPowers(metric.lp);
  }
}

/** Sums of metrics with a single one. */
const ONE_SUM = { sum: f32 };
type OneStep = (sum: F32, a: F32, b: F32) => F32;

const oneStep =
  (step: OneStep): Measure['step'] =>
  ({ sum }, a, b) => ({ sum: step(sum as F32, a, b) });

/**
 * A metric whose distances are never negative. The f32 bits of such numbers have the same order as the numbers, so the
 * bits are the key.
 */
function bounded(step: OneStep): Measure {
  return {
    sums: ONE_SUM,
    step: oneStep(step),
    keyOf: bitsOfSum,
    distanceOf: bitsToF32,
    keyWithin: bitsOf,
    coordinate: (x) => x,
    slack: 0,
    farKey: INFINITE,
  };
}

/** The bits of a sum, or of +∞ if it is NaN. As u32, the bits of every NaN exceed those of +∞. */
const bitsOfSum = ({ sum }: Sums): U32 => bitsToU32(sum as F32).min(INFINITE);

/** The bits of an f32. Those of −0 are those of 0. */
function bitsOf(x: number): number {
  return new Uint32Array(Float32Array.of(x + 0).buffer)[0]!;
}

function product(worth: (dot: F32, lengths: readonly [F32, F32]) => F32): Measure {
  const far = (INFINITE | 0x80000000) >>> 0;
  return {
    sums: ONE_SUM,
    step: oneStep((sum, a, b) => sum.add(a.mul(b))),
    keyOf: ({ sum }, lengths) => {
      // Adding 0 turns −0 into 0.
      const distance = worth(sum as F32, lengths ?? [f32(1), f32(1)]).add(0);
      return select(f32ToSortable({ x: distance }), u32(far), distance.ne(distance));
    },
    distanceOf: (key) => sortableToF32({ key }),
    keyWithin: (radius) => (radius < 0 ? ~bitsOf(radius) >>> 0 : bitsOf(radius) + 2 ** 31),
    coordinate: (x) => x,
    slack: 0,
    farKey: far,
  };
}

function squares(): Measure {
  const plain = withoutSubnormals;
  return {
    sums: ONE_SUM,
    step: oneStep((sum, a, b) => {
      const between = a.sub(b);
      return sum.add(between.mul(between));
    }),
    keyOf: ({ sum }) => keyOfSquares(sum as F32),
    orderOf: bitsOfSum,
    distanceOf: squareOfKey,
    keyWithin: keyOfSquared,
    coordinate: (x) => x,
    slack: 0,
    farKey: FAR_SQUARE,
    keyOfFew: keyOfFewSquares,
    atAnyScale: {
      sums: { sum: f32, exponent: u32 },
      step: (sums, a, b) => ({ ...addSquare(sums as unknown as Squares, plain(a), plain(b)) }),
      keyOf: (sums) => keyOfAnySquares(sums as unknown as Squares),
    },
  };
}

/** The largest error of two norms in at most three dimensions, in steps of keys, and some room. */
const SCALED_SLACK = 2 * 8 + 4;

function scaledPowers(power: number): Measure {
  return {
    sums: { max: u32, rest: f32 },
    step: (sums, a, b) => ({ ...addScaled(sums as unknown as ScaledSums, a, b, power) }),
    keyOf: (sums) => keyOfScaled(sums as unknown as ScaledSums, power),
    distanceOf: bitsToF32,
    keyWithin: bitsOf,
    coordinate: withoutSubnormals,
    slack: SCALED_SLACK,
    farKey: INFINITE,
  };
}
