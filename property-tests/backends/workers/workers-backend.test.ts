import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, onTestFinished, vi } from 'vitest';
import { createWorkersBackend, type WorkersOptions } from '../../../backends/workers/index.ts';
import { DeviceLostError, OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import type { Backend, CountRef, DeviceBuffer } from '../../../primitives/contract/backend.ts';
import { For, Var } from '../../../primitives/functors/control.ts';
import { array, fn, u32 } from '../../../primitives/functors/functor.ts';
import { monoidProgram, plus } from '../../../primitives/monoid.ts';
import { costlyCaseCount, THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { randomWords, upload } from '../../support/workers-programs.ts';

async function withBackend<T>(options: WorkersOptions, body: (backend: Backend) => Promise<T>): Promise<T> {
  const backend = await createWorkersBackend({ workers: 2, inlineNanoseconds: 0, ...options });
  try {
    return await body(backend);
  } finally {
    await backend.close();
    expect({ bytes: backend.counters.liveBytes, buffers: backend.counters.liveBuffers }).toEqual({
      bytes: 0,
      buffers: 0,
    });
  }
}

const next = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) => xs.at(i).mul(5).add(i));
/** Computes the same as `next`, but in a slow loop, which does not vectorise. */
const nextSlowly = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) => {
  const sum = Var(i);
  For(0, 5, () => sum.set(sum.add(xs.at(i))));
  return sum;
});

function step(backend: Backend, from: DeviceBuffer, to: DeviceBuffer, n: number, functor = next): void {
  const xs = { buffer: from, storage: 'u32', offset: 0, length: n } as const;
  backend.run({
    kind: 'forEach',
    extent: n,
    program: { module: functor.module, arrays: new Map([['xs', xs]]), uniforms: new Map() },
    stores: [{ buffer: to, offset: 0, capacity: n, value: 0 }],
  });
}

const stepped = (words: Uint32Array): Uint32Array => words.map((word, i) => (Math.imul(word, 5) + i) >>> 0);

