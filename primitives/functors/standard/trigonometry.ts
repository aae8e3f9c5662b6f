import { If, Let, Var } from '../control.ts';
import { deviceFunction, type Functor, f32, fn, i32, u32 } from '../functor.ts';
import type { F32, U32 } from '../value.ts';
import { bitsToF32, bitsToI32, bitsToU32, mulhi } from './bits.ts';
import { select } from './choose.ts';
import { called, HALF_PI_HIGH, HALF_PI_LOW, isFiniteNumber } from './float-parts.ts';
import { round } from './rounding.ts';
import { divideTwo, multiplyTwo, polynomial, quickTwoSum, type TwoFloats, twoSum } from './two-floats.ts';

/** π/2 in parts of 8, 8, 8 and 24 bits. Products of the first three with numbers below 2¹⁶ are exact. */
const HALF_PI = [1.5703125, 0.0004825592041015625, 1.2665987014770508e-6, 9.92093629470503e-10] as const;

/** The binary digits of 2/π behind 32 zeros, in words. */
const TWO_OVER_PI = [0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe000000];

/** From here on, arguments are reduced by integers. */
const LARGE = 2 ** 16;

/** How near a multiple of π/2 may be so that what remains of the argument has enough digits. */
const NEAR = 2 ** -9;

type Reduced = { readonly quadrant: typeof u32; readonly hi: typeof f32; readonly lo: typeof f32 };

/**
 * The multiple of π/2 nearest to x, and the rest. Small arguments are reduced by parts of π/2 whose products are exact
 * (Cody and Waite 1980). Large ones, and those that leave a rest near 0, are multiplied with the digits of 2/π that count
 * (Payne and Hanek 1983).
 */
const reduced: Functor<{ readonly x: typeof f32 }, Reduced> = fn(
  'reducedAngle',
  { x: f32 },
  { quadrant: u32, hi: f32, lo: f32 },
  ({ x }) => {
    const turns = round(x.mul(2 / Math.PI));
    const [p1, p2, p3, p4] = HALF_PI;
    const nearly = x.sub(turns.mul(p1)).sub(turns.mul(p2));
    const first = twoSum(nearly, turns.mul(-p3));
    const rest = quickTwoSum(first.hi, first.lo.sub(turns.mul(p4)));
    const quadrant = Var(bitsToU32(i32(turns)).and(3));
    const [hi, lo] = [Var(rest.hi), Var(rest.lo)];
    const isNear = rest.hi.abs().lt(NEAR).and(turns.ne(0));
    If(x.abs().ge(LARGE).or(isNear), () => {
      const other = reducedByDigits(x);
      quadrant.set(other.quadrant);
      hi.set(other.hi);
      lo.set(other.lo);
    });
    return { quadrant, hi, lo };
  },
);

function reducedByDigits(x: F32): { readonly quadrant: U32 } & TwoFloats {
  const bits = bitsToU32(x);
  const exponent = Let(bits.shr(23).and(0xff));
  const significand = Let(bits.and(0x7fffff).or(0x800000));
  // The digits of 2/π of which the product with the significand is a part of a turn, from the highest that counts.
  const from = Let(exponent.sub(120));
  const at = Let(from.shr(5));
  const shift = Let(from.and(31));
  const word = (ahead: number): U32 =>
    [1, 2, 3, 4].reduce<U32>(
      (found, first) => select(found, u32(TWO_OVER_PI[first + ahead]!), at.eq(first)),
      u32(TWO_OVER_PI[ahead]!),
    );
  const words = [0, 1, 2, 3].map((ahead) => Let(word(ahead)));
  const digits = [0, 1, 2].map((place) => {
    const carried = words[place + 1]!.shr(1).shr(u32(31).sub(shift));
    return Let(words[place]!.shl(shift).or(carried));
  });
  const low = Let(digits[2]!.mul(significand));
  const middle = Let(digits[1]!.mul(significand).add(mulhi(digits[2]!, significand)));
  const carry = select(u32(0), u32(1), middle.lt(mulhi(digits[2]!, significand)));
  const high = Let(digits[0]!.mul(significand).add(mulhi(digits[1]!, significand)).add(carry));
  // The upper two bits count quarters of a turn. What is more than half a quarter counts from the next one.
  const quarter = Let(high.add(0x20000000).shr(30));
  const over = Let(high.sub(quarter.shl(30)));
  const isBelow = Let(over.ge(0x80000000));
  const turn = select(u32(0), u32(2 ** 32 - 1), isBelow);
  const part = [over, middle, low].map((word) => word.xor(turn));
  // Few digits before those of the second word: begins with them.
  const isShort = Let(part[0]!.lt(64));
  const upper = Let(select(part[0]!, part[0]!.shl(26).or(part[1]!.shr(6)), isShort));
  const lower = Let(select(part[1]!, part[1]!.shl(26).or(part[2]!.shr(6)), isShort));
  const sum = quickTwoSum(f32(upper.shr(8)).mul(256), f32(upper.and(0xff).shl(16).or(lower.shr(16))).mul(2 ** -16));
  const whole = quickTwoSum(sum.hi, sum.lo.add(f32(lower.and(0xffff)).mul(2 ** -32)));
  const angle = multiplyTwo(whole, { hi: f32(HALF_PI_HIGH), lo: f32(HALF_PI_LOW) });
  const isNegative = Let(x.lt(0));
  const scale = select(f32(2 ** -30), f32(2 ** -56), isShort);
  const unit = select(scale, scale.neg(), isBelow.ne(isNegative));
  return {
    quadrant: select(quarter, u32(0).sub(quarter), isNegative).and(3),
    hi: angle.hi.mul(unit),
    lo: angle.lo.mul(unit),
  };
}

