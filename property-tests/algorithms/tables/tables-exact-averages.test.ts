import { describe, expect } from 'vitest';
import * as t from '../../../algorithms/tables/index.ts';
import { rankAmong } from '../../../algorithms/tables/interpolation.ts';
import { writeTable } from '../../../formats/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { costlyCaseCount } from '../../cases.ts';
import { tableAnswer } from '../../cli/table-command-support.ts';
import { fc, test } from '../../law-test.ts';
import { minus, plus, type Rational, rationalOf, rounded, sumOf, times } from '../../support/exact-numbers.ts';
import { openReference } from '../../support/reference-context.ts';
import { fileOf, newPath, tableOf } from '../../support/table-files-support.ts';

const of = t.column('x');
const key = t.column('k');
const TIMEOUT_MS = 120_000;
const max = Math.fround(3.4028234663852886e38);

/** The average of f32 values, or of the values of a group, by every route of the library and of the command. */
async function averages(context: ReturnType<typeof openReference>, given: readonly number[]): Promise<number[]> {
  const values = Float32Array.from(given);
  const k = { type: 'u32' as const, values: new Uint32Array(values.length) };
  const table = t.createTable(context, { x: { type: 'f32', values }, k });
  const avg = { kind: 'avg' as const, of };
  const ask = t.prepareAggregate(table, { avg });
  const plain = await t.aggregate(table, { avg });
  const prepared = await ask();
  const dense = await t.groupBy(table, ['k'], { avg });
  const sorted = await t.groupBy(table, ['k'], { avg, max: { kind: 'max', of: key } });
  ask.dispose();
  t.disposeTable(table);
  return [
    plain.avg,
    prepared.avg,
    ...[dense, sorted].map(({ avg: made }) => (made as { values: Float64Array }).values[0]),
  ] as number[];
}

describe('the average of f32', () => {
  onEveryBackend((opened, { runs }) => {
    // A multiple of a power of two has few digits, so that every sum of such numbers is exact in f32.
    const few = fc.integer({ min: -100, max: 100 });
    const many = fc
      .tuple(fc.constantFrom(120, 64, 63, 0, -90), fc.array(few, { minLength: 1, maxLength: 12 }))
      .map(([power, all]) => all.map((each) => each * 2 ** power));
    const law = fc.asyncProperty(
      fc.oneof(many, fc.array(fc.constantFrom(max, -max), { minLength: 1, maxLength: 9 })),
      async (given) => {
        const sum = sumOf(given.map(rationalOf));
        const exact = rounded(times(sum, { n: 1n, d: BigInt(given.length) }));
        expect(await averages(opened().context, given)).toEqual([exact, exact, exact, exact]);
      },
    );
    test(
      'is that of real numbers, also where the sum exceeds the largest f32',
      async () => {
        const ten = Array.from({ length: 10 }, () => Math.fround(3.4e38));
        await fc.assert(law, { numRuns: costlyCaseCount(runs, 2), examples: [[ten], [[max, max, -max, -max]]] });
      },
      TIMEOUT_MS,
    );
  });
});

const large = fc.constantFrom(1.7e308, -1.7e308, 1e308, -1e308, 2 ** 1023);
const real = fc.oneof(large, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer({ min: -9, max: 9 }));

test('f64 sums and averages of the command are right where steps of the sum exceed the largest f64', async () => {
  const context = openReference();
  const path = await fileOf(`k,x\n${[1e308, 1.5e308, -1e308, 1e308].map((x) => `1,${x}\n`).join('')}`, '.csv');
  const asked = 'avg(x), sum(x), median(x)';
  for (const rowsPerBatch of [undefined, 1, 3]) {
    const { stdout } = await tableAnswer(context, [path, '--group-by', 'k', '--aggregate', asked, '--quiet'], {
      rowsPerBatch,
    });
    expect(stdout.toString()).toBe('k,avg(x),sum(x),median(x)\n1,6.25e+307,Infinity,1e+308\n');
  }
});

