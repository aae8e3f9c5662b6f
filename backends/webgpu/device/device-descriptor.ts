import { wrongArgument } from '../../../primitives/checks/arguments.ts';
import type { GpuAdapter, GpuDeviceDescriptor } from '../../../primitives/contract/gpu-types.ts';

const wantedFeatures = ['subgroups', 'subgroup-size-control', 'timestamp-query'] as const;

const wantedLimits = [
  'maxStorageBufferBindingSize',
  'maxBufferSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupStorageSize',
  'maxComputeWorkgroupsPerDimension',
] as const;

/**
 * Returns a descriptor for `requestDevice`. With the requested device, `open({ device })` works as well as `open()`,
 * which requests a device itself. The descriptor asks for all limits that kernels use, and for subgroups and timestamps
 * if the adapter has them. Add the features and limits that your program needs.
 *
 * Any device with WebGPU's default limits works too. Kernels then take a portable path without subgroups, and columns
 * above 128 MiB are split over several buffers.
 *
 * @example
 * const gpu = await openTestGpu(); // on a page: navigator.gpu
 * const adapter = await gpu.requestAdapter();
 * const wanted = deviceDescriptor(adapter);
 * const device = await adapter.requestDevice({ ...wanted, label: 'map' });
 * device.limits.maxBufferSize === adapter.limits.maxBufferSize; // true
 */
export function deviceDescriptor(adapter: GpuAdapter): GpuDeviceDescriptor {
  if (typeof adapter?.requestDevice !== 'function') {
    throw wrongArgument('deviceDescriptor', 'adapter', adapter, 'a GPUAdapter', {
      remedy: 'Pass the result of await navigator.gpu.requestAdapter(), if it is not null.',
    });
  }
  const { features, limits } = adapter;
  return {
    requiredFeatures: wantedFeatures.filter((name) => features.has(name)) as GPUFeatureName[],
    requiredLimits: Object.fromEntries(wantedLimits.map((name) => [name, limits[name]])),
  };
}
