import { describe, expect } from 'vitest';
import { openTable } from '../../../formats/index.ts';
import { parseCsv } from '../../../formats/result-sets/csv.ts';
import { openCsvRows } from '../../../formats/text/csv-rows.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { fileOf, readAll, readPath } from '../../support/table-files-support.ts';

const idsOf = ({ bytes, starts }: { readonly bytes: Uint8Array; readonly starts: Uint32Array }): string[] =>
  Array.from({ length: starts.length - 1 }, (_, i) => Buffer.from(bytes).toString('utf8', starts[i], starts[i + 1]));

const ENDS = ['\n', '\r\n', '\r'];

async function points(text: string, options: object = {}): Promise<number[][]> {
  const file = await openCsvRows(await fileOf(text), { numbers: [['x'], ['y']], batchRows: () => 2, ...options });
  const rows: number[][] = [];
  for await (const { count, numbers } of file.batches()) {
    for (let row = 0; row < count; row++) rows.push(numbers.map((column) => column[row]!));
  }
  return rows;
}

/** How a CSV is written. */
const dialects = fc.record({
  delimiter: fc.constantFrom(',', ';', '\t'),
  lineEnd: fc.constantFrom(...ENDS),
  decimal: fc.constantFrom<'.' | ','>('.', ','),
  isMarked: fc.boolean(),
  isStated: fc.boolean(),
  isQuoted: fc.boolean(),
  endsOpen: fc.boolean(),
  before: fc.array(fc.constantFrom('lineEnd', '  lineEnd', ' \t lineEnd'), { maxLength: 2 }),
  between: fc.constantFrom('', 'lineEnd', '  lineEnd'),
});
type Dialect = typeof dialects extends fc.Arbitrary<infer T> ? T : never;

const WKT = 'POLYGON ((0 0, 1 0, 1 1, 0 0))';
const hundredths = fc.integer({ min: -99_999, max: 99_999 });
const cell = fc
  .array(fc.constantFrom('a', 'Ж', '"', ',', ';', '\t', '\r', '\n', ' ', '.', '0'), { minLength: 1, maxLength: 6 })
  .map((letters) => letters.join(''));

/** A CSV of the columns id, x, y and wkt, as a spreadsheet might write it. */
function written(rows: readonly (readonly string[])[], dialect: Dialect): string {
  const { delimiter, lineEnd, isMarked, isStated, isQuoted, endsOpen, before, between } = dialect;
  const quoted = (text: string): string =>
    isQuoted || text.startsWith('"') || [delimiter, '\r', '\n'].some((each) => text.includes(each))
      ? `"${text.replaceAll('"', '""')}"`
      : text;
  const lines = [['id', 'x', 'y', 'wkt'], ...rows].map((row) => row.map(quoted).join(delimiter));
  const text = lines.join(`${lineEnd}${between.replace('lineEnd', lineEnd)}`);
  const blank = before.filter((line) => delimiter !== '\t' || !line.includes('\t')).join('');
  const stated = isStated ? `sep=${delimiter}${lineEnd}` : '';
  return `${isMarked ? '\ufeff' : ''}${stated}${blank.replaceAll('lineEnd', lineEnd)}${text}${endsOpen ? '' : lineEnd}`;
}

/** The texts of the rows as each reader of CSV gives them. */
async function readByAll(text: string, decimal: '.' | ',') {
  const { cells } = await readPath(await fileOf(text), { decimal, types: { id: 'string', x: 'f64', y: 'f64' } });
  const file = await openCsvRows(await fileOf(text), { numbers: [['x'], ['y']], decimal, batchRows: () => 2 });
  const named: unknown[][] = [];
  for await (const { count, names, numbers } of file.batches()) {
    for (let row = 0; row < count; row++) named.push([names![row], ...numbers.map((column) => column[row])]);
  }
  const { ids } = parseCsv(Buffer.from(text), { place: 'a.csv', format: 'csv' });
  return { table: cells.id!.map((id, row) => [id, cells.x![row], cells.y![row]]), points: named, polygons: idsOf(ids) };
}

