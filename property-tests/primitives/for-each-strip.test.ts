import { describe, expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { forEachStripLaws } from '../laws/for-each-strip.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

const { array, bool, f32, fn, neighbours, owned, u32 } = q;

testLaws(forEachStripLaws);

describe('forEachStrip', () => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1, 2, 3, 4));
  const ends = fn({ first: u32, end: u32, x: owned(u32) }, {}, ({ first, end, x }) => x.set(first, end));

  test('refuses states, steps and rows that are none', () => {
    expectRefusal(context, 'strips/state', () => q.forEachStrip(x as never, [{ each: ends }]));
    expectRefusal(context, 'strips/state', () => q.forEachStrip({ x: 1 } as never, [{ each: ends }]));
    // @ts-expect-error a table in place of a column
    expectRefusal(context, 'strips/state', () => q.forEachStrip({ x: { y: x } }, [{ each: ends }]));
    for (const rows of [0, -1, 1.5, 2 ** 32, Number.NaN, '2' as never]) {
      expectRefusal(context, 'strips/rows', () => q.forEachStrip({ x }, [{ rows, each: ends }]));
    }
    expectRefusal(context, 'options/unknown', () => q.forEachStrip({ x }, [{ row: 2, each: ends } as never]));
    expectRefusal(context, 'argument/functor', () => q.forEachStrip({ x }, [{ each: (() => {}) as never }]));
  });

  test('refuses functors that do not fit', () => {
    const refused = (each: q.FunctorDescription): void =>
      expectRefusal(context, 'strips/functor', () => q.forEachStrip({ x }, [{ each }]));
    refused(fn({ first: u32 }, u32, ({ first }) => first));
    refused(fn({ first: f32, x: owned(u32) }, {}, ({ x }) => x.set(0, 1)));
    refused(fn({ row: u32, x: owned(u32) }, {}, ({ row, x }) => x.set(row, 1)));
    refused(fn({ y: owned(u32) }, {}, ({ y }) => y.set(0, 1)));
    refused(fn({ x: owned(f32) }, {}, ({ x }) => x.set(0, 1)));
    refused(fn({ x: owned(u32), y: neighbours(u32) }, {}, ({ x }) => x.set(0, 1)));
    const capturing = fn({ x: owned(u32), y: array(u32) }, {}, ({ x, y }) => x.set(0, y.at(0)));
    expectRefusal(context, 'map/argument', () => q.forEachStrip({ x }, [{ each: capturing }]));
    expectRefusal(context, 'map/column', () => q.forEachStrip({ x }, [{ each: capturing }], { captures: { y: 1 } }));
  });

  test('is the only primitive that takes functors with owned columns', () => {
    const calls = [
      () => q.map(ends, { first: x, end: x } as never),
      () => q.stencil(ends, { first: x, end: x } as never),
      () => q.tabulate(4, ends as never),
      () => q.copyIf(x, ends as never),
      () => q.crossReduce({ first: x }, { end: x }, ends as never, q.plus(u32)),
    ];
    for (const call of calls) expectRefusal(context, 'functor/owned', call);
    expect(() => fn({ x: owned(u32) }, u32, () => u32(1))).toThrow(
      expect.objectContaining({ code: 'functor/owned-result' }),
    );
    expect(() => fn({ x: owned(u32) }, {}, ({ x }) => x.set(-1, 1)).module).toThrow(
      expect.objectContaining({ code: 'functor/index' }),
    );
    // @ts-expect-error not a scalar
    expect(() => owned(x)).toThrow(expect.objectContaining({ code: 'functor/argument' }));
  });

  test('functors pass owned columns to functors that they call', async () => {
    const put = fn('put', { at: u32, to: owned(u32), is: owned(bool) }, {}, ({ at, to, is }) => {
      to.set(at, to.at(at).mul(10));
      is.set(at, true);
    });
    const each = fn({ first: u32, end: u32, x: owned(u32), d: owned(bool) }, {}, ({ first, end, x, d }) => {
      put({ at: first, to: x, is: d });
      put({ at: end, to: x, is: d });
    });
    const d = q.constant(bool, false, 4);
    expect(await context.read(q.forEachStrip({ x, d }, [{ rows: 3, each }]))).toEqual({
      x: Uint32Array.of(10, 2, 3, 40),
      d: Uint8Array.of(1, 0, 0, 1),
    });
    const passesOther = fn({ x: owned(u32) }, {}, ({ x }) => put({ at: u32(0), to: x, is: x as never }));
    expect(() => passesOther.module).toThrow(expect.objectContaining({ code: 'functor/type' }));
  });

  test('needs neither steps nor rows', async () => {
    const none = context.column(new Uint32Array());
    expect(await context.read(q.forEachStrip({ x: none }, [{ each: ends }]).x)).toEqual(new Uint32Array());
    const copy = q.forEachStrip({ x }, []).x;
    expect(copy).not.toBe(x);
    expect(await context.read(copy)).toEqual(Uint32Array.of(1, 2, 3, 4));
  });
});
