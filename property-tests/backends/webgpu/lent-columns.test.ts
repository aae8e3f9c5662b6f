import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as q from '../../../index.ts';
import { type Column, fn, type LentColumn, open, u32 } from '../../../index.ts';
import { caseCount } from '../../cases.ts';
import { slow } from '../../support/webgpu-support.ts';
import {
  bytesOf,
  COPY_SRC,
  copyOut,
  INDEX,
  INDIRECT,
  readCount,
  readLent,
  STORAGE,
  upload,
  VERTEX,
  withShared,
} from './shared-device-support.ts';

const twice = fn('twice', { x: u32 }, u32, ({ x }) => x.mul(2));
const isOdd = fn('isOdd', { x: u32 }, q.bool, ({ x }) => x.and(1).eq(1));

describe('a lent column', () => {
  test('has the usages needed for drawing', async () => {
    await withShared(async (context) => {
      using lent = context.lend(context.column(Float32Array.of(1, 2)));
      const wanted = VERTEX | INDEX | INDIRECT | STORAGE | COPY_SRC;
      expect((lent.buffer as GPUBuffer).usage & wanted).toBe(wanted);
    });
  });

  test('that is a slice starts at its offset, or is copied to an aligned one', async () => {
    await withShared(async (context, device) => {
      const column = context.column(Uint16Array.from({ length: 100 }, (_, i) => i));
      const slice = q.slice(column, 3, 9);
      using lent = context.lend(slice);
      expect(lent).toMatchObject({ offset: 6, bytes: 12, type: 'u16', count: 6 });
      expect([...new Uint16Array((await readLent(device, lent)).slice().buffer)]).toEqual([3, 4, 5, 6, 7, 8]);
      using moved = context.lend(slice, { alignment: 256 });
      expect(moved).toMatchObject({ offset: 0, bytes: 24, type: 'u32', count: 6 });
      expect([...new Uint32Array((await readLent(device, moved)).slice().buffer)]).toEqual([3, 4, 5, 6, 7, 8]);
      using same = context.lend(column, { alignment: 256 });
      expect(same).toMatchObject({ offset: 0, bytes: 200, type: 'u16' });
    });
  });

  test('of a length known only to the device has it as an indirect draw record', async () => {
    await withShared(async (context, device) => {
      const numbers = context.column(Uint32Array.from({ length: 50 }, (_, i) => i));
      const odd = q.copyIf(numbers, isOdd);
      for (const [column, expected] of [
        [odd, 25],
        [q.slice(odd, 20), 5],
        [q.slice(odd, 30), 0],
      ] as const) {
        using lent = context.lend(column);
        expect(await readCount(device, lent.count as q.BufferCount)).toEqual([expected, 1, 0, 0, 0]);
      }
    });
  });

  test(
    'keeps its bytes until its release, whatever happens to the column, and is reused afterwards',
    async () => {
      await withShared(async (context, device) => {
        const step = fc.record({
          rows: fc.integer({ min: 1, max: 2000 }),
          drop: fc.constantFrom('dispose', 'scope', 'keep', 'view'),
        });
        const property = fc.asyncProperty(
          fc.array(step, { minLength: 1, maxLength: 6 }),
          fc.nat(30),
          async (steps, storm) => {
            const before = { ...context.backend.counters };
            const lent: { lent: LentColumn; column: Column | undefined; expected: number[]; copies: GPUBuffer[] }[] =
              [];
            for (const [k, { rows, drop }] of steps.entries()) {
              const expected = Array.from({ length: rows }, (_, i) => i * 3 + k);
              const make = (): Column<'u32'> =>
                q.map(
                  fn({ i: u32, k: q.uniform(u32) }, u32, ({ i, k }) => i.mul(3).add(k)),
                  { i: q.sequence(rows), k },
                );
              const stored = drop === 'view' ? undefined : context.materialize(make());
              const loan =
                drop === 'scope'
                  ? context.scope(() => context.lend(context.materialize(make())))
                  : context.lend(stored ?? make());
              if (drop === 'dispose') context.dispose(stored);
              const mine = {
                lent: loan,
                column: drop === 'keep' || drop === 'scope' ? stored : undefined,
                expected,
                copies: [],
              };
              lent.push(mine);
              for (let i = 0; i < storm; i++) context.dispose(q.sort(q.sequence(50 * i + 7), { context }));
              context.submit();
              for (const { lent: each, copies } of lent)
                copies.push(copyOut(device, each.buffer as GPUBuffer, each.offset, each.bytes));
            }
            for (const { lent: loan, column, expected, copies } of lent) {
              loan.release();
              loan.release();
              if (column !== undefined) context.dispose(column);
              for (const copy of copies) {
                const bytes = await bytesOf(copy, 4 * expected.length);
                expect([...new Uint32Array(bytes.buffer)]).toEqual(expected);
              }
            }
            const { liveBuffers, liveBytes } = context.backend.counters;
            expect([liveBuffers, liveBytes]).toEqual([before.liveBuffers, before.liveBytes]);
          },
        );
        await fc.assert(property, { numRuns: caseCount(20) });
      });
    },
    slow,
  );

  test(
    'and its user share one queue: commands run in order, without a wait',
    async () => {
      await withShared(async (context, device) => {
        const property = fc.asyncProperty(fc.array(fc.nat(5), { minLength: 1, maxLength: 25 }), async (steps) => {
          const input = device.createBuffer({ size: 16, usage: STORAGE | COPY_SRC | 8 });
          const x = context.borrow(input, { type: 'u32' });
          let model = [0, 0, 0, 0];
          const results: { copy: GPUBuffer; expected: number[] }[] = [];
          const reads: { words: Promise<Uint32Array>; expected: number[] }[] = [];
          const held: { column: Column<'u32'>; expected: number[] }[] = [];
          for (const [k, step] of steps.entries()) {
            if (step === 0) {
              model = [k, k + 1, k + 2, k + 3];
              device.queue.writeBuffer(input, 0, Uint32Array.from(model));
            } else if (step === 1) {
              const encoder = device.createCommandEncoder();
              encoder.clearBuffer(input, 4, 8);
              device.queue.submit([encoder.finish()]);
              model = [model[0]!, 0, 0, model[3]!];
            } else if (step === 2) {
              using lent = context.lend(q.map(twice, { x }));
              results.push({
                copy: copyOut(device, lent.buffer as GPUBuffer, lent.offset, 16),
                expected: model.map((n) => 2 * n),
              });
            } else if (step === 3) {
              reads.push({ words: context.read(q.reverse(x)), expected: model.toReversed() });
            } else if (step === 4) {
              held.push({ column: context.materialize(q.map(twice, { x })), expected: model.map((n) => 2 * n) });
              context.submit();
            } else {
              using lent = context.lend(q.map(twice, { x }));
              const encoder = device.createCommandEncoder();
              encoder.copyBufferToBuffer(lent.buffer as GPUBuffer, lent.offset, input, 0, 16);
              device.queue.submit([encoder.finish()]);
              model = model.map((n) => (2 * n) >>> 0);
            }
          }
          for (const { copy, expected } of results)
            expect([...new Uint32Array((await bytesOf(copy, 16)).buffer)]).toEqual(expected);
          for (const { words, expected } of reads) expect([...(await words)]).toEqual(expected);
          for (const { column, expected } of held) expect([...(await context.read(column))]).toEqual(expected);
          context.dispose(
            x,
            held.map(({ column }) => column),
          );
          input.destroy();
        });
        await fc.assert(property, { numRuns: caseCount(40) });
      });
    },
    slow,
  );

  test('is borrowed by another context on the device without a copy', async () => {
    await withShared(async (context, device) => {
      const other = await open({ device });
      using lent = context.lend(
        q.copyIf(
          q.map(twice, { x: context.column(Uint32Array.of(1, 2, 3)) }),
          fn({ x: u32 }, q.bool, ({ x }) => x.gt(2)),
        ),
      );
      const { buffer, type, offset, bytes, count } = lent;
      const sum = q.reduce(other.borrow(buffer, { type, offset, bytes, count }) as Column<'u32'>, q.plus(u32));
      expect(await other.read(sum)).toEqual(Uint32Array.of(10));
      await other.close();
      expect(await readCount(device, lent.count as q.BufferCount)).toEqual([2, 1, 0, 0, 0]);
    });
  });

  test('is refused when it spans several buffers or is not one column', async () => {
    await withShared(
      async (context) => {
        const long = context.column(new Uint32Array(3000));
        expect(() => context.lend(long)).toThrow(expect.objectContaining({ code: 'buffer/split' }));
        expect(() => context.lend({ long } as never)).toThrow(expect.objectContaining({ code: 'column/type' }));
        expect(() => context.lend(long, { alignment: 0 })).toThrow(expect.objectContaining({ code: 'options/value' }));
        using lent = context.lend(q.map(twice, { x: q.slice(long, 0, 1000) }));
        expect(lent.count).toBe(1000);
        context.dispose(long);
        lent.release();
        expect(() => lent.buffer).toThrow(expect.objectContaining({ code: 'buffer/released' }));
        expect(context.backend.counters.liveBytes).toBe(0);
      },
      { limits: { bindingBytes: 4096 } },
    );
  });

  test(
    'and borrowed ones are not moved when memory is short',
    async () => {
      const limits = { memoryBytes: 60_000 };
      await withShared(
        async (context, device) => {
          const data = Uint32Array.from({ length: 3000 }, (_, i) => (i * 7919) % 3001);
          const buffer = upload(device, data);
          const x = context.borrow(buffer, { type: 'u32' });
          const lentColumn = context.materialize(q.map(twice, { x }));
          using lent = context.lend(lentColumn);
          const first = lent.buffer;
          const sorted: Column<'u32'>[] = [];
          for (let i = 0; i < 8; i++)
            sorted.push(
              q.sort(
                context.materialize(
                  q.map(
                    fn({ x: u32, i: q.uniform(u32) }, u32, ({ x, i }) => x.add(i)),
                    { x, i },
                  ),
                ),
              ),
            );
          for (const [i, column] of sorted.entries()) {
            expect(await context.read(column)).toEqual(data.map((n) => n + i).sort());
          }
          expect(context.backend.counters.spilling!.spilledBytes).toBeGreaterThan(0);
          expect(lent.buffer).toBe(first);
          expect(new Uint32Array((await readLent(device, lent)).slice().buffer)).toEqual(data.map((n) => 2 * n));
          // Lending restores a spilled column if there is room for it, and throws otherwise.
          const codes = sorted.map((column) => {
            try {
              context.lend(column).release();
              return 'lent';
            } catch (error) {
              return (error as q.QuadrilleError).code;
            }
          });
          expect(new Set([...codes, 'lent', 'buffer/spilled'])).toEqual(new Set(['lent', 'buffer/spilled']));
          context.dispose(sorted, lentColumn);
          await context.sync();
          context.lend(context.column(data)).release();
        },
        { limits },
      );
    },
    slow,
  );
});
