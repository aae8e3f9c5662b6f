/**
 * The largest of some numbers and `least`. `Math.max(...values)` would pass an argument for every value, which fails
 * with some hundred thousand values.
 */
export function largestOf(values: Iterable<number>, least: number = Number.NEGATIVE_INFINITY): number {
  let largest = least;
  for (const value of values) largest = Math.max(largest, value);
  return largest;
}

/** The smallest of some numbers and `most`; see {@link largestOf}. */
export function smallestOf(values: Iterable<number>, most: number = Number.POSITIVE_INFINITY): number {
  let smallest = most;
  for (const value of values) smallest = Math.min(smallest, value);
  return smallest;
}
