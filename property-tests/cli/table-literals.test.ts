import { expect } from 'vitest';
import * as t from '../../algorithms/tables/index.ts';
import { parseCondition } from '../../cli/table-text/questions.ts';
import { writeTable } from '../../formats/index.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { minus, orderOf, type Rational, rationalOf, times } from '../support/exact-numbers.ts';
import { openReference } from '../support/reference-context.ts';
import { type Cell, fileOf, newPath, someColumns, tableOf, type Written } from '../support/table-files-support.ts';
import { tableAnswer } from './table-command-support.ts';

const context = openReference();

/** A decimal literal as the rational number it states, and the unit of its last digit that is not 0. */
function stated(text: string): { readonly value: Rational; readonly unit: Rational } {
  const [significand, exponent = '0'] = text.toLowerCase().split('e') as [string, string?];
  const [whole, fraction = ''] = significand.split('.') as [string, string?];
  const digits = `${whole}${fraction}`;
  const zeros = /0*$/.exec(digits)![0].length;
  const power = (n: number): Rational => (n < 0 ? { n: 1n, d: 10n ** BigInt(-n) } : { n: 10n ** BigInt(n), d: 1n });
  const place = Number(exponent) - fraction.length;
  return { value: times({ n: BigInt(digits), d: 1n }, power(place)), unit: power(place + zeros) };
}

const magnitude = (a: Rational): Rational => ({ n: a.n < 0n ? -a.n : a.n, d: a.d });
const half = (a: Rational): Rational => times(a, { n: 1n, d: 2n });

/** The floats before and after a finite float, both finite. */
function neighbours(value: number, isF32: boolean): number[] {
  const view = new DataView(new ArrayBuffer(8));
  return [-1n, 1n].map((step) => {
    if (isF32) {
      view.setFloat32(0, value);
      view.setInt32(0, view.getInt32(0) + Number(value === 0 ? 1n : step));
      return value === 0 ? Number(step) * view.getFloat32(0) : view.getFloat32(0);
    }
    view.setFloat64(0, value);
    view.setBigInt64(0, view.getBigInt64(0) + (value === 0 ? 1n : step));
    return value === 0 ? Number(step) * view.getFloat64(0) : view.getFloat64(0);
  });
}

function isEven(value: number, isF32: boolean): boolean {
  const bytes = isF32 ? new Uint8Array(Float32Array.of(value).buffer) : new Uint8Array(Float64Array.of(value).buffer);
  return bytes[0]! % 2 === 0;
}

/** −1, 0 or 1: how a float compares with a literal, by the rule of the guide. */
function orderOfFloat(value: number, isF32: boolean, text: string): number {
  if (!Number.isFinite(value)) return value === -Infinity ? -1 : 1;
  const { value: literal, unit } = stated(text);
  const apart = magnitude(minus(rationalOf(value), literal));
  const isWritten = orderOf(apart, half(unit)) <= 0;
  // Rounding treats an infinity as the power of two above the largest float.
  const limit = { n: 2n ** (isF32 ? 128n : 1024n), d: 1n };
  const isNearest = neighbours(value, isF32).every((other) => {
    const next = Number.isFinite(other) ? rationalOf(other) : times(limit, { n: other < 0 ? -1n : 1n, d: 1n });
    const order = orderOf(apart, magnitude(minus(next, literal)));
    return order < 0 || (order === 0 && isEven(value, isF32));
  });
  return isWritten && isNearest ? 0 : orderOf(rationalOf(value), literal);
}

const MAX_F32 = 3.4028234663852886e38;
const near = fc.constantFrom(
  0,
  1,
  0.1,
  16777216,
  1e10,
  1e-45,
  1.17549435e-38,
  MAX_F32,
  3.4e38,
  2 ** 53,
  1e23,
  5e-324,
  Number.MAX_VALUE,
);
const someFloat = fc.oneof(
  near,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.float({ noNaN: true, noDefaultInfinity: true }),
);
const clipped = (value: number): number => Math.fround(Math.max(-MAX_F32, Math.min(MAX_F32, value)));

/** Literals close to a float: the float with some digits, sometimes with another last digit. */
const literalNear = (value: number): fc.Arbitrary<string> =>
  fc
    .record({
      digits: fc.integer({ min: 1, max: 25 }),
      isExponent: fc.boolean(),
      last: fc.option(fc.integer({ min: 0, max: 9 })),
    })
    .map(({ digits, isExponent, last }) => {
      const text = isExponent ? value.toExponential(digits - 1) : value.toPrecision(digits);
      if (last === null) return text;
      const [significand, exponent] = text.split('e') as [string, string?];
      return `${significand.slice(0, -1)}${last}${exponent === undefined ? '' : `e${exponent}`}`;
    });

const OPERATORS = ['<', '<=', '>', '>=', '=', '<>'] as const;

