import { describe, expect } from 'vitest';
import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { copiedBatches } from '../../../formats/tables/copied-batches.ts';
import { arrayOf, type Chunk, sliceOf } from '../../../formats/tables/rebatch.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { type Cell, cellsOf, hostOf, someColumns, tableOf } from '../../support/table-files-support.ts';

/** 64-bit integers. Most are below 2^31; a few are taken from `strangers`. */
function mostlyNarrow(...strangers: bigint[]): fc.Arbitrary<bigint> {
  return fc.oneof(
    { weight: 20, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 31n - 1n }) },
    fc.constantFrom(...strangers),
  );
}

const columnsOfIntegers = someColumns(60, [
  [{ type: 'i64' }, mostlyNarrow(-1n, -(2n ** 31n), 2n ** 31n, -(2n ** 31n) - 1n, -(2n ** 63n))],
  [{ type: 'u64' }, mostlyNarrow(2n ** 31n, 2n ** 32n - 1n, 2n ** 63n, 2n ** 64n - 1n)],
  [{ type: 'decimal', scale: 2 }, mostlyNarrow(-1n, 2n ** 31n)],
  [{ type: 'u32' }, fc.integer({ min: 0, max: 2 ** 32 - 1 })],
  [{ type: 'string' }, fc.constantFrom('', 'a', 'ü')],
]);

/** Yields chunks of a table. The memory of a chunk is overwritten when the next chunk is requested. */
async function* lent(table: Chunk, rowsPerChunk: number): AsyncGenerator<Chunk> {
  for (let at = 0; at < table.rows; at += rowsPerChunk) {
    const { rows, columns } = sliceOf(table, at, Math.min(rowsPerChunk, table.rows - at));
    const copies = Object.entries(columns).map(([name, column]) => [name, copied(column)] as const);
    yield { rows, columns: Object.fromEntries(copies) };
    for (const [, column] of copies) {
      const { buffer } = arrayOf(column);
      new Uint8Array(buffer).fill(0xa5);
    }
  }
}

function copied(column: HostColumn): HostColumn {
  return { ...column, [column.type === 'string' ? 'codes' : 'values']: arrayOf(column).slice() } as HostColumn;
}

/** Converts a number to a bigint, so that narrowed and wide cells compare equal. */
const plain = (cell: Cell): Cell => (typeof cell === 'bigint' ? cell : typeof cell === 'number' ? BigInt(cell) : cell);

describe('copied batches', () => {
  const size = fc.integer({ min: 1, max: 40 });

  test.prop([columnsOfIntegers, size, size, fc.boolean()], { numRuns: caseCount(500) })(
    'have the rows of the chunks, whose memory can be reused',
    async (columns, rowsPerChunk, rowsPerBatch, narrow) => {
      const table = tableOf(columns);
      const found = columns.map((): Cell[] => []);
      let first = 0;
      for await (const batch of copiedBatches(lent(table, rowsPerChunk), { rowsPerBatch, rows: table.rows, narrow })) {
        expect([batch.first, batch.rows]).toEqual([first, Math.min(rowsPerBatch, table.rows - first)]);
        for (const [i, { field }] of columns.entries()) {
          const column = batch.columns[field.name]!;
          expect(arrayOf(column)).toHaveLength(batch.rows);
          found[i]!.push(...cellsOf(column, batch.rows).map(plain));
        }
        first += batch.rows;
      }
      expect(found).toEqual(columns.map((column) => cellsOf(hostOf(column), table.rows).map(plain)));
    },
  );

  test.prop([columnsOfIntegers, size, size], { numRuns: caseCount(500) })(
    'have 32-bit integers exactly when all cells of a batch fit',
    async (columns, rowsPerChunk, rowsPerBatch) => {
      const table = tableOf(columns);
      const options = { rowsPerBatch, rows: table.rows, narrow: true };
      for await (const { first, rows, columns: found } of copiedBatches(lent(table, rowsPerChunk), options)) {
        for (const { field, cells } of columns) {
          const fits = cells.slice(first, first + rows).every((cell) => {
            return cell === null || typeof cell !== 'bigint' || BigInt.asIntN(32, cell) === cell;
          });
          const isWide = ['i64', 'u64', 'decimal'].includes(field.type);
          const own = arrayOf(hostOf({ field, cells })).constructor;
          expect(arrayOf(found[field.name]!).constructor).toBe(isWide && fits ? Int32Array : own);
        }
      }
    },
  );
});
