import { describe, expect } from 'vitest';
import * as t from '../../../algorithms/tables/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { fc, test } from '../../law-test.ts';
import { sampleCondition, sampleTable, truthAt } from '../../support/table-questions.ts';

const TIMEOUT_MS = 120_000;
/** Conditions of some hundred comparisons, which are and-ed and or-ed in one list or one by one. */
const longCondition = fc
  .record({
    some: fc.array(sampleCondition, { minLength: 1, maxLength: 4 }),
    kind: fc.constantFrom('and' as const, 'or' as const),
    other: fc.constantFrom('and' as const, 'or' as const),
    isNested: fc.boolean(),
    count: fc.integer({ min: 60, max: 200 }),
  })
  .map(({ some, kind, other, isNested, count }): t.Condition => {
    const of = Array.from({ length: count }, (_, i) => some[i % some.length]!);
    const all = isNested ? of.reduce((a, b) => ({ kind, of: [a, b] })) : { kind, of };
    return { kind: other, of: [all, some[0]!, { kind: 'not', of: all }] };
  });
const someConditions = fc.array(sampleCondition, { minLength: 1, maxLength: 6 });

describe('selectRows', () => {
  onEveryBackend((opened, { runs }) => {
    const chooses = fc.asyncProperty(sampleTable, someConditions, async ({ host, rows }, conditions) => {
      const { context } = opened();
      const { liveBuffers } = context.backend.counters;
      const table = t.createTable(context, host);
      for (const condition of conditions) {
        const selection = t.selectRows(table, condition);
        const ids = t.selectedIds(selection);
        const expected = [...rows.keys()].filter((i) => truthAt(rows[i]!, condition) === true);
        expect([...(await context.read(ids))], shown(condition)).toEqual(expected);
        context.dispose(ids, selection.words);
      }
      t.disposeTable(table);
      expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
    });
    test(
      'selects the rows for which the condition is true',
      () => fc.assert(chooses, { numRuns: 4 * runs }),
      TIMEOUT_MS,
    );

    const long = fc.asyncProperty(sampleTable, longCondition, async ({ host, rows }, condition) => {
      const { context } = opened();
      const { liveBuffers } = context.backend.counters;
      const table = t.createTable(context, host);
      const expected = rows.filter((row) => truthAt(row, condition) === true).length;
      const selection = t.selectRows(table, condition);
      expect(await t.countSelected(selection)).toBe(expected);
      expect(await t.aggregate(table, { n: { kind: 'count' } }, { where: condition })).toEqual({ n: expected });
      context.dispose(selection.words);
      t.disposeTable(table);
      expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
    });
    test('evaluates long conditions in parts', () => fc.assert(long, { numRuns: runs }), TIMEOUT_MS);
  });
});

function shown(condition: t.Condition): string {
  return JSON.stringify(condition, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
}
