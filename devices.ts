import { adapterName } from './backends/webgpu/device/adapter-name.ts';
import { openOn, openWebGpu } from './open.ts';
import type { Platform } from './platform.ts';
import type { Determinism, Limits } from './primitives/contract/backend.ts';
import { DeviceLostError, OutOfMemoryError } from './primitives/errors.ts';

/** One thing that can run primitives here, or cannot. */
export interface DeviceEntry {
  /** The value of `open({ backend })` that selects it. */
  readonly backend: 'reference' | 'workers' | 'webgpu';
  /** The value of `open({ adapter })` that selects it, for WebGPU. */
  readonly adapter?: 'hardware' | 'software' | undefined;
  /** Description, such as `2 threads` or an adapter's name; undefined if it is not available. */
  readonly device: string | undefined;
  /** Why it cannot run, and a remedy; undefined if it can. */
  readonly unavailable: string | undefined;
  readonly limits: Limits | undefined;
  readonly determinism: Determinism | undefined;
}

/** The devices of this machine. */
export interface DeviceReport {
  /** Index of the entry that `open()` selects. */
  readonly auto: number;
  readonly entries: readonly DeviceEntry[];
}

/** Lists the devices of a platform, by trying every possible backend and adapter in turn. */
export async function listDevicesOn(platform: Platform): Promise<DeviceReport> {
  // The software adapter is tried last: once its Vulkan loader is in the process, the system's loader is no longer
  // used.
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
