import { type Metric, recordOf } from '../../algorithms/neighbours/metrics.ts';

/** Coordinates of one point. Integers beyond 2^53 are bigints. */
export type Place = readonly (number | bigint)[];

const BITS = new DataView(new ArrayBuffer(8));

/** A number as a whole multiple of 2^−1074, the smallest f64. */
function wholeOf(x: number | bigint): bigint {
  if (typeof x === 'bigint') return x << 1074n;
  BITS.setFloat64(0, x);
  const bits = BITS.getBigUint64(0);
  const exponent = (bits >> 52n) & 0x7ffn;
  const digits = bits & 0xfffffffffffffn;
  const size = exponent === 0n ? digits : (digits | (1n << 52n)) << (exponent - 1n);
  return x < 0 ? -size : size;
}

const absolute = (x: bigint): bigint => (x < 0n ? -x : x);
const dot = (a: readonly bigint[], b: readonly bigint[]): bigint => a.reduce((sum, x, d) => sum + x * b[d]!, 0n);
const signOf = (x: bigint): number => (x < 0n ? -1 : x > 0n ? 1 : 0);

/** A fraction with a positive denominator that grows with the distance of two points, without rounding. */
type Fraction = readonly [numerator: bigint, denominator: bigint];

const compare = ([a, b]: Fraction, [c, d]: Fraction): number => signOf(a * d - c * b);

/** The power that differences are raised to. The maximum is compared as it is. */
function exponentOf(metric: Metric): number {
  const { power } = recordOf(metric);
  return power === undefined || power === Number.POSITIVE_INFINITY ? 1 : power;
}

/** The power of the distance for metrics of differences; −cos |cos| for cosine; the negated product for inner. */
function measure(metric: Metric, from: Place, to: Place): Fraction {
  const [a, b] = [from.map(wholeOf), to.map(wholeOf)];
  if (metric === 'inner') return [-dot(a, b), 1n];
  if (metric === 'cosine') {
    const both = dot(a, a) * dot(b, b);
    const product = dot(a, b);
    return both === 0n ? [0n, 1n] : [-product * absolute(product), both];
  }
  const gaps = a.map((x, d) => absolute(x - b[d]!));
  if (metric === 'max') return [gaps.toSorted((a, b) => Number(b > a) - Number(b < a))[0] ?? 0n, 1n];
  return [gaps.reduce((sum, gap) => sum + gap ** BigInt(exponentOf(metric)), 0n), 1n];
}

/** The numbers of points in the order of their distances from a query, as real numbers, and by number where equal. */
export function exactOrder(metric: Metric, points: readonly Place[], query: Place): number[] {
  const all = points.map((point) => measure(metric, query, point));
  return [...all.keys()].sort((a, b) => compare(all[a]!, all[b]!) || a - b);
}

/** Whether a distance by a metric of differences is within one ulp of the real one. */
export function isWithinUlp(metric: Metric, from: Place, to: Place, distance: number): boolean {
  const [power] = measure(metric, from, to);
  if (distance === 0) return power === 0n;
  const [below, above] = [next(distance, -1), next(distance, 1)].map((x) => wholeOf(x) ** BigInt(exponentOf(metric)));
  return below! < power && power < above!;
}

/** The next f64 above or below a positive one. */
function next(x: number, step: 1 | -1): number {
  BITS.setFloat64(0, x);
  BITS.setBigInt64(0, BITS.getBigInt64(0) + BigInt(step));
  return BITS.getFloat64(0);
}

function isEven(x: number): boolean {
  BITS.setFloat64(0, x);
  return (BITS.getUint8(7) & 1) === 0;
}

/** Whether the distance of a point, rounded to f64, is at most a radius. Halfway between two numbers, the even one counts. */
export function isWithin(metric: Metric, from: Place, to: Place, radius: number): boolean {
  const measured = measure(metric, from, to);
  if (metric === 'inner') return measured[0] <= wholeOf(radius) << 1074n;
  if (metric === 'cosine') {
    const least = wholeOf(1 - radius);
    return compare(measured, [-least * absolute(least), 1n << 2148n]) <= 0;
  }
  const power = BigInt(exponentOf(metric));
  const limit = wholeOf(radius) + (radius === 0 ? 0n : wholeOf(next(radius, 1)));
  const excess = measured[0] * (radius === 0 ? 1n : 2n ** power) - limit ** power;
  return excess < 0n || (excess === 0n && isEven(radius));
}
