import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import type { WebGpuBackend, WebGpuOptions } from '../../../backends/webgpu/backend.ts';
import type { Tuning } from '../../../backends/webgpu/tuning/tuning.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { randomWords } from '../../arbitraries/columns.ts';
import { costlyCaseCount, dealLaws, someOf } from '../../cases.ts';
import { gatherLaws } from '../../laws/gather.ts';
import { createRun } from '../../laws/law.ts';
import { scatterLaws } from '../../laws/scatter.ts';
import { openTestBackend, placing, withBackend } from '../../support/webgpu-support.ts';

const cases: readonly (readonly [name: string, options: WebGpuOptions, variant: number])[] = [
  ['of all columns', { tuning: placing(1, 3, 5) }, 0],
  ['of 256 rows and more', { tuning: placing(256, 4, 16) }, 1],
  ['with 4 bindings', { tuning: placing(1, 2, 3), limits: { storageBuffers: 4 } }, 2],
];

const laws = [...gatherLaws, ...scatterLaws];
/** By default, one law on each variant, because a software GPU takes seconds to compile the kernels of each. */
const dealt = dealLaws(someOf(laws, 3), [1, 1, 1]);
/** Numbers of the variants that also run the tests other than laws: by default, one random variant. */
const others = someOf([0, 1, 2], 1);

describe.each(cases)('gathers in windows and scatters by parts, %s', (_, options, variant) => {
  let backend: WebGpuBackend;
  let context: Context;
  let reference: Context;
  beforeAll(async () => {
    backend = await openTestBackend(options);
    [context, reference] = [new Context(backend), new Context(createReferenceBackend())];
  }, 60_000);
  afterAll(async () => {
    await reference.close();
    await context.close();
  });

  test.each(dealt[variant]!)('$name', async ({ property }) => {
    await fc.assert(property(createRun(context, reference)), { numRuns: costlyCaseCount(4) });
  });

  if (!others.includes(variant)) return;

  test('scattered rows arrive at random, reversed, strided and out-of-range targets as on the reference', async () => {
    const n = 5000;
    const next = randomWords(7);
    const mixed = Uint32Array.from({ length: n }, (_, i) => i).sort(() => (next() % 2) - 0.5);
    const orders: Record<string, Uint32Array> = {
      apart: mixed,
      together: Uint32Array.from({ length: n }, (_, i) => n - 1 - i),
      spread: Uint32Array.from({ length: n }, (_, i) => (i % 50) * 100 + Math.floor(i / 50)),
      nowhere: Uint32Array.from({ length: n }, (_, i) => n + i),
    };
    const rows = Uint32Array.from({ length: n }, (_, i) => i ^ 0x5555);
    for (const order of Object.values(orders)) {
      const places = context.column(order);
      const scattered = await context.read(q.scatter(context.column(rows), places, n));
      const expected = new Uint32Array(n);
      for (const [row, at] of order.entries()) if (at < n) expected[at] = rows[row]!;
      expect(scattered).toEqual(expected);
      expect(await context.read(context.materialize(q.gather(context.column(expected), places)))).toEqual(
        Uint32Array.from(order, (at) => expected[at] ?? 0),
      );
    }
  });

  test('row counts known only to the device', async () => {
    const n = 4000;
    const next = randomWords(3);
    const words = Uint32Array.from({ length: n }, next);
    const result = async (one: Context): Promise<unknown> => {
      const kept = q.copyIf({ word: one.column(words), place: q.sequence(n) }, odd);
      const place = q.map(reversed, { x: kept.place });
      const scattered = q.scatter(kept.word, place, n);
      return one.read({ scattered, gathered: one.materialize(q.gather(scattered, place)) });
    };
    expect(await result(context)).toEqual(await result(reference));
  });
});

const odd = q.fn('odd', { word: q.u32, place: q.u32 }, q.bool, ({ word }) => word.and(1).eq(1));
const reversed = q.fn('reversed', { x: q.u32 }, q.u32, ({ x }) => q.u32(3999).sub(x));

