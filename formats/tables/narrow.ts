/** 64-bit integers. */
export type WideIntegers = BigInt64Array<ArrayBufferLike> | BigUint64Array<ArrayBufferLike>;

export function isWide(values: ArrayBufferView): values is WideIntegers {
  return values instanceof BigInt64Array || values instanceof BigUint64Array;
}

/**
 * Converts 64-bit integers to 32-bit integers, and writes them to `into` from index `first` on. Works on 32-bit words,
 * because every bigint would allocate an object.
 *
 * @returns Whether all integers fit. If not, the contents of `into` from `first` on are invalid.
 */
export function narrowInto(values: WideIntegers, into: Int32Array, first: number): boolean {
  const words = new Int32Array(values.buffer, values.byteOffset, 2 * values.length);
  const min = values instanceof BigInt64Array ? -(2 ** 31) : 0;
  for (let i = 0; i < values.length; i++) {
    const low = words[2 * i]!;
    if (words[2 * i + 1] !== low >> 31 || low < min) return false;
    into[first + i] = low;
  }
  return true;
}

/** Converts `count` 32-bit integers back to 64-bit integers; the inverse of {@link narrowInto}. */
export function widenInto(narrow: Int32Array, count: number, into: WideIntegers): void {
  const words = new Int32Array(into.buffer, into.byteOffset, 2 * count);
  for (let i = 0; i < count; i++) {
    words[2 * i] = narrow[i]!;
    words[2 * i + 1] = narrow[i]! >> 31;
  }
}
