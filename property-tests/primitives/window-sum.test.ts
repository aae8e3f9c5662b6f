import { describe, expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { windowSumLaws } from '../laws/window-sum.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(windowSumLaws);

describe('windows and transposed grids', () => {
  const context = openReference();
  const plain = context.column(Uint32Array.of(1, 2, 3, 4, 5, 6));
  const cells = q.asGrid(plain, { rows: 2, columns: 3 });

  test('keep the shape, or swap it', async () => {
    const sums = q.windowSum(cells, { width: 2, height: 1 });
    expect([await context.read(sums), sums.grid]).toEqual([Uint32Array.of(3, 5, 6, 9, 11, 12), cells.grid]);
    expect(q.transpose(cells).grid).toEqual({ rows: 3, columns: 2 });
    context.dispose(sums);
  });

  test('a window of one cell gives new memory', async () => {
    const { liveBuffers } = context.backend.counters;
    const same = q.windowSum(cells, { width: 1 });
    expect(context.backend.counters.liveBuffers).toBe(liveBuffers + 1);
    expect(await context.read(same)).toEqual(await context.read(plain));
    context.dispose(same);
  });

  test('small cells beside large ones keep their digits', async () => {
    const heights = context.column(Float32Array.of(2 ** 30, 0.25, 0.25, 0.25), { rows: 1, columns: 4 });
    const sums = q.windowSum(heights, { width: 3, height: 1, boundary: 'constant' });
    expect((await context.read(sums))[2]).toBe(0.75);
    context.dispose([heights, sums]);
  });

  test('refuse what is no window, and cells without a shape', () => {
    expectRefusal(context, 'grid/none', () => q.windowSum(plain, { width: 3 }));
    expectRefusal(context, 'grid/none', () => q.transpose(plain));
    expectRefusal(context, 'grid/shapes', () => q.transpose({ a: cells, b: q.asGrid(plain, { rows: 6, columns: 1 }) }));
    for (const width of [0, -1, 1.5, 2 ** 16]) {
      expectRefusal(context, 'argument/type', () => q.windowSum(cells, { width }));
    }
    expectRefusal(context, 'stencil/boundary', () => q.windowSum(cells, { width: 3, boundary: 'mirror' as never }));
    expectRefusal(context, 'stencil/outside', () => q.windowSum(cells, { width: 3, outside: 0.5 }));
    expectRefusal(context, 'column/type', () => q.windowSum(q.map(isOdd, { x: cells }) as never, { width: 3 }));
  });
});

const isOdd = q.fn({ x: q.u32 }, q.bool, ({ x }) => x.rem(2).eq(1));
