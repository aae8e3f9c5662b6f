import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import { bool, i32, u32 } from '../../../primitives/functors/functor.ts';
import { select } from '../../../primitives/functors/standard/choose.ts';
import { bitXor, maximum, minimum, monoid, plus } from '../../../primitives/monoid.ts';
import { reduceByKey } from '../../../primitives/reduce-by-key.ts';
import { sequence } from '../../../primitives/sequence.ts';
import { keysOfRuns, type RunLengths, runLengths } from '../../support/run-keys.ts';
import { randomWords } from '../../support/workers-programs.ts';

const sizes = [1, 2, 4, 5, 8, 63, 1025, 16383, 16385, 40003, 100003];

/** Lengths of runs of equal keys: one row, a few rows, a vector, a tile, more than a tile, and all rows. */
const lengths: RunLengths = { ...runLengths(5000), 'longer than tiles': () => 70_001 };

/** The start and end of every run of equal keys. */
function runsOf(keys: Uint32Array): [from: number, to: number][] {
  const starts = [...keys.keys()].filter((i) => i === 0 || keys[i] !== keys[i - 1]);
  return starts.map((from, run) => [from, starts[run + 1] ?? keys.length]);
}

describe.each([
  { name: 'calling thread', workers: 1, inlineNanoseconds: Number.POSITIVE_INFINITY },
  { name: 'three workers', workers: 3, inlineNanoseconds: 0 },
])('runs on the $name', ({ name: _, ...options }) => {
  let context: Context;
  beforeAll(async () => {
    context = new Context(await createWorkersBackend(options));
  });
  afterAll(() => context.close());

  const columns = (n: number) => {
    const words = randomWords(n, n + 1);
    return { words, values: context.column(words), signed: context.column(new Int32Array(words.buffer)) };
  };
  const folded = (words: Uint32Array, runs: [number, number][], combine: (a: number, b: number) => number): number[] =>
    runs.map(([from, to]) => words.subarray(from, to).reduce((a, b) => combine(a, b) >>> 0));

  test.each(Object.keys(lengths))('%s', async (name) => {
    for (const n of sizes) {
      const keys = keysOfRuns(n, lengths[name]!, n + 7);
      const runs = runsOf(keys);
      const { words, values, signed } = columns(n);
      const byKey = context.column(keys);
      const sums = await context.read(reduceByKey(byKey, values, plus(u32)));
      expect([...sums.keys]).toEqual(runs.map(([from]) => keys[from]));
      expect([...sums.values]).toEqual(folded(words, runs, (a, b) => a + b));

      const min = await context.read(reduceByKey(byKey, signed, minimum(i32)).values);
      const numbers = new Int32Array(words.buffer);
      expect([...min]).toEqual(runs.map(([from, to]) => numbers.subarray(from, to).reduce((a, b) => Math.min(a, b))));
    }
  });

  test('several values of several types, with identities that are not zero', async () => {
    const rows = { sum: u32, max: i32, mixed: u32, any: bool };
    const several = monoid({
      of: rows,
      identity: { sum: 0, max: -(2 ** 31), mixed: 0, any: false },
      combine: ({ a, b }) => ({
        sum: a.sum.add(b.sum),
        max: a.max.max(b.max),
        mixed: a.mixed.xor(b.mixed),
        any: a.any.or(b.any),
      }),
    });
    for (const n of sizes) {
      const keys = keysOfRuns(n, lengths['of long and short']!, n + 7);
      const byKey = context.column(keys);
      const { words, values, signed } = columns(n);
      const flags = Array.from(words, (word) => word % 5 === 0);
      const table = { sum: values, max: signed, mixed: sequence(n), any: context.column(flags) };
      const got = await context.read(reduceByKey(byKey, table as never, several).values as unknown as typeof table);
      const runs = runsOf(keys);
      expect([...got.sum]).toEqual(folded(words, runs, (a, b) => a + b));
      expect([...got.mixed]).toEqual(folded(Uint32Array.from(words.keys()), runs, (a, b) => a ^ b));
      expect([...got.any]).toEqual(runs.map(([from, to]) => Number(flags.slice(from, to).includes(true))));
      const max = await context.read(reduceByKey(byKey, signed, maximum(i32)).values);
      expect(got.max).toEqual(max);
    }
  });

  test('an operator that returns its left operand unless it is 0', async () => {
    const left = monoid({ of: u32, identity: 0, combine: ({ a, b }) => select(a, b, a.eq(0)), exact: true });
    const n = 40003;
    const keys = keysOfRuns(n, lengths['of some rows']!, n + 7);
    const { words, values } = columns(n);
    const got = await context.read(reduceByKey(context.column(keys), values, left).values);
    expect([...got]).toEqual(folded(words, runsOf(keys), (a, b) => (a === 0 ? b : a)));
    const mixed = await context.read(reduceByKey(context.column(keys), values, bitXor(u32)).values);
    expect([...mixed]).toEqual(folded(words, runsOf(keys), (a, b) => a ^ b));
  });
});
