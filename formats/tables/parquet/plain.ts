import type { SchemaElement } from 'hyparquet/src/types.js';
import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { halfFloat } from '../half-float.ts';
import type { StringDictionary } from '../string-dictionary.ts';
import type { TableField } from '../table-file.ts';

/** Array types for the values of a column. */
export type Values =
  | Uint8Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>
  | BigInt64Array<ArrayBuffer>
  | BigUint64Array<ArrayBuffer>;

const ARRAYS: { readonly [type in TableField['type']]: new (length: number) => Values } = {
  bool: Uint8Array,
  u32: Uint32Array,
  i32: Int32Array,
  date: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  timestamp: BigInt64Array,
  decimal: BigInt64Array,
  string: Uint32Array,
};

/** An array for the values of a column, filled with 0. */
export function newValues({ type }: TableField, length: number): Values {
  return new ARRAYS[type](length);
}

/** A host column without rows, of the field's type. */
export function emptyColumn(field: TableField): HostColumn {
  if (field.type === 'string') return { type: 'string', codes: new Uint32Array(0), dictionary: [] };
  const values = newValues(field, 0);
  return { ...field, type: field.type === 'timestamp' ? 'i64' : field.type, values } as HostColumn;
}

/**
 * Sets `into[i]` to `from[places[i]]` for all i, bit for bit. Works on 32-bit words, because every bigint would
 * allocate an object.
 */
export function gather(from: Values, places: Uint32Array, into: Values): void {
  if (into.BYTES_PER_ELEMENT === 1) {
    for (let i = 0; i < into.length; i++) into[i] = from[places[i]!]!;
    return;
  }
  const [source, target] = [wordsOf(from), wordsOf(into)];
  if (into.BYTES_PER_ELEMENT === 4) {
    for (let i = 0; i < target.length; i++) target[i] = source[places[i]!]!;
    return;
  }
  for (let i = 0; i < places.length; i++) {
    const at = 2 * places[i]!;
    target[2 * i] = source[at]!;
    target[2 * i + 1] = source[at + 1]!;
  }
}

function wordsOf({ buffer, byteOffset, byteLength }: Values): Uint32Array {
  return new Uint32Array(buffer, byteOffset, byteLength / 4);
}

/**
 * A column of a Parquet file: its field in the table, its element in the Parquet schema, and its dictionary if it
 * contains strings.
 */
export interface PlainColumn {
  readonly field: TableField;
  readonly element: SchemaElement;
  readonly dictionary: StringDictionary | undefined;
}

/** Size of a value in bytes; undefined if values have different lengths or take less than a byte. */
export function valueBytes({ type, type_length: length }: SchemaElement): number | undefined {
  if (type === 'FIXED_LEN_BYTE_ARRAY') return length ?? 0;
  return type === undefined ? undefined : BYTES[type];
}

const BYTES: { readonly [type: string]: number | undefined } = { INT32: 4, FLOAT: 4, INT64: 8, DOUBLE: 8, INT96: 12 };

/**
 * Decodes `into.length` consecutive values in PLAIN encoding.
 *
 * @throws RangeError if the bytes contain fewer values.
 */
export function readPlain(column: PlainColumn, bytes: Buffer, start: number, into: Values): void {
  const { field, element } = column;
  const width = valueBytes(element);
  if (element.type === 'BOOLEAN') readBits(bytes, start, into as Uint8Array);
  else if (width === undefined) readByteArrays(column, bytes, start, into);
  else {
    requireBytes(bytes, start, width * into.length);
    if (element.type === 'INT96') readInt96(bytes, start, into as BigInt64Array);
    else if (element.type === 'FIXED_LEN_BYTE_ARRAY') readFixed(field, bytes, start, width, into);
    else if (width !== into.BYTES_PER_ELEMENT) widen(bytes, start, into as BigInt64Array);
    else {
      const target = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
      target.set(bytes.subarray(start, start + into.byteLength));
    }
  }
}

export function requireBytes(bytes: Uint8Array, start: number, length: number): void {
  if (start + length > bytes.length) throw new RangeError('its values are cut off');
}

function readBits(bytes: Buffer, start: number, into: Uint8Array): void {
  requireBytes(bytes, start, Math.ceil(into.length / 8));
  for (let i = 0; i < into.length; i++) into[i] = (bytes[start + (i >> 3)]! >> (i & 7)) & 1;
}

/** Converts decimals of 32 bits to 64 bits. */
function widen(bytes: Buffer, start: number, into: BigInt64Array): void {
  for (let i = 0; i < into.length; i++) into[i] = BigInt(bytes.readInt32LE(start + 4 * i));
}

const DAY_OF_1970 = 2_440_588n;
const NANOSECONDS = 86_400_000_000_000n;

/**
 * Converts INT96 timestamps to nanoseconds since 1970. Such a timestamp consists of the nanoseconds since midnight and
 * the number of the Julian day.
 */
function readInt96(bytes: Buffer, start: number, into: BigInt64Array): void {
  for (let i = 0; i < into.length; i++) {
    const at = start + 12 * i;
    const time = (BigInt(bytes.readUInt32LE(at + 8)) - DAY_OF_1970) * NANOSECONDS + bytes.readBigInt64LE(at);
    if (BigInt.asIntN(64, time) !== time) throw new RangeError('a time does not fit 64 bits of nanoseconds');
    into[i] = time;
  }
}

function readFixed(field: TableField, bytes: Buffer, start: number, width: number, into: Values): void {
  for (let i = 0; i < into.length; i++) {
    const at = start + width * i;
    if (field.type === 'decimal') (into as BigInt64Array)[i] = bigEndian(bytes, at, at + width);
    else into[i] = halfFloat(bytes.readUInt16LE(at));
  }
}

/** Converts the bytes `from … to − 1`, a big-endian integer in two's complement, to a bigint. */
function bigEndian(bytes: Buffer, from: number, to: number): bigint {
  if (from === to) throw new RangeError('a decimal has no bytes');
  let value = BigInt(bytes.readInt8(from));
  for (let at = from + 1; at < to; at++) value = (value << 8n) | BigInt(bytes[at]!);
  if (BigInt.asIntN(64, value) !== value) throw new RangeError('a decimal does not fit 64 bits');
  return value;
}

function readByteArrays(column: PlainColumn, bytes: Buffer, start: number, into: Values): void {
  let at = start;
  for (let i = 0; i < into.length; i++) {
    requireBytes(bytes, at, 4);
    const length = bytes.readUInt32LE(at);
    at += 4;
    requireBytes(bytes, at, length);
    storeBytes(column, bytes, at, at + length, into, i);
    at += length;
  }
}

/**
 * Converts the byte array `from … to − 1` to a value of a column, and stores the value in `into[at]`. The value is a
 * decimal or the dictionary code of a string.
 */
export function storeBytes(
  { dictionary }: PlainColumn,
  bytes: Buffer,
  from: number,
  to: number,
  into: Values,
  at: number,
): void {
  if (dictionary === undefined) {
    (into as BigInt64Array)[at] = bigEndian(bytes, from, to);
    return;
  }
  const code = dictionary.codeOf(bytes, from, to);
  if (code < 0) throw new RangeError('a string is no UTF-8');
  into[at] = code;
}
