import type { SchemaElement } from 'hyparquet/src/types.js';
import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { halfFloat } from '../half-float.ts';
import { storedType } from '../stored-type.ts';
import type { StringDictionary } from '../string-dictionary.ts';
import { noText, ValueFault, wideDecimal } from '../table-errors.ts';
import type { TableField } from '../table-file.ts';
import { uuidText } from '../uuid.ts';

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
  time: BigInt64Array,
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
  return { ...field, type: storedType(field), values } as HostColumn;
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
  /** Index of the column in every row group. */
  readonly index: number;
  readonly dictionary: StringDictionary | undefined;
  /** Called with the stated size of each page before it is decompressed. May throw. */
  readonly onPage?: ((bytes: number) => void) | undefined;
  /** Called with the fault of each value that the column cannot hold. Default: the fault is thrown. */
  readonly onFault?: ((fault: ValueFault) => void) | undefined;
}

function refuse({ onFault }: PlainColumn, fault: ValueFault): void {
  if (onFault === undefined) throw fault;
  onFault(fault);
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
  const { element } = column;
  const width = valueBytes(element);
  if (element.type === 'BOOLEAN') readBits(bytes, start, into as Uint8Array);
  else if (width === undefined) readByteArrays(column, bytes, start, into);
  else {
    requireBytes(bytes, start, width * into.length);
    if (element.type === 'INT96') readInt96(column, bytes, start, into as BigInt64Array);
    else if (element.type === 'FIXED_LEN_BYTE_ARRAY') {
      for (let i = 0, at = start; i < into.length; i++, at += width) storeBytes(column, bytes, at, at + width, into, i);
    } else if (width !== into.BYTES_PER_ELEMENT) widen(bytes, start, into as BigInt64Array);
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

/** Converts decimals and times of 32 bits to 64 bits. */
function widen(bytes: Buffer, start: number, into: BigInt64Array): void {
  for (let i = 0; i < into.length; i++) into[i] = BigInt(bytes.readInt32LE(start + 4 * i));
}

const DAY_OF_1970 = 2_440_588n;
const NANOSECONDS = 86_400_000_000_000n;
const MICROSECONDS = 86_400_000_000n;

/**
 * Converts INT96 timestamps to nanoseconds since 1970 or, in a column of microseconds, to microseconds, rounded down.
 * Such a timestamp consists of the nanoseconds since midnight and the number of the Julian day.
 */
function readInt96(column: PlainColumn, bytes: Buffer, start: number, into: BigInt64Array): void {
  const isCoarse = column.field.type === 'timestamp' && column.field.unit === 'us';
  for (let i = 0; i < into.length; i++) {
    const at = start + 12 * i;
    const day = BigInt(bytes.readUInt32LE(at + 8)) - DAY_OF_1970;
    const ofDay = bytes.readBigInt64LE(at);
    const time = isCoarse ? day * MICROSECONDS + floorThousand(ofDay) : day * NANOSECONDS + ofDay;
    into[i] = time;
    if (into[i] === time) continue;
    const unit = isCoarse ? 'microseconds' : 'nanoseconds';
    refuse(column, new ValueFault(i, { expected: `a time within 64 bits of ${unit}`, got: `day ${day} since 1970` }));
  }
}

function floorThousand(value: bigint): bigint {
  return (value - (((value % 1000n) + 1000n) % 1000n)) / 1000n;
}

/** Converts the bytes `from … to − 1`, a big-endian integer in two's complement, to a bigint. */
function bigEndian(bytes: Buffer, from: number, to: number): bigint {
  if (from === to) throw new RangeError('a decimal has no bytes');
  if (to - from >= WORD_BYTES) {
    // Most decimals of many bytes fit in the last eight; the bytes before them repeat the sign.
    const low = bytes.readBigInt64BE(to - WORD_BYTES);
    const sign = low < 0n ? 0xff : 0;
    let at = from;
    while (at < to - WORD_BYTES && bytes[at] === sign) at++;
    if (at === to - WORD_BYTES) return low;
  }
  let value = BigInt(bytes.readInt8(from));
  for (let at = from + 1; at < to; at++) value = (value << 8n) | BigInt(bytes[at]!);
  return value;
}

const WORD_BYTES = 8;

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
 * decimal, a 16-bit float, or the dictionary code of a string or UUID.
 */
export function storeBytes(
  column: PlainColumn,
  bytes: Buffer,
  from: number,
  to: number,
  into: Values,
  at: number,
): void {
  const { field, element, dictionary } = column;
  const isFixed = element.type === 'FIXED_LEN_BYTE_ARRAY';
  if (isFixed && to - from !== element.type_length) throw new RangeError('a value does not have the stated length');
  if (field.type === 'decimal') {
    const value = bigEndian(bytes, from, to);
    (into as BigInt64Array)[at] = value;
    if (into[at] !== value) refuse(column, wideDecimal(at, value, field.scale));
  } else if (dictionary === undefined) into[at] = halfFloat(bytes.readUInt16LE(from));
  else if (isFixed) into[at] = dictionary.codeOf(uuidText(bytes, from), 0, 36);
  else {
    const code = dictionary.codeOf(bytes, from, to);
    into[at] = Math.max(0, code);
    if (code < 0) refuse(column, noText(at, bytes.subarray(from, to)));
  }
}
