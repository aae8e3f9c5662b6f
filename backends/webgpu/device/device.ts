import type { Limits } from '../../../primitives/contract/backend.ts';
import type { Gpu, GpuAdapter, GpuAdapterInfo, GpuDevice } from '../../../primitives/contract/gpu-types.ts';
import { ArgumentError, DeviceLostError } from '../../../primitives/errors.ts';
import { adapterName } from './adapter-name.ts';
import { deviceDescriptor } from './device-descriptor.ts';
import { lostError } from './failure.ts';

/** Which adapters to take: `auto` takes a hardware one if there is one. */
export type AdapterChoice = 'hardware' | 'software' | 'auto';

/** A device with what was asked of its adapter. */
export interface OpenDevice {
  /** Unknown of a device that the caller gave. */
  readonly adapter: GpuAdapter | undefined;
  readonly device: GpuDevice;
  readonly info: GpuAdapterInfo;
  /** What the device can do at most. */
  readonly limits: Limits;
  readonly features: ReadonlySet<string>;
  readonly subgroups: Subgroups | undefined;
  /** Whether the caller gave it, who goes on working with it: it is never destroyed, and nothing is left on it. */
  readonly shared: boolean;
}

/** Subgroups of at least 4 lanes, that know their numbers. */
export interface Subgroups {
  /** Lanes at least and at most. */
  readonly min: number;
  readonly max: number;
}

/** Lanes of a subgroup where all have as many. */
export function widthOf({ min, max }: Subgroups): number | undefined {
  return min === max ? min : undefined;
}

/**
 * Opens a device with all that its adapter offers.
 *
 * @throws DeviceLostError `device/no-adapter`
 */
export async function openDevice(gpu: Gpu | undefined, choice: AdapterChoice): Promise<OpenDevice> {
  if (gpu === undefined) throw noWebGpu();
  const adapter = await requestAdapter(gpu, choice);
  const device = await adapter.requestDevice(deviceDescriptor(adapter)).catch((cause: unknown) => {
    throw new DeviceLostError('device/refused', 'The adapter gave no device.', { cause });
  });
  const { info } = adapter;
  const subgroups = subgroupsOf(device.features, info, gpu.wgslLanguageFeatures.has(NUMBERED_SUBGROUPS));
  const features: ReadonlySet<string> = new Set(device.features);
  return { adapter, device, info, limits: limitsOf(device.limits), features, subgroups, shared: false };
}

/**
 * Takes a device that somebody else works with. What it can do is what it was made with.
 *
 * @throws ArgumentError `device/limits` where kernels need more than it was made with.
 * @throws DeviceLostError `device/lost`
 */
export async function shareDevice(device: GpuDevice, gpu: Gpu | undefined): Promise<OpenDevice> {
  requireLeast(device.limits);
  await requireAlive(device);
  // Older browsers do not tell of the adapter.
  const info = (device.adapterInfo as GpuAdapterInfo | undefined) ?? UNKNOWN_ADAPTER;
  const known = gpu?.wgslLanguageFeatures.has(NUMBERED_SUBGROUPS);
  const hasNumbers = device.features.has('subgroups') && (known ?? (await compilesNumberedSubgroups(device)));
  const subgroups = subgroupsOf(device.features, info, hasNumbers);
  const features: ReadonlySet<string> = new Set(device.features);
  return { adapter: undefined, device, info, limits: limitsOf(device.limits), features, subgroups, shared: true };
}

/** What kernels need at least; every device of WebGPU has it but for those of its compatibility mode. */
const MIN_COUNT = {
  maxStorageBuffersPerShaderStage: 4,
  maxStorageBufferBindingSize: 4096,
  maxBufferSize: 65536,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupStorageSize: 16384,
} as const;

function requireLeast(limits: GPUSupportedLimits): void {
  const missing = (Object.keys(MIN_COUNT) as (keyof typeof MIN_COUNT)[]).filter(
    (name) => limits[name] < MIN_COUNT[name],
  );
  if (missing.length === 0) return;
  const list = (numbers: Pick<GPUSupportedLimits, keyof typeof MIN_COUNT>): string =>
    missing.map((name) => `${name} ${numbers[name]}`).join(', ');
  throw new ArgumentError('device/limits', 'The device was made with limits too low for the kernels.', {
    expected: `at least ${list(MIN_COUNT as never)}`,
    got: list(limits),
    remedy: 'Request it with deviceDescriptor(adapter), or with these as requiredLimits: adapter.requestDevice(…).',
  });
}

async function requireAlive({ lost }: GpuDevice): Promise<void> {
  // What has been lost already wins over a turn of the event loop.
  const reason = await Promise.race([lost, new Promise<undefined>((resolve) => setTimeout(resolve, 0))]);
  if (reason !== undefined) throw lostError(reason);
}

const UNKNOWN_ADAPTER = {
  vendor: '',
  architecture: '',
  device: '',
  description: '',
  subgroupMinSize: 0,
  subgroupMaxSize: 128,
  isFallbackAdapter: false,
} as GpuAdapterInfo;

/** The language feature with which subgroups know their numbers. */
const NUMBERED_SUBGROUPS = 'subgroup_id';

/** Node has no `navigator.gpu` that would tell of language features. */
async function compilesNumberedSubgroups(device: GpuDevice): Promise<boolean> {
  device.pushErrorScope('validation');
  device.createShaderModule({
    code: `enable subgroups;
requires ${NUMBERED_SUBGROUPS};
@compute @workgroup_size(64) fn main(@builtin(subgroup_id) id: u32) {}`,
  });
  return (await device.popErrorScope()) === null;
}

function subgroupsOf(
  features: GPUSupportedFeatures,
  info: GpuAdapterInfo,
  areNumbered: boolean,
): Subgroups | undefined {
  const { subgroupMinSize: min = 0, subgroupMaxSize: max = 128 } = info;
  return features.has('subgroups') && areNumbered && min >= 4 ? { min, max } : undefined;
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
const minLimits: Limits = { bindingBytes: 4096, workgroups: 1, storageBuffers: 4, memoryBytes: 0 };

/**
 * The limits of a device, lowered to what the caller wants.
 *
 * @throws ArgumentError `limits/too-low`
 */
export function lowered(limits: Limits, wanted: Partial<Limits>): Limits {
  for (const name of Object.keys(minLimits) as (keyof Limits)[]) {
    if ((wanted[name] ?? minLimits[name]) >= minLimits[name]) continue;
    throw new ArgumentError('limits/too-low', `limits.${name} is too low for this backend.`, {
      expected: `at least ${minLimits[name]}`,
      got: `${wanted[name]}`,
    });
  }
  const min = (name: keyof Limits): number => Math.min(limits[name], wanted[name] ?? Number.POSITIVE_INFINITY);
  return {
    bindingBytes: min('bindingBytes'),
    workgroups: min('workgroups'),
    storageBuffers: min('storageBuffers'),
    memoryBytes: min('memoryBytes'),
  };
}
