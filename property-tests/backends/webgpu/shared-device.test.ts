import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createWebGpuBackend } from '../../../backends/webgpu/backend.ts';
import { deviceDescriptor } from '../../../backends/webgpu/device/device-descriptor.ts';
import { openTestGpu, testAdapter } from '../../../backends/webgpu-node/node-gpu.ts';
import * as q from '../../../index.ts';
import { Context, fn, type OpenOptions, open, u32 } from '../../../index.ts';
import type { Program } from '../../../primitives/contract/backend.ts';
import { costlyCaseCount } from '../../cases.ts';
import { checkBackend, kernelLaws } from '../../index.ts';
import { openFaultyGpu, refuseBuffer } from '../../support/faulty-gpu.ts';
import { bind, give, local, moduleOf, slow } from '../../support/webgpu-support.ts';
import { readBuffer, requestTestDevice, STORAGE, upload, watchDevice, withShared } from './shared-device-support.ts';

const twice = fn('twice', { x: u32 }, u32, ({ x }) => x.mul(2));

async function sumOn(context: Context): Promise<number> {
  const numbers = context.column(Uint32Array.from({ length: 5000 }, (_, i) => i));
  const [sum] = await context.read(q.reduce(q.sort(numbers), q.plus(u32)));
  context.dispose(numbers);
  return sum!;
}
const SUM = (4999 * 5000) / 2;

/** Wraps a device so that the properties in `claims` have the claimed values. */
function claiming(device: GPUDevice, claims: { readonly [member: string]: unknown }): GPUDevice {
  return new Proxy(device, {
    get(_, key) {
      if (key in claims) return claims[key as string];
      const value = Reflect.get(device, key, device) as unknown;
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(device) : value;
    },
  });
}

describe('open({ device })', () => {
  test(
    'passes the laws of all kernels on a device requested without features and limits',
    async () => {
      const device = await requestTestDevice('plain');
      expect(device.features.has('subgroups')).toBe(false);
      await checkBackend(() => createWebGpuBackend({ device }), { numRuns: costlyCaseCount(2), laws: kernelLaws });
      device.destroy();
    },
    slow,
  );

  test('uses the subgroups and timestamps of the device, as open() itself would', async () => {
    const gpu = await openTestGpu();
    const device = await requestTestDevice();
    for (const options of [{ device }, { device, gpu }]) {
      const backend = await createWebGpuBackend(options);
      expect(backend.features.has('timestamp-query')).toBe(device.features.has('timestamp-query'));
      expect(backend.info.vendor).toBe(device.adapterInfo.vendor);
      if (backend.features.has('timestamp-query')) expect(await backend.time(() => {})).toBeGreaterThanOrEqual(0);
      const context = new Context(backend);
      expect(await sumOn(context)).toBe(SUM);
      await context.close();
    }
    device.destroy();
  });

  test('treats a device without adapter info as one of unknown class', async () => {
    const device = await requestTestDevice();
    const context = await open({ device: claiming(device, { adapterInfo: undefined }) });
    expect(await sumOn(context)).toBe(SUM);
    await context.close();
    device.destroy();
  });

  test('refuses a device below what kernels need, and names what is missing and how to request it', async () => {
    const device = await requestTestDevice();
    const limits = new Proxy(device.limits, {
      get: (real, name) =>
        ({ maxComputeInvocationsPerWorkgroup: 128, maxComputeWorkgroupSizeX: 128 })[
          name as 'maxComputeWorkgroupSizeX'
        ] ?? Reflect.get(real, name, real),
    });
    await expect(open({ device: claiming(device, { limits }) })).rejects.toMatchObject({
      name: 'ArgumentError',
      code: 'device/limits',
      expected: 'at least maxComputeInvocationsPerWorkgroup 256, maxComputeWorkgroupSizeX 256',
      got: 'maxComputeInvocationsPerWorkgroup 128, maxComputeWorkgroupSizeX 128',
      remedy: expect.stringContaining('deviceDescriptor'),
    });
    device.destroy();
  });

  test.each([
    [{ backend: 'workers' }, 'open/device'],
    [{ backend: 'reference' }, 'open/device'],
    [{ adapter: 'hardware' }, 'open/device'],
    [{ adapter: 'auto' }, 'open/device'],
    [{ backend: 'cuda' }, 'open/backend'],
  ])('refuses %j beside a device', async (others, code) => {
    const device = await requestTestDevice();
    await expect(open({ device, ...others } as OpenOptions)).rejects.toMatchObject({ code });
    device.destroy();
  });

  test.each([[null], [7], [{}], [Promise.resolve({})]])('refuses %s as a device', async (device) => {
    await expect(open({ device } as never)).rejects.toMatchObject({ name: 'ArgumentError' });
  });

  test('refuses a device that is lost', async () => {
    const device = await requestTestDevice();
    device.destroy();
    await device.lost;
    await expect(open({ device })).rejects.toMatchObject({ name: 'DeviceLostError', code: 'device/lost' });
    await expect(open({ device, failover: 'workers' })).rejects.toMatchObject({ code: 'device/lost' });
  });
});

