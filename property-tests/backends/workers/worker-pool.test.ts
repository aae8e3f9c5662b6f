import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { CHUNK, kernelParameters, WORKER } from '../../../backends/workers/commands/kernel-arguments.ts';
import type { Launch, Phase } from '../../../backends/workers/commands/launch.ts';
import { startWorker } from '../../../backends/workers/node-threads.ts';
import { createPool, type Pool } from '../../../backends/workers/threads/pool.ts';
import { fixed } from '../../../backends/workers/threads/queue.ts';
import { Code } from '../../../backends/workers/wasm/wasm-code.ts';
import { type FunctionBody, I32, op, PAGE_BYTES } from '../../../backends/workers/wasm/wasm-encoder.ts';
import { atomicLoad, i32, load } from '../../../backends/workers/wasm/wasm-expressions.ts';
import { atomicAdd, br, brIf, loop, store, whileTrue } from '../../../backends/workers/wasm/wasm-statements.ts';
import { DeviceLostError } from '../../../primitives/checks/errors.ts';
import { someOf, THOROUGH } from '../../cases.ts';
import { builtPackage } from '../../support/built-package.ts';
import { startedBy } from './worker-pool-support.ts';

const run = promisify(execFile);
const BUILT = await builtPackage();

/** The address to which the kernels of these tests write. */
const BASE: number = fixed.heap;

function newMemory(): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: fixed.heap / PAGE_BYTES + 4, maximum: 65536, shared: true });
}

function kernel(write: (code: Code) => void): FunctionBody {
  const code = new Code(kernelParameters);
  write(code);
  return code.finish();
}

/** A kernel that does some work and then adds 1 to memory[chunk]. */
const visit = kernel((code) => {
  const rounds = code.local(I32);
  rounds.set(300);
  whileTrue(code, rounds, () => rounds.set(rounds.sub(1)));
  atomicAdd(code, CHUNK.shl(2).add(BASE), i32(1));
});

/**
 * A kernel of 64 chunks: target[chunk] = 3 · source[chunk] + source[n − 1 − chunk]. The previous phase wrote `source`.
 */
const mix = (source: number, target: number): FunctionBody =>
  kernel((code) => {
    const [at, opposite] = [CHUNK.shl(2), i32(63).sub(CHUNK).shl(2)];
    store(
      code,
      at,
      load(at, BASE + source)
        .mul(3)
        .add(load(opposite, BASE + source)),
      BASE + target,
    );
  });

const trap = kernel((code) => code.write(op.unreachable));
/** A kernel that adds 1 to memory[worker] and then never ends. */
const forever = kernel((code) => {
  countWorker(code);
  loop(code, (again) => br(code, again));
});
/** Address of the word to which the host writes 1 to release waiting workers. */
const GATE = 1000;
/** A kernel that adds 1 to memory[worker] and then waits until GATE is 1. */
const held = kernel((code) => {
  countWorker(code);
  loop(code, (again) => brIf(code, again, atomicLoad(BASE + 4 * GATE).isZero()));
});
const markWorker = kernel(countWorker);

function countWorker(code: Code): void {
  atomicAdd(code, WORKER.shl(2).add(BASE), i32(1));
}

function phase(runs: number, chunks: number): Phase {
  return { run: runs, length: [0, 0, chunks], chunkSize: 1, minimum: 0 };
}

function launchOf(...phases: Phase[]): Launch {
  return { words: [0], phases };
}

async function withPool<T>(
  workers: number,
  body: (pool: Pool, words: Int32Array, threads: readonly Worker[]) => Promise<T>,
  helpMilliseconds = 0,
): Promise<T> {
  const memory = newMemory();
  const threads: Worker[] = [];
  const platform = startedBy((setup) => {
    const thread = startWorker(setup);
    threads.push(thread);
    return thread;
  });
  const pool = await createPool(memory, workers, platform, helpMilliseconds);
  try {
    return await body(pool, new Int32Array(memory.buffer, BASE), threads);
  } finally {
    await pool.close();
  }
}

/** Pools of one thread, and of several. */
const SIZES = [1, ...someOf([2, 5], 1)];
/** The number of rounds of a test: by default, a third of the thorough number. */
const roundsOf = (thorough: number): number => (THOROUGH ? thorough : Math.ceil(thorough / 3));

