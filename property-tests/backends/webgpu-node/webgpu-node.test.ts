import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtPackage } from '../../support/built-package.ts';

const root = join(await builtPackage(), 'dist');

/**
 * Runs the text of a module in a new Node process, in the folder of the built package. Resolves with the output of the
 * process when the process exits by itself.
 */
async function runNode(text: string, environment: Record<string, string> = {}): Promise<{ code: number; out: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], {
    cwd: root,
    env: { ...process.env, ...environment },
    timeout: 110_000,
  });
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (out += chunk));
  const code = await new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? -1)));
  return { code, out };
}

const openAndClose = `
import { createWebGpuBackend } from './backends/webgpu/backend.js';
import { openTestGpu, testAdapter } from './backends/webgpu-node/node-gpu.js';
const backend = await createWebGpuBackend({ gpu: await openTestGpu(), adapter: testAdapter() });
const buffer = backend.allocate(1);
backend.write(buffer, 0, Uint32Array.of(7));
console.log('read', (await backend.read(buffer, 0, 1))[0]);
await backend.close();
`;

/**
 * Code that reads a buffer without any of the library's kernels, because compiling the first kernels takes a second.
 */
const readFromDevice = `
import { globals } from 'webgpu';
import { openTestGpu } from './backends/webgpu-node/node-gpu.js';
const { GPUBufferUsage, GPUMapMode } = globals;
const adapter = await (await openTestGpu()).requestAdapter();
const device = await adapter.requestDevice();
const buffer = device.createBuffer({ size: 4, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
device.queue.writeBuffer(buffer, 0, Uint32Array.of(7));
await buffer.mapAsync(GPUMapMode.READ);
console.log('read', new Uint32Array(buffer.getMappedRange())[0]);
device.destroy();
`;

test('a process exits by itself once its backend is closed', async () => {
  expect(await runNode(openAndClose)).toEqual({ code: 0, out: 'read 7\n' });
});

test('processes that unpack the software adapter at the same time do not interfere', async () => {
  const cache = await mkdtemp(join(tmpdir(), 'quadrille-test-'));
  const runs = await Promise.all([1, 2].map(() => runNode(readFromDevice, { XDG_CACHE_HOME: cache })));
  expect(runs).toEqual([1, 2].map(() => ({ code: 0, out: 'read 7\n' })));
  await rm(cache, { recursive: true });
});

test('without its package the software adapter states what to install', async () => {
  const { out } = await runNode(`
import { register } from 'node:module';
register('data:text/javascript,' + encodeURIComponent(\`
export function resolve(specifier, context, next) {
  if (specifier === '@sparticuz/chromium') throw new Error('not installed');
  return next(specifier, context);
}\`));
const { useSoftwareVulkan } = await import('./backends/webgpu-node/software-vulkan.js');
await useSoftwareVulkan().catch(({ code, remedy }) => console.log(code, remedy));
`);
  expect(out).toMatch(/^device\/software-adapter-missing .*npm install @sparticuz\/chromium@143\.0\.4$/m);
});

test('an adapter is found by a part of its name, and another name is refused', async () => {
  const { out } = await runNode(`
import { openNodeGpu } from './backends/webgpu-node/node-gpu.js';
const { info } = await (await openNodeGpu('software', { name: 'SwiftShader' })).requestAdapter();
console.log(info.description.slice(0, 11));
for (let i = 0; i < 2; i++) await openNodeGpu('software', { name: 'other' }).catch(({ code }) => console.log(code));
process.exit();
`);
  expect(out).toBe('SwiftShader\ndevice/no-adapter\ndevice/no-adapter\n');
});
