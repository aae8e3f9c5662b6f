import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import { type PlainColumn, requireBytes, storeBytes, type Values } from './plain.ts';
import { numberAt, skipNumber } from './varint.ts';

/** Decodes DELTA_BINARY_PACKED: integers of type INT32 or INT64, stored as differences. */
export function readDeltas(column: PlainColumn, bytes: Buffer, start: number, into: Values): void {
  if (into.length === 0) return;
  const firstValue = checkedHeader(bytes, start, into.length);
  const reader = readerOf(bytes, start);
  const isWide = column.element.type === 'INT64';
  if (isWide) deltaBinaryUnpack(reader, into.length, new BigInt64Array(into.buffer, into.byteOffset, into.length));
  else if (into.BYTES_PER_ELEMENT === 4) {
    const words = new Int32Array(into.buffer, into.byteOffset, into.length);
    deltaBinaryUnpack(reader, words.length, words);
    // The library hyparquet dropped the highest bit of the first value. Every value is a sum that includes the first
    // value, so this bit is wrong in all values.
    if (hasWideFirst(bytes, firstValue)) for (let i = 0; i < words.length; i++) words[i]! ^= 2 ** 31;
  } else {
    const narrow = new Int32Array(into.length);
    deltaBinaryUnpack(reader, into.length, narrow);
    for (let i = 0; i < narrow.length; i++) (into as BigInt64Array)[i] = BigInt(narrow[i]!);
  }
}

/** The number of values in a miniblock must be a multiple of this number. */
const MINIBLOCK_UNIT = 32;
/** The numbers of the header must be below this number, because hyparquet reads them as signed 32-bit integers. */
const NUMBER_LIMIT = 2 ** 31;

/**
 * Checks the header of encoded differences before it is passed to hyparquet, which trusts all numbers and may not end
 * if they are wrong. The header states the values per block, the miniblocks per block and the total number of values.
 *
 * @returns The position of the first value, which follows the header.
 */
function checkedHeader(bytes: Buffer, start: number, count: number): number {
  const region = { bytes, end: bytes.length };
  const afterBlockSize = skipNumber(region, start);
  const afterMiniblocks = skipNumber(region, afterBlockSize);
  const firstValue = skipNumber(region, afterMiniblocks);
  const numbers = [start, afterBlockSize, afterMiniblocks].map((at) => numberAt(region, at));
  const [blockSize, miniblocks] = numbers as [number, number];
  if (numbers.some((number) => number >= NUMBER_LIMIT)) {
    throw new RangeError('a number in the header of its differences is too large');
  }
  const perMiniblock = blockSize / miniblocks;
  if (!(perMiniblock > 0 && perMiniblock % MINIBLOCK_UNIT === 0)) {
    throw new RangeError(`it has ${miniblocks} miniblocks in blocks of ${blockSize} values`);
  }
  // A block has a byte for every miniblock. The first value is not in a block.
  if (count > 1) requireBytes(bytes, firstValue, miniblocks);
  return firstValue;
}

/**
 * Whether the first value, which begins at byte `at`, is stored with 33 bits, of which hyparquet drops the highest.
 * DuckDB stores u32 values of 2^31 and more in this way. Other writers store the i32 that has the same 32 bits.
 */
function hasWideFirst(bytes: Buffer, at: number): boolean {
  // Each byte of a varint contains 7 bits of the number, the low bits first, and a flag that another byte follows. So
  // bit 4 (mask 16) of the fifth byte is the 33rd bit of the number.
  const isLong = bytes.subarray(at, at + 4).every((byte) => byte >= 128);
  return isLong && (bytes[at + 4]! & 16) !== 0;
}

/**
 * Decodes DELTA_LENGTH_BYTE_ARRAY. The lengths of all byte arrays are stored as differences, and are followed by the
 * bytes of all arrays.
 */
export function readDeltaLengths(column: PlainColumn, bytes: Buffer, start: number, into: Values): void {
  if (into.length === 0) return;
  const lengths = new Int32Array(into.length);
  let at = unpackLengths(bytes, start, lengths);
  for (const [i, length] of lengths.entries()) {
    requireBytes(bytes, at, length);
    storeBytes(column, bytes, at, at + length, into, i);
    at += length;
  }
}

/**
 * Decodes DELTA_BYTE_ARRAY. Each byte array is stored as a suffix, and the length of the prefix that it shares with the
 * previous array.
 */
export function readDeltaPrefixes(column: PlainColumn, bytes: Buffer, start: number, into: Values): void {
  if (into.length === 0) return;
  const [prefixes, suffixes] = [new Int32Array(into.length), new Int32Array(into.length)];
  let at = unpackLengths(bytes, unpackLengths(bytes, start, prefixes), suffixes);
  let [value, size] = [Buffer.allocUnsafe(256), 0];
  for (const [i, prefix] of prefixes.entries()) {
    const suffix = suffixes[i]!;
    if (prefix > size) throw new RangeError('a value begins with more than the one before it');
    requireBytes(bytes, at, suffix);
    size = prefix + suffix;
    if (size > value.length) value = Buffer.concat([value], 2 * size);
    bytes.copy(value, prefix, at, at + suffix);
    at += suffix;
    storeBytes(column, value, 0, size, into, i);
  }
}

/** Decodes lengths that are stored as differences. Returns the position after the encoded lengths. */
function unpackLengths(bytes: Buffer, start: number, lengths: Int32Array): number {
  checkedHeader(bytes, start, lengths.length);
  const reader = readerOf(bytes, start);
  deltaBinaryUnpack(reader, lengths.length, lengths);
  if (lengths.some((length) => length < 0)) throw new RangeError('a length is negative');
  return reader.offset;
}

function readerOf(bytes: Buffer, offset: number): { view: DataView; offset: number } {
  return { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset };
}
