import { For, Let, Var } from '../../primitives/functors/control.ts';
import { type Functor, fn, i32, u32, u64 } from '../../primitives/functors/functor.ts';
import { bitsToI32, bitsToU32, clz } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type {
  I32Shape,
  OneOperand,
  TwoOperands,
  U32Shape,
  U64Shape,
} from '../../primitives/functors/standard/shapes.ts';
import {
  absI64,
  add64,
  eq64,
  ltU64,
  shl64,
  shrU64,
  sub64,
  type U64,
  u64OfU32,
} from '../../primitives/functors/standard/wide.ts';
import { mulU64 } from '../../primitives/functors/standard/wide-products.ts';
import type { Bool, I32, U32 } from '../../primitives/functors/value.ts';

/*
 * Arithmetic of IEEE 754 on the bits of numbers, with integers alone: WGSL has no f64, and devices may flush subnormal
 * f32 numbers to zero. All results are rounded to the nearest number, ties to even, and subnormal numbers are kept, so
 * they are those of JavaScript's + − × /, on every backend. A NaN may have other bits than JavaScript's.
 *
 * A finite number is unpacked to `significand · 2^(exponent − bias − 63)`. The significand has 64 bits, of which the
 * highest is set unless the number is zero.
 */

const SIGN = 0x80000000;
const F32_BIAS = 127;
const F64_BIAS = 1023;
const F32_INFINITY = 0x7f800000;
const F64_INFINITY = 0x7ff00000;
const F64_NAN = 0x7ff80000;

const two: TwoOperands<U64Shape> = { a: u64, b: u64 };
const unpackedNumber: Unpacked = { sign: u32, exponent: i32, significand: u64 };
type Unpacked = { readonly sign: U32Shape; readonly exponent: I32Shape; readonly significand: U64Shape };

/** The bits of the f64 nearest to an unpacked number whose exponent has the bias of f64. */
const roundF64: Functor<Unpacked, U64Shape> = fn('roundF64', unpackedNumber, u64, ({ sign, exponent, significand }) => {
  const shifted = denormalized(exponent, significand);
  const kept = shrU64({ a: shifted, count: 11 });
  const rest = shifted.lo.and(0x7ff);
  const isUp = rest.gt(0x400).or(rest.eq(0x400).and(kept.lo.and(1).eq(1)));
  // The leading bit of a normal number adds 1 to the field of the exponent, and so does a carry out of the fraction.
  const field = bitsToU32(exponent.max(1).sub(1)).shl(20);
  const bits = add64({ a: { lo: kept.lo, hi: kept.hi.add(field) }, b: u64OfU32(u32(isUp)) });
  const finite = select(bits, u64Of(0, 0), isZero(significand));
  const magnitude = select(finite, u64Of(F64_INFINITY, 0), exponent.ge(2047).and(isZero(significand).not()));
  return { lo: magnitude.lo, hi: magnitude.hi.or(sign) };
});

/** The bits of the f32 nearest to an unpacked number whose exponent has the bias of f32. */
const roundF32: Functor<Unpacked, U32Shape> = fn('roundF32', unpackedNumber, u32, ({ sign, exponent, significand }) => {
  const { lo, hi } = denormalized(exponent, significand);
  const kept = hi.shr(8);
  const rest = hi.and(0xff);
  const isTie = rest.eq(0x80).and(lo.eq(0));
  const isUp = rest.ge(0x80).and(isTie.not().or(kept.and(1).eq(1)));
  const bits = kept.add(bitsToU32(exponent.max(1).sub(1)).shl(23)).add(u32(isUp));
  const finite = select(bits, u32(0), isZero(significand));
  return select(finite, u32(F32_INFINITY), exponent.ge(255).and(isZero(significand).not())).or(sign);
});

/** Shifts the significand of a number below the normal ones to the place that it has in a subnormal number. */
function denormalized(exponent: I32, significand: U64): U64 {
  return shiftedDown(significand, bitsToU32(i32(1).sub(exponent).max(0)));
}

/** Shifts right. The lowest bit of the result is also set if any bit that was shifted out is set. */
function shiftedDown(value: U64, count: U32): U64 {
  const some = count.min(63);
  const kept = shrU64({ a: value, count: some });
  const isExact = eq64({ a: shl64({ a: kept, count: some }), b: value });
  return { lo: kept.lo.or(u32(isExact.not())), hi: kept.hi };
}

function u64Of(hi: number, lo: number): U64 {
  return { lo: u32(lo), hi: u32(hi) };
}

function isZero({ lo, hi }: U64): Bool {
  return lo.or(hi).eq(0);
}

