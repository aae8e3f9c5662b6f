import type { SchemaElement } from 'hyparquet/src/types.js';
import { describe, expect } from 'vitest';
import { openTable } from '../../../formats/index.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  dataPage,
  dictionaryPages,
  emptyOrFullDictionary,
  nullPage,
  type Page,
  parquetByHand,
} from '../../support/parquet-by-hand.ts';
import { type Cell, fileOf, readAll, readPath } from '../../support/table-files-support.ts';

type Element = Omit<SchemaElement, 'name'>;

/** A file of one column x, whose pages are given row group by row group. */
async function fileWith(element: Element, groups: readonly (readonly Page[])[], rows: readonly number[]) {
  return fileOf(parquetByHand([{ element: { name: 'x', repetition_type: 'REQUIRED', ...element }, groups }], rows));
}

const DAY = 86_400_000_000_000n;
const JULIAN_1970 = 2_440_588n;

function int96(day: bigint, nanos: bigint): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeBigInt64LE(nanos);
  bytes.writeUInt32LE(Number(day + JULIAN_1970), 8);
  return bytes;
}

describe('96-bit timestamps', () => {
  test('of the years 1 and 9999 have microseconds, and leave other rows alone', async () => {
    const days = [-719_162n, 0n, 2_932_896n];
    const values = Buffer.concat(days.map((day) => int96(day, 1_500n)));
    const path = await fileWith(
      { type: 'INT96', repetition_type: 'OPTIONAL' },
      [[dataPage(4, values, { valid: [true, true, false, true] })]],
      [4],
    );
    const table = await openTable(path);
    expect(table.fields).toMatchObject([{ type: 'timestamp', unit: 'us', utc: false }]);
    expect(table.notes).toMatchObject([{ code: 'table/coarse-times' }]);
    const cells = days.map((day) => day * 86_400_000_000n + 1n);
    expect((await readAll(table)).cells.x).toEqual([cells[0], cells[1], null, cells[2]]);
    await table.close();
  });

  const someDay = fc.bigInt({ min: -719_162n, max: 2_932_896n });
  const group = fc.array(fc.tuple(someDay, fc.bigInt({ min: 0n, max: DAY - 1n })), { minLength: 1, maxLength: 5 });
  test.prop([fc.array(group, { minLength: 1, maxLength: 3 })], { numRuns: caseCount(100) })(
    'have nanoseconds where all of them fit, and else microseconds',
    async (groups) => {
      const pages = groups.map((group) => [
        dataPage(group.length, Buffer.concat(group.map(([day, nanos]) => int96(day, nanos)))),
      ]);
      const path = await fileWith(
        { type: 'INT96' },
        pages,
        groups.map(({ length }) => length),
      );
      const times = groups.flat().map(([day, nanos]) => day * DAY + nanos);
      const fit = times.every((time) => BigInt.asIntN(64, time) === time);
      const floor = (time: bigint) => (time - (((time % 1000n) + 1000n) % 1000n)) / 1000n;
      expect((await readPath(path)).cells.x).toEqual(fit ? times : times.map(floor));
    },
  );

  test('of a day that no count of microseconds reaches are refused, with the row', async () => {
    const path = await fileWith(
      { type: 'INT96' },
      [[dataPage(2, Buffer.concat([int96(0n, 0n), int96(2n ** 31n, 0n)]))]],
      [2],
    );
    await expect(readPath(path)).rejects.toMatchObject({ code: 'format/unreadable-value', place: { record: 1 } });
  });
});

test('a row group without rows may have a dictionary without values, and no data page', async () => {
  const none = emptyOrFullDictionary(0, Buffer.alloc(0));
  const one = Buffer.alloc(4);
  one.writeInt32LE(7);
  const path = await fileWith({ type: 'INT32' }, [[none], [dataPage(1, one)], [none]], [0, 1, 0]);
  expect(await readPath(path)).toEqual({ cells: { x: [7] }, batchRows: [1] });
  const empty = await fileWith({ type: 'INT32' }, [[none]], [0]);
  expect(await readPath(empty)).toEqual({ cells: { x: [] }, batchRows: [] });
});

