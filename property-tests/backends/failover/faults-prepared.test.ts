import type { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { createFailoverBackend } from '../../../backends/failover/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { createWebGpuBackend } from '../../../backends/webgpu/backend.ts';
import { testAdapter } from '../../../backends/webgpu-node/node-gpu.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { DeviceLostError, OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { costlyCaseCount, someOf, THOROUGH } from '../../cases.ts';
import { reasonsIn } from '../../support/arbitrary-steps.ts';
import { interrupted, LOST, lostBefore } from '../../support/faulty-backend.ts';
import { destroyBefore, openFaultyGpu, openOnFaulty, refuseBuffer } from '../../support/faulty-gpu.ts';
import { openPooledGpu } from '../../support/pooled-gpu.ts';
import { slow } from '../../support/webgpu-support.ts';
import { DATA, lessBy, runPrepared } from './run-prepared.ts';

const { input, u32 } = q;

const nothingHeld = { liveBuffers: 0, liveBytes: 0 };

const undisturbed = await runPrepared(new Context(createReferenceBackend()));

const openWebGpu = async (memoryBytes?: number): Promise<Backend> =>
  createWebGpuBackend({
    gpu: await openPooledGpu(),
    adapter: testAdapter(),
    limits: memoryBytes === undefined ? {} : { memoryBytes },
  });

const opened: readonly { readonly name: string; open(memoryBytes?: number): Promise<Backend> }[] = [
  {
    name: 'reference',
    open: async (memoryBytes) => createReferenceBackend({ limits: memoryBytes === undefined ? {} : { memoryBytes } }),
  },
  {
    name: 'workers',
    open: (memoryBytes) =>
      createWorkersBackend({
        workers: 2,
        inlineNanoseconds: 0,
        limits: memoryBytes === undefined ? {} : { memoryBytes },
      }),
  },
  { name: 'webgpu', open: openWebGpu },
  {
    name: 'spilling on webgpu',
    open: async (memoryBytes) => createSpillingBackend(await openWebGpu(memoryBytes)),
  },
];

/** Repeats a run with its fault at later and later points, until the run ends before the fault. */
async function atPoints(name: string, run: (at: number) => Promise<boolean>): Promise<void> {
  // If it would take too long to try every point, each run of the tests tries different points.
  const thoroughly = name === 'reference' ? 1 : name === 'workers' ? 13 : 25;
  const every = THOROUGH ? thoroughly : Math.max(40, 6 * thoroughly);
  const [first] = fc.sample(fc.integer({ min: 1, max: every }), 1) as [number];
  let faults = 0;
  for (let at = first; await run(at); at += every) faults++;
  expect(faults).toBeGreaterThanOrEqual(Math.floor(50 / every));
}

test('the undisturbed run has results to compare', () => {
  expect(undisturbed.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  expect(undisturbed[2]).toMatchObject({ value: [{ x: { length: 32 } }, 'capacity/outgrown'] });
});

describe.each(someOf(opened, 1))('on $name', ({ name, open }) => {
  test(
    'prepared calls and loops that run out of memory at any backend call leak nothing and work afterwards',
    async () => {
      const backend = await open();
      const error = new OutOfMemoryError('memory/test', 'No more of it.');
      await atPoints(name, async (at) => {
        let thrown = false;
        const context = new Context(
          interrupted(backend, at, () => {
            thrown = true;
            throw error;
          }),
        );
        for (const reason of reasonsIn(await runPrepared(context), undisturbed)) expect(reason).toBe(error);
        // An aborted read keeps its buffer until the device has finished the read.
        await vi.waitFor(() => expect(backend.counters, `call ${at}`).toMatchObject(nothingHeld), { interval: 1 });
        if (thrown && at % 5 === 0) expect(await runPrepared(context)).toEqual(undisturbed);
        return thrown;
      });
      await backend.close();
    },
    slow,
  );

  test(
    'with any memory limit they fail with one clear error or give the same result, and leak nothing',
    async () => {
      let short = 0;
      // Each memory limit needs a new backend, which compiles all kernels again. So the limit grows fast from round to
      // round.
      const growth = THOROUGH ? (name === 'reference' ? 1.1 : 1.7) : 5;
      for (let memoryBytes = 256; memoryBytes < 16_384; memoryBytes = Math.ceil(memoryBytes * growth)) {
        const context = new Context(await open(memoryBytes));
        for (let round = 0; round < 2; round++) {
          const reasons = reasonsIn(await runPrepared(context), undisturbed);
          short += reasons.length;
          for (const reason of reasons) expect(reason).toBeInstanceOf(OutOfMemoryError);
          await context.sync().catch((reason: unknown) => expect(reason).toBeInstanceOf(OutOfMemoryError));
          expect(context.backend.counters, `${memoryBytes} bytes`).toMatchObject(nothingHeld);
        }
        await context.close();
      }
      expect(short).toBeGreaterThan(0);
    },
    slow,
  );

  test(
    'an abort before any backend call ends them with its reason, and they leak nothing',
    async () => {
      await atPoints(name, async (at) => {
        let aborted = false;
        const reason = new Error('enough');
        const context = new Context(
          interrupted(await open(), at, ({ abort }) => {
            aborted = true;
            abort(reason);
          }),
        );
        for (const each of reasonsIn(await runPrepared(context), undisturbed)) expect(each).toBe(reason);
        await context.close();
        expect(context.backend.counters, `call ${at}`).toMatchObject(nothingHeld);
        return aborted;
      });
    },
    slow,
  );

  test(
    'closing the context at any turn ends them, and they leak nothing',
    async () => {
      let cut = 0;
      for (const turns of THOROUGH ? [0, 1, 2, 3, 5, 8, 13, 21] : [0, 2, 8, 21]) {
        const context = new Context(await open());
        const outcomes = runPrepared(context);
        for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
        await context.close();
        for (const reason of reasonsIn(await outcomes, undisturbed)) {
          cut++;
          expect(reason).toBeInstanceOf(DeviceLostError);
          expect(reason).toMatchObject({ code: 'device/closed' });
        }
        expect(context.backend.counters, `${turns} turns`).toMatchObject(nothingHeld);
      }
      expect(cut).toBeGreaterThan(0);
    },
    slow,
  );

  test('a loop that its signal stops at any check leaks nothing', async () => {
    const context = new Context(await open());
    const step = context.prepare({ x: input(u32, 90) }, ({ x }) => ({ x: q.sort(q.map(lessBy, { x, by: 1 })) }));
    const x = context.column(DATA);
    const { liveBuffers, liveBytes } = context.backend.counters;
    for (let looks = 0; looks < 6; looks++) {
      const controller = new AbortController();
      const reason = new Error('enough');
      let seen = 0;
      const look = (): void => {
        if (seen++ === looks) controller.abort(reason);
      };
      if (looks === 0) controller.abort(reason);
      const { signal } = controller;
      const loop = context.iterate(step, { x: q.reverse(x) }, { maxRounds: 100, batch: 5, signal, onProgress: look });
      await expect(loop).rejects.toBe(reason);
      await context.sync();
      expect(context.backend.counters).toMatchObject({ liveBuffers, liveBytes });
    }
    const { result } = await context.iterate(step, { x }, { maxRounds: 3 });
    expect(await context.read(result.x)).toEqual(DATA.map((word) => Math.max(0, word - 3)).sort());
    await context.close();
  });
});

describe('with a standby, prepared calls and loops give the same result', () => {
  test.each(['reference', 'workers', 'webgpu'])(
    'when %s is lost before any call',
    async (name) => {
      const { open } = opened.find((each) => each.name === name)!;
      await atPoints(name, async (at) => {
        const backend = createFailoverBackend(lostBefore(await open(), at), {
          standby: async () => createReferenceBackend(),
        });
        const context = new Context(backend);
        expect(await runPrepared(context), `lost before call ${at}`).toEqual(undisturbed);
        expect(backend.counters).toMatchObject(nothingHeld);
        for (const { reason } of backend.failovers) expect(reason).toMatchObject({ code: LOST });
        const { length } = backend.failovers;
        await context.close();
        return length > 0;
      });
    },
    slow,
  );

  test(
    'when a GPU is destroyed before any of its calls',
    async () => {
      let lost = 0;
      const property = fc.asyncProperty(fc.integer({ min: 1, max: 500 }), async (calls) => {
        const faulty = await openFaultyGpu();
        const backend = await openOnFaulty(faulty);
        const failover = createFailoverBackend(backend, { standby: async () => createReferenceBackend() });
        const context = new Context(failover);
        destroyBefore(faulty, calls);
        expect(await runPrepared(context)).toEqual(undisturbed);
        expect(failover.counters).toMatchObject(nothingHeld);
        lost += failover.failovers.length;
        await context.close();
        expect(backend.counters).toMatchObject(nothingHeld);
      });
      await fc.assert(property, {
        numRuns: costlyCaseCount(8, 1),
        examples: [...someOf([2, 100, 200], 1)].map((calls): [number] => [calls]),
      });
      expect(lost).toBeGreaterThan(0);
    },
    slow,
  );

  test(
    'when a worker is killed before any call',
    async () => {
      const standby = () => createWorkersBackend({ workers: 2, inlineNanoseconds: 0 });
      const property = fc.asyncProperty(fc.integer({ min: 1, max: 130 }), async (at) => {
        const threads: Worker[] = [];
        const add = (thread: Worker): void => void threads.push(thread);
        process.on('worker', add);
        const workers = await standby();
        process.off('worker', add);
        let killed: Promise<number> | undefined;
        const kill = (): void => {
          killed ??= threads[at % 2]!.terminate();
        };
        const backend = createFailoverBackend(interrupted(workers, at, kill), { standby });
        const context = new Context(backend);
        expect(await runPrepared(context)).toEqual(undisturbed);
        expect(backend.counters).toMatchObject(nothingHeld);
        // The first run may end before the thread does. After the end of the thread, the next run notices that the
        // thread is lost.
        await killed;
        expect(await runPrepared(context)).toEqual(undisturbed);
        expect(backend.failovers.length).toBe(killed ? 1 : 0);
        await context.close();
      });
      await fc.assert(property, {
        numRuns: costlyCaseCount(8, 1),
        examples: [...someOf([1, 20], 1)].map((at): [number] => [at]),
      });
    },
    slow,
  );
});

test(
  'a GPU out of memory for any one buffer fails only the affected reads, with one error, and works afterwards',
  async () => {
    let short = 0;
    for (let at = 1, refused = true; refused; at += THOROUGH ? 6 : 50) {
      const faulty = await openFaultyGpu(await openPooledGpu());
      const backend = await openOnFaulty(faulty);
      const context = new Context(backend);
      const allowBuffers = refuseBuffer(faulty, at);
      const reasons = reasonsIn(await runPrepared(context), undisturbed);
      for (const reason of reasons) {
        expect(reason).toBe(reasons[0]);
        expect(reason).toMatchObject({ name: 'OutOfMemoryError', code: 'memory/device' });
      }
      refused = reasons.length > 0;
      short += reasons.length;
      expect(backend.counters, `buffer ${at}`).toMatchObject(nothingHeld);
      allowBuffers();
      await context.sync().catch(() => {});
      expect(await runPrepared(context), `after buffer ${at}`).toEqual(undisturbed);
      await context.close();
    }
    expect(short).toBeGreaterThan(0);
  },
  slow,
);

test(
  'a pipeline and a loop prepared before a GPU ran out of memory work again once memory is available',
  async () => {
    let short = 0;
    for (const at of someOf([1, 2, 3, 4, 5], 3)) {
      const faulty = await openFaultyGpu(await openPooledGpu());
      const context = new Context(await openOnFaulty(faulty));
      const step = context.prepare({ x: input(u32, 90) }, ({ x }) => ({ x: q.sort(q.map(lessBy, { x, by: 1 })) }));
      const x = context.column(DATA);
      await context.sync();
      const allowBuffers = refuseBuffer(faulty, at);
      // The upload and the commands of both calls of `step` are put into one submission.
      const made = context.scope(() => {
        const results = [step({ x }), step({ x })];
        context.column(DATA);
        context.materialize(q.sequence(5000));
        return results;
      });
      for (const outcome of await Promise.allSettled(made.map((result) => context.read(result)))) {
        if (outcome.status === 'fulfilled') continue;
        short++;
        expect(outcome.reason).toMatchObject({ code: 'memory/device' });
      }
      context.dispose(made);
      allowBuffers();
      await context.sync().catch(() => {});
      const y = context.column(DATA);
      const iterated = context.iterate(step, { x: y }, { maxRounds: 3 });
      expect(await context.read(step({ x: y }))).toEqual({ x: DATA.map((word) => Math.max(0, word - 1)).sort() });
      expect(await context.read((await iterated).result.x)).toEqual(DATA.map((word) => Math.max(0, word - 3)).sort());
      await context.close();
    }
    expect(short).toBeGreaterThan(0);
  },
  slow,
);