function magnitudeOf({ lo, hi }: U64): U64 {
  return { lo, hi: hi.and(~SIGN >>> 0) };
}

function isInfinite({ lo, hi }: U64): Bool {
  return hi.eq(F64_INFINITY).and(lo.eq(0));
}

function isNaN64({ lo, hi }: U64): Bool {
  return hi.gt(F64_INFINITY).or(hi.eq(F64_INFINITY).and(lo.ne(0)));
}

function leadingZeros({ lo, hi }: U64): U32 {
  return select(clz(hi), clz(lo).add(32), hi.eq(0));
}

/** Shifts the highest set bit to the top, and lowers the exponent by as much. */
function normalized(exponent: I32, value: U64): { readonly exponent: I32; readonly significand: U64 } {
  const count = leadingZeros(value);
  return { exponent: exponent.sub(i32(count)), significand: shl64({ a: value, count }) };
}

function fieldOf({ hi }: U64): U32 {
  return hi.shr(20).and(0x7ff);
}

/** The significand in the bits of an f64, in 53 bits. */
function wholeOf({ lo, hi }: U64): U64 {
  const isNormal = hi.and(F64_INFINITY).ne(0);
  return { lo, hi: hi.and(0xfffff).or(u32(isNormal).shl(20)) };
}

function unpackF64(bits: U64): { readonly exponent: I32; readonly significand: U64 } {
  return normalized(i32(fieldOf(bits).max(1)), shl64({ a: wholeOf(bits), count: u32(11) }));
}

/** The sum of two f64 numbers, given by their bits. */
export const addF64: Functor<TwoOperands<U64Shape>, U64Shape> = fn('addF64', two, u64, ({ a, b }) => {
  const swaps = ltU64({ a: magnitudeOf(a), b: magnitudeOf(b) });
  const [large, small] = [select(a, b, swaps), select(b, a, swaps)];
  const sign = large.hi.and(SIGN);
  const isSame = large.hi.xor(small.hi).shr(31).eq(0);
  // Ten bits below the significands hold what is shifted out, and one bit above takes the carry.
  const [field, other] = [fieldOf(large).max(1), fieldOf(small).max(1)];
  const above = shl64({ a: wholeOf(large), count: u32(10) });
  const below = shiftedDown(shl64({ a: wholeOf(small), count: u32(10) }), field.sub(other));
  const total = select(sub64({ a: above, b: below }), add64({ a: above, b: below }), isSame);
  const signOfTotal = select(sign, sign.and(small.hi), isZero(total));
  const rounded = roundF64({ sign: signOfTotal, ...normalized(i32(field).add(1), total) });
  const [first, second] = [magnitudeOf(large), magnitudeOf(small)];
  const hasNaN = isNaN64(first).or(isInfinite(first).and(isInfinite(second)).and(isSame.not()));
  return select(select(rounded, large, isInfinite(first)), u64Of(F64_NAN, 0), hasNaN);
});

/** The negative of an f64, given by its bits. */
export function negF64({ lo, hi }: U64): U64 {
  return { lo, hi: hi.xor(SIGN) };
}

/** The product of two f64 numbers, given by their bits. */
export const mulF64: Functor<TwoOperands<U64Shape>, U64Shape> = fn('mulF64', two, u64, ({ a, b }) => {
  const sign = a.hi.xor(b.hi).and(SIGN);
  const [x, y] = [unpackF64(a), unpackF64(b)];
  const { lo, hi } = mulU64({ a: x.significand, b: y.significand });
  const sticky = { lo: hi.lo.or(u32(isZero(lo).not())), hi: hi.hi };
  // The lower half has at least 22 zeros at its end. So the bit that enters by the shift is all that rounding needs of it.
  const shifted = {
    lo: hi.lo
      .shl(1)
      .or(lo.hi.shr(31))
      .or(u32(lo.hi.shl(1).or(lo.lo).ne(0))),
    hi: hi.hi.shl(1).or(hi.lo.shr(31)),
  };
  const isLarge = hi.hi.shr(31).eq(1);
  const significand = select(shifted, sticky, isLarge);
  const exponent = x.exponent.add(y.exponent).sub(F64_BIAS).add(i32(isLarge));
  const rounded = roundF64({ sign, exponent, significand });
  const [first, second] = [magnitudeOf(a), magnitudeOf(b)];
  const infinite = isInfinite(first).or(isInfinite(second));
  const hasNaN = isNaN64(first)
    .or(isNaN64(second))
    .or(infinite.and(isZero(first).or(isZero(second))));
  const some = select(rounded, { lo: u32(0), hi: sign.or(F64_INFINITY) }, infinite);
  return select(some, u64Of(F64_NAN, 0), hasNaN);
});

