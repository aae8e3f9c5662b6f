import { readFile } from 'node:fs/promises';
import { tableFromIPC } from '@uwdata/flechette';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect } from 'vitest';
import { fieldsOfTable, openTable, tableChunks, writeTable } from '../../../formats/index.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  ARROW_KINDS,
  type Cell,
  cellAt,
  declared,
  fileOf,
  newPath,
  readAll,
  readPath,
  someColumns,
  tableOf,
  type Written,
} from '../../support/table-files-support.ts';

const fieldsOf = (columns: readonly Written[]) => columns.map(({ field }) => field);
const cellsByName = (columns: readonly Written[]) =>
  Object.fromEntries(columns.map(({ field, cells }) => [field.name, cells]));

/** Cuts rows into chunks, like a stream of results. */
function* pieces(columns: readonly Written[], size: number) {
  const rows = columns[0]!.cells.length;
  for (let at = 0; at < rows; at += size) {
    yield tableOf(columns.map(({ field, cells }) => ({ field, cells: cells.slice(at, at + size) })));
  }
}

async function written(columns: readonly Written[], ending: string, size: number): Promise<string> {
  const path = newPath(ending);
  await writeTable(path, fieldsOf(columns), pieces(columns, size));
  return path;
}

const size = fc.integer({ min: 1, max: 40 });

