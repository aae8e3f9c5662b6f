import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import type { Silence } from '../../../backends/webgpu/tuning/silence.ts';
import { defaultTuning, type LookBackTuning } from '../../../backends/webgpu/tuning/tuning.ts';
import type { HostArray } from '../../../primitives/columns/host-array.ts';
import { Context } from '../../../primitives/context/context.ts';
import { bool, f32, i32, u32 } from '../../../primitives/functors/functor.ts';
import type { Shape } from '../../../primitives/functors/shapes.ts';
import { select } from '../../../primitives/functors/standard/choose.ts';
import type { Local, Module, ScalarType } from '../../../primitives/ir/ir.ts';
import {
  type AnyMonoid,
  bitXor,
  type Monoid,
  maximum,
  minimum,
  monoid,
  plus,
  product,
} from '../../../primitives/monoid.ts';
import { reduceByKey } from '../../../primitives/reduce-by-key.ts';
import { slice } from '../../../primitives/slice.ts';
import { type Presentation, present, presentation } from '../../arbitraries/presentations.ts';
import { costlyCaseCount, dealLaws, someOf, THOROUGH } from '../../cases.ts';
import { keysOfRuns, runLengths } from '../../support/run-keys.ts';
import {
  bind,
  bindingOf,
  columnsProgram,
  expectAgreement,
  FEW_THREADS,
  give,
  literal,
  local,
  matrixMonoid,
  moduleOf,
  openTestBackend,
  randomFloats,
  randomWords,
  readAt,
  slow,
  upload,
} from '../../support/webgpu-support.ts';

/**
 * Column sizes around the ends of subgroups and tiles. In the larger columns, some tiles have neighbours on both sides.
 */
const sizes = [1, 4, 1023, 1025, 2047, 2048, 2049, 2052, 3071, 3072, 3073, 3076, 4095, 4097, 5000, 6145];

/** Lengths of runs of equal keys. A run is within one thread, or goes across threads, subgroups or tiles. */
const lengths = runLengths(900);

/** A monoid, and values for it as the columns of a record. */
interface Sample {
  readonly monoid: AnyMonoid;
  values(n: number): { readonly [name: string]: HostArray };
}

const words = (n: number): Uint32Array => randomWords(n, n + 1);
const signed = (n: number): Int32Array => new Int32Array(words(n).buffer);
const floats = (n: number): Float32Array => new Float32Array(randomFloats(n, n + 2).buffer);
const bytes = (n: number): Uint8Array => new Uint8Array(words(n));

const one = (inner: AnyMonoid, values: (n: number) => HostArray): Sample => ({
  monoid: product({ value: inner }),
  values: (n) => ({ value: values(n) }),
});

const samples: { readonly [name: string]: Sample } = {
  sums: one(plus(u32), words),
  'sums of bytes': one(plus(u32), bytes),
  minima: one(minimum(i32), signed),
  'maxima of f32': one(maximum(f32), floats),
  'the first value that is not zero': one(
    monoid({ of: u32, identity: 0, combine: ({ a, b }) => select(a, b, a.eq(0)), exact: true }),
    (n) => words(n).map((word) => (word % 4 === 0 ? word : 0)),
  ),
  'the index of the minimum': {
    monoid: monoid({
      of: { min: i32, row: u32, any: bool },
      identity: { min: 2 ** 31 - 1, row: 2 ** 32 - 1, any: false },
      combine: ({ a, b }) => {
        const isRight = b.min.lt(a.min);
        return { min: a.min.min(b.min), row: select(a.row, b.row, isRight), any: a.any.or(b.any) };
      },
      exact: true,
    }),
    values: (n) => ({
      min: signed(n),
      row: Uint32Array.from({ length: n }, (_, i) => i),
      any: Array.from(words(n), (word) => word % 32 === 0),
    }),
  },
  'several values, one of which is never read': {
    monoid: product({ sum: plus(u32), mixed: bitXor(u32) }),
    values: (n) => ({ sum: words(n), mixed: bytes(n) }),
  },
};

