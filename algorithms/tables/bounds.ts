/** The least and the greatest that a number can be. */
export interface Bounds {
  readonly least: bigint;
  readonly greatest: bigint;
}

export const I32: Bounds = { least: -(2n ** 31n), greatest: 2n ** 31n - 1n };
export const U32: Bounds = { least: 0n, greatest: 2n ** 32n - 1n };
export const I64: Bounds = { least: -(2n ** 63n), greatest: 2n ** 63n - 1n };
export const U64: Bounds = { least: 0n, greatest: 2n ** 64n - 1n };

export function isWithin(inner: Bounds, outer: Bounds): boolean {
  return inner.least >= outer.least && inner.greatest <= outer.greatest;
}

export function addBounds(a: Bounds, b: Bounds): Bounds {
  return { least: a.least + b.least, greatest: a.greatest + b.greatest };
}

export function subtractBounds(a: Bounds, b: Bounds): Bounds {
  return { least: a.least - b.greatest, greatest: a.greatest - b.least };
}

export function multiplyBounds(a: Bounds, b: Bounds): Bounds {
  const corners = [a.least * b.least, a.least * b.greatest, a.greatest * b.least, a.greatest * b.greatest];
  const sorted = corners.sort((x, y) => Number(x > y) - Number(x < y));
  return { least: sorted[0]!, greatest: sorted[3]! };
}

/** The bounds of words, of 32 bits each. */
export function boundsOfWords(values: ArrayLike<number>): Bounds {
  if (values.length === 0) return { least: 0n, greatest: 0n };
  let least = values[0]!;
  let greatest = least;
  for (let i = 1; i < values.length; i++) {
    const value = values[i]!;
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return { least: BigInt(least), greatest: BigInt(greatest) };
}

/** The bounds of 64-bit integers, by their high words, which are found faster: never narrower than they are. */
export function boundsOfHighWords(high: Int32Array | Uint32Array): Bounds {
  const { least, greatest } = boundsOfWords(high);
  return { least: least << 32n, greatest: (greatest << 32n) + 2n ** 32n - 1n };
}
