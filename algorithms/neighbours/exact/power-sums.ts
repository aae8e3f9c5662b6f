import { DD_ROUNDING, dd, ddAdd, ddMultiply, ddPower, exponentOf, scaled, twoSum } from '../../double-double.ts';
import type { Coordinates } from './coordinates.ts';
import { absolute, numberOf, signOf, wholeOf } from './rationals.ts';

/** A query and a point, each by its number among coordinates. */
export interface Pair {
  readonly queries: Coordinates;
  readonly query: number;
  readonly points: Coordinates;
  readonly point: number;
}

/** The |δ| of the axes of a pair, as sums of two f64. */
interface Gaps {
  count: number;
  highs: Float64Array;
  lows: Float64Array;
  /** Whether the gaps have no rounding error. */
  areExact: boolean;
}

const emptyGaps = (): Gaps => ({ count: 0, highs: new Float64Array(4), lows: new Float64Array(4), areExact: true });

/** Room for gaps that is used again, because searches ask for millions of distances. */
const [FIRST, SECOND] = [emptyGaps(), emptyGaps()];

function gapsOf({ queries, query, points, point }: Pair, gaps: Gaps): Gaps {
  const count = queries.dimensions;
  if (gaps.highs.length < count) {
    gaps.highs = new Float64Array(count);
    gaps.lows = new Float64Array(count);
  }
  gaps.count = count;
  gaps.areExact = true;
  const [from, to] = [query * count, point * count];
  for (let d = 0; d < count; d++) {
    twoSum(queries.values[from + d]!, -points.values[to + d]!);
    if (queries.rests !== undefined || points.rests !== undefined) {
      const high = dd.high;
      twoSum(dd.low, (queries.rests?.[from + d] ?? 0) - (points.rests?.[to + d] ?? 0));
      gaps.areExact &&= dd.low === 0;
      twoSum(high, dd.high);
    }
    gaps.highs[d] = Math.abs(dd.high);
    gaps.lows[d] = dd.high < 0 ? -dd.low : dd.low;
  }
  return gaps;
}

/** Sorts gaps, largest first. */
function sorted(gaps: Gaps): Gaps {
  const { count, highs, lows } = gaps;
  for (let d = 1; d < count; d++) {
    const [high, low] = [highs[d]!, lows[d]!];
    let at = d;
    for (; at > 0 && isLess(highs[at - 1]!, lows[at - 1]!, high, low); at--) {
      highs[at] = highs[at - 1]!;
      lows[at] = lows[at - 1]!;
    }
    highs[at] = high;
    lows[at] = low;
  }
  return gaps;
}

function greatestGap({ count, highs }: Gaps): number {
  let max = 0;
  for (let d = 0; d < count; d++) if (highs[d]! > max) max = highs[d]!;
  return max;
}

const isLess = (aHigh: number, aLow: number, bHigh: number, bLow: number): boolean =>
  aHigh < bHigh || (aHigh === bHigh && aLow < bLow);

/**
 * Compares the distances of two points from a query, Σ |δ|^p, as real numbers: the sign of the first minus the second.
 * For p = ∞, compares the maxima of |δ|.
 */
export function comparePowers(power: number, a: Pair, b: Pair): number {
  const [left, right] = [gapsOf(a, FIRST), gapsOf(b, SECOND)];
  if (!left.areExact || !right.areExact) return compareWhole(power, a, b);
  if (power === Number.POSITIVE_INFINITY) {
    const [mine, others] = [sorted(left), sorted(right)];
    return Math.sign(mine.highs[0]! - others.highs[0]! || mine.lows[0]! - others.lows[0]!);
  }
  if (areSame(left, right)) return 0;
  const [mine, others] = withoutCommon(sorted(left), sorted(right));
  const signs = new Set<number>();
  for (let d = 0; d < mine.count; d++) {
    const sign = Math.sign(mine.highs[d]! - others.highs[d]! || mine.lows[d]! - others.lows[d]!);
    if (sign !== 0) signs.add(sign);
  }
  // If no gap of one point is smaller than the gap of the other point at the same place, no sum is needed.
  if (signs.size <= 1) return [...signs][0] ?? 0;
  const exponent = exponentOf(Math.max(mine.highs[0]!, others.highs[0]!));
  const sums = [mine, others].map((gaps) => {
    sumOfPowers(gaps, power, exponent);
    return { ...dd };
  });
  const difference = sums[0]!.high - sums[1]!.high + (sums[0]!.low - sums[1]!.low);
  const error = (4 * power + mine.count) * DD_ROUNDING * (sums[0]!.high + sums[1]!.high) + Number.MIN_VALUE * 2 ** 20;
  return Math.abs(difference) > error ? Math.sign(difference) : compareWhole(power, a, b);
}

function areSame(a: Gaps, b: Gaps): boolean {
  for (let d = 0; d < a.count; d++) if (a.highs[d] !== b.highs[d] || a.lows[d] !== b.lows[d]) return false;
  return true;
}

