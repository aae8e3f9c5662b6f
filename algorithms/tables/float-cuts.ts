import { fractionOf, ratio } from '../exact-ratio.ts';
import type { Cut } from './bounds.ts';
import { withoutZeros } from './decimals.ts';
import type { Decimal } from './host-table.ts';
import { f32OfKey, f64OfKey, keyOfF32, keyOfF64 } from './sortable.ts';

/**
 * A literal stands for a float if it is this float, written with as many digits as the literal has: `0.1`,
 * `0.10000000149011612` and the float itself are the same f32. Every other literal stands for the real number that it
 * states, which lies between two floats. So whatever a program prints for a float selects it, and no literal is rounded.
 */

/** A float type: its keys, and the power of two above its largest number. */
interface FloatType {
  readonly keyOf: (value: number) => bigint;
  readonly valueOf: (key: bigint) => number;
  readonly limit: bigint;
}

const F32: FloatType = {
  keyOf: (value) => BigInt(keyOfF32(Math.fround(value))),
  valueOf: (key) => f32OfKey(Number(key)),
  limit: 2n ** 128n,
};
const F64: FloatType = { keyOf: keyOfF64, valueOf: f64OfKey, limit: 2n ** 1024n };

/** The position of a literal among f64 values. JavaScript prints a number with the digits that identify it. */
export function f64Cut(value: number | Decimal): Cut {
  return typeof value === 'number' ? { at: keyOfF64(value), isThere: true } : cutOfDecimal(F64, value);
}

/** The position of a literal among f32 values. */
export function f32Cut(value: number | Decimal): Cut {
  if (typeof value !== 'number') return cutOfDecimal(F32, value);
  const nearest = Math.fround(value);
  const at = F32.keyOf(nearest);
  if (Object.is(nearest, value) || Number.isNaN(value)) return { at, isThere: true };
  if (Number.isFinite(nearest) && value !== 0) {
    const digits = digitsOf(value);
    if (nearest.toPrecision(digits) === value.toPrecision(digits)) return { at, isThere: true };
  }
  // No f32 lies between the value and the nearest f32, which is infinite if the value exceeds all others.
  return value === 0 ? { at, isThere: true } : { at: value > nearest ? at : at - 1n, isThere: false };
}

/** Number of significant digits with which JavaScript prints a number. */
function digitsOf(value: number): number {
  const [significand] = value.toExponential().split('e') as [string];
  return significand.replace(/\D/g, '').length;
}

/** The position of a decimal number among floats, by exact arithmetic. */
function cutOfDecimal(type: FloatType, { units, scale }: Decimal): Cut {
  const denominator = 10n ** BigInt(scale);
  /** The difference `v − literal`, as a fraction. Infinity counts as the power of two above the largest float. */
  const distance = (key: bigint): { readonly by: bigint; readonly denominator: bigint } => {
    const v = type.valueOf(key);
    const exact = Number.isFinite(v) ? fractionOf(v) : { numerator: v < 0 ? -type.limit : type.limit, denominator: 1n };
    return {
      by: exact.numerator * denominator - units * exact.denominator,
      denominator: exact.denominator * denominator,
    };
  };
  const [min, max] = [type.keyOf(Number.NEGATIVE_INFINITY), type.keyOf(Number.POSITIVE_INFINITY) - 1n];
  let low = type.keyOf(ratio(units, denominator));
  if (low > max) low = max;
  while (low > min && distance(low).by > 0n) low--;
  while (low < max && distance(low + 1n).by <= 0n) low++;
  const [below, above] = [distance(low), distance(low + 1n)];
  const apart = -below.by * above.denominator - above.by * below.denominator;
  // In the middle between two floats, the even one is the nearest.
  const isOdd = type.keyOf(Math.abs(type.valueOf(low))) % 2n === 1n;
  const isHigh = apart > 0n || (apart === 0n && isOdd);
  const nearest = isHigh ? low + 1n : low;
  const found = type.valueOf(nearest);
  if (Number.isFinite(found) && isWrittenAs(isHigh ? above : below, { units, scale })) {
    return { at: type.keyOf(found), isThere: true };
  }
  return { at: low, isThere: false };
}

/** Whether a float at this distance from a decimal number is the decimal number, written with as many digits. */
function isWrittenAs(
  { by, denominator }: { readonly by: bigint; readonly denominator: bigint },
  decimal: Decimal,
): boolean {
  const { scale, zeros } = withoutZeros(decimal);
  const magnitude = by < 0n ? -by : by;
  // The unit of the last digit that is not 0 is 10^zeros / 10^scale.
  return 2n * magnitude * 10n ** BigInt(scale) <= denominator * 10n ** BigInt(zeros);
}
