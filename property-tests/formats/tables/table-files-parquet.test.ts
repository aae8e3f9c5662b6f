import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openTable } from '../../../formats/index.ts';
import { type Cell, readAll } from '../../support/table-files-support.ts';

const folder = join(import.meta.dirname, '..', '..', 'fixtures', 'table-files');
const files = (await readdir(folder)).filter((name) => /^(duckdb|arrow-rs)-/.test(name)).sort();

const ROWS = 300;
const DAY_2000 = 946_684_800_000_000n;

/** The expected content of the files that fixtures/table-files.mjs wrote, by column. */
const EXPECTED: { readonly [name: string]: (row: number) => Cell } = {
  id: (row) => row,
  small: (row) => row % 7,
  big: (row) => BigInt(-row) * 1234567891234n,
  huge: (row) => BigInt(row) * 1234567891234567n,
  x: (row) => (row % 10 === 3 ? null : row / 8),
  f: (row) => row / 4,
  half: (row) => row / 4,
  s: (row) => (row % 5 === 0 ? null : row % 5 === 1 ? '' : `zone ü ${row % 20}`),
  name: (row) => `row ${row}`,
  flag: (row) => (row % 3 === 0 ? 1 : 0),
  maybe: (row) => (row % 4 === 0 ? null : row % 2 === 0 ? 1 : 0),
  d: (row) => row * 37 - 3000,
  ts: (row) => DAY_2000 + BigInt(row) * 1_001_000n,
  fare: (row) => BigInt(row * 101 - 5000),
  nothing: () => null,
};

describe('Parquet', () => {
  test('has fixtures of all compressions', () => {
    for (const codec of ['snappy', 'zstd', 'lz4_raw', 'gzip', 'brotli', 'uncompressed']) {
      expect(files).toContain(`duckdb-${codec}.parquet`);
    }
  });

  test.each(files.filter((file) => file !== 'duckdb-others.parquet'))(
    '%s has the cells that were written',
    async (file) => {
      const table = await openTable(join(folder, file));
      expect([table.format, table.rows, table.unread]).toEqual(['parquet', ROWS, []]);
      const expected = Object.fromEntries(
        table.fields.map(({ name }) => [name, Array.from({ length: ROWS }, (_, row) => EXPECTED[name]!(row))]),
      );
      expect(table.fields.length).toBeGreaterThan(6);
      expect((await readAll(table)).cells).toEqual(expected);
      const { cells, batchRows } = await readAll(table, { columns: ['name', 'id', 'name'], rowsPerBatch: 77 });
      expect(cells).toEqual({ name: expected.name, id: expected.id });
      expect(batchRows).toEqual([77, 77, 77, 69]);
      await table.close();
    },
  );

  test('has types with their units', async () => {
    const table = await openTable(join(folder, 'duckdb-v2.parquet'));
    await table.close();
    const types = Object.fromEntries(table.fields.map(({ name, nullable: _, ...type }) => [name, type]));
    expect(types).toMatchObject({
      small: { type: 'u32' },
      huge: { type: 'u64' },
      d: { type: 'date' },
      ts: { type: 'timestamp', unit: 'us', utc: false },
      fare: { type: 'decimal', scale: 2 },
    });
  });

  test('lists unsupported columns, and reads the others', async () => {
    const table = await openTable(join(folder, 'duckdb-others.parquet'));
    expect(table.unread).toEqual([
      { name: 'list', type: 'group (LIST)', what: 'lists' },
      { name: 'record', type: 'group', what: 'records' },
      { name: 'map', type: 'group (MAP)', what: 'maps' },
      { name: 'span', type: 'FIXED_LEN_BYTE_ARRAY (INTERVAL)', what: 'intervals' },
    ]);
    expect((await readAll(table)).cells).toEqual({
      a: [1],
      bytes: ['ab'],
      clock: [43_200_000_000n],
      id: [expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)],
      wide: [150n],
      last: ['z'],
    });
    expect(() => table.batches({ columns: ['map'] })).toThrow(
      expect.objectContaining({
        code: 'format/unsupported-column',
        message: expect.stringContaining('"map" holds maps'),
      }),
    );
    expect(() => table.batches({ columns: ['other'] })).toThrow(
      expect.objectContaining({ code: 'format/unknown-column' }),
    );
    await table.close();
  });

  test('reading ends at an abort with its reason', async () => {
    const controller = new AbortController();
    const table = await openTable(join(folder, 'arrow-rs-v2.parquet'));
    const batches: number[] = [];
    const reading = (async () => {
      for await (const { first } of table.batches({ signal: controller.signal })) {
        batches.push(first);
        controller.abort(new Error('enough'));
      }
    })();
    await expect(reading).rejects.toThrow('enough');
    expect(batches).toEqual([0]);
    await table.close();
    await table.close();
    await expect(openTable(join(folder, 'arrow-rs-v2.parquet'), { signal: controller.signal })).rejects.toThrow(
      'enough',
    );
    await expect(readAll(table)).rejects.toMatchObject({ code: 'format/closed' });
  });
});