describe('commands, reads and writes take effect in the order of their calls', () => {
  type Action =
    | { readonly kind: 'write'; readonly buffer: number; readonly seed: number }
    | { readonly kind: 'step'; readonly from: number; readonly to: number; readonly slowly: boolean }
    | { readonly kind: 'read'; readonly buffer: number }
    | { readonly kind: 'renew'; readonly buffer: number; readonly seed: number }
    | { readonly kind: 'busy' }
    | { readonly kind: 'pause' };
  const buffer = fc.nat(3);
  const action: fc.Arbitrary<Action> = fc.oneof(
    fc.record({ kind: fc.constant('write' as const), buffer, seed: fc.nat() }),
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('step' as const), from: buffer, to: buffer, slowly: fc.boolean() }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('read' as const), buffer }) },
    fc.record({ kind: fc.constant('renew' as const), buffer, seed: fc.nat() }),
    fc.constant({ kind: 'busy' as const }),
    fc.constant({ kind: 'pause' as const }),
  );
  const n = 30000;
  /** Number of rows that keep the workers busy for some milliseconds. */
  const large = 3_000_000;

  let backends: Backend[] = [];
  beforeAll(async () => {
    const open = (inlineNanoseconds: number): Promise<Backend> =>
      createWorkersBackend({ workers: 2, inlineNanoseconds });
    backends = await Promise.all([0, 300_000, Number.POSITIVE_INFINITY].map(open));
  });
  afterAll(async () => {
    for (const backend of backends) await backend.close();
  });

  test.prop([fc.array(action, { maxLength: 40 }), fc.nat(2)], { numRuns: costlyCaseCount(40) })(
    'for any sequence',
    async (actions, which) => {
      const backend = backends[which]!;
      const model = Array.from({ length: 4 }, (_, i) => randomWords(n, i + 1));
      const buffers = model.map((words) => upload(backend, words));
      buffers.push(backend.allocate(large), backend.allocate(large));
      const reads: Promise<boolean>[] = [];
      for (const one of actions) {
        switch (one.kind) {
          case 'write': {
            const data = randomWords(n, one.seed);
            model[one.buffer] = data.slice();
            backend.write(buffers[one.buffer]!, 0, data);
            data.fill(0);
            break;
          }
          case 'step':
            if (one.from === one.to) break;
            model[one.to] = stepped(model[one.from]!);
            step(backend, buffers[one.from]!, buffers[one.to]!, n, one.slowly ? nextSlowly : next);
            break;
          case 'read': {
            const expected = model[one.buffer]!;
            reads.push(
              backend.read(buffers[one.buffer]!, 0, n).then((got) => got.every((word, i) => word === expected[i])),
            );
            break;
          }
          case 'renew':
            backend.release(buffers[one.buffer]!);
            model[one.buffer] = randomWords(n, one.seed);
            buffers[one.buffer] = upload(backend, model[one.buffer]!);
            break;
          case 'busy':
            step(backend, buffers[4]!, buffers[5]!, large, nextSlowly);
            break;
          case 'pause':
            await new Promise((resolve) => setTimeout(resolve, 2));
        }
      }
      model.forEach((words, i) => {
        reads.push(backend.read(buffers[i]!, 0, n).then((got) => got.every((word, k) => word === words[k])));
      });
      expect((await Promise.all(reads)).every((same) => same)).toBe(true);
      for (const last of buffers) backend.release(last);
      expect(backend.counters.liveBytes).toBe(0);
    },
  );

  test('a read returns the contents at the time of the call, although it copies in slices', async () => {
    await withBackend({}, async (backend) => {
      const size = THOROUGH ? 5_000_000 : 1_500_000;
      const words = randomWords(size);
      const [a, b] = [upload(backend, words), backend.allocate(size)];
      step(backend, a, b, size);
      await backend.sync();
      const early = backend.read(b, 0, size);
      await new Promise((resolve) => setImmediate(resolve));
      step(backend, b, a, size);
      step(backend, a, b, size);
      const late = backend.read(b, 0, size);
      backend.write(b, 0, new Uint32Array(size));
      backend.release(b);
      const other = upload(backend, new Uint32Array(size));
      const once = stepped(words);
      expect((await early).findIndex((word, i) => word !== once[i])).toBe(-1);
      const thrice = stepped(stepped(once));
      expect((await late).findIndex((word, i) => word !== thrice[i])).toBe(-1);
      expect((await backend.read(other, 0, size)).every((word) => word === 0)).toBe(true);
    });
  });

  test('a read returns the contents before a later write of the host, whenever commands finish', async () => {
    const size = 200_000;
    const words = randomWords(size);
    const twice = stepped(stepped(words));
    // A backend compiles the kernel of its first copy just when the commands end. So each round needs a new backend.
    for (let round = 0; round < (THOROUGH ? 20 : 6); round++) {
      await withBackend({}, async (backend) => {
        const [a, b] = [upload(backend, words), backend.allocate(size)];
        step(backend, a, b, size);
        await backend.sync();
        step(backend, b, a, size);
        const read = backend.read(a, 0, size);
        backend.write(a, 0, words);
        expect((await read).findIndex((word, i) => word !== twice[i])).toBe(-1);
        backend.release(a);
        backend.release(b);
      });
    }
  });

  test('the memory of a released buffer is kept until pending reads have copied it', async () => {
    await withBackend({}, async (backend) => {
      const [a, b] = [upload(backend, randomWords(large)), backend.allocate(large)];
      const words = randomWords(n, 7);
      const released = upload(backend, words);
      for (let round = 0; round < 5; round++) step(backend, a, b, large, nextSlowly);
      step(backend, released, b, n);
      const reading = backend.read(released, 0, n);
      backend.release(released);
      const others = Array.from({ length: 4 }, () => backend.allocate(n));
      for (const other of others) step(backend, a, other, n);
      await backend.sync();
      expect((await reading).findIndex((word, i) => word !== words[i])).toBe(-1);
    });
  });

  test('memory can grow while the workers use it', async () => {
    await withBackend({}, async (backend) => {
      const words = randomWords(n);
      let last = upload(backend, words);
      let expected = words;
      for (let round = 0; round < (THOROUGH ? 120 : 60); round++) {
        const to = backend.allocate(n + round * 20000);
        step(backend, last, to, n);
        expected = stepped(expected);
        last = to;
      }
      expect((await backend.read(last, 0, n)).findIndex((word, i) => word !== expected[i])).toBe(-1);
    });
  });
});

