import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createFailoverBackend } from '../../../backends/failover/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import type { WebGpuBackend, WebGpuOptions } from '../../../backends/webgpu/backend.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { costlyCaseCount } from '../../cases.ts';
import { arbitrarySteps, manySteps, reasonsIn, runSteps, undisturbed } from '../../support/arbitrary-steps.ts';
import {
  destroyBefore,
  type FaultyGpu,
  fallSilent,
  openFaultyGpu,
  openOnFaulty,
  refuseBuffer,
  silentFrom,
} from '../../support/faulty-gpu.ts';
import { openPooledGpu } from '../../support/pooled-gpu.ts';
import { slow } from '../../support/webgpu-support.ts';

const { u32 } = q;
const nothingHeld = { liveBuffers: 0, liveBytes: 0 };

/** Opens a backend on a device of the given GPU, or by default on a device of its own. */
async function openBackend(options?: WebGpuOptions, gpu?: GPU): Promise<{ faulty: FaultyGpu; backend: WebGpuBackend }> {
  const faulty = await openFaultyGpu(gpu);
  return { faulty, backend: await openOnFaulty(faulty, options) };
}

/** A device without an answer for this many milliseconds counts as hung. Later answers of the device are ignored. */
const HANG = 250;

const call = fc.integer({ min: 1, max: 400 });

const openWorkers = (): Promise<Backend> => createWorkersBackend({ workers: 2, inlineNanoseconds: 0 });

/** Injects a fault at one of a device's calls. */
type Disturb = (faulty: FaultyGpu, calls: number) => void;

/**
 * Expects that all pending promises reject with the same error, that this error has the given code, that later calls
 * throw the error, and that no memory leaks.
 */
async function expectEnd(options: WebGpuOptions, disturb: Disturb, code: string, cases: number): Promise<void> {
  let lost = 0;
  const property = fc.asyncProperty(arbitrarySteps, call, async (steps, calls) => {
    const { faulty, backend } = await openBackend(options);
    const context = new Context(backend);
    disturb(faulty, calls);
    const reasons = reasonsIn(await runSteps(context, steps), await undisturbed(steps));
    for (const reason of reasons) {
      expect(reason).toBe(reasons[0]);
      expect(reason).toMatchObject({ name: 'DeviceLostError', code });
    }
    expect(backend.counters).toMatchObject(nothingHeld);
    if (reasons.length > 0) {
      lost++;
      await expect(context.sync()).rejects.toBe(reasons[0]);
      expect(() => context.column(Uint32Array.of(1))).toThrow(reasons[0] as Error);
    }
    await context.close();
  });
  await fc.assert(property, { numRuns: costlyCaseCount(cases, 1), examples: [[manySteps, 2]] });
  expect(lost).toBeGreaterThan(0);
}

/** Expects that a standby takes over with the same bytes, and that neither backend leaks memory. */
async function expectTakeover(
  options: WebGpuOptions,
  disturb: Disturb,
  standby: () => Promise<Backend>,
  cases: number,
): Promise<void> {
  let lost = 0;
  const property = fc.asyncProperty(arbitrarySteps, call, async (steps, calls) => {
    const { faulty, backend } = await openBackend(options);
    const failover = createFailoverBackend(backend, { standby });
    const context = new Context(failover);
    disturb(faulty, calls);
    expect(await runSteps(context, steps)).toEqual(await undisturbed(steps));
    expect(failover.counters).toMatchObject(nothingHeld);
    lost += failover.failovers.length;
    await context.close();
    expect(backend.counters).toMatchObject(nothingHeld);
  });
  await fc.assert(property, { numRuns: costlyCaseCount(cases, 1), examples: [[manySteps, 2]] });
  expect(lost).toBeGreaterThan(0);
}

describe('a destroyed device', () => {
  test(
    'before any of its calls: pending reads reject, later calls throw, and another device can be opened',
    async () => {
      await expectEnd({}, destroyBefore, 'device/lost', 60);
    },
    slow,
  );

  test(
    'at any time: every read rejects or gives the right result, and no memory leaks',
    async () => {
      const property = fc.asyncProperty(arbitrarySteps, fc.nat(40), async (steps, milliseconds) => {
        const { faulty, backend } = await openBackend();
        const context = new Context(backend);
        const timer = setTimeout(() => faulty.device.destroy(), milliseconds);
        for (const reason of reasonsIn(await runSteps(context, steps), await undisturbed(steps))) {
          expect(reason).toMatchObject({ name: 'DeviceLostError', code: 'device/lost' });
        }
        expect(backend.counters).toMatchObject(nothingHeld);
        clearTimeout(timer);
        await context.close();
      });
      await fc.assert(property, { numRuns: costlyCaseCount(20) });
    },
    slow,
  );

  test(
    'before any of its calls changes no result when a standby takes over',
    async () => {
      await expectTakeover({}, destroyBefore, async () => createReferenceBackend(), 60);
    },
    slow,
  );

  test(
    'before any of its calls changes no result when workers take over',
    async () => {
      await expectTakeover({}, destroyBefore, openWorkers, 15);
    },
    slow,
  );
});

