import type { F32 } from '../value.ts';

/*
 * Numbers as the sum of two f32, of which the second is at most half a unit in the last place of the first. Sums and
 * products are exact, because all backends round every operation to nearest and none fuses two of them.
 *
 * Source: Dekker, A floating-point technique for extending the available precision, 1971; Knuth, The Art of Computer
 * Programming 2, 4.2.2.
 */

/** The sum of two f32. */
export interface TwoFloats {
  readonly hi: F32;
  readonly lo: F32;
}

/** The exact sum of two numbers. */
export function twoSum(a: F32, b: F32): TwoFloats {
  const hi = a.add(b);
  const of = hi.sub(a);
  return { hi, lo: a.sub(hi.sub(of)).add(b.sub(of)) };
}

/** The exact sum of two numbers, of which `a` is 0 or has the greater magnitude. */
export function quickTwoSum(a: F32, b: F32): TwoFloats {
  const hi = a.add(b);
  return { hi, lo: b.sub(hi.sub(a)) };
}

/** Halves of a number with at most 12 bits each. The magnitude must be below 2¹¹⁵. */
function halvesOf(a: F32): TwoFloats {
  const high = a.mul(4097);
  const hi = high.sub(high.sub(a));
  return { hi, lo: a.sub(hi) };
}

/** The exact product of two numbers, if it is neither too large nor, with its lower half, too small. */
export function twoProduct(a: F32, b: F32): TwoFloats {
  const hi = a.mul(b);
  const [x, y] = [halvesOf(a), halvesOf(b)];
  const lo = x.lo.mul(y.lo).sub(hi.sub(x.hi.mul(y.hi)).sub(x.lo.mul(y.hi)).sub(x.hi.mul(y.lo)));
  return { hi, lo };
}

/** a · b, to some units of 2⁻⁴⁶ of the product. */
export function multiplyTwo(a: TwoFloats, b: TwoFloats): TwoFloats {
  const { hi, lo } = twoProduct(a.hi, b.hi);
  return quickTwoSum(hi, lo.add(a.hi.mul(b.lo).add(a.lo.mul(b.hi))));
}

/** a / b, rounded nearly once. */
export function divideTwo(a: TwoFloats, b: TwoFloats): F32 {
  const quotient = a.hi.div(b.hi);
  const { hi, lo } = twoProduct(quotient, b.hi);
  const rest = a.hi.sub(hi).sub(lo).add(a.lo).sub(quotient.mul(b.lo));
  return quotient.add(rest.div(b.hi));
}

/** A polynomial by Horner's rule, with the coefficient of the lowest power first. */
export function polynomial(x: F32, coefficients: readonly number[]): F32 {
  const [last, ...rest] = [...coefficients].reverse() as [number, number, ...number[]];
  return rest.reduce<F32>((sum, coefficient, at) => (at === 0 ? x.mul(last) : sum.mul(x)).add(coefficient), x);
}
