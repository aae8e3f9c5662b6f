import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFailoverBackend } from '../../../backends/failover/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createWorkersBackend, type WorkersOptions } from '../../../backends/workers/index.ts';
import { createPool } from '../../../backends/workers/threads/pool.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { costlyCaseCount } from '../../cases.ts';
import { arbitrarySteps, manySteps, reasonsIn, runSteps, undisturbed } from '../../support/arbitrary-steps.ts';
import { interrupted } from '../../support/faulty-backend.ts';
import { slow } from '../../support/webgpu-support.ts';
import { startedBy } from './worker-pool-support.ts';

const { fn, u32 } = q;
const nothingHeld = { liveBuffers: 0, liveBytes: 0 };

/** Runs `work`; returns its result and the threads that it started. */
async function threadsOf<R>(work: () => Promise<R>): Promise<{ result: R; threads: readonly Worker[] }> {
  const threads: Worker[] = [];
  const add = (thread: Worker): void => void threads.push(thread);
  process.on('worker', add);
  try {
    return { result: await work(), threads };
  } finally {
    process.off('worker', add);
  }
}

/**
 * A function that causes a fault in a thread. The function returns a promise that settles when the thread has ended, or
 * undefined if the fault does not always end the thread.
 */
type Fault = (thread: Worker) => Promise<unknown> | undefined;

const faults: readonly (readonly [name: string, fault: Fault])[] = [
  ['that is killed', (thread) => thread.terminate()],
  // This message is invalid, because its `module` is not a module. The thread throws when it looks up a function of the
  // module.
  [
    'that throws',
    (thread) => {
      thread.postMessage({ first: 0, module: 'no module', exports: ['k0'] });
      return undefined;
    },
  ],
];

const point = fc.integer({ min: 1, max: 30 });
const count = fc.integer({ min: 1, max: 3 });

describe.each(faults)('a worker %s', (_, fault) => {
  /**
   * Opens a backend with a fault in one of its threads before call number `at`. `ended` waits for the end of the
   * thread. The result of `ended` is false if the fault did not occur, or does not always end the thread.
   */
  const openFaulty = async (
    workers: number,
    at: number,
    which: number,
  ): Promise<{ backend: Backend; ended: () => Promise<boolean> }> => {
    const { result, threads } = await threadsOf(() => createWorkersBackend({ workers, inlineNanoseconds: 0 }));
    let end: Promise<unknown> | undefined;
    const backend = interrupted(result, at, () => {
      end = fault(threads[which % workers]!);
    });
    const ended = async (): Promise<boolean> => {
      await end;
      return end !== undefined;
    };
    return { backend, ended };
  };

  test(
    'before any call ends the context with one clear error; no read hangs, and no memory leaks',
    async () => {
      let lost = 0;
      const property = fc.asyncProperty(arbitrarySteps, count, point, fc.nat(2), async (steps, workers, at, which) => {
        const { backend, ended } = await openFaulty(workers, at, which);
        const context = new Context(backend);
        const reasons = reasonsIn(await runSteps(context, steps), await undisturbed(steps));
        // The steps may have finished before the thread ended. After the end of the thread, `sync` always fails.
        if (await ended()) reasons.push(await context.sync().catch((reason: unknown) => reason));
        for (const reason of reasons) {
          expect(reason).toBe(reasons[0]);
          expect(reason).toMatchObject({ name: 'DeviceLostError', code: 'device/worker', cause: expect.any(Error) });
        }
        expect(context.backend.counters).toMatchObject(nothingHeld);
        lost += Number(reasons.length > 0);
        await context.close();
      });
      // The example has a single thread, which takes part in all work. Of two threads, one may do everything before the
      // other wakes up.
      await fc.assert(property, { numRuns: costlyCaseCount(15, 1), examples: [[manySteps, 1, 1, 0]] });
      expect(lost).toBeGreaterThan(0);
    },
    slow,
  );

  test(
    'before any call changes no result when other workers take over',
    async () => {
      const property = fc.asyncProperty(arbitrarySteps, count, point, fc.nat(2), async (steps, workers, at, which) => {
        const standby = () => createWorkersBackend({ workers: 2, inlineNanoseconds: 0 });
        const { backend } = await openFaulty(workers, at, which);
        const context = new Context(createFailoverBackend(backend, { standby }));
        expect(await runSteps(context, steps)).toEqual(await undisturbed(steps));
        expect(context.backend.counters).toMatchObject(nothingHeld);
        await context.close();
      });
      await fc.assert(property, { numRuns: costlyCaseCount(10) });
    },
    slow,
  );
});

