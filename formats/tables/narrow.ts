/** Integers of 64 bits. */
export type WideIntegers = BigInt64Array<ArrayBufferLike> | BigUint64Array<ArrayBufferLike>;

export function isWide(values: ArrayBufferView): values is WideIntegers {
  return values instanceof BigInt64Array || values instanceof BigUint64Array;
}

/**
 * Writes integers of 64 bits as integers of 32, at `first` and behind it. As words: values would each become an object on the way.
 *
 * @returns Whether all of them fit; where one does not, what was written is of no use.
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

/** Writes what {@link narrowInto} has made of `count` integers as what they were. */
export function widenInto(narrow: Int32Array, count: number, into: WideIntegers): void {
  const words = new Int32Array(into.buffer, into.byteOffset, 2 * count);
  for (let i = 0; i < count; i++) {
    words[2 * i] = narrow[i]!;
    words[2 * i + 1] = narrow[i]! >> 31;
  }
}
