import { describe, expect } from 'vitest';
import { openCsvRows } from '../../../formats/csv-rows.ts';
import { openTable } from '../../../formats/index.ts';
import { parseCsv } from '../../../formats/result-sets/csv.ts';
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
      fc.constantFrom('n/a', '-', '007', '1,5'),
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
