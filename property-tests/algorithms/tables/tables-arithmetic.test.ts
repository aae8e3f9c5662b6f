import { describe, expect } from 'vitest';
import { ratio } from '../../../algorithms/exact-ratio.ts';
import * as t from '../../../algorithms/tables/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { scaledCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

const TIMEOUT_MS = 120_000;

/** The value of an expression: an exact `units / 10^scale`, or a number of f32 or f64. */
type Evaluated =
  | { readonly type: 'exact'; readonly units: bigint; readonly scale: number }
  | { readonly type: 'f32' | 'f64' | 'literal'; readonly value: number };

const F32 = [0, -0, 1, -3, 0.1, 1e-20, -1e-20, 3e-39, 2 ** -149, 2 ** -126, -(2 ** -103), 3e38, -2e38, 2 ** 24]
  .concat([Infinity, -Infinity, Number.NaN])
  .map(Math.fround);
const F64 = [
  0,
  -0,
  1,
  0.1,
  1e-200,
  -1e-200,
  2 ** -1074,
  2 ** -1022,
  1e308,
  -1e308,
  2 ** 53,
  1e20,
  -0.3,
  2 ** -149,
].concat([Infinity, -Infinity, Number.NaN]);
const columns = {
  f: fc.oneof(fc.constantFrom(...F32), fc.float()),
  g: fc.oneof(fc.constantFrom(...F32), fc.float({ min: -100, max: 100 })),
  x: fc.oneof(fc.constantFrom(...F64), fc.double()),
  y: fc.oneof(fc.constantFrom(...F64), fc.double({ min: -100, max: 100 })),
  i: fc.oneof(fc.integer({ min: -5, max: 5 }), fc.integer()),
  l: fc.oneof(
    fc.constantFrom(2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n - 1n, 0n),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  ),
  d: fc.oneof(fc.integer({ min: -500, max: 500 }), fc.integer()),
};
type Row = { readonly [K in keyof typeof columns]: (typeof columns)[K] extends fc.Arbitrary<infer V> ? V : never };
const someRows = fc.array(fc.record(columns), { minLength: 1, maxLength: 120, size: 'max' });

const operation = fc.constantFrom('add' as const, 'sub' as const, 'mul' as const);
const named = (...names: (keyof Row)[]): fc.Arbitrary<t.Expression> => fc.constantFrom(...names).map(t.column);
const someLiteral = fc
  .oneof(fc.integer({ min: -9, max: 9 }), fc.constantFrom(0.1, 1e-20, 1e-300, 2 ** -149, 1e300))
  .map((value) => t.literal(value));
const smallLiteral = fc.constantFrom(-3, 0, 0.5, 7).map((value) => t.literal(value));
const computed = (left: fc.Arbitrary<t.Expression>, right: fc.Arbitrary<t.Expression>): fc.Arbitrary<t.Expression> =>
  fc.record({ kind: operation, left, right });
const integers = fc.oneof(named('i', 'd'), computed(named('i', 'd'), fc.oneof(named('i', 'd'), smallLiteral)));
const floats = fc.oneof(named('f', 'g'), computed(named('f', 'g'), fc.oneof(named('f', 'g'), someLiteral)));
const doubles = fc.oneof(
  named('x', 'y'),
  computed(named('x', 'y'), fc.oneof(named('x', 'y', 'f', 'l'), someLiteral, integers)),
  computed(floats, fc.oneof(named('i', 'd', 'l'), integers)),
);
const someExpression = fc.oneof(
  computed(floats, floats),
  computed(doubles, doubles),
  computed(fc.oneof(integers, floats), doubles),
  fc.record({ kind: fc.constant('neg' as const), of: fc.oneof(floats, doubles) }),
);
const operator = fc.constantFrom('<', '<=', '>', '>=', '=', '<>');
const someCondition = fc.record({
  kind: fc.constant('compare' as const),
  operator,
  left: someExpression,
  right: fc.oneof(someExpression, floats, doubles, integers, someLiteral),
});

const numberOf = (made: Evaluated): number =>
  made.type === 'exact' ? ratio(made.units, 10n ** BigInt(made.scale)) : made.value;

function valueAt(row: Row, expression: t.Expression): Evaluated {
  switch (expression.kind) {
    case 'column': {
      const name = expression.name as keyof Row;
      const value = row[name];
      if (name === 'x' || name === 'y') return { type: 'f64', value: row[name] };
      if (name === 'f' || name === 'g') return { type: 'f32', value: row[name] };
      return { type: 'exact', units: BigInt(value), scale: name === 'd' ? 2 : 0 };
    }
    case 'literal':
      return { type: 'literal', value: expression.value as number };
    case 'neg':
      return valueAt(row, { kind: 'sub', left: t.literal(0), right: expression.of });
    default:
      return combined(expression.kind, valueAt(row, expression.left), valueAt(row, expression.right));
  }
}

function combined(kind: 'add' | 'sub' | 'mul', a: Evaluated, b: Evaluated): Evaluated {
  const types = [a.type, b.type];
  const isExact = (each: Evaluated): boolean => each.type === 'exact' || each.type === 'literal';
  if (isExact(a) && isExact(b)) return combinedExactly(kind, a, b);
  const [x, y] = [numberOf(a), numberOf(b)];
  const made = (p: number, q: number): number => (kind === 'add' ? p + q : kind === 'sub' ? p - q : p * q);
  if (types.every((type) => type === 'f32' || type === 'literal')) {
    return { type: 'f32', value: Math.fround(made(Math.fround(x), Math.fround(y))) };
  }
  return { type: 'f64', value: made(x, y) };
}