/** The same keys in three forms: as one column, as two columns, and as f32 with NaNs and zeros of both signs. */
const keyTables: { readonly [name: string]: (keys: Uint32Array) => { readonly [name: string]: HostArray } } = {
  'of one column': (keys) => ({ key: keys }),
  'of two columns': (keys) => ({
    key: keys.map((key) => key >>> 1),
    other: new Uint8Array(keys.map((key) => key & 1)),
  }),
  'of f32': (keys) => ({ key: Float32Array.from(keys, (key) => [0, -0, Number.NaN][key]!) }),
};

interface Case {
  readonly n: number;
  readonly offset: number;
  readonly length: string;
  readonly keys: string;
  readonly how: Presentation;
}

const cases: fc.Arbitrary<Case> = fc.record({
  n: fc.constantFrom(...sizes),
  offset: fc.nat(8),
  length: fc.constantFrom(...Object.keys(lengths)),
  keys: fc.constantFrom(...Object.keys(keyTables)),
  how: fc.oneof({ arbitrary: fc.constant<Presentation>('stored'), weight: 4 }, { arbitrary: presentation, weight: 1 }),
});

/**
 * Cases with several tiles that have neighbours on both sides. Columns start at a multiple of four words, or three
 * words later.
 */
const wellInside: readonly Case[] = [0, 3].map((offset) => ({
  n: 5000,
  offset,
  length: 'of long and short',
  keys: 'of one column',
  how: 'stored',
}));

/** Reduces all rows from row `offset` on, so that columns can start at any word. */
async function reduced(context: Context, { monoid, values }: Sample, { n, offset, length, keys, how }: Case) {
  const count = n + offset;
  const host = { ...values(count), ...prefixed(keyTables[keys]!(keysOfRuns(count, lengths[length]!, n))) };
  const table = await context.scope(() => {
    const rows = slice(present(context, host, how), offset);
    const byKey = Object.fromEntries(Object.entries(rows).filter(([name]) => name.startsWith('key ')));
    const folded = Object.fromEntries(Object.entries(rows).filter(([name]) => !name.startsWith('key ')));
    return reduceByKey(byKey, folded as never, monoid as Monoid<Shape>);
  });
  return context.read(table);
}

const prefixed = <T>(table: { readonly [name: string]: T }): { [name: string]: T } =>
  Object.fromEntries(Object.entries(table).map(([name, array]) => [`key ${name}`, array]));

const { scan } = defaultTuning;
const heads = { threads: 64, words: 16 };
/** Number of items per thread: 8 by default, because a software GPU takes seconds to compile a kernel with 16. */
const items = THOROUGH ? 16 : 8;
const small = { ...scan, lookBack: true, threads: 64, items, heads, tiles: 1, tries: 1 };

/**
 * Tunings of the look-back scan over runs, with tiles of 128 to 1,024 elements. The counts of a tile take one or two
 * words.
 */
const tunings: { readonly [name: string]: LookBackTuning & Silence } = {
  'as tuned': small,
  'past silent tiles, few subgroups per workgroup': {
    ...small,
    threads: FEW_THREADS,
    heads: { ...heads, threads: FEW_THREADS },
    run: 4,
    mute: 3,
  },
  'of two elements': { ...small, run: 2 },
};

/**
 * A module that returns the exclusive and the inclusive prefix, the difference from the value two elements before,
 * whether this difference is odd, and the index counted from the end.
 */
