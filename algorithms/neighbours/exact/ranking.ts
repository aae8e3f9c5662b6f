import { dd, ddAdd, ddMultiply, twoProduct } from '../../double-double.ts';
import type { Coordinates } from './coordinates.ts';
import { MAX_SQUARES, MIN_SQUARES } from './norms.ts';
import { comparePowers, dotProduct, type Pair, rootOfPowers } from './power-sums.ts';
import { dotOf, numberOf, ratioOf, signOf, wholeOf } from './rationals.ts';
import { greatCircle } from './sphere.ts';

/** The distances of queries and points as real numbers. */
export interface Ranking {
  /** What {@link approximate} finds. */
  readonly found: { value: number; error: number };
  /** Finds the distance of a query and a point in f64, and a bound of its error. */
  approximate(query: number, point: number): void;
  /** The sign of the distance of `a` minus the distance of `b`, both from the same query. Exact. */
  compare(query: number, a: number, b: number): number;
  /** The distance, within one ulp. Those of `cosine` and `sphere` have a few rounding errors. */
  distance(query: number, point: number): number;
}

/** Points or queries: their coordinates, and the vectors by which they are searched for. */
export interface Placed {
  readonly coordinates: Coordinates;
  readonly vectors: Float64Array;
}

const pairOf = (queries: Coordinates, query: number, points: Coordinates, point: number): Pair => ({
  ...{ queries, query, points, point },
});

/** Relative rounding error of an f64 operation. */
const ROUNDING = 2 ** -53;

/** By (Σ |δ|^p)^(1/p); by max |δ| if the power is +∞. */
export function byPowers(power: number, { coordinates: queries }: Placed, { coordinates: points }: Placed): Ranking {
  const { dimensions, values: from, rests: fromRests } = queries;
  const { values: to, rests: toRests } = points;
  const found = { value: 0, error: 0 };
  const share = 2 * (dimensions + 16) * ROUNDING;
  const gap = (i: number, j: number): number => {
    const between = from[i]! - to[j]!;
    if (fromRests === undefined && toRests === undefined) return Math.abs(between);
    return Math.abs(between + ((fromRests?.[i] ?? 0) - (toRests?.[j] ?? 0)));
  };
  const maxOf = (first: number, other: number): number => {
    let max = 0;
    for (let d = 0; d < dimensions; d++) max = Math.max(max, gap(first + d, other + d));
    return max;
  };
  const distanceOf = (first: number, other: number): number => {
    if (power === 1) {
      let sum = 0;
      for (let d = 0; d < dimensions; d++) sum += gap(first + d, other + d);
      return sum;
    }
    if (power === 2) {
      let sum = 0;
      for (let d = 0; d < dimensions; d++) {
        const between = gap(first + d, other + d);
        sum += between * between;
      }
      if (sum > MIN_SQUARES && sum < MAX_SQUARES) return Math.sqrt(sum);
    }
    const max = maxOf(first, other);
    if (max === 0 || power === Number.POSITIVE_INFINITY) return max;
    let sum = 0;
    for (let d = 0; d < dimensions; d++) sum += (gap(first + d, other + d) / max) ** power;
    return max * sum ** (1 / power);
  };
  return {
    found,
    approximate(query, point) {
      found.value = distanceOf(query * dimensions, point * dimensions);
      found.error = share * found.value;
    },
    compare: (query, a, b) =>
      comparePowers(power, pairOf(queries, query, points, a), pairOf(queries, query, points, b)),
    distance: (query, point) => rootOfPowers(power, pairOf(queries, query, points, point)),
  };
}

/** By great circles. */
export function onSphere(queries: Placed, points: Placed): Ranking {
  const { values: from } = queries.coordinates;
  const { values: to } = points.coordinates;
  const found = { value: 0, error: 0 };
  const distance = (query: number, point: number): number =>
    greatCircle(from[2 * query]!, from[2 * query + 1]!, to[2 * point]!, to[2 * point + 1]!);
  return {
    found,
    approximate(query, point) {
      found.value = distance(query, point);
    },
    compare: (query, a, b) => distance(query, a) - distance(query, b),
    distance,
  };
}

/** By the negated inner product. */
export function byProduct({ coordinates: queries }: Placed, { coordinates: points }: Placed): Ranking {
  const { dimensions, values: from } = queries;
  const { values: to } = points;
  const found = { value: 0, error: 0 };
  // The rests of integers beyond 2^53 are taken for rounding errors.
  const share = 2 * (dimensions + 8) * ROUNDING;
  const whole = (query: number, ...some: readonly number[]) =>
    wholeOf([[queries, query], ...some.map((point) => [points, point] as const)]);
  return {
    found,
    approximate(query, point) {
      let [sum, size] = [0, 0];
      for (let d = 0; d < dimensions; d++) {
        const product = from[query * dimensions + d]! * to[point * dimensions + d]!;
        sum += product;
        size += Math.abs(product);
      }
      const isInRange = size < Number.MAX_VALUE / 2;
      found.value = isInRange ? -sum + 0 : 0;
      found.error = isInRange ? share * size + 2 * dimensions * Number.MIN_VALUE : Number.POSITIVE_INFINITY;
    },
    compare(query, a, b) {
      const [asked, left, right] = whole(query, a, b).numbers as [bigint[], bigint[], bigint[]];
      return signOf(dotOf(asked, right) - dotOf(asked, left));
    },
    distance(query, point) {
      const error = dotProduct(pairOf(queries, query, points, point));
      const { high } = dd;
      if (error === 0 || error < Math.abs(high) * ROUNDING) return 0 - high;
      const { numbers, exponent } = whole(query, point);
      return 0 - numberOf(dotOf(numbers[0]!, numbers[1]!), 2 * exponent);
    },
  };
}

