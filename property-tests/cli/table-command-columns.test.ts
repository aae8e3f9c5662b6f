import {
  columnFromArray,
  dateMillisecond,
  decimal,
  fixedSizeBinary,
  int32,
  int64,
  list,
  nullType,
  tableFromColumns,
  tableToIPC,
  timeMillisecond,
} from '@uwdata/flechette';
import { describe, expect, test } from 'vitest';
import { writeToStdout } from '../../cli/standard-output.ts';
import { openReference } from '../support/reference-context.ts';
import { fileOf, newPath, readPath } from '../support/table-files-support.ts';
import { tableAnswer } from './table-command-support.ts';

const context = openReference();
const arrowOf = (columns: Parameters<typeof tableFromColumns>[0]) =>
  fileOf(tableToIPC(tableFromColumns(columns), { format: 'file' })!, '.arrow');
const lists = columnFromArray([[1], [2], [3]], list(int32()));
const clocks = columnFromArray([34_200_250, 0, null], timeMillisecond());
const others = columnFromArray([null, null, null], nullType());
const rowsOf = async (...words: string[]) => (await tableAnswer(context, words)).stdout.toString();

describe('columns that are not read', () => {
  test('are named in a note, and in JSON', async () => {
    const path = await arrowOf({ a: columnFromArray([1, 2, 3], int32()), lists });
    const skippedColumns = [{ name: 'lists', type: 'list', why: 'holds lists, which are not read' }];
    const note = { code: 'table/skipped-columns', message: expect.stringContaining('lists (lists)'), count: 1 };
    const { stdout, log } = await tableAnswer(context, [path, '--json']);
    expect(JSON.parse(stdout.toString())).toMatchObject({ skippedColumns, notes: [note] });
    expect(log.filter(({ event }) => event !== 'progress')).toMatchObject([
      { event: 'note', ...note },
      { event: 'result', skippedColumns },
    ]);
    const named = await tableAnswer(context, [path, '--columns', 'a', '--out', newPath('.csv')]);
    expect(named.log.map(({ event }) => event)).not.toContain('note');
  });

  test.each(['.arrow', '.csv', '.json'])('leave nothing to write as %s', async (ending) => {
    await expect(tableAnswer(context, [await arrowOf({ lists }), '--out', newPath(ending)])).rejects.toMatchObject({
      code: 'table/no-columns',
      got: 'lists (lists)',
    });
  });
});

describe('Arrow columns', () => {
  test('of times of day, of nulls and of dates with a time of day', async () => {
    const dates = columnFromArray([new Date(86_400_001), new Date(-1), null], dateMillisecond());
    const path = await arrowOf({ clocks, others, dates });
    expect(await rowsOf(path)).toBe('clocks,others,dates\n09:30:00.25,,1970-01-02\n00:00:00,,1969-12-31\n,,\n');
    const out = newPath('.arrow');
    await rowsOf(path, '--out', out);
    expect(await readPath(out)).toEqual(await readPath(path));
  });

  test('of times of day are compared, ordered and grouped, but not added up', async () => {
    const path = await arrowOf({ clocks });
    expect(await rowsOf(path, '--where', "clocks >= '09:30'")).toBe('clocks\n09:30:00.25\n');
    expect(await rowsOf(path, '--where', "clocks in ('00:00:00', '09:30:00.250000001')")).toBe('clocks\n00:00:00\n');
    expect(await rowsOf(path, '--where', "clocks < '24:00:00.0'")).toBe('clocks\n09:30:00.25\n00:00:00\n');
    for (const none of ['24:00:01', '24:30', '9:30', '23:60']) {
      await expect(rowsOf(path, '--where', `clocks < '${none}'`)).rejects.toMatchObject({ code: 'table/time' });
    }
    expect(await rowsOf(path, '--aggregate', 'min(clocks), max(clocks)')).toContain('00:00:00,09:30:00.25');
    expect(await rowsOf(path, '--group-by', 'clocks')).toBe('clocks,count\n00:00:00,1\n09:30:00.25,1\n,1\n');
    await expect(rowsOf(path, '--aggregate', 'sum(clocks)')).rejects.toThrow('a column of times');
    await expect(rowsOf(path, '--where', "clocks > '2020-01-01'")).rejects.toMatchObject({ code: 'table/time' });
  });

  test.each([32, 64] as const)('of decimals of %d bits are read', async (bits) => {
    // The writer scales decimals of 32 bits wrongly, so they are written as integers.
    const integers =
      bits === 32 ? columnFromArray([1234, -1, null], int32()) : columnFromArray([1234n, -1n, null], int64());
    const table = tableFromColumns({ x: integers });
    Object.assign(table.schema.fields[0]!, { type: decimal(9, 2, bits) });
    const path = await fileOf(tableToIPC(table, { format: 'file' })!, '.arrow');
    expect(await rowsOf(path)).toBe('x\n12.34\n-0.01\n\n');
  });

  test('of decimals with too many digits after the point are named', async () => {
    const x = columnFromArray([1n, 2n, 3n], decimal(76, 40, 256));
    const { stdout } = await tableAnswer(context, [await arrowOf({ clocks, x }), '--json']);
    const why = 'holds decimals of 40 digits after the point, more than 38, which are not read';
    expect(JSON.parse(stdout.toString()).skippedColumns).toEqual([{ name: 'x', type: 'decimal', why }]);
  });

  test('of UUIDs are read as text, other bytes are named', async () => {
    const uuid = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6';
    const bytes = Uint8Array.from(Buffer.from(uuid.replaceAll('-', ''), 'hex'));
    const column = columnFromArray([bytes, null], fixedSizeBinary(16));
    const table = tableFromColumns({ id: column, other: column });
    Object.assign(table.schema.fields[0]!, { metadata: new Map([['ARROW:extension:name', 'arrow.uuid']]) });
    const path = await fileOf(tableToIPC(table, { format: 'file' })!, '.arrow');
    expect(await rowsOf(path)).toBe(`id\n${uuid}\n\n`);
    const { stdout } = await tableAnswer(context, [path, '--json']);
    expect(JSON.parse(stdout.toString()).skippedColumns).toMatchObject([
      { name: 'other', why: 'holds bytes, which are not read' },
    ]);
  });

  test.each([128, 256])('of decimals of %d bits are read where they fit 64 bits', async (bits) => {
    const of = (values: bigint[]) => arrowOf({ x: columnFromArray(values, decimal(38, 2, bits as 128)) });
    expect(await rowsOf(await of([2n ** 63n - 1n, -1n]))).toBe('x\n92233720368547758.07\n-0.01\n');
    await expect(rowsOf(await of([1n, -(2n ** 70n)]))).rejects.toMatchObject({
      code: 'format/unreadable-value',
      got: `${-(2n ** 70n)} × 10^−2`,
      place: { record: 1 },
    });
  });
});