const triple = q.fn('triple', { x: q.u32 }, q.u32, ({ x }) => x.mul(3));
const eight = Object.fromEntries(Array.from({ length: 8 }, (_, j) => [`x${j}`, q.u32]));
const allOf = q.fn('allOf', eight, q.u32, (each) => Object.values(each).reduce((all, x) => all.xor(x)));

test('rows are reordered before a scatter only for large columns', async () => {
  const launches = (order: Uint32Array, tuning: Partial<Tuning>): Promise<number> =>
    withBackend({ tuning }, async (backend) => {
      const context = new Context(backend);
      const [rows, places] = [context.column(order), context.column(order)];
      await context.sync();
      const before = backend.counters.dispatches;
      await context.read(q.scatter(rows, places, order.length));
      return backend.counters.dispatches - before;
    });
  const order = Uint32Array.from({ length: 5000 }, (_, i) => (i * 1237) % 5000);
  expect(await launches(order, placing(5001, 3, 5))).toBe(2);
  expect(await launches(order, placing(5000, 3, 5))).toBe(5);
});

test('a column of several bindings is gathered from itself, in as few bindings as without windows', async () => {
  const n = 4000;
  const next = randomWords(5);
  const places = Uint32Array.from({ length: n }, () => next() % n);
  const limits = { bindingBytes: 4096, storageBuffers: 5 };
  await withBackend({ tuning: placing(1, 3, 5), limits }, async (backend) => {
    const context = new Context(backend);
    const column = context.column(places);
    expect(await context.read(context.materialize(q.gather(column, column)))).toEqual(places.map((at) => places[at]!));
  });
});

test('slices of one column of several bindings are combined into scatter targets', async () => {
  const n = 1000;
  const words = Uint32Array.from({ length: 7 * 1024 }, (_, i) => Math.imul(i, 0x9e3779b1) >>> 22);
  const result = async (context: Context): Promise<unknown> => {
    const long = context.column(words);
    const slices = Array.from({ length: 7 }, (_, j) => q.slice(long, j * 1024, j * 1024 + n));
    const other = q.gather(long, q.map(triple, { x: q.sequence(n) }));
    const place = q.map(allOf, Object.fromEntries([...slices, other].map((each, j) => [`x${j}`, each])) as never);
    const onto = q.fill(context, q.u32, 0, 1024);
    q.scatterReduce(q.sequence(n), place as q.Column<'u32'>, 'add', onto);
    return context.read(onto);
  };
  await withBackend({ tuning: placing(1000, 3, 5), limits: { bindingBytes: 4096 } }, async (backend) => {
    const reference = new Context(createReferenceBackend());
    expect(await result(new Context(backend))).toEqual(await result(reference));
    await reference.close();
  });
});

test('columns of several bindings are gathered from and scattered to', async () => {
  const n = 2500;
  const order = Uint32Array.from({ length: n }, (_, i) => (i * 1237) % n);
  await withBackend({ tuning: placing(1, 3, 5), limits: { bindingBytes: 4096 } }, async (backend) => {
    const context = new Context(backend);
    const places = context.column(order);
    const scattered = q.scatter(q.sequence(n), places, n);
    expect(await context.read(context.materialize(q.gather(scattered, places)))).toEqual(
      Uint32Array.from(order, (_, row) => row),
    );
  });
});

test('rows are scattered without reordering when memory is short', async () => {
  const n = 3000;
  const order = Uint32Array.from({ length: n }, (_, i) => (i * 1237) % n);
  await withBackend({ tuning: placing(1, 3, 5), limits: { memoryBytes: 4 * n * 4 } }, async (backend) => {
    const context = new Context(backend);
    const scattered = await context.read(q.scatter(q.sequence(n), context.column(order), n));
    expect(order.every((at, row) => scattered[at] === row)).toBe(true);
  });
});
