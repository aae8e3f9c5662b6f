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
 * Orders points along a Hilbert curve. The curve is computed from the 32-bit rank of each coordinate among all f32, not
 * from the value of the coordinate. So only equal points have equal positions on the curve, even with outliers, dense
 * clusters, or coordinates of very different scales. Equal points are ordered by id. Consecutive points on the curve
 * have coordinates with common leading bits, so boxes around consecutive points are small.
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

/** The order of points along a Hilbert curve. */
export type CurveOrder = {
  /** The indices of the points, sorted along the curve. */
  readonly order: Column<'u32'>;
  /**
   * The positions of the points on the curve, ascending. A position is one large integer. Each column has one of its
   * words, highest word first.
   */
  readonly places: readonly Column<'u32'>[];
};

const planeKeys = fn('planeKeys', { i: u32, elements: array(f32) }, { lo: u32, hi: u32 }, ({ i, elements }) => {
  const [x, y] = hilbert([0, 1].map((d) => placeOf(elements.at(i.mul(2).add(d)))));
  // `mortonEncode64` puts each bit of its parameter `y` above the same bit of its parameter `x`. The bits of the first
  // axis have to be above those of the second axis, so the first axis is passed as `y`.
  return mortonEncode64({ x: y!, y: x! });
});

const spaceKeys = fn(
  'spaceKeys',
  { i: u32, elements: array(f32) },
  { lo: u32, mid: u32, hi: u32 },
  ({ i, elements }) => {
    const [x, y, z] = hilbert([0, 1, 2].map((d) => placeOf(elements.at(i.mul(3).add(d))))) as [U32, U32, U32];
    // Interleaves the bits of the axes as x₃₁ y₃₁ z₃₁ x₃₀ …, 32 bits per word.
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

/** The rank of a coordinate among all f32, as a 32-bit integer. */
function placeOf(x: F32): U32 {
  // Adding 0 turns −0 into 0, so that both have the same rank.
  return f32ToSortable({ x: x.add(0) });
}

/** Transforms coordinates so that their interleaved bits are the position on the Hilbert curve. */
function hilbert(places: readonly U32[]): U32[] {
  const axes = places.map(Var);
  const first = axes[0]!;
  For(0, 31, (round) => {
    const bit = u32(2 ** 31).shr(round);
    const below = bit.sub(1);
    for (const axis of axes) {
      const isSet = axis.and(bit).ne(0);
      const differing = first.xor(axis).and(below);
      // If `bit` is set in the coordinate `axis`, inverts the lower bits of the first axis. Otherwise exchanges the
      // lower bits of the first axis and `axis`.
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

/** Spreads the low 11 bits of a word, so that two zero bits follow each of them. */
function spread(word: U32): U32 {
  const steps = [
    [16, 0x070000ff],
    [8, 0x0700f00f],
    [4, 0x430c30c3],
    [2, 0x49249249],
  ] as const;
  return steps.reduce((spread, [by, mask]) => spread.or(spread.shl(by)).and(mask), word);
}
