import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  bool,
  columnFromArray,
  dateMillisecond,
  decimal,
  dictionary,
  float16,
  int8,
  int32,
  list,
  tableFromColumns,
  tableToIPC,
  timestamp,
  uint64,
  utf8,
} from '@uwdata/flechette';
import { describe, expect } from 'vitest';
import { FormatError } from '../../../primitives/checks/errors.ts';
import { caseCount, THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { fileOf, newPath, type ReadTable, readPath } from '../../support/table-files-support.ts';

const folder = join(import.meta.dirname, '..', '..', 'fixtures', 'table-files');
const column = columnFromArray;
const words = ['a', 'b', null, 'a', 'ü', ''];

/** A table with columns of many types; its column of lists is not supported. */
const arrowTable = tableFromColumns({
  id: column([1, 2, 3, null, 5, 6], int32()),
  code: column(words, dictionary(utf8(), int8())),
  text: column(words, utf8()),
  flag: column([true, false, null, true, true, false], bool()),
  lists: column([[1], [], null, [2, 3], [4], [5]], list(int32())),
  half: column([0.5, -2, null, 65504, 0, 1], float16()),
  fare: column([1n, -2n, 3n, null, 5n, 6n], decimal(9, 2, 128)),
  day: column(
    [0, 86_400_000, null, 0, 0, 0].map((time) => (time === null ? null : new Date(time))),
    dateMillisecond(),
  ),
  when: column([0, 1, 2, 3, 4, 5], timestamp(1, 'UTC')),
  huge: column([2n ** 64n - 1n, 0n, 1n, 2n, 3n, 4n], uint64()),
});
const ARROW_CELLS = {
  id: [1, 2, 3, null, 5, 6],
  code: words,
  text: words,
  flag: [1, 0, null, 1, 1, 0],
  half: [0.5, -2, null, 65504, 0, 1],
  fare: [1n, -2n, 3n, null, 5n, 6n],
  day: [0, 1, null, 0, 0, 0],
  when: [0n, 1n, 2n, 3n, 4n, 5n],
  huge: [2n ** 64n - 1n, 0n, 1n, 2n, 3n, 4n],
};

const SOURCES: readonly (readonly [name: string, bytes: Uint8Array])[] = [
  ['Parquet', await readFile(join(folder, 'duckdb-v2.parquet'))],
  ['Parquet of several row groups', await readFile(join(folder, 'arrow-rs-v2.parquet'))],
  ['Parquet without compression', await readFile(join(folder, 'duckdb-uncompressed.parquet'))],
  ['Parquet packed by LZ4', await readFile(join(folder, 'duckdb-lz4_raw.parquet'))],
  ['Arrow', tableToIPC(arrowTable, { format: 'file' })!],
  ['a stream of Arrow', tableToIPC(arrowTable, { format: 'stream' })!],
];

/** Expects columns of equal length, or an error of the library with all its details. */
async function expectReadOrRefused(bytes: Uint8Array): Promise<ReadTable | undefined> {
  const path = await fileOf(bytes);
  try {
    const read = await readPath(path);
    const rows = read.batchRows.reduce((sum, each) => sum + each, 0);
    for (const cells of Object.values(read.cells)) expect(cells.length).toBe(rows);
    return read;
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    expect(error).toMatchObject({
      code: expect.stringMatching(/^(format|csv)\/[a-z0-9-]+$/),
      remedy: expect.any(String),
      place: { file: path },
    });
    return undefined;
  }
}

test('Arrow of another writer has the cells that were written', async () => {
  for (const format of ['file', 'stream'] as const) {
    const { cells } = await readPath(await fileOf(tableToIPC(arrowTable, { format })!));
    expect(cells).toEqual(ARROW_CELLS);
  }
});

describe.each(SOURCES)('damage of %s', (name, bytes) => {
  test('truncated anywhere, it is refused or gives the batches before the cut', async () => {
    const whole = await readPath(await fileOf(bytes));
    const step = Math.ceil(bytes.length / (THOROUGH ? 400 : 100));
    // The first position differs between runs of the tests.
    const [first] = fc.sample(fc.integer({ min: 1, max: step }), 1) as [number];
    for (let length = first; length < bytes.length; length += step) {
      const read = await expectReadOrRefused(bytes.subarray(0, length));
      if (read === undefined) continue;
      // Of the cut files, only a stream may be read without an error, because its end marker is optional. A file that
      // is cut within its magic number is read as text.
      if (length > 8) expect(name).toBe('a stream of Arrow');
      if (length > 8)
        for (const [column, cells] of Object.entries(read.cells))
          expect(cells).toEqual(whole.cells[column]!.slice(0, cells.length));
    }
  });

  test.prop([fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 })], {
    numRuns: caseCount(250),
  })('with changed bytes, it is read or refused', async (changes) => {
    const changed = new Uint8Array(bytes);
    for (const [at, value] of changes) changed[at % changed.length] = value;
    await expectReadOrRefused(changed);
  });

  test.prop([fc.nat(), fc.constantFrom(0x7fffffff, 0x80000000, 0xffffffff, 0, 0x01000000), fc.boolean()], {
    numRuns: caseCount(250),
  })('with invalid lengths, it is read or refused', async (at, value, nearEnd) => {
    const changed = new Uint8Array(bytes);
    // Near the end are the metadata of Parquet and the footer of Arrow.
    const first = nearEnd ? Math.max(0, changed.length - 1500) : 0;
    const place = first + (at % (changed.length - first - 4));
    new DataView(changed.buffer).setUint32(place, value, true);
    await expectReadOrRefused(changed);
  });
});