describe('texts with control characters', () => {
  const file = () => fileOf('name,x\n"a\u001b[31m\u0007b",1\n=1+1,2\n', '.csv');

  test('do not reach the SVG of a plot', async () => {
    const svg = await rowsOf(await file(), '--group-by', 'name', '--aggregate', 'sum(x)', '--plot', '-');
    expect(svg).toContain('<svg');
    expect(svg).not.toMatch(/[^\P{Cc}\n\t]/u);
  });

  test('reach a terminal as escapes, and a pipe unchanged', async () => {
    const signal = new AbortController().signal;
    for (const [isTTY, shown] of [
      [true, 'a\\u001b[31m\\u009b\\u000d\t\n'],
      [undefined, 'a\u001b[31m\u009b\r\t\n'],
    ] as const) {
      const written: string[] = [];
      const stream = {
        isTTY,
        on: () => stream,
        off: () => stream,
        write: (text: string, done: () => void) => written.push(text) && done(),
      };
      await writeToStdout(stream as never, ['a\u001b[31m\u009b\r\t\n'], signal);
      expect(written).toEqual([shown]);
    }
  });

  test('that a spreadsheet takes for formulas are disarmed on request', async () => {
    const cells = ['=1+1', '+1', '-x', '@a', '\tb', '\rc', 'd=1'];
    const path = await fileOf(`name,n\n${cells.map((cell) => `"${cell}",-1\n`).join('')}`, '.csv');
    const quoted = await readPath(await fileOf(await rowsOf(path, '--csv-quote-formulas')));
    expect(quoted.cells).toEqual({
      name: cells.map((cell) => (cell === 'd=1' ? cell : `'${cell}`)),
      n: cells.map(() => -1),
    });
    const plain = await readPath(await fileOf(await rowsOf(path)));
    expect(plain.cells.name).toEqual(cells);
  });
});

test('options tell how a CSV is read', async () => {
  const path = await fileOf('1;2,5\n3;4,5\n', '.csv');
  expect(await rowsOf(path, '--no-header', '--decimal', ',')).toBe('column1,column2\n1,2.5\n3,4.5\n');
  const { log } = await tableAnswer(context, [
    await fileOf('1;2\n3;4\n'),
    '--columns',
    '"1"',
    '--out',
    newPath('.csv'),
  ]);
  expect(log[0]).toMatchObject({ event: 'note', code: 'csv/header-of-numbers' });
});

test.each([
  ['a.b', 'a.b,a\n1,2\n', ['--columns', 'a.b']],
  ['a.b', 'a.b,c\n1,2\n', ['--where', 'c = 1 and a.b > 3']],
  ['1', '1,b\n1,2\n', ['--columns', '1']],
])('the error for %s without quotes names double quotes', async (name, text, words) => {
  await expect(rowsOf(await fileOf(text, '.csv'), ...words)).rejects.toMatchObject({
    code: expect.stringMatching(/^usage/),
    remedy: expect.stringContaining(`double quotes: "${name}"`),
  });
});