describe('closing a context on the caller’s device', () => {
  test('destroys everything the context made and nothing else, and leaves no listener', async () => {
    const { device, alive, calls } = watchDevice(await requestTestDevice());
    const mine = upload(device, Uint32Array.of(1, 2, 3));
    for (const options of [{}, { spill: false }, { failover: 'workers' }] as const) {
      const context = await open({ device, ...options });
      const borrowed = context.borrow(mine, { type: 'u32' });
      context.lend(q.sort(q.map(twice, { x: borrowed })));
      const reading = context.read(q.sort(borrowed)).catch(() => {});
      context.materialize(q.sequence(1000));
      await context.read(q.sort(context.column(new Uint32Array(70_000))));
      const late = context.read(q.reverse(borrowed)).catch(() => {});
      await context.close();
      await Promise.all([reading, late]);
      await device.queue.onSubmittedWorkDone();
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect([...alive]).toEqual([mine]);
    }
    expect(calls).not.toContain('destroy');
    expect(calls).not.toContain('addEventListener');
    expect([...new Uint32Array((await readBuffer(device, mine, 0, 12)).buffer)]).toEqual([1, 2, 3]);
    device.destroy();
  });

  test('revokes what is lent, and reports that', async () => {
    await withShared(async (context) => {
      const lent = context.lend(context.column(Uint32Array.of(1)));
      expect(lent.lost.aborted).toBe(false);
      await context.close();
      expect(lent.lost.reason).toMatchObject({ code: 'device/closed' });
      expect(() => lent.buffer).toThrow(expect.objectContaining({ code: 'device/closed' }));
      lent.release();
    });
  });

  test('does not affect other contexts on the device', async () => {
    await withShared(async (context, device) => {
      const others = await Promise.all([open({ device }), open({ device })]);
      expect(await Promise.all([context, ...others].map(sumOn))).toEqual([SUM, SUM, SUM]);
      const pending = sumOn(others[0]!);
      await others[1]!.close();
      expect(await pending).toBe(SUM);
      await others[0]!.close();
      expect(await sumOn(context)).toBe(SUM);
    });
  });
});

describe('errors on a shared device', () => {
  /** A program that WebGPU's compiler refuses. */
  function flawedProgram(): Program {
    const [index, sum] = [local('u32', 0), local('u32', 1)];
    const module = moduleOf([index], ['u32'], [bind(sum, 'add', index, local('u32', 7)), give(sum)]);
    return { module, arrays: new Map(), uniforms: new Map() };
  }

  test(
    'of the caller reach the caller, at any time, and ours never enter its error scopes',
    async () => {
      const device = await requestTestDevice();
      let uncaptured = 0;
      device.addEventListener('uncapturederror', (event) => {
        event.preventDefault();
        uncaptured++;
      });
      const mistake = (): void => {
        // Makes an invalid buffer: MAP_READ and STORAGE must not be combined.
        device.createBuffer({ size: 4, usage: 0x1 | STORAGE });
      };
      const property = fc.asyncProperty(fc.array(fc.nat(6), { minLength: 1, maxLength: 20 }), async (steps) => {
        uncaptured = 0;
        const context = await open({ device });
        const flawed = await createWebGpuBackend({ device });
        const scopes: { mistakes: number }[] = [];
        const popped: { mistakes: number; error: Promise<GPUError | null> }[] = [];
        const sums: Promise<number>[] = [];
        // Columns whose commands may be recorded but not yet submitted.
        const recorded: q.Column[] = [];
        let expectedUncaptured = 0;
        for (const step of steps) {
          if (step === 0) {
            device.pushErrorScope('validation');
            scopes.push({ mistakes: 0 });
          } else if (step === 1 && scopes.length > 0) {
            popped.push({ ...scopes.pop()!, error: device.popErrorScope() });
          } else if (step === 2) {
            mistake();
            if (scopes.length > 0) scopes.at(-1)!.mistakes++;
            else expectedUncaptured++;
          } else if (step === 3) sums.push(sumOn(context));
          else if (step === 4) {
            const buffer = flawed.allocate(4);
            flawed.run({
              kind: 'forEach',
              extent: 4,
              program: flawedProgram(),
              stores: [{ buffer, offset: 0, capacity: 4, value: 0 }],
            });
            await expect(flawed.read(buffer, 0, 4)).rejects.toMatchObject({ code: 'device/validation' });
            break;
          } else if (step === 5) await new Promise((resolve) => setTimeout(resolve, 1));
          else recorded.push(context.materialize(q.sequence(10)));
        }
        while (scopes.length > 0) popped.push({ ...scopes.pop()!, error: device.popErrorScope() });
        for (const { mistakes, error } of popped) expect((await error) !== null).toBe(mistakes > 0);
        expect(await Promise.all(sums)).toEqual(sums.map(() => SUM));
        for (const column of recorded) expect((await context.read(column)).length).toBe(10);
        await context.close();
        await flawed.close();
        await device.queue.onSubmittedWorkDone();
        await new Promise((resolve) => setTimeout(resolve, 5));
        expect(uncaptured).toBe(expectedUncaptured);
      });
      await fc.assert(property, {
        numRuns: costlyCaseCount(25, 3),
        examples: [[[6, 2, 0, 2, 6, 1, 2, 3]], [[0, 2, 3, 4]], [[0, 3, 5, 2, 1, 2, 6, 4]]],
      });
      device.destroy();
    },
    slow,
  );

  test('of memory fail only what needed it, and the context works on', async () => {
    const faulty = await openFaultyGpu();
    const adapter = await faulty.gpu.requestAdapter({ forceFallbackAdapter: testAdapter() === 'software' });
    const device = await adapter!.requestDevice({});
    const context = await open({ device });
    const kept = context.column(Uint32Array.of(3, 1, 2));
    await context.sync();
    const allowBuffers = refuseBuffer(faulty, 1);
    const lost = context.materialize(q.sequence(1000));
    await expect(context.read(lost)).rejects.toMatchObject({ name: 'OutOfMemoryError', code: 'memory/device' });
    expect(() => context.lend(lost)).toThrow(expect.objectContaining({ code: 'memory/device' }));
    allowBuffers();
    context.dispose(lost);
    expect(await context.read(q.sort(kept))).toEqual(Uint32Array.of(1, 2, 3));
    await context.close();
    faulty.device.destroy();
  });
});

