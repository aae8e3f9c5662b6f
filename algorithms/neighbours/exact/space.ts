import { dd, exponentOf, scaled, twoSum } from '../../double-double.ts';
import { piecewise, type Stretches } from '../../stretches.ts';
import { type Coordinates, countOf, medianPoint } from './coordinates.ts';
import { L1, L2, MAX, type Norm, PRODUCT } from './norms.ts';
import { EARTH_RADIUS, placeOnSphere } from './sphere.ts';

/** Vectors of points or queries in a {@link Space}. */
export interface Vectors {
  readonly vectors: Float64Array;
  /** Bound of the error of every coordinate. 0 if the vectors are exact. */
  readonly error: number;
}

/**
 * Vectors in f64 whose norm leads to the nearest points: a norm of differences, or the negated inner product. The norm
 * gives bounds of the distance, not the distance.
 */
export interface Space {
  /** Number of coordinates of a vector. */
  readonly width: number;
  readonly norm: Norm;
  place(coordinates: Coordinates): Stretches<Vectors>;
  /** The smallest distance that two points can have whose vectors are at least so far apart. */
  leastOf(norm: number): number;
  /** How far apart the vectors of two points within a distance can be. */
  normOf(radius: number): number;
  /** By which factor, at most, the norms of points at the same distance differ. */
  readonly spread: number;
  /** Whether points with the same vector count as equally far from every query even if vectors have errors. */
  readonly isFaithful: boolean;
}

const same = { leastOf: (norm: number) => norm, normOf: (radius: number) => radius, spread: 1 };

/** For (Σ |δ|^p)^(1/p), or max |δ|, of power +∞. */
export function differenceSpace(power: number, points: Coordinates): Space {
  const width = points.dimensions;
  const all = { width, place: differencesFrom(points), isFaithful: false };
  if (power === 1) return { ...all, norm: L1, ...same };
  // (Σ |δ|^p)^(1/p) is at least max |δ|. It is at most the norm of l2, and at least a share of it. The closer one leads.
  if (power >= 4) return { ...all, norm: MAX, ...same, spread: width ** (1 / power) };
  const spread = width ** (1 / 2 - 1 / power);
  return { ...all, norm: L2, leastOf: (norm) => norm / spread, normOf: (radius) => radius * spread, spread };
}

/** For the negated inner product. Products have relative errors only, for which bounds leave room. */
export function productSpace({ dimensions }: Coordinates): Space {
  return { width: dimensions, norm: PRODUCT, place: asTheyAre, isFaithful: false, ...same };
}

/** For 1 − cos. */
export function directionSpace({ dimensions }: Coordinates): Space {
  return {
    ...{ width: dimensions, norm: L2, place: directionsOf, isFaithful: true, spread: 1 },
    leastOf: (norm) => norm ** 2 / 2,
    normOf: (radius) => Math.sqrt(2 * radius),
  };
}

/** For great circles. */
export function sphereSpace(): Space {
  return {
    ...{ width: 3, norm: L2, place: placeAll, isFaithful: true, spread: 1 },
    leastOf: (norm) => 2 * EARTH_RADIUS * Math.asin(Math.min(1, norm / 2)),
    normOf: (radius) => (radius >= Math.PI * EARTH_RADIUS ? 2 : 2 * Math.sin(radius / EARTH_RADIUS / 2)),
  };
}

function* asTheyAre({ values, rests }: Coordinates): Stretches<Vectors> {
  if (rests === undefined) return { vectors: values, error: 0 };
  let size = 0;
  yield* piecewise(0, values.length, (from, to) => {
    size = Math.max(size, greatest(values.subarray(from, to)));
  });
  return { vectors: values, error: size * 2 ** -53 };
}

/** The greatest absolute value. */
export function greatest(values: Float64Array): number {
  let max = 0;
  for (const x of values) max = Math.max(max, Math.abs(x));
  return max;
}

/**
 * Coordinates as they are or, if f64 does not hold them, minus those of a median point. What is subtracted changes no
 * difference, and leaves digits for the rests.
 */
function differencesFrom(points: Coordinates): Space['place'] {
  const { dimensions, rests } = points;
  if (rests === undefined) return asTheyAre;
  const axes = Array.from({ length: dimensions }, (_, d) => medianPoint(points, d) * dimensions + d);
  const [origin, originRests] = [axes.map((i) => points.values[i]!), axes.map((i) => rests[i]!)];
  return function* ({ values, rests }) {
    const vectors = new Float64Array(values.length);
    let isExact = true;
    yield* piecewise(0, vectors.length, (from, to) => {
      for (let i = from; i < to; i++) {
        const d = i % dimensions;
        twoSum(values[i]!, -origin[d]!);
        const { high, low } = dd;
        twoSum(low, (rests?.[i] ?? 0) - originRests[d]!);
        isExact &&= dd.low === 0;
        twoSum(high, dd.high);
        isExact &&= dd.low === 0;
        vectors[i] = dd.high;
      }
    });
    return { vectors, error: isExact ? 0 : greatest(vectors) * 2 ** -51 };
  };
}

/** Vectors of length 1 in the directions of points. A vector of zeros stays as it is. */
function* directionsOf({ dimensions, values }: Coordinates): Stretches<Vectors> {
  const vectors = new Float64Array(values.length);
  const turn = (first: number): void => {
    // The quotients are the same for all multiples of a vector, and their squares stay within the range of f64.
    const max = greatest(values.subarray(first, first + dimensions));
    if (max === 0) return;
    const exponent = exponentOf(max);
    const divisor = scaled(max, -exponent);
    let squares = 0;
    for (let i = first; i < first + dimensions; i++) {
      vectors[i] = scaled(values[i]!, -exponent) / divisor;
      squares += vectors[i]! ** 2;
    }
    const length = Math.sqrt(squares);
    for (let i = first; i < first + dimensions; i++) vectors[i]! /= length;
  };
  yield* piecewise(0, values.length / dimensions, (from, to) => {
    for (let i = from; i < to; i++) turn(i * dimensions);
  });
  return { vectors, error: (dimensions + 12) * 2 ** -53 };
}

function* placeAll(coordinates: Coordinates): Stretches<Vectors> {
  const { values } = coordinates;
  const count = countOf(coordinates);
  const vectors = new Float64Array(3 * count);
  yield* piecewise(0, count, (from, to) => {
    for (let i = from; i < to; i++) placeOnSphere(values[2 * i]!, values[2 * i + 1]!, vectors, 3 * i);
  });
  return { vectors, error: 2 ** -49 };
}
