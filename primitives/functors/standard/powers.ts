import { Let } from '../control.ts';
import { deviceFunction, f32, fn, i32, u32 } from '../functor.ts';
import type { F32 } from '../value.ts';
import { bitsToF32, bitsToU32, mulhi } from './bits.ts';
import { select } from './choose.ts';
import { called, isNotANumber, logParts, scaled, withSignOf } from './float-parts.ts';
import { round, sqrt, trunc } from './rounding.ts';
import { multiplyTwo, polynomial, quickTwoSum, type TwoFloats, twoProduct, twoSum } from './two-floats.ts';

const INFINITY = Number.POSITIVE_INFINITY;

const two = (hi: number, lo: number): TwoFloats => ({ hi: f32(hi), lo: f32(lo) });

/** log₂ x of a positive number, to some units of 2⁻⁴⁰. */
function log2OfPositive(x: F32): TwoFloats {
  const { k, f } = logParts(x);
  const below = twoSum(f32(2), f);
  const quotient = Let(f.div(below.hi));
  const product = twoProduct(quotient, below.hi);
  const rest = f.sub(product.hi).sub(product.lo).sub(quotient.mul(below.lo)).div(below.hi);
  // ln (1 + f) = 2 artanh s = 2 s (1 + s²/3 + s⁴/5 + …)
  const s = quickTwoSum(quotient, rest);
  const z = multiplyTwo(s, s);
  const tail = z.hi.mul(polynomial(z.hi, [1 / 5, 1 / 7, 1 / 9, 1 / 11]));
  const third = quickTwoSum(f32(0.3333333432674408), tail);
  const series = multiplyTwo(z, { hi: third.hi, lo: third.lo.add(-9.934107481068821e-9) });
  const factor = quickTwoSum(f32(1), series.hi);
  const log = multiplyTwo(s, { hi: factor.hi, lo: factor.lo.add(series.lo) });
  const log2 = multiplyTwo(log, two(2 * 1.4426950216293335, 2 * 1.925963033500011e-8));
  const sum = twoSum(k, log2.hi);
  return quickTwoSum(sum.hi, sum.lo.add(log2.lo));
}

/** 2 to the power of a number from −200 to 200, rounded nearly once. */
function exp2OfTwo({ hi, lo }: TwoFloats): F32 {
  const k = round(hi);
  const r = quickTwoSum(hi.sub(k), lo);
  const t = multiplyTwo(r, two(0.6931471824645996, -1.9046542121259336e-9));
  const tail = polynomial(
    t.hi,
    [0.5, 0.1666666716337204, 0.041666481643915176, 0.008333208039402962, 0.0013933564769104123, 0.0001994426711462438],
  );
  const q = quickTwoSum(t.hi, t.lo.add(t.hi.mul(t.hi).mul(tail)));
  const sum = quickTwoSum(f32(1), q.hi);
  return scaled(sum.hi.add(sum.lo.add(q.lo)), i32(k));
}

const power = deviceFunction('pow', { x: f32, y: f32 }, ({ x, y }) => {
  const size = Let(x.abs());
  const log = log2OfPositive(size);
  // Larger exponents give zero, one or infinity.
  const exponent = Let(y.max(-(2 ** 40)).min(2 ** 40));
  const product = twoProduct(log.hi, exponent);
  const isBeyond = product.hi.abs().ge(200);
  const hi = Let(select(product.hi, product.hi.max(-200).min(200), isBeyond));
  const lo = Let(select(product.lo.add(log.lo.mul(exponent)), f32(0), isBeyond));
  const ordinary = exp2OfTwo(quickTwoSum(hi, lo));
  const isUp = y.gt(0);
  const ofZero = select(f32(INFINITY), f32(0), isUp);
  const ofInfinity = select(f32(0), f32(INFINITY), isUp);
  const value = select(select(ordinary, ofZero, size.eq(0)), ofInfinity, size.eq(INFINITY));
  const isWhole = Let(trunc(y).eq(y));
  const isOdd = isWhole.and(y.abs().lt(2 ** 24)).and(
    i32(exponent.max(-(2 ** 30)).min(2 ** 30))
      .and(1)
      .eq(1),
  );
  const isNegative = bitsToU32(x).ge(0x80000000);
  const signed = bitsToF32(bitsToU32(value).xor(select(u32(0), u32(0x80000000), isOdd.and(isNegative))));
  const isDefined = x.ge(0).or(isWhole).or(size.eq(INFINITY)).and(y.eq(y)).and(x.eq(x));
  return select(select(f32(Number.NaN), signed, isDefined), f32(1), y.eq(0).or(x.eq(1)));
});

