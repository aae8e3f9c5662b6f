import { describe, expect } from 'vitest';
import * as t from '../../../algorithms/tables/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { fc, test } from '../../law-test.ts';
import { expectRefusal, openReference } from '../../support/reference-context.ts';
import { type Cell, order, sampleCondition, sampleTable, truthAt } from '../../support/table-questions.ts';

const TIMEOUT_MS = 120_000;
const NAMES = ['u', 'v', 'i', 'j', 'f', 'l', 'm', 'n', 'd', 'b', 't', 's'] as const;
const PAIRS = [
  ...NAMES.map((name) => [name, name] as const),
  ...([
    ['v', 'i'],
    ['i', 'l'],
    ['j', 'd'],
    ['u', 'l'],
    ['v', 'm'],
  ] as const),
];

const at = (name: string, value: Cell) => ({ value, scale: name === 'd' ? 2 : 0 });

describe('topRows and readRows', () => {
  onEveryBackend((opened, { runs }) => {
    const agrees = fc.asyncProperty(
      sampleTable,
      fc.option(sampleCondition, { nil: undefined }),
      fc.constantFrom(...NAMES),
      fc.integer({ min: 0, max: 9 }),
      fc.boolean(),
      async ({ host, rows }, where, by, k, ascending) => {
        const { context } = opened();
        const { liveBuffers } = context.backend.counters;
        const table = t.createTable(context, host);
        const ids = await t.topRows(table, { by, k, ascending, ...(where === undefined ? {} : { where }) });
        const found = await context.read(ids);
        const read = await t.readRows(table, ids, { names: [by] });
        context.dispose(ids);
        t.disposeTable(table);
        expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
        const chosen = [...rows.keys()].filter(
          (i) => rows[i]![by] !== null && (where === undefined || truthAt(rows[i]!, where) === true),
        );
        const sign = ascending ? 1 : -1;
        chosen.sort((a, b) => sign * order(at(by, rows[a]![by]!), at(by, rows[b]![by]!)) || a - b);
        expect([...found]).toEqual(chosen.slice(0, k));
        const column = read[by]!;
        const values =
          column.type === 'string' ? [...column.codes].map((code) => column.dictionary[code]) : [...column.values];
        const plain = chosen.slice(0, k).map((i) => {
          const value = rows[i]![by]!;
          if (typeof value === 'boolean') return Number(value);
          if (typeof value === 'bigint') return 'lmd'.includes(by) ? value : Number(value);
          return Object.is(value, -0) ? 0 : value;
        });
        expect(values).toEqual(plain);
      },
    );
    test('return the rows of a sort', () => fc.assert(agrees, { numRuns: runs }), TIMEOUT_MS);
  });
});

describe('joinRows', () => {
  onEveryBackend((opened, { runs }) => {
    const agrees = fc.asyncProperty(
      sampleTable,
      sampleTable,
      fc.constantFrom(...PAIRS),
      async (left, right, [a, b]) => {
        const { context } = opened();
        const { liveBuffers } = context.backend.counters;
        const own = {
          ...left.host.s,
          dictionary: ['x', 'b', 'a', ''],
          codes: Uint32Array.from(left.rows, (_, i) => i % 4),
        };
        const texts = left.rows.map(({ s }, i) => (s === null ? null : own.dictionary[i % 4]!));
        const tables = [
          t.createTable(context, { ...left.host, s: own as t.HostColumn }),
          t.createTable(context, right.host),
        ] as const;
        const pairs = await t.joinRows(...tables, { left: a, right: b });
        const found = await context.read({ ...pairs });
        context.dispose({ ...pairs });
        for (const table of tables) t.disposeTable(table);
        expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
        const expected = left.rows.flatMap((row, i) =>
          right.rows.flatMap((other, j) => {
            const [x, y] = [a === 's' ? texts[i]! : row[a]!, other[b]!];
            return x !== null && y !== null && order(at(a, x), at(b, y)) === 0 ? [[i, j]] : [];
          }),
        );
        expect([...found.left].map((row, k) => [row, found.right[k]])).toEqual(expected);
      },
    );
    test('returns the pairs of a nested loop', () => fc.assert(agrees, { numRuns: runs }), TIMEOUT_MS);
  });
});

test('refuses columns of different types', async () => {
  const table = t.createTable(openReference(), {
    x: { type: 'u32', values: Uint32Array.of(1) },
    f: { type: 'f32', values: Float32Array.of(1) },
  });
  await expect(t.joinRows(table, table, { left: 'x', right: 'f' })).rejects.toMatchObject({ code: 'tables/type' });
});

test('invalid tables and queries are refused with the name of what is wrong', () => {
  const context = openReference();
  const values = Uint32Array.of(1, 2);
  const table = t.createTable(context, {
    x: { type: 'u32', values },
    b: { type: 'bool', values: Uint8Array.of(0, 1) },
  });
  const refused = (code: string, call: () => unknown): void => expectRefusal(context, `tables/${code}`, call);
  refused('length', () =>
    t.createTable(context, { x: { type: 'u32', values }, y: { type: 'f32', values: Float32Array.of(1) } }),
  );
  refused('validity', () => t.createTable(context, { x: { type: 'u32', values, validity: new Uint32Array(0) } }));
  refused('dictionary', () =>
    t.createTable(context, { x: { type: 'string', codes: values, dictionary: ['a', 'a', 'b'] } }),
  );
  refused('dictionary', () => t.createTable(context, { x: { type: 'string', codes: values, dictionary: ['a'] } }));
  refused('unknown-column', () => t.selectRows(table, t.lessThan(t.column('y'), 1)));
  refused('type', () => t.selectRows(table, t.lessThan(t.column('x'), 'one')));
  refused('type', () => t.selectRows(table, t.lessThan(t.added(t.column('b'), 1), 1)));
  refused('type', () => t.selectRows(table, t.truth(t.column('x'))));
  refused('overflow', () => t.selectRows(table, t.lessThan(t.multiplied(t.column('x'), 2n ** 63n - 1n), 1)));
  const other = t.createTable(context, { x: { type: 'u32', values } });
  const [mine, others] = [table, other].map((each) => t.selectRows(each, { kind: 'always' }));
  refused('selection', () => t.union(mine!, others!));
});