function combinedExactly(kind: 'add' | 'sub' | 'mul', left: Evaluated, right: Evaluated): Evaluated {
  const [a, b] = [exactly(left), exactly(right)];
  if (kind === 'mul') return { type: 'exact', units: a.units * b.units, scale: a.scale + b.scale };
  const scale = Math.max(a.scale, b.scale);
  const [x, y] = [a.units * 10n ** BigInt(scale - a.scale), b.units * 10n ** BigInt(scale - b.scale)];
  return { type: 'exact', units: kind === 'add' ? x + y : x - y, scale };
}

/** The exact form of an integer, of a decimal or of a literal of these tests that is used with them. */
function exactly(made: Evaluated): Extract<Evaluated, { readonly type: 'exact' }> {
  if (made.type === 'exact') return made;
  return { type: 'exact', units: BigInt(made.value * 10), scale: 1 };
}

/** Compares two values. NaN is the greatest number. A literal beside an f32 is rounded to f32, unless it is beyond. */
function order(a: Evaluated, b: Evaluated): number {
  const both = [a.type, b.type];
  const isShort = both.includes('f32') && both.every((type) => type === 'f32' || type === 'literal');
  const rounded = (value: number): number => (Number.isFinite(Math.fround(value)) ? Math.fround(value) : value);
  const [x, y] = [numberOf(a), numberOf(b)].map((value) => (isShort ? rounded(value) : value)) as [number, number];
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
  return x < y ? -1 : Number(x > y);
}

function holds(sign: number, how: t.ComparisonOperator): boolean {
  return { '<': sign < 0, '<=': sign <= 0, '>': sign > 0, '>=': sign >= 0, '=': sign === 0, '<>': sign !== 0 }[how];
}

function tableOf(rows: readonly Row[]): t.HostTable {
  return {
    f: { type: 'f32', values: Float32Array.from(rows, ({ f }) => f) },
    g: { type: 'f32', values: Float32Array.from(rows, ({ g }) => g) },
    x: { type: 'f64', values: Float64Array.from(rows, ({ x }) => x) },
    y: { type: 'f64', values: Float64Array.from(rows, ({ y }) => y) },
    i: { type: 'i32', values: Int32Array.from(rows, ({ i }) => i) },
    l: { type: 'i64', values: BigInt64Array.from(rows, ({ l }) => l) },
    d: { type: 'decimal', scale: 2, values: Int32Array.from(rows, ({ d }) => d) },
  };
}

describe('arithmetic of columns', () => {
  onEveryBackend((opened, { runs }) => {
    const selects = fc.asyncProperty(someRows, someCondition, async (rows, condition) => {
      const { context } = opened();
      const table = t.createTable(context, tableOf(rows));
      const selection = t.selectRows(table, condition);
      const ids = t.selectedIds(selection);
      const sign = (row: Row): number => order(valueAt(row, condition.left), valueAt(row, condition.right));
      const expected = [...rows.keys()].filter((i) => holds(sign(rows[i]!), condition.operator));
      expect([...(await context.read(ids))], JSON.stringify(condition)).toEqual(expected);
      context.dispose(ids, selection.words);
      t.disposeTable(table);
    });
    test(
      'compares sums, differences and products of mixed types as IEEE 754 defines them',
      () => fc.assert(selects, { numRuns: scaledCount(runs, 8, 2) }),
      TIMEOUT_MS,
    );

    const extremes = fc.asyncProperty(someRows, fc.oneof(floats, doubles), async (rows, of) => {
      const { context } = opened();
      const table = t.createTable(context, tableOf(rows));
      const values = rows.map((row) => valueAt(row, of)).sort(order);
      const asked = {
        min: { kind: 'min', of },
        max: { kind: 'max', of },
        middle: { kind: 'smallest', of, k: 1 },
      } as const;
      const { min, max, middle } = await t.aggregate(table, asked);
      // Zeros of both signs are one value, and the least is reported as 0.
      expect([min, middle, max]).toEqual([values[0]!, values[0]!, values.at(-1)!].map((each) => numberOf(each) + 0));
      const grouped = await t.groupBy(table, ['i'], { max: { kind: 'max', of } });
      const keys = [...(grouped.i as { values: Int32Array }).values];
      const greatest = (key: number): number =>
        rows
          .filter(({ i }) => i === key)
          .map((row) => valueAt(row, of))
          .sort(order)
          .map(numberOf)
          .at(-1)! + 0;
      expect([...(grouped.max as { values: Float64Array }).values]).toEqual(keys.map(greatest));
      t.disposeTable(table);
    });
    test('finds extrema of them', () => fc.assert(extremes, { numRuns: scaledCount(runs, 2, 1) }), TIMEOUT_MS);

    test('keeps subnormal products of f32', async () => {
      const { context } = opened();
      const tiny = t.createTable(context, {
        a: { type: 'f32', values: Float32Array.of(1e-20, -1e-20, 0, 1e-30) },
        b: { type: 'f32', values: Float32Array.of(1e-20, 1e-20, 1, 1e-30) },
      });
      const product = t.multiplied(t.column('a'), t.column('b'));
      const ids = t.selectedIds(t.selectRows(tiny, t.greaterThan(product, 0)));
      expect([...(await context.read(ids))]).toEqual([0]);
      t.disposeTable(tiny);
    });
  });
});
