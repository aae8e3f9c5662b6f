import type { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { lastValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate, pull } from '../../../graph/index.ts';
import { open } from '../../../on-node.ts';
import { Context } from '../../../primitives/context.ts';
import * as q from '../../../primitives/index.ts';
import { mortalBackend } from '../../backends.ts';
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

let context: Context;
beforeAll(async () => {
  context = new Context(await mortalBackend.open());
});
afterAll(() => context.close());

test(
  'whatever workers are lost, pipelines, prepared calls and loops have their values, and no memory leaks',
  async () => {
    const expected = await runPrepared(openReference());
    const property = fc.asyncProperty(arbitrarySteps, async (steps) => {
      const [outcomes, prepared] = await Promise.all([runSteps(context, steps), runPrepared(context)]);
      expect(outcomes).toEqual(await undisturbed(steps));
      expect(prepared).toEqual(expected);
      expect(context.backend.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
    });
    await fc.assert(property, { numRuns: costlyCaseCount(60) });
  },
  slow,
);

test(
  'a two-sided stage gives every item once and moves none to the CPU, because no loss reaches it',
  async () => {
    const step = context.prepare({ x: input(u32, 50) }, ({ x }) => ({ x: q.sort(q.map(next, { x })) }));
    const items = Array.from({ length: costlyCaseCount(400) }, (_, i) => i);
    const rows = (item: number): Uint32Array => Uint32Array.from({ length: 50 }, (_, i) => (i * 7 + item) % 31);
    const stage = migrate<number, Uint32Array>('sort', {
      gpu: async (item) => {
        const x = context.column(rows(item));
        const { result } = await context.iterate(step, { x }, { maxRounds: 3, batch: 2 });
        const sorted = await context.read(result.x);
        context.dispose(x, result);
        return sorted;
      },
      cpu: () => Promise.reject(new Error('The CPU was asked.')),
      gpuLanes: 3,
      ordered: true,
      enabled: false,
    });
    const got = await lastValueFrom(pull(items).pipe(stage, toArray()));
    const thrice = (x: number): number => 125 * x + 31;
    expect(got).toEqual(items.map((item) => rows(item).map(thrice).sort()));
    step.dispose();
  },
  slow,
);
