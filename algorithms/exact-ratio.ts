/**
 * The f64 nearest to a fraction, rounded half to even, also for subnormal results. Infinite if the fraction exceeds the
 * largest f64. The denominator is positive.
 */
export function ratio(numerator: bigint, denominator: bigint): number {
  if (isExact(numerator) && isExact(denominator)) return Number(numerator) / Number(denominator);
  const magnitude = numerator < 0n ? -numerator : numerator;
  // In units of 2^unit, the quotient has 53 bits, or fewer for subnormal results.
  let unit = Math.max(MIN_UNIT, bitLength(magnitude) - bitLength(denominator) - 53);
  if (inUnits(magnitude, denominator, unit).quotient >= 2n ** 53n) unit++;
  const { quotient, rest, divisor } = inUnits(magnitude, denominator, unit);
  const isUp = 2n * rest > divisor || (2n * rest === divisor && quotient % 2n === 1n);
  const rounded = Number(isUp ? quotient + 1n : quotient) * 2 ** unit;
  return numerator < 0n ? -rounded : rounded;
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

function bitLength(value: bigint): number {
  return value.toString(2).length;
}