test.prop([fc.array(large, { minLength: 1, maxLength: 9 }), fc.constantFrom(undefined, 1, 2)])(
  'averages of large f64 are those of real numbers, to the last two digits',
  async (values, rowsPerBatch) => {
    const path = newPath('.arrow');
    const field = { name: 'x', type: 'f64' as const, nullable: true };
    await writeTable(path, [field], [tableOf([{ field, cells: values }])]);
    const words = [path, '--aggregate', 'avg(x), sum(x)', '--quiet'];
    const { stdout } = await tableAnswer(openReference(), words, { rowsPerBatch });
    const [avg, sum] = stdout.toString().split('\n')[1]!.split(',').map(Number) as [number, number];
    const exact = sumOf(values.map(rationalOf));
    const mean = rounded(times(exact, { n: 1n, d: BigInt(values.length) }));
    expect(Math.abs(avg - mean)).toBeLessThanOrEqual(2 ** -52 * Math.abs(mean));
    expect(sum).toBe(rounded(exact));
  },
);

test.prop([real, real])('the median of two f64 is finite, and half of their sum where that is finite', async (a, b) => {
  const table = t.createTable(openReference(), { x: { type: 'f64', values: Float64Array.of(a, b) } });
  const { median } = await t.aggregate(table, { median: { kind: 'median', of } });
  const sum = a + b;
  const exact = times(plus(rationalOf(a), rationalOf(b)), { n: 1n, d: 2n });
  expect(median).toBe((Number.isFinite(sum) ? sum / 2 : rounded(exact)) + 0);
});

test('the median of 1e308 and 1.5e308 is 1.25e308', async () => {
  const table = t.createTable(openReference(), { x: { type: 'f64', values: Float64Array.of(1.5e308, 1e308) } });
  expect(await t.aggregate(table, { x: { kind: 'median', of } })).toEqual({ x: 1.25e308 });
  const path = await fileOf('x\n1e308\n1.5e308\n', '.csv');
  const { stdout } = await tableAnswer(openReference(), [path, '--aggregate', 'median(x)', '--quiet']);
  expect(stdout.toString()).toBe('median(x)\n1.25e+308\n');
});

/** The interpolated quantile by its definition, in rational numbers. */
function quantileByHand(values: readonly Rational[], percent: number): Rational {
  const place = { n: BigInt(percent) * BigInt(values.length - 1), d: 100n };
  const low = Number(place.n / place.d);
  const part = minus(place, { n: BigInt(low), d: 1n });
  const [a, b] = [values[low]!, values[Math.min(low + 1, values.length - 1)]!];
  return plus(a, times(part, minus(b, a)));
}

const columns = fc.oneof(
  fc.array(real, { minLength: 1, maxLength: 12 }).map((all) => ({
    type: 'f64' as const,
    values: Float64Array.from(all).sort(),
    exact: rationalOf,
  })),
  fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 12 }).map((all) => ({
    type: 'f32' as const,
    values: Float32Array.from(all).sort(),
    exact: rationalOf,
  })),
  fc
    .tuple(
      fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { minLength: 1, maxLength: 12 }),
      fc.constantFrom(0, 2, 18),
    )
    .map(([all, scale]) => ({
      ...(scale === 0 ? { type: 'i64' as const } : { type: 'decimal' as const, scale }),
      values: BigInt64Array.from(all).sort(),
      exact: (value: bigint) => ({ n: value, d: 10n ** BigInt(scale) }),
    })),
);

