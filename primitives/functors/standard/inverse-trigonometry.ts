import { Let } from '../control.ts';
import { deviceFunction, f32 } from '../functor.ts';
import type { F32 } from '../value.ts';
import { bitsToU32 } from './bits.ts';
import { select } from './choose.ts';
import { called, HALF_PI_HIGH, HALF_PI_LOW, isNotANumber, withSignOf } from './float-parts.ts';
import { sqrt } from './rounding.ts';
import { divideTwo, polynomial, twoProduct, twoSum } from './two-floats.ts';

/** (asin t − t) / t for t² = z up to a quarter. */
function asinTail(z: F32): F32 {
  return z.mul(
    polynomial(
      z,
      [0.16666755080223083, 0.07495191693305969, 0.045483820140361786, 0.024112332612276077, 0.042281873524188995],
    ),
  );
}

/** For |x| from a half to 1: the square root of (1 − |x|) / 2, with what it lacks, and its square. */
function halfAngle(size: F32): { readonly root: F32; readonly lost: F32; readonly square: F32 } {
  const square = Let(f32(1).sub(size).mul(0.5));
  const root = Let(sqrt(square));
  const { hi, lo } = twoProduct(root, root);
  const lost = square
    .sub(hi)
    .sub(lo)
    .div(root.mul(2).max(2 ** -100));
  return { root, lost, square };
}

const arcSine = deviceFunction('asin', { x: f32 }, ({ x }) => {
  const size = Let(x.abs());
  const near = x.add(x.mul(asinTail(x.mul(x))));
  const { root, lost, square } = halfAngle(size);
  const rest = root.mul(asinTail(square)).add(lost);
  const far = f32(HALF_PI_HIGH).sub(root.mul(2)).sub(rest.mul(2).sub(HALF_PI_LOW));
  return select(withSignOf(far, x), near, size.le(0.5));
});

/**
 * The angle from −π/2 to π/2 whose sine is x, within 2 units in the last place; NaN beyond ±1.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => asin(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(0.5, 1, 2)) })); // Float32Array [0.5235987901687622, 1.5707963705062866, NaN]
 */
export function asin(x: F32): F32 {
  return called(arcSine, { x });
}

const arcCosine = deviceFunction('acos', { x: f32 }, ({ x }) => {
  const size = Let(x.abs());
  const near = f32(HALF_PI_HIGH).sub(x.sub(f32(HALF_PI_LOW).sub(x.mul(asinTail(x.mul(x))))));
  const { root, lost, square } = halfAngle(size);
  const rest = Let(root.mul(asinTail(square)).add(lost));
  const far = root.add(rest).mul(2);
  const beyond = f32(2 * HALF_PI_HIGH)
    .sub(root.mul(2))
    .sub(rest.mul(2).sub(2 * HALF_PI_LOW));
  return select(select(far, beyond, x.lt(0)), near, size.le(0.5));
});

/**
 * The angle from 0 to π whose cosine is x, within 2 units in the last place; NaN beyond ±1.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => acos(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(1, 0, -1)) })); // Float32Array [0, 1.5707963705062866, 3.1415927410125732]
 */
export function acos(x: F32): F32 {
  return called(arcCosine, { x });
}

/** atan t for t up to tan(π/8), and `more`. */
function atanOf(t: F32, high: F32, low: F32): F32 {
  const z = Let(t.mul(t));
  const tail = polynomial(
    z,
    [-0.3333331346511841, 0.199983611702919, -0.14241349697113037, 0.10576958954334259, -0.0603383332490921],
  );
  return high.add(t.add(t.mul(z).mul(tail).add(low)));
}

const TAN_EIGHTH = 0.41421356237309503;

const arcTangent = deviceFunction('atan', { x: f32 }, ({ x }) => {
  const size = Let(x.abs().min(2 ** 60));
  const isFar = Let(size.gt(1 / TAN_EIGHTH));
  const isMiddle = Let(size.gt(TAN_EIGHTH));
  const [less, more] = [twoSum(size, f32(-1)), twoSum(size, f32(1))];
  const above = { hi: select(less.hi, f32(-1), isFar), lo: select(less.lo, f32(0), isFar) };
  const below = { hi: select(more.hi, size, isFar), lo: select(more.lo, f32(0), isFar) };
  const t = select(size, divideTwo(above, below), isMiddle);
  const high = select(select(f32(0), f32(HALF_PI_HIGH / 2), isMiddle), f32(HALF_PI_HIGH), isFar);
  const low = select(select(f32(0), f32(HALF_PI_LOW / 2), isMiddle), f32(HALF_PI_LOW), isFar);
  return select(withSignOf(atanOf(t, high, low), x), x, isNotANumber(x));
});

/**
 * The angle from −π/2 to π/2 whose tangent is x, within 2 units in the last place; ±π/2 for infinities.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => atan(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(0, 1, Infinity)) })); // Float32Array [0, 0.7853981852531433, 1.5707963705062866]
 */
export function atan(x: F32): F32 {
  return called(arcTangent, { x });
}

const arcTangent2 = deviceFunction('atan2', { y: f32, x: f32 }, ({ y, x }) => {
  const [up, across] = [Let(y.abs()), Let(x.abs())];
  const isSteep = Let(up.gt(across));
  const [small, large] = [Let(up.min(across)), Let(up.max(across))];
  // Both are infinite: as if both were 1.
  const ratio = select(small.div(large), f32(1), small.eq(Number.POSITIVE_INFINITY));
  const t0 = Let(select(ratio, f32(0), large.eq(0)));
  const isMiddle = Let(t0.gt(TAN_EIGHTH));
  const isScaled = Let(large.gt(2 ** 80));
  const scale = select(select(f32(1), f32(2 ** -60), isScaled), f32(2 ** 80), large.lt(2 ** -60));
  const [a, b] = [small.mul(scale), large.mul(scale)];
  const turned = select(divideTwo(twoSum(a, b.neg()), twoSum(a, b)), f32(0), small.eq(Number.POSITIVE_INFINITY));
  const t = select(t0, turned, isMiddle);
  const eighth = atanOf(
    t,
    select(f32(0), f32(HALF_PI_HIGH / 2), isMiddle),
    select(f32(0), f32(HALF_PI_LOW / 2), isMiddle),
  );
  const quarter = Let(select(eighth, f32(HALF_PI_HIGH).sub(eighth.sub(HALF_PI_LOW)), isSteep));
  const isLeft = bitsToU32(x).ge(0x80000000);
  const half = select(quarter, f32(2 * HALF_PI_HIGH).sub(quarter.sub(2 * HALF_PI_LOW)), isLeft);
  return select(select(withSignOf(half, y), x, isNotANumber(x)), y, isNotANumber(y));
});

/**
 * The angle from −π to π of the point (x, y), within 2 units in the last place. Zeros and infinities count as in
 * `Math.atan2`: atan2(±0, −0) = ±π, atan2(±0, +0) = ±0.
 * @example
 * const f = fn({ y: f32, x: f32 }, f32, ({ y, x }) => atan2(y, x));
 * const [y, x] = [ctx.column(Float32Array.of(1, 0, -1)), ctx.column(Float32Array.of(1, -1, 0))];
 * await ctx.read(map(f, { y, x })); // Float32Array [0.7853981852531433, 3.1415927410125732, -1.5707963705062866]
 */
export function atan2(y: F32, x: F32): F32 {
  return called(arcTangent2, { y, x });
}
