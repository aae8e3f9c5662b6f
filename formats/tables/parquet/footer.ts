import { parquetMetadata } from 'hyparquet/src/metadata.js';
import type { FileMetaData, SchemaElement } from 'hyparquet/src/types.js';
import type { Note } from '../../../algorithms/notes.ts';
import { FormatError } from '../../../primitives/checks/errors.ts';
import type { ByteSource } from '../../rasters/tiff/byte-source.ts';
import { asDamage, checkNames, damaged, unsupported } from '../table-errors.ts';
import type { FieldType, TableField, TimestampUnit, UnreadField } from '../table-file.ts';
import { CODECS } from './codecs.ts';
import { checkedStruct } from './thrift-check.ts';

const PARQUET_MAGIC = 'PAR1';
const ENCRYPTED_MAGIC = 'PARE';
/** Bytes at the end of a file: the length of the metadata (4) and the magic number (4). */
const TAIL_BYTES = 8;
const MAGIC_BYTES = 4;

/** Maximum number of rows in a row group, because the columns of a row group are held in memory. */
const MAX_ROWS = 2 ** 28;

export interface ParquetFooter {
  readonly fields: readonly ParquetField[];
  readonly unread: readonly UnreadField[];
  readonly groups: readonly RowGroup[];
  readonly notes: readonly Note[];
  /** Columns of byte arrays that may be geometries, because they are marked so, or not marked at all. */
  readonly blobs: readonly ParquetField[];
  /** The texts of the file's metadata, by their keys. */
  readonly metadata: ReadonlyMap<string, string>;
}

/** A column to read. */
export interface ParquetField {
  readonly field: TableField;
  readonly element: SchemaElement;
  /** Index of the column in every row group. */
  readonly index: number;
}

/** A row group that has rows. */
export interface RowGroup {
  /** Index of the row group in the file. */
  readonly index: number;
  /** Index of its first row in the file. */
  readonly first: number;
  readonly rows: number;
  readonly chunks: readonly ColumnChunk[];
}

/** Where the pages of a column in a row group are stored: their byte range, and the codec that compressed them. */
export interface ColumnChunk {
  readonly codec: string;
  readonly start: number;
  readonly length: number;
  /** Number of bytes of the pages when they are decompressed, as the file states it. */
  readonly unpacked: number;
}

/** Reads and checks the metadata at the end of a Parquet file. For example, every column must lie inside the file. */
export async function readFooter(source: ByteSource): Promise<ParquetFooter> {
  const { file, size } = source;
  if (size < MAGIC_BYTES + TAIL_BYTES) throw damaged('The file', `it has ${size} bytes`, { file });
  const tail = Buffer.from(await source.read(size - TAIL_BYTES, TAIL_BYTES));
  const magic = tail.toString('latin1', 4);
  if (magic === ENCRYPTED_MAGIC) {
    throw unsupported('Encrypted files are not read.', 'encrypted metadata', file, 'Decrypt it first.');
  }
  if (magic !== PARQUET_MAGIC) throw damaged('The file', 'it does not end as Parquet does', { file, byte: size - 4 });
  const length = tail.readUInt32LE(0);
  const start = size - TAIL_BYTES - length;
  if (start < MAGIC_BYTES)
    throw damaged('The file', `its metadata would have ${length} bytes`, { file, byte: size - 8 });
  const bytes = await source.read(start, length + TAIL_BYTES);
  try {
    checkedStruct(bytes, 0, length);
    return footerOf(parquetMetadata(bytes, { geoparquet: false }), file, start);
  } catch (error) {
    throw asDamage(error, 'The file', { file, byte: start });
  }
}