async function selected(table: t.DeviceTable, where: string): Promise<number[]> {
  const condition = parseCondition({ option: '--where', text: where }, Object.keys(table.columns));
  const selection = t.selectRows(table, condition);
  const ids = t.selectedIds(selection);
  const read = await context.read(ids);
  context.dispose(ids, selection.words);
  return [...read];
}

async function expectOrders(
  table: t.DeviceTable,
  name: string,
  text: string,
  orders: readonly number[],
): Promise<void> {
  const holds = (order: number) => [order < 0, order <= 0, order > 0, order >= 0, order === 0, order !== 0];
  for (const [i, operator] of OPERATORS.entries()) {
    const rows = orders.flatMap((order, row) => (holds(order)[i] ? [row] : []));
    expect([operator, text, await selected(table, `${name} ${operator} ${text}`)]).toEqual([operator, text, rows]);
  }
}

test.prop([someFloat.chain((value) => fc.tuple(fc.constant(value), literalNear(value)))], { numRuns: caseCount(600) })(
  'a literal stands for the float that it writes, else for the real number that it states',
  async ([value, text]) => {
    for (const isF32 of [true, false]) {
      const own = isF32 ? clipped(value) : value;
      const values = [own, ...neighbours(own, isF32), -own, 0, Infinity, -Infinity, Number.NaN];
      const x = isF32
        ? { type: 'f32' as const, values: Float32Array.from(values) }
        : { type: 'f64' as const, values: Float64Array.from(values) };
      const table = t.createTable(context, { x });
      await expectOrders(
        table,
        'x',
        text,
        [...x.values].map((each) => orderOfFloat(each, isF32, text)),
      );
      t.disposeTable(table);
    }
  },
);

const integer = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -99n, max: 99n }),
  fc.constantFrom(2n ** 53n + 1n),
);

test.prop(
  [
    fc.array(integer, { minLength: 1, maxLength: 6 }),
    fc.constantFrom(0, 2, 18),
    fc.integer({ min: -3, max: 20 }),
    fc.constantFrom('', '5', '0', '00000000000000000001'),
  ],
  {
    numRuns: caseCount(400),
  },
)(
  'a literal compares with integers and decimals as the real number that it states',
  async (values, scale, shift, more) => {
    const host = {
      values: BigInt64Array.from(values),
      ...(scale === 0 ? { type: 'i64' as const } : { type: 'decimal' as const, scale }),
    };
    const table = t.createTable(context, { x: host });
    // The first value, with further digits and any place of the point.
    const text = `${values[0]}${more}e${-shift}`;
    const { value } = stated(text);
    await expectOrders(
      table,
      'x',
      text,
      values.map((each) => orderOf({ n: each, d: 10n ** BigInt(scale) }, value)),
    );
    const whole = `${values[0]}e0`;
    await expectOrders(
      table,
      'x',
      whole,
      values.map((each) => orderOf({ n: each, d: 10n ** BigInt(scale) }, { n: values[0]!, d: 1n })),
    );
    t.disposeTable(table);
  },
);

test('9007199254740993e0 is not rounded, and literals beyond all floats are below Infinity', async () => {
  const table = t.createTable(context, {
    i: { type: 'i64', values: BigInt64Array.of(2n ** 53n, 2n ** 53n + 1n) },
    d: { type: 'decimal', scale: 1, values: BigInt64Array.of(90071992547409930n, 90071992547409925n) },
    f: { type: 'f64', values: Float64Array.of(2 ** 53, Infinity) },
    g: { type: 'f32', values: Float32Array.of(2 ** 24, Infinity) },
  });
  expect(await selected(table, 'i = 9007199254740993e0')).toEqual([1]);
  expect(await selected(table, 'i = 9007199254740993000e-3')).toEqual([1]);
  expect(await selected(table, 'i in (1e0, 9007199254740993e0)')).toEqual([1]);
  expect(await selected(table, 'd = 9007199254740993.0e0')).toEqual([0]);
  expect(await selected(table, 'f < 9007199254740993e0')).toEqual([0]);
  expect(await selected(table, 'f < 1e400 and g < 1e39 and g < 16777217')).toEqual([0]);
  expect(await selected(table, 'f = Infinity and g > 1e400 and f > 1e4999')).toEqual([1]);
  expect(await selected(table, 'f > -1e400 and g > -Infinity and f > 1e-5000')).toEqual([0, 1]);
  await expect(selected(table, 'f > 1e5001')).rejects.toMatchObject({ code: 'usage/expression' });
  await expect(selected(table, `f > 0.${'1'.repeat(5001)}`)).rejects.toMatchObject({ code: 'usage/expression' });
});