/** The bits of the f64 nearest to an integer: signed if `isSigned`, else unsigned. */
export function f64OfInteger(value: U64, isSigned: boolean): U64 {
  const sign = isSigned ? value.hi.and(SIGN) : u32(0);
  return roundF64({ sign, ...normalized(i32(F64_BIAS + 63), isSigned ? absI64({ a: value }) : value) });
}

/**
 * The bits of the f64 nearest to `units / divisor`, where `units` is a signed integer. The divisor is an unsigned integer
 * above 0.
 */
export const f64OfRatio: Functor<{ readonly units: U64Shape; readonly divisor: U64Shape }, U64Shape> = fn(
  'f64OfRatio',
  { units: u64, divisor: u64 },
  u64,
  ({ units, divisor }) => {
    const n = normalized(i32(0), absI64({ a: units }));
    const d = normalized(i32(0), divisor);
    // Long division: before each step, the rest is below twice the divisor, so it may need a 65th bit.
    const rest = { lo: Var(n.significand.lo), hi: Var(n.significand.hi), top: Var(u32(0)) };
    const quotient = { lo: Var(u32(0)), hi: Var(u32(0)) };
    For(0, 64, () => {
      const now = { lo: Let(rest.lo), hi: Let(rest.hi) };
      const fits = rest.top.ne(0).or(ltU64({ a: now, b: d.significand }).not());
      const left = select(now, sub64({ a: now, b: d.significand }), fits);
      const whole = {
        lo: quotient.lo.shl(1).or(u32(fits)),
        hi: quotient.hi.shl(1).or(quotient.lo.shr(31)),
      };
      quotient.lo.set(whole.lo);
      quotient.hi.set(whole.hi);
      rest.top.set(left.hi.shr(31));
      rest.hi.set(left.hi.shl(1).or(left.lo.shr(31)));
      rest.lo.set(left.lo.shl(1));
    });
    const isExact = rest.lo.or(rest.hi).or(rest.top).eq(0);
    const found = { lo: quotient.lo.or(u32(isExact.not())), hi: quotient.hi };
    const exponent = n.exponent.sub(d.exponent).add(F64_BIAS);
    return roundF64({ sign: units.hi.and(SIGN), ...normalized(exponent, found) });
  },
);

/** The bits of an f32 as those of an f64. Exact. */
export const f64OfF32: Functor<OneOperand<U32Shape>, U64Shape> = fn('f64OfF32', { a: u32 }, u64, ({ a }) => {
  const field = a.shr(23).and(0xff);
  const fraction = a.and(0x7fffff);
  const whole = { lo: u32(0), hi: fraction.or(u32(field.ne(0)).shl(23)).shl(8) };
  const exponent = i32(field.max(1)).add(F64_BIAS - F32_BIAS);
  const finite = roundF64({ sign: a.and(SIGN), ...normalized(exponent, whole) });
  const infinite = { lo: u32(0), hi: a.and(SIGN).or(F64_INFINITY) };
  return select(select(finite, infinite, field.eq(255)), u64Of(F64_NAN, 0), field.eq(255).and(fraction.ne(0)));
});

/** The bits of the f32 nearest to an f64, given by its bits. */
export const f32OfF64: Functor<OneOperand<U64Shape>, U32Shape> = fn('f32OfF64', { a: u64 }, u32, ({ a }) => {
  const { exponent, significand } = unpackF64(a);
  const sign = a.hi.and(SIGN);
  const finite = roundF32({ sign, exponent: exponent.sub(F64_BIAS - F32_BIAS), significand });
  const magnitude = magnitudeOf(a);
  const some = select(finite, sign.or(F32_INFINITY), isInfinite(magnitude));
  return select(some, u32(0x7fc00000), isNaN64(magnitude));
});

/**
 * Inverts all bits of a negative f64 except the sign. Maps the bits of a number to its key, which compares like the
 * number, and a key back to the bits.
 */
function mirroredF64({ lo, hi }: U64): U64 {
  const sign = bitsToI32(hi).shr(31);
  return { lo: lo.xor(bitsToU32(sign)), hi: hi.xor(bitsToU32(sign.and(0x7fffffff))) };
}

export function f64OfKey(key: U64): U64 {
  return mirroredF64(key);
}

/** The key of an f64. All NaNs have the same key, which is the largest, and −0 has the key of 0. */
export function keyOfF64(bits: U64): U64 {
  const magnitude = magnitudeOf(bits);
  const key = select(mirroredF64(bits), u64Of(0, 0), isZero(magnitude));
  return select(key, u64Of(0x7fffffff, 0xffffffff), isNaN64(magnitude));
}
