import { bitsToF32, bitsToU32, type F32, f32, Let, select, type U32, u32 } from '../../primitives/index.ts';
import { bitsOfF32, SMALLEST_NORMAL_F32 } from '../../primitives/ir/semantics.ts';

/** The bits of 1, of the smallest normal number and of +∞ in f32. */
const [ONE, NORMAL, INFINITE] = [0x3f800000, 0x00800000, 0x7f800000];
/** Terms below 2^−LOST, relative to the largest one or less, count as 0. */
const LOST = 100;

/**
 * The norm (Σ |δ|^p)^(1/p) without powers that leave f32, for p from 2 to 64. `max` has the bits of the largest |δ|, m.
 * `rest` is the sum of the powers of all other |δ| · 2^−e, where 2^e ≤ m < 2^(e + 1). Scaling changes exponents only, so
 * it is exact, and a scaled |δ| is below 2: its powers are at most 2^64. A new maximum scales the sum anew, again exactly.
 * Terms and sums below 2^−100 are left out, so nothing is ever subnormal.
 *
 * Finally m ≥ 2^e gives t = rest ÷ (m · 2^−e)^p, from 0 to D − 1 in D dimensions, and the norm m · (1 + t)^(1/p).
 *
 * Error, with u = 2^−24, to first order: a rounded δ changes the norm by at most u. Powers by repeated multiplication are
 * off by (p − 1) u each, their sum by (D − 2) u, the quotient and 1 + t by u each. The root divides that by p: below
 * 2 u + D u ÷ p. The root itself is off by 2 u ({@link rootOf}), its product with m by u. In all (6 + D ÷ p) u, with
 * room for terms of higher order. If no other |δ| counts, t = 0, and the norm is m.
 */
export interface ScaledSums {
  readonly max: U32;
  readonly rest: F32;
}

/** A coordinate, or 0 if it is subnormal: devices may differ in such numbers. NaN stays. */
export function withoutSubnormals(x: F32): F32 {
  return select(x, f32(0), x.abs().lt(SMALLEST_NORMAL_F32));
}

export function addScaled({ max, rest }: ScaledSums, a: F32, b: F32, power: number): ScaledSums {
  const given = bitsToU32(withoutSubnormals(a).sub(withoutSubnormals(b)).abs());
  const between = Let(select(given, u32(0), given.lt(NORMAL)));
  const [less, greatest] = [Let(between.min(max)), Let(between.max(max))];
  const exponent = Let(greatest.and(INFINITE));
  // Below this, the power of a scaled number is below 2^−LOST.
  const least = bitsOfF32(2 ** (-LOST / power));
  const counts = less.ge(NORMAL).and(less.add(ONE).ge(exponent.add(least)));
  const scaled = Let(bitsToF32(select(u32(0), less.add(ONE).sub(exponent), counts)));
  return { max: greatest, rest: scaledSum(rest, max, exponent, power).add(raised(scaled, power)) };
}

/** The sum relative to the exponent of a new maximum. */
function scaledSum(rest: F32, max: U32, exponent: U32, power: number): F32 {
  const steps = Let(
    exponent
      .sub(max.and(INFINITE))
      .shr(23)
      .mul(power)
      .min(2 * LOST),
  );
  // 2^(steps − LOST), so that what stays is at least 2^−LOST.
  const least = bitsToF32(steps.add(127 - LOST).shl(23));
  const half = Let(steps.shr(1));
  const [first, second] = [half, steps.sub(half)].map((n) => bitsToF32(u32(127).sub(n).shl(23)));
  return select(f32(0), rest, rest.ge(least)).mul(first!).mul(second!);
}

/** The key of the norm: its bits, and +∞ if a difference is NaN or infinite. */
export function keyOfScaled({ max, rest }: ScaledSums, power: number): U32 {
  const largest = Let(bitsToF32(max.and(0x007fffff).or(ONE)));
  const root = rootOf(Let(rest.div(raised(largest, power)).add(1)), power);
  // The product of the scaled maximum and the root is at least 1, so scaling it back is exact, or gives +∞.
  const norm = largest.mul(root).mul(bitsToF32(max.and(INFINITE)));
  return select(bitsToU32(norm).min(INFINITE), u32(INFINITE), max.ge(INFINITE));
}

/**
 * The root of a number y from 1 to 2^32, with an error of at most 2 u. The first guess z takes the bits of y as a linear
 * logarithm: p · ln(z ÷ y^(1/p)) is below 0.5 in size. Each step of Halley's method cubes that and divides it by 12. So
 * two steps leave less than 10^−7 ÷ p, if p is so large that the guess is poor, and 10^−9 for p below 10. The rounding
 * errors of the last step remain: (p − 1) u ÷ p from the power of z, and u from the sum.
 */
function rootOf(y: F32, power: number): F32 {
  const logarithm = f32(bitsToU32(y).sub(ONE)).mul(2 ** -23 / power);
  const whole = Let(u32(logarithm));
  const part = Let(logarithm.sub(f32(whole)));
  const guess = part.mul(part.mul(1 - Math.LN2).add(Math.LN2)).add(1);
  let root = Let(bitsToF32(bitsToU32(guess).add(whole.shl(23))));
  for (let step = 0; step < 2; step++) {
    const reached = Let(raised(root, power));
    const slope = reached.mul(power + 1).add(y.mul(power - 1));
    root = Let(root.add(root.mul(y.sub(reached).mul(2)).div(slope)));
  }
  return root;
}

/** A power by repeated squaring. No intermediate power has a larger exponent. */
function raised(x: F32, power: number): F32 {
  if (power === 1) return x;
  const half = Let(raised(x, power >> 1));
  const square = half.mul(half);
  return power % 2 === 1 ? square.mul(x) : square;
}
