import { type DeviceReport, listDevicesOn } from './devices.ts';
import { type OpenOptions, openOn } from './open.ts';
import type { Platform } from './platform.ts';
import type { Context } from './primitives/context.ts';

const node: Platform = {
  gpu: async (adapter) => (await import('./backends/webgpu-node/index.ts')).openNodeGpu(adapter),
  workers: async (options) => (await import('./backends/workers/index.ts')).createWorkersBackend(options),
  cores: async () => (await import('node:os')).availableParallelism(),
};

/**
 * Opens a context on the best backend there is, or on the one asked for. Backends are loaded when they are opened. Close
 * the context, or declare it with `await using`, and all its memory, threads and devices are given back.
 *
 * Bundled for a page, the same opens the WebGPU and the web workers of the browser.
 *
 * @throws {@link ArgumentError} `open/backend`, `open/adapter`, `open/failover`, `open/limits`, `open/option`,
 * `open/device`, `workers/number` or `device/hang-limit` for an option that is none, or does not go with others; `device/limits`
 * for a device with limits too low for the kernels, with what they need.
 * @throws {@link DeviceLostError} `device/no-threads` where workers were asked for and threads cannot be started, as Node's
 * permission model or a page's policy forbids it or the process has too many; `workers/not-isolated` on a page that is not
 * cross-origin isolated; `workers/no-webassembly` and `reference/no-text` where a page's policy forbids what they run;
 * `device/no-adapter` where WebGPU was asked for and is not there; `device/lost` where the device given is lost;
 * `device/package-missing` and `device/software-adapter-missing` where their packages are not installed.
 *
 * @example
 * ```ts
 * await using context = await open({ backend: 'workers' });
 * const column = context.column(new Uint32Array([3, 1, 2]));
 * await context.read(sort(column)); // Uint32Array [1, 2, 3]
 * ```
 */
export function open(options: OpenOptions = {}): Promise<Context> {
  return openOn(node, options);
}

/**
 * Tries every backend and adapter that there may be, one after the other, and tells what it found: what the device is, its
 * limits, and the level of determinism that the probe of it reached. What is not there is an entry that says why.
 *
 * @example
 * ```ts
 * const { entries } = await listDevices();
 * const usable = entries.filter(({ unavailable }) => unavailable === undefined);
 * usable.some(({ backend }) => backend === 'reference'); // true
 * ```
 */
export function listDevices(): Promise<DeviceReport> {
  return listDevicesOn(node);
}
