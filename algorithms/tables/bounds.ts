/** The minimum and maximum that a number can have. */
export interface Bounds {
  readonly min: bigint;
  readonly max: bigint;
}

/**
 * Position of a literal among the integers that stand for the values of an operand: equal to `at` if `isThere`, else
 * between `at` and `at + 1`.
 */
export interface Cut {
  readonly at: bigint;
  readonly isThere: boolean;
}

export const I32: Bounds = { min: -(2n ** 31n), max: 2n ** 31n - 1n };
export const U32: Bounds = { min: 0n, max: 2n ** 32n - 1n };
export const I64: Bounds = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
export const U64: Bounds = { min: 0n, max: 2n ** 64n - 1n };

export function isWithin(inner: Bounds, outer: Bounds): boolean {
  return inner.min >= outer.min && inner.max <= outer.max;
}

export function addBounds(a: Bounds, b: Bounds): Bounds {
  return { min: a.min + b.min, max: a.max + b.max };
}

export function subtractBounds(a: Bounds, b: Bounds): Bounds {
  return { min: a.min - b.max, max: a.max - b.min };
}

export function multiplyBounds(a: Bounds, b: Bounds): Bounds {
  const corners = [a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max];
  const sorted = corners.sort((x, y) => Number(x > y) - Number(x < y));
  return { min: sorted[0]!, max: sorted[3]! };
}

/** Minimum and maximum of 32-bit words. */
export function boundsOfWords(values: ArrayLike<number>): Bounds {
  if (values.length === 0) return { min: 0n, max: 0n };
  let min = values[0]!;
  let max = min;
  for (let i = 1; i < values.length; i++) {
    const value = values[i]!;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { min: BigInt(min), max: BigInt(max) };
}

/**
 * Bounds of 64-bit integers, computed quickly from the high words alone. The bounds contain all integers, but may be
 * wider than necessary.
 */
export function boundsOfHighWords(high: Int32Array | Uint32Array): Bounds {
  const { min, max } = boundsOfWords(high);
  return { min: min << 32n, max: (max << 32n) + 2n ** 32n - 1n };
}
