import { describe, expect } from 'vitest';
import * as t from '../../../algorithms/tables/index.ts';
import { writeTable } from '../../../formats/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount, costlyCaseCount } from '../../cases.ts';
import { tableAnswer } from '../../cli/table-command-support.ts';
import { fc, test } from '../../law-test.ts';
import { minus, type Rational, rationalOf, rounded, sumOf, times } from '../../support/exact-numbers.ts';
import { openReference } from '../../support/reference-context.ts';
import { newPath, tableOf } from '../../support/table-files-support.ts';

const TIMEOUT_MS = 120_000;
const of = t.column('x');

/** Sum, average and sample variance by their definitions, in rational numbers, each rounded once. */
function byHand(values: readonly number[]): readonly (number | null)[] {
  const odd = values.filter((x) => !Number.isFinite(x));
  const n = values.length;
  if (n === 0) return [null, null, null];
  if (odd.length > 0) {
    const sum = odd.reduce((a, b) => a + b);
    return [sum, sum, n < 2 ? null : Number.NaN];
  }
  const all = values.map(rationalOf);
  const over = (x: Rational, divisor: number): Rational => ({ n: x.n, d: x.d * BigInt(divisor) });
  const sum = sumOf(all);
  const squares = minus(sumOf(all.map((x) => times(x, x))), over(times(sum, sum), n));
  return [rounded(sum), rounded(over(sum, n)), n < 2 ? null : rounded(over(squares, n - 1))];
}

/** Numbers of all magnitudes of f32, of a few, with few digits, with subnormal ones, or with some that are not finite. */
const floats = fc.nat(4).chain((kind) => {
  const element = [
    fc.float({ noNaN: true, noDefaultInfinity: true }),
    fc.float({ noNaN: true, min: -1000, max: 1000 }),
    fc.integer({ min: -100, max: 100 }),
    fc.constantFrom(2 ** -149, -(2 ** -149), 2 ** -126, 0, -0, 2 ** -127 + 2 ** -149, -(2 ** -126)),
    fc.oneof({ weight: 9, arbitrary: fc.float() }, { weight: 1, arbitrary: fc.constantFrom(Infinity, -Infinity) }),
  ][kind]!;
  return fc.array(element.map(Math.fround), { maxLength: 40 });
});

const asked = {
  sum: { kind: 'sum', of },
  avg: { kind: 'avg', of },
  variance: { kind: 'variance', of },
} as const;

async function byEveryRoute(context: ReturnType<typeof openReference>, given: readonly number[]): Promise<unknown[]> {
  const k = { type: 'u32' as const, values: new Uint32Array(given.length) };
  const table = t.createTable(context, { x: { type: 'f32', values: Float32Array.from(given) }, k });
  const ask = t.prepareAggregate(table, asked);
  const { sum, avg } = asked;
  const groups = await t.groupBy(table, ['k'], { sum, avg });
  const sorted = await t.groupBy(table, ['k'], { sum, avg, max: { kind: 'max', of: t.column('k') } });
  const found = [await t.aggregate(table, asked), await ask(), groups, sorted];
  ask.dispose();
  t.disposeTable(table);
  return found.map((each) => Object.values(each).map((cell) => cellsOf(cell)));
}

/** The value of the only group, or a plain value. */
function cellsOf(cell: unknown): unknown {
  return typeof cell === 'object' && cell !== null ? (cell as { values: Float64Array }).values[0] : cell;
}

describe('sums, averages and variances of f32', () => {
  onEveryBackend((opened, { name }) => {
    const law = fc.asyncProperty(floats, async (given) => {
      const expected = byHand(given);
      const [plain, prepared, groups, sorted] = (await byEveryRoute(opened().context, given)) as unknown[][];
      expect([plain, prepared]).toEqual([expected, expected]);
      if (given.length > 0)
        expect([groups!.slice(1), sorted!.slice(1, 3)]).toEqual([expected.slice(0, 2), expected.slice(0, 2)]);
    });
    const numRuns = name === 'reference' ? caseCount(30) : costlyCaseCount(name === 'workers' ? 6 : 2);
    test(
      'are exact and rounded once, by every route, with subnormal numbers',
      () => fc.assert(law, { numRuns }),
      TIMEOUT_MS,
    );
  });
});

const anyReal = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ noNaN: true, min: -1, max: 1 }),
  fc.integer({ min: -999, max: 999 }).map((x) => x / 100),
  fc.constantFrom(1.7e308, -1.7e308, 5e-324, 2 ** -500, 2 ** 600, Infinity),
);

test.prop(
  [
    fc.constantFrom('f32' as const, 'f64' as const),
    fc.array(fc.tuple(fc.nat(2), anyReal), { minLength: 1, maxLength: 30 }),
    fc.constantFrom(undefined, 1, 4),
  ],
  { numRuns: caseCount(100) },
)('the command gives the exact sums, averages and variances of groups of floats', async (type, rows, rowsPerBatch) => {
  const round = type === 'f32' ? Math.fround : (x: number) => x;
  const path = newPath('.arrow');
  const fields = [
    { name: 'k', type: 'i32' as const, nullable: false },
    { name: 'x', type, nullable: false },
  ] as const;
  const cells = [rows.map(([key]) => key), rows.map(([, x]) => round(x))];
  await writeTable(path, [...fields], [tableOf(fields.map((field, i) => ({ field, cells: cells[i]! })))]);
  const words = [path, '--group-by', 'k', '--aggregate', 'sum(x), avg(x), variance(x)', '--quiet'];
  const { stdout } = await tableAnswer(openReference(), words, { rowsPerBatch });
  const expected = [...new Set(cells[0])]
    .sort()
    .map((key) => [key, ...byHand(rows.filter(([own]) => own === key).map(([, x]) => round(x)))])
    .map((row) => row.map((cell) => (cell === null ? '' : String(cell))).join());
  expect(stdout.toString().trimEnd().split('\n').slice(1)).toEqual(expected);
});