test.prop([columns, fc.integer({ min: 0, max: 100 })])(
  'an interpolated quantile is exact and rounded once, in the library and in the command',
  async (column, percent) => {
    const { exact, ...host } = column;
    const values = Array.from<number | bigint, Rational>(host.values, (value) => exact(value as never));
    const expected = rounded(quantileByHand(values, percent)) + 0;
    const table = t.createTable(openReference(), { x: host as t.HostColumn });
    const fraction = percent / 100;
    expect(await t.aggregate(table, { x: { kind: 'quantileCont', of, fraction } })).toEqual({ x: expected });
    const path = newPath('.arrow');
    const field = { name: 'x', nullable: true, ...host } as never;
    await writeTable(path, [field], [{ rows: values.length, columns: { x: host as t.HostColumn } }]);
    const words = [path, '--aggregate', `quantile_cont(x, ${fraction})`, '--quiet'];
    const { stdout } = await tableAnswer(openReference(), words, { rowsPerBatch: 2 });
    expect(Number(stdout.toString().split('\n')[1])).toBe(expected);
  },
);

test.prop([
  fc.constantFrom(100, 1000, 1e6),
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.integer({ min: 1, max: 3e9 }),
])('the rank of a quantile is that of the decimal fraction', (whole, share, most) => {
  const parts = Math.round(share * whole);
  // As often as not, the fraction is that of a whole number of values.
  for (const count of [most, Math.max(1, Math.floor(most / whole)) * whole]) {
    const rank = (BigInt(parts) * BigInt(count) + BigInt(whole - 1)) / BigInt(whole) - 1n;
    expect(rankAmong(parts / whole)(count)).toBe(Math.max(0, Number(rank)));
  }
});

test('7 of 100 values are 0.07 of them, in the library, by group and in the command', async () => {
  const values = Uint32Array.from({ length: 100 }, (_, i) => 100 - i);
  const k = { type: 'u32' as const, values: new Uint32Array(100) };
  const table = t.createTable(openReference(), { x: { type: 'u32', values }, k });
  const asked = { x: { kind: 'quantile', of, fraction: 0.07 } } as const;
  expect(await t.aggregate(table, asked)).toEqual({ x: 7 });
  expect((await t.groupBy(table, ['k'], asked)).x).toMatchObject({ values: Uint32Array.of(7) });
  const path = await fileOf(`x\n${values.join('\n')}\n`, '.csv');
  const { stdout } = await tableAnswer(openReference(), [path, '--aggregate', 'quantile(x, 0.07)', '--quiet']);
  expect(stdout.toString().split('\n')[1]).toBe('7');
});

test('quantile gives one of the values, and quantile_cont interpolates', async () => {
  const path = await fileOf(
    'x,t,f\n1,2020-01-01,NaN\n2,2020-01-02,\n3,2020-01-03,-Infinity\n10,2020-01-05,1.5\n',
    '.csv',
  );
  const answer = async (asked: string): Promise<string> =>
    (await tableAnswer(openReference(), [path, '--aggregate', asked, '--quiet'])).stdout.toString().split('\n')[1]!;
  expect(await answer('quantile(x, 0.5), quantile_cont(x, 0.5), quantile_cont(x, 0), quantile_cont(x, 1)')).toBe(
    '2,2.5,1,10',
  );
  await expect(answer('quantile_cont(t, 0.5)')).rejects.toMatchObject({ code: 'tables/type' });
  await expect(answer('quantile_cont(x, 1.5)')).rejects.toMatchObject({ code: 'usage/expression' });
  const table = t.createTable(openReference(), {
    x: { type: 'f64', values: Float64Array.of(Number.NaN, Infinity, -Infinity, 1) },
  });
  const at = async (fraction: number): Promise<unknown> =>
    (await t.aggregate(table, { x: { kind: 'quantileCont', of, fraction } })).x;
  expect([await at(0), await at(0.1), await at(1 / 3), await at(0.5), await at(0.9)]).toEqual([
    -Infinity,
    -Infinity,
    -Infinity,
    Infinity,
    Number.NaN,
  ]);
  await expect(at(1.5)).rejects.toMatchObject({ code: 'tables/aggregate' });
  const empty = t.createTable(openReference(), { x: { type: 'i32', values: new Int32Array(0) } });
  expect(await t.aggregate(empty, { x: { kind: 'quantileCont', of, fraction: 0.5 } })).toEqual({ x: null });
});
