import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { openTable, type TableOptions } from '../../../formats/index.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { type Cell, fileOf, readAll, readPath } from '../../support/table-files-support.ts';

/** A field's text, and whether it is quoted in the CSV. */
interface Field {
  readonly text: string;
  readonly quoted: boolean;
}

const content = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom('', '1', '-2', '"', ',', ';', '\n', '\r\n', 'a"",b', 'ü'),
);
const field = fc.record({ text: content.map((each) => Buffer.from(each).toString()), quoted: fc.boolean() });

function written({ text, quoted }: Field): string {
  return quoted || /[",;\r\n\t|]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The cell that is read for a field: null for an empty field without quotes, otherwise the text. */
const cellOf = ({ text, quoted }: Field): Cell => (text === '' && !quoted ? null : text);

const grid = fc
  .integer({ min: 2, max: 5 })
  .chain((columns) => fc.array(fc.array(field, { minLength: columns, maxLength: columns }), { maxLength: 30 }));

describe('fields', () => {
  test.prop(
    [grid, fc.constantFrom('\n', '\r\n'), fc.constantFrom(',', ';', '\t'), fc.boolean(), fc.boolean(), fc.boolean()],
    {
      numRuns: caseCount(120),
    },
  )('equal those that were written', async (rows, lineEnd, delimiter, endsLine, hasMark, gzipped) => {
    const names = (rows[0] ?? [1, 2]).map((_, i) => `c${i}`);
    const lines = [names.join(delimiter), ...rows.map((row) => row.map(written).join(delimiter))];
    const text = Buffer.from((hasMark ? '\ufeff' : '') + lines.join(lineEnd) + (endsLine ? lineEnd : ''));
    const types = Object.fromEntries(names.map((name) => [name, 'string'])) as NonNullable<TableOptions['types']>;
    const { cells } = await readPath(await fileOf(gzipped ? gzipSync(text) : text), {
      types,
      delimiter,
      format: 'csv',
    });
    expect(cells).toEqual(Object.fromEntries(names.map((name, i) => [name, rows.map((row) => cellOf(row[i]!))])));
  });

  test('longer than a block are read, wherever blocks end', async () => {
    const long = 'x'.repeat(700_000);
    const rows = Array.from({ length: 40 }, (_, i) => `${i},"${i % 5 === 0 ? `${long}""\n` : 'short'}",${i / 2}`);
    const path = await fileOf(`a,b,c\n${rows.join('\n')}\n`);
    const { cells } = await readPath(path, {}, { rowsPerBatch: 7 });
    expect(cells.a).toEqual(rows.map((_, i) => i));
    expect(cells.b!.map((text) => (text as string).length)).toEqual(rows.map((_, i) => (i % 5 === 0 ? 700_002 : 5)));
    expect(cells.c).toEqual(rows.map((_, i) => i / 2));
  });

  test('of a single column can be empty lines', async () => {
    expect(await readPath(await fileOf('\n\na\n1\n\n2\n\n'))).toMatchObject({ cells: { a: [1, null, 2, null] } });
    expect(await readPath(await fileOf('a,b\n\n1,2\n\n3,4\n\n'))).toMatchObject({ cells: { a: [1, 3], b: [2, 4] } });
  });

  test('without a header, or with an empty name, get numbered names', async () => {
    expect((await readPath(await fileOf('1,x\n2,y\n'), { header: false })).cells).toEqual({
      column1: [1, 2],
      column2: ['x', 'y'],
    });
    expect((await readPath(await fileOf(',x\n2,y\n'))).cells).toEqual({ column1: [2], x: ['y'] });
  });
});

describe('types', () => {
  const INFERRED: readonly (readonly [cells: readonly string[], type: object, read: readonly Cell[]])[] = [
    [['1', '-2', '+3', ' 4 '], { type: 'i32' }, [1, -2, 3, 4]],
    [['2147483647', '-2147483648'], { type: 'i32' }, [2147483647, -2147483648]],
    [['2147483648', ''], { type: 'i64' }, [2147483648n, null]],
    [['-9223372036854775808', '9223372036854775807'], { type: 'i64' }, [-(2n ** 63n), 2n ** 63n - 1n]],
    [['18446744073709551615', '0'], { type: 'u64' }, [2n ** 64n - 1n, 0n]],
    [['18446744073709551617'], { type: 'string' }, ['18446744073709551617']],
    [['18446744073709551616'], { type: 'f64' }, [2 ** 64]],
    [['-1', '18446744073709551615'], { type: 'string' }, ['-1', '18446744073709551615']],
    [['1', '2.5', '1e3', '.5', '3.', '-0'], { type: 'f64' }, [1, 2.5, 1000, 0.5, 3, -0]],
    [['1', 'NaN', '-inf', 'Infinity'], { type: 'f64' }, [1, Number.NaN, -Infinity, Infinity]],
    [['0.1', '9007199254740993'], { type: 'string' }, ['0.1', '9007199254740993']],
    [['0.3', '179769313486231570000e288'], { type: 'f64' }, [0.3, 1.7976931348623157e308]],
    [['007', '12'], { type: 'string' }, ['007', '12']],
    [['true', 'FALSE', ''], { type: 'bool' }, [1, 0, null]],
    [['true', '1'], { type: 'string' }, ['true', '1']],
    [['1970-01-02', '2000-02-29', '0001-01-01'], { type: 'date' }, [1, 11016, -719162]],
    [['2001-02-29'], { type: 'string' }, ['2001-02-29']],
    [['1970-01-01', '1970-01-01 00:00:01.5'], { type: 'timestamp', unit: 'us', utc: false }, [0n, 1_500_000n]],
    [['1970-01-01T01:00:00+01:00', '1970-01-01T00:00Z'], { type: 'timestamp', unit: 'us', utc: true }, [0n, 0n]],
    [['1970-01-01T00:00Z', '1970-01-01'], { type: 'string' }, ['1970-01-01T00:00Z', '1970-01-01']],
    [['2020-01-01T24:00:00'], { type: 'string' }, ['2020-01-01T24:00:00']],
    [['1970-01-01T23:59+23:59'], { type: 'timestamp', unit: 'us', utc: true }, [0n]],
    [['2020-01-01T00:00+24:00'], { type: 'string' }, ['2020-01-01T00:00+24:00']],
    [['2020-01-01T00:00-01:60'], { type: 'string' }, ['2020-01-01T00:00-01:60']],
    [['', '"1"', '""'], { type: 'i32' }, [null, 1, null]],
    [['', ''], { type: 'string' }, [null, null]],
    [['""', ''], { type: 'string' }, ['', null]],
    [['-', '+'], { type: 'string' }, ['-', '+']],
    [['1e', '2'], { type: 'string' }, ['1e', '2']],
    [['.', '1'], { type: 'string' }, ['.', '1']],
  ];

  test.each(INFERRED)('of %j are %j', async (cells, type, expected) => {
    const table = await openTable(await fileOf(`a,b\n${cells.map((cell) => `${cell},z\n`).join('')}`));
    expect(table.fields[0]).toMatchObject({ ...type, name: 'a', nullable: expected.includes(null) });
    expect(table.rows).toBe(cells.length);
    expect((await readAll(table, { columns: ['a'] })).cells).toEqual({ a: expected });
  });

  test('are inferred from the last row as from the first', async () => {
    const path = await fileOf(`a\n${'1\n'.repeat(400_000)}x\n`);
    expect((await openTable(path)).fields[0]).toMatchObject({ type: 'string' });
  });

  test.prop([fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 50 })], {
    numRuns: caseCount(200),
  })('of reals are read as the nearest f64', async (values) => {
    const { cells } = await readPath(
      await fileOf(`a\n${values.map((value) => `${Object.is(value, -0) ? '-0' : value}\n`).join('')}`),
      {
        types: { a: 'f64' },
      },
    );
    expect(cells.a).toEqual(values);
  });

  test('that are declared are used', async () => {
    const types = { a: 'decimal(2)', b: 'u32', c: 'string', d: 'f32', e: 'timestamp' } as const;
    const path = await fileOf('a,b,c,d,e\n1.5,7,8,0.1,1970-01-02\n-0.07,,,,\n');
    expect((await readPath(path, { types })).cells).toEqual({
      a: [150n, -7n],
      b: [7, null],
      c: ['8', null],
      d: [Math.fround(0.1), null],
      e: [86_400_000_000n, null],
    });
  });
});

