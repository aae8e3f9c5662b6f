import { expect } from 'vitest';
import * as t from '../../../algorithms/tables/index.ts';
import { buildPyramid, pointList } from '../../../bench/experiments/histogram-pyramid.ts';
import { kthLargestByBits } from '../../../bench/experiments/kth-largest.ts';
import { lowerBound } from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { fc, test } from '../../law-test.ts';

/**
 * The values of an example by Govindaraju et al. The tests in this file are examples from three papers: Govindaraju,
 * Lloyd, Wang, Lin and Manocha, Fast Computation of Database Operations using Graphics Processors, 2004; Ziegler, Tevs,
 * Theobalt and Seidel, GPU Point List Generation through Histogram Pyramids, 2006; Purcell, Sorting and Searching,
 * 2005.
 */
const SET = [10, 24, 37, 99, 192, 200, 200, 232];
const { column } = t;

onEveryBackend((opened, { runs }) => {
  const tableOf = (columns: { readonly [name: string]: readonly number[] }): t.DeviceTable => {
    const entries = Object.entries(columns).map(([name, values]): [string, t.HostColumn] => [
      name,
      { type: 'i32', values: Int32Array.from(values) },
    ]);
    return t.createTable(opened().context, Object.fromEntries(entries));
  };
  const chosen = async (table: t.DeviceTable, where: t.Condition): Promise<number[]> => {
    const selection = t.selectRows(table, where);
    const ids = t.selectedIds(selection);
    const found = [...(await table.context.read(ids))];
    table.context.dispose(ids, selection.words);
    return found;
  };

  test('the maximum of {10 … 232} is found by counts at 128, 192, 224, 240, 232, 236, 234 and 233', async () => {
    const { context } = opened();
    const table = t.createTable(context, { x: { type: 'u32', values: Uint32Array.from(SET) } });
    const count = t.prepareAggregate(table, { n: { kind: 'count' } });
    const { value, steps } = await kthLargestByBits(count, 'x', 1, 8);
    expect(value).toBe(232);
    expect(steps.map(({ tried }) => tried)).toEqual([128, 192, 224, 240, 232, 236, 234, 233]);
    // The counts at 240, 236, 234 and 233 are 0, because all values are smaller.
    expect(steps.map(({ count }) => count)).toEqual([4, 4, 1, 0, 1, 0, 0, 0]);
    count.dispose();
    t.disposeTable(table);
  });

  test('the k-th largest by bits equals that of aggregate and of a sort', async () => {
    const { context } = opened();
    const values = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 60 });
    const agrees = fc.asyncProperty(values, fc.nat(), async (given, place) => {
      const k = 1 + (place % given.length);
      const table = t.createTable(context, { x: { type: 'u32', values: Uint32Array.from(given) } });
      const count = t.prepareAggregate(table, { n: { kind: 'count' } });
      const { value } = await kthLargestByBits(count, 'x', k, 8);
      const { largest } = await t.aggregate(table, { largest: { kind: 'largest', of: column('x'), k } });
      expect([value, largest]).toEqual(Array(2).fill(given.toSorted((a, b) => b - a)[k - 1]));
      count.dispose();
      t.disposeTable(table);
    });
    await fc.assert(agrees, { numRuns: Math.ceil(runs / 3) });
  }, 120_000);

  test('the sum of {10 … 232} equals the weighted sum of its bit counts', async () => {
    const table = tableOf({
      x: SET,
      ...Object.fromEntries(bits().map((bit) => [`b${bit}`, SET.map((x) => (x >> bit) & 1)])),
    });
    const counts = bits().map((bit): [string, t.Aggregate] => [`b${bit}`, { kind: 'sum', of: column(`b${bit}`) }]);
    const asked: t.Aggregates = {
      ...Object.fromEntries(counts),
      ...{ sum: { kind: 'sum', of: column('x') }, mean: { kind: 'avg', of: column('x') } },
    };
    const { sum, mean, ...found } = await t.aggregate(table, asked);
    const weighed = bits().reduce((total, bit) => total + ((found[`b${bit}`] as bigint) << BigInt(bit)), 0n);
    expect([sum, weighed, mean]).toEqual([994n, 994n, 124.25]);
    t.disposeTable(table);
  });

  test('a range query equals two comparisons, and a negation the opposite comparison', async () => {
    const table = tableOf({ x: SET });
    const x = column('x');
    const both = t.and(t.atLeast(x, 24), t.atMost(x, 200));
    expect(await chosen(table, t.between(x, 24, 200))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await chosen(table, both)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await chosen(table, t.not(t.lessThan(x, 192)))).toEqual(await chosen(table, t.atLeast(x, 192)));
    t.disposeTable(table);
  });

  test('comparing two attributes equals comparing their difference with 0; a semi-linear query is one comparison', async () => {
    const table = tableOf({ x: SET, y: SET.toReversed() });
    const [x, y] = [column('x'), column('y')];
    for (const compare of [t.lessThan, t.atMost, t.greaterThan, t.atLeast, t.equalTo, t.unequalTo]) {
      expect(await chosen(table, compare(x, y))).toEqual(await chosen(table, compare(t.subtracted(x, y), 0)));
    }
    const expected = [...SET.keys()].filter((i) => 2 * SET[i]! - 3 * SET.toReversed()[i]! < 50);
    expect(await chosen(table, t.lessThan(t.linear({ x: 2, y: -3 }), 50))).toEqual(expected);
    t.disposeTable(table);
  });

  test('a conjunctive normal form selects the rows that satisfy every clause', async () => {
    const [a, b] = [SET, SET.toReversed()];
    const table = tableOf({ a, b });
    const clauses = t.and(
      t.or(t.lessThan(column('a'), 100), t.equalTo(column('b'), 24)),
      t.or(t.greaterThan(column('b'), 192), t.atLeast(column('a'), column('b'))),
    );
    const expected = [...SET.keys()].filter((i) => (a[i]! < 100 || b[i] === 24) && (b[i]! > 192 || a[i]! >= b[i]!));
    expect(await chosen(table, clauses)).toEqual(expected);
    t.disposeTable(table);
  });

  test('parallel searches in the list v0 v0 v0 v2 v2 v2 v5 v5 find the first v0, v2 and v5, and for v1 the first v2', async () => {
    const { context } = opened();
    const [list, sought] = [
      context.column(Uint32Array.of(0, 0, 0, 2, 2, 2, 5, 5)),
      context.column(Uint32Array.of(0, 2, 5, 1, 6)),
    ];
    expect([...(await context.read(lowerBound(list, sought)))]).toEqual([0, 3, 6, 3, 8]);
    context.dispose(list, sought);
  });

  test('a pyramid over 4 × 4 cells counts quarters, and every output descends to its cell', async () => {
    const { context } = opened();
    const cells = context.column(Uint32Array.of(0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 1));
    const pyramid = buildPyramid(context, cells, { width: 4, height: 4 }, 2);
    const list = pointList(context, pyramid);
    const { groups, total, found } = await context.read({ groups: pyramid.groups, total: pyramid.total, found: list });
    expect([[...groups], [...total]]).toEqual([[1, 2, 1, 1], [5]]);
    // Cell 1 is in the first quarter, cells 6 and 7 in the second, cell 12 in the third, and cell 15 in the last.
    expect([...found]).toEqual([1, 6, 7, 12, 15]);
    context.dispose(list, pyramid.groups, pyramid.above, pyramid.levels, pyramid.total, cells);
  });
});

function bits(): number[] {
  return [0, 1, 2, 3, 4, 5, 6, 7];
}
