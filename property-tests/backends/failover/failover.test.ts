import type { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { globals } from 'webgpu';
import { createFailoverBackend, type Failover, type FailoverOptions } from '../../../backends/failover/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { testAdapter } from '../../../backends/webgpu-node/index.ts';
import { open } from '../../../on-node.ts';
import { DeviceLostError, OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend, DeviceBuffer } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { plainBackends } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { arbitrarySteps, manySteps, runSteps, undisturbed } from '../../support/arbitrary-steps.ts';
import { answeringLate, LOST, lostBefore } from '../../support/faulty-backend.ts';
import { slow } from '../../support/webgpu-support.ts';

const { u32 } = q;

/**
 * Limits of the data that a failover backend keeps: the default, which is never reached, and two that are always
 * reached.
 */
const keeps: fc.Arbitrary<FailoverOptions['keep']> = fc.constantFrom(
  undefined,
  { bytes: 2000, commands: 3 },
  { bytes: 0, commands: 0 },
);

const onReference = async (): Promise<Backend> => createReferenceBackend();

const nothingHeld = { liveBuffers: 0, liveBytes: 0 };
const point = fc.integer({ min: 1, max: 60 });
/**
 * Number of the call at which a backend fails. The number is small, so that two backends can fail, one after the other,
 * within one sequence of steps.
 */
const soon = fc.integer({ min: 1, max: 30 });

describe.each(plainBackends)('a pipeline on $name whose backend is lost', ({ name, open: openBackend, runs }) => {
  // Workers get fewer cases, because their threads start slowly.
  const cases = name === 'workers' ? runs : 4 * runs;

  test(
    'before any call gives the same bytes and frees all memory',
    async () => {
      let lost = 0;
      const property = fc.asyncProperty(arbitrarySteps, point, keeps, async (steps, at, keep) => {
        const backend = createFailoverBackend(lostBefore(await openBackend(), at), { standby: onReference, keep });
        const context = new Context(backend);
        try {
          expect(await runSteps(context, steps)).toEqual(await undisturbed(steps));
          expect(backend.counters).toMatchObject(nothingHeld);
          expect(backend.failovers.length).toBeLessThanOrEqual(1);
          if (backend.failovers.length === 1) {
            lost++;
            expect(backend.name).toBe('reference');
            expect(backend.failovers[0]).toMatchObject({ to: 'reference', reason: { code: LOST } });
          }
        } finally {
          await context.close();
        }
      });
      await fc.assert(property, { numRuns: cases, examples: [[manySteps, 2, undefined]] });
      expect(lost).toBeGreaterThan(0);
    },
    slow,
  );
});

describe('commands that write in place', () => {
  /** Actions on four buffers. A model tracks the words of every buffer. */
  const action = fc.oneof(
    fc.record({
      kind: fc.constant('write' as const),
      to: fc.nat(3),
      word: fc.constantFrom(0, 0, 5),
      words: fc.constantFrom(20, 20, 7),
    }),
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('step' as const), from: fc.nat(3), to: fc.nat(3), rows: fc.nat(20) }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('read' as const), of: fc.nat(3) }) },
    fc.record({ kind: fc.constant('renew' as const), of: fc.nat(3) }),
    { weight: 4, arbitrary: fc.constant({ kind: 'turn' as const }) },
  );
  const turns = fc.array(fc.nat(4), { minLength: 1, maxLength: 5 });
  const actions = fc.array(action, { maxLength: 150, size: 'max' });

  test('see the previous contents after a failover at any call, for any set of kept copies', async () => {
    let lost = 0;
    const property = fc.asyncProperty(actions, point, turns, keeps, async (all, at, late, keep) => {
      const primary = lostBefore(answeringLate(createReferenceBackend(), late), at);
      const standby = async (): Promise<Backend> => answeringLate(createReferenceBackend(), late);
      const backend = createFailoverBackend(primary, { standby, keep });
      let seed = 0;
      const write = (buffer: DeviceBuffer, model: Uint32Array, word: number, words: number): void => {
        const data = Uint32Array.from({ length: Math.min(words, 20 - word) }, () => seed++);
        model.set(data, word);
        backend.write(buffer, word, data);
        data.fill(0);
      };
      const held = Array.from({ length: 4 }, () => ({ buffer: backend.allocate(20), model: new Uint32Array(20) }));
      for (const { buffer, model } of held) write(buffer, model, 0, 20);
      const reads: Promise<void>[] = [];
      const read = ({ buffer, model }: (typeof held)[number]): void => {
        const expected = model.slice();
        reads.push(backend.read(buffer, 0, 20).then((got) => expect(got).toEqual(expected)));
      };
      for (const one of all) {
        if (one.kind === 'turn') await new Promise((resolve) => setImmediate(resolve));
        else if (one.kind === 'read') read(held[one.of]!);
        else if (one.kind === 'write') write(held[one.to]!.buffer, held[one.to]!.model, one.word, one.words);
        else if (one.kind === 'renew') {
          const each = held[one.of]!;
          backend.release(each.buffer);
          each.buffer = backend.allocate(20);
          each.model = new Uint32Array(20);
          write(each.buffer, each.model, 0, 20);
        } else if (one.from !== one.to) {
          const [from, to] = [held[one.from]!, held[one.to]!];
          stepInto(backend, from.buffer, to.buffer, one.rows);
          for (let i = 0; i < one.rows; i++) to.model[i] = Math.imul(from.model[i]!, 5) + i;
        }
      }
      held.forEach(read);
      await Promise.all(reads);
      for (const { buffer } of held) backend.release(buffer);
      expect(backend.counters).toMatchObject(nothingHeld);
      lost += backend.failovers.length;
      await backend.close();
    });
    await fc.assert(property, { numRuns: caseCount(500) });
    expect(lost).toBeGreaterThan(0);
  });

  const next = q.fn({ i: u32, xs: q.array(u32) }, u32, ({ i, xs }) => xs.at(i).mul(5).add(i));

  function stepInto(backend: Backend, from: DeviceBuffer, to: DeviceBuffer, rows: number): void {
    const xs = { buffer: from, storage: 'u32', offset: 0, length: rows } as const;
    const program = { module: next.module, arrays: new Map([['xs', xs]]), uniforms: new Map() };
    backend.run({
      kind: 'forEach',
      extent: rows,
      program,
      stores: [{ buffer: to, offset: 0, capacity: rows, value: 0 }],
    });
  }
});

