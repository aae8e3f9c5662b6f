import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import type { Backend, Store } from '../../../primitives/contract/backend.ts';
import { For, Var } from '../../../primitives/functors/control.ts';
import { array, bool, type Functor, fn, type Parameters, u32, uniform } from '../../../primitives/functors/functor.ts';
import type { Shape } from '../../../primitives/functors/shapes.ts';
import type { Module } from '../../../primitives/ir/ir.ts';
import { monoidProgram, plus } from '../../../primitives/monoid.ts';
import { bind, randomWords } from '../../support/workers-programs.ts';

const sizes = [0, 1, 3, 4, 5, 8, 63, 65, 1023, 1025, 16383, 16384, 16385, 16388, 65537, 100003];

const small = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) => u32(xs.at(i).lt(0x40000000)));
const smallSlowly = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) => {
  const flag = Var(xs.at(i).lt(0x40000000));
  For(0, 2, () => flag.set(flag.not()));
  return u32(flag);
});
const head = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) =>
  u32(
    xs
      .at(i)
      .shr(31)
      .ne(xs.at(i.sub(1)).shr(31))
      .or(i.eq(0)),
  ),
);

const all = fn({ i: u32 }, u32, () => u32(1));
const allOrNone = fn({ i: u32, chosen: uniform(bool) }, u32, ({ chosen }) => u32(chosen));

type Emit = Functor<Parameters, Shape>;

const bothSides = fn(
  { i: u32, before: u32, after: u32, xs: array(u32) },
  { chosen: bool, place: u32, value: u32, index: u32, other: bool, rest: u32, odd: bool },
  ({ i, before, after, xs }) => {
    const chosen = after.ne(before);
    const value = xs.at(i);
    return {
      chosen,
      place: before,
      value,
      index: i,
      other: chosen.not(),
      rest: i.sub(before),
      odd: value.and(1).ne(0),
    };
  },
) as unknown as Emit;

/** Indices of the results of `bothSides`, by name. */
const result = { chosen: 0, place: 1, value: 2, index: 3, other: 4, rest: 5, odd: 6 };

describe.each([
  { name: 'calling thread', workers: 1, inlineNanoseconds: Number.POSITIVE_INFINITY },
  { name: 'three workers', workers: 3, inlineNanoseconds: 0 },
])('compaction on the $name', ({ name: _, ...options }) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createWorkersBackend(options);
  });
  afterAll(async () => {
    await backend.close();
  });

  /**
   * Scans flags, and stores both sides of the partition (the chosen elements and the others). Every stored column is
   * between guard words, which must not change.
   */
  const partition = async (
    n: number,
    flags: { readonly module: Module },
    storeFlag: (words: Uint32Array, i: number) => boolean,
    capacity: number,
    uniforms: { readonly [name: string]: boolean } = {},
  ): Promise<void> => {
    const words = randomWords(n, n + 1);
    const stride = n + 8;
    const out = backend.allocate(5 * stride);
    backend.write(out, 0, new Uint32Array(5 * stride).fill(0xdead));
    const sides = (column: number, value: number, chosen: boolean): Store => ({
      buffer: out,
      offset: column * stride + 4,
      capacity,
      value,
      index: chosen ? result.place : result.rest,
      guard: chosen ? result.chosen : result.other,
    });
    backend.run({
      kind: 'scan',
      extent: n,
      program: bind(backend, flags.module, { xs: { words, length: n } }, uniforms),
      monoid: monoidProgram(plus(u32)),
      emit: bind(backend, bothSides.module, { xs: { words, length: n } }),
      stores: [
        sides(0, result.value, true),
        sides(1, result.odd, true),
        sides(2, result.value, false),
        sides(3, result.index, false),
      ],
      total: { buffer: out, word: 4 * stride },
    });
    const got = await backend.read(out, 0, 4 * stride + 1);
    backend.release(out);

    const expected = new Uint32Array(4 * stride + 1).fill(0xdead);
    const store = (column: number, place: number, word: number): void => {
      if (place < capacity) expected[column * stride + 4 + place] = word;
    };
    let [chosen, others] = [0, 0];
    for (const [i, word] of words.entries()) {
      if (storeFlag(words, i)) {
        store(0, chosen, word);
        store(1, chosen++, word & 1);
      } else {
        store(2, others, word);
        store(3, others++, i);
      }
    }
    expected[4 * stride] = chosen;
    expect(got.findIndex((word, i) => word !== expected[i])).toBe(-1);
  };

  const isSmall = (words: Uint32Array, i: number): boolean => words[i]! < 0x40000000;

  test.each(sizes)('partitions %i elements and writes nothing else', async (n) => {
    await partition(n, small, isSmall, n);
  });

  test.each(sizes)('partitions %i elements by a flag that does not vectorize', async (n) => {
    await partition(n, smallSlowly, isSmall, n);
  });

  test.each(sizes)('partitions %i elements at the heads of runs', async (n) => {
    await partition(n, head, (words, i) => i === 0 || words[i]! >>> 31 !== words[i - 1]! >>> 31, n);
  });

  test.each(sizes)('partitions %i elements by a flag that is equal for all of them', async (n) => {
    await partition(n, all, () => true, n);
    for (const chosen of [true, false]) await partition(n, allOrNone, () => chosen, n, { chosen });
  });

  test('writes no more than the capacity', async () => {
    for (const capacity of [0, 1, 5, 1000, 9999]) await partition(20000, small, isSmall, capacity);
  });
});