test('a file that states 0 rows has those of its row groups, with a note; other numbers contradict it', async () => {
  const two = Buffer.alloc(8);
  two.writeInt32LE(7);
  const file = (stated: number) =>
    fileOf(
      parquetByHand(
        [{ element: { name: 'x', type: 'INT32', repetition_type: 'REQUIRED' }, groups: [[dataPage(2, two)]] }],
        [2],
        stated,
      ),
    );
  const path = await file(0);
  expect((await readPath(path)).cells).toEqual({ x: [7, 0] });
  const table = await openTable(path);
  await table.close();
  expect(table.notes).toEqual([{ code: 'table/stated-rows', message: expect.stringContaining('2 rows') }]);
  await expect(file(1).then(readPath)).rejects.toMatchObject({ code: 'format/damaged-table' });
});

const ENCODINGS: readonly (readonly [type: NonNullable<Element['type']>, encoding: number])[] = [
  ['BOOLEAN', 0],
  ['BOOLEAN', 3],
  ['INT64', 0],
  ['INT64', 5],
  ['DOUBLE', 9],
  ['BYTE_ARRAY', 6],
  ['BYTE_ARRAY', 7],
  ['BYTE_ARRAY', 8],
];

describe.each(['SNAPPY', 'GZIP', 'ZSTD', 'BROTLI', 'LZ4', 'LZ4_RAW', 'UNCOMPRESSED'] as const)(
  'packed by %s',
  (codec) => {
    test.each(ENCODINGS)('a page of nulls, of %s in the encoding %d, may have no bytes', async (type, encoding) => {
      const element = { name: 'x', type, repetition_type: 'OPTIONAL' } as const;
      const path = await fileOf(parquetByHand([{ element, codec, groups: [[nullPage(3, encoding)]] }], [3]));
      expect((await readPath(path)).cells).toEqual({ x: [null, null, null] });
    });
  },
);

function bigEndian(value: bigint, bytes: number): Buffer {
  const text = BigInt.asUintN(8 * bytes, value).toString(16);
  return Buffer.from(text.padStart(2 * bytes, '0'), 'hex');
}

function withLength(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
}

const fits = (value: bigint): boolean => BigInt.asIntN(64, value) === value;

