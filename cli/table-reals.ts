import { dd, twoProduct } from '../algorithms/double-double.ts';
import { fractionOf, ratio } from '../algorithms/exact-ratio.ts';
import type { HostColumn } from '../algorithms/tables/index.ts';
import { isSet } from '../formats/tables/bits.ts';
import { roomy } from './table-sums.ts';

/** Sum, average and variance of the floats of each group. */
export interface RealSums {
  /** Adds values to their groups: the values of all rows, or only of the rows in `places`. */
  add(values: HostColumn, groups: Uint32Array, places: Uint32Array | undefined): void;
  sum(group: number): number | undefined;
  average(group: number): number | undefined;
  variance(group: number): number | undefined;
  readonly bytes: number;
}

/**
 * Creates sums of f32 or f64 values, and sums of their squares if variances are asked for. All are exact, so each result
 * is rounded once, and does not depend on the order of rows or on how the file is divided into parts.
 */
export function realSums(withSquares: boolean): RealSums {
  let count = new Float64Array(16);
  /** What values that are not finite add up to. */
  const special = new Map<number, number>();
  const sums = exactNumbers();
  const squares = exactNumbers();

  function addOne(group: number, value: number): void {
    if (group >= count.length) count = roomy(count, group);
    count[group]!++;
    if (!Number.isFinite(value)) special.set(group, (special.get(group) ?? 0) + value);
    else {
      sums.add(group, value);
      if (withSquares) squares.addSquare(group, value);
    }
  }

  const resultOf = (group: number, atLeast: number, result: (n: number) => number): number | undefined => {
    const n = count[group] ?? 0;
    return n < atLeast ? undefined : (special.get(group) ?? result(n));
  };
  return {
    add({ validity, ...column }, groups, places) {
      const { values } = column as { values: Float64Array };
      for (let i = 0; i < groups.length; i++) {
        const row = places === undefined ? i : places[i]!;
        if (validity === undefined || isSet(validity, row)) addOne(groups[i]!, values[row]!);
      }
    },
    sum: (group) => resultOf(group, 1, () => sums.over(group, 1)),
    average: (group) => resultOf(group, 1, (n) => sums.over(group, n)),
    variance(group) {
      if (special.has(group) && count[group]! > 1) return Number.NaN;
      return resultOf(group, 2, (count) => {
        const [n, sum, square] = [BigInt(count), sums.at(group), squares.at(group)];
        const numerator = n * square.numerator * sum.denominator ** 2n - sum.numerator ** 2n * square.denominator;
        return ratio(numerator, n * (n - 1n) * square.denominator * sum.denominator ** 2n);
      });
    },
    get bytes() {
      return count.byteLength + 64 * special.size + sums.bytes + squares.bytes;
    },
  };
}

interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** An exact sum of f64 for each group. */
interface ExactNumbers {
  add(group: number, value: number): void;
  addSquare(group: number, value: number): void;
  at(group: number): Fraction;
  /** The sum divided by a whole number, rounded once. */
  over(group: number, divisor: number): number;
  readonly bytes: number;
}

/** Sums in f64 are kept below this magnitude, so that no step is infinite. */
const MAX_STEP = 2 ** 1020;
/** Squares of magnitudes between these have parts that f64 holds. */
const [MIN_ROOT, MAX_ROOT] = [2 ** -450, 2 ** 500];

/**
 * Every sum has three parts in f64. The rounding error of an addition is an f64 itself (Knuth, TAOCP 4.2.2), so it goes to
 * the next part; what the last part cannot hold goes to a fraction.
 */
function exactNumbers(): ExactNumbers {
  const parts: [Float64Array<ArrayBuffer>, Float64Array<ArrayBuffer>, Float64Array<ArrayBuffer>] = [
    new Float64Array(16),
    new Float64Array(16),
    new Float64Array(16),
  ];
  const rests = new Map<number, Fraction>();
  const addRest = (group: number, more: Fraction): void => {
    rests.set(group, plus(rests.get(group) ?? NOTHING, more));
  };

  function add(group: number, value: number): void {
    if (group >= parts[0].length) for (const k of [0, 1, 2] as const) parts[k] = roomy(parts[k], group);
    let rest = value;
    for (let k = 0; k < 3 && rest !== 0; k++) {
      const before = parts[k]![group]!;
      const sum = before + rest;
      if (!(Math.abs(sum) < MAX_STEP)) break;
      const added = sum - before;
      parts[k]![group] = sum;
      rest = before - (sum - added) + (rest - added);
    }
    if (rest !== 0) addRest(group, fractionOf(rest));
  }

  const at = (group: number): Fraction =>
    parts.reduce((sum, part) => plus(sum, fractionOf(part[group] ?? 0)), rests.get(group) ?? NOTHING);
  return {
    add,
    addSquare(group, value) {
      const size = Math.abs(value);
      if (size !== 0 && !(size > MIN_ROOT && size < MAX_ROOT)) {
        const { numerator, denominator } = fractionOf(size);
        addRest(group, { numerator: numerator ** 2n, denominator: denominator ** 2n });
        return;
      }
      twoProduct(size, size);
      add(group, dd.high);
      add(group, dd.low);
    },
    at,
    over(group, divisor) {
      const quotient = rests.has(group)
        ? undefined
        : quotientOf(
            parts.map((part) => part[group] ?? 0),
            divisor,
          );
      if (quotient !== undefined) return quotient;
      const { numerator, denominator } = at(group);
      return ratio(numerator, denominator * BigInt(divisor));
    },
    get bytes() {
      return 3 * parts[0].byteLength + 128 * rests.size;
    },
  };
}

/** Magnitudes of sums whose quotients are found without bigints. */
const [MIN_SUM, MAX_SUM] = [2 ** -800, 2 ** 900];

/**
 * The sum of three numbers, each far smaller than the one before, divided by a whole number, or undefined if its rounding
 * is hard to tell. The rest of the division is known to 50 bits, and the margin is 2^10 times the error.
 */
function quotientOf([high, middle, low]: readonly number[], divisor: number): number | undefined {
  const sum = high! + middle!;
  const lost = middle! - (sum - high!);
  if (sum === 0 || (lost === 0 && low === 0)) return lost === 0 && low === 0 ? sum / divisor : undefined;
  const size = Math.abs(sum);
  if (!(size > MIN_SUM && size < MAX_SUM && Math.abs(middle!) < Math.abs(high!))) return undefined;
  const quotient = sum / divisor;
  twoProduct(quotient, divisor);
  const rest = (sum - dd.high - dd.low + lost + low!) / divisor;
  const margin = Math.abs(quotient) * 2 ** -90;
  const found = quotient + (rest - margin);
  return found === quotient + (rest + margin) ? found : undefined;
}

const NOTHING: Fraction = { numerator: 0n, denominator: 1n };

/** The sum of fractions whose denominators are powers of two. */
function plus(a: Fraction, b: Fraction): Fraction {
  const [wide, narrow] = a.denominator > b.denominator ? [a, b] : [b, a];
  return {
    numerator: wide.numerator + narrow.numerator * (wide.denominator / narrow.denominator),
    denominator: wide.denominator,
  };
}