/**
 * x to the power of y, within 1 unit in the last place. Whole powers of whole numbers are exact where f32 has them.
 * Special cases as in IEEE 754: pow(x, 0) and pow(1, y) are 1, also for NaN, and pow(−1, ±∞) is 1; NaN where x is below 0
 * and y is not whole. Subnormal results are right or zero.
 * @example
 * const f = fn({ x: f32, y: f32 }, f32, ({ x, y }) => pow(x, y));
 * const [x, y] = [ctx.column(Float32Array.of(5, 2, -8)), ctx.column(Float32Array.of(2, 0.5, 3))];
 * await ctx.read(map(f, { x, y })); // Float32Array [25, 1.4142135381698608, -512]
 */
export function pow(x: F32, y: F32): F32 {
  return called(power, { x, y });
}

const cubeRoot = fn('cbrt', { x: f32 }, f32, ({ x }) => {
  const size = Let(x.abs());
  const [isLarge, isSmall] = [Let(size.gt(2 ** 80)), Let(size.lt(2 ** -70))];
  const scale = select(select(f32(1), f32(2 ** -60), isLarge), f32(2 ** 90), isSmall);
  const back = select(select(f32(1), f32(2 ** 20), isLarge), f32(2 ** -30), isSmall);
  const a = Let(size.mul(scale));
  // A third of the exponent; the rest of the bits give a root to 5 %.
  const first = bitsToF32(mulhi(bitsToU32(a), u32(0x55555556)).add(0x2a5137a0));
  const closer = (t: F32): F32 => {
    const cube = Let(t.mul(t).mul(t));
    return Let(t.mul(cube.add(a).add(a)).div(cube.add(cube).add(a)));
  };
  const t = closer(closer(first));
  const square = twoProduct(t, t);
  const cube = twoProduct(square.hi, t);
  const rest = a.sub(cube.hi).sub(cube.lo).sub(square.lo.mul(t));
  const root = t.add(rest.div(square.hi.mul(3))).mul(back);
  return select(x, withSignOf(root, x), size.gt(0).and(size.lt(INFINITY)));
});

/**
 * The cube root, within 1 unit in the last place; exact for cubes. cbrt ±0 = ±0.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => cbrt(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(27, -8, 2)) })); // Float32Array [3, -2, 1.2599210739135742]
 */
export function cbrt(x: F32): F32 {
  return called(cubeRoot, { x });
}

const hypotenuse = fn('hypot', { x: f32, y: f32 }, f32, ({ x, y }) => {
  const [a, b] = [x.abs(), y.abs()];
  const [large, small] = [Let(a.max(b)), Let(a.min(b))];
  const scale = select(select(f32(1), f32(2 ** -70), large.gt(2 ** 60)), f32(2 ** 100), large.lt(2 ** -50));
  const back = select(select(f32(1), f32(2 ** 70), large.gt(2 ** 60)), f32(2 ** -100), large.lt(2 ** -50));
  const [p, q] = [Let(large.mul(scale)), Let(small.mul(scale))];
  const root = sqrt(p.mul(p).add(q.mul(q))).mul(back);
  const isInfinite = a.eq(INFINITY).or(b.eq(INFINITY));
  return select(select(root, x.add(y), isNotANumber(x).or(isNotANumber(y))), f32(INFINITY), isInfinite);
});

/**
 * The square root of x² + y², within 2 units in the last place, without overflow on the way. ∞ if either is infinite, even if
 * the other is NaN.
 * @example
 * const f = fn({ x: f32, y: f32 }, f32, ({ x, y }) => hypot(x, y));
 * const [x, y] = [ctx.column(Float32Array.of(3, 1e30)), ctx.column(Float32Array.of(4, 1e30))];
 * await ctx.read(map(f, { x, y })); // Float32Array [5, 1.4142135130433894e+30]
 */
export function hypot(x: F32, y: F32): F32 {
  return called(hypotenuse, { x, y });
}
