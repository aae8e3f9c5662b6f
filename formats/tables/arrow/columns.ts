import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { bitWords, copyByteBits, countBits, isSet } from '../bits.ts';
import { halfFloat } from '../half-float.ts';
import { storedType } from '../stored-type.ts';
import type { StringDictionary } from '../string-dictionary.ts';
import { noText, ValueFault, wideDecimal } from '../table-errors.ts';
import type { FieldType } from '../table-file.ts';
import { uuidText } from '../uuid.ts';
import type { Node } from './messages.ts';
import { type ArrowField, isUuid, Type } from './schema.ts';

/** The data of a column in a record batch: the column's buffers, and its node (its length and number of nulls). */
export interface ColumnData {
  readonly node: Node;
  readonly buffers: readonly Uint8Array<ArrayBuffer>[];
}

/**
 * Maps a code of an Arrow dictionary to the code of the same string in the dictionary that the column uses for the
 * whole file. −1 means null.
 */
export type CodeMap = Int32Array;

/**
 * Converts a column of a record batch to a host column.
 *
 * @throws RangeError if a buffer is too short, or contains offsets beyond its end.
 */
export function hostColumn(
  field: ArrowField,
  data: ColumnData,
  dictionary: StringDictionary | undefined,
  codes: CodeMap | undefined,
): HostColumn {
  const { node } = data;
  if (field.typeId === Type.null) return allNull(node.length);
  const validity = validityOf(data);
  const valid = validity === undefined ? {} : { validity };
  const rest = data.buffers.slice(1);
  const type = field.type as FieldType;
  if (field.dictionary !== undefined)
    return mappedCodes(field.dictionary, rest[0]!, node.length, validity, codes, dictionary!);
  if (type.type === 'string') {
    return {
      type: 'string',
      codes: textCodes(field, rest, node.length, validity, dictionary!),
      dictionary: dictionary!.strings,
      ...valid,
    };
  }
  const values = valuesOf(field, rest[0]!, node.length, validity);
  if (type.type === 'decimal') return { type: 'decimal', scale: type.scale, values, ...valid } as HostColumn;
  return { type: storedType(type), values, ...valid } as HostColumn;
}

function validityOf({ node, buffers }: ColumnData): Uint32Array | undefined {
  const [bits] = buffers;
  if (node.nulls === 0 || bits === undefined || bits.length === 0) {
    if (node.nulls > 0) throw new RangeError('its bits of validity are missing');
    return undefined;
  }
  if (bits.length < Math.ceil(node.length / 8)) throw new RangeError('its bits of validity are cut off');
  const words = bitWords(node.length);
  copyByteBits(words, 0, bits, 0, node.length);
  return countBits(words, 0, node.length) === node.length ? undefined : words;
}

type Typed = Exclude<HostColumn, { type: 'string' }>['values'];

function valuesOf(
  field: ArrowField,
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
  validity: Uint32Array | undefined,
): Typed {
  const { typeId, bits, isSigned, unit } = field;
  if (typeId === Type.bool) return flagsOf(bytes, length);
  if (typeId === Type.int) return typed(INTEGERS[`${isSigned ? 'i' : 'u'}${bits}`]!, bytes, length);
  if (typeId === Type.float) {
    if (bits === 16) return Float32Array.from(typed(Uint16Array, bytes, length), halfFloat);
    return bits === 32 ? typed(Float32Array, bytes, length) : typed(Float64Array, bytes, length);
  }
  if (typeId === Type.date)
    return unit === 0 ? typed(Int32Array, bytes, length) : daysOf(typed(BigInt64Array, bytes, length), validity);
  if (typeId === Type.time && bits === 32) return BigInt64Array.from(typed(Int32Array, bytes, length), BigInt);
  if (typeId === Type.timestamp || typeId === Type.time) return typed(BigInt64Array, bytes, length);
  if (bits === 32) return typed(Int32Array, bytes, length);
  return bits === 64 ? typed(BigInt64Array, bytes, length) : narrowed(field, bytes, length, validity);
}

