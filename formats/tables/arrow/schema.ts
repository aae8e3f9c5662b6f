import {
  type FlatTable,
  i32Field,
  tableAt,
  tableField,
  textField,
  u8Field,
  u16Field,
  u64Field,
  vectorField,
} from '../../polygons/flatbuffer.ts';
import type { FieldType, TableField, TimestampUnit, UnreadField } from '../table-file.ts';

/** Numbers of data types in Arrow's Schema.fbs. */
export const Type = {
  null: 1,
  int: 2,
  float: 3,
  binary: 4,
  utf8: 5,
  bool: 6,
  decimal: 7,
  date: 8,
  time: 9,
  timestamp: 10,
  interval: 11,
  list: 12,
  struct: 13,
  union: 14,
  fixedBinary: 15,
  fixedList: 16,
  map: 17,
  duration: 18,
  largeBinary: 19,
  largeUtf8: 20,
  largeList: 21,
  runEnds: 22,
  binaryView: 23,
  utf8View: 24,
  listView: 25,
  largeListView: 26,
} as const;

/** A column as described in an Arrow schema. */
export interface ArrowField {
  readonly name: string;
  readonly nullable: boolean;
  readonly typeId: number;
  /** Number of bits of an integer, a float, a decimal, a time of day or a fixed number of bytes. */
  readonly bits: number;
  readonly isSigned: boolean;
  /** Unit of dates and times, numbered as in Schema.fbs; 0 is the coarsest. */
  readonly unit: number;
  /** How the column refers to a dictionary; undefined if the column does not contain codes of a dictionary. */
  readonly dictionary: DictionaryEncoding | undefined;
  /** Name of the extension type; undefined if the column has a type of Arrow itself. */
  readonly extension: string | undefined;
  /** Type of the host column; a description such as `lists` if the type is not supported. */
  readonly type: FieldType | string;
  readonly children: readonly ArrowField[];
  /** Whether the column is a dense union, which has a buffer of offsets. */
  readonly isDense: boolean;
}

export interface DictionaryEncoding {
  readonly id: number;
  readonly bits: number;
  readonly isSigned: boolean;
}

const MAX_FIELDS = 100_000;
const DEEPEST = 64;

/** The columns that a schema describes. */
export function fieldsOf(schema: FlatTable): ArrowField[] {
  if (u16Field(schema, 0, 0) !== 0) throw new RangeError('its numbers are big-endian, which is not supported');
  // Limits the number of fields: a FlatBuffers message may refer to the same field many times, so a small file could
  // describe more fields than fit in memory.
  const budget = { left: MAX_FIELDS };
  return tablesOf(schema, 1).map((field) => fieldOf(field, budget, 0));
}

function tablesOf(table: FlatTable, field: number): FlatTable[] {
  const vector = vectorField(table, field, 4);
  return Array.from({ length: vector.length }, (_, i) => tableAt(vector, i));
}

function fieldOf(field: FlatTable, budget: { left: number }, depth: number): ArrowField {
  if (--budget.left < 0 || depth > DEEPEST) throw new RangeError('its schema has too many fields');
  const typeId = u8Field(field, 2, 0);
  const type = tableField(field, 3);
  const encoding = tableField(field, 4);
  const base = {
    name: textField(field, 0) ?? '',
    nullable: u8Field(field, 1, 0) !== 0,
    typeId,
    ...partsOf(typeId, type),
    dictionary: encoding && encodingOf(encoding),
    extension: extensionOf(field),
    children: tablesOf(field, 5).map((child) => fieldOf(child, budget, depth + 1)),
  };
  return { ...base, type: hostType(base, type) };
}

function partsOf(
  typeId: number,
  type: FlatTable | undefined,
): Pick<ArrowField, 'bits' | 'isSigned' | 'unit' | 'isDense'> {
  const parts = { bits: 0, isSigned: true, unit: 0, isDense: false };
  if (type === undefined) return parts;
  if (typeId === Type.int) return { ...parts, bits: i32Field(type, 0, 0), isSigned: u8Field(type, 1, 0) !== 0 };
  if (typeId === Type.float) return { ...parts, bits: 16 << u16Field(type, 0, 0) };
  if (typeId === Type.decimal) return { ...parts, bits: i32Field(type, 2, 128) };
  if (typeId === Type.date) return { ...parts, unit: u16Field(type, 0, 1) };
  if (typeId === Type.timestamp) return { ...parts, unit: u16Field(type, 0, 0) };
  if (typeId === Type.time) return { ...parts, unit: u16Field(type, 0, 1), bits: i32Field(type, 1, 32) };
  if (typeId === Type.fixedBinary) return { ...parts, bits: 8 * i32Field(type, 0, 0) };
  if (typeId === Type.union) return { ...parts, isDense: u16Field(type, 0, 0) === 1 };
  return parts;
}