test.prop(
  [fc.uint8Array({ maxLength: 200 }), fc.constantFrom('PAR1', 'ARROW1\0\0', '\xff\xff\xff\xff'), fc.boolean()],
  { numRuns: caseCount(500) },
)('any bytes after any valid beginning are refused', async (middle, magic, ends) => {
  const parts = [Buffer.from(magic, 'latin1'), middle, Buffer.from(ends ? magic.slice(0, 6) : '', 'latin1')];
  await expectReadOrRefused(Buffer.concat(parts));
});

test('Parquet metadata with numbers of another type is read or refused', async () => {
  const [I64, DOUBLE] = [6, 7];
  const [, bytes] = SOURCES[0]!;
  for (let at = bytes.length - 3000; at < bytes.length; at++) {
    if ((bytes[at]! & 15) !== I64) continue;
    const changed = new Uint8Array(bytes);
    changed[at] = (bytes[at]! & 0xf0) | DOUBLE;
    await expectReadOrRefused(changed);
  }
});

describe('files refused on opening', () => {
  /** A Parquet file that consists of metadata only. */
  function parquetOf(metadata: readonly number[] | Uint8Array): Buffer {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(metadata.length);
    return Buffer.concat([Buffer.from('PAR1'), Buffer.from(metadata), length, Buffer.from('PAR1')]);
  }

  const REFUSALS: readonly (readonly [name: string, bytes: () => Uint8Array, error: object])[] = [
    ['an empty file', () => new Uint8Array(0), { code: 'format/not-table' }],
    ['Parquet without content', () => Buffer.from('PAR1PAR1'), { code: 'format/damaged-table' }],
    ['encrypted Parquet', () => Buffer.from('PAR1\0\0\0\0\0\0\0\0PARE'), { code: 'format/unsupported-table' }],
    [
      'metadata longer than the file',
      () => Buffer.from('PAR1\0\0\0\0\xff\xff\xff\x7fPAR1', 'latin1'),
      { code: 'format/damaged-table' },
    ],
    // The next two files could use up all memory or take hours: one has a list with a huge length, the other a number
    // that never ends.
    [
      'metadata with an oversized list',
      () => parquetOf([0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0]),
      { code: 'format/damaged-table' },
    ],
    [
      'metadata with an unterminated number',
      () => parquetOf(new Uint8Array(2 ** 20).fill(0xff).fill(0x16, 0, 1)),
      { code: 'format/damaged-table' },
    ],
    [
      'endlessly nested metadata',
      () => parquetOf(new Uint8Array(2 ** 20).fill(0x1c)),
      { code: 'format/damaged-table' },
    ],
    [
      'Arrow without a footer',
      () => Buffer.from('ARROW1\0\0\0\0\0\0\0\0\0\0\0\0\0\0'),
      { code: 'format/damaged-table' },
    ],
    [
      'a stream with only a length',
      () => Buffer.from('\xff\xff\xff\xff\xff\xff\xff\x7f', 'latin1'),
      { code: 'format/damaged-table' },
    ],
    [
      'a stream with only an end mark',
      () => Buffer.from('\xff\xff\xff\xff\0\0\0\0', 'latin1'),
      { code: 'format/damaged-table' },
    ],
  ];

  test.each(REFUSALS)('%s', async (_, bytes, error) => {
    const path = await fileOf(bytes());
    const start = performance.now();
    await expect(readPath(path)).rejects.toMatchObject({ ...error, place: { file: path } });
    expect(performance.now() - start).toBeLessThan(5000);
  });

  test('a missing file, and a folder', async () => {
    await expect(readPath(newPath())).rejects.toMatchObject({ code: 'format/missing-file' });
    await expect(readPath(folder)).rejects.toMatchObject({
      code: 'format/not-a-file',
      message: expect.stringContaining('This is a directory. Name a file inside it.'),
    });
  });
});
