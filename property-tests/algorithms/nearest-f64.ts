/** An exact fraction of two integers; its denominator is positive. */
export interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** A finite f64 as a fraction. */
export function fractionOf(value: number): Fraction {
  let [whole, power] = [value, 0n];
  // Doubling is exact.
  for (; !Number.isInteger(whole); power++) whole *= 2;
  return { numerator: BigInt(whole), denominator: 1n << power };
}

/** a · b + c. */
export function multiplyAdd(a: Fraction, b: Fraction, c: Fraction): Fraction {
  const below = a.denominator * b.denominator;
  return {
    numerator: a.numerator * b.numerator * c.denominator + c.numerator * below,
    denominator: below * c.denominator,
  };
}

const words = new BigInt64Array(1);
const floats = new Float64Array(words.buffer);

/** The next f64 above or below a value. 0 and −0 count as one value. */
function stepped(value: number, by: 1n | -1n): number {
  floats[0] = value;
  const steps = value < 0 || Object.is(value, -0) ? -(words[0]! & (2n ** 63n - 1n)) : words[0]!;
  const next = steps + by;
  words[0] = next < 0n ? -next : next;
  return next < 0n ? -floats[0]! : floats[0]!;
}

/**
 * Whether a finite f64 is the nearest to a fraction, so that neither adjacent f64 is nearer. If two f64 are equally
 * near, the even one counts as the nearest. Fractions that are at least half a step above the largest f64 have no
 * nearest f64.
 */
export function isNearest(value: number, { numerator, denominator }: Fraction): boolean {
  /** The distance to another fraction, multiplied by the denominator of the first fraction. */
  const distance = (other: Fraction): Fraction => {
    const difference = numerator * other.denominator - other.numerator * denominator;
    return { numerator: difference < 0n ? -difference : difference, denominator: other.denominator };
  };
  const own = distance(fractionOf(value));
  floats[0] = value;
  const isEven = words[0]! % 2n === 0n;
  return ([1n, -1n] as const).every((by) => {
    const beside = stepped(value, by);
    if (!Number.isFinite(beside)) return true;
    const other = distance(fractionOf(beside));
    const [a, b] = [own.numerator * other.denominator, other.numerator * own.denominator];
    return a < b || (a === b && isEven);
  });
}
