import { isMainThread } from 'node:worker_threads';
import { requireOneOf, requireOptions } from '../../primitives/checks/arguments.ts';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { aText, optional } from '../../primitives/checks/kinds.ts';
import type { Gpu } from '../../primitives/contract/gpu-types.ts';
import { installRemedy, isMissing } from '../../primitives/host/optional-packages.ts';
import { missingForVulkan, useSoftwareVulkan, useSystemVulkan } from './software-vulkan.ts';

export type NodeAdapter = 'hardware' | 'software' | 'auto';

/** Options of {@link openNodeGpu}. */
export interface NodeGpuOptions {
  /**
   * Name of the adapter, or a part of its name, where the system has several. Identical adapters cannot be told apart.
   */
  readonly name?: string | undefined;
}

/**
 * Options for Dawn. Timestamps are not quantised, so that short kernels can be measured. Workgroup memory is not
 * cleared, because SwiftShader takes seconds to compile the clearing.
 */
const dawnOptions = ['disable-dawn-features=timestamp_quantization', 'enable-dawn-features=disable_workgroup_init'];

/**
 * The `GPU` object of the optional package `webgpu` (Dawn), for `createWebGpuBackend({ gpu })` in Node.
 *
 * `software` uses SwiftShader from the optional package `@sparticuz/chromium`; `hardware` and `auto` use the system's
 * drivers. All calls for `software` return one shared object, and so do all calls for the system's drivers with the same
 * name. No object keeps the process alive.
 *
 * @throws DeviceLostError `device/package-missing` where the optional package `webgpu` is not installed,
 * `device/software-adapter-missing` (software only), `device/no-adapter` where there is no driver, no adapter of this
 * name or no build of Dawn for this platform.
 *
 * @example
 * ```ts
 * const gpu = await openNodeGpu('software');
 * (await gpu.requestAdapter()).info.vendor !== ''; // true
 * ```
 */
export async function openNodeGpu(adapter: NodeAdapter = 'auto', options: NodeGpuOptions = {}): Promise<Gpu> {
  requireOneOf('openNodeGpu', 'adapter', adapter, ['auto', 'hardware', 'software']);
  requireOptions('openNodeGpu', { name: optional(aText) }, options);
  const { create } = await import('webgpu').catch((cause: unknown) => {
    throw isMissing(['webgpu'], cause)
      ? packageMissing(cause)
      : noAdapter(`Dawn does not load on ${process.platform}-${process.arch}.`, cause);
  });
  if (adapter === 'software') await useSoftwareVulkan();
  else {
    useSystemVulkan();
    const missing = missingForVulkan(adapter);
    if (missing !== undefined) throw noAdapter(missing);
  }
  const { name = '' } = options;
  const key = `${adapter === 'software' ? 'software' : 'system'} ${name}`;
  const known = instances.get(key);
  if (known !== undefined) return known;
  const gpu = create(name === '' ? dawnOptions : [...dawnOptions, `adapter=${name}`]);
  instances.set(key, gpu);
  // Dawn searches for drivers at the first request for an adapter. This request makes Dawn search now, while the
  // environment variables name the right drivers.
  const found = await gpu.requestAdapter().catch((cause: unknown) => {
    if (name === '') throw cause;
    instances.delete(key);
    throw new DeviceLostError('device/no-adapter', `No adapter of this machine has the name ${name}.`, {
      remedy: 'Leave the name out, or give the name of one that is here.',
      cause,
    });
  });
  if (found === null && adapter === 'software' && !isMainThread) throw invisible();
  return gpu;
}

/**
 * One Dawn instance per kind of driver and name of an adapter. Instances are kept for ever: Dawn polls an instance for events once more after
 * its last device was destroyed, and hangs or crashes if the instance was garbage-collected before.
 */
const instances = new Map<string, GPU>();

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

/**
 * The error if a worker thread finds no software adapter. A worker sets environment variables only in its own copy of
 * the environment, which the driver loader does not see.
 */
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