test(
  'a worker killed at any time changes no result when workers take over',
  async () => {
    const standby = () => createWorkersBackend({ workers: 2, inlineNanoseconds: 0 });
    const property = fc.asyncProperty(arbitrarySteps, fc.nat(30), fc.nat(1), async (steps, milliseconds, which) => {
      const { result, threads } = await threadsOf(standby);
      const backend = createFailoverBackend(result, { standby });
      const context = new Context(backend);
      const ended = new Promise((resolve) => {
        setTimeout(() => void threads[which]!.terminate().then(resolve), milliseconds);
      });
      const expected = await undisturbed(steps);
      expect(await runSteps(context, steps)).toEqual(expected);
      await ended;
      // The thread is gone now, whether or not the steps were still running.
      expect(await runSteps(context, [...steps, ...manySteps])).toEqual(await undisturbed([...steps, ...manySteps]));
      expect(backend.failovers).toMatchObject([{ from: 'workers', to: 'workers', reason: { code: 'device/worker' } }]);
      expect(backend.counters).toMatchObject(nothingHeld);
      await context.close();
    });
    await fc.assert(property, { numRuns: costlyCaseCount(10) });
  },
  slow,
);

test('a thread that dies while others are starting fails the start', async () => {
  const memory = new WebAssembly.Memory({ initial: 32, maximum: 65536, shared: true });
  const briefly = "require('node:worker_threads').parentPort.postMessage({ kind: 'ready' })";
  const starting = 'setInterval(() => {}, 1000)';
  const hasty = startedBy(({ worker }) => new Worker(worker === 0 ? briefly : starting, { eval: true }));
  const pool = createPool(memory, 2, hasty);
  await expect(pool).rejects.toMatchObject({ code: 'device/worker' });
});

describe('a functor that never ends', () => {
  const endless = fn('endless', { x: u32 }, u32, ({ x }) => {
    const sum = q.Var(x);
    q.While(
      () => sum.and(1).lt(2),
      () => sum.set(sum.add(2)),
    );
    return sum;
  });
  const options: WorkersOptions = { workers: 2, inlineNanoseconds: 0, hangLimit: 500 };
  const column = (context: Context): q.Column<'u32'> => context.column(new Uint32Array(5000));

  test('is stopped after the hang limit', async () => {
    const context = new Context(await createWorkersBackend(options));
    const x = column(context);
    const reads = [context.read(q.map(endless, { x })), context.sync()];
    for (const outcome of await Promise.allSettled(reads)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'device/hang' } });
    }
    expect(() => q.sort(x)).toThrow(expect.objectContaining({ code: 'device/hang' }));
    await context.close();
  });

  test(
    'changes no result when workers take over, before any call',
    async () => {
      let hung = 0;
      const standby = () => createWorkersBackend({ workers: 2, inlineNanoseconds: 0 });
      const property = fc.asyncProperty(arbitrarySteps, point, async (steps, at) => {
        const workers = await createWorkersBackend(options);
        const out = workers.allocate(5000);
        const hang = (): void => {
          const program = { module: endless.module, arrays: new Map(), uniforms: new Map() };
          workers.run({
            kind: 'forEach',
            extent: 5000,
            program,
            stores: [{ buffer: out, offset: 0, capacity: 5000, value: 0 }],
          });
        };
        const backend = createFailoverBackend(interrupted(workers, at, hang), { standby });
        const context = new Context(backend);
        expect(await runSteps(context, steps)).toEqual(await undisturbed(steps));
        expect(backend.counters).toMatchObject(nothingHeld);
        for (const { reason } of backend.failovers) expect(reason).toMatchObject({ code: 'device/hang' });
        hung += backend.failovers.length;
        await context.close();
        await workers.close();
      });
      await fc.assert(property, { numRuns: costlyCaseCount(6, 1), examples: [[manySteps, 1]] });
      expect(hung).toBeGreaterThan(0);
    },
    slow,
  );

  test('is stopped on the standby too', async () => {
    const standby = () => createWorkersBackend(options);
    const context = new Context(createFailoverBackend(await createWorkersBackend(options), { standby }));
    const endlessly = context.read(q.map(endless, { x: column(context) }));
    await expect(endlessly).rejects.toMatchObject({ code: 'device/standby', cause: { code: 'device/hang' } });
    await context.close();
  });
});

test('losing one backend does not affect another open backend', async () => {
  const { result: dying, threads } = await threadsOf(() => createWorkersBackend({ workers: 2 }));
  await using other = new Context(createReferenceBackend());
  await using living = new Context(await createWorkersBackend({ workers: 2 }));
  for (const thread of threads) void thread.terminate();
  const steps = [{ kind: 'derive', how: 'sort', of: 0 }] as const;
  expect(await runSteps(living, steps)).toEqual(await runSteps(other, steps));
  await dying.close();
});
