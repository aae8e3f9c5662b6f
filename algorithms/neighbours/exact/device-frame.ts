import { exponentOf, scaled } from '../../double-double.ts';
import { piecewise, type Stretches } from '../../stretches.ts';
import { medianPoint } from './coordinates.ts';
import { L2, type Norm } from './norms.ts';
import { greatest, type Space, type Vectors } from './space.ts';

/** Vectors in f32, as the device searches them. */
export interface DeviceVectors {
  readonly elements: Float32Array;
  /** For each vector, a bound of the error of its norm, and of the norm of a point near it; +∞ if f32 has no place. */
  readonly errors: Float64Array;
}

/** How vectors in f64 become vectors in f32, and what the device's distances say about the distances in f64. */
export interface DeviceFrame {
  readonly points: Float32Array;
  place(queries: Vectors): Stretches<DeviceVectors>;
  /** The norm that vectors have at least if the device finds them at a distance, or farther. */
  leastNorm(deviceDistance: number, error: number): number;
  /** The radius within which the device finds all vectors of at most this norm. */
  deviceRadius(norm: number, error: number): number;
  /** Whether the device finds few vectors farther away, with such an error, than those of at most this norm. */
  isNear(norm: number, error: number): boolean;
}

/** Relative rounding error of an f32 operation. */
const ROUNDING = 2 ** -24;
/** Magnitudes for which coordinates are not scaled. */
const [MIN_SIZE, MAX_SIZE] = [2 ** -20, 2 ** 40];
/** Magnitude to which other coordinates are scaled, as an exponent. */
const SCALED_SIZE = 30;
/** Maximum magnitude of a query. With it, no square of a difference leaves f32. */
const MAX_QUERY = 2 ** 60;
/** Bound of what differences and squares lose that are too small for f32, per coordinate, as a distance. */
const LOST = 2 ** -62;
/** A radius leads to candidates on the device if errors are at most this share of it. */
const MAX_ERROR = 1 / 8;

/**
 * Rounds vectors to f32, after subtracting a median and scaling by a power of two if f32 does not hold them as they are.
 * Products are not invariant under translation, so for these nothing is subtracted.
 *
 * For the bounds, let u be the rounding error of f32. Let q and p be a query and a point in f64, in the frame of the
 * device; a and b what f32 makes of them; and D the number of coordinates. A coordinate of a is off by at most u |a| and
 * a rounding error of f64, and so is b, where |b| ≤ |a| + |a − b|. So the norm of a − b is off from that of q − p by at
 * most 2.1 u |a| + 1.1 u |a − b|. The device rounds each difference, each square or absolute value and each sum, so it
 * finds the norm of a − b with a relative error of at most (D + 4) u, and of at most {@link LOST} for each coordinate
 * whose square is too small for f32. Devices may differ in these.
 */
export function* deviceFrame(space: Space, points: Vectors): Stretches<DeviceFrame> {
  const { width, norm } = space;
  const { vectors } = points;
  const size = greatest(vectors);
  const isExact = points.error === 0 && (size === 0 || isWithin(size)) && (yield* areFloats(vectors));
  const coordinates = { dimensions: width, values: vectors, rests: undefined };
  const offset =
    isExact || norm.of === undefined
      ? new Float64Array(width)
      : Float64Array.from({ length: width }, (_, d) => vectors[medianPoint(coordinates, d) * width + d] ?? 0);
  const exponent = isExact ? 0 : yield* exponentFor(vectors, offset);
  const rounded = yield* roundedTo(vectors, offset, exponent);
  const share = 1 - 2 * (width + 16) * ROUNDING;
  const longest = norm.of === undefined ? longestOf(rounded, width) : 0;
  const lost = width * LOST;

  return {
    points: rounded,
    *place(queries) {
      const elements = yield* roundedTo(queries.vectors, offset, exponent);
      const areExact = isExact && queries.error === 0 && (yield* areFloats(queries.vectors));
      const fixed = scaled(width * (points.error + queries.error), exponent) + lost;
      const errors = new Float64Array(elements.length / width);
      for (let i = 0; i < errors.length; i++) {
        const own = elements.subarray(i * width, (i + 1) * width);
        if (!own.every((x) => Math.abs(x) <= MAX_QUERY)) errors[i] = Number.POSITIVE_INFINITY;
        else if (norm.of === undefined) errors[i] = (width + 8) * 1.1 * ROUNDING * lengthOf(own) * longest + lost;
        else errors[i] = fixed + (areExact ? 0 : 2.2 * ROUNDING * normOf(norm.of, own));
      }
      return { elements, errors };
    },
    leastNorm(found, error) {
      if (norm.of === undefined) return scaled(found - error, -2 * exponent);
      return scaled(Math.max(0, norm.ofDistance(found) * share - error), -exponent);
    },
    deviceRadius,
    isNear: (radius, error) =>
      error < Number.POSITIVE_INFINITY &&
      (norm.of === undefined || error <= Math.abs(deviceRadius(radius, 0)) * MAX_ERROR),
  };

  function deviceRadius(radius: number, error: number): number {
    if (norm.of === undefined) return roundedUp(scaled(radius, 2 * exponent) + error);
    const apart = (scaled(radius, exponent) + error) / share;
    return apart < MAX_QUERY ? roundedUp(apart) : Number.POSITIVE_INFINITY;
  }
}

const isWithin = (size: number): boolean => size >= MIN_SIZE && size <= MAX_SIZE;

/** Whether f32 holds all numbers. */
function* areFloats(numbers: Float64Array): Stretches<boolean> {
  let areSo = true;
  yield* piecewise(0, numbers.length, (from, to) => {
    for (let i = from; i < to && areSo; i++) areSo = Math.fround(numbers[i]!) === numbers[i];
  });
  return areSo;
}

function* exponentFor(vectors: Float64Array, offset: Float64Array): Stretches<number> {
  let size = 0;
  yield* piecewise(0, vectors.length, (from, to) => {
    for (let i = from; i < to; i++) size = Math.max(size, Math.abs(vectors[i]! - offset[i % offset.length]!));
  });
  return size === 0 || isWithin(size) ? 0 : SCALED_SIZE - exponentOf(size);
}

function* roundedTo(vectors: Float64Array, offset: Float64Array, exponent: number): Stretches<Float32Array> {
  const elements = new Float32Array(vectors);
  const width = offset.length;
  if (exponent === 0 && offset.every((x) => x === 0)) return elements;
  yield* piecewise(0, vectors.length, (from, to) => {
    for (let i = from; i < to; i++) elements[i] = scaled(vectors[i]! - offset[i % width]!, exponent);
  });
  return elements;
}

/** The next f32 that is clearly above a number. */
function roundedUp(x: number): number {
  return Math.fround(x + Math.abs(x) * 4 * ROUNDING) + 2 ** -126;
}

const lengthOf = (vector: Float32Array): number => normOf(L2.of!, vector);

function normOf(of: NonNullable<Norm['of']>, vector: Float32Array): number {
  let [sum, squares, max] = [0, 0, 0];
  for (const x of vector) {
    sum += Math.abs(x);
    squares += x * x;
    max = Math.max(max, Math.abs(x));
  }
  return of(sum, squares, max);
}

function longestOf(elements: Float32Array, width: number): number {
  let max = 0;
  for (let i = 0; i < elements.length; i += width) max = Math.max(max, lengthOf(elements.subarray(i, i + width)));
  return max;
}
