import {
  type Batch,
  batchType,
  bool,
  Column,
  type DataType,
  dateDay,
  decimal,
  float32,
  float64,
  int32,
  int64,
  TimeUnit,
  time,
  timestamp,
  uint32,
  uint64,
  utf8,
} from '@uwdata/flechette';
import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { arrowFile, bitsOf } from '../arrow-file.ts';
import { countBits, isSet } from '../bits.ts';
import { emptyColumn } from '../parquet/plain.ts';
import type { TableField } from '../table-file.ts';
import type { Rows, RowsWriter } from './text-writers.ts';

/**
 * Returns a writer of an Arrow IPC file. Each call of the writer's method `add` produces a record batch. Decimals are
 * written with 128 bits, which all readers support.
 */
export function arrowRows(fields: readonly TableField[]): RowsWriter {
  const none: Rows = { rows: 0, columns: Object.fromEntries(fields.map((field) => [field.name, emptyColumn(field)])) };
  return arrowFile(none, ({ rows, columns }, batches) =>
    fields.map((field): [string, Column<unknown>] => {
      const type = arrowType(field);
      const column = columns[field.name]!;
      return [
        field.name,
        new Column(
          Array.from({ length: batches }, () => batchOf(rows, column, type)),
          type,
        ),
      ];
    }),
  );
}

const UNITS = { s: TimeUnit.SECOND, ms: TimeUnit.MILLISECOND, us: TimeUnit.MICROSECOND, ns: TimeUnit.NANOSECOND };
/** Digits of the largest 64-bit integer. */
const MAX_DIGITS = 19;

function arrowType(field: TableField): DataType {
  switch (field.type) {
    case 'u32':
      return uint32();
    case 'i32':
      return int32();
    case 'u64':
      return uint64();
    case 'i64':
      return int64();
    case 'f32':
      return float32();
    case 'f64':
      return float64();
    case 'bool':
      return bool();
    case 'date':
      return dateDay();
    case 'string':
      return utf8();
    case 'decimal':
      return decimal(Math.max(MAX_DIGITS, field.scale), field.scale);
    case 'timestamp':
      return timestamp(UNITS[field.unit], field.utc ? 'UTC' : null);
    case 'time':
      return time(UNITS[field.unit]);
  }
}

function batchOf(length: number, column: HostColumn, type: DataType): Batch<unknown> {
  const Kind = batchType(type, { useBigInt: true }) as unknown as new (parts: object) => Batch<unknown>;
  const { validity } = column;
  const nullCount = validity === undefined ? 0 : length - countBits(validity, 0, length);
  const bits = nullCount === 0 ? new Uint8Array(0) : bitsOf(length, (row) => isSet(validity!, row));
  return new Kind({ length, nullCount, type, validity: bits, ...buffersOf(column, length, type) });
}

function buffersOf(column: HostColumn, length: number, type: DataType): object {
  switch (column.type) {
    case 'string':
      return textsOf(column.codes, column.dictionary, column.validity, length);
    case 'bool':
      return { values: bitsOf(length, (row) => column.values[row] !== 0) };
    case 'decimal':
      return { values: wideDecimals(column.values, length) };
    case 'i32':
      return { values: Int32Array.from(column.values) };
    case 'u32':
      return { values: Uint32Array.from(column.values) };
    default:
      // Times of day in seconds or milliseconds have 32 bits in Arrow.
      return {
        values: 'bitWidth' in type && type.bitWidth === 32 ? Int32Array.from(column.values, Number) : column.values,
      };
  }
}

/** Converts decimals to 128 bits: two 64-bit integers per value, the low half first. */
function wideDecimals(units: BigInt64Array | Int32Array, length: number): BigUint64Array {
  const words = new BigInt64Array(2 * length);
  for (let row = 0; row < length; row++) {
    const value = BigInt(units[row]!);
    words[2 * row] = value;
    words[2 * row + 1] = value < 0n ? -1n : 0n;
  }
  return new BigUint64Array(words.buffer);
}

function textsOf(
  codes: Uint32Array,
  dictionary: readonly string[],
  validity: Uint32Array | undefined,
  length: number,
): object {
  const offsets = new Int32Array(length + 1);
  const texts: Buffer[] = [];
  const known = new Map<number, Buffer>();
  for (let row = 0; row < length; row++) {
    offsets[row + 1] = offsets[row]!;
    if (validity !== undefined && !isSet(validity, row)) continue;
    const code = codes[row]!;
    const text = known.get(code) ?? Buffer.from(dictionary[code]!);
    known.set(code, text);
    texts.push(text);
    offsets[row + 1] = offsets[row]! + text.length;
  }
  return { offsets, values: new Uint8Array(Buffer.concat(texts)) };
}
