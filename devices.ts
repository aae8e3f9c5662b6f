import { adapterName } from './backends/webgpu/device/adapter-name.ts';
import { openOn, openWebGpu } from './open.ts';
import type { Platform } from './platform.ts';
import { DeviceLostError, OutOfMemoryError } from './primitives/checks/errors.ts';
import type { Determinism, Limits } from './primitives/contract/backend.ts';

/**
 * One backend or adapter of this machine. The entry has a description of the device if the device can run primitives,
 * and otherwise the reason why it cannot.
 */
export interface DeviceEntry {
  /** The value of `open({ backend })` that selects this device. */
  readonly backend: 'reference' | 'workers' | 'webgpu';
  /** For WebGPU, the value of `open({ adapter })` that selects this device. */
  readonly adapter?: 'hardware' | 'software' | undefined;
  /** Description of the device, such as `2 threads` or an adapter's name; undefined if the device is not available. */
  readonly device: string | undefined;
  /** Why the device is not available, and a remedy; undefined if the device is available. */
  readonly unavailable: string | undefined;
  readonly limits: Limits | undefined;
  readonly determinism: Determinism | undefined;
}

/** All backends and adapters of this machine. `auto` tells which of them `open()` selects by default. */
export interface DeviceReport {
  /** Index of the entry that `open()` selects. */
  readonly auto: number;
  readonly entries: readonly DeviceEntry[];
}

/** Lists the devices of a platform. Every possible backend and adapter is tried in turn. */
export async function listDevicesOn(platform: Platform): Promise<DeviceReport> {
  // The hardware adapter must be tried before the software adapter. After the software adapter's Vulkan loader has been
  // loaded, this process no longer uses the system's loader.
  const entries = [
    await webGpuEntry(platform, 'hardware'),
    await webGpuEntry(platform, 'software'),
    await plainEntry(platform, 'workers'),
    await plainEntry(platform, 'reference'),
  ];
  const auto = entries.findIndex((entry) => entry.adapter !== 'software' && entry.unavailable === undefined);
  return { auto, entries };
}

async function webGpuEntry(platform: Platform, adapter: 'hardware' | 'software'): Promise<DeviceEntry> {
  try {
    const { info, limits, determinism, close } = await openWebGpu(platform, adapter);
    await close();
    return { backend: 'webgpu', adapter, device: adapterName(info), unavailable: undefined, limits, determinism };
  } catch (error) {
    return { backend: 'webgpu', adapter, ...missing(error) };
  }
}

async function plainEntry(platform: Platform, backend: 'workers' | 'reference'): Promise<DeviceEntry> {
  try {
    const context = await openOn(platform, { backend, workers: 1 });
    const { limits, determinism } = context.backend;
    await context.close();
    const device = backend === 'workers' ? threadsText(await platform.cores()) : 'this thread';
    return { backend, device, unavailable: undefined, limits, determinism };
  } catch (error) {
    return { backend, ...missing(error) };
  }
}

function threadsText(count: number): string {
  return count === 1 ? '1 thread' : `${count} threads`;
}

function missing(error: unknown): Pick<DeviceEntry, 'device' | 'unavailable' | 'limits' | 'determinism'> {
  if (!(error instanceof DeviceLostError || error instanceof OutOfMemoryError)) throw error;
  return { device: undefined, unavailable: error.message, limits: undefined, determinism: undefined };
}
