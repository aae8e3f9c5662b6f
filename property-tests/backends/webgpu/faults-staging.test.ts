import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Context } from '../../../primitives/context/context.ts';
import { caseCount } from '../../cases.ts';
import { destroyBefore, type FaultyGpu, openFaultyGpu, openOnFaulty, refuseBuffer } from '../../support/faulty-gpu.ts';
import { slow } from '../../support/webgpu-support.ts';

async function open(): Promise<{ readonly faulty: FaultyGpu; readonly context: Context }> {
  const faulty = await openFaultyGpu();
  return { faulty, context: new Context(await openOnFaulty(faulty, { staging: { buffers: 2, bytes: 4096 } })) };
}

/** Writes a column and reads it back. */
async function roundTrip(context: Context, words: number): Promise<Uint32Array> {
  const column = context.column(new Uint32Array(words).fill(7));
  try {
    return await context.read(column);
  } finally {
    context.dispose(column);
  }
}

describe('when the device has no memory for a staging buffer', () => {
  test(
    'a source that fails at the same time is reported; the context works on',
    async () => {
      const buffer = fc.integer({ min: 1, max: 4 });
      await fc.assert(
        fc.asyncProperty(buffer, fc.boolean(), fc.boolean(), fc.nat(20), async (at, isMapped, syncs, turns) => {
          const { faulty, context } = await open();
          const allowBuffers = refuseBuffer(faulty, at, isMapped);
          const failure = new Error('No more of it.');
          const read = async (): Promise<void> => {
            if (syncs) void context.sync().catch(() => {});
            for (let turn = 0; turn < turns; turn++) await Promise.resolve();
            throw failure;
          };
          await expect(context.upload({ type: 'u32', length: 1024, read })).rejects.toBe(failure);
          allowBuffers();
          await context.sync().catch(() => {});
          expect(await roundTrip(context, 5000)).toEqual(new Uint32Array(5000).fill(7));
          await context.close();
        }),
        { numRuns: caseCount(30), examples: [[2, true, true, 8]] },
      );
    },
    slow,
  );

  test(
    'written columns report that, or are written without staging',
    async () => {
      const buffer = fc.integer({ min: 1, max: 8 });
      await fc.assert(
        fc.asyncProperty(buffer, fc.boolean(), fc.integer({ min: 200, max: 3000 }), async (at, isMapped, words) => {
          const { faulty, context } = await open();
          const allowBuffers = refuseBuffer(faulty, at, isMapped);
          for (let k = 0; k < 4; k++) {
            const found = await roundTrip(context, words).catch((reason: unknown) => reason);
            if (found instanceof Error) expect(found).toMatchObject({ code: 'memory/device' });
            else expect(found).toEqual(new Uint32Array(words).fill(7));
          }
          allowBuffers();
          await context.sync().catch(() => {});
          expect(await roundTrip(context, words)).toEqual(new Uint32Array(words).fill(7));
          await context.close();
        }),
        { numRuns: caseCount(30), examples: [[2, false, 1024]] },
      );
    },
    slow,
  );
});

test(
  'a device lost while a staging buffer is filled is reported with its error code',
  async () => {
    const { faulty, context } = await open();
    const columns = Array.from({ length: 8 }, () => context.column(new Uint32Array(500)));
    await context.sync();
    columns.push(context.column(new Uint32Array(600)));
    destroyBefore(faulty, 1);
    columns.push(context.column(new Uint32Array(200)));
    await expect(context.read(columns.at(-1)!)).rejects.toMatchObject({ code: 'device/lost' });
    await context.close();
  },
  slow,
);
