import {
  ArgumentError,
  bitsToF32,
  bitsToU32,
  type F32,
  f32,
  f32ToSortable,
  select,
  sortableToF32,
  type U32,
  u32,
} from '../../primitives/index.ts';
import { type Kind, where } from '../../primitives/kinds.ts';

/**
 * Distance of two points a and b. With δ as the differences of their coordinates:
 *
 * - `l1`: Σ |δ|; `l2`: Σ δ², without the root; `{ lp }`: Σ |δ|^p for an integer p from 1 to 64, without the root, with
 *   powers multiplied from left to right; `max`: the maximum |δ|.
 * - `cosine`: 1 − a·b ÷ (|a| |b|), 1 if a vector is zero; `inner`: −a·b, so that the point with the largest product is
 *   the nearest.
 *
 * Every operation is rounded to f32, sums are added from the first dimension to the last, and −0 becomes 0. A distance
 * that is NaN becomes +∞.
 *
 * Squares and powers must stay within the range of f32: beyond 3.4e38 they are +∞, and below 1.2e-38 devices may differ.
 * For `l2`, differences from 1.1e-19 to 1e19 are safe, for `{ lp: 64 }` only those from 0.26 to 3.9. `quadrille
 * neighbours` has no such limits.
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
/** The key of a point at infinite distance, and of an empty entry. */
export const FAR_KEY: number = INFINITE;

/**
 * A metric as operations in functors. Distances are compared by keys: words that have the same order as the distances.
 */
export interface Measure {
  /** Adds the contribution of one coordinate of both vectors to the sum. */
  step(sum: F32, a: F32, b: F32): F32;
  /** Converts a final sum to a key. For `cosine`, the lengths of both vectors are given. */
  keyOf(sum: F32, lengths?: readonly [F32, F32]): U32;
  /** Converts a key back to the distance. */
  distanceOf(key: U32): F32;
  /** The key of the distance +∞. No distance has a larger key. */
  readonly farKey: number;
}

export function measureOf(metric: Metric): Measure {
  switch (metric) {
    case 'l1':
      return bounded((sum, a, b) => sum.add(a.sub(b).abs()));
    case 'l2':
      return bounded((sum, a, b) => {
        const between = a.sub(b);
        return sum.add(between.mul(between));
      });
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
      return powers(metric.lp);
  }
}

function powers(power: number): Measure {
  if (!isPower({ lp: power }))
    throw new ArgumentError('neighbours/metric', 'The power of the metric is not supported.', { got: power });
  return bounded((sum, a, b) => {
    const between = a.sub(b).abs();
    let raised = between;
    for (let p = 1; p < power; p++) raised = raised.mul(between);
    return sum.add(raised);
  });
}

/**
 * A metric whose distances are never negative. The f32 bits of such numbers have the same order as the numbers, so the
 * bits are the key.
 */
function bounded(step: Measure['step']): Measure {
  return {
    step,
    // As u32, the bits of every NaN exceed the bits of +∞.
    keyOf: (sum) => bitsToU32(sum).min(INFINITE),
    distanceOf: bitsToF32,
    farKey: FAR_KEY,
  };
}

function product(worth: (dot: F32, lengths: readonly [F32, F32]) => F32): Measure {
  const far = (INFINITE | 0x80000000) >>> 0;
  return {
    step: (sum, a, b) => sum.add(a.mul(b)),
    keyOf: (dot, lengths) => {
      // Adding 0 turns −0 into 0.
      const distance = worth(dot, lengths ?? [f32(1), f32(1)]).add(0);
      return select(f32ToSortable({ x: distance }), u32(far), distance.ne(distance));
    },
    distanceOf: (key) => sortableToF32({ key }),
    farKey: far,
  };
}