const WIDE: Parameters<typeof someColumns>[1] = [
  [{ type: 'date' }, fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
  ...(['s', 'ms', 'us', 'ns'] as const).flatMap((unit) =>
    [true, false].map(
      (utc) => [{ type: 'timestamp', unit, utc }, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })] as const,
    ),
  ),
];

/** A printed cell as a literal: dates, times and strings stand in quotes. */
function literalOf(text: string, { field }: Written): string {
  const isQuoted = ['date', 'timestamp', 'string', 'time'].includes(field.type);
  return isQuoted ? `'${text.replaceAll("'", "''")}'` : text;
}

/** The cells of a column as `table` prints them, one by one, so that no CSV needs to be parsed. */
async function printed(path: string, column: Written, row: number): Promise<string> {
  const words = [path, '--columns', column.field.name, '--where', `id = ${row}`, '--quiet'];
  const [, ...lines] = (await tableAnswer(context, words)).stdout.toString().split('\n');
  const text = lines.join('\n').slice(0, -1);
  return /^".*"$/s.test(text) ? text.slice(1, -1).replaceAll('""', '"') : text;
}

test.prop([fc.oneof(someColumns(4), someColumns(4, WIDE)).filter(([first]) => first!.cells.length > 0), fc.nat()], {
  numRuns: caseCount(160),
})('what table prints of a cell is a literal that selects the row', async (columns, pick) => {
  const rows = columns[0]!.cells.length;
  const row = pick % rows;
  const id: Written = {
    field: { name: 'id', type: 'i32', nullable: false },
    cells: Array.from({ length: rows }, (_, i) => i),
  };
  const path = newPath('.arrow');
  const all = [id, ...columns];
  await writeTable(
    path,
    all.map(({ field }) => field),
    [tableOf(all)],
  );
  const conditions = ['id >= 0'];
  for (const column of columns) {
    const cell: Cell = column.cells[row]!;
    const { name } = column.field;
    conditions.push(
      cell === null ? `${name} is null` : `${name} = ${literalOf(await printed(path, column, row), column)}`,
    );
  }
  const words = [path, '--columns', 'id', '--where', conditions.join(' and '), '--quiet'];
  const ids = (await tableAnswer(context, words)).stdout.toString().trim().split('\n').slice(1);
  expect([conditions, ids]).toEqual([conditions, expect.arrayContaining([String(row)])]);
});

test('literals of nanoseconds and of years beyond 9999 and before 0000 select their rows', async () => {
  const tn = (cells: readonly bigint[], unit: 's' | 'ns'): Written => ({
    field: { name: 't', type: 'timestamp', unit, utc: false, nullable: false },
    cells,
  });
  const answer = async (column: Written, where: string): Promise<string[]> => {
    const path = newPath('.arrow');
    await writeTable(path, [column.field], [tableOf([column])]);
    return (await tableAnswer(context, [path, '--where', where, '--quiet'])).stdout
      .toString()
      .trim()
      .split('\n')
      .slice(1);
  };
  const first = 1_577_836_800_000_000_000n;
  const nanos = tn([first, first + 1n, first + 2n], 'ns');
  expect(await answer(nanos, "t = '2020-01-01T00:00:00.000000001'")).toEqual(['2020-01-01T00:00:00.000000001']);
  expect(await answer(nanos, "t > '2020-01-01T00:00:00.0000000015'")).toEqual(['2020-01-01T00:00:00.000000002']);
  expect(await answer(nanos, "t in ('2020-01-01', '2020-01-01 00:00:00.000000002')")).toHaveLength(2);
  const seconds = tn([253_402_300_800n, -62_167_219_201n, 2n ** 62n], 's');
  const [far] = await answer(seconds, "t > '+010000-01-01'");
  expect(far).toMatch(/^\+\d{12}-/);
  for (const text of ['+010000-01-01T00:00:00', '-000001-12-31T23:59:59', far]) {
    expect([text, await answer(seconds, `t = '${text}'`)]).toEqual([text, [text]]);
  }
  await expect(answer(nanos, "t = '2020-02-30'")).rejects.toMatchObject({ code: 'table/time' });
  await expect(answer(nanos, "t = '12020-02-03'")).rejects.toMatchObject({ code: 'table/time' });
});

test('NaN and Infinity are literals unless a column has this name', async () => {
  const path = await fileOf('x,NaN\nNaN,1\nInfinity,2\n-Infinity,3\n1.5,4\n', '.csv');
  const answer = async (where: string): Promise<string> =>
    (await tableAnswer(context, [path, '--where', where, '--quiet'])).stdout.toString();
  expect(await answer('x in (Infinity, -Infinity, 1.5)')).toBe('x,NaN\nInfinity,2\n-Infinity,3\n1.5,4\n');
  expect(await answer('NaN > 1 and x < Infinity')).toBe('x,NaN\n-Infinity,3\n1.5,4\n');
});
