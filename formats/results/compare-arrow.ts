import { type Batch, batchType, bool, Column, type DataType, float64, uint64, utf8 } from '@uwdata/flechette';
import type { TextColumn } from '../../algorithms/text-column.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { arrowFile, bitsOf } from '../tables/arrow-file.ts';
import { aTable, type CompareColumn, type CompareRows, type TableWriter } from './compare-tables.ts';

/**
 * Writes a table as an Arrow IPC file, with one record batch for every tile that has rows. Texts are utf8, counts and
 * areas uint64, ratios float64 (null if missing), and flags bool. pandas, polars, DuckDB and R can memory-map the file.
 * Only the positions of the batches (24 bytes each) stay in memory until `end` is called.
 *
 * @example
 * const table = emptyTable('missing');
 * const writer = arrowWriter(table);
 * const file = Buffer.concat([writer.begin(), writer.add(table), writer.end()]);
 * file.toString('latin1', 0, 6); // 'ARROW1'
 */
export function arrowWriter(empty: CompareRows): ArrowWriter {
  requireArguments('arrowWriter', { empty }, { empty: aTable });
  return arrowFile(empty, columnsOf);
}

/** A {@link TableWriter} that returns bytes instead of text. */
export interface ArrowWriter extends TableWriter {
  begin(): Uint8Array;
  add(table: CompareRows): Uint8Array;
  end(): Uint8Array;
}

function columnsOf(table: CompareRows, batches: number): [string, Column<unknown>][] {
  return table.columns.map(([name, column]) => {
    const type = TYPES[column.type]();
    return [
      name,
      new Column(
        Array.from({ length: batches }, () => batchOf(table.rows, column, type)),
        type,
      ),
    ];
  });
}

const TYPES: Readonly<Record<CompareColumn['type'], () => DataType>> = {
  text: utf8,
  count: uint64,
  area: uint64,
  ratio: float64,
  flag: bool,
};

function batchOf(length: number, column: CompareColumn, type: DataType): Batch<unknown> {
  const Kind = batchType(type, { useBigInt: true }) as unknown as new (parts: object) => Batch<unknown>;
  return new Kind({ length, nullCount: 0, type, validity: new Uint8Array(0), ...buffersOf(column, length) });
}

function buffersOf(column: CompareColumn, length: number): object {
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