describe('decimals', () => {
  const width = fc.integer({ min: 1, max: 20 });
  const wide = width.chain((bytes) => {
    const bits = BigInt(8 * bytes - 1);
    const value = fc.oneof(
      fc.bigInt({ min: -(2n ** bits), max: 2n ** bits - 1n }),
      fc.constantFrom(
        ...[2n ** 63n - 1n, -(2n ** 63n), 2n ** 63n, -1n, 0n].filter((each) => BigInt.asIntN(8 * bytes, each) === each),
      ),
    );
    return fc.tuple(fc.constant(bytes), fc.array(value, { minLength: 1, maxLength: 5 }));
  });

  test.prop([wide, fc.boolean(), fc.boolean(), fc.integer({ min: 0, max: 38 })], { numRuns: caseCount(300) })(
    'of any precision are read where they fit 64 bits, and else refused with their row',
    async ([bytes, values], isFixed, hasDictionary, scale) => {
      const plain = Buffer.concat(
        values.map((value) => (isFixed ? bigEndian(value, bytes) : withLength(bigEndian(value, bytes)))),
      );
      const type = isFixed
        ? { type: 'FIXED_LEN_BYTE_ARRAY' as const, type_length: bytes }
        : { type: 'BYTE_ARRAY' as const };
      const pages = hasDictionary
        ? dictionaryPages(
            values.length,
            plain,
            values.map((_, i) => i),
          )
        : [dataPage(values.length, plain)];
      const path = await fileWith(
        { ...type, converted_type: 'DECIMAL', precision: 38, scale },
        [pages],
        [values.length],
      );
      const wrong = values.findIndex((value) => !fits(value));
      const reading = readPath(path);
      if (wrong < 0) expect((await reading).cells.x).toEqual(values);
      else {
        await expect(reading).rejects.toMatchObject({
          code: 'format/unreadable-value',
          message: expect.stringContaining('"x"'),
          place: { file: path, record: wrong },
        });
      }
    },
  );

  test('are integers of 32 or 64 bits, too, of a precision that they cannot have', async () => {
    const narrow = Buffer.alloc(8);
    narrow.writeInt32LE(-5, 0);
    narrow.writeInt32LE(2 ** 31 - 1, 4);
    const wide = Buffer.alloc(16);
    wide.writeBigInt64LE(-(2n ** 63n), 0);
    wide.writeBigInt64LE(2n ** 63n - 1n, 8);
    for (const [type, bytes, cells] of [
      ['INT32', narrow, [-5n, 2n ** 31n - 1n]],
      ['INT64', wide, [-(2n ** 63n), 2n ** 63n - 1n]],
    ] as const) {
      const path = await fileWith(
        { type, converted_type: 'DECIMAL', precision: 38, scale: 2 },
        [[dataPage(2, bytes)]],
        [2],
      );
      expect((await readPath(path)).cells.x).toEqual(cells);
    }
  });

  test('that are too wide matter only in rows, not in the dictionary', async () => {
    const plain = Buffer.concat([bigEndian(2n ** 70n, 16), bigEndian(7n, 16)]);
    const element = {
      type: 'FIXED_LEN_BYTE_ARRAY',
      type_length: 16,
      converted_type: 'DECIMAL',
      precision: 38,
      scale: 2,
    } as const;
    const used = await fileWith(element, [[dataPage(1, bigEndian(1n, 16))], dictionaryPages(2, plain, [1, 0])], [1, 2]);
    await expect(readPath(used)).rejects.toMatchObject({ code: 'format/unreadable-value', place: { record: 2 } });
    const unused = await fileWith(element, [dictionaryPages(2, plain, [1, 1])], [2]);
    expect((await readPath(unused)).cells.x).toEqual([7n, 7n]);
  });

  test('that are too wide are refused with their row, not their place among the values', async () => {
    const element = {
      type: 'FIXED_LEN_BYTE_ARRAY',
      type_length: 9,
      converted_type: 'DECIMAL',
      precision: 20,
      scale: 2,
      repetition_type: 'OPTIONAL',
    } as const;
    const values = Buffer.concat([bigEndian(1n, 9), bigEndian(2n ** 64n, 9)]);
    const path = await fileWith(element, [[dataPage(4, values, { valid: [false, true, false, true] })]], [4]);
    await expect(readPath(path)).rejects.toMatchObject({
      place: { record: 3 },
      got: '18446744073709551616 × 10^−2',
      remedy: expect.stringContaining('--columns'),
    });
  });
});

