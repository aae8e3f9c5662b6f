import { type DeviceReport, listDevicesOn } from './devices.ts';
import { type OpenOptions, openOn } from './open.ts';
import type { Platform } from './platform.ts';
import type { Context } from './primitives/context.ts';

const page: Platform = {
  gpu: async () => globalThis.navigator?.gpu,
  workers: async (options) => (await import('./backends/workers/page.ts')).createWorkersBackend(options),
  cores: async () => globalThis.navigator?.hardwareConcurrency ?? 1,
};

/** `open` of `on-node.ts`, on the WebGPU and the web workers of a page. */
export function open(options: OpenOptions = {}): Promise<Context> {
  return openOn(page, options);
}

/** `listDevices` of `on-node.ts`, for a page. */
export function listDevices(): Promise<DeviceReport> {
  return listDevicesOn(page);
}
