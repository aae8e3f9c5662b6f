import { describe, expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { stencilLaws } from '../laws/stencil.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

const { bool, f32, fn, neighbours, u32 } = q;

testLaws(stencilLaws);

describe('stencil', () => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1, 2, 3, 4));
  const before = fn({ x: neighbours(u32) }, u32, ({ x }) => x.at(-1));
  const above = fn({ x: neighbours(u32) }, u32, ({ x }) => x.at(0, -1));

  test('refuses invalid grids', () => {
    expectRefusal(context, 'stencil/rows', () => q.stencil(above, { x }));
    for (const width of [3, 0, 0.5, 8, 2 ** 32]) {
      expectRefusal(context, 'stencil/width', () => q.stencil(above, { x }, { width }));
    }
    expectRefusal(context, 'stencil/boundary', () => q.stencil(before, { x }, { boundary: 'mirror' as never }));
  });

  test('refuses columns and outside values that do not match the functor', () => {
    // @ts-expect-error no column for x
    expectRefusal(context, 'map/argument', () => q.stencil(before, {}));
    // @ts-expect-error floats for integers
    expectRefusal(context, 'map/column', () => q.stencil(before, { x: q.constant(f32, 1, 4) }));
    // @ts-expect-error a truth value for an integer
    expectRefusal(context, 'stencil/outside', () => q.stencil(before, { x }, { outside: { x: true } }));
    const both = fn({ p: neighbours({ a: u32, b: u32 }) }, u32, ({ p }) => p.at(1).a);
    const options = { outside: { p: { a: 1 } } };
    // @ts-expect-error no b
    expectRefusal(context, 'stencil/outside', () => q.stencil(both, { p: { a: x, b: x } }, options));
    const stranger = { boundary: 'constant', outside: { z: 1 } } as const;
    // @ts-expect-error no neighbours z
    expectRefusal(context, 'stencil/outside', () => q.stencil(before, { x }, stranger));
  });

  test('is the only primitive for functors of neighbours', () => {
    expectRefusal(context, 'map/neighbours', () => q.map(before, { x } as never));
    const isAlive = fn({ x: neighbours(u32) }, bool, ({ x }) => x.at(1).gt(0));
    expectRefusal(context, 'map/neighbours', () => q.copyIf({ x }, isAlive as never));
    expectRefusal(context, 'map/neighbours', () => q.expand({ n: x }, x, before as never, { capacity: 4 }));
  });

  test.each([0.5, Number.NaN, 2 ** 31])('refuses %d as an offset, with the line of the author', (dx) => {
    const functor = fn({ x: neighbours(u32) }, u32, ({ x }) => x.at(dx));
    expectRefusal(context, 'functor/neighbour', () => q.stencil(functor, { x }));
    expect(() => functor.module).toThrow(/stencil\.test\.ts:\d+/);
  });

  test('refuses a value computed on the device as an offset', () => {
    const functor = fn({ x: neighbours(u32), by: q.uniform(u32) }, u32, ({ x, by }) => x.at(by as never));
    expectRefusal(context, 'functor/neighbour', () => q.stencil(functor, { x, by: 1 }));
  });

  test('passes neighbours on to other functors, and reads them inside branches', async () => {
    const largest = fn('largest', { x: neighbours(u32) }, u32, ({ x }) => q.max(x.at(-1), x.at(0), x.at(1)));
    const rises = fn('rises', { x: neighbours(u32) }, u32, ({ x }) => {
      const result = q.Var(u32(0));
      q.If(x.at(0).gt(2), () => result.set(x.at(1).add(10)));
      return result.add(largest({ x }).mul(100));
    });
    expect(await context.read(q.stencil(rises, { x }))).toEqual(Uint32Array.of(200, 300, 414, 414));
    const pair = fn({ p: neighbours({ x: u32 }) }, u32, ({ p }) => largest({ x: p as never }));
    expectRefusal(context, 'functor/type', () => q.stencil(pair, { p: { x } }));
  });

  test('refuses neighbours outside the functor that they belong to', () => {
    const outer = fn({ x: neighbours(u32) }, u32, ({ x }) => {
      const inner = fn({ y: u32 }, u32, ({ y }) => y.add(x.at(1)));
      return inner({ y: x.at(0) });
    });
    expectRefusal(context, 'functor/out-of-scope', () => q.stencil(outer, { x }));
  });

  test('is a view, also when no context is known', async () => {
    const { liveBuffers, dispatches } = context.backend.counters;
    const sums = q.stencil(before, { x: q.sequence(4) });
    expect(context.backend.counters).toMatchObject({ liveBuffers, dispatches });
    expect(await context.read(sums)).toEqual(Uint32Array.of(0, 0, 1, 2));
  });
});