describe('written tables read back unchanged', () => {
  test.prop([someColumns(100, ARROW_KINDS), size, size], { numRuns: caseCount(150) })(
    'as Arrow',
    async (columns, pieceRows, rowsPerBatch) => {
      const table = await openTable(await written(columns, '.arrow', pieceRows));
      expect(table).toMatchObject({ format: 'arrow', rows: columns[0]!.cells.length, unread: [] });
      expect(table.fields.map(({ nullable: _, ...field }) => field)).toEqual(
        fieldsOf(columns).map(({ nullable: _, ...field }) => field),
      );
      expect((await readAll(table)).cells).toEqual(cellsByName(columns));
      const { cells, batchRows } = await readAll(table, { rowsPerBatch });
      expect(cells).toEqual(cellsByName(columns));
      expect(batchRows.slice(0, -1).every((rows) => rows === rowsPerBatch)).toBe(true);
      await table.close();
    },
  );

  test.prop([someColumns(), size, size], { numRuns: caseCount(150) })(
    'as CSV',
    async (columns, pieceRows, rowsPerBatch) => {
      const path = await written(columns, '.csv', pieceRows);
      const { cells } = await readPath(path, { types: declared(columns) }, { rowsPerBatch });
      expect(cells).toEqual(cellsByName(columns));
    },
  );

  test.prop([someColumns(), size], { numRuns: caseCount(100) })(
    'as JSON, and as JSON lines',
    async (columns, pieceRows) => {
      const rows = JSON.parse(await readFile(await written(columns, '.json', pieceRows), 'utf8'));
      const lines = await readFile(await written(columns, '.ndjson', pieceRows), 'utf8');
      expect(
        lines
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line)),
      ).toEqual(rows);
      expect(rows.length).toBe(columns[0]!.cells.length);
      for (const { field, cells } of columns) {
        expect(rows.map((row: Record<string, unknown>) => fromJson(field, row[field.name]))).toEqual(cells);
      }
    },
  );

  /** Converts a JSON value to the cell that it represents in a column. */
  function fromJson(field: Written['field'], value: unknown): Cell {
    if (value === null) return null;
    switch (field.type) {
      case 'bool':
        return value === true ? 1 : 0;
      case 'f32':
        return Math.fround(Number(value));
      case 'u64':
      case 'i64':
        return BigInt(value as string);
      case 'decimal': {
        const [whole, fraction = ''] = (typeof value === 'number' ? value.toFixed(field.scale) : String(value)).split(
          '.',
        );
        return BigInt(whole! + fraction);
      }
      case 'date':
        return Date.parse(`${value}T00:00Z`) / 86_400_000;
      case 'timestamp': {
        const [, seconds, fraction = ''] = /^(.{19})(?:\.(\d+))?$/.exec(value as string)!;
        return BigInt(Date.parse(`${seconds}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
      }
      case 'string':
        return value as string;
      default:
        return Number(value);
    }
  }

  test.prop([someColumns(), size], { numRuns: caseCount(50) })(
    'in another reader of Arrow',
    async (columns, pieceRows) => {
      const path = await written(columns, '.arrow', pieceRows);
      const other = tableFromIPC(await readFile(path), { useBigInt: true, useDecimalInt: true });
      for (const { field, cells } of columns) {
        const column = other.getChild(field.name)!;
        expect(Array.from({ length: cells.length }, (_, row) => column.at(row) === null)).toEqual(
          cells.map((cell) => cell === null),
        );
        if (field.type !== 'string') continue;
        // Byte-order marks are removed from the expected cells, because the other reader strips such marks.
        expect([...column.toArray()]).toEqual(
          cells.map((cell) => (cell as string | null)?.replace(/^\ufeff/, '') ?? null),
        );
      }
    },
  );
});

/**
 * The types that the other writer of Parquet supports. Each has a function that converts a cell to the form that this
 * writer expects.
 */
const PARQUET: { readonly [type: string]: (cell: Cell) => unknown } = {
  i32: Number,
  f32: Number,
  f64: Number,
  i64: (cell) => cell,
  bool: (cell) => cell === 1,
  string: (cell) => cell,
};
const PARQUET_TYPES: { readonly [type: string]: string } = {
  i32: 'INT32',
  f32: 'FLOAT',
  f64: 'DOUBLE',
  i64: 'INT64',
  bool: 'BOOLEAN',
  string: 'STRING',
};

/** Replaces −0 by 0, because the writer's dictionaries treat both as one value. */
function withoutMinusZero({ field, cells }: Written): Written {
  return { field, cells: cells.map((cell) => (Object.is(cell, -0) ? 0 : cell)) };
}

describe('Parquet of another writer', () => {
  const codec = fc.constantFrom('UNCOMPRESSED' as const, 'SNAPPY' as const);
  test.prop([someColumns(), fc.integer({ min: 1, max: 50 }), size, codec], { numRuns: caseCount(150) })(
    'reads back unchanged',
    async (all, rowGroupSize, rowsPerBatch, codec) => {
      const columns = all.filter(({ field }) => field.type in PARQUET).map(withoutMinusZero);
      fc.pre(columns.length > 0 && columns[0]!.cells.length > 0);
      const columnData = columns.map(({ field, cells }) => ({
        name: field.name,
        data: cells.map((cell) => (cell === null ? null : PARQUET[field.type]!(cell))),
        type: PARQUET_TYPES[field.type] as 'INT32',
        nullable: field.nullable,
      }));
      const table = await openTable(
        await fileOf(new Uint8Array(parquetWriteBuffer({ columnData, codec, rowGroupSize }))),
      );
      expect(table.fields).toEqual(fieldsOf(columns));
      const { cells, batchRows } = await readAll(table);
      expect(cells).toEqual(cellsByName(columns));
      expect(Math.max(...batchRows)).toBeLessThanOrEqual(rowGroupSize);
      const last = columns.at(-1)!.field.name;
      expect((await readAll(table, { columns: [last], rowsPerBatch })).cells).toEqual({ [last]: cells[last] });
      await table.close();
    },
  );
});

test.prop([someColumns(200), size], { numRuns: caseCount(50) })(
  'two passes give the same dictionary codes',
  async (columns, rowsPerBatch) => {
    const table = await openTable(await written(columns, '.csv', 50), { types: declared(columns) });
    const codes = async (): Promise<unknown[]> => {
      const all: unknown[] = [];
      for await (const { columns, rows } of table.batches({ rowsPerBatch })) {
        for (const [name, column] of Object.entries(columns)) {
          if (column.type !== 'string') continue;
          for (let row = 0; row < rows; row++)
            all.push([name, cellAt(column, row) === null ? null : column.codes[row]]);
        }
      }
      return all;
    };
    expect(await codes()).toEqual(await codes());
  },
);

test('a batch without rows and a table without batches are written', async () => {
  const columns = { a: { type: 'i32', values: new Int32Array(0) } } as const;
  const fields = fieldsOfTable(columns);
  const text = async (format: 'csv' | 'json' | 'ndjson', batches: { rows: number; columns: typeof columns }[]) => {
    let all = '';
    for await (const chunk of tableChunks(format, fields, batches)) all += chunk;
    return all;
  };
  expect([await text('csv', []), await text('json', [{ rows: 0, columns }]), await text('ndjson', [])]).toEqual([
    'a\n',
    '[\n]\n',
    '',
  ]);
  await expect(writeTable(newPath('.xyz'), fields, [])).rejects.toMatchObject({ code: 'output/unknown-format' });
});

test('writing ends at an abort, and leaves no file', async () => {
  const columns = { a: { type: 'i32', values: Int32Array.of(1) } } as const;
  const controller = new AbortController();
  const path = newPath('.csv');
  function* endless() {
    for (let batch = 0; ; batch++) {
      if (batch === 3) controller.abort(new Error('enough'));
      yield { rows: 1, columns };
    }
  }
  await expect(writeTable(path, fieldsOfTable(columns), endless(), { signal: controller.signal })).rejects.toThrow(
    'enough',
  );
  await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
});