describe('a caller’s device that is lost', () => {
  test('ends the context, and the lost signal of what is lent aborts', async () => {
    const device = await requestTestDevice();
    const context = await open({ device });
    const lent = context.lend(context.column(Uint32Array.of(1, 2)));
    const lossReasons: unknown[] = [];
    lent.lost.addEventListener('abort', () => void lossReasons.push(lent.lost.reason));
    const waiting = sumOn(context).catch((error: unknown) => error);
    device.destroy();
    const reason = await waiting;
    expect(reason).toMatchObject({ name: 'DeviceLostError', code: 'device/lost' });
    expect(lossReasons).toEqual([reason]);
    expect(() => lent.buffer).toThrow(reason as Error);
    expect(() => context.lend(context.column(Uint32Array.of(1)))).toThrow(reason as Error);
    lent.release();
    await context.close();
  });

  test(
    'is replaced by a standby: columns from the host keep their bytes, and borrowed ones are reported as lost',
    async () => {
      const property = fc.asyncProperty(fc.array(fc.nat(4), { maxLength: 6 }), fc.boolean(), async (steps, waits) => {
        const device = await requestTestDevice();
        const context = await open({ device, failover: 'workers', workers: 1 });
        const data = Uint32Array.from({ length: 200 }, (_, i) => (i * 37) % 101);
        const own = context.column(data);
        const borrowed = context.borrow(upload(device, data), { type: 'u32' });
        const lent = context.lend(own);
        const columns = steps.map((step) => {
          const of = step < 2 ? own : borrowed;
          return {
            isLost: step >= 2,
            column: step % 2 === 0 ? q.sort(of) : context.materialize(q.map(twice, { x: of })),
            step,
          };
        });
        const expected = (step: number): Uint32Array => (step % 2 === 0 ? data.toSorted() : data.map((x) => 2 * x));
        if (waits) await context.sync();
        device.destroy();
        const sum = q.reduce(own, q.plus(u32));
        const total = context.read(sum);
        expect(await total).toEqual(Uint32Array.of(data.reduce((a, b) => a + b)));
        expect(context.backend.name).toBe('workers');
        expect(lent.lost.reason).toMatchObject({ code: 'device/lost' });
        for (const { isLost, column, step } of columns) {
          const read = context.read(column);
          if (isLost)
            await expect(read).rejects.toMatchObject({
              name: 'DeviceLostError',
              code: 'buffer/lost',
              cause: { code: 'device/lost' },
            });
          else expect(await read).toEqual(expected(step));
        }
        await expect(context.read(borrowed)).rejects.toMatchObject({ code: 'buffer/lost' });
        expect(() => q.sort(borrowed)).toThrow(expect.objectContaining({ code: 'buffer/lost' }));
        expect(() => context.lend(own)).toThrow(expect.objectContaining({ code: 'buffer/lost' }));
        expect(() => context.borrow(upload(device, data), { type: 'u32' })).toThrow(
          expect.objectContaining({ code: 'buffer/lost' }),
        );
        context.dispose(
          own,
          sum,
          borrowed,
          columns.map(({ column }) => column),
        );
        lent.release();
        expect(context.backend.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
        await context.close();
      });
      await fc.assert(property, {
        numRuns: costlyCaseCount(6, 2),
        examples: [
          [[0, 1, 2, 3, 4], true],
          [[0, 1, 2, 3, 4], false],
        ],
      });
    },
    slow,
  );
});

test('deviceDescriptor requests no more than the adapter has', async () => {
  const device = await requestTestDevice();
  const adapter = { limits: device.limits, features: device.features, requestDevice: async () => device };
  expect(deviceDescriptor(adapter as never).requiredLimits).toMatchObject({
    maxBufferSize: device.limits.maxBufferSize,
  });
  expect(() => deviceDescriptor(null as never)).toThrow(expect.objectContaining({ code: 'argument/type' }));
  device.destroy();
});
