import { describe, expect } from 'vitest';
import * as t from '../../../algorithms/tables/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { fc, test } from '../../law-test.ts';
import { sampleCondition, sampleTable, truthAt } from '../../support/table-questions.ts';

const TIMEOUT_MS = 120_000;
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
  });
});

function shown(condition: t.Condition): string {
  return JSON.stringify(condition, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
}