function emitMirrored(types: readonly ScalarType[]): Module {
  const leaves = [...types, ...types];
  const index = local('u32', 0);
  const prefixes = leaves.map((type, i) => local(type, i + 1));
  const [last, mirrored, min, before, here, there, difference, bit] = [1, 2, 3, 4, 5, 6, 7, 8].map((i) =>
    local('u32', leaves.length + i),
  ) as [Local, Local, Local, Local, Local, Local, Local, Local];
  const keep = local('bool', leaves.length + 9);
  return moduleOf(
    [index, ...prefixes],
    [...leaves, 'u32', 'bool', 'u32'],
    [
      bind(last, 'sub', { kind: 'uniform', type: 'u32', name: 'n' }, literal('u32', 1)),
      bind(mirrored, 'sub', last, index),
      bind(min, 'min', index, literal('u32', 2)),
      bind(before, 'sub', index, min),
      readAt(here, 'next', index),
      readAt(there, 'next', before),
      bind(difference, 'sub', here, there),
      bind(bit, 'and', difference, literal('u32', 1)),
      bind(keep, 'convert', bit),
      give(...prefixes, difference, keep, mirrored),
    ],
    { next: 'u32' },
    { n: 'u32' },
  );
}

const names = Object.keys(tunings);
/** By default, one random sample per tuning, because a software GPU takes seconds to compile the kernels of each. */
const dealt = dealLaws(someOf(Object.keys(samples), names.length), [1, 1, 1]);
/** By default, one of the two cases of `wellInside`, which differ in the start of their columns. */
const inside = someOf(wellInside, 1);
/** The tunings in which matrix products are tried: by default, a random one. */
const ofMatrices = someOf(names, 1);

describe.each(Object.entries(tunings))('runs on WebGPU, %s', (tuning, tuned) => {
  let context: Context;
  let reference: Context;
  beforeAll(async () => {
    context = new Context(await openTestBackend({ tuning: { scan: tuned } }));
    reference = new Context(createReferenceBackend());
  }, 60_000);
  afterAll(async () => {
    await context.close();
    await reference.close();
  });

  test.each(dealt[names.indexOf(tuning)]!)(
    'reduced to %s equal the reference',
    async (name) => {
      await fc.assert(
        fc.asyncProperty(cases, async (drawn) => {
          const [got, expected] = await Promise.all(
            [context, reference].map((on) => reduced(on, samples[name]!, drawn)),
          );
          expect(bitsOf(got)).toEqual(bitsOf(expected));
        }),
        { numRuns: costlyCaseCount(5, inside.length), examples: inside.map((each) => [each]) },
      );
    },
    slow,
  );

  test.each(ofMatrices.includes(tuning) ? ['matrix products'] : [])(
    'prefixes of %s are stored next to other data without overwriting it',
    async () => {
      const monoid = matrixMonoid();
      const { types } = monoid;
      const leaves = types.length;
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...sizes), fc.nat(9), async (n, offset) => {
          await expectAgreement(context.backend, async (one, keep) => {
            const column = keep(upload(one, randomWords(offset + (n + 1) * leaves, n)));
            const out = keep(upload(one, new Uint32Array((2 * leaves + 1) * n)));
            const columns = types.map((type, leaf) => ({
              type,
              binding: bindingOf(column, n, 'u32', offset + leaf * n),
            }));
            one.run({
              kind: 'scan',
              extent: n,
              program: columnsProgram(columns),
              monoid,
              emit: {
                module: emitMirrored(types),
                arrays: new Map([['next', bindingOf(column, n, 'u32', offset + 1)]]),
                uniforms: new Map([['n', n]]),
              },
              stores: Array.from({ length: 2 * leaves + 1 }, (_, value) => ({
                buffer: out,
                offset: value * n,
                capacity: n,
                value,
                guard: 2 * leaves + 1,
                index: 2 * leaves + 2,
              })),
            });
            return [await one.read(out, 0, (2 * leaves + 1) * n)];
          });
        }),
        { numRuns: costlyCaseCount(5) },
      );
    },
    slow,
  );
});

/** The values of a table as words if they are f32, because words distinguish NaNs and signed zeros. */
function bitsOf(table: unknown): unknown {
  if (table instanceof Float32Array) return new Uint32Array(table.buffer, table.byteOffset, table.length);
  if (ArrayBuffer.isView(table)) return table;
  return Object.fromEntries(Object.entries(table as object).map(([name, column]) => [name, bitsOf(column)]));
}
