import type { Limits } from '../../primitives/backend.ts';
import { ArgumentError, DeviceLostError } from '../../primitives/errors.ts';
import { adapterName } from './adapter-name.ts';
import type { Gpu, GpuAdapter, GpuAdapterInfo, GpuDevice } from './gpu-types.ts';

/** Which adapters to take: `auto` takes a hardware one if there is one. */
export type AdapterChoice = 'hardware' | 'software' | 'auto';

/** A device with what was asked of its adapter. */
export interface OpenDevice {
  readonly adapter: GpuAdapter;
  readonly device: GpuDevice;
  readonly info: GpuAdapterInfo;
  /** What the device can do at most. */
  readonly limits: Limits;
  readonly features: ReadonlySet<string>;
  readonly subgroups: Subgroups | undefined;
}

/** Subgroups of at least 4 lanes, that know their numbers. */
export interface Subgroups {
  /** Lanes at least and at most. */
  readonly least: number;
  readonly most: number;
}

/** Lanes of a subgroup where all have as many. */
export function widthOf({ least, most }: Subgroups): number | undefined {
  return least === most ? least : undefined;
}

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
 * Opens a device with all that its adapter offers.
 *
 * @throws DeviceLostError `device/no-adapter`
 */
export async function openDevice(gpu: Gpu | undefined, choice: AdapterChoice): Promise<OpenDevice> {
  if (gpu === undefined) throw noWebGpu();
  const adapter = await requestAdapter(gpu, choice);
  const { limits, info, features } = adapter;
  const requiredFeatures = wantedFeatures.filter((name) => features.has(name)) as GPUFeatureName[];
  const requiredLimits = Object.fromEntries(wantedLimits.map((name) => [name, limits[name]]));
  const device = await adapter.requestDevice({ requiredFeatures, requiredLimits }).catch((cause: unknown) => {
    throw new DeviceLostError('device/refused', 'The adapter gave no device.', { cause });
  });
  const subgroups = subgroupsOf(gpu, adapter);
  return { adapter, device, info, limits: limitsOf(device.limits), features: new Set(requiredFeatures), subgroups };
}

function subgroupsOf(gpu: GPU, { features, info }: GPUAdapter): Subgroups | undefined {
  const { subgroupMinSize: least = 0, subgroupMaxSize: most = 128 } = info;
  const usable = features.has('subgroups') && gpu.wgslLanguageFeatures.has('subgroup_id') && least >= 4;
  return usable ? { least, most } : undefined;
}

async function requestAdapter(gpu: GPU, choice: AdapterChoice): Promise<GPUAdapter> {
  const software = choice === 'software';
  const adapter = await gpu.requestAdapter(
    software ? { forceFallbackAdapter: true } : { powerPreference: 'high-performance' },
  );
  if (adapter === null) throw noAdapter(`There is no ${choice === 'auto' ? '' : `${choice} `}adapter here.`);
  const { isFallbackAdapter } = adapter.info;
  if (choice === 'hardware' && isFallbackAdapter) {
    throw noAdapter(`The only adapter here is a software one (${adapterName(adapter.info)}).`);
  }
  if (software && !isFallbackAdapter) throw noAdapter(`The adapter is no software one (${adapterName(adapter.info)}).`);
  return adapter;
}

function noWebGpu(): DeviceLostError {
  return new DeviceLostError('device/no-adapter', 'There is no WebGPU here.', {
    remedy:
      'On a page, take a browser that has it, and serve the page over https or from localhost; in Node, pass the gpu of ' +
      'openNodeGpu(); or take another backend.',
  });
}

function noAdapter(sentence: string): DeviceLostError {
  return new DeviceLostError('device/no-adapter', sentence, {
    remedy:
      "Install the graphics driver, or take the software adapter (--adapter software, { adapter: 'software' }) or another backend.",
  });
}

function limitsOf(limits: GPUSupportedLimits): Limits {
  return {
    bindingBytes: Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize),
    workgroups: limits.maxComputeWorkgroupsPerDimension,
    storageBuffers: limits.maxStorageBuffersPerShaderStage,
    // WebGPU does not tell how much memory there is; what is too much comes back as an error.
    memoryBytes: Number.MAX_SAFE_INTEGER,
  };
}

/** Below these the kernels cannot work: a block of the combination tree fills 4 KiB. */
const leastLimits: Limits = { bindingBytes: 4096, workgroups: 1, storageBuffers: 4, memoryBytes: 0 };

/**
 * The limits of a device, lowered to what the caller wants.
 *
 * @throws ArgumentError `limits/too-low`
 */
export function lowered(limits: Limits, wanted: Partial<Limits>): Limits {
  for (const name of Object.keys(leastLimits) as (keyof Limits)[]) {
    if ((wanted[name] ?? leastLimits[name]) >= leastLimits[name]) continue;
    throw new ArgumentError('limits/too-low', `limits.${name} is too low for this backend.`, {
      expected: `at least ${leastLimits[name]}`,
      got: `${wanted[name]}`,
    });
  }
  const least = (name: keyof Limits): number => Math.min(limits[name], wanted[name] ?? Number.POSITIVE_INFINITY);
  return {
    bindingBytes: least('bindingBytes'),
    workgroups: least('workgroups'),
    storageBuffers: least('storageBuffers'),
    memoryBytes: least('memoryBytes'),
  };
}