describe('all readers of CSV', () => {
  test.prop([fc.array(fc.tuple(cell, hundredths, hundredths), { minLength: 1, maxLength: 6 }), dialects], {
    numRuns: caseCount(600),
  })('give the same cells for the same bytes', async (rows, dialect) => {
    const shown = (value: number) => (value / 100).toFixed(2).replace('.', dialect.decimal);
    const text = written(rows.map(([id, x, y]) => [id, shown(x), shown(y), WKT]), dialect); // biome-ignore format: one line
    const expected = rows.map(([id, x, y]) => [id, x / 100, y / 100]);
    const { table, points: named, polygons } = await readByAll(text, dialect.decimal);
    expect(table).toEqual(expected);
    expect(named).toEqual(expected);
    expect(polygons).toEqual(rows.map(([id]) => id));
  });

  test('take quotes inside a field that begins without one as text, in the header, too', async () => {
    const text = `id,x,y,wkt,5" pipe\n2" bolt,1,2,"${WKT}",a"b\n3,4,5,"${WKT}",""\n`;
    const rows = [['2" bolt', 1, 2], ['3', 4, 5]]; // biome-ignore format: one line
    expect(await readByAll(text, '.')).toEqual({ table: rows, points: rows, polygons: rows.map(([id]) => id) });
  });

  test.each([
    ['one field too many', `1,2,3,"${WKT}",5`, ['csv/ragged-row', 'csv/bad-row', 'format/malformed']],
    ['one field too few', '1,2,3', ['csv/ragged-row', 'csv/bad-row', 'format/malformed']],
    ['text behind a quote', `"1"a,2,3,"${WKT}"`, ['csv/bad-quote', 'csv/bad-quote', 'csv/bad-quote']],
    ['an open quote', `1,2,3,"${WKT}`, ['csv/open-quote', 'csv/open-quote', 'csv/open-quote']],
  ])('refuse a row with %s', async (_, row, codes) => {
    const text = `id,x,y,wkt\n0,1,2,"${WKT}"\n${row}\n`;
    const failure = async (read: () => unknown): Promise<string> => {
      try {
        await read();
      } catch (error) {
        return (error as { code: string }).code;
      }
      return 'no error';
    };
    const found = [
      await failure(async () => readPath(await fileOf(text))),
      await failure(() => points(text)),
      await failure(() => parseCsv(Buffer.from(text), { place: 'a.csv', format: 'csv' })),
    ];
    expect(found.map((code) => code.replace(/^format\/malformed.*/, 'format/malformed'))).toEqual(codes);
  });

  test('leave out a row of another width on request, where points are read', async () => {
    const bad: (number | undefined)[] = [];
    const onBadRow = ({ place }: { readonly place?: { readonly line?: number | undefined } | undefined }) =>
      bad.push(place?.line);
    expect(await points('x,y\n1,2\n3\n4,5,6\n"7","8"\n', { onBadRow })).toEqual([[1, 2], [7, 8]]); // biome-ignore format: one line
    expect(bad).toEqual([3, 4]);
  });
});

describe('line ends', () => {
  const end = fc.constantFrom(...ENDS);
  const row = fc.tuple(fc.integer({ min: -99, max: 99 }), fc.integer({ min: -99, max: 99 }), end);
  test.prop([end, fc.array(row, { minLength: 1, maxLength: 6 }), fc.boolean()], { numRuns: caseCount(200) })(
    'are LF, CR LF or CR, also in the same file, in every reader of CSV',
    async (headEnd, rows, endsOpen) => {
      const lines = rows.map(([x, y, lineEnd], i) => `${x},${y}${endsOpen && i === rows.length - 1 ? '' : lineEnd}`);
      const text = `x,y${headEnd}${lines.join('')}`;
      const { cells } = await readPath(await fileOf(text));
      expect(cells).toEqual({ x: rows.map(([x]) => x), y: rows.map(([, y]) => y) });
      expect(await points(text)).toEqual(rows.map(([x, y]) => [x, y]));
      const polygons = rows.map(([x, y, lineEnd]) => `${x},"POLYGON ((0 0, 1 0, 1 1, 0 0))",${y}${lineEnd}`);
      const { ids } = parseCsv(Buffer.from(`id,wkt,y${headEnd}${polygons.join('')}`), {
        place: 'a.csv',
        format: 'csv',
      });
      expect(idsOf(ids)).toEqual(rows.map(([x]) => String(x)));
    },
  );

  test('inside quotes belong to the field, and count as lines', async () => {
    const path = await fileOf('a,b\r"1\r2\r\n3",x\ry\r');
    await expect(readPath(path)).rejects.toMatchObject({ code: 'csv/ragged-row', place: { line: 5 } });
    expect((await readPath(await fileOf('a,b\r"1\r2\r\n3",x\r'))).cells).toEqual({ a: ['1\r2\r\n3'], b: ['x'] });
  });

  test('of a column alone may be empty lines, which are nulls', async () => {
    expect((await readPath(await fileOf('a\r1\r\r2\r'))).cells).toEqual({ a: [1, null, 2] });
  });
});

