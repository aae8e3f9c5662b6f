import type { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { lastValueFrom, toArray } from 'rxjs';
import { expect, test } from 'vitest';
import { migrate, pull } from '../../../graph/index.ts';
import { open } from '../../../on-node.ts';
import * as q from '../../../primitives/index.ts';
import { mortalBackend, onEveryBackend } from '../../backends.ts';
import { costlyCaseCount } from '../../cases.ts';
import { arbitrarySteps, runSteps, undisturbed } from '../../support/arbitrary-steps.ts';
import { openReference } from '../../support/reference-context.ts';
import { slow } from '../../support/webgpu-support.ts';
import { runPrepared } from './run-prepared.ts';

const { fn, input, u32 } = q;

const next = fn({ x: u32 }, u32, ({ x }) => x.mul(5).add(1));

test.each([true, false])(
  'with spill %s, prepared calls and loops go on while no standby has opened yet',
  async (spill) => {
    const threads: Worker[] = [];
    const add = (thread: Worker): void => void threads.push(thread);
    process.on('worker', add);
    await using context = await open({ backend: 'workers', workers: 1, failover: 'workers', spill });
    process.off('worker', add);
    const step = context.prepare({ x: input(u32, 9) }, ({ x }) => ({ x: q.sort(q.map(next, { x })) }));
    const x = context.column(Uint32Array.of(3, 1, 2));
    await context.sync();
    await threads[0]!.terminate();
    // The first call notices the loss. All others come before a standby has opened.
    const calls = Array.from({ length: 5 }, () => context.read(step({ x }).x));
    const loop = context.iterate(step, { x }, { maxRounds: 2 });
    const { bytes } = context.prepare({ x: input(u32, 9) }, ({ x: y }) => q.sort(y));
    expect(bytes).toBeGreaterThan(0);
    for (const read of await Promise.all(calls)) expect(read).toEqual(Uint32Array.of(6, 11, 16));
    expect(await context.read((await loop).result.x)).toEqual(Uint32Array.of(31, 56, 81));
  },
  slow,
);

/** A stage with a side on a context, whose items come in any number, on any number of lanes, in order or not. */
const arbitraryStage = fc.record({
  items: fc.array(fc.uint32Array({ maxLength: 50, max: 2 ** 20 }), { maxLength: 12 }),
  gpuLanes: fc.integer({ min: 1, max: 4 }),
  maxRounds: fc.integer({ min: 1, max: 6 }),
  batch: fc.constantFrom(1, 2, 64),
});

onEveryBackend(
  (opened) => {
    test(
      'whatever workers are lost, pipelines, prepared calls and loops have their values, and no memory leaks',
      async () => {
        const expected = await runPrepared(openReference());
        const { context } = opened();
        const property = fc.asyncProperty(arbitrarySteps, async (steps) => {
          const [outcomes, prepared] = await Promise.all([runSteps(context, steps), runPrepared(context)]);
          expect(outcomes).toEqual(await undisturbed(steps));
          expect(prepared).toEqual(expected);
          expect(context.backend.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
        });
        await fc.assert(property, { numRuns: costlyCaseCount(30) });
      },
      slow,
    );

    test(
      'a two-sided stage of loops gives every item once, and moves none to the CPU, because no loss reaches it',
      async () => {
        const { context } = opened();
        const step = context.prepare({ x: input(u32, 50) }, ({ x }) => ({ x: q.sort(q.map(next, { x })) }));
        const property = fc.asyncProperty(arbitraryStage, async ({ items, gpuLanes, ...loop }) => {
          const stage = migrate<Uint32Array, Uint32Array>('sort', {
            gpu: async (item) => {
              const x = context.column(item);
              const { result, rounds } = await context.iterate(step, { x }, loop);
              expect(rounds).toBe(loop.maxRounds);
              const sorted = await context.read(result.x);
              context.dispose(x, result);
              return sorted;
            },
            cpu: () => Promise.reject(new Error('The CPU was asked.')),
            gpuLanes,
            ordered: true,
            enabled: false,
          });
          const expected = items.map((item) => {
            let rows = item;
            for (let round = 0; round < loop.maxRounds; round++) rows = rows.map((x) => 5 * x + 1);
            return rows.sort();
          });
          expect(await lastValueFrom(pull(items).pipe(stage, toArray()))).toEqual(expected);
        });
        await fc.assert(property, { numRuns: costlyCaseCount(30) });
        step.dispose();
      },
      slow,
    );
  },
  [mortalBackend],
);