function footerOf(metadata: FileMetaData, file: string, end: number): ParquetFooter {
  const fields: ParquetField[] = [];
  const unread: UnreadField[] = [];
  const blobs: ParquetField[] = [];
  const { schema } = metadata;
  let [at, leaves] = [1, 0];
  for (let child = 0; child < (schema[0]?.num_children ?? 0); child++) {
    const element = schema[at]!;
    const next = behind(schema, at);
    const type = fieldTypeOf(element);
    const { name } = element;
    const nullable = element.repetition_type !== 'REQUIRED';
    if (typeof type === 'string') unread.push(unreadOf(element, type));
    else fields.push({ field: { ...type, name, nullable }, element, index: leaves });
    if (mayBeGeometry(element)) blobs.push({ field: { type: 'string', name, nullable }, element, index: leaves });
    for (; at < next; at++) if (isLeaf(schema[at]!)) leaves++;
  }
  checkNames(file, [...fields.map(({ field }) => field.name), ...unread.map(({ name }) => name)]);
  let total = 0;
  const groups = metadata.row_groups.flatMap((group, i): RowGroup[] => {
    const rows = Number(group.num_rows);
    if (!(Number.isInteger(rows) && rows >= 0 && rows <= MAX_ROWS)) throw tooManyRows(rows, i, file);
    if (group.columns.length !== leaves) throw new RangeError(`row group ${i} does not have the columns of the schema`);
    // The columns of a row group without rows may have no pages. Arrow writes the position 0 for them.
    if (rows === 0) return [];
    const first = total;
    total += rows;
    return [{ index: i, first, rows, chunks: group.columns.map((column) => chunkOf(column, file, end)) }];
  });
  const stated = Number(metadata.num_rows);
  // Early versions of parquet-rs state 0 rows in all. Any other number would be one of rows that are lost.
  if (total !== stated && stated !== 0) {
    throw new RangeError(`it has ${total} rows in its row groups, and ${stated} in all`);
  }
  const message = `${file} states that it has 0 rows. The ${total} rows of its row groups are read.`;
  const notes = total === stated ? [] : [{ code: 'table/stated-rows', message }];
  const pairs = metadata.key_value_metadata ?? [];
  return { fields, unread, groups, notes, blobs, metadata: new Map(pairs.map(({ key, value = '' }) => [key, value])) };
}

function mayBeGeometry(element: SchemaElement): boolean {
  const isGeometry = (element.logical_type?.type ?? '') in OTHER_BYTES;
  return element.repetition_type !== 'REPEATED' && element.type === 'BYTE_ARRAY' && (isUnmarked(element) || isGeometry);
}

/** Describes a column that is not read. */
export function unreadOf(element: SchemaElement, what: string): UnreadField {
  const { name, type = 'group', converted_type: converted, logical_type: logical } = element;
  const annotation = logical?.type ?? converted;
  return { name, type: annotation === undefined ? type : `${type} (${annotation})`, what };
}

function isLeaf(element: SchemaElement): boolean {
  return element.num_children === undefined || element.num_children === 0;
}

/** Index of the first schema element after an element and its descendants. `start` is the index of the element. */
function behind(schema: readonly SchemaElement[], start: number): number {
  let at = start;
  for (let open = 1; open > 0; open--, at++) {
    const element = schema[at];
    if (element === undefined) throw new RangeError('its schema is cut off');
    const children = element.num_children ?? 0;
    if (!(children >= 0 && children <= schema.length)) throw new RangeError('its schema is wrong');
    open += children;
  }
  return at;
}

function chunkOf(
  column: FileMetaData['row_groups'][number]['columns'][number],
  file: string,
  end: number,
): ColumnChunk {
  if (column.file_path) {
    throw unsupported('Columns in other files are not read.', column.file_path, file, 'Write it as one file.');
  }
  const data = column.meta_data;
  if (data === undefined) {
    throw unsupported('Encrypted columns are not read.', 'an encrypted column', file, 'Decrypt it first.');
  }
  const [page, dictionary, length] = [
    Number(data.data_page_offset),
    Number(data.dictionary_page_offset ?? 0),
    Number(data.total_compressed_size),
  ];
  const start = dictionary > 0 && dictionary < page ? dictionary : page;
  // In a damaged file, a field may have the wrong type, so that `start` or `length` is a fraction or NaN.
  const isWhole = Number.isSafeInteger(start) && Number.isSafeInteger(length);
  if (!(isWhole && start >= MAGIC_BYTES && length >= 0 && start + length <= end)) {
    throw new RangeError(`the column ${data.path_in_schema.join('.')} would lie at ${start} with ${length} bytes`);
  }
  return { codec: data.codec, start, length, unpacked: Number(data.total_uncompressed_size) };
}