describe('limits and misuse', () => {
  test('memory above two gigabytes works like any other', async () => {
    await withBackend({}, async (backend) => {
      backend.allocate(2 ** 29);
      const size = 100_000;
      const words = randomWords(size);
      const [a, b, keys] = [upload(backend, words), backend.allocate(size), backend.allocate(size)];
      step(backend, a, b, size);
      const expected = stepped(words);
      expect((await backend.read(b, 0, size)).findIndex((word, i) => word !== expected[i])).toBe(-1);
      const xs = { buffer: a, storage: 'u32', offset: 0, length: size } as const;
      const program = { module: next.module, arrays: new Map([['xs', xs]]), uniforms: new Map() };
      const count: CountRef = { buffer: upload(backend, Uint32Array.of(size - 3)), word: 0, minus: 0, limit: size };
      backend.run({ kind: 'sort', extent: count, program, beginBit: 0, endBit: 32, keys: { buffer: keys, word: 0 } });
      backend.run({
        kind: 'reduce',
        extent: count,
        program,
        monoid: monoidProgram(plus(u32)),
        into: { buffer: b, word: 0 },
      });
      const sum = expected.subarray(0, -3).reduce((total, word) => (total + word) >>> 0, 0);
      expect((await backend.read(b, 0, 1))[0]).toBe(sum);
      expect(await backend.read(keys, 0, size - 3)).toEqual(expected.slice(0, -3).sort());
    });
  });

  test('memory beyond the limit is refused, and existing buffers keep their contents', async () => {
    await withBackend({ limits: { memoryBytes: 2 ** 20 } }, async (backend) => {
      expect(backend.limits.memoryBytes).toBe(2 ** 20);
      const buffer = upload(backend, Uint32Array.of(1, 2, 3));
      expect(() => backend.allocate(2 ** 18)).toThrow(OutOfMemoryError);
      expect(Array.from(await backend.read(buffer, 0, 3))).toEqual([1, 2, 3]);
      backend.release(buffer);
      expect(backend.allocate(2 ** 18).words).toBe(2 ** 18);
    });
  });

  test('memory beyond that of WebAssembly is refused by name', async () => {
    await withBackend({}, async (backend) => {
      expect(() => backend.allocate(2 ** 30)).toThrow(/4 GiB/);
    });
    await withBackend({ limits: { memoryBytes: 2 ** 40 } }, async (backend) => {
      expect(() => backend.allocate(2 ** 30)).toThrow(
        expect.objectContaining({ code: 'memory/webassembly', remedy: expect.any(String) }),
      );
    });
  });

  test('a kernel without room for its scratch memory frees what it allocated', async () => {
    await withBackend({ limits: { memoryBytes: 3 * 2 ** 20 } }, async (backend) => {
      const n = 2 ** 18;
      const [a, b] = [upload(backend, randomWords(n)), backend.allocate(n)];
      const xs = { buffer: a, storage: 'u32', offset: 0, length: n } as const;
      const program = { module: next.module, arrays: new Map([['xs', xs]]), uniforms: new Map() };
      const sort = (): void => {
        backend.run({ kind: 'sort', extent: n, program, beginBit: 0, endBit: 32, keys: { buffer: b, word: 0 } });
      };
      for (let round = 0; round < 3; round++) expect(sort).toThrow(OutOfMemoryError);
      backend.release(backend.allocate(2 ** 18 - 64));
    });
  });

  test('a released buffer and a range beyond the end are refused', async () => {
    await withBackend({}, async (backend) => {
      const [a, b] = [backend.allocate(100), backend.allocate(100)];
      expect(() => step(backend, a, b, 101)).toThrow(expect.objectContaining({ code: 'memory/range' }));
      expect(() => backend.write(a, 99, new Uint32Array(2))).toThrow(expect.objectContaining({ code: 'memory/range' }));
      await expect(backend.read(a, 1, 100)).rejects.toMatchObject({ code: 'memory/range' });
      backend.release(a);
      expect(() => step(backend, a, b, 10)).toThrow(expect.objectContaining({ code: 'memory/released' }));
      expect(() => backend.release(a)).toThrow(expect.objectContaining({ code: 'memory/released' }));
      await expect(backend.read(a, 0, 1)).rejects.toMatchObject({ code: 'memory/released' });
    });
  });

  test.each([0, -1, 1.5, 257, Number.NaN])('%f workers are refused', async (workers) => {
    await expect(createWorkersBackend({ workers })).rejects.toMatchObject({ code: 'workers/number' });
  });
});

