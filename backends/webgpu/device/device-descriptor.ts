import { wrongArgument } from '../../../primitives/arguments.ts';
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
 * What to ask an adapter for, so that the device is as good for `open({ device })` as the one that `open()` would ask for by
 * itself: all of its limits that kernels use, subgroups and timestamps where it has them. Add what else your program needs.
 *
 * A device made without it works too, as long as it has WebGPU's default limits: kernels then take the portable path, and
 * columns above 128 MiB are split over several buffers.
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
      remedy: 'It is what await navigator.gpu.requestAdapter() gives, where that is not null.',
    });
  }
  const { features, limits } = adapter;
  return {
    requiredFeatures: wantedFeatures.filter((name) => features.has(name)) as GPUFeatureName[],
    requiredLimits: Object.fromEntries(wantedLimits.map((name) => [name, limits[name]])),
  };
}
