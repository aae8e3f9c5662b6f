/**
 * Key of every f32 NaN, above all other keys. Every f64 NaN has a key whose high word is this number.
 *
 * A key is an integer that stands for a value on the device. Keys compare like the values, and −0 has the key of 0.
 */

const NAN_KEY = 0x7fffffff;

/** The keys of f32 numbers, as i32. */
export function keysOfF32(values: Float32Array): Int32Array {
  const bits = new Int32Array(values.buffer, values.byteOffset, values.length);
  const keys = new Int32Array(values.length);
  for (let i = 0; i < keys.length; i++) keys[i] = keyOfF32Bits(bits[i]!);
  return keys;
}

/**
 * Returns the bits of the smallest magnitude that is not zero. If all values are zero or NaN, returns the bits of
 * infinity.
 */
export function smallestMagnitude(values: Float32Array): number {
  const bits = new Int32Array(values.buffer, values.byteOffset, values.length);
  let smallest = 0x7f800000;
  for (let i = 0; i < bits.length; i++) {
    const magnitude = bits[i]! & 0x7fffffff;
    if (magnitude < smallest && magnitude !== 0) smallest = magnitude;
  }
  return smallest;
}

function keyOfF32Bits(bits: number): number {
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return NAN_KEY;
  return magnitude === 0 ? 0 : bits ^ ((bits >> 31) & 0x7fffffff);
}

const scratch = new DataView(new ArrayBuffer(8));

export function keyOfF32(value: number): number {
  scratch.setFloat32(0, value);
  return keyOfF32Bits(scratch.getInt32(0));
}

export function f32OfKey(key: number): number {
  if (key === NAN_KEY) return Number.NaN;
  scratch.setInt32(0, key ^ ((key >> 31) & 0x7fffffff));
  return scratch.getFloat32(0);
}

const NAN_KEY_64 = 2n ** 63n - 1n;

/** Returns the keys of f64 numbers: i64 integers that compare like the numbers, split into low and high words. */
export function keysOfF64(values: Float64Array): Pairs<Int32Array> {
  const words = new Int32Array(values.buffer, values.byteOffset, 2 * values.length);
  const lo = new Uint32Array(values.length);
  const hi = new Int32Array(values.length);
  for (let i = 0; i < lo.length; i++) {
    const [low, high] = [words[2 * i]!, words[2 * i + 1]!];
    const value = values[i]!;
    if (Number.isNaN(value)) [lo[i], hi[i]] = [-1, NAN_KEY];
    else if (value !== 0) [lo[i], hi[i]] = [low ^ (high >> 31), high ^ ((high >> 31) & 0x7fffffff)];
  }
  return { lo, hi };
}

/** Replaces the two words of a key at index i by those of its f64. */
export function f64OfWords(words: Int32Array, i: number): void {
  const high = words[2 * i + 1]!;
  if (high === NAN_KEY) [words[2 * i], words[2 * i + 1]] = [0, 0x7ff80000];
  else if (high < 0) [words[2 * i], words[2 * i + 1]] = [~words[2 * i]!, high ^ 0x7fffffff];
}

export function keyOfF64(value: number): bigint {
  if (Number.isNaN(value)) return NAN_KEY_64;
  scratch.setFloat64(0, value === 0 ? 0 : value);
  const bits = scratch.getBigInt64(0);
  return bits < 0n ? bits ^ NAN_KEY_64 : bits;
}

export function f64OfKey(key: bigint): number {
  if (key === NAN_KEY_64) return Number.NaN;
  scratch.setBigInt64(0, key < 0n ? key ^ NAN_KEY_64 : key);
  return scratch.getFloat64(0);
}

/** 64-bit integers as two arrays: their low words and their high words. */
export interface Pairs<High> {
  readonly lo: Uint32Array;
  readonly hi: High;
}

/** Splits 64-bit integers into two arrays of words. */
export function pairsOf(values: BigInt64Array | BigUint64Array): Pairs<Uint32Array> {
  const words = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
  const lo = new Uint32Array(values.length);
  const hi = new Uint32Array(values.length);
  for (let i = 0; i < lo.length; i++) {
    lo[i] = words[2 * i]!;
    hi[i] = words[2 * i + 1]!;
  }
  return { lo, hi };
}
