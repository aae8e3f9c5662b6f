import { describe, expect } from 'vitest';
import * as t from '../../../algorithms/tables/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import {
  type Cell,
  order,
  type SampleTable,
  sampleCondition,
  sampleTable,
  truthAt,
} from '../../support/table-questions.ts';

const TIMEOUT_MS = 120_000;
const NUMBERS = ['u', 'v', 'i', 'j', 'd'] as const;
const ALL = [...NUMBERS, 'f', 'l', 'm', 'n', 'b', 't', 's'] as const;
const scaleOf = (name: string): number => (name === 'd' ? 2 : 0);

/** The non-null values of a column, in ascending order. */
function sortedValues(rows: SampleTable['rows'], name: string): Cell[] {
  const some = rows.map((row) => row[name]!).filter((cell) => cell !== null);
  return some.sort((a, b) => order({ value: a, scale: 0 }, { value: b, scale: 0 }));
}

/** Converts a cell of the expected result to the form in which a table returns it. */
function cellOf(name: string, cell: Cell | undefined): unknown {
  if (cell === undefined || cell === null) return null;
  if (name === 'd') return { units: cell, scale: 2 };
  if (typeof cell === 'bigint') return 'lm'.includes(name) ? cell : Number(cell);
  return Object.is(cell, -0) ? 0 : cell;
}

const fraction = fc.constantFrom(0, 0.1, 0.25, 0.5, 0.9, 1);