function allNull(length: number): HostColumn {
  return { type: 'i32', values: new Int32Array(length), validity: bitWords(length) };
}

interface TypedClass<A> {
  new (buffer: ArrayBuffer, offset: number, length: number): A;
  readonly BYTES_PER_ELEMENT: number;
}

const INTEGERS: { readonly [kind: string]: TypedClass<Typed> } = {
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  i64: BigInt64Array,
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  u64: BigUint64Array,
};

function typed<A>(Class: TypedClass<A>, bytes: Uint8Array<ArrayBuffer> | undefined, length: number): A {
  if (length === 0) return new Class(new ArrayBuffer(0), 0, 0);
  if (bytes === undefined || bytes.length < length * Class.BYTES_PER_ELEMENT)
    throw new RangeError('its values are cut off');
  // Typed arrays must be aligned, but decompressed buffers may be unaligned. In this case, the bytes are copied.
  if (bytes.byteOffset % Class.BYTES_PER_ELEMENT !== 0) return typed(Class, bytes.slice(), length);
  return new Class(bytes.buffer, bytes.byteOffset, length);
}

function flagsOf(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length < Math.ceil(length / 8)) throw new RangeError('its values are cut off');
  const flags = new Uint8Array(length);
  for (let row = 0; row < length; row++) flags[row] = (bytes[row >> 3]! >> (row & 7)) & 1;
  return flags;
}

const MILLISECONDS = 86_400_000n;

/** Converts dates stored in milliseconds to days. A time of day, which some writers leave in, is dropped. */
function daysOf(times: BigInt64Array, validity: Uint32Array | undefined): Int32Array {
  const days = new Int32Array(times.length);
  for (let row = 0; row < days.length; row++) {
    if (validity !== undefined && !isSet(validity, row)) continue;
    const time = times[row]!;
    const day = (time - (((time % MILLISECONDS) + MILLISECONDS) % MILLISECONDS)) / MILLISECONDS;
    days[row] = Number(day);
    if (BigInt(days[row]!) !== day) {
      throw new ValueFault(row, { expected: 'a date within 32 bits of days', got: `${time} ms since 1970` });
    }
  }
  return days;
}

/** Converts decimals of several 64-bit words to decimals of one word. Throws if a value does not fit. */
function narrowed(
  { bits, type }: ArrowField,
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
  validity: Uint32Array | undefined,
): BigInt64Array {
  const words = bits / 64;
  const wide = typed(BigInt64Array, bytes, length * words);
  const values = new BigInt64Array(length);
  for (let row = 0; row < length; row++) {
    if (validity !== undefined && !isSet(validity, row)) continue;
    const value = wide[row * words]!;
    const sign = value < 0n ? -1n : 0n;
    for (let word = 1; word < words; word++) {
      if (wide[row * words + word] === sign) continue;
      const parts = [...wide.subarray(row * words, (row + 1) * words)];
      const units = parts.reduceRight((high, part) => (high << 64n) | BigInt.asUintN(64, part), 0n);
      throw wideDecimal(row, BigInt.asIntN(bits, units), (type as { readonly scale: number }).scale);
    }
    values[row] = value;
  }
  return values;
}

/** The dictionary codes of the strings in a column. The code is 0 for nulls. */
export function textCodes(
  field: ArrowField,
  buffers: readonly Uint8Array<ArrayBuffer>[],
  length: number,
  validity: Uint32Array | undefined,
  dictionary: StringDictionary,
): Uint32Array {
  const codes = new Uint32Array(length);
  const rangeOf = rangesOf(field, buffers, length);
  for (let row = 0; row < length; row++) {
    if (validity !== undefined && !isSet(validity, row)) continue;
    const [bytes, from, to] = rangeOf(row);
    if (!(from >= 0 && from <= to && to <= bytes.length)) throw new RangeError('a string lies beyond its buffer');
    const code = dictionary.codeOf(bytes, from, to);
    if (code < 0) throw noText(row, bytes.subarray(from, to));
    codes[row] = code;
  }
  return codes;
}

