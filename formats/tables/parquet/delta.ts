import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import { type PlainColumn, requireBytes, storeBytes, type Values } from './plain.ts';

/** Decodes DELTA_BINARY_PACKED: integers of type INT32 or INT64, stored as differences. */
export function readDeltas(column: PlainColumn, bytes: Buffer, start: number, into: Values): void {
  if (into.length === 0) return;
  const reader = readerOf(bytes, start);
  const isWide = column.element.type === 'INT64';
  if (isWide) deltaBinaryUnpack(reader, into.length, new BigInt64Array(into.buffer, into.byteOffset, into.length));
  else if (into.BYTES_PER_ELEMENT === 4) {
    const words = new Int32Array(into.buffer, into.byteOffset, into.length);
    deltaBinaryUnpack(reader, words.length, words);
    // The library hyparquet dropped the highest bit of the first value. Every value is a sum that includes the first
    // value, so this bit is wrong in all values.
    if (hasWideFirst(bytes, start)) for (let i = 0; i < words.length; i++) words[i]! ^= 2 ** 31;
  } else {
    const narrow = new Int32Array(into.length);
    deltaBinaryUnpack(reader, into.length, narrow);
    for (let i = 0; i < narrow.length; i++) (into as BigInt64Array)[i] = BigInt(narrow[i]!);
  }
}

/** Number of varints before the first value: values per block, miniblocks per block, total number of values. */
const HEADER_NUMBERS = 3;

/**
 * Whether the first value is stored with 33 bits, of which hyparquet drops the highest. DuckDB stores u32 values of
 * 2^31 and more in this way. Other writers store the i32 that has the same 32 bits.
 */
function hasWideFirst(bytes: Buffer, start: number): boolean {
  let at = start;
  for (let numbers = 0; numbers < HEADER_NUMBERS; at++) if (bytes[at]! < 128) numbers++;
  // A byte of a varint contains 7 bits of the number, and a flag that another byte follows. The lowest bit of the
  // number is its sign.
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
  const reader = readerOf(bytes, start);
  deltaBinaryUnpack(reader, lengths.length, lengths);
  if (lengths.some((length) => length < 0)) throw new RangeError('a length is negative');
  return reader.offset;
}

function readerOf(bytes: Buffer, offset: number): { view: DataView; offset: number } {
  return { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset };
}
