import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { gridLaws } from '../laws/grid.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

const { f32, fn, neighbours, u32 } = q;

testLaws(gridLaws);

describe('the shape of a grid', () => {
  const context = openReference();
  const grid = { rows: 2, columns: 3 };
  const x = context.column(Uint32Array.of(5, 1, 2, 3, 4, 0), grid);
  const plain = context.column(Uint32Array.of(5, 1, 2, 3, 4, 0));
  const other = q.asGrid(plain, { rows: 3, columns: 2 });
  const sum = fn({ a: u32, b: u32 }, u32, ({ a, b }) => a.add(b));
  const below = fn({ x: neighbours(u32) }, u32, ({ x }) => x.at(0, 1));

  test('stays with what has a value for each cell', async () => {
    const { liveBuffers } = context.backend.counters;
    const same = {
      map: q.map(sum, { a: x, b: plain }),
      reversed: q.map(sum, { a: plain, b: x }),
      stencil: q.stencil(below, { x }),
      materialize: context.materialize(q.map(sum, { a: x, b: x })),
      narrow: q.narrow(x, 'u8'),
      table: q.asGrid({ a: { b: plain } }, grid).a.b,
      scope: context.scope(() => context.materialize(q.stencil(below, { x }))),
    };
    for (const [name, { grid: kept }] of Object.entries(same)) expect([name, kept]).toEqual([name, grid]);
    expect(await context.read(same.stencil)).toEqual(Uint32Array.of(3, 4, 0, 3, 4, 0));
    context.dispose([same.materialize, same.narrow, same.scope]);
    expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
  });

  test('is dropped by everything else', () => {
    const dropped = {
      sort: q.sort(x),
      copyIf: q.copyIf(
        x,
        fn({ x: u32 }, q.bool, ({ x }) => x.gt(1)),
      ),
      gather: q.gather(x, x),
      slice: q.slice(x, 0),
      reverse: q.reverse(x),
      scan: q.inclusiveScan(x, q.plus(u32)),
    };
    for (const [name, { grid: kept }] of Object.entries(dropped)) expect([name, kept]).toEqual([name, undefined]);
    context.dispose([dropped.sort, dropped.copyIf, dropped.scan]);
  });

  test('shows in consoles, which need no width', () => {
    expect(inspect(x)).toBe('Column { u32, length 6 (2 rows of 3 cells), stored on reference }');
  });

  test('two shapes in one primitive, and sizes that do not fit, are refused', () => {
    expectRefusal(context, 'grid/shapes', () => q.map(sum, { a: x, b: other }));
    const both = fn({ a: neighbours(u32), b: u32 }, u32, ({ a, b }) => a.at(1).add(b));
    expectRefusal(context, 'grid/shapes', () => q.stencil(both, { a: x, b: other }));
    expectRefusal(context, 'stencil/width', () => q.stencil(below, { x }, { width: 2 }));
    expect(q.stencil(below, { x }, { width: 3 }).grid).toEqual(grid);
    expectRefusal(context, 'grid/cells', () => q.asGrid(x, { rows: 2, columns: 2 }));
    expectRefusal(context, 'grid/cells', () => context.column([true], grid));
    expectRefusal(context, 'grid/cells', () => context.stored('u32', 4, grid));
    const counted = q.copyIf(
      x,
      fn({ x: u32 }, q.bool, ({ x }) => x.gt(1)),
    );
    expectRefusal(context, 'grid/cells', () => q.asGrid(counted, grid));
    context.dispose(counted);
    for (const bad of [{ rows: 2 }, { columns: 6 }, { rows: -1, columns: -6 }, { rows: 1.5, columns: 4 }, 6]) {
      expectRefusal(context, 'argument/type', () => q.asGrid(x, bad as never));
    }
  });

  test('relax refuses steps that ask for coordinates', () => {
    const step = fn({ z: neighbours(u32) }, u32, ({ z }) => z.x);
    const change = fn({ after: u32 }, u32, ({ after }) => after);
    const until = fn({ total: u32 }, q.bool, ({ total }) => total.eq(0));
    const rule = { change, total: q.plus(u32), until };
    expectRefusal(context, 'relax/coordinates', () =>
      q.relax({ width: 3, height: 2 }, step, { z: x }, rule, { maxRounds: 1 }),
    );
  });

  test('functors pass coordinates on', async () => {
    const place = fn({ x: neighbours(u32) }, u32, ({ x }) => x.y.mul(10).add(x.x));
    const passed = fn({ x: neighbours(u32) }, u32, ({ x }) => place({ x }).add(x.x.mul(100)));
    expect(await context.read(q.stencil(passed, { x }))).toEqual(Uint32Array.of(0, 101, 202, 10, 111, 212));
    expect(await context.read(q.stencil(place, { x: plain }))).toEqual(Uint32Array.of(0, 1, 2, 3, 4, 5));
  });

  test('a prepared pipeline has the shape of its inputs', async () => {
    const prepared = context.prepare({ x: q.input(u32, grid) }, ({ x }) => ({
      below: q.stencil(below, { x }),
      same: x,
    }));
    for (const given of [x, plain, q.map(sum, { a: x, b: x })]) {
      const result = prepared({ x: given });
      expect([result.below.grid, result.same.grid]).toEqual([grid, grid]);
      const [host, cells] = [await context.read(given), await context.read(result.below)];
      expect(cells).toEqual(Uint32Array.from(host, (_, i) => host[3 + (i % 3)]!));
      context.dispose(result.below);
    }
    expectRefusal(context, 'grid/shapes', () => prepared({ x: other }));
    expectRefusal(context, 'grid/shapes', () => prepared({ x: q.slice(plain, 1) }));
    prepared.dispose();
    const plainly = context.prepare({ x: q.input(u32, 6) }, ({ x }) => q.map(sum, { a: x, b: x }));
    expect(context.scope(() => plainly({ x })).grid).toBe(undefined);
    plainly.dispose();
    expectRefusal(context, 'grid/cells', () => q.input(f32, { rows: 2 ** 16, columns: 2 ** 16 }));
    expectRefusal(context, 'argument/type', () => q.input(f32, { rows: 2 } as never));
    expectRefusal(context, 'grid/cells', () => context.prepare({ x: q.input(u32, 6) }, ({ x }) => q.asGrid(x, grid)));
  });
});
