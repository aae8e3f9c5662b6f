import { describe, expect } from 'vitest';
import { ratio } from '../../../algorithms/exact-ratio.ts';
import * as t from '../../../algorithms/tables/index.ts';
import { writeTable } from '../../../formats/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount, costlyCaseCount } from '../../cases.ts';
import { tableAnswer } from '../../cli/table-command-support.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import { fileOf, newPath, tableOf, type Written } from '../../support/table-files-support.ts';

const TIMEOUT_MS = 120_000;
const of = t.column('x');

/** The sample variance of integers in units of 10^−scale, by its definition. */
function varianceByHand(values: readonly bigint[], scale = 0): number | null {
  const n = BigInt(values.length);
  if (n < 2n) return null;
  const sum = values.reduce((total, value) => total + value, 0n);
  const squares = values.reduce((total, value) => total + (n * value - sum) ** 2n, 0n);
  return ratio(squares, n * n * (n - 1n) * 10n ** BigInt(2 * scale));
}

const small = fc.bigInt({ min: -99n, max: 99n });
const wide = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const edges = fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 0n, 2n ** 32n, -(2n ** 32n) - 1n);
const times = small.map((each) => 1_700_000_000_000n + 1000n * each);
const integers = fc.oneof(...[small, times, fc.oneof(wide, edges)].map((each) => fc.array(each, { maxLength: 40 })));

describe('the variance of integers', () => {
  onEveryBackend((opened, { runs }) => {
    const law = fc.asyncProperty(integers, async (values) => {
      const { context } = opened();
      const table = t.createTable(context, { x: { type: 'i64', values: BigInt64Array.from(values) } });
      const asked = { v: { kind: 'variance', of }, n: { kind: 'count' } } as const;
      const expected = { v: varianceByHand(values), n: values.length };
      expect(await t.aggregate(table, asked)).toEqual(expected);
      const ask = t.prepareAggregate(table, asked);
      expect(await ask()).toEqual(expected);
      ask.dispose();
      t.disposeTable(table);
    });
    const epoch = [1_700_000_000_000n, 1_700_000_001_000n];
    test(
      'is exact and rounded once, at any size',
      () =>
        fc.assert(law, { numRuns: costlyCaseCount(runs, 1), examples: [[[...epoch, -(2n ** 63n), 2n ** 63n - 1n]]] }),
      TIMEOUT_MS,
    );
  });
});

test.prop(
  [
    fc.array(fc.tuple(fc.nat({ max: 2 }), fc.oneof(small, times, wide)), { minLength: 1, maxLength: 30 }),
    fc.constantFrom(0, 3, 18),
    fc.constantFrom(undefined, 1, 4),
  ],
  {
    numRuns: caseCount(100),
  },
)('of groups, merged over the parts of a file, is exact and rounded once', async (rows, scale, rowsPerBatch) => {
  const key: Written = { field: { name: 'k', type: 'i32', nullable: false }, cells: rows.map(([group]) => group) };
  const type = scale === 0 ? { type: 'i64' as const } : { type: 'decimal' as const, scale };
  const value: Written = { field: { name: 'x', nullable: false, ...type }, cells: rows.map(([, cell]) => cell) };
  const path = newPath('.arrow');
  await writeTable(path, [key.field, value.field], [tableOf([key, value])]);
  const answer = async (...words: string[]): Promise<string[]> =>
    (
      await tableAnswer(openReference(), [path, ...words, '--aggregate', 'variance(x)', '--quiet'], { rowsPerBatch })
    ).stdout
      .toString()
      .trimEnd()
      .split('\n')
      .slice(1);
  const some = (group: number): bigint[] => rows.filter(([own]) => own === group).map(([, cell]) => cell);
  const groups = [0, 1, 2].filter((group) => some(group).length > 0);
  const text = (values: readonly bigint[]): string => String(varianceByHand(values, scale) ?? '');
  expect(await answer('--group-by', 'k')).toEqual(groups.map((group) => `${group},${text(some(group))}`));
  if (rows.length > 1) expect(await answer()).toEqual([text(rows.map(([, cell]) => cell))]);
});

test('the variance of epoch milliseconds is 500,000', async () => {
  const path = await fileOf('ts\n1700000000000\n1700000001000\n', '.csv');
  const words = [path, '--aggregate', 'variance(ts), variance(ts + ts) as doubled', '--quiet'];
  expect((await tableAnswer(openReference(), words)).stdout.toString()).toBe('variance(ts),doubled\n500000,2000000\n');
});
