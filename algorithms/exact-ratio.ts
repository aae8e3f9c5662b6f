/** A fraction with a positive denominator. */
export interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** A finite f64 as a fraction whose denominator is a power of two. */
export function fractionOf(value: number): Fraction {
  let exponent = 0;
  let rest = value;
  // A power of two changes only the exponent, except for subnormal numbers, which become normal first.
  if (Math.abs(rest) < 2 ** -960) [rest, exponent] = [rest * 2 ** 100, -100];
  while (!Number.isInteger(rest)) [rest, exponent] = [rest * 2 ** 53, exponent - 53];
  return { numerator: BigInt(rest), denominator: 1n << BigInt(-exponent) };
}

/**
 * The f64 nearest to a fraction, rounded half to even, also for subnormal results. Infinite if the fraction exceeds the
 * largest f64. The denominator is positive.
 */
export function ratio(numerator: bigint, denominator: bigint): number {
  if (isExact(denominator)) {
    if (isExact(numerator)) return Number(numerator) / Number(denominator);
    const known = dividedPair(numerator, Number(denominator));
    if (known !== undefined) return known;
  }
  const magnitude = numerator < 0n ? -numerator : numerator;
  // In units of 2^unit, the quotient has 53 bits, or fewer for subnormal results.
  let unit = Math.max(MIN_UNIT, bitLength(magnitude) - bitLength(denominator) - 53);
  if (inUnits(magnitude, denominator, unit).quotient >= 2n ** 53n) unit++;
  const { quotient, rest, divisor } = inUnits(magnitude, denominator, unit);
  const isUp = 2n * rest > divisor || (2n * rest === divisor && quotient % 2n === 1n);
  const rounded = Number(isUp ? quotient + 1n : quotient) * 2 ** unit;
  return numerator < 0n ? -rounded : rounded;
}

/**
 * The f64 nearest to the square root of a fraction, rounded once, half to even, also for subnormal results. The fraction
 * is not negative, and the denominator is positive.
 */
export function rootOfRatio(numerator: bigint, denominator: bigint): number {
  if (numerator === 0n) return 0;
  // The quotient has at least 111 bits, so its root has at least 56: more than an f64, also for rounding.
  const half = Math.ceil((112 - bitLength(numerator) + bitLength(denominator)) / 2);
  const { quotient, rest } = inUnits(numerator, denominator, -2 * half);
  const root = wholeRoot(quotient);
  // A last bit stands for all that is left, so that what is no tie does not become one.
  const isWhole = rest === 0n && root * root === quotient;
  const doubled = 2n * root + (isWhole ? 0n : 1n);
  return half >= 0 ? ratio(doubled, 2n << BigInt(half)) : ratio(doubled << BigInt(-half), 2n);
}

/** The square root of an integer below 2^120, rounded down. */
function wholeRoot(square: bigint): bigint {
  const near = BigInt(Math.floor(Math.sqrt(Number(square))));
  // A step of Newton's method is off by one at most.
  let root = (near + square / near) / 2n;
  while (root * root > square) root--;
  return root;
}

/**
 * The ratio of an integer and one that f64 holds, without dividing integers, which takes several times as long. Undefined
 * if the integer has more than 106 bits, or if the ratio lies so near to the middle between two f64 that rounding errors
 * might decide.
 */
function dividedPair(numerator: bigint, divisor: number): number | undefined {
  // The integer is high + low.
  const high = Number(numerator);
  if (Math.abs(high) > 2 ** 106) return undefined;
  const low = Number(numerator - BigInt(high));
  const quotient = high / divisor;
  // What remains of the upper part is an f64, by Dekker's exact product.
  const product = quotient * divisor;
  const [q, d] = [upperHalf(quotient), upperHalf(divisor)];
  const [r, e] = [quotient - q, divisor - d];
  const error = r * e - (product - q * d - r * d - q * e);
  const rest = (high - product - error + low) / divisor;
  // Each of three steps is off by at most 2^-53 of the result.
  const [least, most] = [quotient + rest * (1 - 2 ** -50), quotient + rest * (1 + 2 ** -50)];
  return least === most ? least : undefined;
}

/** The upper 26 bits of a number. */
function upperHalf(value: number): number {
  const scaled = value * (2 ** 27 + 1);
  return scaled - (scaled - value);
}

/** Whether an f64 can hold an integer and every integer of smaller magnitude. */
function isExact(integer: bigint): boolean {
  return integer <= LARGEST && integer >= -LARGEST;
}

const LARGEST = 2n ** 53n;

/** Binary exponent of the smallest positive f64. */
const MIN_UNIT = -1074;

/** Divides a fraction by 2^unit. Returns the integer quotient, the remainder and the divisor. */
function inUnits(numerator: bigint, denominator: bigint, unit: number) {
  const dividend = unit < 0 ? numerator << BigInt(-unit) : numerator;
  const divisor = unit < 0 ? denominator : denominator << BigInt(unit);
  const quotient = dividend / divisor;
  return { quotient, rest: dividend - quotient * divisor, divisor };
}

/** The number of bits of an integer that is not negative, at least 1. */
function bitLength(value: bigint): number {
  const near = Number(value);
  if (near === 0 || near === Infinity) return value.toString(2).length;
  PARTS[0] = near;
  // Rounding may have carried the number to the next power of two.
  const bits = Number((WORDS[0]! >> 52n) - 1022n);
  return value >> BigInt(bits - 1) === 0n ? bits - 1 : bits;
}

const PARTS = new Float64Array(1);
const WORDS = new BigUint64Array(PARTS.buffer);
