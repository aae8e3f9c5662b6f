import { describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { lookUp, low, plusBy } from './prepared-functors.ts';

const { bool, fn, input, u32, uniform } = q;

type Words = q.Column<'u32'>;

describe('preparing', () => {
  const context = new Context(createReferenceBackend());
  const sumOf = fn({ x: u32, y: u32 }, u32, ({ x, y }) => x.add(y));
  const x = context.column(Uint32Array.of(5, 1, 4));
  const declared = { x: input(u32, 4), by: uniform(u32) };
  const sortedBefore = context.prepare({ x: input(u32, 8) }, ({ x: rows }) => q.sort(rows));

  test.each<[string, () => unknown, string]>([
    [
      'an asynchronous pipeline',
      () => context.prepare(declared, (async ({ x: rows }: never) => rows) as never),
      'prepare/waits',
    ],
    [
      'a branch on a length',
      () => context.prepare(declared, ({ x: rows }) => ((rows.length as number) > 3 ? rows : x)),
      'prepare/decision',
    ],
    [
      'arithmetic on a uniform',
      () => context.prepare(declared, ({ x: rows, by }) => q.map(plusBy, { x: rows, by: by + 1 })),
      'prepare/decision',
    ],
    [
      'writing to an input',
      () =>
        context.prepare(declared, ({ x: rows }) => {
          q.scatterReduce(q.constant(u32, 1, rows.length), q.sequence(rows.length), 'add', rows);
          return rows;
        }),
      'prepare/written',
    ],
    ['no inputs', () => context.prepare(undefined as never, () => x), 'argument/type'],
    ['an invalid input', () => context.prepare({ x: u32 as never }, () => x), 'argument/type'],
    ['no function', () => context.prepare(declared, 7 as never), 'argument/type'],
    ['packing a float', () => input(q.f32, 4, { storage: 'u8' }), 'prepare/storage'],
    ['packing a missing field', () => input({ a: u32 }, 4, { storage: { b: 'u8' } }), 'prepare/storage'],
    ['an invalid capacity', () => input(u32, -1), 'argument/type'],
  ])('refuses %s', (_, prepare, code) => {
    expect(prepare).toThrow(expect.objectContaining({ code }));
  });

  test('an asynchronous pipeline fails once, without an unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      const waiting = async ({ x: rows }: { readonly x: q.Column<'u32'> }) => ({ x: await context.read(rows) });
      expect(() => context.prepare(declared, waiting as never)).toThrow(
        expect.objectContaining({ code: 'prepare/waits' }),
      );
      const inside = (given: { readonly x: q.Column<'u32'> }) => ({ rows: waiting(given) });
      expect(() => context.prepare(declared, inside as never)).toThrow(
        expect.objectContaining({ code: 'prepare/waits', got: 'a promise as rows of its result' }),
      );
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  test('reports the lengths that differ, and accepts a length passed on from the pipeline', () => {
    const wrong = () => context.prepare(declared, ({ x: rows }) => q.map(sumOf, { x: rows, y: q.constant(u32, 1, 4) }));
    expect(wrong).toThrow("got 4. If you chose the length of one of them, pass the other's column.length instead");
    const right = context.prepare(declared, ({ x: rows }) =>
      q.map(sumOf, { x: rows, y: q.constant(u32, 1, rows.length) }),
    );
    right.dispose();
  });

  test('refuses a wait inside the pipeline', async () => {
    let reading: Promise<unknown> | undefined;
    const prepared = context.prepare(declared, ({ x: rows }) => {
      reading = context.read(q.sort(rows));
      reading.catch(() => {});
      return rows;
    });
    await expect(reading).rejects.toMatchObject({ code: 'prepare/waits' });
    prepared.dispose();
  });

  const sorted = context.prepare(declared, ({ x: rows, by }) => q.sort(q.map(plusBy, { x: rows, by })));
  const bytes = context.column(Uint8Array.of(1, 2, 3));
  const packed = context.prepare({ x: input(u32, 4, { storage: 'u8' }) }, ({ x: rows }) => q.sort(rows));
  const other = new Context(createReferenceBackend());
  test.each<[string, () => unknown, string]>([
    ['no arguments', () => sorted(undefined as never), 'argument/type'],
    ['a missing argument', () => sorted({ x } as never), 'prepare/argument'],
    ['an extra argument', () => sorted({ x, by: 1, z: 2 } as never), 'prepare/argument'],
    ['a uniform of another type', () => sorted({ x, by: true as never }), 'prepare/argument'],
    ['a column of another type', () => sorted({ x: q.constant(q.f32, 1, 3) as never, by: 1 }), 'prepare/column'],
    ['a packed column', () => sorted({ x: bytes, by: 1 }), 'prepare/column'],
    ['a view for a packed column', () => packed({ x: q.map(low, { x }) }), 'prepare/column'],
    ['too many rows', () => sorted({ x: context.column(new Uint32Array(5)), by: 1 }), 'prepare/capacity'],
    ['a column of another context', () => sorted({ x: other.column(new Uint32Array(2)), by: 1 }), 'column/contexts'],
  ])('refuses a call with %s', (_, given, code) => {
    expect(given).toThrow(expect.objectContaining({ code }));
  });

  test('reads captured columns as they are at each call', async () => {
    const table = context.column(Uint32Array.of(10, 20, 30, 40, 50, 60, 70, 80));
    const prepared = context.prepare({ x: input(u32, 4) }, ({ x: rows }) => ({
      found: context.materialize(q.map(lookUp, { x: rows, table })),
      table,
      rows,
      kept: q.sort(table),
    }));
    const { found, table: same, rows, kept } = prepared({ x });
    expect(await context.read({ found, same, rows, kept })).toEqual({
      found: Uint32Array.of(65, 21, 54),
      same: await context.read(table),
      rows: await context.read(x),
      kept: await context.read(table),
    });
    context.dispose(table);
    expect(await context.read(prepared({ x }).found)).toEqual(Uint32Array.of(65, 21, 54));
    prepared.dispose();
  });

  test('computes results without inputs, or of captured columns, in each call', async () => {
    const table = context.column(Uint32Array.of(3, 1, 2));
    const prepared = context.prepare({ x: input(u32, 4) }, ({ x: rows }) => {
      const counts = q.fill(context, u32, 0, 4);
      q.scatterReduce(q.constant(u32, 1, rows.length), q.map(low, { x: rows }), 'add', counts);
      return { places: context.materialize(q.sequence(3)), counts, sorted: q.sort(table), table };
    });
    for (let i = 0; i < 3; i++) {
      const made = prepared({ x });
      expect(await context.read(made)).toEqual({
        places: Uint32Array.of(0, 1, 2),
        counts: Uint32Array.of(0, 1, 0, 0),
        sorted: Uint32Array.of(1, 2, 3),
        table: Uint32Array.of(3, 1, 2),
      });
      context.dispose(made);
    }
    prepared.dispose();
  });

  test.each<[string, (context: Context, around: Words, x: Words) => q.Table]>([
    ['in a scope', (outer, around) => outer.scope(() => q.sort(around))],
    ['stored in a scope', (outer, around) => outer.scope(() => outer.materialize(q.map(low, { x: around })))],
    ['by primitives with a context option', (outer, around) => q.selectKth(around, 1, { context: outer })],
    ['by primitives that consist of others', (_, around) => q.minElement(around).value],
    [
      'by another prepared pipeline',
      (outer, around) => outer.prepare({ x: input(u32, 8) }, ({ x: rows }) => q.sort(rows))({ x: around }),
    ],
    ['by one that was prepared before', (_, around) => sortedBefore({ x: around })],
    [
      'by another prepared pipeline that captures columns of this one',
      (outer, around, x) =>
        outer.prepare({ x: input(u32, 8) }, ({ x: rows }) => outer.materialize(q.map(lookUp, { x: rows, table: x })))({
          x: around,
        }),
    ],
  ])('reads captured columns again %s', async (_, pipeline) => {
    const around = context.column(Uint32Array.of(3, 1, 2));
    const { liveBuffers } = context.backend.counters;
    const prepared = context.prepare({ x: input(u32, 4) }, ({ x: rows }) => ({
      made: pipeline(context, around, rows),
    }));
    const results: unknown[] = [];
    for (let round = 0; round < 3; round++) {
      const expected = context.scope(() => pipeline(context, around, x));
      const { made } = prepared({ x });
      const result = await context.read(made);
      expect(result).toEqual(await context.read(expected));
      results.push(result);
      context.dispose(expected, made);
      q.scatterReduce(q.constant(u32, 100, 3), q.sequence(3), 'add', around);
    }
    expect(results[0]).not.toEqual(results[2]);
    prepared.dispose();
    expect(context.backend.counters.liveBuffers - liveBuffers).toBeLessThanOrEqual(6);
    context.dispose(around);
  });

  test('called inside another becomes part of it', async () => {
    const inner = context.prepare({ x: input(u32, 4), by: uniform(u32) }, ({ x: rows, by }) =>
      q.sort(q.map(plusBy, { x: rows, by })),
    );
    const outer = context.prepare({ x: input(u32, 4), by: uniform(u32) }, (args) => q.reverse(inner(args)));
    const plain = q.reverse(q.sort(q.map(plusBy, { x, by: 7 })));
    expect(await context.read(outer({ x, by: 7 }))).toEqual(await context.read(plain));
  });

  test('accepts packed columns and records', async () => {
    const sum = fn({ a: u32, b: q.i32, c: q.f32, d: bool }, q.f32, ({ a, b, c, d }) =>
      q
        .f32(a)
        .add(q.f32(b))
        .add(c)
        .add(q.f32(q.u32(d))),
    );
    const shape = { a: u32, b: q.i32, c: q.f32, d: bool };
    const prepared = context.prepare({ t: input(shape, 10, { storage: { a: 'u8', b: 'i16' } }) }, ({ t }) =>
      context.materialize(q.map(sum, t)),
    );
    const t = {
      a: context.column(Uint8Array.of(200, 1, 7)),
      b: context.column(Int16Array.of(-300, 2, 8)),
      c: context.column(Float32Array.of(0.5, 0.25, 1)),
      d: context.column([true, false, true]),
    };
    expect(await context.read(prepared({ t }))).toEqual(Float32Array.of(-98.5, 3.25, 17));
  });
});
