import { describe, expect, test } from 'vitest';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import { For, Let, Var, While } from '../../../primitives/functors/control.ts';
import { array, bool, fn, u32 } from '../../../primitives/functors/functor.ts';
import { neighbours } from '../../../primitives/functors/neighbours.ts';
import { owned } from '../../../primitives/functors/owned.ts';
import type { U32 } from '../../../primitives/functors/value.ts';
import {
  type Column,
  copyIf,
  expand,
  forEachStrip,
  histogram,
  inclusiveScan,
  map,
  monoid,
  plus,
  rankHistogram,
  reduce,
  reduceByKey,
  sequence,
  sort,
  stencil,
  unfold,
} from '../../../primitives/index.ts';
import { someOf, THOROUGH } from '../../cases.ts';

/** A loop that never ends for x below 2^31. No static analysis can detect that it does not end. */
function endlessly(x: U32): U32 {
  const at = Var(x);
  While(
    () => at.lt(2 ** 31),
    () => at.set(at.and(255)),
  );
  return Let(at);
}

const endless = fn('endless', { x: u32 }, u32, ({ x }) => endlessly(x));
const byHelper = fn('byHelper', { x: u32 }, u32, ({ x }) => endless({ x: endless({ x }) }));
/** A loop that ends only after 2^64 rounds. */
const forAges = fn('forAges', { x: u32, xs: array(u32) }, u32, ({ x, xs }) => {
  const sum = Var(x);
  For(0, xs.at(0), () => For(0, xs.at(0), (i) => sum.set(sum.add(i))));
  return sum;
});
const endlessSum = monoid({ of: u32, identity: 0, combine: ({ a, b }) => a.add(endlessly(b)), exact: true });

/**
 * Every way to give a functor to the library. In each case, the functor is endless, and is applied to a column x of
 * indices.
 */
const calls: Readonly<Record<string, (x: Column<'u32'>, context: Context) => unknown>> = {
  map: (x, context) => context.materialize(map(endless, { x })),
  'a helper of map': (x, context) => context.materialize(map(byHelper, { x })),
  'a captured number of rounds': (x, context) =>
    context.materialize(map(forAges, { x, xs: context.column(Uint32Array.of(2 ** 32 - 1)) })),
  'the values of reduce': (x) => reduce(map(endless, { x }), plus(u32)),
  'the monoid of reduce': (x) => reduce(x, endlessSum),
  'the monoid of inclusiveScan': (x) => inclusiveScan(x, endlessSum),
  'the monoid of reduceByKey': (x) => reduceByKey(x, x, endlessSum),
  sort: (x) => sort(map(endless, { x })),
  copyIf: (x) =>
    copyIf(
      x,
      map(
        fn({ x: u32 }, bool, ({ x }) => endlessly(x).eq(3)),
        { x },
      ),
    ),
  histogram: (x) => histogram(map(endless, { x }), 4),
  'rows of rankHistogram': (x, context) =>
    rankHistogram(
      {
        active: context.materialize(
          map(
            fn({ x: u32 }, bool, ({ x }) => x.lt(9)),
            { x },
          ),
        ),
        x: map(endless, { x }),
      },
      fn({ x: u32, rank: u32 }, { bin: u32, histogram: u32 }, ({ x, rank }) => ({ bin: rank, histogram: x })),
      { ranks: 2, bins: 2, histograms: 2 },
    ),
  'elements of rankHistogram': (x, context) =>
    rankHistogram(
      { active: context.column([true, true, true]), x },
      fn({ x: u32, rank: u32 }, { bin: u32, histogram: u32 }, ({ x, rank }) => ({
        bin: rank,
        histogram: endlessly(x),
      })),
      { ranks: 2, bins: 2, histograms: 2 },
    ),
  stencil: (x, context) =>
    context.materialize(
      stencil(
        fn({ near: neighbours(u32) }, u32, ({ near }) => endlessly(near.at(1))),
        { near: x },
      ),
    ),
  expand: (x) =>
    expand(
      { x },
      2,
      fn({ x: u32, rank: u32 }, u32, ({ x, rank }) => endlessly(x.add(rank))),
      { capacity: 6 },
    ),
  'an endless strip': (x) =>
    forEachStrip({ x }, [
      {
        each: fn({ first: u32, x: owned(u32) }, {}, ({ first, x }) => {
          While(
            () => x.at(first).lt(9),
            () => x.set(first, x.at(first).xor(1)),
          );
        }),
      },
    ]),
  'an endless walk': (x) =>
    unfold(
      { x },
      fn({ x: u32 }, { at: u32 }, ({ x }) => ({ at: x })),
      fn({ at: u32 }, { more: bool, emits: bool, state: { at: u32 }, value: u32 }, ({ at }) => ({
        more: at.lt(2 ** 31),
        emits: false,
        state: { at: at.and(255) },
        value: at,
      })),
      { capacity: 3 },
    ),
};

const ROWS = 3;

describe('an endless loop over few rows', () => {
  test.concurrent.each(someOf(Object.keys(calls), 7))('does not block the calling thread: %s', async (name) => {
    // Work with a known bound always runs on the calling thread.
    const inlineNanoseconds = Number.POSITIVE_INFINITY;
    await using context = new Context(await createWorkersBackend({ workers: 1, hangLimit: 200, inlineNanoseconds }));
    const x = context.materialize(sequence(ROWS));
    await context.sync();
    calls[name]!(x, context);
    await expect(context.sync()).rejects.toMatchObject({ code: 'device/hang' });
  });

  test('is stopped by the hang limit for one row as for a million', async () => {
    for (const rows of THOROUGH ? [1, 1000, 1_000_000] : [1, 1_000_000]) {
      await using context = new Context(await createWorkersBackend({ workers: 2, hangLimit: 200 }));
      const made = context.materialize(map(endless, { x: sequence(rows) }));
      await expect(context.read(made)).rejects.toMatchObject({ code: 'device/hang' });
    }
  });
});

describe('a loop with a large known bound', () => {
  const many = fn('many', { x: u32 }, u32, ({ x }) => {
    const sum = Var(x);
    For(0, 2_000_000_000, (i) => sum.set(sum.mul(sum).add(i)));
    return sum;
  });

  const loops: readonly (readonly [string, (context: Context) => unknown])[] = [
    ['a loop of many rounds', (context) => context.materialize(map(many, { x: sequence(2) }))],
    [
      'nested loops',
      (context) => {
        const nested = fn('nested', { x: u32 }, u32, ({ x }) => {
          const sum = Var(x);
          For(0, 2000, () => For(0, 1000, () => For(0, 1000, (i) => sum.set(sum.mul(sum).add(i)))));
          return sum;
        });
        return context.materialize(map(nested, { x: sequence(2) }));
      },
    ],
    ['clearing a table', (context) => histogram(context.column(Uint32Array.of(1, 2)), 5e8)],
  ];
  // After an abort, the backend waits a second before it terminates the threads.
  test.each(someOf(loops, 1))('does not block the calling thread: %s', async (_, call) => {
    await using context = new Context(await createWorkersBackend({ workers: 2 }));
    const started = performance.now();
    call(context);
    expect(performance.now() - started).toBeLessThan(150);
    context.backend.abort(new Error('enough'));
  });
});
