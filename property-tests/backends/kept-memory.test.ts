import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { openWorkersBackend } from '../../backends/workers/backend.ts';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { nodeThreads } from '../../backends/workers/node-threads.ts';
import type { HostMessage } from '../../backends/workers/threads/queue.ts';
import type { Threads } from '../../backends/workers/threads/threads.ts';
import { Context } from '../../primitives/context/context.ts';
import type { Backend } from '../../primitives/contract/backend.ts';
import { fn, map, sequence, u32 } from '../../primitives/index.ts';
import { costlyCaseCount, someOf, THOROUGH } from '../cases.ts';
import { fc, test } from '../law-test.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Number of functors that are used once. This is more than the module caches hold (1024). */
const USED = THOROUGH ? 20_000 : 1400;
const MAX_HELD = 1250;
/** Bytes of the heap that the caches may take. */
const MAX_GROWTH = 2 ** 26;

/**
 * Collects garbage, at most three times, until at most `expected` of the objects are reachable. Returns the number of
 * objects that are still reachable.
 */
async function held(objects: readonly WeakRef<object>[], expected: number): Promise<number> {
  const count = (): number => objects.filter((each) => each.deref() !== undefined).length;
  for (let i = 0; i < 3 && (i === 0 || count() > expected); i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collect();
  }
  return count();
}

/** Uses new functors and drops them; returns weak references to their modules. */
async function useFunctors(context: Context, count: number, salt: number): Promise<WeakRef<object>[]> {
  const modules: WeakRef<object>[] = [];
  for (let k = 0; k < count; k++) {
    const functor = fn({ x: u32 }, u32, ({ x }) => x.add(k).mul(salt));
    modules.push(new WeakRef(functor.module));
    const column = context.materialize(map(functor, { x: sequence(20) }));
    const [first] = await context.read(column);
    expect(first).toBe(Math.imul(k, salt) >>> 0);
    context.dispose(column);
  }
  return modules;
}

/**
 * Weak references to all instances of a WebAssembly class that are created until the test ends. A spy of Vitest would
 * keep these instances alive.
 */
function made(name: 'Module' | 'Memory'): WeakRef<object>[] {
  const all: WeakRef<object>[] = [];
  const plain = WebAssembly[name] as new (argument: never) => object;
  const watched = new Proxy(plain, {
    construct(target, [argument]: [never]) {
      const object = new target(argument);
      all.push(new WeakRef(object));
      return object;
    },
  });
  Object.assign(WebAssembly, { [name]: watched });
  onTestFinished(() => void Object.assign(WebAssembly, { [name]: plain }));
  return all;
}

describe('functors used once', () => {
  const backends: readonly (readonly [string, () => Promise<Backend> | Backend])[] = [
    ['reference', () => createReferenceBackend()],
    ['workers', () => createWorkersBackend({ workers: 1 })],
  ];

  test.each(someOf(backends, 1))(
    'stay in memory only in small numbers: %s',
    async (_, open) => {
      await using context = new Context(await open());
      collect();
      const { heapUsed } = process.memoryUsage();
      expect(await held(await useFunctors(context, USED, 5), MAX_HELD)).toBeLessThanOrEqual(MAX_HELD);
      collect();
      expect(process.memoryUsage().heapUsed - heapUsed).toBeLessThan(MAX_GROWTH);
    },
    120_000,
  );

  test.prop([fc.array(fc.nat(99), { minLength: 100, maxLength: 200 }), fc.integer({ min: 2, max: 20 })], {
    numRuns: costlyCaseCount(10),
  })('leave at most the stated number of kernels, and a half more, in each thread', async (used, keptKernels) => {
    const installed = new Set<number>();
    const watched: Threads = {
      ...nodeThreads,
      start(setup) {
        const thread = nodeThreads.start(setup);
        const post = (message: HostMessage): void => {
          if (message.kind === 'install') message.exports.forEach((_, k) => void installed.add(message.first + k));
          else for (const each of message.functions) installed.delete(each);
          thread.post(message);
        };
        return { ...thread, post };
      },
    };
    await using context = new Context(
      await openWorkersBackend(watched, { workers: 1, keptKernels, inlineNanoseconds: 0 }),
    );
    let most = 0;
    for (const k of used) {
      const functor = fn({ x: u32 }, u32, ({ x }) => x.add(k).mul(13));
      const column = context.materialize(map(functor, { x: sequence(20) }));
      expect((await context.read(column))[0]).toBe(k * 13);
      context.dispose(column);
      most = Math.max(most, installed.size);
    }
    expect(most).toBeGreaterThan(keptKernels / 2);
    expect(most).toBeLessThanOrEqual(1.5 * keptKernels + 2);
  });

  test.each([
    ['the calling thread', Number.POSITIVE_INFINITY],
    ['the workers', 0],
  ])('leave few kernels in memory while they run on %s, and none after close', async (_, inlineNanoseconds) => {
    const compiled = made('Module');
    const context = new Context(await createWorkersBackend({ workers: 2, keptKernels: 32, inlineNanoseconds }));
    await useFunctors(context, 120, 7);
    expect(compiled.length).toBeGreaterThan(120);
    // Besides the 32 cached kernels, about two dozen more may still wait to be dropped. The limit leaves some margin.
    expect(await held(compiled, 69)).toBeLessThan(70);
    await context.close();
    expect(await held(compiled, 0)).toBe(0);
    expect(() => context.materialize(sequence(1))).toThrow();
  });

  test('the memory of a closed context is freed although the context is still referenced', async () => {
    const memories = made('Memory');
    const context = new Context(await createWorkersBackend({ workers: 2 }));
    await useFunctors(context, 3, 11);
    await context.close();
    expect(memories).toHaveLength(1);
    expect(await held(memories, 0)).toBe(0);
    expect(context.backend.name).toBe('workers');
  });
});
