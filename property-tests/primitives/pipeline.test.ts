import { describe, expect, test } from 'vitest';
import type { Column } from '../../primitives/columns/column.ts';
import type { Context } from '../../primitives/context/context.ts';
import * as q from '../../primitives/index.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { backendsThatLaunchOnce, onEveryBackend, testLaws } from '../backends.ts';
import { assertSame } from '../laws/compare.ts';
import { law } from '../laws/law.ts';

const { bool, fn, u32 } = q;

type Rows = { readonly key: Column<'u32'>; readonly value: Column<'u32'> };

const isWanted = fn({ value: u32 }, bool, ({ value }) => value.rem(3).ne(0));
const isOften = fn({ total: u32 }, bool, ({ total }) => total.and(1).eq(0));

/**
 * For every key of the wanted rows, the total of the values with this key, and the sum of the totals of all smaller
 * keys (`start`). Keys are in descending order. Only the device knows the lengths of the columns.
 */
function groupStarts(rows: Rows): {
  readonly key: Column<'u32'>;
  readonly start: Column<'u32'>;
  readonly total: Column<'u32'>;
} {
  const wanted = q.copyIf(rows, isWanted);
  const sorted = q.sortByKey(wanted.key, wanted.value);
  const groups = q.reduceByKey(sorted.keys, sorted.values, q.plus(u32));
  const starts = q.exclusiveScan(groups.values, q.plus(u32));
  const order = q.reverse(q.sequence(groups.keys.length));
  return q.gather({ key: groups.keys, start: starts, total: groups.values }, order);
}

/** The expected result of {@link groupStarts}, computed by plain loops. */
function plainGroupStarts(
  key: Uint32Array,
  value: Uint32Array,
): { key: Uint32Array; start: Uint32Array; total: Uint32Array } {
  const totals = new Map<number, number>();
  for (const [i, k] of key.entries()) {
    if (value[i]! % 3 !== 0) totals.set(k, ((totals.get(k) ?? 0) + value[i]!) >>> 0);
  }
  const keys = [...totals.keys()].sort((a, b) => a - b);
  let sum = 0;
  const rows = keys.map((k) => {
    const start = sum;
    sum = (sum + totals.get(k)!) >>> 0;
    return { k, start, total: totals.get(k)! };
  });
  rows.reverse();
  return {
    key: Uint32Array.from(rows, ({ k }) => k),
    start: Uint32Array.from(rows, ({ start }) => start),
    total: Uint32Array.from(rows, ({ total }) => total),
  };
}

testLaws([
  law(
    'chained copyIf, sortByKey, reduceByKey, exclusiveScan and gather equal plain loops',
    [rowsOf({ key: 'u32', value: 'u32' }), presentation],
    async (run, host, how) => {
      const result = await run((context) => groupStarts(present(context, host, how)));
      assertSame(result, plainGroupStarts(host.key, host.value));
    },
  ),
  law(
    'every primitive accepts tables with device counts from every other',
    [rowsOf({ key: 'tiny', value: 'u32' }), presentation],
    async (run, host, how) => {
      const result = await run((context) => {
        const { key, total } = groupStarts(present(context, host, how));
        const { selected, rejected } = q.partition({ key, total }, isOften);
        const ends = q.upperBound(q.sort(key), selected.key);
        const counts = q.map(
          fn({ end: u32 }, u32, ({ end }) => end),
          { end: ends },
        );
        const rows = q.expand(
          selected,
          counts,
          fn({ key: u32, rank: u32 }, u32, (row) => row.key.mul(10).add(row.rank)),
          {
            capacity: 100,
          },
        );
        return {
          often: q.reduce(selected.total, q.plus(u32)),
          rarely: q.reduce(rejected.total, q.plus(u32)),
          rows,
          histogram: q.histogram(rows, 40),
          min: q.minElement(total),
          spread: q.scatter(selected.total, selected.key, 4),
        };
      });
      const { key, total } = plainGroupStarts(host.key, host.value);
      const groups = Array.from(key, (k, i) => ({ k, total: total[i]! }));
      const often = groups.filter((group) => group.total % 2 === 0);
      const rarely = groups.filter((group) => group.total % 2 === 1);
      const rows = often.flatMap(({ k }) =>
        Array.from({ length: key.filter((other) => other <= k).length }, (_, r) => 10 * k + r),
      );
      const sum = (of: typeof groups): Uint32Array => Uint32Array.of(of.reduce((all, group) => all + group.total, 0));
      const min = groups.reduce((best, { total }, i) => (total < groups[best]!.total ? i : best), 0);
      assertSame(result, {
        often: sum(often),
        rarely: sum(rarely),
        rows: Uint32Array.from(rows),
        histogram: Uint32Array.from({ length: 40 }, (_, bin) => rows.filter((row) => row === bin).length),
        min: {
          value: Uint32Array.of(groups[min]?.total ?? 2 ** 32 - 1),
          index: Uint32Array.of(groups.length === 0 ? 2 ** 32 - 1 : min),
        },
        spread: Uint32Array.from({ length: 4 }, (_, k) => often.find((group) => group.k === k)?.total ?? 0),
      });
    },
  ),
]);

describe('the host', () => {
  const key = Uint32Array.from({ length: 3000 }, (_, i) => (i * 7919) % 100);
  const value = Uint32Array.from({ length: 3000 }, (_, i) => i);
  const counted = ({ backend }: Context): q.Counters => ({ ...backend.counters });

  onEveryBackend((opened) => {
    test('reads no length before the result: one submission, and no earlier readback', async () => {
      const { context } = opened();
      const rows = { key: context.column(key), value: context.column(value) };
      await context.sync();
      const before = counted(context);
      const result = context.scope(() => groupStarts(rows));
      const issued = counted(context);
      expect(issued.readbacks).toBe(before.readbacks);
      const host = await context.read(result);
      const after = counted(context);
      expect(host).toEqual(plainGroupStarts(key, value));
      // Four readbacks are expected, because three columns and their common length are read together.
      expect(after.readbacks - before.readbacks).toBe(4);
      expect(after.dispatches).toBeGreaterThan(before.dispatches);
      if (context.backend.name === 'webgpu') {
        expect(issued.submissions).toBe(before.submissions);
        expect(after.submissions - before.submissions).toBe(1);
      }
      context.dispose(result, rows);
    });

    test('compiles nothing when the same pipeline runs again on other rows', async () => {
      const { context } = opened();
      const runOnce = async (length: number): Promise<unknown> => {
        const result = context.scope(() =>
          groupStarts({
            key: context.column(key.subarray(0, length)),
            value: context.column(value.subarray(0, length)),
          }),
        );
        const host = await context.read(result);
        context.dispose(result);
        return host;
      };
      await runOnce(3000);
      const { compilations, liveBuffers, liveBytes } = counted(context);
      expect(await runOnce(2500)).toEqual(plainGroupStarts(key.subarray(0, 2500), value.subarray(0, 2500)));
      expect(counted(context)).toMatchObject({ compilations, liveBuffers, liveBytes });
    });
  }, backendsThatLaunchOnce());
});