describe('byte arrays without an annotation', () => {
  const pagesOf = (values: readonly Buffer[]) => [dataPage(values.length, Buffer.concat(values.map(withLength)))];

  test('are text if those of the first row group with values are', async () => {
    const texts = ['', 'a', 'ü\n'].map((text) => Buffer.from(text));
    const element = { type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' } as const;
    const none = [dataPage(2, Buffer.alloc(0), { valid: [false, false] })];
    const some = [dataPage(3, Buffer.concat(texts.map(withLength)), { valid: [true, true, true] })];
    expect((await readPath(await fileWith(element, [none, some], [2, 3]))).cells.x).toEqual([
      null,
      null,
      '',
      'a',
      'ü\n',
    ]);
  });

  test.each([
    ['well-known binary', Buffer.from('0101000000000000000000f03f0000000000000040', 'hex')],
    ['a zero', Buffer.of(97, 0)],
    ['bytes that are no UTF-8', Buffer.of(0xff, 0xfe)],
  ])('with %s are not read, and say so', async (_, bytes) => {
    const table = await openTable(await fileWith({ type: 'BYTE_ARRAY' }, [pagesOf([Buffer.from('a'), bytes])], [2]));
    expect([table.fields, table.unread]).toEqual([
      [],
      [{ name: 'x', type: 'BYTE_ARRAY', what: 'bytes that are no text' }],
    ]);
    await table.close();
  });

  test('that are no text in a later row group are refused with their row', async () => {
    const path = await fileWith(
      { type: 'BYTE_ARRAY' },
      [pagesOf([Buffer.from('a')]), pagesOf([Buffer.from('b'), Buffer.of(0xff)])],
      [1, 2],
    );
    await expect(readPath(path)).rejects.toMatchObject({ code: 'format/unreadable-value', place: { record: 2 } });
  });
});

const UNITS = [
  ['MILLIS', 'ms', 1000n],
  ['MICROS', 'us', 1_000_000n],
  ['NANOS', 'ns', 1_000_000_000n],
] as const;

describe('other types', () => {
  test.prop(
    [
      fc.constantFrom(...UNITS),
      fc.array(fc.double({ min: 0, max: 0.9999, noNaN: true }), { minLength: 1, maxLength: 9 }),
    ],
    {
      numRuns: caseCount(100),
    },
  )('times of day are integers of their unit', async ([unit, short, perSecond], parts) => {
    const times = parts.map((part) => (BigInt(Math.floor(part * 86_400_000)) * perSecond) / 1000n);
    const isNarrow = unit === 'MILLIS';
    const values = Buffer.alloc((isNarrow ? 4 : 8) * times.length);
    for (const [i, time] of times.entries()) {
      if (isNarrow) values.writeInt32LE(Number(time), 4 * i);
      else values.writeBigInt64LE(time, 8 * i);
    }
    const logical_type = { type: 'TIME', unit, isAdjustedToUTC: false } as const;
    const path = await fileWith(
      { type: isNarrow ? 'INT32' : 'INT64', logical_type },
      [[dataPage(times.length, values)]],
      [times.length],
    );
    const table = await openTable(path);
    expect(table.fields).toMatchObject([{ type: 'time', unit: short }]);
    expect((await readAll(table)).cells.x).toEqual(times);
    await table.close();
  });

  test.prop([fc.array(fc.uuid(), { minLength: 1, maxLength: 5 })], { numRuns: caseCount(40) })(
    'UUIDs are strings',
    async (uuids) => {
      const values = Buffer.concat(uuids.map((uuid) => Buffer.from(uuid.replaceAll('-', ''), 'hex')));
      const element = { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } } as const;
      const path = await fileWith(element, [[dataPage(uuids.length, values)]], [uuids.length]);
      expect((await readPath(path)).cells.x).toEqual(uuids);
    },
  );

  test('decimals with more than 38 digits after the point are named', async () => {
    const element = { type: 'INT64', converted_type: 'DECIMAL', precision: 50, scale: 40 } as const;
    const table = await openTable(await fileWith(element, [[dataPage(1, Buffer.alloc(8))]], [1]));
    const what = 'decimals of 40 digits after the point, more than 38';
    expect([table.fields, table.unread]).toMatchObject([[], [{ name: 'x', what }]]);
    await table.close();
  });

  test('a column of nulls only, which has no type, is one of integers', async () => {
    const element = { type: 'INT32', logical_type: { type: 'NULL' }, repetition_type: 'OPTIONAL' } as const;
    const path = await fileWith(element, [[dataPage(2, Buffer.alloc(0), { valid: [false, false] })]], [2]);
    const expected: readonly Cell[] = [null, null];
    expect((await readPath(path)).cells.x).toEqual(expected);
  });
});
