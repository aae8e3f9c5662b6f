import {
  type Batch,
  batchType,
  bool,
  Column,
  type DataType,
  float64,
  tableFromColumns,
  tableToIPC,
  uint64,
  utf8,
} from '@uwdata/flechette';
import type { TextColumn } from '../algorithms/text-column.ts';
import { requireArguments } from '../primitives/arguments.ts';
import { aTable, type Table, type TableColumn, type TableWriter } from './compare-tables.ts';

/**
 * Writes a table as an Arrow IPC file, a record batch for every tile that has rows: utf8 for texts, uint64 for counts and
 * areas, float64 for ratios, null where there is none, bool for flags. pandas, polars, DuckDB and R read it by its memory
 * map. Only where batches lie is kept until the end, 24 bytes each.
 *
 * @example
 * const table = emptyTable('missing');
 * const writer = arrowWriter(table);
 * const file = Buffer.concat([writer.begin(), writer.add(table), writer.end()]);
 * file.toString('latin1', 0, 6); // 'ARROW1'
 */
export function arrowWriter(empty: Table): ArrowWriter {
  requireArguments('arrowWriter', { empty }, { empty: aTable });
  const schema = encode(empty, 0, 'stream').subarray(0, -EOS_BYTES);
  const blocks: Block[] = [];
  let offset = MAGIC.length + schema.length;
  return {
    begin: () => concatenate([MAGIC, schema]),
    add(table) {
      if (table.rows === 0) return new Uint8Array(0);
      const message = encode(table, 1, 'stream').subarray(schema.length, -EOS_BYTES);
      const metadata = CONTINUATION_BYTES + viewOf(message).getInt32(4, true);
      blocks.push({ offset, metadata, body: message.length - metadata });
      offset += message.length;
      return message;
    },
    end: () => concatenate([END_OF_STREAM, footerOf(empty, blocks)]),
  };
}

/** A table's writer whose pieces are bytes. */
export interface ArrowWriter extends TableWriter {
  begin(): Uint8Array;
  add(table: Table): Uint8Array;
  end(): Uint8Array;
}

/** Where a record batch lies in the file: from `offset`, `metadata` bytes of message, then `body` bytes of columns. */
interface Block {
  readonly offset: number;
  readonly metadata: number;
  readonly body: number;
}

/** `ARROW1`, padded to a multiple of eight bytes. */
const MAGIC = Uint8Array.of(0x41, 0x52, 0x52, 0x4f, 0x57, 0x31, 0, 0);
const END_OF_STREAM = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);
const EOS_BYTES = END_OF_STREAM.length;
/** What stands before a message: a mark and the message's length. */
const CONTINUATION_BYTES = 8;

function encode(table: Table, batches: number, format: 'stream' | 'file'): Uint8Array {
  const columns = table.columns.map(([name, column]): [string, Column<unknown>] => {
    const type = TYPES[column.type]();
    return [
      name,
      new Column(
        Array.from({ length: batches }, () => batchOf(table.rows, column, type)),
        type,
      ),
    ];
  });
  return tableToIPC(tableFromColumns(columns), { format })!;
}

const TYPES: Readonly<Record<TableColumn['type'], () => DataType>> = {
  text: utf8,
  count: uint64,
  area: uint64,
  ratio: float64,
  flag: bool,
};

function batchOf(length: number, column: TableColumn, type: DataType): Batch<unknown> {
  const Kind = batchType(type, { useBigInt: true }) as unknown as new (parts: object) => Batch<unknown>;
  return new Kind({ length, nullCount: 0, type, validity: new Uint8Array(0), ...buffersOf(column, length) });
}

function buffersOf(column: TableColumn, length: number): object {
  switch (column.type) {
    case 'text':
      return gathered(column.texts, column.rows);
    case 'count':
      return { values: BigUint64Array.from(column.values, BigInt) };
    case 'area':
      return { values: column.values };
    case 'ratio':
      return withNulls(column.values);
    case 'flag':
      return { values: bitsOf(length, (row) => column.values[row] === 1) };
  }
}

function gathered({ bytes, starts }: TextColumn, rows: Uint32Array): { offsets: Int32Array; values: Uint8Array } {
  const offsets = new Int32Array(rows.length + 1);
  for (const [i, row] of rows.entries()) offsets[i + 1] = offsets[i]! + starts[row + 1]! - starts[row]!;
  const values = new Uint8Array(offsets[rows.length]!);
  for (const [i, row] of rows.entries()) values.set(bytes.subarray(starts[row], starts[row + 1]), offsets[i]);
  return { offsets, values };
}

function withNulls(values: Float64Array): object {
  const nullCount = values.reduce((count, value) => count + (Number.isNaN(value) ? 1 : 0), 0);
  if (nullCount === 0) return { values };
  return { values, nullCount, validity: bitsOf(values.length, (row) => !Number.isNaN(values[row])) };
}

/** Flags as bits, the first one lowest, padded to eight bytes. */
function bitsOf(length: number, isSet: (row: number) => boolean): Uint8Array {
  const bits = new Uint8Array(8 * Math.ceil(length / 64));
  for (let row = 0; row < length; row++) if (isSet(row)) bits[row >> 3]! |= 1 << (row & 7);
  return bits;
}

/** Length of the footer, and `ARROW1`. */
const TAIL_BYTES = 4 + 6;

/**
 * The footer of a file with these batches. It is that of as many batches without rows, in which the places are then put
 * right: the library writes footers only behind tables that it has whole.
 */
function footerOf(empty: Table, blocks: readonly Block[]): Uint8Array {
  const file = encode(empty, blocks.length, 'file');
  const length = viewOf(file).getInt32(file.length - TAIL_BYTES, true);
  const footer = file.slice(file.length - TAIL_BYTES - length);
  const view = viewOf(footer);
  if (blocks.length > 0) {
    const first = blocksAt(view);
    for (const [i, { offset, metadata, body }] of blocks.entries()) {
      const at = first + i * BLOCK_BYTES;
      view.setBigInt64(at, BigInt(offset), true);
      view.setInt32(at + 8, metadata, true);
      view.setBigInt64(at + 16, BigInt(body), true);
    }
  }
  return footer;
}

const BLOCK_BYTES = 24;
/** Place of the record batches among the fields of a footer. */
const RECORD_BATCHES = 3;

/** Where the structs of the vector of record batches begin in a footer, by the layout of flatbuffers. */
function blocksAt(view: DataView): number {
  const root = view.getUint32(0, true);
  const vtable = root - view.getInt32(root, true);
  const field = root + view.getUint16(vtable + 4 + 2 * RECORD_BATCHES, true);
  return field + view.getUint32(field, true) + 4;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