/** Takes those gaps off two lists that occur in both. Both lists lose the same number of gaps. */
function withoutCommon(a: Gaps, b: Gaps): [Gaps, Gaps] {
  const [left, right] = [kept(a.count), kept(b.count)];
  for (let i = 0, j = 0; i < a.count || j < b.count; ) {
    const isLeft = j === b.count || (i < a.count && isLess(b.highs[j]!, b.lows[j]!, a.highs[i]!, a.lows[i]!));
    const isEqual = i < a.count && j < b.count && a.highs[i] === b.highs[j] && a.lows[i] === b.lows[j];
    if (isEqual) {
      i++;
      j++;
    } else if (isLeft) left.add(a, i++);
    else right.add(b, j++);
  }
  return [left.gaps(), right.gaps()];
}

function kept(max: number) {
  const [highs, lows] = [new Float64Array(max), new Float64Array(max)];
  let count = 0;
  return {
    add(from: Gaps, i: number): void {
      highs[count] = from.highs[i]!;
      lows[count++] = from.lows[i]!;
    },
    gaps: (): Gaps => ({ count, highs, lows, areExact: true }),
  };
}

/** Sets `dd` to the sum of the powers of gaps · 2^−exponent. */
function sumOfPowers({ count, highs, lows }: Gaps, power: number, exponent: number): void {
  let [high, low] = [0, 0];
  for (let d = count - 1; d >= 0; d--) {
    ddPower(scaled(highs[d]!, -exponent), scaled(lows[d]!, -exponent), power);
    ddAdd(high, low, dd.high, dd.low);
    ({ high, low } = dd);
  }
  dd.high = high;
  dd.low = low;
}

/** Compares sums of powers in whole numbers. */
function compareWhole(power: number, a: Pair, b: Pair): number {
  const { numbers } = wholeOf([
    [a.queries, a.query],
    [a.points, a.point],
    [b.points, b.point],
  ]);
  const [from, left, right] = numbers as [bigint[], bigint[], bigint[]];
  return signOf(wholePowers(power, from, left) - wholePowers(power, from, right));
}

function wholePowers(power: number, a: readonly bigint[], b: readonly bigint[]): bigint {
  const gaps = a.map((x, d) => absolute(x - b[d]!));
  if (power === Number.POSITIVE_INFINITY) return largestWhole(gaps);
  return gaps.reduce((sum, gap) => sum + gap ** BigInt(power), 0n);
}

function largestWhole(numbers: readonly bigint[]): bigint {
  let largest = 0n;
  for (const number of numbers) if (number > largest) largest = number;
  return largest;
}

/** The distance (Σ |δ|^p)^(1/p) of a pair, within one ulp. For p = ∞, the maximum |δ|. */
export function rootOfPowers(power: number, pair: Pair): number {
  const gaps = gapsOf(pair, FIRST);
  const max = greatestGap(gaps);
  if (max === 0) return 0;
  // A distance along one axis is the gap, without a root.
  if (power === Number.POSITIVE_INFINITY || isAlone(gaps)) return gaps.areExact ? max : maxOfWhole(pair);
  const exponent = exponentOf(max);
  sumOfPowers(gaps, power, exponent);
  const { high, low } = dd;
  if (power === 1) return scaled(high, exponent);
  // One step of Newton's method with a residual of twice the digits.
  const root = power === 2 ? Math.sqrt(high) : high ** (1 / power);
  ddPower(root, 0, power);
  const residual = high - dd.high + (low - dd.low);
  return scaled(root + (residual * root) / (power * dd.high), exponent);
}

function isAlone({ count, highs }: Gaps): boolean {
  let apart = 0;
  for (let d = 0; d < count; d++) if (highs[d]! > 0) apart++;
  return apart === 1;
}

function maxOfWhole({ queries, query, points, point }: Pair): number {
  const { numbers, exponent } = wholeOf([
    [queries, query],
    [points, point],
  ]);
  return numberOf(wholePowers(Number.POSITIVE_INFINITY, numbers[0]!, numbers[1]!), exponent);
}

/** Sets `dd` to the inner product of a pair, and returns a bound of its error. */
export function dotProduct({ queries, query, points, point }: Pair): number {
  const count = queries.dimensions;
  const [from, to] = [query * count, point * count];
  let [high, low, size, least] = [0, 0, 0, Number.POSITIVE_INFINITY];
  for (let d = 0; d < count; d++) {
    const [a, b] = [queries.values[from + d]!, points.values[to + d]!];
    if (a === 0 || b === 0) continue;
    ddMultiply(a, queries.rests?.[from + d] ?? 0, b, points.rests?.[to + d] ?? 0);
    const product = Math.abs(dd.high);
    size += product;
    least = Math.min(least, product, Math.abs(a), Math.abs(b));
    ddAdd(high, low, dd.high, dd.low);
    ({ high, low } = dd);
  }
  dd.high = high;
  dd.low = low;
  const isInRange = size < MAX_PRODUCT && least > MIN_PRODUCT;
  return size === 0 || isInRange ? (count + 8) * DD_ROUNDING * size : Number.POSITIVE_INFINITY;
}

/** Products between these bounds, and their rounding errors, are within the range of f64, and so are the factors split. */
const [MIN_PRODUCT, MAX_PRODUCT] = [2 ** -850, 2 ** 900];
