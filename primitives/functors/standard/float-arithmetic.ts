import { Let, Var, While } from '../control.ts';
import { deviceFunction, f32, fn, i32, u32 } from '../functor.ts';
import type { F32, I32, U32 } from '../value.ts';
import { bitsToF32, bitsToI32, bitsToU32, clz, mulhi } from './bits.ts';
import { select } from './choose.ts';
import { called, isFiniteNumber, scaled, withSignOf } from './float-parts.ts';
import { floor } from './rounding.ts';

/**
 * x less the largest whole number at or below it: from 0 to the largest number below 1, never 1. NaN for infinities.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => fract(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(1.25, -0.25, -1e-8)) })); // Float32Array [0.25, 0.75, 0.9999999403953552]
 */
export function fract(x: F32): F32 {
  return called(fraction, { x });
}

const fraction = deviceFunction('fract', { x: f32 }, ({ x }) => {
  const part = Let(x.sub(floor(x)));
  return select(part, f32(1 - 2 ** -24), part.ge(1));
});

/**
 * 1 above 0, −1 below 0, and x itself for zeros and NaN.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => sign(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(5, -0.5, -0)) })); // Float32Array [1, -1, -0]
 */
export function sign(x: F32): F32 {
  return called(signum, { x });
}

const signum = deviceFunction('sign', { x: f32 }, ({ x }) => select(select(x, f32(1), x.gt(0)), f32(-1), x.lt(0)));

/**
 * a · (1 − t) + b · t, each operation rounded: exactly a for t = 0, and exactly b for t = 1, if both are finite.
 * @example
 * const f = fn({ t: f32 }, f32, ({ t }) => mix(f32(2 ** 24), f32(0.1), t));
 * await ctx.read(map(f, { t: ctx.column(Float32Array.of(0, 1)) })); // Float32Array [16777216, 0.10000000149011612]
 */
export function mix(a: F32, b: F32, t: F32): F32 {
  return called(mixture, { a, b, t });
}

const mixture = deviceFunction('mix', { a: f32, b: f32, t: f32 }, ({ a, b, t }) => {
  const rest = Let(f32(1).sub(t));
  const [p, q] = [Let(a.mul(rest)), Let(b.mul(t))];
  // Where the sum is normal, a product may be subnormal, which devices take for 0.
  const isSmall = p
    .abs()
    .lt(2 ** -60)
    .and(q.abs().lt(2 ** -60));
  const larger = (x: F32, y: F32): F32 => {
    const isLess = x.abs().lt(y.abs());
    return select(x, x.mul(2 ** 64), isLess).mul(select(y.mul(2 ** 64), y, isLess));
  };
  return select(
    p.add(q),
    larger(a, rest)
      .add(larger(b, t))
      .mul(2 ** -64),
    isSmall,
  );
});

interface Decoded {
  /** The significand, a whole number below 2²⁴. */
  readonly significand: U32;
  /** The number is the significand times 2^(exponent − 150). */
  readonly exponent: I32;
}

function decoded(x: F32): Decoded {
  const bits = Let(bitsToU32(x));
  const exponent = Let(bits.shr(23).and(0xff));
  const implicit = select(u32(0x800000), u32(0), exponent.eq(0));
  return {
    significand: Let(bits.and(0x7fffff).or(implicit)),
    exponent: bitsToI32(exponent.max(1)),
  };
}

/** An integer of three words, lowest first. */
type Words = readonly [U32, U32, U32];

/** Shifts an integer of three words, of which the last is 0 below, left by 0 to 95. */
function shiftedUp([a, b]: readonly [U32, U32], by: U32): Words {
  const bits = Let(by.and(31));
  const over = (low: U32): U32 => low.shr(1).shr(u32(31).sub(bits));
  const [x, y, z] = [Let(a.shl(bits)), Let(b.shl(bits).or(over(a))), Let(over(b))];
  const words = by.shr(5);
  const [isOne, isTwo] = [Let(words.eq(1)), Let(words.ge(2))];
  const none = u32(0);
  return [
    Let(select(select(x, none, isOne), none, isTwo)),
    Let(select(select(y, x, isOne), none, isTwo)),
    Let(select(select(z, y, isOne), x, isTwo)),
  ];
}

