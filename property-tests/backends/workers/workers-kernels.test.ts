import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/backend.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import type { Backend, CountRef, MonoidProgram, Store } from '../../../primitives/contract/backend.ts';
import { For, Var } from '../../../primitives/functors/control.ts';
import { array, bool, f32, fn, i32, u32, uniform } from '../../../primitives/functors/functor.ts';
import { type AnyMonoid, maximum, minimum, monoid, monoidProgram, plus } from '../../../primitives/monoid.ts';
import { someOf, THOROUGH } from '../../cases.ts';
import { treePrefixes, treeTotal } from '../../support/tree-prefixes.ts';
import { bind, randomWords, upload, wordsOfF32 } from '../../support/workers-programs.ts';

const sizes = [
  0, 1, 2, 3, 4, 5, 63, 64, 65, 1023, 1024, 1025, 4095, 4097, 16383, 16384, 16385, 65535, 65536, 65537, 140001,
];

/** A test body, which issues commands on a backend and returns the words that they wrote. */
type Scenario = (backend: Backend) => Promise<Uint32Array>;

const backends: { readonly name: string; backend: Backend }[] = [];
let reference: Backend;

beforeAll(async () => {
  reference = createReferenceBackend();
  const open = async (name: string, workers: number, inlineNanoseconds: number | undefined): Promise<void> => {
    backends.push({ name, backend: await createWorkersBackend({ workers, inlineNanoseconds }) });
  };
  await open('calling thread', 1, Number.POSITIVE_INFINITY);
  await open('one worker', 1, 0);
  await open('three workers', 3, 0);
});

afterAll(async () => {
  for (const { backend } of backends) await backend.close();
});

async function expectSame(scenario: Scenario): Promise<void> {
  const expected = await scenario(reference);
  for (const { name, backend } of backends) {
    const got = await scenario(backend);
    const differing = expected.findIndex((word, i) => word !== got[i]);
    expect({ name, differing, word: got[differing], length: got.length }).toEqual({
      name,
      differing: -1,
      word: undefined,
      length: expected.length,
    });
  }
}

const load = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) => xs.at(i));
const loadFloat = fn({ i: u32, xs: array(f32) }, f32, ({ i, xs }) => xs.at(i));
/** Reads like `load`, but in a loop, which does not vectorise. The result is 3 · xs[i] + 3. */
const loadSlowly = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) => {
  const sum = Var(u32(0));
  For(0, 3, (k) => sum.set(sum.add(xs.at(i)).add(k)));
  return sum;
});

const emitBoth = fn({ i: u32, before: u32, after: u32 }, { before: u32, after: u32 }, ({ before, after }) => ({
  before,
  after,
}));

