import { crc32 } from 'node:zlib';
import { parquetHeader } from 'hyparquet/src/column.js';
import type { PageHeader, ParquetType } from 'hyparquet/src/types.js';
import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import type { Unpack } from '../../bytes/zstd.ts';
import { bitWords, countBits, isSet } from '../bits.ts';
import { storedType } from '../stored-type.ts';
import { ValueFault } from '../table-errors.ts';
import type { TableField } from '../table-file.ts';
import { readDeltaLengths, readDeltaPrefixes, readDeltas } from './delta.ts';
import { readHybrid, readValidity } from './hybrid.ts';
import { gather, newValues, type PlainColumn, readPlain, requireBytes, type Values, valueBytes } from './plain.ts';
import { checkedStruct } from './thrift-check.ts';

/** Maximum size of a decompressed page. A larger size indicates a damaged file. */
const MAX_PAGE_BYTES = 2 ** 28;

/**
 * Memory for the values and codes of a column. The memory can be reused for the next row group or page, because
 * allocating memory takes longer than filling it.
 */
export interface ReadingMemory {
  /**
   * Memory for the values of a column in a row group. If memory is reused, each call invalidates the values of the
   * previous row group.
   */
  values(field: TableField, rows: number): Values;
  codes(count: number): Uint32Array;
}

/** Creates the memory for one pass over a file. Without `reuse`, every row group gets new memory for its values. */
export function readingMemory(reuse: boolean): ReadingMemory {
  const values = new Map<string, Values>();
  let codes = new Uint32Array(0);
  return {
    values(field, rows) {
      const kept = values.get(field.name);
      if (kept !== undefined && kept.length >= rows) return kept.subarray(0, rows) as Values;
      const taken = newValues(field, rows);
      if (reuse) values.set(field.name, taken);
      return taken;
    },
    codes(count) {
      if (codes.length < count) codes = new Uint32Array(count);
      return codes.subarray(0, count);
    },
  };
}

/** State while a column of a row group is read. */
interface Reading {
  readonly column: PlainColumn;
  readonly memory: ReadingMemory;
  readonly unpack: Unpack;
  readonly rows: number;
  readonly values: Values;
  readonly validity: Uint32Array | undefined;
  /**
   * The values of the dictionary page. Codes in other pages are indices of these values. Undefined if no dictionary
   * page has been read.
   */
  dictionary: Values | undefined;
  /** Faults of values of the dictionary, by their index. Such a value may be in the dictionary but in no row. */
  readonly faults: Map<number, ValueFault>;
  /** Number of rows read so far. */
  row: number;
}

/**
 * Decodes the pages of a column in a row group.
 *
 * @throws ValueFault with a row of the row group, if the column cannot hold its value; RangeError, or an error of a
 * library, if a page is damaged.
 */
export function readColumn(
  column: PlainColumn,
  unpack: Unpack,
  bytes: Buffer,
  rows: number,
  memory: ReadingMemory,
): HostColumn {
  const { field } = column;
  const reading: Reading = {
    column,
    memory,
    unpack,
    rows,
    values: memory.values(field, rows),
    validity: field.nullable ? bitWords(rows) : undefined,
    dictionary: undefined,
    faults: new Map(),
    row: 0,
  };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length && reading.row < rows; ) {
    const behind = checkedStruct(bytes, at, bytes.length);
    const header = parquetHeader({ view, offset: at });
    const { compressed_page_size: packed, uncompressed_page_size: unpacked } = header;
    if (!(isCount(packed) && behind + packed <= bytes.length)) throw new RangeError('one of its pages is cut off');
    if (!(isCount(unpacked) && unpacked <= MAX_PAGE_BYTES)) {
      throw new RangeError(`one of its pages would have ${unpacked} bytes`);
    }
    column.onPage?.(unpacked);
    at = behind + packed;
    const page = bytes.subarray(behind, at);
    if (header.crc !== undefined && crc32(page) >>> 0 !== header.crc >>> 0) {
      throw new RangeError('one of its pages does not match its checksum');
    }
    readPage(reading, header, page);
  }
  if (reading.row !== rows) throw new RangeError(`it has ${reading.row} of ${rows} values`);
  return hostColumn(reading);
}

