import { expect, test, vi } from 'vitest';
import { createCommandPlans, runPlanned, type TracedRun } from '../../../backends/webgpu/launches/command-plans.ts';
import { CommandSignature } from '../../../backends/webgpu/launches/command-signature.ts';
import type { Engine } from '../../../backends/webgpu/launches/engine.ts';
import type { TracedUniform } from '../../../backends/webgpu/launches/traced-uniform.ts';
import type { ArrayBinding, CountRef, Length, Program, Storage, Store } from '../../../primitives/contract/backend.ts';
import type { NumberList } from '../../../primitives/host/structures.ts';

const memory = (id: number, words = 64) => ({ id, words, parts: [{ id, bytes: words * 4, lastUse: -1 }], shift: 30 });
const pool = { resolve: (buffer: unknown) => buffer, attempt: (run: () => void) => run() };
const engine = { pool, recorder: {}, spine: {} } as unknown as Engine;

const module: Program['module'] = {
  functions: [
    {
      name: 'plans',
      parameters: [{ kind: 'local', type: 'u32', id: 0 }],
      results: ['u32'],
      body: [{ kind: 'return', values: [{ kind: 'uniform', type: 'u32', name: 'u0' }] }],
      fast: false,
    },
  ],
  arrays: new Map([['a0', 'u32']]),
  uniforms: new Map([['u0', 'u32']]),
};

const programOf = (buffer: ReturnType<typeof memory>, uniform: number): Program => ({
  module,
  arrays: new Map([['a0', { buffer, storage: 'u32', offset: 0, length: 8 }]]),
  uniforms: new Map([['u0', uniform]]),
});

/**
 * Returns a function that issues a command. The command reads the buffer with number `from` and stores to the buffer
 * with number `to`; `run` is the kernel of the command.
 */
function issuer(): (from: number, to: number, rows: number, uniform: number, run: TracedRun) => void {
  const plans = createCommandPlans();
  const signature = new CommandSignature(pool as never);
  const memories = Array.from({ length: 9 }, (_, id) => memory(id, id === 8 ? 128 : 64));
  return (from, to, rows, uniform, run) => {
    const program = programOf(memories[from]!, uniform);
    const store: Store = { buffer: memories[to]!, offset: 0, capacity: 8, value: 0 };
    signature.clear();
    signature.command({ kind: 'forEach', extent: rows, program: program, stores: [store] });
    runPlanned(engine, plans, signature, (on, traced) => {
      traced?.(program);
      run(on, traced);
    });
  };
}

test('a command issued twice has a plan from then on, for any buffers and uniforms', () => {
  const issue = issuer();
  const kernel = vi.fn();
  for (let call = 0; call < 6; call++) issue(call, call + 1, 8, call, kernel);
  expect(kernel).toHaveBeenCalledTimes(2);
});

/** A random command over three arrays in two buffers. */
interface Sample {
  readonly buffers: readonly [number, number, number];
  readonly offsets: readonly [number, number, number];
  readonly storage: Storage;
  readonly length: Length;
  readonly extent: Length;
  readonly to: number;
  readonly capacity: number;
  readonly guard: number | undefined;
  readonly combine: Store['combine'];
}

const cell: CountRef = { buffer: memory(7), word: 3, minus: 1, limit: 8 };
const sample: Sample = {
  buffers: [0, 1, 0],
  offsets: [1, 1, 2],
  storage: 'u32',
  length: 8,
  extent: 8,
  to: 2,
  capacity: 8,
  guard: undefined,
  combine: undefined,
};

function writtenDown({ buffers, offsets, storage, length, extent, to, capacity, guard, combine }: Sample): NumberList {
  const signature = new CommandSignature(pool as never);
  const memories = Array.from({ length: 9 }, (_, id) => memory(id, id === 8 ? 128 : 64));
  const names = ['a0', 'a1', 'a2'];
  const bindings = names.map((name, i): [string, ArrayBinding] => [
    name,
    { buffer: memories[buffers[i]!]!, storage, offset: offsets[i]!, length },
  ]);
  const arrays = new Map(names.map((name) => [name, 'u32' as const]));
  const program = { module: { ...module, arrays }, arrays: new Map(bindings), uniforms: new Map([['u0', 1]]) };
  const store: Store = {
    buffer: memories[to]!,
    offset: 0,
    capacity,
    value: 0,
    ...(guard !== undefined && { guard }),
    ...(combine !== undefined && { combine }),
  };
  signature.command({ kind: 'forEach', extent: extent, program: program, stores: [store] });
  return signature.list;
}

test.each<readonly [string, Partial<Sample>]>([
  ['the arrays that share a buffer', { buffers: [0, 1, 1] }],
  ['the written buffer', { to: 1 }],
  ['the length of a buffer', { to: 8 }],
  ['offsets', { offsets: [1, 1, 3] }],
  ['storages', { storage: 'f32' }],
  ['lengths', { length: 7 }],
  ['device or host lengths', { length: cell }],
  ['rows', { extent: 9 }],
  ['device or host row counts', { extent: cell }],
  ['capacities', { capacity: 9 }],
  ['guards', { guard: 1 }],
  ['combinations', { combine: 'add' }],
])('commands differ when they differ in %s', (_, change) => {
  const copy = writtenDown(sample).copy();
  expect(writtenDown({ ...sample, buffers: [3, 4, 3] }).matches(copy)).toBe(true);
  expect(writtenDown({ ...sample, ...change }).matches(copy)).toBe(false);
});

test.each<readonly [string, Partial<CountRef>]>([
  ['word', { word: 4 }],
  ['minus', { minus: 2 }],
  ['limit', { limit: 9 }],
])('commands differ when the %s of a count differs', (_, change) => {
  const copy = writtenDown({ ...sample, extent: cell }).copy();
  expect(writtenDown({ ...sample, extent: { ...cell, ...change } }).matches(copy)).toBe(false);
});

test('a plan stays valid while uniforms compare alike with the thresholds of the plan', () => {
  const issue = issuer();
  const compared = vi.fn();
  const kernel: TracedRun = (on, traced) => {
    compared();
    const { trace } = on;
    if (trace === undefined) return;
    const uniform = traced!(programOf(memory(0), 12)).uniforms.get('u0') as unknown as TracedUniform;
    Object.assign(uniform, { uniform: 0 });
    uniform.reaches(10);
  };
  for (const uniform of [12, 13, 14, 10]) issue(0, 1, 8, uniform, kernel);
  expect(compared).toHaveBeenCalledTimes(2);
  issue(0, 1, 8, 9, kernel);
  expect(compared).toHaveBeenCalledTimes(3);
  issue(0, 1, 8, 11, kernel);
  expect(compared).toHaveBeenCalledTimes(3);
});

test('a command that fails first and falls back to another way has no plan', () => {
  const issue = issuer();
  const kernel = vi.fn<TracedRun>((on) => {
    try {
      on.pool.attempt(() => {
        throw new Error('no memory');
      });
    } catch {
      // The failure is ignored. A real kernel would now try another method.
    }
  });
  for (let call = 0; call < 5; call++) issue(0, 1, 8, 0, kernel);
  expect(kernel).toHaveBeenCalledTimes(5);
});