describe('forEach', () => {
  test.each(sizes)('stores every result of %i indices', async (n) => {
    const words = randomWords(n + 3);
    const functor = fn(
      { i: u32, xs: array(u32), k: uniform(u32) },
      { sum: u32, even: bool, next: u32 },
      ({ i, xs, k }) => ({ sum: xs.at(i).mul(k).add(i), even: xs.at(i).and(1).eq(0), next: xs.at(i.add(2)) }),
    );
    await expectSame(async (backend) => {
      const program = bind(backend, functor.module, { xs: { words, length: n + 1 } }, { k: 7 });
      const out = backend.allocate(3 * n + 2);
      backend.write(out, 0, new Uint32Array(3 * n + 2).fill(9));
      backend.run({
        kind: 'forEach',
        extent: n,
        program,
        stores: [
          { buffer: out, offset: 0, capacity: n, value: 0 },
          { buffer: out, offset: n, capacity: Math.max(0, n - 1), value: 1 },
          { buffer: out, offset: 2 * n, capacity: n, value: 2, guard: 1 },
        ],
      });
      return backend.read(out, 0, 3 * n + 2);
    });
  });

  test.each(
    (['u8', 'i8', 'u16', 'i16', 'u32', 'i32'] as const).flatMap((storage) => [
      [storage, 'u32'] as const,
      [storage, 'i32'] as const,
    ]),
  )('reads %s at any offset as %s', async (storage, name) => {
    const type = name === 'u32' ? u32 : i32;
    const n = 5003;
    const words = randomWords(n);
    const functor = fn(
      { i: u32, xs: array(type as typeof u32), shift: uniform(u32) },
      type as typeof u32,
      ({ i, xs, shift }) => xs.at(i.add(shift)).max(5),
    );
    for (const offset of someOf([0, 1, 2, 3], 2)) {
      await expectSame(async (backend) => {
        const program = bind(
          backend,
          functor.module,
          { xs: { words, storage, offset, length: n - 20 } },
          { shift: 2 ** 32 - 7 },
        );
        const out = backend.allocate(n);
        backend.run({
          kind: 'forEach',
          extent: n,
          program,
          stores: [{ buffer: out, offset: 0, capacity: n, value: 0 }],
        });
        return backend.read(out, 0, n);
      });
    }
  });

  test('stores at computed indices, guarded and bounded', async () => {
    const n = 20011;
    const functor = fn({ i: u32 }, { value: u32, place: u32, keep: bool }, ({ i }) => ({
      value: i.mul(3),
      place: u32(n - 1).sub(i),
      keep: i.and(3).ne(1),
    }));
    await expectSame(async (backend) => {
      const out = backend.allocate(n);
      backend.write(out, 0, new Uint32Array(n));
      backend.run({
        kind: 'forEach',
        extent: n,
        program: bind(backend, functor.module),
        stores: [{ buffer: out, offset: 0, capacity: n - 100, value: 0, index: 1, guard: 2 }],
      });
      return backend.read(out, 0, n);
    });
  });

  test.each(['add', 'and', 'or', 'xor', 'min', 'max'] as const)('combines atomically with %s', async (combine) => {
    const n = 30011;
    const words = randomWords(n, 5);
    for (const functor of [
      fn({ i: u32, xs: array(u32) }, { value: u32, place: u32 }, ({ i, xs }) => ({
        value: xs.at(i),
        place: xs.at(i).shr(4).and(31),
      })),
      fn({ i: u32, xs: array(u32) }, { value: u32, place: u32 }, ({ i, xs }) => {
        const value = Var(xs.at(i));
        For(0, i.and(1), () => value.set(value.not()));
        return { value: u32(value), place: xs.at(i).and(31) };
      }),
    ]) {
      await expectSame(async (backend) => {
        const out = upload(backend, randomWords(64, 3));
        const program = bind(backend, functor.module, { xs: { words, length: n } });
        backend.run({
          kind: 'forEach',
          extent: n,
          program,
          stores: [
            { buffer: out, offset: 0, capacity: 30, value: 0, index: 1, combine },
            { buffer: out, offset: 32, capacity: 32, value: 1, combine },
          ] satisfies Store[],
        });
        return backend.read(out, 0, 64);
      });
    }
  });

  test('runs as many indices as a device count gives, and reads arrays as long as one gives', async () => {
    const n = 10000;
    const words = randomWords(n);
    for (const [count, minus] of [
      [0, 0],
      [5, 9],
      [7777, 0],
      [7777, 7000],
      [2 ** 32 - 1, 0],
      [9999, 1],
    ] as const) {
      await expectSame(async (backend) => {
        const counts = upload(backend, Uint32Array.of(0, count));
        const extent: CountRef = { buffer: counts, word: 1, minus, limit: n };
        const xs = {
          buffer: upload(backend, words),
          storage: 'u32',
          offset: 0,
          length: { ...extent, minus: minus + 3 },
        } as const;
        const out = backend.allocate(n);
        backend.write(out, 0, new Uint32Array(n).fill(1));
        backend.run({
          kind: 'forEach',
          extent,
          program: { module: load.module, arrays: new Map([['xs', xs]]), uniforms: new Map() },
          stores: [{ buffer: out, offset: 0, capacity: n, value: 0 }],
        });
        return backend.read(out, 0, n);
      });
    }
  });
});

const affine: AnyMonoid = monoid({
  of: { scale: u32, shift: u32 },
  identity: { scale: 1, shift: 0 },
  combine: ({ a, b }) => ({ scale: a.scale.mul(b.scale), shift: b.shift.add(a.shift.mul(b.scale)) }),
}) as AnyMonoid;

const slowAffine: AnyMonoid = monoid({
  of: { scale: u32, shift: u32 },
  identity: { scale: 1, shift: 0 },
  combine: ({ a, b }) => {
    const shift = Var(b.shift);
    For(0, 1, () => shift.set(shift.add(a.shift.mul(b.scale))));
    return { scale: a.scale.mul(b.scale), shift: u32(shift) };
  },
}) as AnyMonoid;

