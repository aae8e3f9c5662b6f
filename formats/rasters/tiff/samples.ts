import type { Cells, NarrowSample, Sample } from '../../../algorithms/geometry/raster.ts';

/** For each sample type, the value of TIFF's tag SampleFormat: 1 is unsigned, 2 is signed, and 3 is floating point. */
export const SAMPLE_FORMAT: Readonly<Record<Sample, 1 | 2 | 3>> = {
  u8: 1,
  i8: 2,
  u16: 1,
  i16: 2,
  u32: 1,
  i32: 2,
  f32: 3,
  i64: 2,
  u64: 1,
  f64: 3,
};

/** Minimum and maximum value of each integer type of up to 32 bits. */
export const SAMPLE_RANGE: Readonly<Record<Exclude<NarrowSample, 'f32'>, readonly [number, number]>> = {
  u8: [0, 2 ** 8 - 1],
  i8: [-(2 ** 7), 2 ** 7 - 1],
  u16: [0, 2 ** 16 - 1],
  i16: [-(2 ** 15), 2 ** 15 - 1],
  u32: [0, 2 ** 32 - 1],
  i32: [-(2 ** 31), 2 ** 31 - 1],
};

/** The typed array for cells of each sample type. */
export const CELL_ARRAYS: {
  readonly u8: typeof Uint8Array;
  readonly i8: typeof Int8Array;
  readonly u16: typeof Uint16Array;
  readonly i16: typeof Int16Array;
  readonly u32: typeof Uint32Array;
  readonly i32: typeof Int32Array;
  readonly f32: typeof Float32Array;
  readonly i64: typeof BigInt64Array;
  readonly u64: typeof BigUint64Array;
  readonly f64: typeof Float64Array;
} = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f64: Float64Array,
};

/** A typed array over the start of a buffer, for `length` cells of a sample type. */
export function cellsOver(sample: Sample, buffer: ArrayBufferLike, length: number): Cells {
  const Cells = CELL_ARRAYS[sample] as unknown as new (
    buffer: ArrayBufferLike,
    offset: number,
    length: number,
  ) => Cells;
  return new Cells(buffer, 0, length);
}

/**
 * An array of unsigned words of 1, 2 or 4 bytes, the size of a sample of the raster; a sample of 8 bytes is two words, in
 * the machine's byte order. Copying floats as words preserves all bits, such as the payloads of NaN.
 */
export type Words = Uint8Array | Uint16Array | Uint32Array;

/** Number of bytes of a sample; see {@link SAMPLE_BYTES}. */
export type SampleBytes = 1 | 2 | 4 | 8;

/**
 * Views bytes as words in the machine's byte order. Copies the bytes if they are not aligned.
 *
 * @param size - Number of bytes of a sample.
 */
export function wordsOver(bytes: Uint8Array, size: SampleBytes): Words {
  if (size === 1) return bytes;
  const word = size === 2 ? 2 : 4;
  const aligned = bytes.byteOffset % word === 0 ? bytes : new Uint8Array(bytes);
  const count = aligned.byteLength / word;
  return size === 2
    ? new Uint16Array(aligned.buffer, aligned.byteOffset, count)
    : new Uint32Array(aligned.buffer, aligned.byteOffset, count);
}

/** Whether this machine is little-endian. */
export const LITTLE_ENDIAN_MACHINE: boolean = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Copies bytes, reversing the byte order of every sample of `size` bytes. */
export function swappedBytes(bytes: Uint8Array, size: SampleBytes): Uint8Array {
  if (size === 1) return bytes;
  // Two samples of 16 bits are swapped at a time.
  const swapped = new Uint8Array(4 * Math.ceil(bytes.length / 4));
  swapped.set(bytes);
  const words = new Uint32Array(swapped.buffer);
  if (size === 2) for (let at = 0; at < words.length; at++) words[at] = swappedPairs(words[at]!);
  else if (size === 4) for (let at = 0; at < words.length; at++) words[at] = reversed(words[at]!);
  else {
    for (let at = 0; at + 1 < words.length; at += 2) {
      const first = reversed(words[at]!);
      words[at] = reversed(words[at + 1]!);
      words[at + 1] = first;
    }
  }
  return swapped.subarray(0, bytes.length);
}

function swappedPairs(word: number): number {
  return ((word & 0x00ff00ff) << 8) | ((word >>> 8) & 0x00ff00ff);
}

/** The bytes of a word of 32 bits, in reverse order. */
function reversed(word: number): number {
  const swapped = swappedPairs(word);
  return (swapped << 16) | (swapped >>> 16);
}