/** Whether a value is a non-negative integer. In a damaged file, a field may have another type. */
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function readPage(reading: Reading, header: PageHeader, page: Buffer): void {
  if (header.type === 'DICTIONARY_PAGE') readDictionary(reading, header, page);
  else if (header.type === 'DATA_PAGE') readFirstVersion(reading, header, page);
  else if (header.type === 'DATA_PAGE_V2') readSecondVersion(reading, header, page);
  else if (header.type !== 'INDEX_PAGE') throw new RangeError('one of its pages is of an unknown type');
}

function unpacked({ unpack }: Reading, page: Uint8Array, length: number): Buffer {
  // Some writers store nothing where there is nothing to compress, as in a page of nulls. No codec can read that.
  if (page.length === 0 && length === 0) return Buffer.alloc(0);
  const bytes = unpack(page, length);
  if (bytes.length !== length) throw new RangeError('one of its pages does not unpack to the stated size');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function readDictionary(reading: Reading, header: PageHeader, page: Buffer): void {
  const { column } = reading;
  const count = header.dictionary_page_header?.num_values ?? -1;
  const bytes = unpacked(reading, page, header.uncompressed_page_size);
  // A value takes at least this many bytes, so the number of values is limited by the number of bytes. This prevents a
  // huge allocation if a damaged file states a wrong number.
  const min = valueBytes(column.element) ?? 4;
  if (!(isCount(count) && count * min <= bytes.length))
    throw new RangeError(`its dictionary would have ${count} values`);
  reading.dictionary = newValues(column.field, count);
  reading.faults.clear();
  const onFault = (fault: ValueFault): unknown => reading.faults.set(fault.index, fault);
  readPlain({ ...column, onFault }, bytes, 0, reading.dictionary);
}

function rowsOfPage(reading: Reading, count: number | undefined): number {
  if (isCount(count) && reading.row + count <= reading.rows) return count;
  throw new RangeError('one of its pages has more rows than there are');
}

function readFirstVersion(reading: Reading, header: PageHeader, page: Buffer): void {
  const head = header.data_page_header;
  const rows = rowsOfPage(reading, head?.num_values);
  const bytes = unpacked(reading, page, header.uncompressed_page_size);
  let [at, valid] = [0, rows];
  if (reading.validity !== undefined) {
    if (head!.definition_level_encoding !== 'RLE') throw new RangeError('its levels are in an old encoding');
    requireBytes(bytes, 0, 4);
    at = 4 + bytes.readUInt32LE(0);
    requireBytes(bytes, 0, at);
    valid = readValidity(bytes, 4, at, reading.validity, reading.row, rows);
  }
  readValues(reading, head!.encoding, bytes, at, rows, valid);
}

function readSecondVersion(reading: Reading, header: PageHeader, page: Buffer): void {
  const head = header.data_page_header_v2;
  const rows = rowsOfPage(reading, head?.num_values);
  const [repetitions, definitions] = [head!.repetition_levels_byte_length, head!.definition_levels_byte_length ?? 0];
  const levels = (repetitions ?? 0) + definitions;
  const length = header.uncompressed_page_size - levels;
  if (!(isCount(definitions) && isCount(levels - definitions) && length >= 0))
    throw new RangeError('its levels have no length');
  requireBytes(page, 0, levels);
  const valid =
    reading.validity === undefined
      ? rows
      : readValidity(page, levels - definitions, levels, reading.validity, reading.row, rows);
  const rest = page.subarray(levels);
  const isPacked = head!.is_compressed !== false;
  if (!isPacked && rest.length !== length) throw new RangeError('one of its pages does not have the stated size');
  readValues(reading, head!.encoding, isPacked ? unpacked(reading, rest, length) : rest, 0, rows, valid);
}

/**
 * Decodes the values of a page, and assigns them to the rows that are not null. `valid` is the number of rows that are
 * not null.
 */
function readValues(reading: Reading, encoding: string, bytes: Buffer, at: number, rows: number, valid: number): void {
  const { row, values, validity } = reading;
  const into = values.subarray(row, row + rows) as Values;
  if (valid === 0) new Uint8Array(into.buffer, into.byteOffset, into.byteLength).fill(0);
  else if (valid === rows)
    located(
      (index) => row + index,
      () => decode(reading, encoding, bytes, at, into),
    );
  else {
    const dense = newValues(reading.column.field, valid);
    const places = new Uint32Array(rows);
    for (let i = 0, next = 0; i < rows; i++) if (isSet(validity!, row + i)) places[i] = next++;
    located(
      (index) => row + places.findIndex((place, i) => place === index && isSet(validity!, row + i)),
      () => decode(reading, encoding, bytes, at, dense),
    );
    // A null row gets an arbitrary value, which is never used.
    gather(dense, places, into);
  }
  reading.row += rows;
}

/** Calls a function that decodes values. If it throws the fault of a value, finds the row of that value. */
function located(rowOf: (index: number) => number, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw error instanceof ValueFault ? error.at(rowOf(error.index)) : error;
  }
}

