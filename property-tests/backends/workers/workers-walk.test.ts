import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/backend.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import type { Backend, CountRef, Program } from '../../../primitives/contract/backend.ts';
import { Break, Continue, For, If, Return, Var } from '../../../primitives/functors/control.ts';
import { array, bool, f32, fn, i32, u32, uniform } from '../../../primitives/functors/functor.ts';
import { select } from '../../../primitives/functors/standard/choose.ts';
import { bind, randomWords, upload, wordsOfF32 } from '../../support/workers-programs.ts';

/** Row counts around the ends of the smallest and the largest chunks. */
const sizes = [0, 1, 2, 15, 16, 17, 1023, 1024, 1025, 6143, 6145, 40_003];

const backends: { readonly name: string; readonly backend: Backend }[] = [];
let reference: Backend;

beforeAll(async () => {
  reference = createReferenceBackend();
  const open = async (name: string, workers: number, inlineNanoseconds: number): Promise<void> => {
    backends.push({ name, backend: await createWorkersBackend({ workers, inlineNanoseconds }) });
  };
  await open('calling thread', 1, Number.POSITIVE_INFINITY);
  await open('one worker', 1, 0);
  await open('three workers', 3, 0);
});

afterAll(async () => {
  for (const { backend } of backends) await backend.close();
});

async function expectSame(scenario: (backend: Backend) => Promise<Uint32Array>): Promise<void> {
  const expected = await scenario(reference);
  for (const { name, backend } of backends) {
    const got = await scenario(backend);
    const differing = expected.findIndex((word, i) => word !== got[i]);
    const seen = { name, differing, word: got[differing], length: got.length };
    expect(seen).toEqual({ name, differing: -1, word: undefined, length: expected.length });
  }
}

/** A helper function with loops and early returns of its own, which steps call. */
const digits = fn('digits', { x: u32 }, u32, ({ x }) => {
  const [rest, sum] = [Var(x), Var(u32(0))];
  For(0, 8, (k) => {
    If(rest.eq(0), () => Break());
    If(rest.and(1).eq(1), () => {
      rest.set(rest.shr(4));
      Continue();
    });
    sum.set(sum.add(rest.and(15)).add(k));
    rest.set(rest.shr(4));
  });
  If(sum.gt(60), () => Return(7));
  return sum;
});

const start = fn(
  { i: u32, seeds: array(u32) },
  { more: bool, left: i32, word: u32, sum: f32, up: bool, own: u32 },
  ({ i, seeds }) => {
    const seed = seeds.at(i);
    return {
      more: seed.rem(5).gt(0),
      left: i32(seed.shr(3).rem(9)),
      word: seed,
      sum: 0.25,
      up: seed.gt(2 ** 31),
      own: i,
    };
  },
);
const step = fn(
  { i: u32, left: i32, word: u32, sum: f32, up: bool, own: u32, table: array(f32), scale: uniform(f32) },
  { more: bool, left: i32, word: u32, sum: f32, up: bool, ended: bool, place: u32, bin: u32, both: u32 },
  ({ i, left, word, sum, up, own, table, scale }) => {
    const drawn = word.mul(1664525).add(1013904223);
    const found = digits({ x: drawn });
    const rest = left.sub(1);
    return {
      more: rest.ge(0).and(up.or(found.ne(13))),
      left: rest,
      word: drawn,
      sum: select(sum.sub(table.at(found)), sum.add(table.at(found).mul(scale)), up),
      up: up.xor(found.and(1).eq(0)),
      ended: rest.lt(0),
      place: i.mul(9).add(u32(left)),
      bin: drawn.shr(27),
      both: own.xor(found),
    };
  },
);

const programs = (backend: Backend, n: number): { readonly start: Program; readonly step: Program } => ({
  start: bind(backend, start.module, { seeds: { words: randomWords(n), length: n } }),
  step: bind(
    backend,
    step.module,
    { table: { words: wordsOfF32(Array.from({ length: 50 }, (_, k) => k * 1.37)), storage: 'f32', length: 50 } },
    { scale: 0.75 },
  ),
});

describe('walk', () => {
  test.each(sizes)('stores the results of every step, from %i indices', async (n) => {
    await expectSame(async (backend) => {
      const words = 11 * n + 100;
      const out = upload(backend, new Uint32Array(words).fill(99));
      backend.run({
        kind: 'walk',
        extent: n,
        ...programs(backend, n),
        changing: 4,
        stores: [
          { buffer: out, offset: 0, capacity: n, value: 3 },
          { buffer: out, offset: n, capacity: n, value: 1, guard: 5 },
          { buffer: out, offset: 2 * n, capacity: Math.max(0, 9 * n - 5), value: 8, index: 6 },
          { buffer: out, offset: 11 * n, capacity: 30, value: 2, index: 7, combine: 'add' },
          { buffer: out, offset: 11 * n + 40, capacity: 30, value: 2, index: 7, guard: 4, combine: 'max' },
        ],
      });
      return backend.read(out, 0, words);
    });
  });

  test.each([
    [0, 0],
    [5, 9],
    [777, 0],
    [777, 700],
    [2 ** 32 - 1, 0],
  ])('walks as many rows as a device count gives: %i minus %i', async (count, minus) => {
    const n = 1500;
    await expectSame(async (backend) => {
      const extent: CountRef = { buffer: upload(backend, Uint32Array.of(0, count)), word: 1, minus, limit: n };
      const out = upload(backend, new Uint32Array(n));
      const stores = [{ buffer: out, offset: 0, capacity: n, value: 3 }];
      backend.run({ kind: 'walk', extent, ...programs(backend, n), changing: 4, stores });
      return backend.read(out, 0, n);
    });
  });

  test('handles walks a hundred thousand times as long as others', async () => {
    const n = 3000;
    const long = fn({ i: u32 }, { more: bool, left: u32, sum: u32 }, ({ i }) => ({
      more: i.rem(3).ne(1),
      left: select(u32(1), u32(100_000), i.rem(1000).eq(0)),
      sum: i,
    }));
    const count = fn({ i: u32, left: u32, sum: u32 }, { more: bool, left: u32, sum: u32 }, ({ left, sum }) => ({
      more: left.gt(1),
      left: left.sub(1),
      sum: sum.mul(5).add(left),
    }));
    await expectSame(async (backend) => {
      const out = upload(backend, new Uint32Array(n));
      const stores = [{ buffer: out, offset: 0, capacity: n, value: 2 }];
      const both = { start: bind(backend, long.module), step: bind(backend, count.module) };
      backend.run({ kind: 'walk', extent: n, ...both, changing: 2, stores });
      return backend.read(out, 0, n);
    });
  });
});