describe('a standby', () => {
  test(
    'is replaced when it is lost; a loss during takeover ends the backend with one error',
    async () => {
      const outcomes = { replaced: 0, ended: 0 };
      const property = fc.asyncProperty(arbitrarySteps, soon, soon, keeps, async (steps, first, second, keep) => {
        const opened = [lostBefore(createReferenceBackend(), first), lostBefore(createReferenceBackend(), second)];
        const next = async (): Promise<Backend> => opened.shift() ?? createReferenceBackend();
        const backend = createFailoverBackend(await next(), { standby: next, keep });
        const context = new Context(backend);
        const got = await runSteps(context, steps);
        const failed = got.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
        if (failed.length === 0) {
          expect(got).toEqual(await undisturbed(steps));
          if (backend.failovers.length === 2) outcomes.replaced++;
        } else {
          outcomes.ended++;
          for (const { reason } of failed) {
            expect(reason).toMatchObject({ name: 'DeviceLostError', code: 'device/standby', cause: { code: LOST } });
            expect(reason).toBe(failed[0]!.reason);
          }
          await expect(context.sync()).rejects.toBe(failed[0]!.reason);
        }
        expect(backend.counters).toMatchObject(nothingHeld);
        await context.close();
      });
      await fc.assert(property, { numRuns: 200 });
      expect(outcomes.replaced).toBeGreaterThan(0);
      expect(outcomes.ended).toBeGreaterThan(0);
    },
    slow,
  );

  test('that cannot be opened ends the backend, with the reason as the cause', async () => {
    const cause = new Error('no more of them');
    const standby = (): Promise<Backend> => Promise.reject(cause);
    await using context = new Context(createFailoverBackend(lostBefore(createReferenceBackend(), 4), { standby }));
    const x = context.column(Uint32Array.of(3, 1, 2));
    const sorted = q.sort(x);
    await expect(context.read(sorted)).rejects.toMatchObject({ code: 'device/standby', cause });
    expect(() => q.sort(x)).toThrow(expect.objectContaining({ code: 'device/standby', cause }));
    context.dispose(x, sorted);
    expect(context.backend.counters).toMatchObject(nothingHeld);
  });

  test('with too little memory ends the backend with its error as the cause', async () => {
    const standby = async (): Promise<Backend> => createReferenceBackend({ limits: { memoryBytes: 100 } });
    await using context = new Context(createFailoverBackend(lostBefore(createReferenceBackend(), 3), { standby }));
    const x = context.column(new Uint32Array(100));
    const error = await context.read(x).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(DeviceLostError);
    expect((error as Error).cause).toBeInstanceOf(OutOfMemoryError);
  });
});