/** Shifts right by 0 to 95. The lowest bit of the result is also set if any bit was lost. */
function shiftedDown([a, b, c]: Words, by: U32): Words {
  const bits = Let(by.and(31));
  const under = (high: U32): U32 => high.shl(1).shl(u32(31).sub(bits));
  const lostIn = (word: U32): U32 => word.and(u32(1).shl(bits).sub(1));
  const [x, y, z] = [Let(a.shr(bits).or(under(b))), Let(b.shr(bits).or(under(c))), Let(c.shr(bits))];
  const words = by.shr(5);
  const [isOne, isTwo] = [Let(words.eq(1)), Let(words.ge(2))];
  const lost = select(select(lostIn(a), a.or(lostIn(b)), isOne), a.or(b).or(lostIn(c)), isTwo);
  const none = u32(0);
  const low = select(select(x, y, isOne), z, isTwo);
  return [
    Let(low.or(select(none, u32(1), lost.ne(0)))),
    Let(select(select(y, z, isOne), none, isTwo)),
    Let(select(select(z, none, isOne), none, isTwo)),
  ];
}

const fused = deviceFunction('fma', { a: f32, b: f32, c: f32 }, ({ a, b, c }) => {
  const [p, q, r] = [decoded(a), decoded(b), decoded(c)];
  const product = [Let(p.significand.mul(q.significand)), Let(mulhi(p.significand, q.significand))] as const;
  const isProduct = product[0].or(product[1]).ne(0);
  // How far the lowest bit of c is above that of the product.
  const ahead = Let(
    select(r.exponent.sub(p.exponent).sub(q.exponent).add(150).max(-56), i32(-56), r.significand.eq(0)),
  );
  // Beyond 50, the product only decides whether the sum is more or less than c.
  const isFar = Let(ahead.gt(50));
  const distance = Let(ahead.min(50));
  const base = Let(select(i32(0), i32(32), distance.le(16)));
  const low = select(product[0], select(u32(0), u32(1), isProduct), isFar);
  const high = select(product[1], u32(0), isFar);
  const isBased = base.eq(32);
  const terms: Words = [select(low, u32(0), isBased), select(high, low, isBased), select(u32(0), high, isBased)];
  const shift = Let(base.add(distance));
  const up = shiftedUp([r.significand, u32(0)], bitsToU32(shift.max(0)));
  const down = shiftedDown([r.significand, u32(0), u32(0)], bitsToU32(shift.min(0).neg()));
  const added = up.map((word, at) => Let(select(word, down[at]!, shift.lt(0)))) as unknown as Words;
  const sign = Let(bitsToU32(a).xor(bitsToU32(b)).and(0x80000000));
  const turn = Let(select(u32(0), u32(2 ** 32 - 1), sign.ne(bitsToU32(c).and(0x80000000))));
  const sum = plus(terms, added.map((word) => word.xor(turn)) as unknown as Words, turn.and(1));
  // A difference below 0 is negated, and has the sign of c.
  const isBelow = Let(turn.ne(0).and(sum[2].ge(0x80000000)));
  const over = select(u32(0), u32(2 ** 32 - 1), isBelow);
  const whole = plus(sum.map((word) => word.xor(over)) as unknown as Words, [u32(0), u32(0), u32(0)], over.and(1));
  const [x, y, z] = whole;
  const last = select(select(u32(31).sub(clz(x)), u32(63).sub(clz(y)), y.ne(0)), u32(95).sub(clz(z)), z.ne(0));
  // The number is the whole times 2^unit.
  const unit = Let(select(p.exponent.add(q.exponent).sub(300), r.exponent.sub(150).sub(distance), isFar).sub(base));
  const dropped = Let(bitsToI32(last).sub(23).max(i32(-149).sub(unit)).min(90));
  // Two bits more than the significand has, of which the lower also stands for all bits below.
  const kept = shiftedDown(whole, bitsToU32(dropped.sub(2).max(0)));
  const few = shiftedUp([x, y], bitsToU32(dropped.sub(2).min(0).neg()));
  const bits = Let(select(kept[0], few[0], dropped.lt(2)));
  const significand = Let(bits.shr(2).add(select(u32(0), u32(1), bits.and(3).add(bits.shr(2).and(1)).gt(2))));
  const exponent = Let(dropped.add(unit).add(149));
  const size = bitsToU32(exponent.max(0)).shl(23).add(significand).min(0x7f800000);
  const result = bitsToF32(size.or(select(sign, sign.not().and(0x80000000), isBelow)));
  const isOverflow = exponent.gt(253).and(significand.ge(0x800000));
  const infinite = bitsToF32(u32(0x7f800000).or(sign));
  const isOrdinary = isProduct
    .and(isFiniteNumber(a))
    .and(isFiniteNumber(b))
    .and(isFiniteNumber(c))
    .and(x.or(y).or(z).ne(0));
  // The product may overflow, but does not turn an infinite c into NaN.
  const isProductFinite = isFiniteNumber(a).and(isFiniteNumber(b));
  const special = select(a.mul(b).add(c), c, isProductFinite.and(isFiniteNumber(c).not()));
  return select(special, select(result, infinite, isOverflow), isOrdinary);
});