describe('a first line sep=', () => {
  test.each(ENDS.flatMap((end) => [';', ',', '\t', '|'].map((delimiter) => [delimiter, end] as const)))(
    '%j with the line end %j states the delimiter in every reader',
    async (delimiter, end) => {
      for (const line of [`sep=${delimiter}`, `\ufeff"SEP=${delimiter}"`]) {
        const text = [line, ['x', 'y'].join(delimiter), ['1', '2'].join(delimiter), ''].join(end);
        expect((await readPath(await fileOf(text))).cells).toEqual({ x: [1], y: [2] });
        expect(await points(text)).toEqual([[1, 2]]);
      }
    },
  );

  test('does not move the numbers of lines', async () => {
    const path = await fileOf('sep=;\na;b\n1;2\n3\n');
    await expect(readPath(path)).rejects.toMatchObject({ code: 'csv/ragged-row', place: { line: 4 } });
  });
});

describe('a first line of numbers', () => {
  test('gets a note, and is a row without a header', async () => {
    const path = await fileOf('1,2,3\n4,5,6\n');
    const table = await openTable(path);
    expect([table.rows, table.fields.map(({ name }) => name)]).toEqual([1, ['1', '2', '3']]);
    expect(table.notes).toMatchObject([
      { code: 'csv/header-of-numbers', message: expect.stringContaining('--no-header') },
    ]);
    const rows = await openTable(path, { header: false });
    expect([rows.rows, rows.notes]).toEqual([2, []]);
    expect((await readAll(rows)).cells).toEqual({ column1: [1, 4], column2: [2, 5], column3: [3, 6] });
  });

  test.each([
    ['2020-01-01,5.5\n2020-01-02,6.5\n', ['csv/header-of-numbers']],
    ['2020-01-01T10:00:00Z\n2020-01-01T11:00:00Z\n', ['csv/header-of-numbers']],
    ['day,2020-01-01\n1,2\n', []],
  ])('or of times gets it, too: %j', async (text, codes) => {
    const { notes } = await openTable(await fileOf(text));
    expect(notes.map(({ code }) => code)).toEqual(codes);
  });

  test('is refused with the remedy where names would repeat, or points need names', async () => {
    await expect(openTable(await fileOf('1,1\n2,2\n'))).rejects.toMatchObject({
      code: 'format/repeated-column',
      remedy: expect.stringContaining('--no-header'),
    });
    await expect(points('1,2\n3,4\n')).rejects.toMatchObject({
      code: 'csv/missing-column',
      remedy: expect.stringContaining('--no-header'),
    });
    expect(await points('1,2\n3,4\n', { header: false })).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  test('names points without a header by the column with a number', async () => {
    const path = await fileOf('1,2,a\n3,4,b\n');
    const namesBy = async (id: string): Promise<string[]> => {
      const file = await openCsvRows(path, { numbers: [['x'], ['y']], batchRows: () => 2, header: false, id });
      const found: string[] = [];
      for await (const { names = [] } of file.batches()) found.push(...names);
      return found;
    };
    expect(await namesBy('column3')).toEqual(['a', 'b']);
    expect(await namesBy('Column1')).toEqual(['1', '3']);
    await expect(namesBy('name')).rejects.toMatchObject({
      code: 'csv/missing-column',
      got: '"column1", "column2", "column3"',
    });
  });
});

describe('decimal commas', () => {
  const number = fc
    .tuple(fc.integer({ min: -999, max: 999 }), fc.integer({ min: 0, max: 99 }))
    .map(([a, b]) => `${a},${b}`);
  test.prop([fc.array(number, { minLength: 1, maxLength: 8 }), fc.constantFrom(';', '\t', '"')], {
    numRuns: caseCount(100),
  })('are read as points', async (cells, delimiter) => {
    const [between, quote] = delimiter === '"' ? [',', '"'] : [delimiter, ''];
    const text = `x${between}y\n${cells.map((cell) => `${quote}${cell}${quote}${between}1\n`).join('')}`;
    const values = cells.map((cell) => Number(cell.replace(',', '.')));
    const options = { decimal: ',' } as const;
    expect((await readPath(await fileOf(text), options)).cells).toEqual({ x: values, y: cells.map(() => 1) });
    expect(await points(text, options)).toEqual(values.map((value) => [value, 1]));
  });

  test('leave points to text and times', async () => {
    const text = 'a;t\n1.5;2020-01-01T00:00:00.5\n';
    const { cells } = await readPath(await fileOf(text), { decimal: ',' });
    expect(cells).toEqual({ a: ['1.5'], t: [1_577_836_800_500_000n] });
  });
});

describe('a column of numbers with other cells', () => {
  test.prop(
    [
      fc.array(fc.constantFrom<string>('1', '-2', '3.5', '1e3'), { minLength: 1, maxLength: 20 }),
      fc.nat(),
      fc.constantFrom('n/a', '-', '007', '1.5.2'),
    ],
    {
      numRuns: caseCount(100),
    },
  )('is text, with a note that names the first of these', async (numbers, at, odd) => {
    const row = at % (numbers.length + 1);
    const cells = numbers.toSpliced(row, 0, odd);
    const table = await openTable(await fileOf(`a;b\n${cells.map((cell) => `${cell};x\n`).join('')}`));
    expect(table.fields[0]!.type).toBe('string');
    expect(table.notes).toMatchObject([{ code: 'csv/text-among-numbers', count: 1 }]);
    expect(table.notes[0]!.message).toContain(`because of "${odd}" in line ${row + 2} (row ${row}, counted from 0)`);
  });

  test('gets no note if text prevails, or its type is declared', async () => {
    expect((await openTable(await fileOf('a\nx\ny\n1\n'))).notes).toEqual([]);
    expect((await openTable(await fileOf(`a\n${'x\n'.repeat(100)}${'1\n'.repeat(1000)}`))).notes).toEqual([]);
    expect((await openTable(await fileOf('a\n1\nx\n'), { types: { a: 'string' } })).notes).toEqual([]);
  });

  test('is named where no type holds all of its integers', async () => {
    const { notes } = await openTable(await fileOf('a\n-1\n18446744073709551615\n'));
    expect(notes[0]!.message).toContain('"18446744073709551615" in line 3 (row 1, counted from 0): no type holds it');
  });
});

test('numbers beyond f64 are infinities', async () => {
  expect((await readPath(await fileOf('x\n1\n1e400\n-1e400\n'))).cells).toEqual({ x: [1, Infinity, -Infinity] });
});

describe('numbers with a decimal comma', () => {
  test.each([
    ['a;b\n1,5;2,5\n3;4,5\n', undefined],
    ['1,5;2,5\n3,5;4,5\n', false],
    ['a\tb\nx\t-0,25\n', undefined],
  ])('in %j get one note, which names the option', async (text, header) => {
    const path = await fileOf(text);
    const { notes } = await openTable(path, { header });
    expect(notes).toMatchObject([{ code: 'csv/decimal-comma', message: expect.stringContaining('--decimal ,') }]);
    expect((await openTable(path, { header, decimal: ',' })).notes).toEqual([]);
  });

  test.each(['a,b\nx;y,1\n', 'a\nnone\n1,5\n', 'a;b\n1.5;text\n', 'a;b\n"1,5,7";c\n'])(
    'are not seen in %j',
    async (text) => {
      const found = await openTable(await fileOf(text)).catch(() => ({ notes: [] }));
      expect(found.notes.map(({ code }) => code)).not.toContain('csv/decimal-comma');
    },
  );
});