/** The type of a column; a description such as `lists` if the type is not supported. */
function fieldTypeOf(element: SchemaElement): FieldType | string {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (element.repetition_type === 'REPEATED' || converted === 'LIST' || logical?.type === 'LIST') return 'lists';
  if (converted === 'MAP' || converted === 'MAP_KEY_VALUE' || logical?.type === 'MAP') return 'maps';
  if (!isLeaf(element)) return 'records';
  if (converted === 'DECIMAL' || logical?.type === 'DECIMAL') return decimalOf(element);
  switch (type) {
    case 'BOOLEAN':
      return { type: 'bool' };
    case 'FLOAT':
      return { type: 'f32' };
    case 'DOUBLE':
      return { type: 'f64' };
    case 'INT96':
      return { type: 'timestamp', unit: 'ns', utc: false };
    case 'INT32':
      if (converted === 'DATE' || logical?.type === 'DATE') return { type: 'date' };
      return timeOf(element) ?? { type: isUnsigned(element) ? 'u32' : 'i32' };
    case 'INT64':
      return timeOf(element) ?? timestampOf(element) ?? { type: isUnsigned(element) ? 'u64' : 'i64' };
    case 'BYTE_ARRAY':
      return isUnmarked(element) || isText(element)
        ? { type: 'string' }
        : (OTHER_BYTES[logical?.type ?? ''] ?? 'bytes');
    default:
      if (converted === 'INTERVAL') return 'intervals';
      if (logical?.type === 'FLOAT16' && element.type_length === 2) return { type: 'f32' };
      return logical?.type === 'UUID' && element.type_length === UUID_BYTES ? { type: 'string' } : 'bytes';
  }
}

const UUID_BYTES = 16;

const OTHER_BYTES: { readonly [type: string]: string } = { GEOMETRY: 'geometries', GEOGRAPHY: 'geometries' };

function isText({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  const [old, type] = [converted ?? '', logical?.type ?? ''];
  return ['UTF8', 'ENUM', 'JSON'].includes(old) || ['STRING', 'ENUM', 'JSON', 'NULL'].includes(type);
}

/** Whether a column of byte arrays does not say what the bytes are. Old writers store text in this way. */
export function isUnmarked({ type, converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return type === 'BYTE_ARRAY' && converted === undefined && logical === undefined;
}

const UNITS: { readonly [unit: string]: TimestampUnit } = { MILLIS: 'ms', MICROS: 'us', NANOS: 'ns' };

function timeOf({ converted_type: converted, logical_type: logical }: SchemaElement): FieldType | undefined {
  if (logical?.type === 'TIME') return { type: 'time', unit: UNITS[logical.unit]! };
  if (converted === 'TIME_MILLIS') return { type: 'time', unit: 'ms' };
  return converted === 'TIME_MICROS' ? { type: 'time', unit: 'us' } : undefined;
}

function isUnsigned({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return converted?.startsWith('UINT_') === true || (logical?.type === 'INTEGER' && !logical.isSigned);
}

function timestampOf({ converted_type: converted, logical_type: logical }: SchemaElement): FieldType | undefined {
  if (logical?.type === 'TIMESTAMP') {
    return { type: 'timestamp', unit: UNITS[logical.unit]!, utc: logical.isAdjustedToUTC };
  }
  if (converted === 'TIMESTAMP_MILLIS') return { type: 'timestamp', unit: 'ms', utc: true };
  if (converted === 'TIMESTAMP_MICROS') return { type: 'timestamp', unit: 'us', utc: true };
  return undefined;
}

/** Maximum number of digits after the point of a decimal. Digits before it are limited by the values only. */
const MAX_SCALE = 38;

function decimalOf({
  type,
  scale,
  precision,
  type_length: bytes,
  logical_type: logical,
}: SchemaElement): FieldType | string {
  const exact = logical?.type === 'DECIMAL' ? logical : { scale: scale ?? 0, precision: precision ?? 0 };
  if (exact.scale > MAX_SCALE) return `decimals of ${exact.scale} digits after the point, more than ${MAX_SCALE}`;
  const isSound =
    Number.isInteger(exact.scale) &&
    exact.scale >= 0 &&
    exact.scale <= exact.precision &&
    (type !== 'FIXED_LEN_BYTE_ARRAY' || (bytes ?? 0) > 0);
  return isSound ? { type: 'decimal', scale: exact.scale } : 'decimals with an invalid precision or scale';
}

/** Loads the codec that decompresses the pages of a column. */
export function codecOf(
  codec: string,
  field: string,
  file: string,
): ReturnType<NonNullable<(typeof CODECS)['SNAPPY']>> {
  const load = (CODECS as { readonly [name: string]: (typeof CODECS)['SNAPPY'] })[codec];
  if (load !== undefined) return load();
  throw new FormatError('format/unsupported-codec', `The column "${field}" is packed by a codec that is not read.`, {
    expected: Object.keys(CODECS).join(', '),
    got: String(codec),
    remedy: 'Write the file with another compression.',
    place: { file },
  });
}

function tooManyRows(rows: number, group: number, file: string): FormatError {
  return new FormatError('format/row-group-size', `Row group ${group} has too many rows.`, {
    expected: `at most ${MAX_ROWS}`,
    got: rows,
    remedy: 'Write the file with smaller row groups.',
    place: { file },
  });
}