function decode(reading: Reading, encoding: string, bytes: Buffer, at: number, into: Values): void {
  const { column } = reading;
  const read = readerOf(encoding, column.element.type);
  if (read !== undefined) read(column, bytes, at, into);
  else if (encoding === 'RLE_DICTIONARY' || encoding === 'PLAIN_DICTIONARY') readCodes(reading, bytes, at, into);
  else throw new RangeError(`its values are in the encoding ${encoding}, which is not read for them`);
}

type ReadValues = (column: PlainColumn, bytes: Buffer, at: number, into: Values) => void;

function readerOf(encoding: string, type: ParquetType | undefined): ReadValues | undefined {
  const isWhole = type === 'INT32' || type === 'INT64';
  if (encoding === 'PLAIN') return readPlain;
  if (encoding === 'RLE' && type === 'BOOLEAN') return readRuns;
  if (encoding === 'DELTA_BINARY_PACKED' && isWhole) return readDeltas;
  if (encoding === 'DELTA_LENGTH_BYTE_ARRAY' && type === 'BYTE_ARRAY') return readDeltaLengths;
  if (encoding === 'DELTA_BYTE_ARRAY' && (type === 'BYTE_ARRAY' || type === 'FIXED_LEN_BYTE_ARRAY')) {
    return readDeltaPrefixes;
  }
  return encoding === 'BYTE_STREAM_SPLIT' ? readStreams : undefined;
}

function readCodes({ dictionary, faults, memory }: Reading, bytes: Buffer, at: number, into: Values): void {
  if (into.length === 0) return;
  if (dictionary === undefined) throw new RangeError('its dictionary is missing');
  requireBytes(bytes, at, 1);
  const codes = memory.codes(into.length);
  readHybrid(bytes, at + 1, bytes.length, bytes[at]!, codes, codes.length);
  let highest = 0;
  for (let i = 0; i < codes.length; i++) highest = Math.max(highest, codes[i]!);
  if (highest >= dictionary.length) throw new RangeError('a value is not in its dictionary');
  if (faults.size > 0) {
    const wrong = codes.findIndex((code) => faults.has(code));
    if (wrong >= 0) throw faults.get(codes[wrong]!)!.at(wrong);
  }
  gather(dictionary, codes, into);
}

/** Decodes booleans in the RLE/bit-packing hybrid encoding. The length of the encoded bytes is stored before them. */
function readRuns(_: PlainColumn, bytes: Buffer, at: number, into: Values): void {
  requireBytes(bytes, at, 4);
  const end = at + 4 + bytes.readUInt32LE(at);
  requireBytes(bytes, 0, end);
  const flags = new Uint32Array(into.length);
  readHybrid(bytes, at + 4, end, 1, flags, flags.length);
  (into as Uint8Array).set(flags);
}

/**
 * Decodes BYTE_STREAM_SPLIT, in which the first bytes of all values are stored first, then the second bytes of all
 * values, and so on.
 */
function readStreams(column: PlainColumn, bytes: Buffer, at: number, into: Values): void {
  const width = valueBytes(column.element);
  if (width === undefined || column.element.type === 'INT96') throw new RangeError('its values cannot be split');
  const count = into.length;
  requireBytes(bytes, at, width * count);
  const joined = Buffer.allocUnsafe(width * count);
  for (let byte = 0; byte < width; byte++) {
    for (let i = 0; i < count; i++) joined[i * width + byte] = bytes[at + byte * count + i]!;
  }
  readPlain(column, joined, 0, into);
}

function hostColumn({ column, values, validity, rows }: Reading): HostColumn {
  const valid = validity === undefined || countBits(validity, 0, rows) === rows ? {} : { validity };
  return { ...cellsOf(column.field, values, column.dictionary?.strings ?? []), ...valid } as HostColumn;
}

/** A host column with the given values. */
function cellsOf(field: TableField, values: Values, dictionary: readonly string[]): object {
  if (field.type === 'string') return { type: 'string', codes: values, dictionary };
  if (field.type === 'decimal') return { type: 'decimal', scale: field.scale, values };
  return { type: storedType(field), values };
}
