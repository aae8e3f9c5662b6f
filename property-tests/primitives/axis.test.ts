import { expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { backendsWithout, testLaws } from '../backends.ts';
import { axisLaws } from '../laws/axis.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(axisLaws);
testLaws(axisLaws, backendsWithout('scanLines'));

const { plus, u32 } = q;

test('scans with an axis keep the shape, and folds have a row for each line', async () => {
  const context = openReference();
  const grid = { rows: 2, columns: 3 };
  const x = context.column(Uint32Array.of(1, 2, 3, 4, 5, 6), grid);
  const sums = q.inclusiveScan(x, plus(u32), { axis: 'columns' });
  expect([sums.grid, await context.read(sums)]).toEqual([grid, Uint32Array.of(1, 2, 3, 5, 7, 9)]);
  const rows = q.reduce(x, plus(u32), { axis: 'rows' });
  expect([rows.grid, rows.length, await context.read(rows)]).toEqual([undefined, 2, Uint32Array.of(6, 15)]);
  const plain = q.slice(x, 0);
  for (const axis of ['rows', 'columns'] as const) {
    expectRefusal(context, 'grid/none', () => q.inclusiveScan(plain, plus(u32), { axis }));
    expectRefusal(context, 'grid/none', () => q.reduce(plain, plus(u32), { axis }));
  }
  expectRefusal(context, 'grid/axis', () => q.exclusiveScan(x, plus(u32), { axis: 'row' as never }));
  expectRefusal(context, 'grid/axis', () => q.reduce(x, plus(u32), { axis: 1 as never }));
});
