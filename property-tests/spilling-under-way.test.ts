import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSpillingBackend } from '../backends/spilling/index.ts';
import { createWorkersBackend } from '../backends/workers/index.ts';
import type { Backend } from '../primitives/backend.ts';
import { Context } from '../primitives/context.ts';
import { OutOfMemoryError } from '../primitives/errors.ts';
import * as q from '../primitives/index.ts';
import { slow } from './webgpu-support.ts';

const { fn, u32 } = q;
const memoryBytes = 64 * 1024;
const inverted = fn({ x: u32 }, u32, ({ x }) => x.not());

const open = (): Promise<Backend> =>
  createWorkersBackend({ workers: 2, inlineNanoseconds: 0, limits: { memoryBytes } });

/** The sum of the numbers from `first` on, modulo 2³². */
function sumFrom(first: number, length: number): number {
  let sum = 0;
  for (let i = 0; i < length; i++) sum = (sum + first + i) >>> 0;
  return sum;
}

/**
 * A column goes to the host and comes back into memory that commands under way still use. Which those are is a matter of
 * time: every round gives them another chance.
 */
async function roundTrips(context: Context, rows: number): Promise<void> {
  for (let round = 0; round < 20; round++) {
    const a = context.column(Uint32Array.from({ length: rows }, (_, i) => i + round));
    const b = context.materialize(q.map(inverted, { x: q.sequence(rows) }));
    await context.sync();
    const c = q.reduce(b, q.bitXor(u32));
    context.dispose(b);
    expect(await context.read(q.reduce(a, q.plus(u32)))).toEqual(Uint32Array.of(sumFrom(round, rows)));
    context.dispose([a, c]);
  }
}

test(
  'what comes back while commands are under way is what left',
  () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 8200, max: 16000 }), async (rows) => {
        const context = new Context(createSpillingBackend(await open()));
        await roundTrips(context, rows);
        expect(context.backend.counters.spilling!.restoredBytes).toBeGreaterThan(0);
        await context.close();
      }),
      { numRuns: 5 },
    ),
  slow,
);

test(
  'a column that takes the place of one that is still used needs no more room than it has',
  async () => {
    const context = new Context(await open());
    for (let round = 0; round < 20; round++) {
      const before = context.column(new Uint32Array(10_000));
      const c = q.reduce(before, q.bitXor(u32));
      context.dispose(before);
      const after = context.column(Uint32Array.from({ length: 10_000 }, (_, i) => i));
      expect(await context.read(q.reduce(after, q.plus(u32)))).toEqual(Uint32Array.of(49_995_000));
      context.dispose([after, c]);
    }
    await context.close();
  },
  slow,
);

test(
  'what cannot come back stays on the host, and comes back later',
  () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 4 }), async (first, times) => {
        const inner = await open();
        let writes = 0;
        const failing: Backend = {
          ...inner,
          counters: inner.counters,
          write(buffer, word, data) {
            writes++;
            if (writes >= first && writes < first + times) throw new OutOfMemoryError('memory/test', 'No room now.');
            inner.write(buffer, word, data);
          },
        };
        const context = new Context(createSpillingBackend(failing));
        await roundTrips(context, 12_000);
        expect(context.backend.counters.liveBytes).toBeLessThan(memoryBytes);
        await context.close();
      }),
      { numRuns: 10 },
    ),
  slow,
);