function rangesOf(field: ArrowField, buffers: readonly Uint8Array<ArrayBuffer>[], length: number): TextRange {
  if (field.typeId === Type.utf8View) return viewsOf(buffers, length);
  if (!isUuid(field)) return offsetsOf(buffers, length, field.typeId === Type.largeUtf8);
  const bytes = bufferOf(buffers[0] ?? new Uint8Array(0));
  if (bytes.length < length * UUID_BYTES) throw new RangeError('its values are cut off');
  return (row) => [uuidText(bytes, row * UUID_BYTES), 0, UUID_TEXT];
}

const UUID_BYTES = 16;
const UUID_TEXT = 36;

type TextRange = (row: number) => readonly [bytes: Buffer, from: number, to: number];

function offsetsOf([offsets, text]: readonly Uint8Array<ArrayBuffer>[], length: number, isLarge: boolean): TextRange {
  const bytes = bufferOf(text ?? new Uint8Array(0));
  if (!isLarge) {
    const starts = length === 0 ? new Int32Array(1) : typed(Int32Array, offsets, length + 1);
    return (row) => [bytes, starts[row]!, starts[row + 1]!];
  }
  const starts = length === 0 ? new BigInt64Array(1) : typed(BigInt64Array, offsets, length + 1);
  return (row) => [bytes, Number(starts[row]), Number(starts[row + 1])];
}

const VIEW_BYTES = 16;
const SHORT_TEXT = 12;

/**
 * Returns a function that finds the bytes of a row's string, for a column of Arrow's view type. A view has 16 bytes. A
 * view either contains a short string or refers to a string in a data buffer.
 */
function viewsOf([given, ...data]: readonly Uint8Array<ArrayBuffer>[], length: number): TextRange {
  const views = bufferOf(given ?? new Uint8Array(0));
  if (views.length < length * VIEW_BYTES) throw new RangeError('its values are cut off');
  const texts = data.map(bufferOf);
  return (row) => {
    const at = VIEW_BYTES * row;
    const size = views.readInt32LE(at);
    if (size <= SHORT_TEXT) return [views, at + 4, at + 4 + size];
    const text = texts[views.readInt32LE(at + 8)];
    if (text === undefined) throw new RangeError('a string lies in no buffer');
    const from = views.readInt32LE(at + 12);
    return [text, from, from + size];
  };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function mappedCodes(
  { bits, isSigned }: NonNullable<ArrowField['dictionary']>,
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
  validity: Uint32Array | undefined,
  map: CodeMap | undefined,
  { strings }: StringDictionary,
): HostColumn {
  const given = typed(INTEGERS[`${isSigned ? 'i' : 'u'}${bits}`]!, bytes, length);
  const codes = new Uint32Array(length);
  let valid = validity;
  for (let row = 0; row < length; row++) {
    if (validity !== undefined && !isSet(validity, row)) continue;
    const code = map?.[Number(given[row])];
    if (code === undefined) throw new RangeError('a code is not in its dictionary');
    if (code >= 0) codes[row] = code;
    else {
      // A dictionary may contain a null. Rows with the code of this null are marked as null in the column.
      valid = valid === undefined || valid === validity ? allButNulls(validity, length) : valid;
      valid[row >>> 5]! &= ~(1 << (row & 31));
    }
  }
  return { type: 'string', codes, dictionary: strings, ...(valid === undefined ? {} : { validity: valid }) };
}

function allButNulls(validity: Uint32Array | undefined, length: number): Uint32Array {
  return validity === undefined ? bitWords(length).fill(0xffffffff) : validity.slice();
}