const EXTENSION_NAME = 'ARROW:extension:name';

function extensionOf(field: FlatTable): string | undefined {
  const entry = tablesOf(field, 6).find((each) => textField(each, 0) === EXTENSION_NAME);
  return entry && textField(entry, 1);
}

function encodingOf(encoding: FlatTable): DictionaryEncoding {
  const index = tableField(encoding, 1);
  const [bits, isSigned] = index === undefined ? [32, true] : [i32Field(index, 0, 0), u8Field(index, 1, 0) !== 0];
  if (![8, 16, 32, 64].includes(bits)) throw new RangeError(`its dictionaries have codes of ${bits} bits`);
  return { id: u64Field(encoding, 0, 0), bits, isSigned };
}

/** Maximum number of digits after the point of a decimal. Digits before it are limited by the values only. */
const MAX_SCALE = 38;
const UNITS: readonly TimestampUnit[] = ['s', 'ms', 'us', 'ns'];

/** Descriptions of unsupported types, by type number. */
const OTHERS: { readonly [typeId: number]: string } = {
  [Type.binary]: 'bytes',
  [Type.largeBinary]: 'bytes',
  [Type.fixedBinary]: 'bytes',
  [Type.binaryView]: 'bytes',
  [Type.interval]: 'intervals',
  [Type.duration]: 'durations',
  [Type.list]: 'lists',
  [Type.largeList]: 'lists',
  [Type.fixedList]: 'lists',
  [Type.listView]: 'lists',
  [Type.largeListView]: 'lists',
  [Type.struct]: 'records',
  [Type.union]: 'values of several types',
  [Type.map]: 'maps',
  [Type.runEnds]: 'runs',
};

function hostType(field: Omit<ArrowField, 'type'>, type: FlatTable | undefined): FieldType | string {
  const { typeId, bits, isSigned, unit } = field;
  if (typeId === Type.utf8 || typeId === Type.largeUtf8 || typeId === Type.utf8View) return { type: 'string' };
  if (field.dictionary !== undefined) return 'dictionary codes for values other than strings';
  if (typeId === Type.bool) return { type: 'bool' };
  if (typeId === Type.int && [8, 16, 32].includes(bits)) return { type: isSigned ? 'i32' : 'u32' };
  if (typeId === Type.int && bits === 64) return { type: isSigned ? 'i64' : 'u64' };
  if (typeId === Type.float && [16, 32, 64].includes(bits)) return { type: bits === 64 ? 'f64' : 'f32' };
  if (typeId === Type.decimal) return decimalOf(i32Field(type!, 0, 0), i32Field(type!, 1, 0), bits);
  // A column of nulls only has no type of its own; it is read as integers.
  if (typeId === Type.null) return { type: 'i32' };
  if (typeId === Type.time && (bits === 32 || bits === 64) && unit < UNITS.length) {
    return { type: 'time', unit: UNITS[unit]! };
  }
  if (isUuid(field)) return { type: 'string' };
  if (typeId === Type.date && unit <= 1) return { type: 'date' };
  if (typeId === Type.timestamp && unit < UNITS.length) {
    return { type: 'timestamp', unit: UNITS[unit]!, utc: Boolean(textField(type!, 1)) };
  }
  return OTHERS[typeId] ?? `values of the unknown type ${typeId}`;
}

function decimalOf(precision: number, scale: number, bits: number): FieldType | string {
  if (scale > MAX_SCALE) return `decimals of ${scale} digits after the point, more than ${MAX_SCALE}`;
  const isSound = [32, 64, 128, 256].includes(bits) && scale >= 0 && scale <= precision;
  return isSound ? { type: 'decimal', scale } : 'decimals with an invalid precision or scale';
}

/** Whether a column has Arrow's extension type of UUIDs, which are stored as 16 bytes. */
export function isUuid({ typeId, bits, extension }: Pick<ArrowField, 'typeId' | 'bits' | 'extension'>): boolean {
  return typeId === Type.fixedBinary && bits === 128 && extension === 'arrow.uuid';
}

/** Describes a column that is not read. */
export function unreadOf({ name, typeId, extension, type }: ArrowField): UnreadField {
  const own = Object.entries(Type).find(([, id]) => id === typeId)?.[0] ?? String(typeId);
  return { name, type: extension === undefined ? own : `${own} (${extension})`, what: String(type) };
}

/** Converts a column of the schema to a field of the table; undefined if its type is not supported. */
export function tableFieldOf({ name, nullable, type }: ArrowField): TableField | undefined {
  return typeof type === 'string' ? undefined : { ...type, name, nullable };
}
