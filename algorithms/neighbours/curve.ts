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
 * The order of points along Hilbert's curve through all numbers of f32: not through their values but through their places in the
 * order of all f32, with all 32 bits. So whatever the scale of points, far ones among them or many in a small place, only equal
 * points have equal places on the curve, and these are in the order of their ids. Points that follow each other lie together:
 * their coordinates agree in the bits in front, and boxes around them are small.
 *
 * Source: Skilling, Programming the Hilbert Curve, 2004; Connor and Kumar, Fast Construction of k-Nearest Neighbor Graphs for Point
 * Clouds, 2010, for the bits of floating point numbers.
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
  /** Which point it is, for every place in the order. */
  readonly order: Column<'u32'>;
  /** Where it is on the curve: the words of a number, highest first. */
  readonly places: readonly Column<'u32'>[];
};

const planeKeys = fn('planeKeys', { i: u32, elements: array(f32) }, { lo: u32, hi: u32 }, ({ i, elements }) => {
  const [x, y] = hilbert([0, 1].map((d) => placeOf(elements.at(i.mul(2).add(d)))));
  // Bits of y are the higher ones there.
  return mortonEncode64({ x: y!, y: x! });
});

const spaceKeys = fn(
  'spaceKeys',
  { i: u32, elements: array(f32) },
  { lo: u32, mid: u32, hi: u32 },
  ({ i, elements }) => {
    const [x, y, z] = hilbert([0, 1, 2].map((d) => placeOf(elements.at(i.mul(3).add(d))))) as [U32, U32, U32];
    // Bits x₃₁ y₃₁ z₃₁ x₃₀ …, 32 of them a word.
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

/** The place of a number in the order of all f32. */
function placeOf(x: F32): U32 {
  // Without −0, which is no other number than 0.
  return f32ToSortable({ x: x.add(0) });
}

/** The coordinates along the curve, whose bits in turn are the place on it. */
function hilbert(places: readonly U32[]): U32[] {
  const axes = places.map(Var);
  const first = axes[0]!;
  For(0, 31, (round) => {
    const bit = u32(2 ** 31).shr(round);
    const below = bit.sub(1);
    for (const axis of axes) {
      const isSet = axis.and(bit).ne(0);
      const differing = first.xor(axis).and(below);
      // Where the bit is set, the bits below are mirrored on the first axis; else they are exchanged with it.
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

/** The low 11 bits of a word, two others behind each but the first. */
function spread(word: U32): U32 {
  const steps = [
    [16, 0x070000ff],
    [8, 0x0700f00f],
    [4, 0x430c30c3],
    [2, 0x49249249],
  ] as const;
  return steps.reduce((spread, [by, mask]) => spread.or(spread.shl(by)).and(mask), word);
}