test('a backend that is lost while it lends words does not lose the standby', async () => {
  let refuse = (_: unknown): void => {};
  const lending: Backend = {
    ...createReferenceBackend(),
    lendWords: () => new Promise((_, reject) => (refuse = reject)),
  };
  const standby = async (): Promise<Backend> => createReferenceBackend();
  const backend = createFailoverBackend(lending, { standby });
  await using context = new Context(backend);
  const lent = context.lendArray(context.column(Uint32Array.of(3, 1, 2)));
  await context.sync();
  const lost = new DeviceLostError(LOST, 'Lost while it lends.');
  lending.abort(lost);
  await context.sync();
  // The lost backend answers long after the standby has taken over.
  refuse(lost);
  expect((await lent).array).toEqual(Uint32Array.of(3, 1, 2));
  await context.sync();
  expect(backend.failovers).toMatchObject([{ reason: lost }]);
});

test(
  'a context of open() continues on workers when its device is destroyed, reports why, and survives lost workers',
  async () => {
    const { prototype } = (globals as { GPUAdapter: { prototype: GPUAdapter } }).GPUAdapter;
    const spy = vi.spyOn(prototype, 'requestDevice');
    const reported: Failover[] = [];
    const onFailover = (failover: Failover): void => void reported.push(failover);
    const options = { backend: 'webgpu', adapter: testAdapter(), workers: 2 } as const;
    const context = await open({ ...options, failover: 'workers', onFailover });
    const device = (await spy.mock.results.at(-1)!.value) as GPUDevice;
    spy.mockRestore();
    const threads: Worker[] = [];
    const add = (thread: Worker): void => void threads.push(thread);
    process.on('worker', add);
    const numbers = context.column(Uint32Array.from({ length: 5000 }, (_, i) => i));
    const sums = context.scope(() => q.inclusiveScan(numbers, q.plus(u32)));
    const waiting = context.read(sums);
    device.destroy();
    const expected = Uint32Array.from({ length: 5000 }, (_, i) => (i * (i + 1)) / 2);
    expect(await waiting).toEqual(expected);
    expect(context.backend.name).toBe('workers');
    await threads[1]!.terminate();
    expect(await context.read(q.reverse(sums))).toEqual(expected.reverse());
    process.off('worker', add);
    expect(reported).toMatchObject([
      { from: 'webgpu', to: 'workers', reason: { code: 'device/lost' } },
      { from: 'workers', to: 'workers', reason: { code: 'device/worker' } },
    ]);
    context.dispose(numbers, sums);
    expect(context.backend.counters).toMatchObject(nothingHeld);
    await context.close();
  },
  slow,
);
