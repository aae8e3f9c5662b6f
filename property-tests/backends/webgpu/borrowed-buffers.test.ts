import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as q from '../../../index.ts';
import { type BufferElements, type Column, fn, open, u32 } from '../../../index.ts';
import { costlyCaseCount, someOf, THOROUGH } from '../../cases.ts';
import { slow } from '../../support/webgpu-support.ts';
import {
  COPY_SRC,
  readBuffer,
  readLent,
  requestTestDevice,
  STORAGE,
  upload,
  withShared,
} from './shared-device-support.ts';

const arrays: { readonly [E in BufferElements]: (bytes: Uint8Array) => ArrayBufferView & ArrayLike<number> } = {
  u32: (bytes) => new Uint32Array(bytes.slice().buffer),
  bool: (bytes) => new Uint32Array(bytes.slice().buffer),
  i32: (bytes) => new Int32Array(bytes.slice().buffer),
  f32: (bytes) => new Float32Array(bytes.slice().buffer),
  u16: (bytes) => new Uint16Array(bytes.slice().buffer),
  i16: (bytes) => new Int16Array(bytes.slice().buffer),
  u8: (bytes) => bytes,
  i8: (bytes) => new Int8Array(bytes.slice().buffer),
};
const types = Object.keys(arrays) as BufferElements[];
const sizeOf = (type: BufferElements): number =>
  arrays[type](new Uint8Array(4)).byteLength / arrays[type](new Uint8Array(4)).length;

const twice = fn('twice', { x: u32 }, u32, ({ x }) => x.mul(2));
const isOdd = fn('isOdd', { x: u32 }, q.bool, ({ x }) => x.and(1).eq(1));

/** Pipelines from a column of small numbers to a stored table. */
const pipelines: { readonly [name: string]: (x: Column<'u32'>) => q.Table } = {
  map: (x) => q.map(twice, { x }),
  sort: (x) => q.sort(x),
  scan: (x) => q.inclusiveScan(x, q.plus(u32)),
  compaction: (x) => q.copyIf(x, isOdd),
  'reduction by key': (x) => q.reduceByKey(q.sort(x), x, q.plus(u32)),
  histogram: (x) => q.histogram(x, 16),
  gather: (x) =>
    q.gather(
      x,
      q.map(
        fn({ x: u32 }, u32, ({ x }) => x.rem(7)),
        { x },
      ),
    ),
  reduction: (x) => q.reduce(x, q.plus(u32)),
  reverse: (x) => q.reverse(x),
};

