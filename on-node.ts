import { type DeviceReport, listDevicesOn } from './devices.ts';
import { type OpenOptions, openOn } from './open.ts';
import type { Platform } from './platform.ts';
import type { Context } from './primitives/context/context.ts';

/** Node, as the platform of `openOn`. */
export const node: Platform = {
  gpu: async (adapter) => (await import('./backends/webgpu-node/index.ts')).openNodeGpu(adapter),
  workers: async (options) => (await import('./backends/workers/index.ts')).createWorkersBackend(options),
  cores: async () => (await import('node:os')).availableParallelism(),
};

/**
 * Opens a context on the best available backend, or on the requested one. The code of a backend is loaded when that
 * backend is first opened. Close the context, or declare it with `await using`, to free all its memory, threads and
 * devices.
 *
 * In a bundle for a page, `open` uses the browser's WebGPU and web workers.
 *
 * @throws {@link ArgumentError} `open/backend`, `open/adapter`, `open/failover`, `open/limits`, `open/option`,
 * `open/device`, `workers/number` or `device/hang-limit` for an invalid option or combination of options;
 * `device/limits` for a device whose limits are too low for the kernels; the error lists the required limits.
 * @throws {@link DeviceLostError} `device/no-threads` if workers were requested but threads cannot be started, because
 * Node's permission model or a page's policy forbids threads, or the process has reached a limit on threads or memory;
 * `workers/not-isolated` on a page that is not cross-origin isolated; `workers/no-webassembly` if WebAssembly, which
 * the workers run, is forbidden; `reference/no-text` if a page forbids compiling functions from text, which the
 * reference backend needs; `device/no-adapter` if WebGPU was requested but is not available; `device/lost` if the given
 * device is lost; `device/package-missing` if the package for WebGPU in Node is not installed;
 * `device/software-adapter-missing` if the software adapter cannot be started, for example without its package.
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
 * Tries every possible backend and adapter in turn, and returns a report with one entry for each: a description of the
 * device, its limits, and the measured level of determinism. The entry of an unavailable device says why.
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
