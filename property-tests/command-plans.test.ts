import { expect, test, vi } from 'vitest';
import { createCommandPlans, runPlanned, type TracedRun } from '../backends/webgpu/command-plans.ts';
import { CommandSignature, signatures } from '../backends/webgpu/command-signature.ts';
import type { TracedUniform } from '../backends/webgpu/command-trace.ts';
import type { Engine } from '../backends/webgpu/engine.ts';
import type { Program, Store } from '../primitives/backend.ts';

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

/** Issues a command over two buffers; `run` is its kernel. */
function issuer(): (from: number, to: number, rows: number, uniform: number, run: TracedRun) => void {
  const plans = createCommandPlans();
  const signature = new CommandSignature(pool as never);
  const memories = Array.from({ length: 9 }, (_, id) => memory(id, id === 8 ? 128 : 64));
  return (from, to, rows, uniform, run) => {
    const program = programOf(memories[from]!, uniform);
    const store: Store = { buffer: memories[to]!, offset: 0, capacity: 8, value: 0 };
    signatures.forEach(signature, rows, program, [store]);
    runPlanned(engine, plans, signature, (on, traced) => {
      traced(program);
      run(on, traced);
    });
  };
}

test('a command that was seen twice is not worked out again, whatever its buffers and uniforms', () => {
  const issue = issuer();
  const kernel = vi.fn();
  for (let call = 0; call < 6; call++) issue(call, call + 1, 8, call, kernel);
  expect(kernel).toHaveBeenCalledTimes(2);
});

test.each([
  ['the rows', [0, 1, 7, 0]],
  ['which buffers are one', [0, 0, 8, 0]],
  ['the length of a buffer', [8, 1, 8, 0]],
] as const)('a command differs where %s differ', (_, [from, to, rows, uniform]) => {
  const issue = issuer();
  const kernel = vi.fn();
  for (let call = 0; call < 3; call++) issue(0, 1, 8, 0, kernel);
  issue(from, to, rows, uniform, kernel);
  expect(kernel).toHaveBeenCalledTimes(3);
});

test('a plan holds as long as uniforms are on the same side of what they were compared with', () => {
  const issue = issuer();
  const compared = vi.fn();
  const kernel: TracedRun = (on, traced) => {
    compared();
    const { trace } = on;
    if (trace === undefined) return;
    const uniform = traced(programOf(memory(0), 12)).uniforms.get('u0') as unknown as TracedUniform;
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

test('a command that fails on its way, and is carried out otherwise, has no plan', () => {
  const issue = issuer();
  const kernel = vi.fn<TracedRun>((on) => {
    try {
      on.pool.attempt(() => {
        throw new Error('no memory');
      });
    } catch {
      // Another way.
    }
  });
  for (let call = 0; call < 5; call++) issue(0, 1, 8, 0, kernel);
  expect(kernel).toHaveBeenCalledTimes(5);
});