describe('a borrowed buffer', () => {
  test(
    'gives its elements for every type and offset, and lends them back in place',
    async () => {
      await withShared(async (context, device) => {
        const property = fc.asyncProperty(
          fc.constantFrom(...types),
          fc.uint8Array({ minLength: 0, maxLength: 4000 }),
          fc.nat(700),
          async (type, data, skip) => {
            const size = sizeOf(type);
            const count = Math.floor(data.length / size);
            const bytes = data.slice(0, count * size);
            const buffer = upload(device, bytes, undefined, skip * size);
            const column = context.borrow(buffer, { type, offset: skip * size, count });
            const expected = [...(arrays[type](bytes) as ArrayLike<number> as number[])];
            const values = type === 'bool' ? expected.map((word) => Number(word !== 0)) : expected;
            expect([...(await context.read(column))]).toEqual(values);
            // Lending stores a column of packed bools as one word per bool.
            using lent = context.lend(column);
            expect(await readLent(device, lent)).toEqual(
              type === 'bool' ? new Uint8Array(Uint32Array.from(values).buffer) : bytes,
            );
            expect(lent).toMatchObject({ type, count, bytes: bytes.length });
            if (type !== 'bool') expect([lent.buffer, lent.offset]).toEqual([buffer, skip * size]);
            using copied = context.lend(q.reverse(column));
            const back = context.read(
              context.borrow(upload(device, await readLent(device, copied)), {
                type: copied.type,
                count: count,
              }),
            );
            expect([...(await back)]).toEqual(values.toReversed());
            context.dispose(column);
            buffer.destroy();
          },
        );
        await fc.assert(property, { numRuns: THOROUGH ? 60 : 4 });
      });
    },
    slow,
  );

  test.each([['best'], ['plain']] as const)(
    'behaves like an uploaded column in pipelines, on a device requested as %s, in one binding or several',
    async (kind) => {
      const limits = { bindingBytes: 4096, memoryBytes: Number.MAX_SAFE_INTEGER };
      for (const options of [{}, { limits }]) {
        await withShared(
          async (context, device) => {
            const property = fc.asyncProperty(
              fc.constantFrom(...Object.keys(pipelines)),
              fc.array(fc.nat(15), { maxLength: 3000 }),
              fc.nat(100),
              async (name, numbers, skip) => {
                const data = Uint32Array.from(numbers);
                const buffer = upload(device, data, STORAGE | COPY_SRC | 8, 4 * skip);
                const pipeline = pipelines[name]!;
                const run = (x: Column<'u32'>) => context.read(context.scope(() => pipeline(x)));
                const borrowed = context.borrow(buffer, { type: 'u32', offset: 4 * skip, count: data.length });
                const own = context.column(data);
                expect(await run(borrowed)).toEqual(await run(own));
                context.dispose(borrowed, own);
                buffer.destroy();
              },
            );
            await fc.assert(property, {
              numRuns: costlyCaseCount(25, 1),
              examples: [['sort', Array.from({ length: 3000 }, (_, i) => i % 16), 9]],
            });
          },
          options,
          kind,
        );
      }
    },
    slow,
  );

  test('can have a length known only to the device, which is read when it is borrowed', async () => {
    await withShared(async (context, device) => {
      const buffer = upload(device, Uint32Array.of(5, 6, 7, 8));
      for (const [count, rows] of [
        [0, []],
        [2, [5, 6]],
        [4, [5, 6, 7, 8]],
        [9, [5, 6, 7, 8]],
      ] as const) {
        const counts = upload(device, Uint32Array.of(77, count));
        const column = context.borrow(buffer, { type: 'u32', count: { buffer: counts, offset: 4 } });
        const doubled = context.materialize(q.map(twice, { x: column }));
        context.submit();
        device.queue.writeBuffer(counts, 4, Uint32Array.of(1));
        expect([...(await context.read(column))]).toEqual(rows);
        expect([...(await context.read(doubled))]).toEqual(rows.map((x) => 2 * x));
        context.dispose(column, doubled);
      }
      expect(context.backend.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
    });
  });

  test('is read as of the submission of the commands, through views too', async () => {
    await withShared(async (context, device) => {
      const buffer = upload(device, Uint32Array.of(1, 2, 3, 4));
      const x = context.borrow(buffer, { type: 'u32' });
      // A functor that is so costly that the library stores its results if they are read several times.
      const costly = fn('costly', { x: u32 }, u32, ({ x }) => {
        let y = x;
        for (let i = 0; i < 200; i++) y = y.mul(3).add(1);
        return y;
      });
      const view = q.map(costly, { x });
      const around = (): Promise<Uint32Array> =>
        context.read(
          q.stencil(
            fn({ v: q.neighbours(u32) }, u32, ({ v }) => v.at(-1).add(v.at(0)).add(v.at(1))),
            { v: view },
          ),
        );
      const of = async (data: Uint32Array): Promise<Uint32Array> => {
        const own = context.column(data);
        return context.read(
          q.stencil(
            fn({ v: q.neighbours(u32) }, u32, ({ v }) => v.at(-1).add(v.at(0)).add(v.at(1))),
            {
              v: q.map(costly, { x: own }),
            },
          ),
        );
      };
      for (const data of [Uint32Array.of(1, 2, 3, 4), Uint32Array.of(9, 8, 7, 6), Uint32Array.of(0, 0, 5, 0)]) {
        device.queue.writeBuffer(buffer, 0, data);
        expect(await around()).toEqual(await of(data));
      }
    });
  });

  // By default, the test tries one random number, because a software GPU takes seconds to compile costly functors.
  test.each(someOf([1, 2, 3, 4096], 1))(
    'is read by stored views when commands are submitted after every %i of them',
    async (commandsPerSubmission) => {
      const costly = (name: string, factor: number) =>
        fn(name, { x: u32 }, u32, ({ x }) => {
          let value = x;
          for (let i = 0; i < 150; i++) value = value.mul(factor).add(i);
          return value;
        });
      const [first, second] = [costly('first', 1664525), costly('second', 22695477)];
      const row = fn('row', { i: u32, factor: q.uniform(u32) }, u32, ({ i, factor }) => i.mul(factor).rem(200));
      /** Two views of costly functors, whose rows are read repeatedly. */
      const views = (x: Column<'u32'>) => {
        const i = q.sequence(5000);
        const a = q.gather(q.map(first, { x }), q.map(row, { i, factor: 3 }));
        return { a, b: q.gather(q.map(second, { x }), q.map(row, { i, factor: 7 })) };
      };
      type Views = ReturnType<typeof views>;
      const twoPrograms: { readonly [name: string]: (views: Views) => q.Table } = {
        compaction: ({ a, b }) => q.copyIf(a, q.map(isOdd, { x: b })),
        scan: ({ a }) => q.inclusiveScan(a, q.plus(u32)),
        'reduction by key': ({ a, b }) => q.reduceByKey(b, a, q.plus(u32)),
      };
      await withShared(
        async (context, device) => {
          const buffer = upload(device, new Uint32Array(200));
          const borrowed = views(context.borrow(buffer, { type: 'u32' }));
          const live = context.backend.counters.liveBuffers;
          for (let round = 1; round <= 3; round++) {
            const data = Uint32Array.from({ length: 200 }, (_, i) => i * round);
            device.queue.writeBuffer(buffer, 0, data);
            const own = context.column(data);
            for (const pipeline of Object.values(twoPrograms)) {
              const run = async (of: Views) => {
                const result = context.scope(() => pipeline(of));
                const rows = await context.read(result);
                context.dispose(result);
                return rows;
              };
              const fresh = views(own);
              expect(await run(borrowed)).toEqual(await run(fresh));
              context.dispose(fresh);
            }
            context.dispose(own);
          }
          // Views that were stored for earlier submissions do not accumulate.
          expect(context.backend.counters.liveBuffers - live).toBeLessThanOrEqual(8);
        },
        { tuning: { commandsPerSubmission } },
      );
    },
    slow,
  );

  // By default, the test tries the empty buffer and one random other size.
  test.each([0, ...someOf([4, 256, 1024], 1)])('of %i bytes has no elements at its end', async (size) => {
    await withShared(async (context, device) => {
      const buffer = device.createBuffer({ size, usage: STORAGE | COPY_SRC });
      const one = upload(device, Uint32Array.of(1));
      for (const type of types) {
        const lengths = [{}, { count: 0 }, { bytes: 0, count: { buffer: one, offset: 0 } }];
        const columns = lengths.map((options) => context.borrow(buffer, { type, offset: size, ...options }));
        for (const column of columns) {
          expect((await context.read(column)).length).toBe(0);
          const copied = q.concatenate([column, column]);
          expect((await context.read(copied)).length).toBe(0);
          using lent = context.lend(column);
          expect(lent.bytes).toBe(0);
        }
        const [column] = columns;
        if (type === 'u32') {
          const sum = q.reduce(column as Column<'u32'>, q.plus(u32));
          expect(await context.read(sum)).toEqual(Uint32Array.of(0));
        }
        context.dispose(columns);
      }
    });
  });

  test('is never written to', async () => {
    await withShared(async (context, device) => {
      const buffer = upload(device, Uint32Array.of(1, 2, 3, 4));
      const x = context.borrow(buffer, { type: 'u32' });
      const fromZero = fn({}, { i: u32 }, () => ({ i: 0 }));
      const once = fn(
        { i: u32 },
        { more: q.bool, emits: q.bool, state: { i: u32 }, value: { index: u32, value: u32 } },
        ({ i }) => ({
          ...{ more: false, emits: true, state: { i } },
          value: { index: i, value: 7 },
        }),
      );
      expect(() => q.unfoldReduce({ x }, fromZero, once, 'add', x)).toThrow(
        expect.objectContaining({ name: 'ArgumentError' }),
      );
      expect(() => q.unfoldReduce({ y: context.column(Uint32Array.of(1)) }, fromZero, once, 'add', x)).toThrow(
        expect.objectContaining({ code: 'column/borrowed' }),
      );
      await context.read(q.sort(x));
      expect([...new Uint32Array((await readBuffer(device, buffer, 0, 16)).buffer)]).toEqual([1, 2, 3, 4]);
    });
  });

  test('is refused with what is wrong', async () => {
    await withShared(async (context, device) => {
      const buffer = upload(device, new Uint32Array(4));
      const refused = (code: string, options: object, given: GPUBuffer = buffer): void => {
        expect(() => context.borrow(given, options as never)).toThrow(
          expect.objectContaining({ code, name: 'ArgumentError' }),
        );
      };
      refused('argument/type', { type: 'f64' });
      refused('options/unknown', { type: 'u32', size: 4 });
      refused('buffer/range', { type: 'u32', offset: 2 });
      refused('buffer/range', { type: 'u16', offset: 3 });
      refused('buffer/range', { type: 'u32', offset: 20 });
      refused('buffer/range', { type: 'u32', count: 5 });
      refused('buffer/range', { type: 'u32', offset: 8, bytes: 12 });
      refused('buffer/range', { type: 'u8', offset: -1 });
      refused('buffer/range', { type: 'u32', count: { buffer, offset: 14 } });
      refused('argument/type', { type: 'u32' }, {} as GPUBuffer);
      refused('buffer/usage', { type: 'u32' }, device.createBuffer({ size: 4, usage: COPY_SRC }));
      const unread = context.borrow(device.createBuffer({ size: 4, usage: STORAGE }), { type: 'u32' });
      await expect(context.read(unread)).rejects.toMatchObject({
        code: 'buffer/usage',
        remedy: expect.stringContaining('COPY_SRC'),
      });
      expect(await context.read(q.map(twice, { x: unread }))).toEqual(Uint32Array.of(0));
      const column = context.column(Uint32Array.of(1));
      using lent = context.lend(column);
      refused('buffer/own', { type: 'u32' }, lent.buffer as GPUBuffer);
    });
    const workers = await open({ backend: 'reference' });
    const column = workers.column(Uint32Array.of(1));
    expect(() => workers.lend(column)).toThrow(expect.objectContaining({ code: 'buffer/no-device' }));
    expect(() => workers.borrow({} as GPUBuffer, { type: 'u32' })).toThrow(
      expect.objectContaining({ code: 'buffer/no-device' }),
    );
    workers.submit();
    await workers.close();
  });

  test('that the device rejects fails only the commands submitted with it', async () => {
    await withShared(async (context, device) => {
      const stranger = await requestTestDevice();
      const destroyed = upload(device, Uint32Array.of(1, 2));
      const foreign = upload(stranger, Uint32Array.of(1, 2));
      const kept = context.column(Uint32Array.of(3, 1, 2));
      await context.sync();
      const borrowed = [destroyed, foreign].map((buffer) => context.borrow(buffer, { type: 'u32' }));
      destroyed.destroy();
      for (const x of borrowed) {
        const [beside, sorted] = [q.sort(kept), q.sort(x)];
        const readings = [sorted, beside].map((column) => [column, context.read(column)] as const);
        for (const [column, reading] of readings) {
          reading.catch(() => {});
          await expect(reading).rejects.toMatchObject({ code: 'buffer/refused', cause: { code: 'device/validation' } });
          expect(() => q.sort(column)).toThrow(expect.objectContaining({ code: 'buffer/refused' }));
        }
        context.dispose(beside, sorted, x);
        expect(await context.read(q.sort(kept))).toEqual(Uint32Array.of(1, 2, 3));
      }
      stranger.destroy();
    });
  });
});
