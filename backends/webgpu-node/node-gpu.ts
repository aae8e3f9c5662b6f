import { isMainThread } from 'node:worker_threads';
import { requireOneOf } from '../../primitives/arguments.ts';
import type { Gpu } from '../../primitives/contract/gpu-types.ts';
import { DeviceLostError } from '../../primitives/errors.ts';
import { installRemedy, isMissing } from '../../primitives/optional-packages.ts';
import { missingForVulkan, useSoftwareVulkan, useSystemVulkan } from './software-vulkan.ts';

export type NodeAdapter = 'hardware' | 'software' | 'auto';

/**
 * Timestamps are not quantised. Workgroup memory is not cleared, since SwiftShader's compiler takes seconds for that.
 */
const dawnOptions = ['disable-dawn-features=timestamp_quantization', 'enable-dawn-features=disable_workgroup_init'];

/**
 * The `GPU` object of the optional package `webgpu` (Dawn), for `createWebGpuBackend({ gpu })` in Node.
 *
 * `software` uses SwiftShader from the optional package `@sparticuz/chromium`; `hardware` and `auto` use the system's
 * drivers. Each of the two has one object, which all calls share. It does not keep the process alive.
 *
 * @throws DeviceLostError `device/package-missing` where the optional package `webgpu` is not installed,
 * `device/software-adapter-missing` (software only), `device/no-adapter` where there is no driver or no build of Dawn for
 * this platform.
 *
 * @example
 * ```ts
 * const gpu = await openNodeGpu('software');
 * (await gpu.requestAdapter()).info.vendor !== ''; // true
 * ```
 */
export async function openNodeGpu(adapter: NodeAdapter = 'auto'): Promise<Gpu> {
  requireOneOf('openNodeGpu', 'adapter', adapter, ['auto', 'hardware', 'software']);
  const { create } = await import('webgpu').catch((cause: unknown) => {
    throw isMissing(['webgpu'], cause)
      ? packageMissing(cause)
      : noAdapter(`Dawn does not load on ${process.platform}-${process.arch}.`, cause);
  });
  if (adapter === 'software') await useSoftwareVulkan();
  else {
    useSystemVulkan();
    const missing = missingForVulkan();
    if (missing !== undefined) throw noAdapter(missing);
  }
  const drivers = adapter === 'software' ? 'software' : 'system';
  const known = instances.get(drivers);
  if (known !== undefined) return known;
  const gpu = create(dawnOptions);
  instances.set(drivers, gpu);
  // An instance looks for its drivers when it is first asked for an adapter. Ask now, while the environment names the
  // right ones.
  const found = await gpu.requestAdapter();
  if (found === null && adapter === 'software' && !isMainThread) throw invisible();
  return gpu;
}

/**
 * One instance of Dawn per kind of driver. They are never dropped: Dawn polls an instance for events once more after
 * its last device was destroyed, and hangs or crashes if the instance was collected by then.
 */
const instances = new Map<'software' | 'system', GPU>();

function noAdapter(sentence: string, cause?: unknown): DeviceLostError {
  return new DeviceLostError('device/no-adapter', sentence, {
    remedy:
      "Install the graphics driver, or use the software adapter (--adapter software, { adapter: 'software' }) or another backend.",
    cause,
  });
}

function packageMissing(cause: unknown): DeviceLostError {
  return new DeviceLostError('device/package-missing', 'WebGPU in Node needs a package that is not installed here.', {
    remedy: installRemedy(['webgpu']),
    cause,
  });
}

/** In a worker thread the driver is found only if the environment of the process itself names it. */
function invisible(): DeviceLostError {
  return new DeviceLostError('device/no-adapter', 'The software adapter is not visible from this worker thread.', {
    remedy: 'Call useSoftwareVulkan() in the main thread before the worker starts.',
  });
}

/**
 * The adapter that tests run on: `hardware` if QUADRILLE_ADAPTER=hardware is set, else `software`.
 *
 * @example
 * ['hardware', 'software'].includes(testAdapter()); // true
 */
export function testAdapter(): 'hardware' | 'software' {
  return process.env.QUADRILLE_ADAPTER === 'hardware' ? 'hardware' : 'software';
}

/**
 * The `GPU` that tests run on; see {@link testAdapter}.
 *
 * @example
 * const gpu = await openTestGpu();
 * (await gpu.requestAdapter()) !== null; // true
 */
export function openTestGpu(): Promise<Gpu> {
  return openNodeGpu(testAdapter());
}
