import { expect, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import type { Column } from '../../primitives/columns/column.ts';
import { destination } from '../../primitives/columns/program.ts';
import { Context } from '../../primitives/context/context.ts';
import * as q from '../../primitives/index.ts';
import { testLaws, testOnEveryBackend } from '../backends.ts';
import { assertSame } from '../laws/compare.ts';
import { unfoldLaws } from '../laws/unfold.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

const { bool, fn, u32 } = q;

testLaws(unfoldLaws);

const fromZero = fn({}, { k: u32 }, () => ({ k: 0 }));
const below = fn({ count: u32, k: u32 }, step(u32), ({ count, k }) => ({
  more: k.add(1).lt(count),
  emits: k.lt(count),
  state: { k: k.add(1) },
  value: k,
}));
/** Walks that end when `k` reaches `count`. Each step emits the index `k` modulo 4 with the value 1. */
const steps = fn({ count: u32, k: u32 }, step({ index: u32, value: u32 }), ({ count, k }) => ({
  more: k.lt(count),
  emits: true,
  state: { k: k.add(1) },
  value: { index: k.and(3), value: 1 },
}));

function step<R extends q.Shape>(value: R) {
  return { more: bool, emits: bool, state: { k: u32 }, value };
}

const counts = Uint32Array.of(3, 0, 1, 4);
const expected = Uint32Array.of(0, 1, 2, 0, 0, 1, 2, 3);

testOnEveryBackend('waits for the number of rows when no capacity is given', async ({ context }) => {
  for (const times of [0, 1, 700]) {
    const count = context.column(Uint32Array.from({ length: 4 * times }, (_, i) => counts[i % 4]!));
    const { readbacks } = context.backend.counters;
    const rows = await q.unfold({ count }, fromZero, below);
    expect(context.backend.counters.readbacks).toBe(readbacks + 1);
    expect(rows.length).toBe(8 * times);
    assertSame(
      await context.read(rows),
      Uint32Array.from({ length: 8 * times }, (_, i) => expected[i % 8]!),
    );
    context.dispose(rows, count);
  }
  expect(context.backend.counters.liveBuffers).toBe(0);
});

testOnEveryBackend('makes the same rows for any expected number of rows', async ({ context }) => {
  const count = context.column(counts);
  for (const guess of [0, 1, 7, 8, 9, 16, 17, 1000]) {
    const { readbacks } = context.backend.counters;
    const rows = await q.unfold({ count }, fromZero, below, { expected: guess });
    expect(context.backend.counters.readbacks).toBe(readbacks + 1);
    expect(rows.length).toBe(expected.length);
    expect(destination(rows).buffer.words).toBeLessThanOrEqual(2 * expected.length);
    assertSame(await context.read(rows), expected);
    context.dispose(rows);
  }
  context.dispose(count);
  expect(context.backend.counters.liveBuffers).toBe(0);
});

test('makes rows after their number is known when there is no memory for the expected number', async () => {
  await using context = new Context(createReferenceBackend({ limits: { memoryBytes: 400 } }));
  const count = context.column(counts);
  const rows = await q.unfold({ count }, fromZero, below, { expected: 16 });
  const { liveBytes } = context.backend.counters;
  context.dispose(rows);
  const again = await q.unfold({ count }, fromZero, below, { expected: 1000 });
  expect(context.backend.counters.liveBytes).toBeLessThanOrEqual(liveBytes);
  assertSame(await context.read(again), expected);
});

testOnEveryBackend('stores at most its capacity, and every read reports the needed one', async ({ context }) => {
  for (const capacity of [0, 1, 3, 7]) {
    const count = context.column(counts);
    const rows = context.scope(() => q.unfold({ count }, fromZero, below, { capacity }));
    const refused = { code: 'capacity/outgrown', got: 8 };
    await expect(context.sync(rows)).rejects.toThrow(expect.objectContaining(refused));
    await expect(context.read(rows)).rejects.toThrow(expect.objectContaining(refused));
    const { buffer } = destination(rows);
    assertSame(await context.backend.read(buffer, 0, capacity), expected.subarray(0, capacity));
    context.dispose(rows, count);
  }
  expect(context.backend.counters.liveBuffers).toBe(0);
});

testOnEveryBackend('accepts views as rows and captures, also when it waits', async ({ context }) => {
  const count = context.column(counts);
  const table = q.map(
    fn({ count: u32 }, u32, ({ count }) => count.mul(10)),
    { count },
  );
  const look = fn({ twice: u32, k: u32, table: q.array(u32) }, step(u32), ({ twice, k, table }) => ({
    more: k.add(1).lt(twice),
    emits: k.lt(twice),
    state: { k: k.add(1) },
    value: table.at(k),
  }));
  const twice = q.map(
    fn({ count: u32 }, u32, ({ count }) => count.mul(2)),
    { count },
  );
  const rows = await q.unfold({ twice }, fromZero, look, { captures: { table } });
  assertSame(await context.read(rows), Uint32Array.of(30, 0, 10, 40, 0, 0, 30, 0, 30, 0, 10, 40, 0, 0, 0, 0));
  context.dispose(rows, count);
  expect(context.backend.counters.liveBuffers).toBe(0);
});

const start = fn({ x: u32 }, { k: u32 }, ({ x }) => ({ k: x }));

test('refuses functors that do not match each other or the rows', () => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1));
  const refuse = (code: string, rows: q.Table, from: unknown, through: unknown): void =>
    expectRefusal(context, code, () => q.unfold(rows, from as typeof start, through as typeof below, { capacity: 1 }));
  const count = x;
  refuse('rows/field', { x }, start, below);
  refuse('rows/state', { x, count, k: x }, start, below);
  refuse('rows/type', { x, count: context.column(Float32Array.of(1)) }, start, below);
  refuse(
    'map/row-functor',
    x,
    fn({ x: u32, y: u32 }, { k: u32 }, ({ x }) => ({ k: x })),
    below,
  );
  refuse(
    'unfold/state',
    { x, count },
    fn({ x: u32 }, u32, ({ x }) => x),
    below,
  );
  refuse(
    'unfold/result',
    { x, count },
    fn({ x: u32 }, { k: bool }, ({ x }) => ({ k: x.eq(0) })),
    below,
  );
  refuse(
    'unfold/result',
    { x },
    start,
    fn({ k: u32 }, u32, ({ k }) => k),
  );
  refuse(
    'map/argument',
    { x, count },
    fn({ x: u32, t: q.array(u32) }, { k: u32 }, ({ x }) => ({ k: x })),
    below,
  );
  refuse('column/none', {}, start, below);
});

test.each([-1, 0.5])('refuses %d as a capacity', (capacity) => {
  const context = openReference();
  const count = context.column(counts);
  expectRefusal(context, 'column/size', () => q.unfold({ count }, fromZero, below, { capacity }));
});

test('refuses to combine into a view, a packed column, or a column that the walks read', () => {
  const context = openReference();
  const count = context.column(counts);
  const reduce = (onto: Column<'u32'>, combine: q.AtomicCombination = 'add'): (() => void) => {
    return () => q.unfoldReduce({ count }, fromZero, steps, combine, onto);
  };
  expectRefusal(context, 'column/not-writable', reduce(q.reverse(count)));
  expectRefusal(context, 'column/not-writable', reduce(context.column(Uint8Array.of(1))));
  expectRefusal(context, 'scatter/aliased', reduce(count));
  expectRefusal(context, 'scatter/combination', reduce(context.column(counts), 'mul' as 'add'));
  const onto = context.column(counts);
  expectRefusal(context, 'unfold/result', () => q.unfoldReduce({ count }, fromZero, below as never, 'add', onto));
});