describe('a device that no longer responds', () => {
  afterEach(() => void vi.useRealTimers());

  test('is treated as lost after the hang limit, and not before', async () => {
    const { faulty, backend } = await openBackend({ hangLimit: 60_000 });
    const context = new Context(backend);
    const x = context.column(Uint32Array.of(3, 1, 2));
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    expect(await context.read(q.sort(x))).toEqual(Uint32Array.of(1, 2, 3));
    vi.advanceTimersByTime(10 ** 6);
    await context.sync();
    fallSilent(faulty);
    const ends = [context.read(x), context.sync(), context.read(q.sort(x))].map((wait) =>
      wait.catch((reason: unknown) => reason),
    );
    let ended = false;
    void Promise.race(ends).then(() => {
      ended = true;
    });
    vi.advanceTimersByTime(50_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(false);
    vi.advanceTimersByTime(10_000);
    const [first, ...others] = await Promise.all(ends);
    expect(first).toMatchObject({ name: 'DeviceLostError', code: 'device/hang', remedy: expect.any(String) });
    for (const other of others) expect(other).toBe(first);
    expect(() => q.sort(x)).toThrow(first as Error);
    await context.close();
    expect(vi.getTimerCount()).toBe(0);
    expect(backend.counters).toMatchObject(nothingHeld);
  });

  test(
    'from any of its calls on: pending reads reject after the hang limit',
    async () => {
      await expectEnd({ hangLimit: HANG }, silentFrom, 'device/hang', 12);
    },
    slow,
  );

  test(
    'from any of its calls on changes no result when a standby takes over',
    async () => {
      await expectTakeover({ hangLimit: HANG }, silentFrom, openWorkers, 12);
    },
    slow,
  );

  test('is replaced by a standby', async () => {
    const { faulty, backend } = await openBackend({ hangLimit: 60_000 });
    const failover = createFailoverBackend(backend, { standby: async () => createReferenceBackend() });
    const context = new Context(failover);
    const x = context.column(Uint32Array.of(3, 1, 2));
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    fallSilent(faulty);
    const sorted = context.read(q.sort(x));
    vi.advanceTimersByTime(60_000);
    expect(await sorted).toEqual(Uint32Array.of(1, 2, 3));
    expect(failover.failovers).toMatchObject([{ from: 'webgpu', to: 'reference', reason: { code: 'device/hang' } }]);
    await context.close();
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    'is not opened with a hang limit of %f ms',
    async (hangLimit) => {
      await expect(openBackend({ hangLimit })).rejects.toMatchObject({ code: 'device/hang-limit', got: hangLimit });
    },
  );
});

describe('a device without memory for a buffer', () => {
  test(
    'fails the affected reads with one error, and works again once memory is freed',
    async () => {
      let short = 0;
      const property = fc.asyncProperty(arbitrarySteps, fc.integer({ min: 1, max: 40 }), async (steps, at) => {
        const { faulty, backend } = await openBackend({}, await openPooledGpu());
        const context = new Context(backend);
        const kept = context.column(Uint32Array.of(5, 6, 7));
        await context.sync();
        const held = backend.counters.liveBytes;
        const allowBuffers = refuseBuffer(faulty, at);
        const expected = await undisturbed(steps);
        const reasons = reasonsIn(await runSteps(context, steps), expected);
        for (const reason of reasons) {
          expect(reason).toBe(reasons[0]);
          expect(reason).toMatchObject({ name: 'OutOfMemoryError', code: 'memory/device' });
        }
        if (reasons.length > 0) short++;
        expect(backend.counters).toMatchObject({ liveBuffers: 1, liveBytes: held });
        allowBuffers();
        // Waits for the work that nobody has awaited.
        await context.sync().catch(() => {});
        expect(await context.read(kept)).toEqual(Uint32Array.of(5, 6, 7));
        expect(await runSteps(context, steps)).toEqual(expected);
        await context.close();
      });
      await fc.assert(property, { numRuns: costlyCaseCount(40, 1), examples: [[manySteps, 1]] });
      expect(short).toBeGreaterThan(0);
    },
    slow,
  );

  test('loses the columns that were to be written, and reports that when they are used', async () => {
    const { faulty, backend } = await openBackend({}, await openPooledGpu());
    const context = new Context(backend);
    const x = context.column(Uint32Array.of(3, 1, 2));
    await context.sync();
    refuseBuffer(faulty, 1);
    const lost = context.materialize(q.sequence(1000));
    const also = q.sort(x);
    const error = await context.read(lost).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'memory/device' });
    for (const column of [lost, also]) {
      await expect(context.read(column)).rejects.toBe(error);
      expect(() => q.sort(column)).toThrow(error as Error);
    }
    context.dispose(lost, also);
    const total = q.reduce(q.sort(x), q.plus(u32));
    expect(await context.read(total)).toEqual(Uint32Array.of(6));
    await context.close();
  });
});