describe.each(SIZES)('a pool of %i', (workers) => {
  test('runs every chunk of every phase exactly once', async () => {
    await withPool(workers, async (pool, words) => {
      const first = pool.install([visit]);
      for (let round = 0; round < 200; round++)
        pool.submit(launchOf(phase(first, 97), phase(first, 0), phase(first, 3)));
      await pool.until(pool.issued);
      expect(Array.from(words.subarray(0, 98))).toEqual([...new Array(3).fill(400), ...new Array(94).fill(200), 0]);
      expect(pool.idle).toBe(true);
    });
  });

  test('starts a phase only after the previous one is done', async () => {
    await withPool(workers, async (pool, words) => {
      const first = pool.install([mix(0, 256), mix(256, 0)]);
      let expected = Array.from({ length: 64 }, (_, i) => i);
      words.set(expected);
      for (let round = 0; round < 300; round++) pool.submit(launchOf(phase(first, 64), phase(first + 1, 64)));
      for (let round = 0; round < 600; round++) {
        expected = expected.map((x, i) => (Math.imul(x, 3) + expected[63 - i]!) | 0);
      }
      await pool.until(pool.issued);
      expect(Array.from(words.subarray(0, 64))).toEqual(expected);
    });
  });

  test.each([
    ['its ring holds', 4],
    ['its argument buffer holds', 5000],
  ])('accepts more phases than %s', async (_, size) => {
    await withPool(workers, async (pool, words) => {
      const first = pool.install([visit]);
      for (let round = 0; round < 6000; round++) {
        pool.submit({ words: new Array(round % 7 === 0 ? size : 4).fill(round), phases: [phase(first, 1)] });
      }
      await pool.until(3000);
      expect(pool.completed).toBeGreaterThanOrEqual(3000);
      await pool.until(pool.issued);
      expect(words[0]).toBe(6000);
    });
  });

  test('resolves every wait after its phase is done, not before', async () => {
    await withPool(workers, async (pool, words) => {
      const first = pool.install([visit]);
      const waits = Array.from({ length: 40 }, async (_, i) => {
        pool.submit(launchOf(phase(first, 50)));
        await pool.until(i + 1);
        return words[49]!;
      });
      const seen = await Promise.all(waits);
      seen.forEach((count, i) => {
        expect(count).toBeGreaterThanOrEqual(i + 1);
      });
    });
  });

  test('never misses the end of a phase', async () => {
    await withPool(workers, async (pool) => {
      const first = pool.install([visit]);
      for (let round = 0; round < roundsOf(3000); round++) {
        pool.submit(launchOf(phase(first, 1 + (round % 5)), phase(first, 1)));
        await pool.until(pool.issued);
      }
      expect(pool.completed).toBe(2 * roundsOf(3000));
    });
  });

  test('reports a trap as an error with its cause, and drops later phases', async () => {
    await withPool(workers, async (pool, words) => {
      const first = pool.install([trap, visit]);
      pool.submit(launchOf(phase(first, 1), phase(first + 1, 1)));
      const error = await pool.until(2).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(DeviceLostError);
      expect(error).toMatchObject({ code: 'device/worker', cause: { message: expect.stringMatching(/unreachable/) } });
      expect(words[0]).toBe(0);
      await expect(pool.until(1)).rejects.toBe(error);
      expect(() => pool.submit(launchOf(phase(first, 1)))).toThrow(DeviceLostError);
    });
  });

  test('reports the death of a thread as an error', async () => {
    await withPool(workers, async (pool, words, threads) => {
      const first = pool.install([forever]);
      pool.submit(launchOf(phase(first, workers)));
      const waiting = pool.until(1);
      while (words[0] === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      void threads[0]!.terminate();
      await expect(waiting).rejects.toMatchObject({ code: 'device/worker' });
      for (const thread of threads) void thread.terminate();
    });
  });

  test('stops at the next chunk', async () => {
    await withPool(workers, async (pool, words) => {
      const first = pool.install([held, visit]);
      pool.submit(launchOf(phase(first, 1000 * workers), phase(first + 1, 10)));
      const waiting = pool.until(2);
      while (words.subarray(0, workers).includes(0)) await new Promise((resolve) => setTimeout(resolve, 1));
      const reason = new Error('enough');
      pool.stop(reason);
      await expect(waiting).rejects.toBe(reason);
      Atomics.store(words, GATE, 1);
      await pool.close();
      // No worker got beyond its first chunk.
      expect(Array.from(words.subarray(0, 10))).toEqual([
        ...new Array(workers).fill(1),
        ...new Array(10 - workers).fill(0),
      ]);
    });
  });

  test('runs chunks on the calling thread only when asked to', async () => {
    await withPool(workers, async (pool, words) => {
      const first = pool.install([markWorker]);
      pool.runHere(launchOf(phase(first, 10)));
      expect(words[0]).toBe(10);
      expect(pool.issued).toBe(0);
    });
  });
});

/** Milliseconds for which a waiting thread helps the workers. This is longer than any of these tests takes. */
const ALL_THE_TIME = 1e6;

/** Waits until all threads sleep: they stop polling for commands within a millisecond. */
const nap = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 30));

