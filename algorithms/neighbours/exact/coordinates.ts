/**
 * Coordinates of points on the host, point after point. Coordinate i is the sum `values[i] + rests[i]`. The rests are
 * the parts of integers beyond 2^53 that f64 does not hold.
 */
export interface Coordinates {
  readonly dimensions: number;
  readonly values: Float64Array;
  /** Undefined if all rests are 0. */
  readonly rests: Float64Array | undefined;
}

export function countOf({ values, dimensions }: Coordinates): number {
  return values.length / dimensions;
}

/** The points with the numbers from `from` to `to` − 1. */
export function partOf({ dimensions, values, rests }: Coordinates, from: number, to: number): Coordinates {
  const [first, end] = [from * dimensions, to * dimensions];
  return { dimensions, values: values.subarray(first, end), rests: rests?.subarray(first, end) };
}

const MAX_SAMPLES = 4096;

/** The number of a point with the median of up to 4,096 coordinates of an axis. The points are evenly spread. */
export function medianPoint({ values, dimensions }: Coordinates, axis: number): number {
  const count = values.length / dimensions;
  const every = Math.max(1, Math.ceil(count / MAX_SAMPLES));
  const at = (i: number): number => values[i * dimensions + axis]!;
  const samples = Array.from({ length: Math.ceil(count / every) }, (_, i) => i * every);
  return samples.sort((a, b) => at(a) - at(b))[samples.length >> 1]!;
}
