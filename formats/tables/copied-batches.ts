import type { HostColumn } from '../../algorithms/tables/host-table.ts';
import { bitWords, copyBits, setBits } from './bits.ts';
import { isWide, narrowInto, type WideIntegers, widenInto } from './narrow.ts';
import { arrayOf, type CellArray, type Chunk, sliceOf } from './rebatch.ts';
import type { TableBatch } from './table-file.ts';

/** Options for copying rows into batches. */
export interface CopyOptions {
  readonly rowsPerBatch: number;
  /** Total number of rows. */
  readonly rows: number;
  /** Whether 64-bit integers and decimals are stored in 32 bits if all values of the column in the batch fit. */
  readonly narrow: boolean;
}

/**
 * Copies chunks of rows into batches of `rowsPerBatch` rows; the last batch may be smaller. Each chunk is copied before
 * the next chunk is requested. So the reader can reuse the memory of a chunk, which is faster than allocating memory
 * for every chunk.
 */
export async function* copiedBatches(
  chunks: AsyncIterable<Chunk>,
  { rowsPerBatch, rows: total, narrow }: CopyOptions,
): AsyncGenerator<TableBatch, void, undefined> {
  let first = 0;
  let making: Map<string, ColumnCopy> | undefined;
  let made = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.rows; ) {
      const wanted = Math.min(rowsPerBatch, total - first);
      const rows = Math.min(chunk.rows - at, wanted - made);
      const { columns } = sliceOf(chunk, at, rows);
      making ??= new Map(Object.entries(columns).map(([name, head]) => [name, columnCopy(head, wanted, narrow)]));
      for (const [name, column] of Object.entries(columns)) making.get(name)!.add(column, rows);
      at += rows;
      made += rows;
      if (made < wanted) continue;
      yield { first, rows: made, columns: Object.fromEntries([...making].map(([name, copy]) => [name, copy.end()])) };
      first += made;
      [making, made] = [undefined, 0];
    }
  }
}

interface ColumnCopy {
  add(column: HostColumn, rows: number): void;
  end(): HostColumn;
}

function columnCopy(head: HostColumn, rows: number, narrow: boolean): ColumnCopy {
  const own = arrayOf(head).constructor as new (length: number) => CellArray;
  let isNarrow = narrow && isWide(arrayOf(head));
  let values: CellArray = isNarrow ? new Int32Array(rows) : new own(rows);
  let validity: Uint32Array | undefined;
  let made = 0;

  /** Converts the column to 64 bits. Called as soon as a value does not fit in 32 bits. */
  function widen(): void {
    const wide = new own(rows) as WideIntegers;
    widenInto(values as Int32Array, made, wide);
    [values, isNarrow] = [wide as CellArray, false];
  }

  return {
    add(column, count) {
      const cells = arrayOf(column);
      if (isNarrow && !narrowInto(cells as WideIntegers, values as Int32Array, made)) widen();
      if (!isNarrow) (values as { set(from: CellArray, at: number): void }).set(cells, made);
      if (column.validity !== undefined && validity === undefined) {
        validity = bitWords(rows);
        setBits(validity, 0, made);
      }
      if (column.validity !== undefined) copyBits(validity!, made, column.validity, 0, count);
      else if (validity !== undefined) setBits(validity, made, made + count);
      made += count;
    },
    end() {
      const type = isNarrow && head.type !== 'decimal' ? 'i32' : head.type;
      const { validity: _, ...rest } = head;
      const some = validity === undefined ? {} : { validity };
      return { ...rest, ...some, type, [head.type === 'string' ? 'codes' : 'values']: values } as HostColumn;
    },
  };
}
