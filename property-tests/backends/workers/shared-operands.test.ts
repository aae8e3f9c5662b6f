import { describe, expect, test } from 'vitest';
import { worstCase } from '../../../backends/analyses/worst-case.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import { Var, While } from '../../../primitives/functors/control.ts';
import { fn, u32 } from '../../../primitives/functors/functor.ts';
import type { Bool, U32 } from '../../../primitives/functors/value.ts';
import * as q from '../../../primitives/index.ts';
import { someOf } from '../../cases.ts';

// Number of values. Each value uses the previous value twice, so 2^60 paths lead from the last value to the first.
const STEPS = 60;

function steps<V>(first: V, next: (value: V, step: number) => V): V {
  let value = first;
  for (let step = 0; step < STEPS; step++) value = next(value, step);
  return value;
}

const mixed = fn({ x: u32 }, u32, ({ x }) => steps<U32>(x, (v, step) => v.mul(3).add(step).xor(v.shr(13))));
const mixedOnHost = (x: number): number => steps(x, (v, step) => ((Math.imul(v, 3) + step) ^ (v >>> 13)) >>> 0);
const narrowed = fn({ x: u32 }, u32, ({ x }) => steps<U32>(x, (v) => v.and(v.shr(1).min(v))).and(15));
const narrowedOnHost = (x: number): number => steps(x, (v) => (v & Math.min(v >>> 1, v)) >>> 0) & 15;
const eighth = fn({ x: u32 }, u32, ({ x }) => x.shr(3));

const ROWS = 1000;
const words = Uint32Array.from({ length: ROWS }, (_, i) => i);

describe('values that share operands compile without exponential code', () => {
  const onWorkers = async (use: (context: Context, x: q.Column<'u32'>) => Promise<void>): Promise<void> => {
    await using context = new Context(await createWorkersBackend({ workers: 1 }));
    await use(context, context.column(words));
  };

  test('values of reduceByKey', () =>
    onWorkers(async (context, x) => {
      const { values } = q.reduceByKey(q.map(eighth, { x }), q.map(mixed, { x }), q.plus(u32));
      const expected = new Uint32Array(ROWS / 8);
      for (const word of words) expected[word >> 3] = expected[word >> 3]! + mixedOnHost(word);
      expect(await context.read(values)).toEqual(expected);
    }));

  test('the monoid of reduceByKey', () =>
    onWorkers(async (context, x) => {
      const sum = q.monoid({
        of: u32,
        identity: 0,
        combine: ({ a, b }) => steps<U32>(a.add(b), (v) => v.or(v.shr(1).and(0))),
        exact: true,
      });
      const { values } = q.reduceByKey(q.map(eighth, { x }), x, sum);
      const sums = Uint32Array.from({ length: ROWS / 8 }, (_, run) => 64 * run + 28);
      expect(await context.read(values)).toEqual(sums);
    }));

  test('bins of a histogram', () =>
    onWorkers(async (context, x) => {
      const expected = new Uint32Array(16);
      for (const word of words) expected[narrowedOnHost(word)]!++;
      expect(await context.read(q.histogram(q.map(narrowed, { x }), 16))).toEqual(expected);
    }));
});

test('the bound of a loop whose condition shares operands is found', () => {
  const counted = fn({ x: u32 }, u32, ({ x }) => {
    const rounds = Var(x.and(7));
    While(
      () => steps<Bool>(rounds.lt(10), (holds, step) => holds.and(holds.and(rounds.lt(step + 10)))),
      () => rounds.set(rounds.add(1)),
    );
    return rounds;
  });
  const max = worstCase(counted.module, ({ kind }) => Number(kind === 'loop'));
  expect(max).toBeLessThan(16);
});

describe('helpers that call each other twice', () => {
  const called = (twice: (helper: (x: U32) => U32, x: U32) => U32): q.Functor<{ x: typeof u32 }, typeof u32> => {
    const first = fn({ x: u32 }, u32, ({ x }) => x.add(1));
    return steps(first, (helper) => fn({ x: u32 }, u32, ({ x }) => twice((y) => helper({ x: y }), x)));
  };

  const functors = [
    ['with the same argument', called((helper, x) => helper(x).add(helper(x)))],
    ['with different arguments', called((helper, x) => helper(x).add(helper(x.add(1))))],
  ] as const;
  test.each(someOf(functors, 1))('that need too much code are refused without delay: %s', async (_, functor) => {
    await using context = new Context(await createWorkersBackend({ workers: 1 }));
    const x = context.column(words);
    const { liveBytes } = context.backend.counters;
    expect(() => context.materialize(q.map(functor, { x }))).toThrow(
      expect.objectContaining({ code: 'functor/webassembly' }),
    );
    expect(context.backend.counters.liveBytes).toBe(liveBytes);
  });
});
