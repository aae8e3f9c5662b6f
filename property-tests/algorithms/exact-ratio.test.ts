import { describe, expect } from 'vitest';
import { fractionOf, ratio, rootOfRatio } from '../../algorithms/exact-ratio.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { isNearest } from './nearest-f64.ts';

describe('the ratio of two integers', () => {
  const whole = fc.oneof(
    fc.bigInt({ min: -(2n ** 1200n), max: 2n ** 1200n }),
    fc.bigInt({ min: -(2n ** 60n), max: 2n ** 60n }),
    // Fractions that are halfway between two f64, or next to such a midpoint.
    fc
      .record({
        bits: fc.bigInt({ min: 2n ** 51n, max: 2n ** 54n }),
        by: fc.nat(1200),
        more: fc.constantFrom(-1n, 0n, 1n),
      })
      .map(({ bits, by, more }) => (((2n * bits + 1n) << BigInt(by)) << 2n) + more),
  );
  const below = fc.oneof(
    fc.integer({ min: 0, max: 2400 }).map((power) => 2n ** BigInt(power)),
    fc.bigInt({ min: 1n, max: 2n ** 60n }),
    fc.bigInt({ min: 1n, max: 2n ** 1200n }),
  );

  test.prop([whole, below], { numRuns: caseCount(3000) })(
    'is rounded to the nearest f64, subnormal numbers included',
    (numerator, denominator) => {
      const rounded = ratio(numerator, denominator);
      // Fractions that are at least half a step above the largest f64 are rounded to infinity.
      const isInfinite = (numerator < 0n ? -numerator : numerator) >= (2n ** 1024n - 2n ** 970n) * denominator;
      if (isInfinite) expect(rounded).toBe(numerator < 0n ? -Infinity : Infinity);
      else expect({ rounded, is: isNearest(rounded, { numerator, denominator }) }).toEqual({ rounded, is: true });
    },
  );

  test.prop(
    [
      fc.bigInt({ min: 2n ** 52n, max: 2n ** 53n - 1n }),
      fc.bigInt({ min: 1n, max: 2n ** 53n }),
      fc.nat(53),
      fc.constantFrom(1n, -1n),
      fc.oneof(fc.constantFrom(0n, 1n, -1n), fc.bigInt({ min: -(2n ** 53n), max: 2n ** 53n })),
    ],
    { numRuns: caseCount(3000) },
  )('is rounded to the nearest f64 if it is near the middle between two', (half, denominator, by, sign, more) => {
    const numerator = sign * ((((2n * half + 1n) * denominator) >> BigInt(by)) + more);
    const rounded = ratio(numerator, denominator);
    expect({ rounded, is: isNearest(rounded, { numerator, denominator }) }).toEqual({ rounded, is: true });
  });

  test('that is half the smallest subnormal number is rounded to even', () => {
    const min = 2n ** 1075n;
    expect([1n, 2n, 3n, -1n, -3n].map((of) => ratio(of, min) / Number.MIN_VALUE)).toEqual([0, 1, 2, -0, -2]);
    expect(ratio(2n ** 60n + 1n, 2n ** 1135n)).toBe(Number.MIN_VALUE);
  });

  test.prop([fc.bigInt({ min: -(2n ** 53n), max: 2n ** 53n }), fc.bigInt({ min: 1n, max: 2n ** 53n })])(
    'is rounded as f64 divides, for integers that f64 holds',
    (numerator, denominator) => {
      const rounded = ratio(numerator, denominator);
      // The same ratio of larger integers, which are divided as integers.
      expect(ratio(numerator << 60n, denominator << 60n)).toBe(rounded);
      expect(rounded).toBe(numerator === 0n ? 0 : Number(numerator) / Number(denominator));
    },
  );
});

describe('the square root of a fraction', () => {
  /** The next f64 above or below a number that is not negative. */
  const moved = (value: number, by: bigint): number => {
    const bits = new BigInt64Array(Float64Array.of(value).buffer);
    bits[0]! += by;
    return new Float64Array(bits.buffer)[0]!;
  };
  const isEven = (value: number): boolean => new BigInt64Array(Float64Array.of(value).buffer)[0]! % 2n === 0n;
  /** The sign of the square of the number halfway between two f64, minus a fraction. */
  const compare = (low: number, high: number, numerator: bigint, denominator: bigint): number => {
    const [a, b] = [fractionOf(low), fractionOf(high)];
    const sum = a.numerator * b.denominator + b.numerator * a.denominator;
    const whole = 2n * a.denominator * b.denominator;
    return (
      Number(sum * sum * denominator > whole * whole * numerator) -
      Number(sum * sum * denominator < whole * whole * numerator)
    );
  };
  const fractions = fc.oneof(
    fc.tuple(fc.bigInt({ min: 1n, max: 2n ** 900n }), fc.bigInt({ min: 1n, max: 2n ** 900n })),
    fc.tuple(fc.bigInt({ min: 1n, max: 2n ** 60n }), fc.bigInt({ min: 1n, max: 2n ** 60n })),
    // Roots that are f64, or halfway between two, or next to those; also subnormal ones.
    fc
      .record({
        bits: fc.bigInt({ min: 2n ** 52n, max: 2n ** 54n }),
        by: fc.nat(1126),
        more: fc.constantFrom(-1n, 0n, 1n),
      })
      .map(({ bits, by, more }) => [((bits * bits) << 200n) + more, 1n << BigInt(200 + 2 * by)] as [bigint, bigint]),
  );

  test.prop([fractions], { numRuns: caseCount(2000) })(
    'is rounded to the nearest f64, half to even',
    ([numerator, denominator]) => {
      const root = rootOfRatio(numerator, denominator);
      const below = root === 0 ? 0 : moved(root, -1n);
      const [lower, upper] = [
        compare(below, root, numerator, denominator),
        compare(root, moved(root, 1n), numerator, denominator),
      ];
      expect({ root, lower: root === 0 || lower < 0 || (lower === 0 && isEven(root)) }).toEqual({ root, lower: true });
      expect({ root, upper: upper > 0 || (upper === 0 && isEven(root)) }).toEqual({ root, upper: true });
    },
  );

  test.prop([fc.bigInt({ min: 0n, max: 2n ** 53n }), fc.bigInt({ min: 1n, max: 2n ** 53n })])(
    'of squares is exact',
    (a, b) => {
      expect(rootOfRatio(a * a, b * b)).toBe(Number(a) / Number(b));
    },
  );
});
