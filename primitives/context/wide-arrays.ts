/** Splits 64-bit integers into their lower and upper halves. */
export function splitWords(data: BigUint64Array | BigInt64Array): readonly [Uint32Array, Uint32Array] {
  const words = new Uint32Array(data.buffer, data.byteOffset, data.length * 2);
  const [lo, hi] = [new Uint32Array(data.length), new Uint32Array(data.length)];
  for (let i = 0; i < data.length; i++) {
    lo[i] = words[2 * i]!;
    hi[i] = words[2 * i + 1]!;
  }
  return [lo, hi];
}

/** The bytes of 64-bit integers, from their lower and upper halves. */
export function joinWords(lo: Uint32Array, hi: Uint32Array): ArrayBuffer {
  const words = new Uint32Array(2 * lo.length);
  for (let i = 0; i < lo.length; i++) {
    words[2 * i] = lo[i]!;
    words[2 * i + 1] = hi[i]!;
  }
  return words.buffer;
}
