import { bitsToF32, bitsToU32, type F32, f32, Let, select, type U32, u32 } from '../../primitives/index.ts';
import { bitsOfF32 } from '../../primitives/ir/semantics.ts';

/*
 * Sums of squares in f32 without limits of the exponent: every operation is rounded to 24 bits, as in f32, but no square
 * is too large or too small. A key has 9 bits of exponent, which f32 uses for sign and exponent, and 23 bits of fraction.
 * So keys hold all squares of f32, and have their order.
 */

/** The bits of the smallest normal number and of +∞ in f32. */
const [NORMAL, INFINITE] = [0x00800000, 0x7f800000];
/** The exponent field of a key is that of an f32 plus this. */
const MORE = 126;
const FRACTION_BITS = 23;
/** The exponent field of the key of +∞. */
const MAX_FIELD = 511;
/** The key of +∞. */
export const FAR_SQUARE: number = 2 ** 32 - 2 ** FRACTION_BITS;
/** Terms this many powers of two below the largest difference do not change a rounded sum of squares. */
const LOST = 60;

/** The key of a sum of squares that f32 holds: 0, a normal number, +∞, or NaN, which counts as +∞. */
export function keyOfSquares(sum: F32): U32 {
  const bits = Let(bitsToU32(sum));
  const key = select(bits.add(MORE << FRACTION_BITS), u32(0), bits.eq(0));
  return select(key, u32(FAR_SQUARE), bits.ge(INFINITE));
}

/** The squared distance in f32, rounded to nearest, also below the normal numbers; +∞ if it is too large for f32. */
export function squareOfKey(key: U32): F32 {
  const field = Let(key.shr(FRACTION_BITS));
  const plain = key.sub(MORE << FRACTION_BITS);
  // Rounds the significand to a multiple of the smallest subnormal number, half to even.
  const steps = Let(
    u32(MORE + 1)
      .sub(field.min(MORE))
      .min(25),
  );
  const significand = Let(key.and(NORMAL - 1).or(NORMAL));
  const kept = Let(significand.shr(steps));
  const rest = Let(significand.sub(kept.shl(steps)).shl(1));
  const unit = u32(1).shl(steps);
  const isUp = rest.gt(unit).or(rest.eq(unit).and(kept.and(1).eq(1)));
  const small = kept.add(u32(isUp));
  const bits = select(select(plain, small, field.le(MORE)), u32(INFINITE), field.ge(MORE + 255));
  return bitsToF32(bits);
}

/** The key of the square of an f32 from 0 on, as {@link keyOfSquares} and the other functions give it. */
export function keyOfSquared(x: number): number {
  const square = x * x;
  if (square === 0) return 0;
  if (square === Number.POSITIVE_INFINITY) return FAR_SQUARE;
  const exponent = Math.floor(Math.log2(x)) * 2;
  // Squares below all others are below every key but 0.
  return Math.max(0, bitsOfF32(square * 2 ** -exponent) + (exponent + MORE) * 2 ** FRACTION_BITS);
}

/** The sum is `sum` · 2^(2 · (exponent − 127)). Of the largest term, `exponent` is the field; 0 without terms. */
export interface Squares {
  readonly sum: F32;
  readonly exponent: U32;
}

/**
 * Adds the square of a difference, with any exponent. A sum is in units of the largest square so far: scaling by powers of
 * two is exact, and what becomes too small to change the rounded sum is left out. Differences below the normal numbers
 * count as 0.
 */
export function addSquare({ sum, exponent }: Squares, a: F32, b: F32): Squares {
  const bits = Let(differenceOf(a, b));
  const greatest = Let(bits.shr(FRACTION_BITS).max(exponent));
  const steps = Let(greatest.sub(exponent).shl(1));
  const before = select(f32(0), sum.mul(bitsToF32(u32(127).sub(steps).shl(FRACTION_BITS))), steps.le(100));
  return { sum: before.add(squareIn(bits, greatest)), exponent: greatest };
}

/** The key of a sum of squares. */
export function keyOfAnySquares({ sum, exponent }: Squares): U32 {
  const bits = Let(bitsToU32(sum));
  const more = Let(exponent.add(exponent));
  const isFar = exponent.eq(255).or(
    bits
      .shr(FRACTION_BITS)
      .add(more)
      .ge(MAX_FIELD + 128),
  );
  const key = bits.add(more.sub(128).shl(FRACTION_BITS));
  return select(select(key, u32(0), exponent.eq(0)), u32(FAR_SQUARE), isFar);
}

/**
 * The key of the sum of at most three squares. It is that of {@link addSquare}: a square left out here because it is
 * small beside the largest one changes the sum of two smaller ones at most if that is left out there, too.
 */
export function keyOfFewSquares(a: readonly F32[], b: readonly F32[]): U32 {
  const all = a.map((x, d) => Let(differenceOf(x, b[d]!)));
  const exponent = Let(all.reduce((max, bits) => max.max(bits)).shr(FRACTION_BITS));
  const sum = all.map((bits) => squareIn(bits, exponent)).reduce((sum, square) => sum.add(square));
  return keyOfAnySquares({ sum: Let(sum), exponent });
}

function differenceOf(a: F32, b: F32): U32 {
  return bitsToU32(a.sub(b).abs());
}

/** The square of a difference, given by its bits, in units of 2^(2 · (exponent − 127)). */
function squareIn(bits: U32, exponent: U32): F32 {
  const scale = exponent.shl(FRACTION_BITS).sub(127 << FRACTION_BITS);
  const least = exponent
    .max(LOST + 1)
    .sub(LOST)
    .shl(FRACTION_BITS);
  const scaled = Let(select(f32(0), bitsToF32(bits.sub(scale)), bits.ge(least)));
  return scaled.mul(scaled);
}
