import { Let } from '../control.ts';
import { type Functor, f32 } from '../functor.ts';
import type { Scalar } from '../shapes.ts';
import { type Bool, type F32, type I32, requireOperand } from '../value.ts';
import { bitsToF32, bitsToI32, bitsToU32 } from './bits.ts';
import { select } from './choose.ts';

/** ln 2 in parts of 15 and 24 bits. Products of the first with numbers below 2⁹ are exact. */
export const LN2_HIGH = 0.693145751953125;
export const LN2_LOW = 1.428606765330187e-6;

/** π/2 as a sum of two numbers. */
export const HALF_PI_HIGH = 1.5707963705062866;
export const HALF_PI_LOW = -4.371138828673793e-8;

export function isNotANumber(x: F32): Bool {
  return x.eq(x).not();
}

export function isFiniteNumber(x: F32): Bool {
  return x.abs().lt(Number.POSITIVE_INFINITY);
}

/** A number that is not negative, with the sign of x. */
export function withSignOf(size: F32, x: F32): F32 {
  return bitsToF32(bitsToU32(size).or(bitsToU32(x).and(0x80000000)));
}

/** 2 to a whole power from −126 to 127. */
export function powerOfTwo(exponent: I32): F32 {
  return bitsToF32(exponent.add(127).shl(23));
}

/**
 * x · 2ⁿ for n from −252 to 254, rounded once. The first product must be exact, and for n below −150, where the result is
 * 0, |x| less than 2. Processors take a hundred times as long for products that are too small.
 */
export function scaled(x: F32, exponent: I32): F32 {
  const first = Let(exponent.shr(1));
  const rest = select(powerOfTwo(exponent.sub(first)), f32(0), exponent.lt(-150));
  return x.mul(powerOfTwo(first)).mul(rest);
}

/** x as (1 + f) · 2ᵏ, with 1 + f from √½ to √2. */
export function logParts(x: F32): { readonly k: F32; readonly f: F32 } {
  const stored = Let(bitsToI32(x));
  const isSmall = Let(stored.lt(0x800000));
  // A subnormal number is a whole number of the smallest ones.
  const bits = Let(select(stored, bitsToI32(f32(bitsToU32(x))), isSmall));
  const k = Let(bits.sub(0x3f3504f3).shr(23));
  const f = bitsToF32(bits.sub(k.shl(23))).sub(1);
  return { k: f32(select(k, k.sub(149), isSmall)), f };
}

type Floats<N extends string> = { readonly [name in N]: Scalar<'f32'> };

/** Calls a functor of f32. Errors name the arguments as the caller does. */
export function called<N extends string>(
  functor: Functor<Floats<N>, Scalar<'f32'>>,
  given: { readonly [name in N]: F32 },
): F32 {
  for (const [name, value] of Object.entries(given)) requireOperand(functor.functorName, name, value);
  return functor(given as never) as F32;
}
