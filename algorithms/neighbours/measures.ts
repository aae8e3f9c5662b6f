import {
  type Bool,
  bitsToF32,
  bitsToU32,
  type F32,
  f32,
  f32ToSortable,
  If,
  Let,
  select,
  sortableToF32,
  type U32,
  u32,
  Var,
  type Variable,
} from '../../primitives/index.ts';
import { bitsOfF32 } from '../../primitives/ir/semantics.ts';
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
  /** Converts final sums to a key. The lengths of both vectors are given if {@link needsLengths}. */
  keyOf(sums: Sums, lengths?: readonly [F32, F32]): U32;
  /** A word with the order of ordinary distances, if there is one that is found faster than the key. */
  orderOf?(sums: Sums): U32;
  /** Converts a key back to the distance. */
  distanceOf(key: U32): F32;
  /** The largest key of a distance within a radius, which is an f32. */
  limitOf(radius: number): number;
  /** The key of the distance +∞. No distance has a larger key. */
  readonly farKey: number;
  /** A lower bound of the keys of all points in a box. Absent if there is none: trees then refuse the metric. */
  readonly boundOf?: Bound;
  readonly needsLengths?: true;
  /** Whether distances are plain sums of squares, which {@link nearestByFilter} bounds by products. */
  readonly areSquares?: true;
  /** {@link atAnyScale} in at most three dimensions. */
  readonly keyOfFew?: (a: readonly F32[], b: readonly F32[]) => U32;
  /** If the sums take ordinary coordinates only: sums for all others. They give ordinary coordinates the same keys. */
  readonly atAnyScale?: Pick<Measure, 'sums' | 'step' | 'keyOf'>;
}

/** `isExtreme` says whether plain sums may leave f32. It is undefined if the measure has no others. */
type Bound = (query: readonly F32[], box: Box, isExtreme: Bool | undefined) => U32;
type Box = { readonly min: readonly F32[]; readonly max: readonly F32[] };

/** The sums at the start, as constants of a functor. */
function noSums(measure: Measure): Sums {
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

type Change = (x: F32) => F32;
const same: Change = (x) => x;

type Axes = (change: Change) => readonly [readonly F32[], readonly F32[]];

/** The key of the distance between two vectors of a few coordinates, which are those of `axes` after a change. */
export function keyOfAxes(measure: Measure, isExtreme: Bool | undefined, axes: Axes, change: Change = same): U32 {
  const [a, b] = axes(change);
  const plain = (): U32 => measure.keyOf(a.reduce((sums, x, d) => measure.step(sums, x, b[d]!), noSums(measure)));
  const { keyOfFew } = measure;
  if (isExtreme === undefined || keyOfFew === undefined) return plain();
  const key = Var(u32(0));
  If(isExtreme, () => key.set(keyOfFew(...axes(withoutSubnormals)))).Else(() => key.set(plain()));
  return Let(key as U32);
}

/**
 * Bounds by the gaps between query and box, for a metric whose distances grow with every |δ|. No point of the box is
 * nearer on any axis, and rounded operations are monotonic. So the same formula gives no point of the box a smaller
 * distance. Where a formula is not monotonic, `slack` is how much the key of the gaps may exceed the key of a point, in
 * at most three dimensions, because of rounding. `coordinate` is a coordinate as the metric sees it.
 */
export function boundedByGaps(
  measure: Measure,
  { slack = 0, coordinate = same }: { readonly slack?: number; readonly coordinate?: Change } = {},
): Measure {
  const boundOf: Bound = (query, { min, max }, isExtreme) => {
    // If a coordinate of the query is NaN, `max` ignores it, so the gap is 0.
    const gapsOf = (change: Change): F32[] =>
      query.map((given, d) => {
        const q = change(given);
        return f32(0)
          .max(change(min[d]!).sub(q))
          .max(q.sub(change(max[d]!)));
      });
    const zeros = query.map(() => f32(0));
    const key = keyOfAxes(measure, isExtreme, (change) => [gapsOf(change), zeros], coordinate);
    return slack === 0 ? key : key.max(slack).sub(slack);
  };
  return { ...measure, boundOf };
}

/** The bits of a sum, or of +∞ if it is NaN. As u32, the bits of every NaN exceed those of +∞. */
const bitsOfSum = ({ sum }: Sums): U32 => bitsToU32(sum as F32).min(INFINITE);

/** The bits of an f32. Those of −0 are those of 0. */
const bitsOf = (x: number): number => bitsOfF32(x + 0);

/** f32 that are never negative have the order of their bits, so the bits are the key. */
const BY_BITS = { distanceOf: bitsToF32, limitOf: bitsOf, farKey: INFINITE };

/** A single sum, which is never negative unless a measure has keys of its own. */
export function sumOf(step: (sum: F32, a: F32, b: F32) => F32): Measure {
  return {
    sums: { sum: f32 },
    step: ({ sum }, a, b) => ({ sum: step(sum as F32, a, b) }),
    keyOf: bitsOfSum,
    ...BY_BITS,
  };
}

export const squaredDifferences: Measure = boundedByGaps({
  ...sumOf((sum, a, b) => {
    const between = a.sub(b);
    return sum.add(between.mul(between));
  }),
  keyOf: ({ sum }) => keyOfSquares(sum as F32),
  orderOf: bitsOfSum,
  distanceOf: squareOfKey,
  limitOf: keyOfSquared,
  farKey: FAR_SQUARE,
  areSquares: true,
  keyOfFew: keyOfFewSquares,
  atAnyScale: {
    sums: { sum: f32, exponent: u32 },
    step: (sums, a, b) => ({
      ...addSquare(sums as unknown as Squares, withoutSubnormals(a), withoutSubnormals(b)),
    }),
    keyOf: (sums) => keyOfAnySquares(sums as unknown as Squares),
  },
});

/** The largest error of two norms in at most three dimensions, in steps of keys, and some room. */
const SCALED_SLACK = 2 * 8 + 4;

/** (Σ |δ|^p)^(1/p) for a power p from 2 on. */
export function scaledPowers(power: number): Measure {
  return boundedByGaps(
    {
      sums: { max: u32, rest: f32 },
      step: (sums, a, b) => ({ ...addScaled(sums as unknown as ScaledSums, a, b, power) }),
      keyOf: (sums) => keyOfScaled(sums as unknown as ScaledSums, power),
      ...BY_BITS,
    },
    { slack: SCALED_SLACK, coordinate: withoutSubnormals },
  );
}

/** A distance that depends on the inner product, and on the lengths of both vectors if they are given. */
export function productOf(worth: (dot: F32, lengths: readonly [F32, F32]) => F32): Measure {
  const far = (INFINITE | 0x80000000) >>> 0;
  return {
    ...sumOf((sum, a, b) => sum.add(a.mul(b))),
    keyOf: ({ sum }, lengths) => {
      // Adding 0 turns −0 into 0.
      const distance = worth(sum as F32, lengths ?? [f32(1), f32(1)]).add(0);
      return select(f32ToSortable({ x: distance }), u32(far), distance.ne(distance));
    },
    distanceOf: (key) => sortableToF32({ key }),
    limitOf: (radius) => (radius < 0 ? ~bitsOf(radius) >>> 0 : bitsOf(radius) + 2 ** 31),
    farKey: far,
  };
}
