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
 * How far points are from each other. Of the differences δ of two points, dimension by dimension:
 *
 * - `l1`: Σ |δ|; `l2`: Σ δ², which is not rooted; `{ lp }`: Σ |δ|^p for a whole p from 1 to 64, not rooted, multiplied from left to
 *   right; `max`: the greatest |δ|.
 * - `cosine`: 1 − a·b ÷ (|a| |b|), 1 where a vector is zero; `inner`: −a·b, so that the greatest product is the nearest.
 *
 * Every operation is rounded to f32, sums go from the first dimension to the last, and −0 is 0. What would be NaN is +∞.
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

/** Metrics whose distances grow with every |δ|, so that boxes bound them. */
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

/** +∞ as a word. */
const INFINITE = 0x7f800000;
/** The key of what is infinitely far away, and of no point at all. */
export const FAR_KEY: number = INFINITE;

/** A metric as operations. Distances are compared as words, which are in the order of the distances. */
export interface Measure {
  /** The next sum, of an element of each side. */
  step(sum: F32, a: F32, b: F32): F32;
  /** The word of what the sums are worth; of angles with the lengths of both vectors. */
  keyOf(sum: F32, lengths?: readonly [F32, F32]): U32;
  /** The distance that a word stands for. */
  distanceOf(key: U32): F32;
  /** Words of what is farther than everything. */
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
        // A NaN stays, on either side.
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
  if (!isPower({ lp: power })) throw new ArgumentError('neighbours/metric', 'No such power.', { got: power });
  return bounded((sum, a, b) => {
    const between = a.sub(b).abs();
    let raised = between;
    for (let p = 1; p < power; p++) raised = raised.mul(between);
    return sum.add(raised);
  });
}

/** Distances that are never below 0, whose words are in their order. */
function bounded(step: Measure['step']): Measure {
  return {
    step,
    // NaNs are above +∞, whatever their sign.
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
      // Without −0.
      const distance = worth(dot, lengths ?? [f32(1), f32(1)]).add(0);
      return select(f32ToSortable({ x: distance }), u32(far), distance.ne(distance));
    },
    distanceOf: (key) => sortableToF32({ key }),
    farKey: far,
  };
}