describe.each(SIZES)('the thread that waits for a pool of %i', (workers) => {
  test('helps while all pending phases are short, so that they finish at once', async () => {
    await withPool(
      workers,
      async (pool, words) => {
        const first = pool.install([visit]);
        let atOnce = 0;
        for (let round = 1; round <= roundsOf(20); round++) {
          await nap();
          for (let k = 0; k < 3; k++) pool.submit(launchOf(phase(first, 40), phase(first, 0), phase(first, 5)), 0);
          const waiting = pool.until(pool.issued);
          if (pool.completed === pool.issued) atOnce++;
          await waiting;
          expect([words[4], words[5], words[39]]).toEqual([6 * round, 3 * round, 3 * round]);
        }
        // On a busy machine, some threads may still be awake in some rounds, but not in all.
        expect(atOnce).toBeGreaterThan(0);
      },
      ALL_THE_TIME,
    );
  });

  test.each([
    ['long phases', ALL_THE_TIME, undefined],
    ['phases beyond its time limit for help', 0, 0],
  ])('leaves %s to the workers', async (_, help, nanoseconds) => {
    await withPool(
      workers,
      async (pool, words) => {
        const first = pool.install([held]);
        pool.submit(launchOf(phase(first, 1)), nanoseconds);
        const waiting = pool.until(1);
        expect(pool.completed).toBe(0);
        Atomics.store(words, GATE, 1);
        await waiting;
        expect(Array.from(words.subarray(0, workers)).reduce((sum, count) => sum + count)).toBe(1);
      },
      help,
    );
  });

  test('yields to its event loop when its time is up', async () => {
    await withPool(
      workers,
      async (pool) => {
        const first = pool.install([visit]);
        let later = 0;
        for (let round = 0; round < roundsOf(10); round++) {
          await nap();
          pool.submit(launchOf(phase(first, 3e4), phase(first, 3e4)), 0);
          const waiting = pool.until(pool.issued);
          if (pool.completed < pool.issued) later++;
          await waiting;
        }
        // On a busy machine, the threads may finish some rounds while this thread is suspended.
        expect(later).toBeGreaterThan(0);
      },
      1e-3,
    );
  });

  test('sees every chunk run exactly once, on whichever thread', async () => {
    await withPool(
      workers,
      async (pool, words) => {
        const first = pool.install([visit, visit]);
        const visits = new Array<number>(64).fill(0);
        let seed = 1;
        const random = (below: number): number => {
          seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
          return Math.floor((seed / 2 ** 32) * below);
        };
        for (let round = 0; round < roundsOf(1500); round++) {
          const counts = Array.from({ length: 1 + random(4) }, () => random(64));
          pool.submit(
            launchOf(...counts.map((chunks, k) => phase(first + (k % 2), chunks))),
            random(4) > 0 ? random(1e6) : undefined,
          );
          for (const chunks of counts) for (let chunk = 0; chunk < chunks; chunk++) visits[chunk]!++;
          if (random(3) === 0) await pool.until(pool.issued - random(2));
          if (random(100) === 0) await nap();
        }
        await pool.until(pool.issued);
        expect(Array.from(words.subarray(0, 64))).toEqual(visits);
      },
      0.3,
    );
  });

  test('gets the error of a trap in a chunk that it ran', async () => {
    await withPool(
      workers,
      async (pool) => {
        const first = pool.install([trap]);
        await nap();
        pool.submit(launchOf(phase(first, 20)), 0);
        await expect(pool.until(1)).rejects.toMatchObject({ code: 'device/worker' });
      },
      ALL_THE_TIME,
    );
  });

  test('leaves functions that are uninstalled while they run to the workers', async () => {
    await withPool(
      workers,
      async (pool, words) => {
        for (let round = 1; round <= roundsOf(50); round++) {
          const first = pool.install([visit]);
          pool.submit(launchOf(phase(first, 30)), 0);
          pool.uninstall([first]);
          await pool.until(pool.issued);
          expect(words[29]).toBe(round);
        }
      },
      ALL_THE_TIME,
    );
  });
});