/** sin r − r. */
function sineRest({ hi, lo }: TwoFloats): F32 {
  const z = hi.mul(hi);
  const tail = polynomial(z, [-0.16666653752326965, 0.008332105353474617, -0.00019507593242451549]);
  return hi
    .mul(z)
    .mul(tail)
    .add(lo.sub(z.mul(lo.mul(0.5))));
}

/** cos r, as a sum of two. */
function cosineTerms({ hi, lo }: TwoFloats): TwoFloats {
  const z = Let(hi.mul(hi));
  const half = z.mul(0.5);
  const near = f32(1).sub(half);
  const tail = polynomial(z, [0.04166664555668831, -0.0013887302484363317, 2.4430881239823066e-5]);
  const rest = f32(1).sub(near).sub(half).add(z.mul(z).mul(tail)).sub(hi.mul(lo));
  return { hi: near, lo: rest };
}

/**
 * The sine and the cosine of the middle of part `word` of 2³² equal parts of a turn. Neither is 0: no part has its middle
 * on an axis.
 */
export function turned(word: U32): { readonly sine: F32; readonly cosine: F32 } {
  const quadrant = Let(word.add(2 ** 29).shr(30));
  const rest = bitsToI32(word.sub(quadrant.shl(30)));
  const angle = {
    hi: Let(
      f32(rest)
        .add(0.5)
        .mul(2 * Math.PI * 2 ** -32),
    ),
    lo: f32(0),
  };
  const near = angle.hi.add(sineRest(angle));
  const { hi, lo } = cosineTerms(angle);
  const far = hi.add(lo);
  const isOdd = quadrant.and(1).eq(1);
  return {
    sine: withSignBit(select(near, far, isOdd), quadrant),
    cosine: withSignBit(select(far, near, isOdd), quadrant.add(1)),
  };
}

/** A number, negated if bit 1 of a word is set. */
function withSignBit(x: F32, word: U32): F32 {
  return bitsToF32(bitsToU32(x).xor(word.and(2).shl(30)));
}

function sineOf(x: F32, quadrantsMore: number): F32 {
  const { quadrant, hi, lo } = reduced({ x });
  const place = quadrant.add(quadrantsMore);
  const sine = hi.add(sineRest({ hi, lo }));
  const cosine = cosineTerms({ hi, lo });
  const value = select(sine, cosine.hi.add(cosine.lo), place.and(1).eq(1));
  return withSignBit(value, place);
}

const sine = deviceFunction('sin', { x: f32 }, ({ x }) => {
  const value = sineOf(x, 0);
  return select(select(value, x, x.eq(0)), f32(Number.NaN), isFiniteNumber(x).not());
});

/**
 * The sine of x in radians, within 1 unit in the last place for all numbers: large ones are reduced by all digits of π that
 * count. sin ±0 = ±0; NaN for infinities.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => sin(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(0, 1, 1e22)) })); // Float32Array [0, 0.8414709568023682, -0.7340815663337708]
 */
export function sin(x: F32): F32 {
  return called(sine, { x });
}

const cosine = deviceFunction('cos', { x: f32 }, ({ x }) =>
  select(sineOf(x, 1), f32(Number.NaN), isFiniteNumber(x).not()),
);

/**
 * The cosine of x in radians, within 1 unit in the last place for all numbers, as {@link sin}; NaN for infinities.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => cos(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(0, 1)) })); // Float32Array [1, 0.5403022766113281]
 */
export function cos(x: F32): F32 {
  return called(cosine, { x });
}

const tangent = deviceFunction('tan', { x: f32 }, ({ x }) => {
  const { quadrant, hi, lo } = reduced({ x });
  const cosine = cosineTerms({ hi, lo });
  const [a, b] = [quickTwoSum(hi, sineRest({ hi, lo })), quickTwoSum(cosine.hi, cosine.lo)];
  const isOdd = Let(quadrant.and(1).eq(1));
  const above = { hi: select(a.hi, b.hi, isOdd), lo: select(a.lo, b.lo, isOdd) };
  const below = { hi: select(b.hi, a.hi.neg(), isOdd), lo: select(b.lo, a.lo.neg(), isOdd) };
  const value = divideTwo(above, below);
  return select(select(value, x, x.abs().lt(2 ** -13)), f32(Number.NaN), isFiniteNumber(x).not());
});

/**
 * The tangent of x in radians, within 2 units in the last place for all numbers, as {@link sin}; tan ±0 = ±0; NaN for
 * infinities.
 * @example
 * const f = fn({ x: f32 }, f32, ({ x }) => tan(x));
 * await ctx.read(map(f, { x: ctx.column(Float32Array.of(0, 1)) })); // Float32Array [0, 1.557407736778259]
 */
export function tan(x: F32): F32 {
  return called(tangent, { x });
}
