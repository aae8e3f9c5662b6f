import { type DeviceReport, listDevicesOn } from './devices.ts';
import { type OpenOptions, openOn } from './open.ts';
import type { Platform } from './platform.ts';
import type { Context } from './primitives/context/context.ts';

const page: Platform = {
  gpu: async () => globalThis.navigator?.gpu,
  workers: async (options) => (await import('./backends/workers/page.ts')).createWorkersBackend(options),
  cores: async () => globalThis.navigator?.hardwareConcurrency ?? 1,
};

/** Opens a context on a page, with the browser's WebGPU and web workers. See `open` in `on-node.ts`. */
export function open(options: OpenOptions = {}): Promise<Context> {
  return openOn(page, options);
}

/** Lists the devices that a page can use; see `listDevices` in `on-node.ts`. */
export function listDevices(): Promise<DeviceReport> {
  return listDevicesOn(page);
}
