import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { CapacityError, DeviceLostError, OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { onEveryBackend, plainBackends, testOnEveryBackend } from '../../backends.ts';

const { bool, fn, u32 } = q;

const isOdd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const twice = fn({ x: u32 }, u32, ({ x }) => x.mul(2));
const ranks = fn({ x: u32, rank: u32 }, u32, ({ rank }) => rank);

const open = (limits?: Partial<q.Limits>): Context => new Context(createReferenceBackend({ limits }));
const live = (context: Context): number => context.backend.counters.liveBuffers;
const code = (name: string): unknown => expect.objectContaining({ code: name });
const numbers = (...values: number[]): Uint32Array => Uint32Array.from(values);
/** Reads the memory of a column up to its capacity, whatever the column's length is. */
const stored = ({ context, source, capacity }: q.Column): Promise<Uint32Array> =>
  context!.backend.read((source as Extract<typeof source, { kind: 'stored' }>).memory.buffer, 0, capacity);

describe('column', () => {
  testOnEveryBackend('copies the contents of the array at the call', async ({ context }) => {
    const data = numbers(1, 2, 3);
    const column = context.column(data);
    data.fill(9);
    expect(await context.read(column)).toEqual(numbers(1, 2, 3));
    context.dispose(column);
  });

  testOnEveryBackend('column64 splits 64-bit integers', async ({ context }) => {
    const pair = context.column64(BigUint64Array.of(1n, 2n ** 32n, 2n ** 64n - 1n));
    expect(await context.read(pair)).toEqual({ lo: numbers(1, 0, 2 ** 32 - 1), hi: numbers(0, 1, 2 ** 32 - 1) });
    context.dispose(pair);
  });

  testOnEveryBackend(
    'read64 gives the 64-bit integers of column64 again, also behind a device count',
    async ({ context }) => {
      const numbersOf64 = fc.oneof(fc.bigUint64Array({ maxLength: 70 }), fc.bigInt64Array({ maxLength: 70 }));
      const property = fc.asyncProperty(numbersOf64, async (data) => {
        const as = data instanceof BigInt64Array ? 'i64' : 'u64';
        const pair = context.column64(data);
        const kept = q.copyIf(pair, context.column(Array.from(data, (each) => each % 3n === 0n)));
        expect(await context.read64(pair, { as } as { as: 'i64' })).toEqual(data);
        expect(await context.read64(q.reverse(pair), { as } as { as: 'i64' })).toEqual(data.slice().reverse());
        expect(await context.read64(kept, { as } as { as: 'i64' })).toEqual(data.filter((each) => each % 3n === 0n));
        context.dispose(pair, kept);
      });
      await fc.assert(property, { numRuns: 5 });
    },
  );
});

describe('materialize', () => {
  test('returns stored tables unchanged, and stores a repeated view once', async () => {
    const context = open();
    const x = context.column(numbers(1, 2));
    expect(context.materialize(x)).toBe(x);
    const view = q.map(twice, { x });
    const before = live(context);
    const { a, b, c } = context.materialize({ a: view, b: view, c: x });
    expect([a, c]).toEqual([b, x]);
    expect(live(context)).toBe(before + 1);
    expect(context.backend.counters.dispatches).toBe(1);
  });

  test('refuses columns of another context', () => {
    const other = open().column(numbers(1));
    expect(() => open().materialize(q.map(twice, { x: other }))).toThrow(code('column/contexts'));
  });
});

describe('read', () => {
  testOnEveryBackend('reads tables of several lengths, nested, some with device counts', async ({ context }) => {
    const result = context.scope(() => {
      const x = context.column(numbers(1, 2, 3));
      return {
        x,
        odd: q.copyIf({ x, more: { y: q.map(twice, { x }) } }, isOdd),
        none: q.removeIf(x, q.constant(bool, true, 3)),
      };
    });
    const expected = { x: numbers(1, 2, 3), odd: { x: numbers(1, 3), more: { y: numbers(2, 6) } }, none: numbers() };
    expect(await context.read(result)).toEqual(expected);
    expect(await context.read(result)).toEqual(expected);
    context.dispose(result);
    expect(live(context)).toBe(0);
  });

  testOnEveryBackend('leaves a view and its device count readable again', async ({ context }) => {
    const odd = context.scope(() => q.copyIf(context.column(numbers(5, 6, 7)), isOdd));
    const view = q.map(twice, { x: odd });
    expect(await context.read(view)).toEqual(numbers(10, 14));
    expect(await context.read(view)).toEqual(numbers(10, 14));
    expect(await context.count(view)).toBe(2);
    context.dispose(odd);
    expect(live(context)).toBe(0);
  });

  test('refuses columns of another context', async () => {
    const other = open().column(numbers(1));
    await expect(open().read(other)).rejects.toThrow(code('column/contexts'));
    await expect(open().count(other)).rejects.toThrow(code('column/contexts'));
  });

  testOnEveryBackend('reads a long column with a device count after the count', async ({ context }) => {
    const long = context.scope(() => {
      const column = q.copyIf(
        context.materialize(q.sequence(70_000)),
        fn({ x: u32 }, bool, ({ x }) => x.rem(1000).eq(7)),
      );
      return column;
    });
    expect(await context.read(long)).toEqual(Uint32Array.from({ length: 70 }, (_, i) => 1000 * i + 7));
    context.dispose(long);
  });
});

describe('scope', () => {
  test('frees everything except what it returns, which moves to the outer scope', async () => {
    const context = open();
    const outer = context.scope(() => {
      const x = context.column(numbers(3, 1, 2));
      const inner = context.scope(() => {
        context.column(numbers(9, 9, 9));
        return q.sort(x);
      });
      expect(live(context)).toBe(2);
      return { inner, view: q.map(twice, { x: inner }) };
    });
    expect(live(context)).toBe(1);
    expect(await context.read(outer)).toEqual({ inner: numbers(1, 2, 3), view: numbers(2, 4, 6) });
  });

  test('keeps what a returned view reads, and its row count', async () => {
    const context = open();
    const view = context.scope(() => {
      const odd = q.copyIf(context.column(numbers(4, 5, 7)), isOdd);
      return { twice: q.map(twice, { x: odd }), rows: q.sequence(odd.length) };
    });
    expect(await context.read(view)).toEqual({ twice: numbers(10, 14), rows: numbers(0, 1) });
    const rowsAlone = context.scope(() => q.sequence(q.copyIf(context.column(numbers(4, 5, 7)), isOdd).length));
    expect(await context.read(rowsAlone)).toEqual(numbers(0, 1));
    expect(await context.read(rowsAlone)).toEqual(numbers(0, 1));
  });

  test('frees everything when the pipeline throws', () => {
    const context = open();
    const pipeline = (): never => {
      q.sort(context.column(numbers(2, 1)));
      throw new Error('no further');
    };
    expect(() => context.scope(pipeline)).toThrow('no further');
    expect(() => context.scope(() => context.scope(pipeline))).toThrow('no further');
    expect(live(context)).toBe(0);
  });

  test('refuses an asynchronous pipeline, and frees what it allocated', () => {
    const context = open();
    const pipeline = async (): Promise<unknown> => context.column(numbers(1));
    expect(() => context.scope(pipeline)).toThrow(code('context/async-scope'));
    expect(live(context)).toBe(0);
  });

  test.each([
    ['a.b', (promise: Promise<unknown>) => ({ a: { b: promise } })],
    ['[1]', (promise: Promise<unknown>) => [3, promise]],
    ['a[0].b', (promise: Promise<unknown>) => ({ a: [{ b: promise }] })],
    ['[key]', (promise: Promise<unknown>) => new Map([['key', promise]])],
    ['a[…]', (promise: Promise<unknown>) => ({ a: new Set([promise]) })],
  ])('refuses a promise as %s of the result of a pipeline, and frees what it allocated', async (path, around) => {
    const context = open();
    const pipeline = (): unknown => {
      const column = context.column(numbers(1));
      return around(context.read(column));
    };
    expect(() => context.scope(pipeline)).toThrow(code('context/async-scope'));
    expect(() => context.scope(pipeline)).toThrow(`a promise as ${path} of its result`);
    await context.sync();
    expect(live(context)).toBe(0);
  });

  test('searches for promises neither in class instances nor endlessly in cycles', () => {
    const context = open();
    const circle: { self?: unknown } = {};
    circle.self = circle;
    const own = new (class {
      readonly promise = Promise.resolve(3);
    })();
    expect(context.scope(() => ({ own, circle }))).toEqual({ own, circle });
  });

  test('finds columns in arrays, maps and sets', async () => {
    const context = open();
    const result = context.scope(() => ({
      list: [context.column(numbers(1))],
      map: new Map([['a', context.column(numbers(2))]]),
      set: new Set([context.column(numbers(3))]),
    }));
    expect(live(context)).toBe(3);
    expect(await context.read(result.list[0]!)).toEqual(numbers(1));
    context.dispose(result);
    expect(live(context)).toBe(0);
  });
});

describe('dispose', () => {
  test('can be called twice', () => {
    const context = open();
    const column = context.column(numbers(1));
    context.dispose(column, { column });
    context.dispose(column);
    expect(live(context)).toBe(0);
  });

  test('of a view frees what the view allocated, not its sources', async () => {
    const context = open();
    const x = context.column(Float32Array.of(3, 1));
    const table = context.column(numbers(7, 8));
    const before = live(context);
    const lookUp = fn({ i: u32, table: q.array(u32) }, u32, ({ i, table }) => table.at(i));
    const views = [
      q.map(lookUp, { i: q.sequence(2), table: q.map(twice, { x: table }) }),
      q.binOf(x, [0, 2, 4]),
      q.sort(x),
      q.reverse(x),
    ];
    expect(live(context)).toBe(before + 3);
    context.dispose(views);
    expect(live(context)).toBe(before);
    expect(await context.read({ x, table })).toEqual({ x: Float32Array.of(3, 1), table: numbers(7, 8) });
  });

  test('frees a device count with the last of its columns', async () => {
    const context = open();
    const kept = q.copyIf({ x: context.column(numbers(5, 6, 7)) }, isOdd);
    const sorted = q.sort(kept.x);
    const doubled = context.materialize(q.map(twice, { x: kept.x }));
    context.dispose(kept);
    expect(await context.read(sorted)).toEqual(numbers(5, 7));
    context.dispose(sorted);
    expect(await context.read(doubled)).toEqual(numbers(10, 14));
    const before = live(context);
    context.dispose(doubled);
    expect(live(context)).toBe(before - 2);
  });
});

describe('adopt', () => {
  onEveryBackend((opened) => {
    test('moves tables of stored columns, views and device counts to another context and back', async () => {
      const { context } = opened();
      const home = open();
      const table = home.scope(() => {
        const x = home.column(numbers(3, 4, 5));
        const odd = q.copyIf({ x, flag: q.map(isOdd, { x }), float: home.column(Float32Array.of(1, -0, 3)) }, isOdd);
        return { stored: x, view: q.map(twice, { x }), odd, small: home.column(Int8Array.of(-1, 1)) };
      });
      const moved = await context.adopt(table);
      const back = await home.adopt(moved);
      const expected = {
        stored: numbers(3, 4, 5),
        view: numbers(6, 8, 10),
        odd: { x: numbers(3, 5), flag: Uint8Array.of(1, 1), float: Float32Array.of(1, 3) },
        small: Int32Array.of(-1, 1),
      };
      expect(await context.read(moved)).toEqual(expected);
      expect(await home.read(back)).toEqual(expected);
      expect(await home.adopt(back)).toBe(back);
      context.dispose(moved);
      expect(live(context)).toBe(0);
    });
  });

  test('leaves generators without a context unchanged', async () => {
    const views = q.sequence(3);
    expect(await open().adopt(views)).toBe(views);
  });
});

describe('a capacity', () => {
  const tooMany = (context: Context, capacity: number) =>
    context.scope(() =>
      q.expand({ x: context.column(numbers(4, 5)) }, context.column(numbers(2, 3)), ranks, { capacity }),
    );

  onEveryBackend((opened) => {
    test('that is exceeded is reported by every read, count and sync of the rows, with the needed capacity', async () => {
      const { context } = opened();
      const waits = [
        (table: q.Table) => context.read(table),
        (table: q.Table) => context.count(table),
        (table: q.Table) => context.sync(table),
      ];
      const [four, three] = [tooMany(context, 4), tooMany(context, 3)];
      for (const wait of [...waits, ...waits]) {
        await expect(wait(four)).rejects.toThrow(CapacityError);
        const error = await wait(three).catch((reason: unknown) => reason);
        expect(error).toMatchObject({ code: 'capacity/outgrown', expected: 'at most 3 rows', got: 5 });
      }
      expect(await stored(four)).toEqual(numbers(0, 1, 0, 1));
      await context.sync();
      context.dispose(four, three);
    });

    test('that is exact or zero is not exceeded', async () => {
      const { context } = opened();
      const exact = tooMany(context, 5);
      expect(await context.read(exact)).toEqual(numbers(0, 1, 0, 1, 2));
      const none = tooMany(context, 0);
      await expect(context.sync(none)).rejects.toMatchObject({ got: 5 });
      expect(await stored(none)).toEqual(numbers());
      context.dispose(exact, none);
    });

    test('is checked even when the rows were freed before a read', async () => {
      const { context } = opened();
      const before = live(context);
      const total = context.scope(() => q.reduce(tooMany(context, 3), q.plus(u32)));
      await expect(context.read(total)).rejects.toMatchObject({ got: 5 });
      await expect(context.read(total)).rejects.toMatchObject({ got: 5 });
      expect(await stored(total)).toEqual(numbers(1));
      context.dispose(total);
      expect(live(context)).toBe(before);
    });

    test('of several exceeded ones: the first is reported', async () => {
      const { context } = opened();
      const counts = context.column(numbers(2, 3));
      const both = context.scope(() => {
        const first = q.expand(
          { x: counts },
          counts,
          fn({ x: u32, rank: u32 }, u32, ({ x }) => x),
          { capacity: 4 },
        );
        return q.expand({ x: first }, first, ranks, { capacity: 2 });
      });
      await expect(context.read(both)).rejects.toMatchObject({ got: 5 });
      expect(await stored(both)).toEqual(numbers(0, 1));
      context.dispose(both, counts);
    });

    test('that is omitted costs one wait and is then exact; rows past 2^32 - 2 are an error', async () => {
      const { context } = opened();
      const before = live(context);
      const x = context.column(numbers(4, 5));
      const { readbacks } = context.backend.counters;
      const rows = await q.expand({ x }, context.column(numbers(2, 3)), ranks);
      expect(rows.length).toBe(5);
      expect(context.backend.counters.readbacks).toBe(readbacks + 1);
      expect(await context.read(rows)).toEqual(numbers(0, 1, 0, 1, 2));
      const huge = context.column(numbers(2 ** 31, 2 ** 31));
      await expect(q.expand({ x }, huge, ranks)).rejects.toMatchObject({ code: 'capacity/rows' });
      const cut = q.expand({ x }, huge, ranks, { capacity: 3 });
      await expect(context.read(cut)).rejects.toMatchObject({ got: 2 ** 32 - 1 });
      expect(await stored(cut)).toEqual(numbers(0, 1, 2));
      expect(live(context)).toBeGreaterThan(before);
    });
  });
});

describe('abort and close', () => {
  test.each(plainBackends)(
    'on $name: pending reads reject with the reason, and the context can be closed',
    async (each) => {
      const context = new Context(await each.open());
      const sorted = q.sort(context.column(Uint32Array.from({ length: 5000 }, (_, i) => -i)));
      const reason = new Error('enough');
      context.abort(reason);
      await expect(context.read(sorted)).rejects.toBe(reason);
      await expect(context.sync()).rejects.toBe(reason);
      await context.close();
      await context.close();
      expect(context.backend.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
    },
  );

  test.each(plainBackends)('on $name: no allocation or command succeeds afterwards', async (each) => {
    for (const end of ['abort', 'close'] as const) {
      const context = new Context(await each.open());
      if (end === 'abort') context.abort(new DeviceLostError('device/mine', 'enough'));
      else await context.close();
      const refusal = expect.objectContaining({
        name: 'DeviceLostError',
        code: end === 'abort' ? 'device/mine' : 'device/closed',
      });
      expect(() => context.column(numbers(1))).toThrow(refusal);
      expect(() => q.fill(context, u32, 1, 3)).toThrow(refusal);
      await expect(context.read(q.sequence(3))).rejects.toThrow(refusal);
      await expect(context.sync()).rejects.toThrow(refusal);
      await context.close();
    }
  });

  test('await using closes', async () => {
    let backend: q.Backend;
    {
      await using context = open();
      context.column(numbers(1));
      backend = context.backend;
    }
    expect(backend.counters.liveBuffers).toBe(0);
  });
});

describe('a memory limit', () => {
  test.each(plainBackends)('on $name is respected', async (each) => {
    const context = new Context(await each.open({ memoryBytes: 400 }));
    const x = context.column(new Uint32Array(64));
    expect(() => q.sort(x)).toThrow(OutOfMemoryError);
    expect(() => q.sort(x)).toThrow(code('memory/limit'));
    expect(live(context)).toBe(1);
    await context.close();
  });

  test('what no JavaScript engine allocates is an error of memory, too', () => {
    const { allocate, counters } = createReferenceBackend({ limits: { memoryBytes: 2 ** 53 } });
    expect(() => allocate(2 ** 50)).toThrow(OutOfMemoryError);
    expect(() => allocate(2 ** 50)).toThrow(code('memory/host'));
    expect(counters.liveBytes).toBe(0);
  });
});
