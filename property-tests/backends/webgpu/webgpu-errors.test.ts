import { expect, test, vi } from 'vitest';
import { globals } from 'webgpu';
import { createWebGpuBackend } from '../../../backends/webgpu/backend.ts';
import { openTestGpu, testAdapter } from '../../../backends/webgpu-node/node-gpu.ts';
import type { Program } from '../../../primitives/contract/backend.ts';
import { bind, give, local, moduleOf, openTestBackend, withBackend } from '../../support/webgpu-support.ts';

test('a machine without an adapter gets an error with a remedy', async () => {
  const gpu = { requestAdapter: async () => null } as unknown as GPU;
  await expect(createWebGpuBackend({ gpu })).rejects.toMatchObject({
    code: 'device/no-adapter',
    remedy: expect.stringContaining('software'),
  });
  await expect(createWebGpuBackend({})).rejects.toMatchObject({ code: 'device/no-adapter' });
});

test('a software adapter is not accepted as hardware', async () => {
  const adapter = { info: { isFallbackAdapter: true, description: 'slow' }, features: new Set(), limits: {} };
  const gpu = { requestAdapter: async () => adapter } as unknown as GPU;
  await expect(createWebGpuBackend({ gpu, adapter: 'hardware' })).rejects.toMatchObject({ code: 'device/no-adapter' });
});

test('limits too small for the kernels are refused', async () => {
  const opened = openTestBackend({ limits: { bindingBytes: 1024 } });
  await expect(opened).rejects.toMatchObject({ code: 'limits/too-low', got: '1024' });
});

test('a command that the device refuses rejects the pending reads and all later ones', async () => {
  await withBackend({}, async (backend) => {
    const buffer = backend.allocate(4);
    const [index, sum] = [local('u32', 0), local('u32', 1)];
    const flawed = moduleOf([index], ['u32'], [bind(sum, 'add', index, local('u32', 7)), give(sum)]);
    const program: Program = { module: flawed, arrays: new Map(), uniforms: new Map() };
    backend.run({ kind: 'forEach', extent: 4, program, stores: [{ buffer, offset: 0, capacity: 4, value: 0 }] });
    await expect(backend.read(buffer, 0, 4)).rejects.toMatchObject({
      code: 'device/validation',
      message: expect.stringContaining('v7'),
    });
    await expect(backend.read(buffer, 0, 4)).rejects.toMatchObject({ code: 'device/validation' });
    expect(() => backend.allocate(1)).toThrow(expect.objectContaining({ code: 'device/validation' }));
  });
});

test('after the loss of the device reads reject and nothing hangs', async () => {
  const { prototype } = (globals as { GPUAdapter: { prototype: GPUAdapter } }).GPUAdapter;
  const spy = vi.spyOn(prototype, 'requestDevice');
  const backend = await openTestBackend({ gpu: await openTestGpu() });
  const device = (await spy.mock.results.at(-1)!.value) as GPUDevice;
  spy.mockRestore();
  const buffer = backend.allocate(4);
  const waiting = expect(backend.read(buffer, 0, 4)).rejects.toMatchObject({ code: 'device/lost' });
  device.destroy();
  await waiting;
  await expect(backend.read(buffer, 0, 4)).rejects.toMatchObject({ code: 'device/lost' });
  await expect(backend.sync()).rejects.toMatchObject({ code: 'device/lost' });
  await backend.close();
});

test('after an abort everything rejects with its reason, and close still works', async () => {
  const backend = await openTestBackend();
  const buffer = backend.allocate(4);
  const reason = new Error('enough');
  const { submissions } = backend.counters;
  const waiting = expect(backend.read(buffer, 0, 4)).rejects.toBe(reason);
  backend.abort(reason);
  await waiting;
  await expect(backend.sync()).rejects.toBe(reason);
  expect(() => backend.write(buffer, 0, new Uint32Array(1))).toThrow(reason);
  expect(backend.counters.submissions).toBe(submissions);
  await backend.close();
  await backend.close();
});

test('close rejects pending reads', async () => {
  const backend = await openTestBackend();
  const buffer = backend.allocate(4);
  const waiting = expect(backend.read(buffer, 0, 4)).rejects.toMatchObject({ code: 'device/closed' });
  await backend.close();
  await waiting;
  await expect(backend.read(buffer, 0, 4)).rejects.toMatchObject({ code: 'device/closed' });
  expect(backend.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
});

test('the adapter of a backend is of the requested kind', async () => {
  await withBackend({}, async ({ info }) => {
    expect(info.isFallbackAdapter).toBe(testAdapter() === 'software');
  });
});