describe('errors of a CSV', () => {
  const FAULTS: readonly (readonly [name: string, text: string | Uint8Array, error: object, options?: TableOptions])[] =
    [
      ['a row too short', 'a,b\n1,2\n3\n', { code: 'csv/ragged-row', expected: 2, got: 1, place: { line: 3 } }],
      [
        'a row too long',
        'a,b\n"x\ny",2\n3,4,5,6\n',
        { code: 'csv/ragged-row', expected: 2, got: 4, place: { line: 4 } },
      ],
      ['an unclosed quote', 'a,b\n1,"2\n3,4\n', { code: 'csv/open-quote', place: { line: 2 } }],
      ['text after a closing quote', 'a,b\n1,"2"x\n', { code: 'csv/bad-quote', place: { line: 2 } }],
      ['an empty file', '', { code: 'format/not-table' }],
      ['only line ends', '\n\r\n\n', { code: 'csv/empty' }],
      ['only a byte-order mark', '\ufeff', { code: 'csv/empty' }],
      ['repeated names', 'a,b,a\n', { code: 'format/repeated-column', message: expect.stringContaining('"a"') }],
      ['Latin-1', Buffer.from('a\nü\n', 'latin1'), { code: 'format/not-utf8', place: { line: 2 } }],
      ['UTF-16', Buffer.from('\ufeffa\n1\n', 'utf16le'), { code: 'format/not-utf8' }],
      ['bytes', Uint8Array.of(7, 0, 3, 10, 5), { code: 'format/not-table' }],
      [
        'a cell of another type',
        'a\n1\nx\n',
        { code: 'csv/bad-cell', got: '"x"', place: { line: 3 } },
        { types: { a: 'i32' } },
      ],
      ['too many digits', 'a\n1.234\n', { code: 'csv/bad-cell', place: { line: 2 } }, { types: { a: 'decimal(2)' } }],
      ['a number beyond 32 bits in a u32 column', 'a\n4294967296\n', { code: 'csv/bad-cell' }, { types: { a: 'u32' } }],
      ['a type for a missing column', 'a\n1\n', { code: 'format/unknown-column', got: 'b' }, { types: { b: 'i32' } }],
      ['an endless line', 'x'.repeat(17 * 2 ** 20), { code: 'csv/long-line', place: { line: 1 } }],
      ['an endless quote', `a,b\n1,"${'x'.repeat(17 * 2 ** 20)}`, { code: 'csv/open-quote', place: { line: 2 } }],
    ];

  test.each(FAULTS.map((fault) => [fault[0], fault] as const))('%s', async (_, [, text, error, options]) => {
    const path = await fileOf(text);
    const { place = {} } = error as { readonly place?: object };
    await expect(readPath(path, options)).rejects.toMatchObject({ ...error, place: { file: path, ...place } });
  });

  test.prop(
    [fc.uint8Array({ maxLength: 60 }).map((bytes) => bytes.map((byte) => ',\n"\r;1a.-'.charCodeAt(byte % 9)))],
    {
      numRuns: caseCount(1000),
    },
  )('any text is read, or refused with its line', async (bytes) => {
    await readPath(await fileOf(bytes)).catch((error) => {
      expect(error.code).toMatch(/^(csv\/[a-z-]+|format\/(not-table|repeated-column))$/);
      if (/ragged|quote|cell/.test(error.code)) expect(error.place.line).toBeGreaterThan(0);
    });
  });
});