test('a thread in an endless loop does not prevent the pool from closing', async () => {
  await withPool(2, async (pool, words) => {
    const first = pool.install([forever]);
    pool.submit(launchOf(phase(first, 2)));
    const waiting = pool.until(1).catch((reason: unknown) => reason);
    while (words[0] === 0 || words[1] === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await pool.close();
    expect(await waiting).toMatchObject({ code: 'device/closed' });
  });
});

test('a worker that cannot start rejects with the cause', async () => {
  const { Worker: NodeWorker } = await import('node:worker_threads');
  const unlucky = startedBy(() => new NodeWorker('throw new Error("no luck")', { eval: true }));
  const broken = createPool(newMemory(), 2, unlucky);
  await expect(broken).rejects.toMatchObject({ code: 'device/worker', cause: { message: 'no luck' } });
});

test('when a worker cannot be created, the workers started before it end', async () => {
  const threads: Worker[] = [];
  const refusing = startedBy((setup) => {
    if (threads.length === 2) throw Object.assign(new Error('not allowed'), { code: 'ERR_ACCESS_DENIED' });
    threads.push(startWorker(setup));
    return threads.at(-1)!;
  });
  const refused = createPool(newMemory(), 3, refusing);
  await expect(refused).rejects.toMatchObject({
    code: 'device/no-threads',
    remedy: expect.stringContaining('--allow-worker'),
    cause: { code: 'ERR_ACCESS_DENIED' },
  });
  // The id of a thread that has ended is −1.
  expect(threads.map(({ threadId }) => threadId)).toEqual([-1, -1]);
});

test('when a worker fails while it starts, the others end', async () => {
  const { Worker: NodeWorker } = await import('node:worker_threads');
  const threads: Worker[] = [];
  const unlucky = startedBy((setup) => {
    threads.push(
      setup.worker === 2 ? new NodeWorker('throw new Error("no luck")', { eval: true }) : startWorker(setup),
    );
    return threads.at(-1)!;
  });
  const broken = createPool(newMemory(), 3, unlucky);
  await expect(broken).rejects.toMatchObject({ code: 'device/worker' });
  expect(threads.map(({ threadId }) => threadId)).toEqual([-1, -1, -1]);
});

describe.each([1, 3])('functions of a pool of %i', (workers) => {
  test('are dropped when no command runs them any more, and never before', async () => {
    await withPool(workers, async (pool, words) => {
      let kept: number[] = [];
      let visits = 0;
      for (let round = 0; round < 400; round++) {
        const first = pool.install([visit]);
        for (const run of [first, ...kept]) {
          pool.submit(launchOf(phase(run, 1 + (round % 7)), phase(run, 1)));
          visits++;
        }
        kept.push(first);
        if (kept.length > 5) {
          pool.uninstall(kept.splice(0, 4));
          if (round % 50 === 0) await pool.until(pool.issued);
        }
      }
      await pool.until(pool.issued);
      // Every phase visits chunk 0 once.
      expect(words[0]).toBe(2 * visits);
      pool.uninstall(kept);
      kept = [];
    });
  });
});

describe('a process', () => {
  const script = (end: string): string => `
    import { createWorkersBackend } from './dist/backends/workers/index.js';
    // The standard streams are resources from their first use on.
    for (const stream of [process.stdout, process.stderr]) stream.write('');
    const before = process.getActiveResourcesInfo();
    const backend = await createWorkersBackend({ workers: 2, inlineNanoseconds: 0 });
    const buffer = backend.allocate(10);
    const module = {
      functions: [{ name: 'f', parameters: [{ kind: 'local', type: 'u32', id: 0 }], results: ['u32'], fast: false,
        body: [{ kind: 'return', values: [{ kind: 'local', type: 'u32', id: 0 }] }] }],
      arrays: new Map(), uniforms: new Map(),
    };
    const program = { module, arrays: new Map(), uniforms: new Map() };
    backend.run({ kind: 'forEach', extent: 10, program, stores: [{ buffer, offset: 0, capacity: 10, value: 0 }] });
    console.log((await backend.read(buffer, 0, 10)).join());
    ${end}`;
  const start = (end: string): Promise<{ stdout: string; stderr: string }> =>
    run(process.execPath, ['--input-type=module', '-e', script(end)], { cwd: BUILT, timeout: 100_000 });

  test('exits by itself after close', async () => {
    expect(await start('await backend.close();')).toEqual({ stdout: '0,1,2,3,4,5,6,7,8,9\n', stderr: '' });
  });

  test('holds no resource of the backend after close', async () => {
    const end = `await backend.close();
      await new Promise((resolve) => setImmediate(resolve));
      for (const kind of process.getActiveResourcesInfo()) {
        if (before.includes(kind)) before.splice(before.indexOf(kind), 1);
        else console.log(kind);
      }`;
    expect(await start(end)).toEqual({ stdout: '0,1,2,3,4,5,6,7,8,9\n', stderr: '' });
  });

  test('exits by itself when close was forgotten', async () => {
    expect(await start('')).toEqual({ stdout: '0,1,2,3,4,5,6,7,8,9\n', stderr: '' });
  });
});