describe('abort and close', () => {
  test('pending reads reject with the reason, and only close is still possible', async () => {
    await withBackend({}, async (backend) => {
      const n = 2_000_000;
      const [a, b] = [upload(backend, randomWords(n)), backend.allocate(n)];
      for (let round = 0; round < 200; round++) step(backend, a, b, n, nextSlowly);
      const reason = new Error('the user went away');
      const reading = backend.read(b, 0, n);
      const syncing = backend.sync();
      // With fake timers, the timer that would terminate the threads never fires. So the threads must exit by
      // themselves.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      backend.abort(reason);
      await expect(reading).rejects.toBe(reason);
      await expect(syncing).rejects.toBe(reason);
      expect(() => step(backend, a, b, n)).toThrow(reason);
      await expect(backend.read(a, 0, 1)).rejects.toBe(reason);
      backend.release(a);
      await backend.close();
    });
  });

  test('a second close does nothing, and pending reads reject', async () => {
    const backend = await createWorkersBackend({ workers: 2, inlineNanoseconds: 0 });
    const n = 2_000_000;
    const [a, b] = [upload(backend, randomWords(n)), backend.allocate(n)];
    for (let round = 0; round < 50; round++) step(backend, a, b, n, nextSlowly);
    const reading = backend.read(b, 0, n).catch((error: unknown) => error);
    await Promise.all([backend.close(), backend.close()]);
    expect(await reading).toBeInstanceOf(DeviceLostError);
    expect(() => backend.allocate(1)).toThrow(DeviceLostError);
    backend.release(a);
  });
});

test('small commands run on the calling thread only while the workers are idle', async () => {
  await withBackend({ inlineNanoseconds: undefined }, async (backend) => {
    const [a, b, sum] = [upload(backend, randomWords(1000)), backend.allocate(1000), backend.allocate(1)];
    step(backend, a, b, 1000);
    const xs = { buffer: b, storage: 'u32', offset: 0, length: 1000 } as const;
    const program = { module: next.module, arrays: new Map([['xs', xs]]), uniforms: new Map() };
    backend.run({
      kind: 'reduce',
      extent: 1000,
      program,
      monoid: monoidProgram(plus(u32)),
      into: { buffer: sum, word: 0 },
    });
    // The result becomes available although nothing awaits it.
    let settled = false;
    void backend.read(sum, 0, 1).then(() => {
      settled = true;
    });
    await Promise.resolve();
    await Promise.resolve();
    await Promise.resolve();
    expect(settled).toBe(true);
  });
});

test('launches that differ only in lengths, offsets and uniforms share compiled code', async () => {
  await withBackend({}, async (backend) => {
    const [a, b] = [upload(backend, randomWords(5000)), backend.allocate(5000)];
    for (const n of [10, 100, 5000]) step(backend, a, b, n);
    step(backend, b, a, 77);
    await backend.sync();
    expect(backend.counters.compilations).toBe(1);
    expect(backend.counters.dispatches).toBe(4);
  });
});

test('reads that a command or a write overtakes compile nothing', async () => {
  await withBackend({}, async (backend) => {
    const n = 2 ** 18;
    const [first, second] = [randomWords(n), randomWords(n)];
    const [a, b, into] = [upload(backend, first), upload(backend, second), backend.allocate(n)];
    const reads: Promise<Uint32Array>[] = [];
    const readStepOf = (from: DeviceBuffer): void => {
      step(backend, from, into, n, nextSlowly);
      reads.push(backend.read(into, 0, n));
    };
    readStepOf(a);
    const { compilations } = backend.counters;
    readStepOf(b);
    backend.write(into, 0, first);
    reads.push(backend.read(into, 0, n));
    expect(await Promise.all(reads)).toEqual([stepped(first), stepped(second), first]);
    expect(backend.counters.compilations).toBe(compilations);
  });
});

/** Maximum acceptable delay of the event loop, as a share of the time of a sort. */
const SHORT = 1 / 5;

test('the event loop is never blocked for long while a large sort runs', async () => {
  await withBackend({ workers: 1 }, async (backend) => {
    const n = 2 ** (THOROUGH ? 23 : 22);
    const [a, keys] = [backend.allocate(n), backend.allocate(n)];
    const random = randomWords(2 ** 20);
    for (let from = 0; from < n; from += random.length) backend.write(a, from, random);
    const xs = { buffer: a, storage: 'u32', offset: 0, length: n } as const;
    const program = { module: next.module, arrays: new Map([['xs', xs]]), uniforms: new Map() };
    const command = {
      kind: 'sort' as const,
      extent: n,
      program,
      beginBit: 0,
      endBit: 32,
      keys: { buffer: keys, word: 0 },
    };
    backend.run(command);
    await backend.sync();
    // Machines differ, and other processes delay the thread too. So the longest delay is measured as a share of the
    // sort's time, and the best of several rounds counts.
    let quietest = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 20 && quietest >= SHORT; round++) {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      const start = performance.now();
      delay.enable();
      backend.run(command);
      const sorted = await backend.read(keys, 0, n);
      delay.disable();
      quietest = Math.min(quietest, delay.max / 1e6 / (performance.now() - start));
      expect(sorted.every((word, i) => i === 0 || word >= sorted[i - 1]!)).toBe(true);
    }
    expect(quietest).toBeLessThan(SHORT);
  });
});