describe('aggregate', () => {
  onEveryBackend((opened, { runs }) => {
    const agrees = fc.asyncProperty(
      sampleTable,
      fc.option(sampleCondition, { nil: undefined }),
      fc.constantFrom(...NUMBERS),
      fc.constantFrom(...ALL),
      fraction,
      fc.integer({ min: 1, max: 4 }),
      async ({ host, rows }, where, number, name, part, k) => {
        const { context } = opened();
        const { liveBuffers } = context.backend.counters;
        const table = t.createTable(context, host);
        const [of, any] = [t.column(number), t.column(name)];
        const found = await t.aggregate(
          table,
          {
            all: { kind: 'count' },
            count: { kind: 'count', of },
            sum: { kind: 'sum', of },
            avg: { kind: 'avg', of },
            min: { kind: 'min', of: any },
            max: { kind: 'max', of: any },
            quantile: { kind: 'quantile', of: any, fraction: part },
            smallest: { kind: 'smallest', of: any, k },
            largest: { kind: 'largest', of: any, k },
            distinct: { kind: 'countDistinct', of: any },
          },
          where === undefined ? {} : { where },
        );
        t.disposeTable(table);
        expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
        const chosen = rows.filter((row) => where === undefined || truthAt(row, where) === true);
        const numbers = sortedValues(chosen, number) as bigint[];
        const values = sortedValues(chosen, name);
        const total = numbers.reduce((sum, each) => sum + each, 0n);
        const hundredths = 10 ** scaleOf(number);
        expect(found).toEqual({
          all: chosen.length,
          count: numbers.length,
          sum: numbers.length === 0 ? null : number === 'd' ? { units: total, scale: 2 } : total,
          avg: numbers.length === 0 ? null : Number(total) / (numbers.length * hundredths),
          min: cellOf(name, values[0]),
          max: cellOf(name, values.at(-1)),
          quantile: cellOf(name, values[Math.max(0, Math.ceil(part * values.length) - 1)]),
          smallest: cellOf(name, values[k - 1]),
          largest: cellOf(name, values.at(-k)),
          distinct: new Set(values.map((value) => (value === 0 ? 0 : value))).size,
        });
      },
    );
    test('equals a plain loop', () => fc.assert(agrees, { numRuns: runs }), TIMEOUT_MS);

    const preparedAgrees = fc.asyncProperty(
      sampleTable,
      fc.array(fc.option(sampleCondition, { nil: undefined }), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(...NUMBERS),
      fc.constantFrom(...ALL),
      fraction,
      fc.integer({ min: 1, max: 4 }),
      async ({ host }, conditions, number, name, part, k) => {
        const { context } = opened();
        const { liveBuffers } = context.backend.counters;
        const table = t.createTable(context, host);
        const [of, any] = [t.column(number), t.column(name)];
        const asked = {
          all: { kind: 'count' },
          sum: { kind: 'sum', of },
          max: { kind: 'max', of: any },
          median: { kind: 'median', of: any },
          smallest: { kind: 'smallest', of: any, k },
          largest: { kind: 'largest', of: any, k },
          ...(part < 0.5 ? { quantile: { kind: 'quantile', of: any, fraction: part } as const } : {}),
        } as const;
        const ask = t.prepareAggregate(table, asked);
        for (const where of [...conditions, ...conditions]) {
          const plain = await t.aggregate(table, asked, where === undefined ? {} : { where });
          expect(await ask(where)).toEqual(plain);
        }
        ask.dispose();
        t.disposeTable(table);
        expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
      },
    );
    test('gives the same result when it is prepared', () => fc.assert(preparedAgrees, { numRuns: runs }), TIMEOUT_MS);

    // GPUs may flush subnormal numbers to zero, so neither values nor their differences are subnormal.
    const normal = fc.float({ min: -1000, max: 1000, noNaN: true }).map((x) => (Math.abs(x) < 2 ** -80 ? 0 : x));
    const floats = fc.array(normal.map(Math.fround), {
      maxLength: 3000,
      size: 'max',
    });
    const isClose = fc.asyncProperty(floats, async (given) => {
      const { context } = opened();
      const values = Float32Array.from(given);
      const table = t.createTable(context, { f: { type: 'f32', values } });
      const of = t.column('f');
      const { sum, variance, median } = await t.aggregate(table, {
        sum: { kind: 'sum', of },
        variance: { kind: 'variance', of },
        median: { kind: 'median', of },
      });
      t.disposeTable(table);
      if (given.length === 0) {
        expect([sum, variance, median]).toEqual([null, null, null]);
        return;
      }
      const exact = given.reduce((total, each) => total + each, 0);
      const magnitude = given.reduce((total, each) => total + Math.abs(each), 0);
      expect(Math.abs((sum as number) - exact)).toBeLessThanOrEqual(1e-12 * magnitude);
      const mean = exact / given.length;
      const squares = given.reduce((total, each) => total + (each - mean) ** 2, 0);
      if (given.length === 1) expect(variance).toBe(null);
      else
        expect(Math.abs((variance as number) - squares / (given.length - 1))).toBeLessThanOrEqual(1e-4 * (1 + squares));
      const sorted = values.slice().sort();
      expect(median).toBe((sorted[(given.length - 1) >> 1]! + sorted[given.length >> 1]!) / 2 + 0);
    });
    test('sums f32 as a plain loop in f64 does', () => fc.assert(isClose, { numRuns: runs }), TIMEOUT_MS);
  });
});

/** An example of Govindaraju et al., whose paper finds the maximum of this set bit by bit. */
const SET = Uint32Array.of(10, 24, 37, 99, 192, 200, 200, 232);

test('of {10 … 232} the maximum and the largest value with k = 1 are 232', async () => {
  const table = t.createTable(openReference(), { x: { type: 'u32', values: SET } });
  const of = t.column('x');
  const found = await t.aggregate(table, {
    max: { kind: 'max', of },
    first: { kind: 'largest', of, k: 1 },
    second: { kind: 'largest', of, k: 2 },
    third: { kind: 'largest', of, k: 3 },
    fourth: { kind: 'largest', of, k: 4 },
    min: { kind: 'largest', of, k: 8 },
    none: { kind: 'largest', of, k: 9 },
    median: { kind: 'median', of },
    variance: { kind: 'variance', of },
  });
  expect(found).toEqual({
    max: 232,
    first: 232,
    second: 200,
    third: 200,
    fourth: 192,
    min: 10,
    none: null,
    median: 145.5,
    variance: (182534 - 994 ** 2 / 8) / 7,
  });
});

test('a sum that does not fit in 64 bits is an error, and one that fits is exact', async () => {
  const context = openReference();
  const max = 2n ** 63n - 1n;
  const table = t.createTable(context, { x: { type: 'i64', values: BigInt64Array.of(max, 1n, -1n, -5n) } });
  const of = t.column('x');
  await expect(t.aggregate(table, { sum: { kind: 'sum', of } })).resolves.toEqual({ sum: max - 5n });
  const wide = t.createTable(context, { x: { type: 'u64', values: BigUint64Array.of(2n ** 64n - 1n, 1n) } });
  await expect(t.aggregate(wide, { sum: { kind: 'sum', of } })).rejects.toMatchObject({ code: 'tables/overflow' });
});

test('an average just above the midpoint of two f64 is rounded up', async () => {
  // The first 66 bits of the average are those of the midpoint. Only the remainder of the division shows the difference.
  const values = new BigInt64Array(4097).fill(2n ** 62n + 2n ** 9n);
  values[0]!++;
  const avg = Number(2n ** 62n + 2n ** 10n);
  const key = new Uint32Array(values.length);
  const table = t.createTable(openReference(), { x: { type: 'i64', values }, key: { type: 'u32', values: key } });
  const asked = { avg: { kind: 'avg', of: t.column('x') } } as const;
  await expect(t.aggregate(table, asked)).resolves.toEqual({ avg });
  await expect(t.groupBy(table, ['key'], asked)).resolves.toMatchObject({ avg: { values: Float64Array.of(avg) } });
});
