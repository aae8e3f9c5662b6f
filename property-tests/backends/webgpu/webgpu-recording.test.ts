import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { globals } from 'webgpu';
import type { WebGpuBackend } from '../../../backends/webgpu/backend.ts';
import type { Program } from '../../../primitives/contract/backend.ts';
import {
  bindingOf,
  columnsProgram,
  openTestBackend,
  randomWords,
  simpleMonoid,
  upload,
} from '../../support/webgpu-support.ts';

const n = 3000;
let backend: WebGpuBackend;
beforeAll(async () => {
  backend = await openTestBackend();
}, 60_000);
afterAll(() => backend.close());

type Buffer = ReturnType<WebGpuBackend['allocate']>;

const column = (buffer: Buffer, length = n): Program =>
  columnsProgram([{ type: 'u32', binding: bindingOf(buffer, length) }]);

function copy(from: Buffer, to: Buffer, length = n): void {
  backend.run({
    kind: 'forEach',
    extent: length,
    program: column(from, length),
    stores: [{ buffer: to, offset: 0, capacity: length, value: 0 }],
  });
}

/** Sorts, reduces, counts and maps a column without waiting for any result. */
function chain(data: Buffer, out: Buffer): void {
  const sorted = backend.allocate(n);
  const total = backend.allocate(1);
  backend.run({
    kind: 'sort',
    extent: n,
    program: column(data),
    beginBit: 0,
    endBit: 16,
    keys: { buffer: sorted, word: 0 },
  });
  backend.run({
    kind: 'reduce',
    extent: n,
    program: column(sorted),
    monoid: simpleMonoid('u32', 'min', 0xffffffff),
    into: { buffer: total, word: 0 },
  });
  backend.run({ kind: 'histogram', extent: n, program: column(sorted), bins: 16, into: { buffer: out, word: 0 } });
  const count = { buffer: total, word: 0, minus: 0, limit: n };
  backend.run({
    kind: 'forEach',
    extent: count,
    program: column(sorted),
    stores: [{ buffer: out, offset: 16, capacity: n, value: 0 }],
  });
  backend.release(sorted);
  backend.release(total);
}

