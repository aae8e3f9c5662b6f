import { describe, expect } from 'vitest';
import * as t from '../../../algorithms/tables/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import { type SampleTable, sampleTable, truthAt } from '../../support/table-questions.ts';

const TIMEOUT_MS = 120_000;

/** Lists of more values than are compared one by one: values of the column, and others. */
const OTHERS: { readonly [name: string]: (i: number) => t.LiteralValue } = {
  u: (i) => i * 3,
  v: (i) => i - 20,
  i: (i) => BigInt(i) - 2n ** 31n,
  l: (i) => BigInt(i) * 2n ** 59n - 2n ** 63n,
  m: (i) => BigInt(i) * 2n ** 59n,
  d: (i) => (i * 5 - 60) / 10,
  f: (i) => i / 4 - 4,
  n: (i) => i / 10,
  t: (i) => (i < 5 ? `1970-01-0${i + 1}` : i - 30),
  s: (i) => (i % 7 === 0 ? 'a' : `other ${i}`),
};
interface ListQuestion {
  readonly name: string;
  readonly first: number;
  readonly picked: readonly number[];
  readonly hasNull: boolean;
  readonly isNegated: boolean;
}
const question: fc.Arbitrary<ListQuestion> = fc.record({
  name: fc.constantFrom(...Object.keys(OTHERS)),
  first: fc.nat({ max: 20 }),
  picked: fc.array(fc.nat({ max: 89 }), { maxLength: 4 }),
  hasNull: fc.boolean(),
  isNegated: fc.boolean(),
});

/** The value of a cell as a literal. */
function literalOf(name: string, cell: SampleTable['rows'][number][string]): t.LiteralValue {
  if (name === 'd' && typeof cell === 'bigint') return Number(cell) / 100;
  return name === 't' && typeof cell === 'bigint' ? Number(cell) : (cell ?? null);
}

function conditionOf({ rows }: SampleTable, { name, first, picked, hasNull, isNegated }: ListQuestion): t.Condition {
  const some = picked.flatMap((place) => (rows[place]?.[name] == null ? [] : [literalOf(name, rows[place][name]!)]));
  const others = Array.from({ length: 30 }, (_, i) => OTHERS[name]!(first + i));
  const values = [...some, ...others, ...(hasNull ? [null] : [])];
  const list: t.Condition = { kind: 'in', of: t.column(name), values };
  return isNegated ? t.not(list) : list;
}

/** The rows that a condition selects, by comparing every row with every value. */
function rowsByHand({ rows }: SampleTable, condition: t.Condition): number[] {
  return rows.flatMap((row, i) => (truthAt(row, condition) === true ? [i] : []));
}

describe('a long list', () => {
  onEveryBackend((opened, { runs }) => {
    const law = fc.asyncProperty(sampleTable, question, async (sample, asked) => {
      const { context } = opened();
      const { liveBuffers } = context.backend.counters;
      const table = t.createTable(context, sample.host);
      const where = conditionOf(sample, asked);
      const selection = t.selectRows(table, where);
      const ids = t.selectedIds(selection);
      const found = [...(await context.read(ids))];
      context.dispose(ids, selection.words);
      const expected = rowsByHand(sample, where);
      expect(found).toEqual(expected);
      const n = { kind: 'count' as const };
      expect(await t.aggregate(table, { n }, { where: t.and(where, { kind: 'always' }) })).toEqual({
        n: expected.length,
      });
      const ask = t.prepareAggregate(table, { n });
      expect(await ask(where)).toEqual({ n: expected.length });
      ask.dispose();
      const groups = await t.groupBy(table, ['b'], { n }, { where });
      const counts = [...(groups.n as { values: Uint32Array }).values];
      expect(counts.reduce((sum, each) => sum + each, 0)).toBe(expected.length);
      t.disposeTable(table);
      expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
    });
    test('selects the rows that a plain loop finds', () => fc.assert(law, { numRuns: runs }), TIMEOUT_MS);
  });

  test.prop([sampleTable, question], { numRuns: caseCount(400) })(
    'of any type selects the rows that a plain loop finds',
    async (sample, asked) => {
      const context = openReference();
      const table = t.createTable(context, sample.host);
      const where = conditionOf(sample, asked);
      const read = await context.read(t.selectedIds(t.selectRows(table, where)));
      expect([...read]).toEqual(rowsByHand(sample, where));
    },
  );
});

test('a million values are searched, and more are refused', async () => {
  const context = openReference();
  const x = Int32Array.from({ length: 1000 }, (_, i) => i * 3001);
  const table = t.createTable(context, { x: { type: 'i32', values: x } });
  const values = Array.from({ length: 1_000_000 }, (_, i) => 3 * i);
  const where: t.Condition = { kind: 'in', of: t.column('x'), values };
  const expected = x.filter((value) => value % 3 === 0 && value < 3_000_000).length;
  expect(await t.countSelected(t.selectRows(table, where))).toBe(expected);
  const { liveBuffers } = context.backend.counters;
  const more: t.Condition = { kind: 'in', of: t.column('x'), values: new Array(1_000_001).fill(1) };
  expect(() => t.selectRows(table, more)).toThrow(expect.objectContaining({ code: 'tables/list' }));
  const some: t.Condition = { kind: 'in', of: t.column('x'), values: values.slice(0, 1000) };
  const wrong: t.Condition = { kind: 'in', of: t.column('x'), values: [...values.slice(0, 1000), 'a'] };
  expect(() => t.selectRows(table, t.and(some, wrong))).toThrow(expect.objectContaining({ code: 'tables/type' }));
  expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
});