function plus(a: Words, b: Words, carryIn: U32): Words {
  let carry = carryIn;
  return a.map((word, at) => {
    const sum = Let(word.add(b[at]!));
    const whole = Let(sum.add(carry));
    carry = Let(select(u32(0), u32(1), sum.lt(word).or(whole.lt(sum))));
    return whole;
  }) as unknown as Words;
}

/**
 * a · b + c, rounded once, also where the device fuses nothing: all operations are on integers. So it takes some ten times as
 * long as a product and a sum. Zeros and infinities as in IEEE 754. If the product is 0, the result is the sum of both.
 * @example
 * const f = fn({ a: f32, c: f32 }, { rounded: f32, fused: f32 }, ({ a, c }) => ({
 *   rounded: a.mul(a).add(c),
 *   fused: fma(a, a, c),
 * }));
 * const [a, c] = [1 + 2 ** -12, -1 - 2 ** -11].map((x) => ctx.column(Float32Array.of(x)));
 * await ctx.read(map(f, { a, c })); // { rounded: Float32Array [0], fused: Float32Array [5.960464477539063e-8] }
 */
export function fma(a: F32, b: F32, c: F32): F32 {
  return called(fused, { a, b, c });
}

const rest = fn('remainder', { x: f32, y: f32 }, f32, ({ x, y }) => {
  const [a, b] = [decoded(x), decoded(y)];
  const divisor = Let(b.significand.max(1));
  const remaining = Var(a.significand.rem(divisor));
  const ahead = Var(a.exponent.sub(b.exponent));
  While(
    () => ahead.gt(0),
    () => {
      const step = Let(ahead.min(8));
      remaining.set(remaining.shl(bitsToU32(step)).rem(divisor));
      ahead.set(ahead.sub(step));
    },
  );
  const size = scaled(f32(remaining), b.exponent.sub(150));
  const signed = withSignOf(size, x);
  const isDefined = isFiniteNumber(x).and(y.ne(0)).and(y.eq(y));
  return select(f32(Number.NaN), select(signed, x, x.abs().lt(y.abs())), isDefined);
});

/**
 * What remains of x after division by y, truncated, with the sign of x, as `%` in JavaScript: exact, however large x / y is.
 * NaN if y is 0 or x is infinite; x if y is infinite. Work O(log(x / y)).
 * @example
 * const f = fn({ x: f32, y: f32 }, f32, ({ x, y }) => remainder(x, y));
 * const [x, y] = [ctx.column(Float32Array.of(5.5, -7, 1e30)), ctx.column(Float32Array.of(2, 3, 3))];
 * await ctx.read(map(f, { x, y })); // Float32Array [1.5, -1, 0.0]
 */
export function remainder(x: F32, y: F32): F32 {
  return called(rest, { x, y });
}
