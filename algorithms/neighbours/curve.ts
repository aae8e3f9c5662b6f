import {
  array,
  type Column,
  type Context,
  type F32,
  For,
  f32,
  f32ToSortable,
  fn,
  gather,
  Let,
  map,
  mortonEncode64,
  select,
  sequence,
  sortByKey,
  type U32,
  u32,
  Var,
} from '../../primitives/index.ts';
import type { Points } from './points.ts';

/**
 * Orders points along a Hilbert curve. Coordinates are not used by value but by their 32-bit rank among all f32. So at
 * any scale, with outliers or dense clusters, only equal points have equal places on the curve; these are ordered by
 * id. Points that follow each other have common leading bits, so boxes around runs of points are small.
 *
 * Source: Skilling, Programming the Hilbert Curve, 2004; Connor and Kumar, Fast Construction of k-Nearest Neighbor
 * Graphs for Point Clouds, 2010, for the bits of floating point numbers.
 */
export function curveOrder(context: Context, { elements, dimensions }: Points, count: number): CurveOrder {
  return context.scope(() => {
    if (dimensions === 2) {
      const keys = context.materialize(map(planeKeys, { i: sequence(count), elements }));
      const sorted = sortByKey(keys, sequence(count));
      return { order: sorted.values, places: [sorted.keys.hi, sorted.keys.lo] };
    }
    const { lo, mid, hi } = context.materialize(map(spaceKeys, { i: sequence(count), elements }));
    const byLast = sortByKey(lo, { order: sequence(count) }).values.order;
    const sorted = sortByKey(gather({ lo: mid, hi }, byLast), byLast);
    const last = context.materialize(gather(lo, sorted.values));
    return { order: sorted.values, places: [sorted.keys.hi, sorted.keys.lo, last] };
  });
}

/** Points in the order of the curve. */
export type CurveOrder = {
  /** The index of the point at every place in the order. */
  readonly order: Column<'u32'>;
  /** The place of each point on the curve, as the words of a number, highest first. */
  readonly places: readonly Column<'u32'>[];
};

const planeKeys = fn('planeKeys', { i: u32, elements: array(f32) }, { lo: u32, hi: u32 }, ({ i, elements }) => {
  const [x, y] = hilbert([0, 1].map((d) => placeOf(elements.at(i.mul(2).add(d)))));
  // The bits of y are the higher ones in the code.
  return mortonEncode64({ x: y!, y: x! });
});

const spaceKeys = fn(
  'spaceKeys',
  { i: u32, elements: array(f32) },
  { lo: u32, mid: u32, hi: u32 },
  ({ i, elements }) => {
    const [x, y, z] = hilbert([0, 1, 2].map((d) => placeOf(elements.at(i.mul(3).add(d))))) as [U32, U32, U32];
    // Interleaves bits to x₃₁ y₃₁ z₃₁ x₃₀ …, 32 per word.
    return {
      hi: spread(x.shr(21))
        .shl(1)
        .or(spread(y.shr(21)))
        .or(spread(z.shr(22)).shl(2)),
      mid: spread(z.shr(11).and(0x7ff))
        .shl(1)
        .or(spread(x.shr(10).and(0x7ff)))
        .or(spread(y.shr(11).and(0x3ff)).shl(2)),
      lo: spread(y.and(0x7ff))
        .shl(1)
        .or(spread(z.and(0x7ff)))
        .or(spread(x.and(0x3ff)).shl(2)),
    };
  },
);

/** The rank of a number among all f32. */
function placeOf(x: F32): U32 {
  // Adding 0 turns −0 into 0.
  return f32ToSortable({ x: x.add(0) });
}

/** The transposed coordinates on the Hilbert curve. Their interleaved bits are the place on the curve. */
function hilbert(places: readonly U32[]): U32[] {
  const axes = places.map(Var);
  const first = axes[0]!;
  For(0, 31, (round) => {
    const bit = u32(2 ** 31).shr(round);
    const below = bit.sub(1);
    for (const axis of axes) {
      const isSet = axis.and(bit).ne(0);
      const differing = first.xor(axis).and(below);
      // If the bit is set, mirrors the lower bits of the first axis; otherwise exchanges them with those of this axis.
      const [own, other] = [
        Let(first.xor(select(differing, below, isSet))),
        Let(axis.xor(select(differing, u32(0), isSet))),
      ];
      if (axis === first) first.set(select(first as U32, own, isSet));
      else {
        first.set(own);
        axis.set(other);
      }
    }
  });
  for (const [k, axis] of axes.entries()) if (k > 0) axis.set(axis.xor(axes[k - 1]!));
  const mirrored = Var(u32(0));
  const last = axes.at(-1)!;
  For(0, 31, (round) => {
    const bit = u32(2 ** 31).shr(round);
    mirrored.set(mirrored.xor(select(u32(0), bit.sub(1), last.and(bit).ne(0))));
  });
  return axes.map((axis) => Let(axis.xor(mirrored)));
}

/** Spreads the low 11 bits of a word, with two zero bits between neighbours. */
function spread(word: U32): U32 {
  const steps = [
    [16, 0x070000ff],
    [8, 0x0700f00f],
    [4, 0x430c30c3],
    [2, 0x49249249],
  ] as const;
  return steps.reduce((spread, [by, mask]) => spread.or(spread.shl(by)).and(mask), word);
}