/**
 * By 1 − cos, with the vectors of length 1 for what f64 can tell apart. A point at 0 is at distance 1 from everything.
 */
export function byAngle(queries: Placed, points: Placed): Ranking {
  const { dimensions } = queries.coordinates;
  const { vectors: from } = queries;
  const { vectors: to } = points;
  const found = { value: 0, error: 0 };
  const isZero = (vectors: Float64Array, i: number): boolean => {
    for (let d = i * dimensions; d < (i + 1) * dimensions; d++) if (vectors[d] !== 0) return false;
    return true;
  };
  /** Bound of the error of a vector of length 1. */
  const unitError = (dimensions + 12) * ROUNDING;
  const whole = ({ coordinates }: Placed, point: number) => wholeOf([[coordinates, point]]).numbers[0]!;
  return {
    found,
    approximate(query, point) {
      if (isZero(from, query) || isZero(to, point)) {
        found.value = 1;
        found.error = 0;
        return;
      }
      let sum = 0;
      for (let d = 0; d < dimensions; d++) {
        const between = from[query * dimensions + d]! - to[point * dimensions + d]!;
        sum += between * between;
      }
      found.value = sum / 2;
      found.error = 4 * unitError * (Math.sqrt(sum) + sum + unitError);
    },
    compare(query, a, b) {
      if (areMultiples(points.coordinates, a, points.coordinates, b)) return 0;
      const [asked, left, right] = [whole(queries, query), whole(points, a), whole(points, b)];
      const [dotA, dotB] = [dotOf(asked, left), dotOf(asked, right)];
      const [sizeA, sizeB] = [dotOf(left, left), dotOf(right, right)];
      // cos is dot ÷ (|query| |point|). A zero vector has dot 0.
      const cosineA = BigInt(signOf(dotA)) * dotA * dotA * (sizeB === 0n ? 1n : sizeB);
      const cosineB = BigInt(signOf(dotB)) * dotB * dotB * (sizeA === 0n ? 1n : sizeA);
      return signOf(cosineB - cosineA);
    },
    distance(query, point) {
      if (isZero(from, query) || isZero(to, point)) return 1;
      if (areMultiples(queries.coordinates, query, points.coordinates, point)) return 0;
      return angleInTwice(queries.coordinates, query, points.coordinates, point) ?? angleInWhole(query, point);
    },
  };

  function angleInWhole(query: number, point: number): number {
    const [a, b] = [whole(queries, query), whole(points, point)];
    const [dot, both] = [dotOf(a, b), dotOf(a, a) * dotOf(b, b)];
    const size = Math.sqrt(ratioOf(dot * dot, both));
    return dot < 0n ? 1 + size : ratioOf(both - dot * dot, both) / (1 + size);
  }
}

/**
 * Whether two points are positive multiples of one vector, by the products of their coordinates, which are exact. False
 * also for multiples whose products leave the range of f64: these are compared as whole numbers.
 */
function areMultiples(a: Coordinates, i: number, b: Coordinates, j: number): boolean {
  if (a.rests !== undefined || b.rests !== undefined) return false;
  const { dimensions } = a;
  const [from, to] = [i * dimensions, j * dimensions];
  let axis = 0;
  for (let d = 1; d < dimensions; d++) if (Math.abs(a.values[from + d]!) > Math.abs(a.values[from + axis]!)) axis = d;
  const [most, other] = [a.values[from + axis]!, b.values[to + axis]!];
  if (!(most * other > 0)) return false;
  for (let d = 0; d < dimensions; d++) {
    const [x, y] = [a.values[from + d]!, b.values[to + d]!];
    if (!isShort(x) || !isShort(y)) return false;
    twoProduct(most, y);
    const { high, low } = dd;
    twoProduct(x, other);
    if (high !== dd.high || low !== dd.low) return false;
  }
  return true;
}

/** Whether all digits of a product with such a number are in the range of f64. */
function isShort(x: number): boolean {
  return x === 0 || (Math.abs(x) > 2 ** -450 && Math.abs(x) < 2 ** 450);
}

/** 1 − cos in numbers of twice the digits of f64; undefined where these do not do. */
function angleInTwice(queries: Coordinates, query: number, points: Coordinates, point: number): number | undefined {
  const error = dotProduct(pairOf(queries, query, points, point));
  const dot = { ...dd };
  const errorA = dotProduct(pairOf(queries, query, queries, query));
  const a = { ...dd };
  const errorB = dotProduct(pairOf(points, point, points, point));
  ddMultiply(a.high, a.low, dd.high, dd.low);
  const both = { ...dd };
  if (!(Math.max(error, errorA, errorB) < 2 ** 400 && both.high > 2 ** -400)) return undefined;
  ddMultiply(dot.high, dot.low, dot.high, dot.low);
  const size = Math.sqrt(dd.high / both.high);
  if (dot.high < 0 && size > 2 ** -20) return 1 + size;
  ddAdd(both.high, both.low, -dd.high, -dd.low);
  if (dd.high < 2 ** -30 * both.high) return undefined;
  return dd.high / both.high / (1 + Math.sign(dot.high) * size);
}