const pairs = fn({ i: u32, xs: array(u32) }, { a: u32, b: u32 }, ({ i, xs }) => ({
  a: xs.at(i).or(1),
  b: xs.at(i).mul(i),
}));
const emitPairs = fn(
  { i: u32, a: u32, b: u32, c: u32, d: u32 },
  { a: u32, b: u32, c: u32, d: u32 },
  ({ i, a, b, c, d }) => ({ a: a.add(i), b, c, d }),
);

interface Fold {
  readonly name: string;
  readonly monoid: MonoidProgram;
  readonly element: typeof load.module;
  readonly emit: typeof load.module;
  readonly float?: boolean;
}

const emitFloats = fn({ i: u32, before: f32, after: f32 }, { before: f32, after: f32 }, ({ before, after }) => ({
  before,
  after,
}));

const folds: Fold[] = [
  { name: 'sums of u32', monoid: monoidProgram(plus(u32)), element: load.module, emit: emitBoth.module },
  {
    name: 'sums of u32 through a loop',
    monoid: monoidProgram(plus(u32)),
    element: loadSlowly.module,
    emit: emitBoth.module,
  },
  {
    name: 'affine maps, which do not commute',
    monoid: monoidProgram(affine),
    element: pairs.module,
    emit: emitPairs.module,
  },
  {
    name: 'affine maps through a loop',
    monoid: monoidProgram(slowAffine),
    element: pairs.module,
    emit: emitPairs.module,
  },
  {
    name: 'minima of f32',
    monoid: monoidProgram(minimum(f32)),
    element: loadFloat.module,
    emit: emitFloats.module,
    float: true,
  },
  { name: 'maxima of u32', monoid: monoidProgram(maximum(u32)), element: load.module, emit: emitBoth.module },
  {
    name: 'sums of f32',
    monoid: monoidProgram(plus(f32)),
    element: loadFloat.module,
    emit: emitFloats.module,
    float: true,
  },
];

/** A monoid of three types that is neither exact nor commutative: sums, a count, and whether any value was negative. */
const summary: AnyMonoid = monoid({
  of: { sum: f32, count: u32, negative: bool },
  identity: { sum: 0, count: 0, negative: false },
  combine: ({ a, b }) => ({
    sum: a.sum.mul(0.5).add(b.sum),
    count: a.count.add(b.count),
    negative: a.negative.or(b.negative),
  }),
  exact: false,
}) as AnyMonoid;
const summarized = fn({ i: u32, xs: array(f32) }, { sum: f32, count: u32, negative: bool }, ({ i, xs }) => ({
  sum: xs.at(i),
  count: i.and(1),
  negative: xs.at(i).lt(-1e6),
}));
const emitSummaries = fn(
  { i: u32, a: f32, b: u32, c: bool, d: f32, e: u32, f: bool },
  { a: f32, b: u32, c: bool, d: f32, e: u32, f: bool },
  ({ a, b, c, d, e, f }) => ({ a, b, c, d, e, f }),
);
folds.push({
  name: 'summaries of f32',
  monoid: monoidProgram(summary),
  element: summarized.module,
  emit: emitSummaries.module,
  float: true,
});

const floats = (n: number): Uint32Array =>
  wordsOfF32(
    Array.from(randomWords(n), (word, i) => (i % 97 === 0 ? -0 : ((word >>> 8) - 2 ** 23) * 2 ** ((word & 15) - 20))),
  );

test('a monoid wrongly declared commutative does not affect other monoids', async () => {
  const { monoid: honest, element } = folds.find(({ name }) => name === 'affine maps, which do not commute')!;
  const words = randomWords(5000);
  await expectSame(async (backend) => {
    const into = backend.allocate(2);
    const program = bind(backend, element, { xs: { words, length: 5000 } });
    for (const operator of [{ ...honest, commutative: true }, honest]) {
      backend.run({ kind: 'reduce', extent: 5000, program, monoid: operator, into: { buffer: into, word: 0 } });
    }
    return backend.read(into, 0, 2);
  });
});

/**
 * Sizes that take long. Each fold (a monoid and its input) is tried on one of these sizes by default, and on all under
 * `npm run test:thorough`.
 */
