import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parquetMetadata } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { describe, expect } from 'vitest';
import { openTable } from '../../../formats/index.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { type Cell, fileOf, readAll, readPath } from '../../support/table-files-support.ts';

const folder = join(import.meta.dirname, '..', '..', 'fixtures', 'table-files');
const ROWS = 300;

function text(row: number): Cell {
  if (row % 7 === 0) return null;
  return row % 2 === 0 ? `a text of more than twelve letters ${row % 5}` : `t${row % 5}`;
}

function fare(row: number): Cell {
  return row % 6 === 0 ? null : BigInt(row * 101 - 5000);
}

/** Converts an expected cell of a 32-bit decimal to a number, because only wider decimals are read as bigints. */
function narrowed(cell: Cell): Cell {
  return cell === null ? null : Number(cell);
}

/** The expected content of the files that fixtures/table-files.py wrote, by column. */
const EXPECTED: { readonly [name: string]: (row: number) => Cell } = {
  id: (row) => row,
  small: (row) => (row % 100) - 50,
  text,
  large: text,
  view: text,
  code: text,
  fare,
  narrow: fare,
  wide: fare,
  flag: (row) => (row % 3 === 0 ? 1 : 0),
  when: (row) => BigInt(row) * 1000n,
  half: (row) => row / 4,
  day: (row) => row,
  moment: (row) => BigInt(row) * 1_000_000_007n,
};

async function expectCells(file: string, other: { readonly [name: string]: (row: number) => Cell } = {}) {
  const table = await openTable(join(folder, file));
  const { cells, batchRows } = await readAll(table);
  for (const [name, column] of Object.entries(cells)) {
    const cellOf = other[name] ?? EXPECTED[name]!;
    expect([name, column]).toEqual([name, Array.from({ length: ROWS }, (_, row) => cellOf(row))]);
  }
  expect([table.rows, batchRows]).toEqual([ROWS, [128, 128, 44]]);
  await table.close();
  return table;
}

describe('Arrow of pyarrow', () => {
  test.each(['lz4', 'zstd', 'uncompressed'])('packed by %s has the cells that were written', async (codec) => {
    const { format, fields, unread } = await expectCells(`pyarrow-${codec}.feather`, {
      narrow: (row) => narrowed(fare(row)),
    });
    expect([format, fields.length]).toEqual(['arrow', 13]);
    expect(unread).toEqual([
      { name: 'record', type: 'struct', what: 'records' },
      { name: 'bytes', type: 'binaryView', what: 'bytes' },
    ]);
  });

  test('can have dictionaries that grow', async () => {
    const path = join(folder, 'pyarrow-deltas.arrows');
    const codes = ['a', 'b', 'a', null, 'ü', null, 'a', 'd', 'c'];
    expect(await readPath(path)).toEqual({ cells: { code: codes }, batchRows: [3, 4, 2] });
    // In a second pass, the reader must start with the first dictionary again.
    const table = await openTable(path);
    await readAll(table);
    expect((await readAll(table, { rowsPerBatch: 4 })).cells).toEqual({ code: codes });
    await table.close();
  });

  test.prop(
    [
      fc.constantFrom('pyarrow-lz4.feather', 'pyarrow-zstd.feather', 'pyarrow-deltas.arrows'),
      fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 1, 0x7f, 0x80, 0xff)), { minLength: 1, maxLength: 3 }),
    ],
    { numRuns: caseCount(400) },
  )('with changed bytes is read or refused', async (file, changes) => {
    const bytes = await readFile(join(folder, file));
    for (const [at, value] of changes) bytes[at % bytes.length] = value;
    const path = await fileOf(bytes);
    await readPath(path).catch((error) => {
      expect(error).toMatchObject({ code: expect.stringMatching(/^(format|csv)\//), place: { file: path } });
    });
  });
});

describe('Parquet of pyarrow has the cells that were written', () => {
  test('with checksums, and decimals as bytes', async () => {
    await expectCells('pyarrow-checksums.parquet');
  });
  test('with decimals as integers, and pages of version 2', async () => {
    await expectCells('pyarrow-integers.parquet');
  });
  test('with 96-bit timestamps, in nanoseconds', async () => {
    const { fields } = await expectCells('pyarrow-int96.parquet', { when: (row) => BigInt(row) * 1_000_000_000n });
    expect(fields.find(({ name }) => name === 'moment')).toMatchObject({ type: 'timestamp', unit: 'ns' });
  });

  test('a changed byte under a checksum is detected', async () => {
    const bytes = await readFile(join(folder, 'pyarrow-checksums.parquet'));
    const { meta_data: data } = parquetMetadata(new Uint8Array(bytes)).row_groups[0]!.columns[2]!;
    const start = Number(data!.dictionary_page_offset);
    const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset: start };
    const { compressed_page_size: length } = parquetHeader(reader);
    for (let at = 0; at < length; at++) {
      const changed = Buffer.from(bytes);
      changed[reader.offset + at]! ^= 1 << (at % 8);
      await expect(readPath(await fileOf(changed), {}, { columns: ['text'] })).rejects.toMatchObject({
        code: 'format/damaged-table',
        message: expect.stringContaining(
          'The column "text" of row group 0 is damaged: one of its pages does not match its checksum',
        ),
        place: { byte: start },
      });
    }
  });
});
