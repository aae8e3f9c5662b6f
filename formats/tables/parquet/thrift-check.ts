import { byteAt, numberAt, type Region, skipNumber } from './varint.ts';

/**
 * Checks a struct in Thrift's compact protocol before it is passed to a library, because the library trusts all
 * lengths. Lists must have as many elements as they state, numbers must have at most ten bytes, and structs must not be
 * nested deeper than the structs of Parquet are.
 *
 * O(bytes).
 *
 * @returns The position after the struct.
 * @throws RangeError if the struct is malformed.
 */
export function checkedStruct(bytes: Uint8Array, start: number, end: number): number {
  return skipStruct({ bytes, end }, start, 0);
}

const STOP = 0;
const TRUE = 1;
const FALSE = 2;
const BYTE = 3;
const I64 = 6;
const DOUBLE = 7;
const BINARY = 8;
const LIST = 9;
const STRUCT = 12;

const DEEPEST = 16;

function skipStruct(region: Region, start: number, depth: number): number {
  if (depth > DEEPEST) throw new RangeError('its metadata are nested too deeply');
  for (let at = start; ; ) {
    const head = byteAt(region, at++);
    const type = head & 15;
    if (type === STOP) return at;
    if (head >> 4 === 0) at = skipNumber(region, at);
    at = skipValue(region, at, type, depth);
  }
}

function skipValue(region: Region, at: number, type: number, depth: number): number {
  if (type === TRUE || type === FALSE) return at;
  if (type === BYTE) return checked(region, at, 1);
  if (type <= I64) return skipNumber(region, at);
  if (type === DOUBLE) return checked(region, at, 8);
  if (type === BINARY) {
    const from = skipNumber(region, at);
    return checked(region, from, numberAt(region, at));
  }
  if (type === LIST) return skipList(region, at, depth);
  if (type === STRUCT) return skipStruct(region, at, depth + 1);
  throw new RangeError(`its metadata have a value of the unknown type ${type}`);
}

function skipList(region: Region, start: number, depth: number): number {
  const head = byteAt(region, start);
  const type = head & 15;
  const isLong = head >> 4 === 15;
  const length = isLong ? numberAt(region, start + 1) : head >> 4;
  let at = isLong ? skipNumber(region, start + 1) : start + 1;
  // An element takes at least one byte. So a list that has more elements than there are bytes left is damaged.
  checked(region, at, length);
  if (type === LIST) throw new RangeError('its metadata have lists of lists');
  const element = type === TRUE || type === FALSE ? BYTE : type;
  for (let i = 0; i < length; i++) at = skipValue(region, at, element, depth);
  return at;
}

function checked({ end }: Region, at: number, length: number): number {
  if (at + length > end) throw new RangeError('its metadata are cut off');
  return at + length;
}