const largeSizes = sizes.filter((n) => n >= 65535);
const smallSizes = sizes.filter((n) => n < 65535);
/** Number of small sizes on which each fold (a monoid and its input) is tried by default. The sizes are random. */
const SMALL_SIZES = 7;

describe.each(folds)('$name', (fold) => {
  const { monoid: operator, element, emit, float } = fold;
  const large = THOROUGH ? largeSizes : [largeSizes[folds.indexOf(fold) % largeSizes.length]!];
  const foldSizes = [...someOf(smallSizes, SMALL_SIZES), ...large];
  const leaves = operator.types.length;

  test.each(foldSizes)('reduce %i elements', async (n) => {
    const words = float ? floats(n) : randomWords(n);
    await expectSame(async (backend) => {
      const into = backend.allocate(leaves + 1);
      const program = bind(backend, element, { xs: { words, length: n, ...(float ? { storage: 'f32' } : {}) } });
      backend.run({ kind: 'reduce', extent: n, program, monoid: operator, into: { buffer: into, word: 1 } });
      return backend.read(into, 1, leaves);
    });
  });

  test.each(foldSizes)('scan %i elements, with the total', async (n) => {
    const words = float ? floats(n) : randomWords(n);
    await expectSame(async (backend) => {
      const out = backend.allocate(2 * leaves * n + leaves);
      const program = bind(backend, element, { xs: { words, length: n, ...(float ? { storage: 'f32' } : {}) } });
      backend.run({
        kind: 'scan',
        extent: n,
        program,
        monoid: operator,
        emit: bind(backend, emit),
        stores: Array.from({ length: 2 * leaves }, (_, value) => ({
          buffer: out,
          offset: value * n,
          capacity: n,
          value,
        })),
        total: { buffer: out, word: 2 * leaves * n },
      });
      return backend.read(out, 0, 2 * leaves * n + leaves);
    });
  });

  test('reduce and scan as many elements as a device count gives', async () => {
    const n = 40_000;
    const words = float ? floats(n) : randomWords(n);
    for (const count of someOf([0, 1, 1024, 1025, 33333], 2)) {
      await expectSame(async (backend) => {
        const counts = upload(backend, Uint32Array.of(count));
        const extent: CountRef = { buffer: counts, word: 0, minus: 0, limit: n };
        const out = backend.allocate(2 * leaves * (n + 1));
        backend.write(out, 0, new Uint32Array(2 * leaves * (n + 1)));
        const program = bind(backend, element, { xs: { words, length: n, ...(float ? { storage: 'f32' } : {}) } });
        backend.run({ kind: 'reduce', extent, program, monoid: operator, into: { buffer: out, word: 2 * leaves * n } });
        backend.run({
          kind: 'scan',
          extent,
          program,
          monoid: operator,
          emit: bind(backend, emit),
          stores: Array.from({ length: 2 * leaves }, (_, value) => ({
            buffer: out,
            offset: value * n,
            capacity: n,
            value,
          })),
          total: { buffer: out, word: 2 * leaves * n + leaves },
        });
        return backend.read(out, 0, 2 * leaves * (n + 1));
      });
    }
  });
});

test('sums of f32 over a million elements, which take a third level of blocks', async () => {
  const n = 1024 * 1024 + 1025;
  const words = floats(n);
  const values = [...new Float32Array(words.buffer, 0, n)];
  const add = (a: number, b: number): number => Math.fround(a + b);
  const sums = Float32Array.from(treePrefixes(values, add), ({ inclusive }) => inclusive);
  const total = treeTotal(values, add)!;
  const expected = new Uint32Array(Float32Array.from([...sums, total, total]).buffer);
  for (const { name, backend } of someOf(backends, 1)) {
    const out = backend.allocate(n + 2);
    const program = bind(backend, loadFloat.module, { xs: { words, length: n, storage: 'f32' } });
    const operator = monoidProgram(plus(f32));
    backend.run({
      kind: 'scan',
      extent: n,
      program,
      monoid: operator,
      emit: bind(backend, emitFloats.module),
      stores: [{ buffer: out, offset: 0, capacity: n, value: 1 }],
      total: { buffer: out, word: n },
    });
    backend.run({ kind: 'reduce', extent: n, program, monoid: operator, into: { buffer: out, word: n + 1 } });
    const got = await backend.read(out, 0, n + 2);
    expect([name, got.findIndex((word, i) => word !== expected[i])]).toEqual([name, -1]);
  }
});
