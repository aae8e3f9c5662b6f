import { isMainThread } from 'node:worker_threads';
import { requireOneOf } from '../../primitives/arguments.ts';
import { DeviceLostError } from '../../primitives/errors.ts';
import type { Gpu } from '../../primitives/gpu-types.ts';
import { installRemedy, isMissing } from '../../primitives/optional-packages.ts';
import { missingForVulkan, useSoftwareVulkan, useSystemVulkan } from './software-vulkan.ts';

export type NodeAdapter = 'hardware' | 'software' | 'auto';

/** Exact timestamps; and no clearing of workgroup memory, over which SwiftShader's compiler takes seconds. */
const dawnOptions = ['disable-dawn-features=timestamp_quantization', 'enable-dawn-features=disable_workgroup_init'];

/**
 * The `GPU` object of the optional package `webgpu` (Dawn), for `createWebGpuBackend({ gpu })` in Node.
 *
 * With `software` it is served by SwiftShader out of the optional package `@sparticuz/chromium`; with `hardware` or `auto`
 * by the system's drivers. There is one object for each of the two, however often it is asked for; it does not keep the
 * process alive.
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
  // An instance finds its drivers when it is first asked: at once, as long as the environment names the right ones.
  const found = await gpu.requestAdapter();
  if (found === null && adapter === 'software' && !isMainThread) throw invisible();
  return gpu;
}

/**
 * One instance of Dawn for each kind of drivers. They are never dropped: Dawn asks an instance for events once more after its
 * last device was destroyed, and hangs or crashes if it was collected by then.
 */
const instances = new Map<'software' | 'system', GPU>();

function noAdapter(sentence: string, cause?: unknown): DeviceLostError {
  return new DeviceLostError('device/no-adapter', sentence, {
    remedy:
      "Install the graphics driver, or take the software adapter (--adapter software, { adapter: 'software' }) or another backend.",
    cause,
  });
}

function packageMissing(cause: unknown): DeviceLostError {
  return new DeviceLostError('device/package-missing', 'WebGPU in Node needs a package that is not installed here.', {
    remedy: installRemedy(['webgpu']),
    cause,
  });
}

/** In a worker thread the driver is found only if the process's own environment names it. */
function invisible(): DeviceLostError {
  return new DeviceLostError('device/no-adapter', 'The software adapter is not visible from this worker thread.', {
    remedy: 'Call useSoftwareVulkan() in the main thread before the worker starts.',
  });
}

/**
 * The adapter that tests run on: the software one, or the machine's own with QUADRILLE_ADAPTER=hardware.
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
