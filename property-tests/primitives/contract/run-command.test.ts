import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFailoverBackend } from '../../../backends/failover/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import type { Backend, DeviceBuffer, KernelCommand, Program } from '../../../primitives/contract/backend.ts';
import { buffersOf, mapPrograms } from '../../../primitives/contract/visit-command.ts';
import * as q from '../../../primitives/index.ts';
import { Context, fn, u32 } from '../../../primitives/index.ts';
import { backendsWithout } from '../../backends.ts';
import { checkBackend, law } from '../../index.ts';

/** A reference backend with another `run`. */
function running(run: (command: KernelCommand, inner: Backend) => boolean): Backend {
  const inner = createReferenceBackend();
  return { ...inner, counters: inner.counters, run: (command) => run(command, inner) };
}

describe('a backend with a method for each kernel', () => {
  const { run: _, ...rest } = createReferenceBackend();
  const old = { ...rest, forEach: () => {}, scan: () => {} } as never;
  test.each<readonly [string, () => unknown]>([
    ['new Context', () => new Context(old)],
    ['createFailoverBackend', () => createFailoverBackend(old, { standby: async () => createReferenceBackend() })],
    ['createSpillingBackend', () => createSpillingBackend(old)],
  ])('is refused by %s with the new method', (_, open) => {
    expect(open).toThrow(expect.objectContaining({ code: 'backend/methods', remedy: expect.stringContaining('run') }));
  });
});

test('a backend that refuses one of the seven kernels fails at its first command', () => {
  const context = new Context(running((command, inner) => command.kind !== 'scan' && inner.run(command)));
  expect(() => q.inclusiveScan(context.column(Uint32Array.of(1, 2)), q.plus(u32))).toThrow(
    expect.objectContaining({ code: 'backend/kernel', message: expect.stringContaining('scan') }),
  );
});

/** All buffers in a command, wherever they are. */
function allBuffers(part: unknown): DeviceBuffer[] {
  if (part instanceof Map) return [...part.values()].flatMap(allBuffers);
  if (typeof part !== 'object' || part === null || 'functions' in part) return [];
  return Object.entries(part).flatMap(([name, each]) =>
    name === 'buffer' ? [each as DeviceBuffer] : allBuffers(each),
  );
}

function isProgram(part: unknown): boolean {
  return typeof part === 'object' && part !== null && 'module' in part && 'arrays' in part;
}

test('a backend without a kernel refuses its commands', async () => {
  const backend = await backendsWithout('weightedHistogram')[0]!.open();
  expect(backend.run({ kind: 'weightedHistogram' } as KernelCommand)).toBe(false);
});

test('the parts of a command are all its buffers and programs', () => {
  const commands: KernelCommand[] = [];
  const context = new Context(running((command, inner) => commands.push(command) > 0 && inner.run(command)));
  const x = context.column(Uint32Array.of(1, 0, 1, 2));
  const flags = q.map(
    fn('isOne', { x: u32 }, q.bool, ({ x }) => x.eq(1)),
    { x },
  );
  const some = q.copyIf(x, flags);
  const times = fn('times', { a: u32, b: u32 }, u32, ({ a, b }) => a.mul(b));
  q.crossReduce({ a: some }, { b: q.sequence(3) }, times, q.plus(u32));
  q.weightedHistogram(some, 4, { w: some });
  q.disjointSets({ a: some, b: some }, some.length);
  const binOf = fn('binOf', { x: u32, rank: u32 }, { bin: u32, histogram: u32 }, ({ x, rank }) => ({
    bin: x.add(rank),
    histogram: 0,
  }));
  q.rankHistogram({ active: flags, x }, binOf, { ranks: 2, bins: 8, histograms: 1 });
  const each = fn({ first: u32, some: q.owned(u32) }, {}, ({ first, some }) => some.set(first, 1));
  q.forEachStrip({ some }, [{ rows: 2, each }]);
  q.sort(some);
  q.inclusiveScan(q.asGrid(x, { rows: 2, columns: 2 }), q.plus(u32), { axis: 'columns' });
  q.reduce(some, q.plus(u32));
  expect(new Set(commands.map(({ kind }) => kind)).size).toBeGreaterThan(5);
  for (const command of commands) {
    const { reads, writes } = buffersOf(command);
    expect(new Set([...reads, ...writes])).toEqual(new Set(allBuffers(command)));
    const programs: Program[] = [];
    const same = mapPrograms(command, (program) => programs[programs.push(program) - 1]!);
    expect(same).toEqual(command);
    expect(programs.length).toBe(Object.values(command).filter(isProgram).length + ('inner' in command ? 1 : 0));
  }
});

test('broken laws name the backend under test', async () => {
  const wrong = running((command, inner) => inner.run(command.kind === 'sort' ? { ...command, endBit: 1 } : command));
  const sorts = law('sorts', [fc.uint32Array({ minLength: 1 })], async (run, keys) => {
    await run((context) => q.sort(context.column(Uint32Array.of(...keys.slice(0, 3), 2, 1))));
  });
  await expect(checkBackend(() => wrong, { laws: [sorts], numRuns: 1 })).rejects.toMatchObject({
    errors: [{ cause: { message: expect.stringContaining('the backend under test') } }],
  });
});