describe('commands', () => {
  test('take effect in the order of their calls, writes included', async () => {
    for (const length of [100, 20_000]) {
      const [first, second] = [randomWords(length, 1), randomWords(length, 2)];
      const buffer = upload(backend, first);
      const [before, after] = [backend.allocate(length), backend.allocate(length)];
      copy(buffer, before, length);
      backend.write(buffer, 0, second);
      copy(buffer, after, length);
      expect(await backend.read(before, 0, length)).toEqual(first);
      expect(await backend.read(after, 0, length)).toEqual(second);
      for (const each of [buffer, before, after]) backend.release(each);
    }
  });

  test('read a released buffer as it was, although its memory is reused', async () => {
    const words = randomWords(n, 3);
    const released = upload(backend, words);
    const kept = backend.allocate(n);
    copy(released, kept);
    backend.release(released);
    const again = upload(backend, new Uint32Array(n));
    expect(await backend.read(kept, 0, n)).toEqual(words);
    for (const each of [kept, again]) backend.release(each);
  });

  test('leave host data free for reuse at once', async () => {
    const words = Uint32Array.of(1, 2, 3);
    const buffer = upload(backend, words);
    words.fill(9);
    expect(await backend.read(buffer, 0, 3)).toEqual(Uint32Array.of(1, 2, 3));
    backend.release(buffer);
  });

  test('of a chain take one submission and no readback, and simultaneous reads take one more', async () => {
    const data = upload(backend, randomWords(n, 4));
    const out = backend.allocate(16 + n);
    await backend.sync();
    const { submissions, readbacks } = backend.counters;
    chain(data, out);
    await backend.sync();
    expect(backend.counters).toMatchObject({ submissions: submissions + 1, readbacks });
    await Promise.all([backend.read(out, 0, 16), backend.read(out, 16, 5), backend.read(data, 0, n)]);
    expect(backend.counters).toMatchObject({ submissions: submissions + 2, readbacks: readbacks + 3 });
    for (const each of [data, out]) backend.release(each);
  });

  test('of a repeated loop compile nothing and create no buffers and bind groups', async () => {
    const data = upload(backend, randomWords(n, 5));
    const out = backend.allocate(16 + n);
    const round = async (): Promise<void> => {
      chain(data, out);
      await backend.read(out, 0, 16);
    };
    await round();
    await round();
    const { compilations } = backend.counters;
    const { prototype } = (globals as { GPUDevice: { prototype: GPUDevice } }).GPUDevice;
    const made = ['createBuffer', 'createBindGroup', 'createComputePipeline', 'createShaderModule'] as const;
    const spies = made.map((name) => vi.spyOn(prototype, name));
    for (let i = 0; i < 5; i++) await round();
    const calls = spies.map((spy) => spy.mock.calls.length);
    for (const spy of spies) spy.mockRestore();
    expect(calls).toEqual([0, 0, 0, 0]);
    expect(backend.counters.compilations).toBe(compilations);
    for (const each of [data, out]) backend.release(each);
  });

  test('are timed by the clock of the device', async () => {
    const data = upload(backend, randomWords(n, 7));
    const out = backend.allocate(16 + n);
    const time = await backend.time(() => chain(data, out));
    expect(time).toBeGreaterThan(0);
    expect(time).toBeLessThan(60_000);
    const times = await backend.time([() => chain(data, out), () => {}, () => chain(data, out)]);
    expect(times.length).toBe(3);
    expect(times[1]).toBeLessThan(times[2]!);
    expect(times.every((each) => each >= 0 && each < 60_000)).toBe(true);
    for (const each of [data, out]) backend.release(each);
  });

  test('are profiled one by one, in order', async () => {
    const data = upload(backend, randomWords(n, 8));
    const out = backend.allocate(16 + n);
    const times = await backend.profile(() => chain(data, out));
    expect(times.map(({ command }) => command)).toEqual(
      ['sort', 'reduce', 'histogram', 'forEach'].map((k) => `${k} entry`),
    );
    expect(times.every(({ milliseconds }) => milliseconds >= 0 && milliseconds < 60_000)).toBe(true);
    expect(await backend.profile(() => {})).toEqual([]);
    for (const each of [data, out]) backend.release(each);
  });

  test('are submitted when there are many, without a wait', async () => {
    const own = await openTestBackend({ tuning: { commandsPerSubmission: 8 } });
    const [from, to] = [upload(own, randomWords(n, 6)), own.allocate(n)];
    for (let i = 0; i < 40; i++)
      own.run({
        kind: 'forEach',
        extent: n,
        program: column(from),
        stores: [{ buffer: to, offset: 0, capacity: n, value: 0 }],
      });
    expect(own.counters.submissions).toBe(5);
    expect(await own.read(to, 0, n)).toEqual(randomWords(n, 6));
    await own.close();
  });
});

describe('memory', () => {
  test('is counted, and returns to zero when everything is released', () => {
    const { liveBuffers, liveBytes } = backend.counters;
    const buffer = backend.allocate(1000);
    expect(backend.counters).toMatchObject({ liveBuffers: liveBuffers + 1, liveBytes: liveBytes + 4000 });
    backend.release(buffer);
    expect(backend.counters).toMatchObject({ liveBuffers, liveBytes });
  });

  test('beyond the limit is refused, and idle buffers in the pool do not count', async () => {
    const own = await openTestBackend({ limits: { memoryBytes: 100_000 } });
    for (const words of [1000, 3000, 7000, 20_000]) own.release(own.allocate(words));
    const max = own.allocate(25_000);
    expect(() => own.allocate(1)).toThrow(expect.objectContaining({ code: 'memory/limit' }));
    own.release(max);
    own.release(own.allocate(25_000));
    await own.close();
  });

  test('is refused after its release and beyond its end', async () => {
    const buffer = backend.allocate(10);
    expect(() => backend.write(buffer, 8, new Uint32Array(3))).toThrow(
      expect.objectContaining({ code: 'memory/range' }),
    );
    await expect(backend.read(buffer, 0, 11)).rejects.toMatchObject({ code: 'memory/range' });
    backend.release(buffer);
    await expect(backend.read(buffer, 0, 1)).rejects.toMatchObject({ code: 'memory/released' });
    expect(() => copy(buffer, buffer, 1)).toThrow(expect.objectContaining({ code: 'memory/released' }));
  });
});
