import { ratio } from '../../algorithms/exact-ratio.ts';

/** A rational number with a positive denominator. The oracle of laws about exact results. */
export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
}

const bits = new DataView(new ArrayBuffer(8));

/** A finite f64, from its bits. */
export function rationalOf(value: number): Rational {
  bits.setFloat64(0, value);
  const word = bits.getBigUint64(0);
  const [exponent, fraction] = [Number((word >> 52n) & 0x7ffn), word & (2n ** 52n - 1n)];
  const significand = exponent === 0 ? fraction : fraction + 2n ** 52n;
  const power = Math.max(1, exponent) - 1075;
  const n = (value < 0 ? -significand : significand) * 2n ** BigInt(Math.max(0, power));
  return { n, d: 2n ** BigInt(Math.max(0, -power)) };
}

export function plus(a: Rational, b: Rational): Rational {
  return { n: a.n * b.d + b.n * a.d, d: a.d * b.d };
}

export function times(a: Rational, b: Rational): Rational {
  return { n: a.n * b.n, d: a.d * b.d };
}

export function minus(a: Rational, b: Rational): Rational {
  return plus(a, { n: -b.n, d: b.d });
}

/** −1, 0 or 1. */
export function orderOf(a: Rational, b: Rational): number {
  const [x, y] = [a.n * b.d, b.n * a.d];
  return x < y ? -1 : Number(x > y);
}

export function sumOf(all: readonly Rational[]): Rational {
  return all.reduce(plus, { n: 0n, d: 1n });
}

/** The nearest f64. */
export function rounded({ n, d }: Rational): number {
  return ratio(n, d);
}
