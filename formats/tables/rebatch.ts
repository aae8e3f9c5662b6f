import type { HostColumn, HostTable } from '../../algorithms/tables/host-table.ts';
import { bitWords, copyBits, setBits } from './bits.ts';
import type { BatchOptions, TableBatch } from './table-file.ts';

/** Public options for reading rows, and an option that only this package uses, for example in its commands. */
export interface ReadOptions extends BatchOptions {
  /**
   * Whether a batch may store a column of 64-bit integers or decimals with 32 bits per value, if all values of the
   * column in the batch fit.
   */
  readonly narrow?: boolean | undefined;
}

/** Rows that a reader decodes together: a row group of Parquet, a record batch of Arrow or a block of CSV. */
export interface Chunk {
  readonly rows: number;
  readonly columns: HostTable;
}

/**
 * Regroups chunks of rows into batches of `rowsPerBatch` rows; the last batch may be smaller. If `rowsPerBatch` is
 * undefined, every chunk becomes a batch. Chunks without rows are dropped.
 */
export async function* rebatched(
  chunks: AsyncIterable<Chunk>,
  rowsPerBatch: number | undefined,
): AsyncGenerator<TableBatch, void, undefined> {
  let first = 0;
  const next = ({ rows, columns }: Chunk): TableBatch => {
    const batch = { first, rows, columns };
    first += rows;
    return batch;
  };
  const regrouping = regroup(rowsPerBatch ?? 0);
  for await (const chunk of chunks) {
    if (chunk.rows === 0) continue;
    if (rowsPerBatch === undefined) yield next(chunk);
    else for (const full of regrouping.add(chunk)) yield next(full);
  }
  for (const last of regrouping.rest()) yield next(last);
}

interface Regrouping {
  /** Yields the chunks that are full with the rows of another one. */
  add(chunk: Chunk): Generator<Chunk>;
  /** Yields the rows that fill no chunk. */
  rest(): Generator<Chunk>;
}

/** Regroups chunks of rows into chunks of `size` rows, of which the last may be smaller. */
export function regroup(size: number): Regrouping {
  let [pending, pendingRows]: [Chunk[], number] = [[], 0];
  function* rest(): Generator<Chunk> {
    if (pendingRows === 0) return;
    const whole = joined(pending, pendingRows);
    [pending, pendingRows] = [[], 0];
    yield whole;
  }
  return {
    *add(chunk: Chunk): Generator<Chunk> {
      for (let at = 0; at < chunk.rows; ) {
        const rows = Math.min(chunk.rows - at, size - pendingRows);
        pending.push(sliceOf(chunk, at, rows));
        at += rows;
        pendingRows += rows;
        if (pendingRows === size) yield* rest();
      }
    },
    rest,
  };
}

/** The rows `from … from + rows − 1` of a chunk. If possible, the result shares the memory of the chunk. */
export function sliceOf(chunk: Chunk, from: number, rows: number): Chunk {
  if (from === 0 && rows === chunk.rows) return chunk;
  return { rows, columns: mapped(chunk.columns, (column) => columnSlice(column, from, rows)) };
}

function mapped(table: HostTable, of: (column: HostColumn, name: string) => HostColumn): HostTable {
  return Object.fromEntries(Object.entries(table).map(([name, column]) => [name, of(column, name)]));
}

function columnSlice(column: HostColumn, from: number, rows: number): HostColumn {
  const validity = column.validity === undefined ? {} : { validity: bitSlice(column.validity, from, rows) };
  if (column.type === 'string') return { ...column, ...validity, codes: column.codes.subarray(from, from + rows) };
  return { ...column, ...validity, values: column.values.subarray(from, from + rows) } as HostColumn;
}

function bitSlice(words: Uint32Array, from: number, bits: number): Uint32Array {
  if (from % 32 === 0) return words.subarray(from / 32, Math.ceil((from + bits) / 32));
  const slice = bitWords(bits);
  copyBits(slice, 0, words, from, bits);
  return slice;
}

/** Concatenates chunks of rows. A single chunk is returned without a copy. */
export function joined(chunks: readonly Chunk[], rows: number): Chunk {
  if (chunks.length === 1) return chunks[0]!;
  return { rows, columns: mapped(chunks[0]!.columns, (_, name) => joinedColumn(chunks, name, rows)) };
}

function joinedColumn(chunks: readonly Chunk[], name: string, rows: number): HostColumn {
  const columns = chunks.map((chunk) => chunk.columns[name]!);
  const [head] = columns as [HostColumn];
  const arrays = columns.map(arrayOf);
  const values = new (arrays[0]!.constructor as new (length: number) => CellArray)(rows);
  let at = 0;
  for (const array of arrays) {
    (values as { set(from: CellArray, at: number): void }).set(array, at);
    at += array.length;
  }
  const validity = columns.some((column) => column.validity !== undefined)
    ? { validity: joinedValidity(chunks, columns, rows) }
    : {};
  return { ...head, ...validity, [head.type === 'string' ? 'codes' : 'values']: values } as HostColumn;
}

/** Array of a column's cells: the values or, in a column of strings, the codes of the strings. */
export type CellArray = Exclude<HostColumn, { type: 'string' }>['values'];

export function arrayOf(column: HostColumn): CellArray {
  return column.type === 'string' ? column.codes : column.values;
}

function joinedValidity(chunks: readonly Chunk[], columns: readonly HostColumn[], rows: number): Uint32Array {
  const words = bitWords(rows);
  let at = 0;
  for (const [i, { validity }] of columns.entries()) {
    const count = chunks[i]!.rows;
    if (validity === undefined) setBits(words, at, at + count);
    else copyBits(words, at, validity, 0, count);
    at += count;
  }
  return words;
}
